"""Streams of one WebSocket connection of the Responses API, through OpenAI's SDK."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning import ModelStream, Run, aio, build_request, run_agent, stream_run
from tests.support.vendor_shapes import message_events, message_item
from tests.support.verifier import Client, plain

openai: Any = pytest.importorskip("openai", reason="OpenAI's SDK is not installed")
websockets: Any = pytest.importorskip("websockets.sync.server", reason="websockets is not installed")

pytestmark = pytest.mark.filterwarnings(r"ignore:connect\(\) must be used as:DeprecationWarning")

JSON = dict[str, Any]

INPUT: JSON = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0"}
GPT: JSON = {"api": "openai-responses", "provider": "openai", "model": "gpt-6"}
ENDS = ("response.completed", "response.incomplete")


def response(name: str, *, text: str, **end: Any) -> list[JSON]:
    """The events of a response whose ID and message are named after its lane."""
    whole = {"id": f"resp_{name}", "object": "response", "status": "completed", "output": [], **end}
    item = message_item(f"msg_{name}", text)
    word = "response.incomplete" if end.get("incomplete_details") else "response.completed"
    events = [
        {"type": "response.created", "response": {**whole, "status": "in_progress"}},
        *message_events(0, item),
        {"type": word, "response": whole},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def labelled(name: str, events: list[JSON]) -> list[JSON]:
    return [{**event, "stream_id": name} for event in events]


FIRST, SECOND = (labelled(n, response(n, text=t)) for n, t in (("a", "One umbrella."), ("b", "Two boots.")))
MIXED = [event for pair in zip(FIRST, SECOND, strict=True) for event in pair]


@contextmanager
def connected(*events: JSON) -> Iterator[Any]:
    """A connection of the SDK to a server that sends these events when it is asked for a response."""

    def serve(socket: Any) -> None:
        for _ in socket:
            for event in events:
                socket.send(json.dumps(event))

    with websockets.serve(serve, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        try:
            client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
            with client, client.responses.connect() as connection:
                connection.response.create(model="gpt-6", input="Rain?")
                yield connection
        finally:
            server.shutdown()
            thread.join()


def until(connection: Any, ends: int) -> list[Any]:
    """What a connection sends up to this number of ends."""
    heard: list[Any] = []
    for event in connection:
        heard.append(event)
        ends -= event.type in ENDS
        if not ends:
            break
    return heard


def said(events: list[JSON]) -> list[str]:
    return [str(message["content"]) for message in Client().feed(events).done().messages]


@pytest.mark.parametrize(("name", "text"), [("a", "One umbrella."), ("b", "Two boots.")])
def test_a_run_reads_one_stream_of_a_connection(name: str, text: str) -> None:
    with connected(*MIXED) as connection:
        events = plain(stream_run(INPUT, lambda: until(connection, 2), stream_id=name, **GPT))
    assert said(events) == [text]
    assert events[-1]["type"] == "RUN_FINISHED"


def test_an_agent_reads_the_streams_of_a_connection_one_after_the_other() -> None:
    with connected(*MIXED) as connection:
        heard = until(connection, 2)
    agent = lambda run: iter([ModelStream(heard, stream_id=name) for name in ("b", "a")])  # noqa: E731
    assert said(plain(run_agent(INPUT, agent, **GPT))) == ["Two boots.", "One umbrella."]


@pytest.mark.anyio
async def test_an_asynchronous_run_reads_one_stream_too() -> None:
    events = plain([event async for event in aio.stream_run(INPUT, MIXED, stream_id="b", **GPT)])
    assert said(events) == ["Two boots."]


def test_streams_that_would_mix_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    with connected(*MIXED) as connection:
        events = plain(stream_run(INPUT, lambda: until(connection, 2), **GPT))
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "mixed_streams")
    assert "ModelStream(…, stream_id=…)" in caplog.text
    assert "boots" not in str(events)
    Client().feed(events)


def test_other_apis_have_no_streams_to_choose_from() -> None:
    run = Run(INPUT)
    events = plain(run_agent(run, lambda run: iter([ModelStream([], api="openai-chat", stream_id="a")])))
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "wrong_option")


# -- input that steers a response

STEERED = {"status": "incomplete", "incomplete_details": {"reason": "steered"}}
WORDS = "Only in Oslo."


def one_response(connection: Any) -> Iterator[Any]:
    yield from until(connection, 1)


def spoken(item: JSON) -> str:
    content = item["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def test_input_that_steered_a_response_is_a_message_of_the_user() -> None:
    accepted = {
        "type": "response.steer.accepted",
        "sequence_number": 9,
        "steer": {"id": "st_1", "previous_response_id": "resp_a"},
    }
    first, second = response("a", text="One", **STEERED), response("b", text="Two")
    bodies = []

    def agent(run: Run) -> Iterator[Any]:
        yield ModelStream(one_response(connection))
        assert run.finish_reason == "steered"
        yield UserMessage(id="", content=WORDS)
        yield ModelStream(one_response(connection))
        bodies.append(run.request().body)

    asked = {**INPUT, "messages": [{"id": "u1", "role": "user", "content": "Rain?"}]}
    with connected(*first[:-1], accepted, first[-1], *second) as connection:
        events = plain(run_agent(asked, agent, **GPT))
    client = Client(messages=[*asked["messages"]]).feed(events).done()
    # The run and the client's next one send it between the two turns.
    told = [*client.messages, {"id": "u2", "role": "user", "content": "So?"}]
    bodies.append(build_request("openai-responses", told, provider="openai", model="gpt-6").body)
    expected = ["Rain?", "One", WORDS, "Two"]
    assert [list(map(spoken, body["input"])) for body in bodies] == [expected, [*expected, "So?"]]


def test_media_that_the_user_sends_during_a_run_are_in_its_requests_only() -> None:
    warned: list[str] = []
    run = Run(INPUT, **GPT, on_warning=warned.append, new_id=iter("12").__next__)
    run.start()
    picture = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
    message = UserMessage(id="", content=[{"type": "text", "text": "Here:"}, picture])
    shown = plain(run.receive(message))
    assert [event["type"] for event in shown] == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
    ]
    assert (shown[0]["role"], shown[0]["messageId"]) == ("user", "1")
    assert "AAAA" not in str(shown)
    assert len(warned) == 1
    assert [part["type"] for part in run.request().body["input"][0]["content"]] == [
        "input_text",
        "input_image",
    ]
