"""Ask each vendor's own SDK on this machine: a row per SDK.

An SDK is imported when a client of it is made, so that the rows can be read where it is not installed.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import pytest

from agui_reasoning.replay import load_script, script_names
from agui_reasoning.request import REQUEST_API_IDS, build_request
from tests.support.recordings import load, recordings, strings_named

Json = dict[str, Any]
Ask = Callable[[Any, Json], Any]
"""Calls a client with a body, and returns what the SDK returns."""

MODEL = "replayed"

_MODULES = r"(aiohttp|boto3|botocore|cohere|google|grpc|mistralai|ollama|xai_sdk)\b"
THEIR_WARNINGS = pytest.mark.filterwarnings(f"ignore::DeprecationWarning:{_MODULES}")
"""What SDKs warn about themselves; warnings of the package are errors."""


def _readable(exchange: Json) -> str:
    return ""


def _all(payload: Any) -> Any:
    return payload


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorSDK:
    """One SDK, or one API of it.

    Attributes:
        api: What it speaks.
        module: What must be importable.
        client: Makes a client of a base URL.
        stream: Asks for a stream.
        whole: Asks for a whole response.
        async_client: Makes an asynchronous client, if the SDK has one.
        async_stream: How that is asked for a stream, where it has other names.
        async_whole: How that is asked for a whole response.
        backends: Where the asynchronous client runs.
        lingers: Closing its asynchronous stream does not end the request; closing the client does.
        more: What the SDK demands beside a body.
        unreadable: Why the SDK cannot read an exchange; empty when it can.
        keeps: What the SDK keeps of a payload.
    """

    api: str
    module: str
    client: Callable[[str], AbstractContextManager[Any]]
    stream: Ask
    whole: Ask
    async_client: Callable[[str], AbstractAsyncContextManager[Any]] | None = None
    async_stream: Ask | None = None
    async_whole: Ask | None = None
    backends: tuple[str, ...] = ("asyncio", "trio")
    lingers: bool = False
    more: Json = field(default_factory=dict)
    unreadable: Callable[[Json], str] = _readable
    keeps: Callable[[Any], Any] = _all

    def require(self) -> None:
        """Skip the test where the SDK is not installed."""
        pytest.importorskip(self.module, reason=f"{self.module} is not installed: pip install --group test")

    def ask(self, client: Any, body: Json, *, streamed: bool) -> Any:
        """What the SDK returns for a body."""
        return (self.stream if streamed else self.whole)(client, {**body, **self.more})

    def ask_async(self, client: Any, body: Json, *, streamed: bool) -> Any:
        """What its asynchronous client returns."""
        asked = (self.async_stream or self.stream) if streamed else (self.async_whole or self.whole)
        return asked(client, {**body, **self.more})


def greeting(api: str) -> Json:
    """The body of a first request."""
    if api not in REQUEST_API_IDS:
        return {"input": "Hi."}
    hello = {"id": "u1", "role": "user", "content": "Hi."}
    return build_request(api, [hello], provider="any", model=MODEL, on_warning=[].append).body


def exchanges() -> list[Any]:
    """Every script and recording of the APIs that an SDK speaks, as parameters ``(api, given)``.

    ``given()`` reads it. Recordings are a sample without ``--all``.
    """
    made = []
    for name in script_names():
        api = load_script(name)["api"]
        if api in SDKS:
            made.append(pytest.param(api, partial(load_script, name), id=name))
    for api in SDKS:
        for param in recordings(api):
            given = partial(load, param.values[0])
            made.append(pytest.param(api, given, id=f"{api}-{param.id}", marks=param.marks))
    return made


def _made(module: str, name: str) -> Callable[..., Any]:
    return lambda **options: getattr(import_module(module), name)(**options)


def _openai(name: str) -> Callable[[str], Any]:
    make = _made("openai", name)
    return lambda url: make(base_url=f"{url}/v1", api_key="none", max_retries=0)


def _anthropic(name: str) -> Callable[[str], Any]:
    make = _made("anthropic", name)
    return lambda url: make(base_url=url, api_key="none", max_retries=0)


def _once(genai: Any) -> Any:
    return genai.types.HttpRetryOptions(attempts=1)


def _google(url: str) -> Any:
    genai = import_module("google.genai")
    options = genai.types.HttpOptions(base_url=url, api_version="v1beta", retry_options=_once(genai))
    return genai.Client(api_key="none", http_options=options)


def _vertex(url: str) -> Any:
    genai, oauth2 = import_module("google.genai"), import_module("google.oauth2.credentials")
    options = genai.types.HttpOptions(base_url=url, retry_options=_once(genai))
    place = {"project": "project", "location": "location", "credentials": oauth2.Credentials(token="none")}
    return genai.Client(vertexai=True, http_options=options, **place)


def _bedrock(url: str) -> Any:
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    session = import_module("boto3").Session(region_name="eu-north-1", **keys)
    return closing(session.client("bedrock-runtime", endpoint_url=url))


def _mistral(url: str) -> Any:
    return _made("mistralai.client", "Mistral")(api_key="none", server_url=url)


def _cohere(name: str) -> Callable[[str], Any]:
    make = _made("cohere", name)
    return lambda url: make(api_key="none", base_url=url)


def _ollama(name: str) -> Callable[[str], Any]:
    make = _made("ollama", name)
    return lambda url: make(host=url)


def _xai(name: str) -> Callable[[str], Any]:
    make = _made("xai_sdk", name)
    return lambda url: make(api_key="none", api_host=urlsplit(url).netloc, use_insecure_channel=True)


def _google_reads(exchange: Json) -> str:
    """What google-genai makes of values that Google never sends to it."""
    sent = [event["data"] for event in exchange.get("events", ())] or [exchange["response"]]
    if not all(map(_is_base64, strings_named(sent, "thoughtSignature"))):
        return "the source of the recording replaced a signature by what is not base64"
    if any(isinstance(one.get("finishReason"), int) for data in sent for one in data.get("candidates", ())):
        return "the SDK takes finish reasons by name, and the recorded client had asked for numbers"
    return ""


def _is_base64(value: str) -> bool:
    try:
        return b64encode(b64decode(value, validate=True)).decode() == value
    except Error:
        return False


def _without_ids(payload: Json) -> Json:
    """The ollama SDK has no field for the id of a call, nor for its number."""
    message = payload.get("message", {})
    if "tool_calls" not in message:
        return payload
    calls = [{name: value for name, value in call.items() if name != "id"} for call in message["tool_calls"]]
    return {**payload, "message": {**message, "tool_calls": calls}}


SDKS: dict[str, VendorSDK] = {
    row.api: row
    for row in (
        VendorSDK(
            api="anthropic-messages",
            module="anthropic",
            client=_anthropic("Anthropic"),
            stream=lambda client, body: client.messages.create(model=MODEL, stream=True, **body),
            whole=lambda client, body: client.messages.create(model=MODEL, **body),
            async_client=_anthropic("AsyncAnthropic"),
            more={"max_tokens": 100},
        ),
        VendorSDK(
            api="openai-responses",
            module="openai",
            client=_openai("OpenAI"),
            stream=lambda client, body: client.responses.create(model=MODEL, stream=True, **body),
            whole=lambda client, body: client.responses.create(model=MODEL, **body),
            async_client=_openai("AsyncOpenAI"),
        ),
        VendorSDK(
            api="openai-chat",
            module="openai",
            client=_openai("OpenAI"),
            stream=lambda client, body: client.chat.completions.create(model=MODEL, stream=True, **body),
            whole=lambda client, body: client.chat.completions.create(model=MODEL, **body),
            async_client=_openai("AsyncOpenAI"),
        ),
        VendorSDK(
            api="gemini",
            module="google.genai",
            client=_google,
            stream=lambda client, body: client.models.generate_content_stream(model=MODEL, **body),
            whole=lambda client, body: client.models.generate_content(model=MODEL, **body),
            async_client=lambda url: _google(url).aio,
            backends=("asyncio",),
            lingers=True,
            unreadable=_google_reads,
        ),
        VendorSDK(
            api="gemini-interactions",
            module="google.genai",
            client=_google,
            stream=lambda client, body: client.interactions.create(model=MODEL, stream=True, **body),
            whole=lambda client, body: client.interactions.create(model=MODEL, **body),
            async_client=lambda url: _google(url).aio,
            backends=("asyncio",),
        ),
        VendorSDK(
            api="bedrock-converse",
            module="boto3",
            client=_bedrock,
            stream=lambda client, body: client.converse_stream(modelId=MODEL, **body),
            whole=lambda client, body: client.converse(modelId=MODEL, **body),
        ),
        VendorSDK(
            api="mistral-chat",
            module="mistralai.client",
            client=_mistral,
            stream=lambda client, body: client.chat.stream(model=MODEL, **body),
            whole=lambda client, body: client.chat.complete(model=MODEL, **body),
            async_client=_mistral,
            async_stream=lambda client, body: client.chat.stream_async(model=MODEL, **body),
            async_whole=lambda client, body: client.chat.complete_async(model=MODEL, **body),
            backends=("asyncio",),
        ),
        VendorSDK(
            api="cohere-chat",
            module="cohere",
            client=_cohere("ClientV2"),
            stream=lambda client, body: client.chat_stream(model=MODEL, **body),
            whole=lambda client, body: client.chat(model=MODEL, **body),
            async_client=_cohere("AsyncClientV2"),
        ),
        VendorSDK(
            api="ollama",
            module="ollama",
            client=_ollama("Client"),
            stream=lambda client, body: client.chat(model=MODEL, stream=True, **body),
            whole=lambda client, body: client.chat(model=MODEL, **body),
            async_client=_ollama("AsyncClient"),
            keeps=_without_ids,
        ),
        VendorSDK(
            api="xai-grpc",
            module="xai_sdk",
            client=_xai("Client"),
            stream=lambda client, body: client.chat.create(model=MODEL, **body).stream(),
            whole=lambda client, body: client.chat.create(model=MODEL, **body).sample(),
            async_client=_xai("AsyncClient"),
            backends=("asyncio",),
            lingers=True,
        ),
    )
}
"""By API. LiteLLM is not among them: it pins an older openai, and has tests of its own."""

_OF_PROVIDER = {
    ("gemini", "google-vertex"): replace(
        SDKS["gemini"], client=_vertex, async_client=lambda url: _vertex(url).aio
    )
}


def sdk_of(exchange: Json) -> VendorSDK:
    """The SDK that speaks with the provider of an exchange."""
    api = exchange["api"]
    return _OF_PROVIDER.get((api, exchange["provider"]), SDKS[api])
