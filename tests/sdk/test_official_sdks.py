"""The vendors' own SDKs stream from a local server, and their objects go into the decoder."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from agui_reasoning import aio, stream_run
from agui_reasoning._scripted import load_script
from agui_reasoning._shells.driver import FAILED
from agui_reasoning.gateway._provider_replay import provider_app
from agui_reasoning.gateway._serving import local_server
from tests.support.recordings import load as load_recording
from tests.support.recordings import recordings
from tests.support.verifier import Client, plain

anthropic: Any = pytest.importorskip("anthropic", reason="Anthropic's SDK is not installed")
openai: Any = pytest.importorskip("openai", reason="OpenAI's SDK is not installed")

# Under trio both SDKs leave generators of their own behind when they stop reading at `[DONE]` or are closed
# early; they are nested in their streams, where nobody else can close them. Ours are not forgiven.
theirs = pytest.mark.filterwarnings(
    r"ignore:Async generator '(openai|anthropic|httpx2|httpcore2)\.:ResourceWarning",
    r"ignore:Exception ignored in. <async_generator object (?!_drive|_items|_show|run_agent|stream_run)"
    ":pytest.PytestUnraisableExceptionWarning",
)

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}
ASK: list[Any] = [{"role": "user", "content": "Hi."}]
MODEL = "replayed"


@contextmanager
def provider(exchange: Any) -> Iterator[str]:
    """The base URL of a provider that answers with one exchange."""
    with local_server(provider_app(exchange)) as url:
        yield url


def anthropic_client(url: str, kind: Any = anthropic.Anthropic) -> Any:
    return kind(base_url=url, api_key="none", max_retries=0)


def openai_client(url: str, kind: Any = openai.OpenAI) -> Any:
    return kind(base_url=f"{url}/v1", api_key="none", max_retries=0)


def _messages(client: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": ASK}


# How each SDK is asked: the raw stream, and the helper that mixes events of its own in.
FORMS: dict[str, tuple[str, Callable[[str, bool], Any]]] = {
    "anthropic raw": (
        "anthropic-weather",
        lambda url, sync: _anthropic(url, sync).messages.create(
            model=MODEL, max_tokens=100, messages=ASK, stream=True
        ),
    ),
    "anthropic helper": (
        "anthropic-weather",
        lambda url, sync: _anthropic(url, sync).messages.stream(model=MODEL, max_tokens=100, messages=ASK),
    ),
    "responses raw": (
        "openai-weather",
        lambda url, sync: _openai(url, sync).responses.create(model=MODEL, input="Hi.", stream=True),
    ),
    "responses helper": (
        "openai-weather",
        lambda url, sync: _openai(url, sync).responses.stream(model=MODEL, input="Hi."),
    ),
    "chat raw": (
        "chat-weather",
        lambda url, sync: _openai(url, sync).chat.completions.create(model=MODEL, messages=ASK, stream=True),
    ),
    "chat helper": (
        "chat-weather",
        lambda url, sync: _openai(url, sync).chat.completions.stream(model=MODEL, messages=ASK),
    ),
}
_CLIENTS: list[Any] = []


def _anthropic(url: str, sync: bool) -> Any:
    client = anthropic_client(url, anthropic.Anthropic if sync else anthropic.AsyncAnthropic)
    _CLIENTS.append(client)
    return client


def _openai(url: str, sync: bool) -> Any:
    client = openai_client(url, openai.OpenAI if sync else openai.AsyncOpenAI)
    _CLIENTS.append(client)
    return client


def numbered(events: Any) -> Any:
    return {"new_id": iter(f"id{n}" for n in range(9999)).__next__, "now_ms": None, **events}


def read(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with their envelopes read: an SDK's models order the keys of a block as they like."""
    return [
        {**event, "encryptedValue": json.loads(event["encryptedValue"])}
        if "encryptedValue" in event
        else event
        for event in events
    ]


def from_payloads(exchange: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that the wire JSON gives."""
    payloads = [event["data"] for event in exchange["events"]]
    return plain(stream_run(INPUT, payloads, **numbered({"api": exchange["api"]})))


@pytest.mark.parametrize(("script", "ask"), FORMS.values(), ids=FORMS)
def test_a_synchronous_sdk_stream_gives_the_events_of_its_wire_json(script: str, ask: Any) -> None:
    exchange = load_script(script)
    with provider(script) as url:
        events = plain(stream_run(INPUT, lambda: ask(url, True), **numbered({"api": exchange["api"]})))
        _CLIENTS.pop().close()
    assert events == from_payloads(exchange)
    Client().feed(events).done()


@theirs
@pytest.mark.anyio
@pytest.mark.parametrize(("script", "ask"), FORMS.values(), ids=FORMS)
async def test_an_asynchronous_sdk_stream_gives_the_events_of_its_wire_json(
    script: str, ask: Any, anyio_backend_name: str
) -> None:
    exchange = load_script(script)
    with provider(script) as url:
        with anyio.fail_after(20):
            stream = aio.stream_run(INPUT, ask(url, False), **numbered({"api": exchange["api"]}))
            events = plain([event async for event in stream])
        await _CLIENTS.pop().close()
    assert events == from_payloads(exchange)


@theirs
@pytest.mark.anyio
@pytest.mark.parametrize("form", ["anthropic raw", "anthropic helper", "responses raw", "chat raw"])
async def test_leaving_an_sdk_stream_closes_its_connection(form: str, anyio_backend_name: str) -> None:
    script, ask = FORMS[form]
    with local_server(provider_app(script, delay_s=0.01)) as url:
        stream = aio.stream_run(INPUT, ask(url, False), api=load_script(script)["api"])
        async for event in stream:
            if event.type.value == "REASONING_MESSAGE_CONTENT":
                break
        await stream.aclose()
        client = _CLIENTS.pop()
        # The pool of the SDK's HTTP client holds no connection that is still in use.
        pool = client._client._transport._pool
        assert [connection for connection in pool.connections if not connection.is_idle()] == []
        await client.close()


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
    assert events[-1]["message"] == FAILED
    assert "replay" not in str(events)
    assert "Traceback" in caplog.text


# -- every recorded stream, as the SDK gives it


async def _raw(api: str, url: str) -> AsyncIterator[Any]:
    if api == "anthropic-messages":
        async with anthropic_client(url, anthropic.AsyncAnthropic) as client:
            async for event in await client.messages.create(**_messages(client), stream=True):
                yield event
    elif api == "openai-responses":
        async with openai_client(url, openai.AsyncOpenAI) as client:
            async for event in await client.responses.create(model=MODEL, input="Hi.", stream=True):
                yield event
    else:
        async with openai_client(url, openai.AsyncOpenAI) as client:
            async for event in await client.chat.completions.create(model=MODEL, messages=ASK, stream=True):
                yield event


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-responses", "openai-chat"])
def test_recorded_streams_through_the_sdk_are_their_wire_json(api: str) -> None:
    streamed = [load_recording(p.values[0]) for p in recordings(api) if p.values[0] is not None]
    chosen = [r for r in streamed if r["stream"]][::4]
    if not chosen:
        pytest.skip("the recordings are absent; set AGUI_REASONING_SHARED")

    async def through(url: str, recording: dict[str, Any]) -> list[dict[str, Any]]:
        stream = aio.stream_run(INPUT, _raw(api, url), **numbered({"api": api}))
        return plain([event async for event in stream])

    for recording in chosen:
        with provider(recording) as url:
            events = anyio.run(through, url, recording)
        expected = from_payloads(recording)
        if expected[-1]["type"] == "RUN_ERROR":
            # The SDK raises the provider's error itself.
            assert events[-1]["type"] == "RUN_ERROR"
        else:
            assert read(events) == read(expected)
