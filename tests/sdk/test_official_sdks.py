"""Stream with the vendors' own SDKs from a local server, and decode their objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest

from agui_reasoning import aio, stream_run
from agui_reasoning.gateway import local_server, provider_app
from agui_reasoning.parts import Turn
from agui_reasoning.providers import provider_api
from agui_reasoning.replay import CONVERSATIONS, load_script, sequence
from tests.internals.sources import open_source, open_source_sync
from tests.recordings.test_next_request import conversation, request, turns_of
from tests.support.replay_server import replaying
from tests.support.vendor_sdks import MODEL, SDKS, THEIR_WARNINGS, VendorSDK, greeting
from tests.support.verifier import Client, plain

anthropic: Any = pytest.importorskip("anthropic", reason="Anthropic's SDK is not installed")
openai: Any = pytest.importorskip("openai", reason="OpenAI's SDK is not installed")

pytestmark = THEIR_WARNINGS
# Under trio both SDKs leave generators of their own behind when they stop reading at `[DONE]` or are closed
# early; they are nested in their streams, where nobody else can close them. Ours are not forgiven.
theirs = pytest.mark.filterwarnings(
    r"ignore:Async generator '(openai|anthropic|httpx2|httpcore2)\.:ResourceWarning",
    r"ignore:Exception ignored in. <async_generator object (?!_drive|_items|_show|run_agent|stream_run)"
    ":pytest.PytestUnraisableExceptionWarning",
)

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}
ASK: list[Any] = [{"role": "user", "content": "Hi."}]


@contextmanager
def provider(exchange: Any) -> Iterator[str]:
    """The base URL of a provider that answers with one exchange."""
    with local_server(provider_app(exchange)) as url:
        yield url


@contextmanager
def played(script: str) -> Iterator[str]:
    """The base URL of a provider that plays a script: over HTTP it also judges what it is asked."""
    exchange = load_script(script)
    if provider_api(exchange["api"]).http:
        with provider(script) as url:
            yield url
        return
    with replaying(exchange["api"]) as server:
        server.exchange = exchange
        yield server.url


def anthropic_client(url: str, kind: Any = anthropic.Anthropic) -> Any:
    return kind(base_url=url, api_key="none", max_retries=0)


def openai_client(url: str, kind: Any = openai.OpenAI) -> Any:
    return kind(base_url=f"{url}/v1", api_key="none", max_retries=0)


def _messages(client: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": ASK}


SCRIPTS = {api: CONVERSATIONS[api] for api in SDKS if api in CONVERSATIONS}
# The helpers mix events of their own into the stream.
HELPERS = {
    "anthropic-messages": lambda client, body: client.messages.stream(model=MODEL, **body),
    "openai-responses": lambda client, body: client.responses.stream(model=MODEL, **body),
    "openai-chat": lambda client, body: client.chat.completions.stream(model=MODEL, **body),
}
# How each SDK is asked for a stream.
FORMS: dict[str, tuple[str, VendorSDK]] = {
    **{f"{api} raw": (script, SDKS[api]) for api, script in SCRIPTS.items()},
    **{f"{api} helper": (SCRIPTS[api], replace(SDKS[api], stream=ask)) for api, ask in HELPERS.items()},
}
ASYNC = {name: form for name, form in FORMS.items() if form[1].async_client}


def numbered(events: Any) -> Any:
    return {"new_id": iter(f"id{n}" for n in range(9999)).__next__, "now_ms": None, **events}


def from_payloads(exchange: Mapping[str, Any], sdk: VendorSDK) -> list[dict[str, Any]]:
    """The events that the wire JSON gives, as far as the SDK keeps it."""
    payloads = [sdk.keeps(event["data"]) for event in exchange["events"]]
    return plain(stream_run(INPUT, payloads, **numbered({"api": exchange["api"]})))


@pytest.mark.parametrize(("script", "sdk"), FORMS.values(), ids=FORMS)
def test_a_synchronous_sdk_stream_gives_the_events_of_its_wire_json(script: str, sdk: VendorSDK) -> None:
    sdk.require()
    with played(script) as url, sdk.client(url) as client:
        ask = lambda: sdk.ask(client, greeting(sdk.api), streamed=True)  # noqa: E731
        events = plain(stream_run(INPUT, ask, **numbered({"api": sdk.api})))
    assert events == from_payloads(load_script(script), sdk)
    Client().feed(events).done()


@theirs
@pytest.mark.anyio
@pytest.mark.parametrize(("script", "sdk"), ASYNC.values(), ids=ASYNC)
async def test_an_asynchronous_sdk_stream_gives_the_events_of_its_wire_json(
    script: str, sdk: VendorSDK, anyio_backend_name: str
) -> None:
    sdk.require()
    if anyio_backend_name not in sdk.backends:
        pytest.skip(f"{sdk.module} does not run on {anyio_backend_name}")
    with played(script) as url, anyio.fail_after(20):
        async with sdk.async_client(url) as client:
            source = sdk.ask_async(client, greeting(sdk.api), streamed=True)
            stream = aio.stream_run(INPUT, source, **numbered({"api": sdk.api}))
            events = plain([event async for event in stream])
    assert events == from_payloads(load_script(script), sdk)


@pytest.mark.parametrize("api", SCRIPTS)
def test_leaving_a_stream_ends_its_connection(api: str) -> None:
    sdk = SDKS[api]
    sdk.require()
    with replaying(api) as server, sdk.client(server.url) as client:
        server.exchange, server.endless = load_script(SCRIPTS[api]), True
        with open_source_sync(partial(sdk.ask, client, greeting(api), streamed=True)) as payloads:
            next(payloads)
            assert not server.left.is_set()
        assert server.left.wait(5)


@theirs
@pytest.mark.anyio
@pytest.mark.parametrize("api", [api for api in SCRIPTS if SDKS[api].async_client])
async def test_leaving_an_asynchronous_stream_ends_its_connection(api: str, anyio_backend_name: str) -> None:
    sdk = SDKS[api]
    sdk.require()
    if anyio_backend_name not in sdk.backends:
        pytest.skip(f"{sdk.module} does not run on {anyio_backend_name}")
    with replaying(api) as server:
        server.exchange, server.endless = load_script(SCRIPTS[api]), True
        async with sdk.async_client(server.url) as client:
            async with open_source(sdk.ask_async(client, greeting(api), streamed=True)) as payloads:
                await anext(payloads)
                assert not server.left.is_set()
            if not sdk.lingers:
                assert await anyio.to_thread.run_sync(server.left.wait, 5)
        assert await anyio.to_thread.run_sync(server.left.wait, 5)


LEFT = [
    "anthropic-messages raw",
    "anthropic-messages helper",
    "openai-responses raw",
    "openai-chat raw",
]


@theirs
@pytest.mark.anyio
@pytest.mark.parametrize("form", LEFT)
async def test_leaving_an_sdk_stream_closes_its_connection(form: str, anyio_backend_name: str) -> None:
    script, sdk = FORMS[form]
    with local_server(provider_app(script, delay_s=0.01)) as url:
        async with sdk.async_client(url) as client:
            source = sdk.ask_async(client, greeting(sdk.api), streamed=True)
            stream = aio.stream_run(INPUT, source, api=sdk.api)
            async for event in stream:
                if event.type.value == "REASONING_MESSAGE_CONTENT":
                    break
            await stream.aclose()
            # The pool of the SDK's HTTP client holds no connection that is still in use.
            pool = client._client._transport._pool
            assert [connection for connection in pool.connections if not connection.is_idle()] == []


@pytest.mark.parametrize("api", [api for api in SCRIPTS if provider_api(api).http])
def test_a_conversation_goes_on_through_the_sdk(api: str) -> None:
    # The provider answers each request by what is in it, and refuses what does not fit what it said before.
    sdk, exchanges = SDKS[api], sequence(SCRIPTS[api])
    sdk.require()
    turns: list[Turn] = []
    with provider(SCRIPTS[api]) as url, sdk.client(url) as client:
        for number, exchange in enumerate(exchanges):
            body = request(api, exchange, conversation(turns, goes_on=number == 2)).body
            with open_source_sync(partial(sdk.ask, client, body, streamed=True)) as payloads:
                told = told_by(exchange, payloads)
            assert told == told_by(exchange, [sdk.keeps(event["data"]) for event in exchange["events"]])
            turns += told


def told_by(exchange: Mapping[str, Any], payloads: Any) -> list[Turn]:
    """What payloads hold, in place of those of an exchange."""
    return turns_of({**exchange, "events": [{"data": payload} for payload in payloads]})


def test_an_answer_that_is_no_stream_is_shown_whole() -> None:
    exchange = {
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": MODEL,
        "stream": False,
        "response": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "S"},
                {"type": "text", "text": "Yes."},
            ],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    }
    with provider(exchange) as url, anthropic_client(url) as client:
        ask = lambda: client.messages.create(**_messages(client))  # noqa: E731
        held = Client().feed(plain(stream_run(INPUT, ask, api="anthropic-messages"))).done()
    assert [message["content"] for message in held.messages] == ["Hm.", "Yes."]


@pytest.mark.parametrize("sdk", ["anthropic", "openai"])
def test_a_refusal_of_the_provider_is_an_error_inside_the_run(
    sdk: str, caplog: pytest.LogCaptureFixture
) -> None:
    # The replay refuses what does not fit the exchange, with status 400 and words of its own.
    with provider("anthropic-weather" if sdk == "anthropic" else "chat-weather") as url:
        if sdk == "anthropic":
            with anthropic_client(url) as client:
                events = plain(
                    stream_run(
                        INPUT, lambda: client.messages.create(**_messages(client)), api="anthropic-messages"
                    )
                )
        else:
            with openai_client(url) as client:
                ask = lambda: client.chat.completions.create(model=MODEL, messages=ASK)  # noqa: E731
                events = plain(stream_run(INPUT, ask, api="openai-chat"))
    assert [event["type"] for event in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert (events[-1]["code"], events[-1]["message"]) == (
        "request_refused",
        "The model's provider refused the request.",
    )
    assert "replay" not in str(events)
    assert "status 400" in caplog.text
    assert "Traceback" not in caplog.text
