"""Test the upstream for xAI with its own SDK, against a gRPC server on this machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from agui_reasoning import ConfigurationError, Conversation, MissingExtraError
from agui_reasoning.client import AgentClient
from agui_reasoning.errors import ProviderError
from agui_reasoning.gateway import HTTPUpstream, XAIUpstream, create_app, local_server
from agui_reasoning.replay import load_script
from tests.support.replay_server import ReplayServer, replaying
from tests.support.vendor_sdks import THEIR_WARNINGS
from tests.support.verifier import Client
from tests.unit.gateway.http_client import INPUT, call, opened

pytest.importorskip("xai_sdk", reason="xAI's SDK is not installed")

pytestmark = THEIR_WARNINGS

KEY = "xai-secret-key"
MODEL = "grok-4-fast-reasoning"
Json = dict[str, Any]
FORECAST = {
    "name": "get_forecast",
    "description": "Weather forecast of a place for the next hours",
    "parameters": {
        "type": "object",
        "properties": {"place": {"type": "string"}, "hours": {"type": "integer"}},
        "required": ["place"],
        "additionalProperties": False,
    },
}


@contextmanager
def gateway(
    script: str | None = None, keep_alive_s: float = 15.0, **options: Any
) -> Iterator[tuple[str, ReplayServer]]:
    """A gateway in front of a server that plays a script."""
    with replaying("xai-grpc") as server:
        server.exchange = load_script(script) if script else None
        upstream = XAIUpstream(model=MODEL, base_url=server.url, **{"api_key": KEY, **options})
        with local_server(create_app(upstream, keep_alive_s=keep_alive_s)) as url:
            yield f"{url}/agent", server


def asked(**options: Any) -> Json:
    """The request that one run causes."""
    with gateway("xai-weather-2", **options) as (url, server):
        Client().feed(call(url, INPUT).events).done()
    (request,) = server.asked
    return dict(request)


def test_three_turns_with_a_tool_of_the_front_end_are_what_the_provider_wants() -> None:
    scripts = [load_script(f"xai-weather{part}") for part in ("", "-2", "-3")]
    wanted = [script["request"] for script in scripts]
    said = [request["messages"][-1]["content"][0]["text"] for request in wanted]
    conversation = Conversation()

    async def converse(url: str, server: ReplayServer) -> None:
        async with AgentClient(url) as client:
            for script, text in zip(scripts, (said[0], None, said[2]), strict=True):
                server.exchange = script
                async for _ in client.run(conversation, text, tools=[FORECAST]):
                    pass
                for pending in conversation.pending_calls:
                    conversation.add_tool_result(pending.id, said[1])

    with gateway() as (url, server):
        anyio.run(converse, url, server)
    for request, expected in zip(server.asked, wanted, strict=True):
        assert request["messages"] == expected["messages"]
        assert request["model"] == MODEL
        assert request["use_encrypted_content"] is True
        [tool] = request["tools"]
        assert json.loads(tool["function"]["parameters"]) == FORECAST["parameters"]


def test_the_key_is_sent_as_the_sdk_sends_it() -> None:
    with gateway("xai-weather-2") as (url, server):
        Client().feed(call(url, INPUT).events).done()
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_the_key_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XAI_API_KEY", "from-the-environment")
    with gateway("xai-weather-2", api_key=None) as (url, server):
        Client().feed(call(url, INPUT).events).done()
    assert server.headers[0]["authorization"] == "Bearer from-the-environment"


def test_instructions_parameters_and_tools_of_the_provider_are_sent() -> None:
    request = asked(
        system="Answer in one sentence.",
        parameters={
            "temperature": 0.5,
            "reasoning_effort": "low",
            "use_encrypted_content": None,
            "tools": [{"web_search": {}}],
        },
    )
    assert request["messages"][0] == {"role": "ROLE_SYSTEM", "content": [{"text": "Answer in one sentence."}]}
    assert request["temperature"] == 0.5
    assert request["reasoning_effort"] == "EFFORT_LOW"
    assert "use_encrypted_content" not in request
    assert request["tools"] == [{"web_search": {}}]


@pytest.mark.parametrize(
    ("status", "http", "code"),
    [
        ("UNAUTHENTICATED", 401, "credentials_refused"),
        ("PERMISSION_DENIED", 403, "credentials_refused"),
        ("RESOURCE_EXHAUSTED", 429, "rate_limited"),
        ("INVALID_ARGUMENT", 400, "request_refused"),
        ("INTERNAL", 500, "provider_error"),
        ("UNAVAILABLE", 503, "overloaded"),
    ],
)
def test_a_status_of_the_provider_is_an_error_of_the_run(
    status: str, http: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The server repeats all metadata, and thus the key."""
    errors: list[BaseException] = []

    def note(error: BaseException) -> None:
        errors.append(error)

    with replaying("xai-grpc") as server:
        server.refusal = status
        app = create_app(XAIUpstream(model=MODEL, base_url=server.url, api_key=KEY), on_error=note)
        with local_server(app) as url:
            last = call(f"{url}/agent", INPUT).events[-1]
    [error] = errors
    assert isinstance(error, ProviderError)
    assert (error.provider_type, error.status_code) == (status, http)
    assert "[hidden]" in error.provider_message
    assert (last["type"], last["code"]) == ("RUN_ERROR", code)
    assert KEY not in str(last) + caplog.text + repr(error) + str(error.__context__) + error.provider_message


def test_a_server_that_cannot_be_reached_is_an_error_of_its_own() -> None:
    with gateway() as (url, server):
        port = server.url
    assert url
    app = create_app(XAIUpstream(model=MODEL, base_url=port, api_key=KEY))
    with local_server(app) as again:
        last = call(f"{again}/agent", INPUT).events[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "unreachable")


def test_an_answer_that_takes_too_long_is_an_error_of_its_own() -> None:
    with gateway("xai-weather-2", timeout_s=1.0) as (url, server):
        server.endless = True
        last = call(url, INPUT).events[-1]
        server.left.set()
    assert (last["type"], last["code"]) == ("RUN_ERROR", "timeout")


def test_a_client_that_leaves_ends_the_request() -> None:
    with gateway("xai-weather-2", keep_alive_s=0.05) as (url, server):
        server.endless = True
        with opened(url) as response:
            while b"TEXT_MESSAGE_CONTENT" not in response.readline():
                pass
        assert server.left.wait(30)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"base_url": "ftp://api.x.ai"}, "bad_url"),
        ({"base_url": "https://api.x.ai/v1"}, "bad_url"),
        ({"base_url": "https://me:secret@api.x.ai"}, "bad_url"),
        ({"base_url": "https://api.x.ai:port"}, "bad_url"),
        ({"base_url": "api.x.ai"}, "bad_url"),
        ({"parameters": {"temprature": 1}}, "bad_parameter"),
        ({"parameters": {"messages": []}}, "bad_parameter"),
        ({"parameters": {"temperature": float("nan")}}, "bad_parameter"),
        ({"api_key": ""}, "missing_key"),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    options: Json, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError) as caught:
        XAIUpstream(**{"model": MODEL, "api_key": KEY, **options})
    assert caught.value.code == code


def test_a_value_that_the_sdk_refuses_ends_the_run_without_quoting_the_conversation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with gateway("xai-weather-2", parameters={"temperature": "warm"}) as (url, _):
        last = call(url, INPUT).events[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "bad_parameter")
    assert "Umbrella" not in caplog.text


def test_the_key_is_nowhere_in_the_upstream() -> None:
    upstream = XAIUpstream(model=MODEL, api_key=KEY)
    assert KEY not in repr(upstream) + repr(vars(upstream))
    assert upstream.name == f"xai-grpc:{MODEL}"


def test_without_the_extra_it_is_named() -> None:
    script = (
        "import sys; sys.modules['xai_sdk'] = None\n"
        "from agui_reasoning import MissingExtraError\n"
        "from agui_reasoning.gateway import XAIUpstream\n"
        "try:\n    XAIUpstream(model='m', api_key='k')\n"
        "except MissingExtraError as error:\n    print(error.code, error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    expected = f"missing_extra {MissingExtraError('agui_reasoning.gateway.XAIUpstream', 'xai')}\n"
    assert (done.stdout, done.stderr) == (expected, "")


@pytest.mark.parametrize(
    ("api", "wanted"),
    [
        ("xai-grpc", "XAIUpstream"),
        ("litellm", "provider litellm, with the API openai-chat, openai-responses"),
    ],
)
def test_http_names_what_to_use_instead(api: str, wanted: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(wanted)):
        HTTPUpstream(api, base_url="https://example.com", model="m", provider="anthropic")
