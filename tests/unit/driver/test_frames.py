"""Test the frames of event streams: the bytes of their events, one chunk per payload, however they end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import anyio
import pytest
from starlette.types import Message

from agui_reasoning import ModelStream, Run, aio, run_agent, stream_run
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.deltas import Delta, ReasoningDelta, TextDelta
from agui_reasoning.wire import KEEP_ALIVE, SSEEncoder, read_events
from tests.unit.driver.test_aio import API, INPUT, PAYLOADS, Tape
from tests.unit.driver.test_asgi import Connection, virtual_time

pytestmark = pytest.mark.anyio

Agent = Callable[[Run], Iterator[Any]]


def options() -> dict[str, Any]:
    numbers = count()
    return {"new_id": lambda: f"id{next(numbers)}", "now_ms": lambda: 1_700_000_000_000}


def encoded(events: Any) -> bytes:
    return b"".join(map(SSEEncoder().encode, events))


def story(run: Run) -> Iterator[Any]:
    """Items of every kind."""
    yield ReasoningDelta("Hm, ")
    yield ReasoningDelta("yes.")
    yield {"type": "CUSTOM", "name": "n", "value": 1}
    yield ModelStream(PAYLOADS, api=API)
    child = run.subagent("helper", id="sub")
    yield from child.start()
    for text in ("a", "b", "c"):
        yield from child.receive(TextDelta(text))
    yield from child.finish()


def failing(run: Run) -> Iterator[Any]:
    """A model stream that fails, and before that an item in the middle of a payload."""
    yield ReasoningDelta("Hm.")
    yield ModelStream(Tape(PAYLOADS, fail_at=9).iterator(), api=API)


def bad_item(run: Run) -> Iterator[Any]:
    yield TextDelta("Half")
    yield {"type": "CUSTOM", "name": "n", "value": float("nan")}


def ended(run: Run) -> Iterator[Any]:
    yield TextDelta("Half")
    yield from run.cancel()


class Reader:
    """Gives several deltas per payload, the last of which the run refuses."""

    def receive(self, payload: Any) -> list[Any]:
        return [TextDelta("a"), TextDelta("b"), payload]

    def whole(self, response: Any) -> list[Delta]:
        return []

    def close(self) -> list[Delta]:
        return []


def refused_in_the_middle(run: Run) -> Iterator[Any]:
    yield ModelStream([TextDelta("c"), "not an item"], reader=lambda run: Reader())


AGENTS = [story, failing, ended, refused_in_the_middle]
each = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)


def asynchronous(agent: Agent) -> Callable[[Run], AsyncIterator[Any]]:
    async def items(run: Run) -> AsyncIterator[Any]:
        for item in agent(run):
            yield item

    return items


@each
async def test_frames_are_the_bytes_of_the_events(agent: Agent) -> None:
    events = encoded(run_agent(INPUT, agent, **options()))
    assert b"".join(run_agent(INPUT, agent, **options()).frames()) == events
    stream = aio.run_agent(INPUT, asynchronous(agent), **options())
    assert encoded([event async for event in stream]) == events
    stream = aio.run_agent(INPUT, asynchronous(agent), **options())
    assert b"".join([chunk async for chunk in stream.frames()]) == events


async def test_a_payload_gives_one_chunk_and_an_empty_one_none() -> None:
    pieces = [chunk async for chunk in aio.stream_run(INPUT, PAYLOADS, api=API, **options()).frames()]
    assert pieces == list(stream_run(INPUT, PAYLOADS, api=API, **options()).frames())
    assert all(pieces)
    assert len(pieces) <= len(PAYLOADS) + 3  # and RUN_STARTED, the end of the stream, the end of the run
    assert max(len(read_events(piece)) for piece in pieces) > 1


@pytest.mark.parametrize("read", range(8))
async def test_frames_continue_after_events_that_were_read(read: int) -> None:
    events = list(stream_run(INPUT, PAYLOADS, api=API, **options()))
    stream = stream_run(INPUT, PAYLOADS, api=API, **options())
    assert [next(stream) for _ in range(read)] == events[:read]
    assert b"".join(stream.frames()) == encoded(events[read:])
    later = aio.stream_run(INPUT, PAYLOADS, api=API, **options())
    assert [await anext(later) for _ in range(read)] == events[:read]
    assert b"".join([chunk async for chunk in later.frames()]) == encoded(events[read:])


async def test_frames_that_are_not_read_to_the_end_close_the_source() -> None:
    tape, later = Tape(PAYLOADS), Tape(PAYLOADS)
    frames = stream_run(INPUT, tape.iterator(), api=API).frames()
    assert [next(frames) for _ in range(3)]
    frames.close()
    chunks = aio.stream_run(INPUT, later.generator(), api=API).frames()
    assert [await anext(chunks) for _ in range(3)]
    await chunks.aclose()
    assert (tape.opened, tape.closed) == (later.opened, later.closed) == (1, 1)


async def test_an_event_that_cannot_be_written_fails_the_run_in_order() -> None:
    events = read_events(b"".join(run_agent(INPUT, bad_item, **options()).frames()))
    assert [event["type"] for event in events[-2:]] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
    assert events[-1]["code"] == "not_json"


@pytest.mark.parametrize("summarized", [False, True])
async def test_summaries_that_are_awaited_are_in_the_frames(summarized: bool) -> None:
    async def summarize(part: Any) -> str:
        await anyio.lowlevel.checkpoint()
        return "In short."

    more: dict[str, Any] = {"visibility": "summary", "summarize": summarize if summarized else None}
    run_input = INPUT
    plain = aio.stream_run(run_input, PAYLOADS, api="openai-chat", **options(), **more)
    events = encoded([event async for event in plain])
    framed = aio.stream_run(run_input, PAYLOADS, api="openai-chat", **options(), **more)
    assert b"".join([chunk async for chunk in framed.frames()]) == events


async def test_a_response_sends_a_chunk_per_payload_of_a_synchronous_stream_too() -> None:
    for stream in (
        stream_run(INPUT, PAYLOADS, api=API, **options()),
        aio.stream_run(INPUT, PAYLOADS, api=API, **options()),
    ):
        connection = Connection()
        await connection.get(AGUIResponse(stream))
        sent = [message["body"] for message in connection.sent[1:-1]]
        assert sent == list(stream_run(INPUT, PAYLOADS, api=API, **options()).frames())


@virtual_time
async def test_no_comment_is_sent_while_the_client_has_not_taken_the_last_message() -> None:
    connection = Connection()
    connection.pause = lambda: anyio.sleep(30.0)

    async def events() -> AsyncIterator[Any]:
        for value in range(3):
            yield {"type": "CUSTOM", "name": "n", "value": value}

    assert KEEP_ALIVE not in await connection.get(AGUIResponse(events(), keep_alive_s=4.0), within=900.0)


@virtual_time
async def test_a_message_waits_for_a_comment_that_is_being_sent() -> None:
    sending = 0

    class Strict(Connection):
        async def send(self, message: Message) -> None:
            nonlocal sending
            sending += 1
            assert sending == 1
            slow = message.get("body") == KEEP_ALIVE
            await anyio.sleep(3.0 if slow else 0.0)
            await super().send(message)
            sending -= 1

    async def events() -> AsyncIterator[Any]:
        for value in range(4):
            await anyio.sleep(5.5)
            yield {"type": "CUSTOM", "name": "n", "value": value}

    body = await Strict().get(AGUIResponse(events(), keep_alive_s=4.0), within=900.0)
    assert body.count(KEEP_ALIVE) == 4
    assert [event["value"] for event in read_events(body)] == [0, 1, 2, 3]
