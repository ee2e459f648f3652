"""A response that streams AG-UI events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from math import ceil
from time import monotonic
from typing import Any, Final

import anyio
import anyio.lowlevel
from ag_ui.core import Event
from anyio.abc import TaskGroup
from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agui_reasoning._driver import SHUT_DOWN, InThreads, spawn
from agui_reasoning._limits import check_seconds
from agui_reasoning._wire_events import new_uuid
from agui_reasoning.asgi._ready import ReadyChunks, asyncio_loop, close, open_response, started
from agui_reasoning.emitter import Opened
from agui_reasoning.wire import KEEP_ALIVE, MEDIA_TYPE, SSEEncoder, frames_of

# nginx buffers event streams without the second header, and what compresses without the first.
_HEADERS = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}

_TICKS: Final = 4
"""How often per time limit it is checked whether anything was sent."""

_LAST_SEND_S: Final = 5.0
"""How long a client may take to receive a message after the server began to stop, in seconds."""

_log = logging.getLogger("agui_reasoning")


class AGUIResponse(Response):
    """Streams events as Server-Sent Events.

    A single task iterates over the events and closes them, however the response ends. Comments keep an idle
    connection alive: proxies end those on which a model thinks in silence (microsoft/agent-framework#6611).
    Events that are ready together are sent together, up to 16 KiB, while the client takes them as fast as
    they come. Nothing else is buffered: a slow client slows down the events, and they are closed when the
    client disconnects or stops reading.

    When uvicorn stops, the response ends what is open and sends RUN_ERROR with the code ``shutdown``.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        events: AsyncIterable[Event | Mapping[str, Any]] | Iterable[Event | Mapping[str, Any]],
        *,
        keep_alive_s: float = 15.0,
        send_timeout_s: float = 60.0,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
    ) -> None:
        """Create a response.

        Args:
            events: The events, for example from `agui_reasoning.aio.run_agent`, whose frames are sent.
                Synchronous iterables are read in worker threads.
            keep_alive_s: Seconds without an event after which a comment is sent, up to a quarter later.
            send_timeout_s: Seconds without progress after which a client that does not read is treated as one
                that has left. Measured coarsely: up to half of the shorter of both limits is added.
            headers: Additional headers; they override the headers of this response.
            background: A task that Starlette runs after the response.

        Raises:
            ConfigurationError: ``keep_alive_s`` or ``send_timeout_s`` is not positive (``bad_limit``).
        """
        check_seconds(keep_alive_s=keep_alive_s, send_timeout_s=send_timeout_s)
        self._events = events
        self._keep_alive_s = keep_alive_s
        self._send_timeout_s = send_timeout_s
        self.status_code = 200
        self.background = background
        self.init_headers({**_HEADERS, **(headers or {})})  # without a length, because there is no `body`

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request. An error of the events is raised after they are closed."""
        async with anyio.create_task_group() as tasks:
            line = _Line(send, tasks, self._keep_alive_s, self._send_timeout_s)
            line.on_stop = getattr(self._events, "_stop_with_server", None)
            # All that awaits the stream is resumed with it for every chunk: in a task of its own, nothing is.
            tasks.start_soon(self._respond, line)
            await cancel_on_disconnect(receive, line.scope)
        if line.failed is not None:
            try:
                raise line.failed
            finally:
                del line  # the traceback of the error refers to this frame
        if self.background is not None:
            await self.background()

    async def _respond(self, line: _Line) -> None:
        try:
            with line.scope, open_response(line, spawn):
                await self._stream(line)
        except Exception as error:
            # Raised outside the task group, which would wrap it.
            line.failed = error
        line.dismiss()

    async def _stream(self, line: _Line) -> None:
        chunks, shut_down = _chunks(self._events)
        unsent = b""
        try:
            head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await line.send(head)
            line.open = True
            if not line.stopping:
                unsent = await _relay(chunks, line)
        finally:
            for stream in (chunks, self._events):
                await close(stream)
        if line.stopping and (last := unsent + shut_down()):
            await line.send(_piece(last))
        line.open = False
        await line.send({"type": "http.response.body", "body": b"", "more_body": False})


async def _relay(chunks: ReadyChunks, line: _Line) -> bytes:
    """Send chunks until the end, or until the server stops; return one that was read but not sent."""
    unsent = b""
    with line.reading:
        with suppress(StopAsyncIteration):
            while not line.stopping:
                by_hand = not chunks.alone and line.is_prompt
                taken = chunks.next_or_ready() if by_hand else chunks.next()
                chunk = taken if isinstance(taken, bytes) else await taken
                if line.stopping:
                    unsent = chunk
                    break
                if by_hand and line.joins:
                    chunk = chunks.joined(chunk)
                if chunks.rest is None:
                    await line.send(_piece(chunk), by_hand=by_hand)
                else:
                    line.hand_over(_piece(chunk))
        if line.stopping:
            line.reading.cancel()  # what cleans up must not wait either
            await chunks.aclose()
    return unsent


def _chunks(events: Any) -> tuple[ReadyChunks, Callable[[], bytes]]:
    """Return the bytes to send, and what ends them if the server stops."""
    is_stream = hasattr(events, "frames")
    chunks = events.frames() if is_stream else events
    iterator = aiter(chunks if hasattr(chunks, "__aiter__") else InThreads(chunks))
    if is_stream:
        return ReadyChunks(iterator), getattr(events, "_shut_down", bytes)
    encoded = _Encoded(iterator)
    return ReadyChunks(encoded), encoded.shut_down


class _Encoded:
    def __init__(self, events: Any) -> None:
        self._events = events
        self._encode = SSEEncoder().encode
        self._opened = Opened()

    def __aiter__(self) -> _Encoded:
        return self

    async def __anext__(self) -> bytes:
        event = await self._events.__anext__()
        frame = self._encode(event)
        self._opened.note(event)
        return frame

    async def aclose(self) -> None:
        await close(self._events)

    def shut_down(self) -> bytes:
        if self._opened.terminal is not None:
            return b""
        return frames_of(self._opened.failure(SHUT_DOWN, "shutdown", new_uuid))


async def cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel a scope when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _piece(frame: bytes) -> Message:
    return {"type": "http.response.body", "body": frame, "more_body": True}


class _Line:
    """Sends messages to the client one at a time.

    One task sends the stream. While it waits for the next chunk, a second one sends the message before it,
    and a third one may comment while nothing is being sent. The stream keeps no time: ticks tell whether
    anything was sent between them.

    Attributes:
        open: Whether the body has started and not ended.
        busy: Whether a message of the stream is being sent.
        sent: The number of messages of the stream so far.
        is_prompt: Whether no message had to wait, as far as that was found out, on asyncio.
        reading: Is cancelled if the server stops while the stream waits for its next chunk.
        stopping: Whether the server stops.
        on_stop: Is told if it does.
        scope: Is cancelled if the client leaves or does not read.
        failed: What is raised when the response has ended.
    """

    def __init__(self, send: Send, tasks: TaskGroup, keep_alive_s: float, send_timeout_s: float) -> None:
        self._keep_alive_s, self._send_timeout_s = keep_alive_s, send_timeout_s
        self.tick_s = min(keep_alive_s, send_timeout_s) / _TICKS
        self._idle = self._stuck = 0
        self._sent_before = -1
        """The ticks since a message was sent, those of them while one waited, and their number before."""
        self._send = send
        self._tasks = tasks
        self._helpers: set[anyio.CancelScope] = set()
        self.scope = anyio.CancelScope()
        self._commented: anyio.Event | None = None
        self.is_prompt = asyncio_loop() is not None
        self._handed: Message = {}
        self._is_handed, self._is_taken = asyncio.Event(), asyncio.Event()
        self._is_taken.set()
        self._progress = 0, 0.0
        self.open = False
        self.busy = False
        self.sent = 0
        self.reading = anyio.CancelScope()
        self.stopping = False
        self.on_stop: Callable[[], None] | None = None
        self.failed: Exception | None = None

    def help(self, function: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        """Run a function in a task until the stream has ended."""
        scope = anyio.CancelScope()
        self._helpers.add(scope)
        self._tasks.start_soon(self._within, scope, function, *arguments)

    async def _within(
        self, scope: anyio.CancelScope, function: Callable[..., Awaitable[None]], *arguments: Any
    ) -> None:
        # The task is not cancelled from outside: anyio would keep its error, and thus its frames, in a cycle.
        with scope:
            await function(*arguments)
        self._helpers.discard(scope)

    def dismiss(self) -> None:
        """End the other tasks, and what waits for the client to leave."""
        for scope in self._helpers:
            scope.cancel()
        self._tasks.cancel_scope.cancel()

    async def send(self, message: Message, *, by_hand: bool = True, handed: bool = False) -> None:
        """Send a message of the stream, after the one that is ``handed`` over.

        ``by_hand`` finds out whether it waits.
        """
        if self._handed and not (handed or self._is_taken.is_set()):
            await self._is_taken.wait()
        self.busy = True
        if self._commented is not None:
            await self._commented.wait()
        try:
            if not (by_hand and self.is_prompt):
                await self._send(message)
            elif (rest := started(self._send(message))) is not None:
                self.is_prompt = False
                await rest
        except OSError:
            await self._hang_up()
        self.busy = False
        self.sent += 1

    @property
    def joins(self) -> bool:
        """Whether chunks may be read ahead: not while a message is sent, nor once one had to wait."""
        return self.is_prompt and self._is_taken.is_set()

    def hand_over(self, message: Message) -> None:
        """Have a message sent by another task, because this one waits for the next chunk.

        It must not wait for the client, too: it is inside of what the stream has entered, such as a cancel
        scope.
        """
        if not self._handed:
            self.help(self._send_handed)
        self._handed = message
        self.busy = True
        self._is_taken.clear()
        self._is_handed.set()

    async def _send_handed(self) -> None:
        while True:
            await self._is_handed.wait()
            self._is_handed.clear()
            try:
                await self.send(self._handed, handed=True)
            except Exception as error:
                self.failed = error
                self.scope.cancel()
            self._is_taken.set()
            if self.stopping:
                self.reading.cancel()

    def tick(self) -> None:
        """Comment if nothing was sent for a while, or give up if the client did not read."""
        if self._commented is not None:
            return
        if self.sent != self._sent_before:
            self._idle = self._stuck = 0
            self._sent_before = self.sent
            return
        self._idle += 1
        self._stuck += self.busy
        if self._stuck >= ceil(self._send_timeout_s / self.tick_s):
            self._give_up()
        elif self.open and not self.busy and self._idle >= ceil(self._keep_alive_s / self.tick_s):
            self._idle = 0
            self._commented = anyio.Event()
            self.help(self._comment, self._commented)

    async def _comment(self, commented: anyio.Event) -> None:
        with anyio.move_on_after(self._send_timeout_s) as limit:
            try:
                await self._send(_piece(KEEP_ALIVE))
            except OSError:
                await self._hang_up()
        if limit.cancelled_caught:
            self._give_up()
        self._commented = None
        commented.set()

    def stop(self) -> None:
        """End the stream after the message that is being sent, or without it if the client does not read."""
        now = monotonic()
        if not self.stopping:
            self.stopping = True
            self._progress = self.sent, now
            if self.on_stop is not None:
                self.on_stop()
            if not self.busy:
                self.reading.cancel()
        sent, since = self._progress
        if self.sent != sent or not self.busy:
            self._progress = self.sent, now
        elif now - since >= _LAST_SEND_S:
            self.scope.cancel()

    def _give_up(self) -> None:
        _log.warning("A client read nothing for %g seconds: its response is closed.", self._send_timeout_s)
        self.scope.cancel()

    async def _hang_up(self) -> None:
        """Stop: some servers raise ``OSError`` if the client has disconnected."""
        self.scope.cancel()
        await anyio.lowlevel.checkpoint()
