"""Test that chunks that are ready together are sent together, and that nothing else changes by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import pytest

from agui_reasoning.aio import run_agent, stream_run
from agui_reasoning.asgi import AGUIResponse, stop_responses
from agui_reasoning.asgi._ready import _MAX_JOINED_BYTES, ReadyChunks, Rest, started
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.run import Run
from agui_reasoning.wire import KEEP_ALIVE, read_events
from tests.unit.driver.test_aio import API, INPUT, PAYLOADS
from tests.unit.driver.test_asgi import Connection

pytestmark = pytest.mark.anyio

on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])
Wait = Callable[[], Awaitable[None]]


class Prompt(Connection):
    """A client whose server sends without waiting, as uvicorn does, until it stalls.

    Attributes:
        stall: Awaited before a message is sent, if ``stalls_at`` of them have been.
    """

    def __init__(self, *, stalls_at: int | None = None, stall: Wait | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.stalls_at = stalls_at
        self.stall = stall or anyio.lowlevel.checkpoint
        self.sending = 0

    async def send(self, message: Any) -> None:
        self.sending += 1
        assert self.sending == 1, "one message at a time"
        if len(self.sent) == self.stalls_at:
            await self.stall()
        if self.hang_up and len(self.sent) == self.leave_after:
            raise OSError("the peer is gone")
        self.sent.append(message)
        if not self.hang_up and len(self.sent) == self.leave_after:
            self._left.set()
        self.sending -= 1

    @property
    def sizes(self) -> list[int]:
        """The number of events in each message of the body."""
        return [message["body"].count(b"data: ") for message in self.sent[1:-1]]


def event(value: int) -> dict[str, Any]:
    return {"type": "CUSTOM", "name": "n", "value": value}


async def by_eight(count: int, wait: Wait = anyio.lowlevel.checkpoint) -> AsyncIterator[Any]:
    for value in range(count):
        if value % 8 == 0:
            await wait()
        yield event(value)


async def taken(chunks: ReadyChunks) -> bytes:
    chunk = chunks.next_or_ready()
    return chunk if isinstance(chunk, bytes) else await chunk


def values(body: bytes) -> list[int]:
    return [one["value"] for one in read_events(body)]


async def test_events_that_are_ready_together_are_sent_together(anyio_backend_name: str) -> None:
    connection = Prompt()
    body = await connection.get(AGUIResponse(by_eight(20)))
    assert values(body) == list(range(20))
    assert connection.sizes == ([8, 8, 4] if anyio_backend_name == "asyncio" else [1] * 20)


@on_asyncio
async def test_a_message_has_a_limit() -> None:
    connection = Prompt()
    text = "x" * 2_500

    async def long() -> AsyncIterator[Any]:
        for _ in range(20):
            yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text}

    await connection.get(AGUIResponse(long()))
    assert connection.sizes == [1, 7, 7, 5]
    assert 7 * len(text) > _MAX_JOINED_BYTES


@on_asyncio
async def test_chunks_that_come_alone_are_not_looked_for_every_time() -> None:
    async def alone() -> AsyncIterator[bytes]:
        for _ in range(100):
            await anyio.lowlevel.checkpoint()
            yield b"a"
        for _ in range(100):
            yield b"b"

    chunks = ReadyChunks(alone())
    looked, sizes = 0, []
    with suppress(StopAsyncIteration):
        while True:
            sizes.append(len(chunks.joined(await taken(chunks))))
            looked += chunks.rest is not None
    assert looked < 12
    assert sum(sizes) == 200
    assert max(sizes) > 80


async def test_a_run_sends_the_same_bytes_joined_and_alone() -> None:
    ids = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l")

    def stream() -> Any:
        return stream_run(INPUT, PAYLOADS, api=API, new_id=iter(ids).__next__, now_ms=lambda: 0)

    bodies = [await connection.get(AGUIResponse(stream())) for connection in (Prompt(), Connection())]
    assert bodies[0] == bodies[1]
    assert read_events(bodies[0])[-1]["type"] == "RUN_FINISHED"


async def test_an_error_of_the_events_comes_after_those_before_it() -> None:
    async def failing() -> AsyncIterator[Any]:
        for value in range(3):
            yield event(value)
        raise KeyError("bug")

    connection = Prompt()
    with pytest.raises(KeyError):
        await connection.get(AGUIResponse(failing()))
    assert values(b"".join(message.get("body", b"") for message in connection.sent)) == [0, 1, 2]


# -- what sources enter while they wait


async def in_move_on_after(found: list[str]) -> AsyncIterator[Any]:
    yield event(0)
    with anyio.move_on_after(0.01) as scope:
        await anyio.sleep_forever()
    found.append("moved on" if scope.cancelled_caught else "not cancelled")
    yield event(1)


async def in_fail_after(found: list[str]) -> AsyncIterator[Any]:
    yield event(0)
    try:
        with anyio.fail_after(0.01):
            await anyio.sleep_forever()
    except TimeoutError:
        found.append("moved on")
    yield event(1)


async def in_task_group(found: list[str]) -> AsyncIterator[Any]:
    yield event(0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(failing, 0.001))
            await anyio.sleep_forever()
    except* KeyError:
        found.append("moved on")
    yield event(1)


async def in_thread(found: list[str]) -> AsyncIterator[Any]:
    yield event(0)
    await anyio.to_thread.run_sync(lambda: None)
    found.append("moved on")
    yield event(1)


async def failing(after_s: float) -> None:
    await anyio.sleep(after_s)
    raise KeyError


SOURCES = [in_move_on_after, in_fail_after, in_task_group, in_thread]


@pytest.mark.parametrize("stalls_at", [None, 1, 2], ids=["prompt", "stalls at once", "stalls later"])
@pytest.mark.parametrize("source", SOURCES)
async def test_scopes_inside_a_source_work(source: Any, stalls_at: int | None) -> None:
    found: list[str] = []

    async def twice() -> AsyncIterator[Any]:
        for _ in range(2):
            async for one in source(found):
                yield one

    connection = Prompt(stalls_at=stalls_at, stall=lambda: anyio.sleep(0.03))
    body = await connection.get(AGUIResponse(twice()))
    assert values(body) == [0, 1, 0, 1]
    assert found == ["moved on", "moved on"]


@on_asyncio
async def test_asyncio_timeouts_inside_a_source_work() -> None:
    async def source() -> AsyncIterator[Any]:
        yield event(0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(60), 0.01)
        task = asyncio.create_task(asyncio.sleep(0.001, 5))
        yield event(1)
        yield event(await task)

    connection = Prompt(stalls_at=1, stall=lambda: anyio.sleep(0.03))
    assert values(await connection.get(AGUIResponse(source()))) == [0, 1, 5]


async def test_a_limit_of_a_source_is_not_that_of_a_slow_client() -> None:
    """The source has its data in time; that the client takes none meanwhile must not cut it off."""

    async def source() -> AsyncIterator[Any]:
        for value in range(3):
            with anyio.fail_after(0.05):
                await anyio.sleep(0.001)
            yield event(value)

    connection = Prompt(stalls_at=1, stall=lambda: anyio.sleep(0.2))
    assert values(await connection.get(AGUIResponse(source()))) == [0, 1, 2]


@pytest.mark.parametrize("enter", [anyio.CancelScope, anyio.create_task_group, None])
@pytest.mark.parametrize("hang_up", [False, True], ids=["disconnect", "failed send"])
async def test_a_client_that_leaves_cancels_a_source_inside_a_scope(enter: Any, hang_up: bool) -> None:
    closed: list[str] = []

    async def source() -> AsyncIterator[Any]:
        try:
            yield event(0)
            yield event(1)
            if enter is None:
                await anyio.sleep_forever()
            elif enter is anyio.CancelScope:
                with enter():
                    await anyio.sleep_forever()
            else:
                async with enter() as tasks:
                    tasks.start_soon(anyio.sleep_forever)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            closed.append("source")

    await Prompt(leave_after=2 - hang_up, hang_up=hang_up).get(AGUIResponse(source()))
    assert closed == ["source"]


async def test_a_task_that_is_cancelled_closes_the_source() -> None:
    closed: list[str] = []
    waiting = anyio.Event()

    async def source() -> AsyncIterator[Any]:
        try:
            yield event(0)
            with anyio.fail_after(60):
                waiting.set()
                await anyio.sleep_forever()
        finally:
            closed.append("source")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Prompt().get, AGUIResponse(source()))
        await waiting.wait()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert closed == ["source"]


# -- a client that stalls while the next chunk is waited for


async def test_a_middleware_may_limit_the_time_of_each_message() -> None:
    async def source() -> AsyncIterator[Any]:
        for value in range(4):
            yield event(value)
            await anyio.sleep(0.001)

    class Limited(Prompt):
        async def send(self, message: Any) -> None:
            with anyio.fail_after(10):
                await super().send(message)

    connection = Limited(stalls_at=1, stall=lambda: anyio.sleep(0.05))
    assert values(await connection.get(AGUIResponse(source()))) == [0, 1, 2, 3]


@pytest.mark.parametrize("fails_at", [1, 2, 3])
async def test_an_error_of_a_middleware_is_raised_as_it_is(fails_at: int) -> None:
    async def source() -> AsyncIterator[Any]:
        for value in range(4):
            yield event(value)
            await anyio.sleep(0.001)

    async def fail() -> None:
        raise KeyError("middleware")

    with pytest.raises(KeyError, match="middleware"):
        await Prompt(stalls_at=fails_at, stall=fail).get(AGUIResponse(source()))


async def test_a_message_that_has_to_wait_delays_neither_the_source_nor_the_order() -> None:
    read: list[int] = []
    connection = Prompt(stalls_at=1, stall=lambda: anyio.sleep(0.05))

    async def source() -> AsyncIterator[Any]:
        for value in range(4):
            yield event(value)
            read.append(value)
            await anyio.sleep(0.001)

    body = await connection.get(AGUIResponse(source()))
    assert values(body) == [0, 1, 2, 3]
    assert read == [0, 1, 2, 3]


async def test_no_comment_comes_between_while_a_message_waits() -> None:
    connection = Prompt(stalls_at=1, stall=lambda: anyio.sleep(0.1))

    async def source() -> AsyncIterator[Any]:
        yield event(0)
        await anyio.sleep(0.15)
        yield event(1)

    body = await connection.get(AGUIResponse(source(), keep_alive_s=0.02))
    assert values(body) == [0, 1]
    bodies = [message.get("body") for message in connection.sent]
    assert bodies.index(KEEP_ALIVE) > 1


async def test_a_client_that_stops_reading_is_left(caplog: pytest.LogCaptureFixture) -> None:
    closed: list[str] = []

    async def source() -> AsyncIterator[Any]:
        try:
            yield event(0)
            await anyio.sleep_forever()
        finally:
            closed.append("source")

    connection = Prompt(stalls_at=1, stall=anyio.sleep_forever)
    await connection.get(AGUIResponse(source(), send_timeout_s=0.05))
    assert closed == ["source"]
    assert "read nothing" in caplog.text


@pytest.mark.parametrize("stalls", [False, True], ids=["prompt", "stalls"])
async def test_a_run_ends_when_the_server_stops_while_it_waits(stalls: bool) -> None:
    waiting = anyio.Event()
    goes_on = anyio.Event()

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta("Hm")
        yield TextDelta("It")
        waiting.set()
        await anyio.sleep_forever()

    async def stall() -> None:
        waiting.set()
        await goes_on.wait()

    async def stop() -> None:
        await waiting.wait()
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as stopping:
            stopping.start_soon(stop_responses, 60.0)
            await anyio.sleep(0.01)
            goes_on.set()

    connection = Prompt(stalls_at=2 if stalls else None, stall=stall)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop)
        body = await connection.get(AGUIResponse(run_agent(INPUT, agent)))
    assert read_events(body)[-1]["code"] == "shutdown"
    assert connection.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


# -- stepping by hand


@on_asyncio
async def test_an_awaitable_that_does_not_wait_returns_its_result() -> None:
    async def at_once() -> int:
        return 5

    assert started(at_once()) == 5


@on_asyncio
async def test_the_rest_returns_raises_and_is_cancelled_like_the_whole() -> None:
    async def later(fails: bool) -> int:
        await asyncio.sleep(0)
        value: int = await asyncio.get_running_loop().run_in_executor(None, lambda: 6)
        if fails:
            raise KeyError(value)
        return value

    assert await started(later(False)) == 6
    with pytest.raises(KeyError):
        await started(later(True))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(started(asyncio.sleep(60)), 0.01)


@on_asyncio
@pytest.mark.parametrize("ignores", [False, True])
async def test_a_step_that_waits_can_be_closed(ignores: bool) -> None:
    closed: list[str] = []

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            await asyncio.sleep(0)
            yield b"a"
            await asyncio.sleep(60)
        except GeneratorExit:
            await asyncio.sleep(0)
            if ignores:
                yield b"b"
            raise
        finally:
            closed.append("chunks")

    ready = ReadyChunks(aiter(chunks()))
    assert ready.joined(await taken(ready)) == b"a"
    assert isinstance(ready.rest, Rest)
    await ready.aclose()
    assert closed == ["chunks"]
