"""A response that streams AG-UI events."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from math import ceil
from time import monotonic
from typing import Any, Final

import anyio
import anyio.lowlevel
from ag_ui.core import Event
from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agui_reasoning._shells.sources import InThreads
from agui_reasoning.asgi._open_events import OpenEvents
from agui_reasoning.asgi._shutdown import stopping_with_server
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.wire import KEEP_ALIVE, MEDIA_TYPE, SSEEncoder

__all__ = ["AGUIResponse", "cancel_on_disconnect"]

# Proxies buffer event streams without these headers.
_HEADERS = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}

_TICKS: Final = 4
"""How often per time limit it is checked whether anything was sent."""

_LAST_SEND_S: Final = 5.0
"""How long a client may take to receive a message after the server began to stop, in seconds."""

_log = logging.getLogger("agui_reasoning")


class AGUIResponse(Response):
    """Streams events as Server-Sent Events.

    A single task iterates over the events and closes them, however the response ends. Comments keep an idle
    connection alive. Nothing is buffered: a slow client slows down the events, and they are closed when the
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
        _check_seconds(keep_alive_s=keep_alive_s, send_timeout_s=send_timeout_s)
        self._events = events
        self._keep_alive_s = keep_alive_s
        self._send_timeout_s = send_timeout_s
        self.status_code = 200
        self.background = background
        self.body = b""
        self.init_headers({**_HEADERS, **(headers or {})})

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Set the headers, without the content length that Starlette adds."""
        super().init_headers(headers)
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request. An error of the events is raised after they are closed."""
        failed: Exception | None = None
        async with anyio.create_task_group() as tasks:
            line = _Line(send, tasks.cancel_scope)
            tasks.start_soon(cancel_on_disconnect, receive, tasks.cancel_scope)
            tasks.start_soon(self._watch, line)
            try:
                with stopping_with_server(line):
                    await self._stream(line)
            except Exception as error:
                # Raised outside the task group, which would wrap it.
                failed = error
            tasks.cancel_scope.cancel()
        if failed is not None:
            raise failed
        if self.background is not None:
            await self.background()

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
                await _close(stream)
        if line.stopping and (last := unsent + shut_down()):
            await line.send(_piece(last))
        line.open = False
        await line.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self, line: _Line) -> None:
        # Ticks cost the stream nothing: it keeps no time.
        tick = min(self._keep_alive_s, self._send_timeout_s) / _TICKS
        comment_at, give_up_at = (ceil(limit / tick) for limit in (self._keep_alive_s, self._send_timeout_s))
        idle, stuck, sent = 0, 0, line.sent
        while True:
            await anyio.sleep(tick)
            idle, stuck = (idle + 1, stuck + line.busy) if line.sent == sent else (0, 0)
            sent = line.sent
            if stuck >= give_up_at:
                line.give_up(self._send_timeout_s)
            elif line.open and idle >= comment_at:
                with anyio.move_on_after(self._send_timeout_s) as limit:
                    await line.comment(_piece(KEEP_ALIVE))
                if limit.cancelled_caught:
                    line.give_up(self._send_timeout_s)
                idle = 0


def _check_seconds(**limits: float) -> None:
    for name, seconds in limits.items():
        if seconds <= 0:
            raise ConfigurationError(
                f"{name} is {seconds}, which is not positive.",
                code="bad_limit",
                hint="Pass a number of seconds above 0.",
            )


async def _relay(chunks: Any, line: _Line) -> bytes:
    """Send chunks until the end, or until the server stops; return one that was read but not sent."""
    unsent = b""
    with line.reading:
        async for chunk in chunks:
            if line.stopping:
                unsent = chunk
                break
            await line.send(_piece(chunk))
            if line.stopping:
                break
        if line.stopping:
            line.reading.cancel()  # what cleans up must not wait either
            await _close(chunks)
    return unsent


async def _close(stream: Any) -> None:
    if close := getattr(stream, "aclose", None):
        await close()


def _chunks(events: Any) -> tuple[Any, Callable[[], bytes]]:
    """Return an asynchronous iterator of bytes to send, and what ends them if the server stops."""
    is_stream = hasattr(events, "frames")
    chunks = events.frames() if is_stream else events
    iterator = aiter(chunks if hasattr(chunks, "__aiter__") else InThreads(chunks))
    if is_stream:
        return iterator, getattr(events, "_shut_down", bytes)
    encoded = _Encoded(iterator)
    return encoded, encoded.shut_down


class _Encoded:
    """The frames of events."""

    def __init__(self, events: Any) -> None:
        self._events = events
        self._encode = SSEEncoder().encode
        self._open = OpenEvents()

    def __aiter__(self) -> _Encoded:
        return self

    async def __anext__(self) -> bytes:
        event = await self._events.__anext__()
        frame = self._encode(event)
        self._open.note(event)
        return frame

    async def aclose(self) -> None:
        """Close the events, if they can be closed."""
        await _close(self._events)

    def shut_down(self) -> bytes:
        """Return the frames that end what is open because the server stops."""
        return self._open.shut_down()


async def cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel a scope when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _piece(frame: bytes) -> Message:
    return {"type": "http.response.body", "body": frame, "more_body": True}


class _Line:
    """Sends messages to the client one at a time.

    One task sends the stream; another may comment while nothing is being sent.

    Attributes:
        open: Whether the body has started and not ended.
        busy: Whether a message of the stream is being sent.
        sent: The number of messages of the stream so far.
        reading: Is cancelled if the server stops while the stream waits for its next chunk.
        stopping: Whether the server stops.
    """

    def __init__(self, send: Send, scope: anyio.CancelScope) -> None:
        self._send = send
        self._scope = scope
        self._commented: anyio.Event | None = None
        self._progress = 0, 0.0
        self.open = False
        self.busy = False
        self.sent = 0
        self.reading = anyio.CancelScope()
        self.stopping = False

    async def send(self, message: Message) -> None:
        """Send a message of the stream, after a comment that is being sent."""
        self.busy = True
        if self._commented is not None:
            await self._commented.wait()
        try:
            await self._send(message)
        except OSError:
            await self._hang_up()
        self.busy = False
        self.sent += 1

    async def comment(self, message: Message) -> None:
        """Send a comment, unless the client has not taken the last message yet."""
        if self.busy:
            return
        self._commented = anyio.Event()
        try:
            await self._send(message)
        except OSError:
            await self._hang_up()
        self._commented.set()
        self._commented = None

    def stop(self) -> None:
        """End the stream after the message that is being sent, or without it if the client does not read."""
        now = monotonic()
        if not self.stopping:
            self.stopping = True
            self._progress = self.sent, now
            if not self.busy:
                self.reading.cancel()
        sent, since = self._progress
        if self.sent != sent or not self.busy:
            self._progress = self.sent, now
        elif now - since >= _LAST_SEND_S:
            self._scope.cancel()

    def give_up(self, waited_s: float) -> None:
        """Stop because the client does not read."""
        _log.warning("A client read nothing for %g seconds: its response is closed.", waited_s)
        self._scope.cancel()

    async def _hang_up(self) -> None:
        """Stop: some servers raise ``OSError`` if the client has disconnected."""
        self._scope.cancel()
        await anyio.lowlevel.checkpoint()
