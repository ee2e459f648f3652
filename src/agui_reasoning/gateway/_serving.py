"""Runs an application under uvicorn, in the main thread or beside the caller, and ends it cleanly."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any, Final, TypeAlias

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from agui_reasoning.errors import ConfigurationError

__all__ = ["listen", "local_server", "serve", "url_of"]

HEAD_TIMEOUT_S: Final = 20.0
"""How long the head of a request may take to come, in seconds."""

App: TypeAlias = Callable[..., Any]
"""An ASGI application."""

_FLUSH_S: Final = 1.0
"""How long a client may take to read what it was sent already when the server stops."""

_STOP_S: Final = 10.0
"""How long answers may take to end after that: longer than a provider's stream may take to close."""


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Open a listening socket, so that a port that is taken is known before anything runs.

    Args:
        host: Name or address.
        port: 0 is any free one.

    Raises:
        ConfigurationError: It cannot be had (``cannot_listen``).
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        # `create_server` repeats the address in its reason.
        reason = (error.strerror or type(error).__name__).partition(" (while ")[0]
        raise ConfigurationError(
            f"Port {port} of {host} cannot be used: {reason}.",
            code="cannot_listen",
            hint="Choose another port or host; port 0 is any free one.",
        ) from None


def url_of(listening: socket.socket) -> str:
    """The base URL of a listening socket, without a slash at its end."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: App, listening: socket.socket, *, on_ready: Callable[[], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM, or until the process is asked to stop in another way.

    Args:
        app: The application.
        listening: See `listen`; it is closed in the end.
        on_ready: Called once, when requests are answered.
    """
    with closing(listening):
        _Server(app, on_ready).run(sockets=[listening])


@contextmanager
def local_server(app: App, *, port: int = 0) -> Iterator[str]:
    """Serve an application on the loopback interface while a block runs, in a thread of its own.

    Yields:
        The base URL.

    Raises:
        ConfigurationError: The port is taken (``cannot_listen``).
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
    """Closes connections on which no head comes, or only a part of one: uvicorn waits for ever."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Stop waiting when a head is complete; begin when another one has begun."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._waiting is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

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
                log_config=None,  # whoever runs the process decides where logs go, and how many
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
        """Tell streams to end: uvicorn alone would wait for them, and an answer can take minutes."""
        loop = asyncio.get_running_loop()
        for connection in list(self.server_state.connections):
            transport = connection.transport
            transport.close()
            loop.call_later(_FLUSH_S, transport.abort)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; uvicorn's own handler raises the signal again afterwards, as if stopping had failed."""
        self.force_exit = self.should_exit
        self.should_exit = True
