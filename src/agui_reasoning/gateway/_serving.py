"""Run an application with uvicorn, in the main thread or in another one, and shut it down cleanly."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any, Final, TypeAlias

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from agui_reasoning.asgi import stop_responses
from agui_reasoning.errors import ConfigurationError

HEAD_TIMEOUT_S: Final = 20.0
"""The time limit for receiving the head of a request, in seconds."""

FLUSH_TIMEOUT_S: Final = 20.0
"""The time limit for clients to receive the rest of a response that was broken off, in seconds."""

App: TypeAlias = Callable[..., Any]
"""An ASGI application."""

_END_S: Final = 6.0
"""The time limit for open runs to end when the server stops, in seconds: they close a provider's stream."""

_GC_THRESHOLDS: Final = 50_000, 20, 100
"""How many objects are made between two collections, and how many of these precede one of older objects."""

_SEND_BYTES: Final = 65_536
"""The size of the system's buffer for data that a client has not received yet.

Systems let it grow to several MiB, which a run would fill while its client reads nothing.
"""

_FLUSH_S: Final = 1.0
"""The time limit for clients to receive data already sent when the server stops, in seconds."""

_STOP_S: Final = 10.0
"""The time limit for other responses to end after that, in seconds."""


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Open a listening socket, to fail early if the port is in use.

    Args:
        host: Name or address.
        port: The port; 0 for any free one.

    Raises:
        ConfigurationError: The address cannot be used (``cannot_listen``).
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        # `create_server` appends the address to the reason.
        reason = (error.strerror or type(error).__name__).partition(" (while ")[0]
        raise ConfigurationError(
            f"Port {port} of {host} cannot be used: {reason}.",
            code="cannot_listen",
            hint="Choose another port or host; port 0 selects a free port.",
        ) from None


def url_of(listening: socket.socket) -> str:
    """Return the base URL of a listening socket, without a trailing slash."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: App, listening: socket.socket, *, on_ready: Callable[[], None] | None = None) -> None:
    """Serve an application until the process receives SIGINT or SIGTERM.

    The garbage collector of the process runs less often from then on: it looks at all open runs each time,
    and they are freed without it.

    Args:
        app: The application.
        listening: A socket from `listen`; it is closed at the end.
        on_ready: Called once the server accepts requests.
    """
    gc.set_threshold(*_GC_THRESHOLDS)
    with closing(listening):
        _Server(app, on_ready).run(sockets=[listening])


@contextmanager
def local_server(app: App, *, port: int = 0) -> Iterator[str]:
    """Serve an application on the loopback interface, in another thread, for the duration of a block.

    Yields:
        The base URL.

    Raises:
        ConfigurationError: The port cannot be used (``cannot_listen``).
    """
    with closing(listen(port=port)) as listening:
        ready = threading.Event()
        server = _Server(app, ready.set)
        thread = threading.Thread(target=server.run, args=([listening],), name="local server")
        thread.start()
        try:
            ready.wait(_STOP_S)
            yield url_of(listening)
        finally:
            server.should_exit = True
            thread.join(2 * _STOP_S)


class _Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Closes connections without a complete request head or a reader, which uvicorn does not limit."""

    _waiting: asyncio.TimerHandle | None = None
    _flushing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer for the first request, and bound what is sent ahead of the client."""
        super().connection_made(transport)
        if (connection := transport.get_extra_info("socket")) is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        self.transport.set_write_buffer_limits(high=_SEND_BYTES // 4)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Stop the timer if a head is complete; start it if another one has begun."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._waiting is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_waiting()
        self._stop_flushing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Watch whether the connection is closed while the client does not read."""
        super().pause_writing()
        self._await_flush()

    def resume_writing(self) -> None:
        """Stop watching."""
        super().resume_writing()
        self._stop_flushing()

    def _await_flush(self) -> None:
        if self.transport.is_closing():
            self.transport.abort()
        else:
            self._flushing = asyncio.get_running_loop().call_later(FLUSH_TIMEOUT_S, self._await_flush)

    def _stop_flushing(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None

    def _await_head(self) -> None:
        self._waiting = asyncio.get_running_loop().call_later(HEAD_TIMEOUT_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _Server(uvicorn.Server):
    def __init__(self, app: App, on_ready: Callable[[], None] | None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Protocol,
                lifespan="auto",
                ws="none",
                log_config=None,  # logging is configured by the process
                access_log=False,
                timeout_graceful_shutdown=int(_STOP_S),
            )
        )
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_ready is not None:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End open runs, then close connections: uvicorn would wait for streams, which can take minutes."""
        for server in self.servers:
            server.close()
        await stop_responses(_END_S)
        loop = asyncio.get_running_loop()
        for connection in list(self.server_state.connections):
            transport = connection.transport
            transport.close()
            loop.call_later(_FLUSH_S, transport.abort)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop the server. Unlike uvicorn's handler, does not raise the signal again afterwards."""
        self.force_exit = self.should_exit
        self.should_exit = True
