"""Test the ASGI response: one reader, keep-alive, backpressure, and clients that leave."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import pytest
from starlette.background import BackgroundTask
from trio.testing import MockClock

from agui_reasoning import ConfigurationError, MissingExtraError
from agui_reasoning.aio import stream_run
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.wire import KEEP_ALIVE, read_events
from tests.unit.driver.test_aio import API, FORMS, INPUT, PAYLOADS, Tape

pytestmark = pytest.mark.anyio


class Connection:
    """A client of one response, as an ASGI server sees it."""

    def __init__(self, *, leave_after: int | None = None, hang_up: bool = False) -> None:
        self.sent: list[dict[str, Any]] = []
        self.leave_after = leave_after
        self.hang_up = hang_up
        self._left = anyio.Event()
        self.pause: Callable[[], Any] = anyio.lowlevel.checkpoint

    async def receive(self) -> dict[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        await self.pause()
        if self.hang_up and len(self.sent) == self.leave_after:
            raise OSError("the peer is gone")
        self.sent.append(message)
        if not self.hang_up and len(self.sent) == self.leave_after:
            self._left.set()

    async def get(self, response: AGUIResponse, within: float = 60.0) -> bytes:
        with anyio.fail_after(within):
            await response({"type": "http", "method": "POST"}, self.receive, self.send)
        return b"".join(message.get("body", b"") for message in self.sent)


async def custom(number: int) -> AsyncIterator[Any]:
    for value in range(number):
        yield {"type": "CUSTOM", "name": "n", "value": value}


async def test_events_are_framed_and_the_response_ends() -> None:
    connection = Connection()
    body = await connection.get(AGUIResponse(stream_run(INPUT, PAYLOADS, api=API)))
    assert read_events(body)[-1]["type"] == "RUN_FINISHED"
    assert connection.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_headers_tell_proxies_not_to_buffer_and_can_be_changed() -> None:
    connection = Connection()
    await connection.get(AGUIResponse(custom(1), headers={"X-Run": "r", "Cache-Control": "no-store"}))
    headers = dict(connection.sent[0]["headers"])
    assert headers == {
        b"cache-control": b"no-store",
        b"content-type": b"text/event-stream; charset=utf-8",
        b"x-accel-buffering": b"no",
        b"x-run": b"r",
    }


async def test_synchronous_events_are_read_in_threads_and_closed() -> None:
    closed: list[bool] = []

    def events() -> Iterator[Any]:
        try:
            yield {"type": "CUSTOM", "name": "n", "value": 1}
            yield {"type": "CUSTOM", "name": "n", "value": 2}
        finally:
            closed.append(True)

    assert len(read_events(await Connection().get(AGUIResponse(events())))) == 2
    await Connection(leave_after=2).get(AGUIResponse(events()))
    assert closed == [True, True]


async def test_comments_flow_until_the_next_event() -> None:
    connection = Connection()

    async def silent() -> AsyncIterator[Any]:
        yield {"type": "CUSTOM", "name": "n", "value": 1}
        while sum(message.get("body") == KEEP_ALIVE for message in connection.sent) < 3:
            await anyio.sleep(0.01)
        yield {"type": "CUSTOM", "name": "n", "value": 2}

    body = await connection.get(AGUIResponse(silent(), keep_alive_s=0.02))
    assert body.count(KEEP_ALIVE) >= 3
    assert [event["value"] for event in read_events(body)] == [1, 2]


virtual_time = pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})], ids=["virtual time"]
)
"""Time passes when every task waits for it, and costs none."""


@virtual_time
@pytest.mark.parametrize(("silence", "comments"), [(3.9, 0), (5.1, 1), (13.5, 3)])
async def test_a_comment_comes_after_each_interval_without_an_event(silence: float, comments: int) -> None:
    async def silent() -> AsyncIterator[Any]:
        yield {"type": "CUSTOM", "name": "n", "value": 1}
        await anyio.sleep(silence)
        yield {"type": "CUSTOM", "name": "n", "value": 2}

    body = await Connection().get(AGUIResponse(silent(), keep_alive_s=4.0))
    assert body.count(KEEP_ALIVE) == comments
    assert [event["value"] for event in read_events(body)] == [1, 2]


@virtual_time
@pytest.mark.parametrize("begins", [0.1, 0.5, 0.9])
async def test_responses_share_the_time_and_each_is_given_its_own(begins: float) -> None:
    found: list[tuple[int, int]] = []

    async def respond(number: int, silence: float) -> None:
        async def silent() -> AsyncIterator[Any]:
            yield {"type": "CUSTOM", "name": "n", "value": number}
            await anyio.sleep(silence)

        body = await Connection().get(AGUIResponse(silent(), keep_alive_s=4.0))
        found.append((number, body.count(KEEP_ALIVE)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(respond, 1, 12.5)
        await anyio.sleep(begins)
        tasks.start_soon(respond, 2, 3.9)
        tasks.start_soon(respond, 3, 5.1)
    assert found == [(2, 0), (3, 1), (1, 2)]


@virtual_time
async def test_no_comment_comes_while_events_do() -> None:
    async def busy() -> AsyncIterator[Any]:
        for value in range(20):
            await anyio.sleep(3.9)
            yield {"type": "CUSTOM", "name": "n", "value": value}

    assert b"keep-alive" not in await Connection().get(AGUIResponse(busy(), keep_alive_s=4.0), within=100.0)


@virtual_time
@pytest.mark.parametrize("keep_alive_s", [4.0, 15.0, 1000.0])
async def test_a_client_that_does_not_read_is_left(
    keep_alive_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    connection = Connection()
    closed: list[float] = []

    async def stuck() -> None:
        if len(connection.sent) == 4:
            await anyio.sleep_forever()

    async def events() -> AsyncIterator[Any]:  # no run, whose worker threads take no virtual time
        try:
            for value in range(100):
                yield {"type": "CUSTOM", "name": "n", "value": value}
        finally:
            closed.append(anyio.current_time())

    connection.pause = stuck
    started = anyio.current_time()
    response = AGUIResponse(events(), keep_alive_s=keep_alive_s, send_timeout_s=20.0)
    await connection.get(response, within=100.0)
    assert len(closed) == 1
    assert 20.0 <= closed[0] - started <= 27.5
    message = "A client read nothing for 20 seconds: its response is closed."
    assert [record.message for record in caplog.records] == [message]


@virtual_time
async def test_a_client_that_does_not_read_comments_is_left() -> None:
    connection = Connection()

    async def stuck() -> None:
        if len(connection.sent) == 2:
            await anyio.sleep_forever()

    async def silent() -> AsyncIterator[Any]:
        yield {"type": "CUSTOM", "name": "n", "value": 1}
        await anyio.sleep_forever()

    connection.pause = stuck
    await connection.get(AGUIResponse(silent(), keep_alive_s=4.0, send_timeout_s=20.0), within=30.0)
    assert len(connection.sent) == 2


@virtual_time
async def test_a_slow_client_and_a_silent_agent_are_not_cut_off() -> None:
    connection = Connection()

    async def slow() -> None:
        await anyio.sleep(19.0)

    async def events() -> AsyncIterator[Any]:
        for value in range(4):
            yield {"type": "CUSTOM", "name": "n", "value": value}
        await anyio.sleep(100.0)

    connection.pause = slow
    body = await connection.get(AGUIResponse(events(), keep_alive_s=15.0, send_timeout_s=20.0), within=400.0)
    assert [event["value"] for event in read_events(body)] == [0, 1, 2, 3]
    assert connection.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


@pytest.mark.parametrize("hang_up", [False, True], ids=["disconnect", "failed send"])
@pytest.mark.parametrize("form", ["async generator", "SDK stream", "generator", "awaitable"])
async def test_a_client_that_leaves_closes_the_providers_stream(hang_up: bool, form: str) -> None:
    for leave_after in (1, 2, 5, 20):
        tape = Tape(PAYLOADS)
        source = FORMS[form](tape)
        connection = Connection(leave_after=leave_after, hang_up=hang_up)
        await connection.get(AGUIResponse(stream_run(INPUT, source, api=API)))
        assert tape.opened == tape.closed
        assert len(connection.sent) < len(PAYLOADS)


@pytest.mark.parametrize("leave_after", range(5))
async def test_a_client_may_leave_before_the_head_and_before_the_end(leave_after: int) -> None:
    """Head, three events and the end: whichever cannot be sent, it is no error."""
    connection = Connection(leave_after=leave_after, hang_up=True)
    await connection.get(AGUIResponse(custom(3)))
    assert len(connection.sent) == leave_after


async def test_a_client_that_leaves_during_silence_closes_the_providers_stream() -> None:
    tape = Tape(PAYLOADS, stall_at=6)
    connection = Connection(leave_after=4)
    await connection.get(AGUIResponse(stream_run(INPUT, tape.sdk, api=API)))
    assert (tape.opened, tape.closed) == (1, 1)


async def test_a_slow_reader_slows_the_events_down_and_nothing_is_buffered() -> None:
    made = 0

    async def events() -> AsyncIterator[Any]:
        nonlocal made
        for value in range(100):
            made += 1
            yield {"type": "CUSTOM", "name": "n", "value": value}

    connection = Connection()
    ahead: list[int] = []

    async def slow() -> None:
        await anyio.sleep(0.001)
        ahead.append(made - len(connection.sent))

    connection.pause = slow
    await connection.get(AGUIResponse(events()))
    assert made == 100
    assert max(ahead) <= 1


async def test_an_error_of_the_events_is_raised_as_it_is() -> None:
    async def failing() -> AsyncIterator[Any]:
        yield {"type": "CUSTOM", "name": "n", "value": 1}
        raise KeyError("bug")

    connection = Connection()
    with pytest.raises(KeyError):
        await connection.get(AGUIResponse(failing()))
    assert len(connection.sent) == 2


async def test_an_event_that_cannot_be_written_is_an_error() -> None:
    async def wrong() -> AsyncIterator[Any]:
        yield {"type": "CUSTOM", "name": "n", "value": float("nan")}

    with pytest.raises(Exception, match="NaN"):
        await Connection().get(AGUIResponse(wrong()))


async def test_the_background_task_runs_after_the_response() -> None:
    connection = Connection()
    done: list[int] = []
    await connection.get(
        AGUIResponse(custom(2), background=BackgroundTask(lambda: done.append(len(connection.sent))))
    )
    assert done == [4]


@pytest.mark.parametrize("name", ["keep_alive_s", "send_timeout_s"])
@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_time_of_nothing_is_refused(name: str, seconds: float) -> None:
    options: Any = {name: seconds}
    with pytest.raises(ConfigurationError, match=f"{name} is {seconds}, which is not positive") as caught:
        AGUIResponse(custom(1), **options)
    assert caught.value.code == "bad_limit"


def test_without_the_extra_the_module_names_it() -> None:
    program = (
        "import sys; sys.modules['starlette'] = None\n"
        "try:\n    import agui_reasoning.asgi\n"
        "except ImportError as error: print(error.code, error.hint)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout == f"missing_extra {MissingExtraError('x', 'server').hint}\n"
