"""A response that streams AG-UI events."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any

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
            events: The events, for example from `agui_reasoning.aio.run_agent`. Synchronous iterables are
                read in worker threads.
            keep_alive_s: Seconds without an event after which a comment is sent.
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
        events: Any = self._events
        iterator = aiter(events if hasattr(events, "__aiter__") else InThreads(events))
        try:
            head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await line.send(head)
            line.open = True
            encode = SSEEncoder().encode
            async for event in iterator:
                await line.send(_piece(encode(event)))
            line.open = False
        finally:
            if close := getattr(iterator, "aclose", None):
                await close()
        await line.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _keep_alive(self, line: _Line) -> None:
        while True:
            idle = anyio.current_time() - line.last
            if line.open and idle >= self._keep_alive_s:
                await line.send(_piece(KEEP_ALIVE))
                idle = 0
            await anyio.sleep(max(self._keep_alive_s - idle, self._keep_alive_s / 100))


async def cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel a scope when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _piece(frame: bytes) -> Message:
    return {"type": "http.response.body", "body": frame, "more_body": True}


class _Line:
    """Sends messages to the client one at a time, and keeps the time of the last one."""

    def __init__(self, send: Send, scope: anyio.CancelScope) -> None:
        self._send = send
        self._scope = scope
        self._lock = anyio.Lock()
        self.open = False
        self.last = anyio.current_time()

    async def send(self, message: Message) -> None:
        """Send a message. Some servers raise ``OSError`` if the client has disconnected."""
        async with self._lock:
            try:
                await self._send(message)
            except OSError:
                self._scope.cancel()
                await anyio.lowlevel.checkpoint()
            self.last = anyio.current_time()
