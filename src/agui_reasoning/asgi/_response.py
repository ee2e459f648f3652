"""A response that streams AG-UI events."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any, Final

import anyio
import anyio.lowlevel
from ag_ui.core import Event
from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agui_reasoning._shells.sources import InThreads
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.wire import KEEP_ALIVE, MEDIA_TYPE, SSEEncoder

__all__ = ["AGUIResponse", "cancel_on_disconnect"]

# Proxies buffer event streams without these headers.
_HEADERS = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}


_TICKS: Final = 4
"""How often per interval of comments it is checked whether anything was sent."""


class AGUIResponse(Response):
    """Streams events as Server-Sent Events.

    A single task iterates over the events and closes them, however the response ends. Comments keep an idle
    connection alive. Nothing is buffered: a slow client slows down the events, and they are closed when the
    client disconnects.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        events: AsyncIterable[Event | Mapping[str, Any]] | Iterable[Event | Mapping[str, Any]],
        *,
        keep_alive_s: float = 15.0,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
    ) -> None:
        """Create a response.

        Args:
            events: The events, for example from `agui_reasoning.aio.run_agent`, whose frames are sent.
                Synchronous iterables are read in worker threads.
            keep_alive_s: Seconds without an event after which a comment is sent, up to a quarter later.
            headers: Additional headers; they override the headers of this response.
            background: A task that Starlette runs after the response.

        Raises:
            ConfigurationError: ``keep_alive_s`` is not positive (``bad_limit``).
        """
        if keep_alive_s <= 0:
            raise ConfigurationError(
                f"keep_alive_s is {keep_alive_s}, which is not positive.",
                code="bad_limit",
                hint="Pass a number of seconds above 0.",
            )
        self._events = events
        self._keep_alive_s = keep_alive_s
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
            tasks.start_soon(self._keep_alive, line)
            try:
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
        chunks = _chunks(self._events)
        try:
            head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await line.send(head)
            line.open = True
            async for chunk in chunks:
                await line.send(_piece(chunk))
            line.open = False
        finally:
            for stream in (chunks, self._events):
                if close := getattr(stream, "aclose", None):
                    await close()
        await line.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _keep_alive(self, line: _Line) -> None:
        # Ticks cost the stream nothing: it keeps no time.
        idle, sent = 0, line.sent
        while True:
            await anyio.sleep(self._keep_alive_s / _TICKS)
            idle = idle + 1 if line.sent == sent else 0
            sent = line.sent
            if line.open and idle >= _TICKS:
                await line.comment(_piece(KEEP_ALIVE))
                idle = 0


def _chunks(events: Any) -> Any:
    """Return an asynchronous iterator of bytes to send, one by one."""
    is_stream = hasattr(events, "frames")
    chunks = events.frames() if is_stream else events
    iterator = aiter(chunks if hasattr(chunks, "__aiter__") else InThreads(chunks))
    return iterator if is_stream else _Encoded(iterator)


class _Encoded:
    """The frames of events."""

    def __init__(self, events: Any) -> None:
        self._events = events
        self._encode = SSEEncoder().encode

    def __aiter__(self) -> _Encoded:
        return self

    async def __anext__(self) -> bytes:
        return self._encode(await self._events.__anext__())

    async def aclose(self) -> None:
        """Close the events, if they can be closed."""
        if close := getattr(self._events, "aclose", None):
            await close()


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
        sent: The number of messages of the stream so far.
    """

    def __init__(self, send: Send, scope: anyio.CancelScope) -> None:
        self._send = send
        self._scope = scope
        self._busy = False
        self._commented: anyio.Event | None = None
        self.open = False
        self.sent = 0

    async def send(self, message: Message) -> None:
        """Send a message of the stream, after a comment that is being sent."""
        if self._commented is not None:
            await self._commented.wait()
        self._busy = True
        try:
            await self._send(message)
        except OSError:
            await self._hang_up()
        self._busy = False
        self.sent += 1

    async def comment(self, message: Message) -> None:
        """Send a comment, unless the client has not taken the last message yet."""
        if self._busy:
            return
        self._commented = anyio.Event()
        try:
            await self._send(message)
        except OSError:
            await self._hang_up()
        self._commented.set()
        self._commented = None

    async def _hang_up(self) -> None:
        """Stop: some servers raise ``OSError`` if the client has disconnected."""
        self._scope.cancel()
        await anyio.lowlevel.checkpoint()
