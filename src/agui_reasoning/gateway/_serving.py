"""Serves an application: runs it with uvicorn, says if it lives, refuses requests of other web pages.

The gateway does not authenticate callers. Two checks reject requests from other pages in the browsers of its
users: the ``Host`` header reveals a page whose name was resolved to this machine (DNS rebinding), the
``Origin`` header any other page.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
import uvicorn
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from agui_reasoning._driver import fetch_keys
from agui_reasoning.asgi import bare_host, is_loopback, netloc, server_stops, stop_responses
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError

if TYPE_CHECKING:  # imported with the keys and the runs
    from agui_reasoning.crypto import KeyRing
    from agui_reasoning.durable import Runs


HEAD_TIMEOUT_S: Final = 20.0
"""The time limit for receiving the head of a request, in seconds."""

FLUSH_TIMEOUT_S: Final = 20.0
"""The time limit for clients to receive the rest of a response that was broken off, in seconds."""

App: TypeAlias = Callable[..., Any]
"""An ASGI application."""

_END_S: Final = 6.0
"""The time limit for open runs to end when the server stops, in seconds: they close a provider's stream."""

_GC_THRESHOLDS: Final = 100_000, 50, 100
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
        self._stop_waiting()
        self._stop_flushing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Watch whether the connection is closed while the client does not read."""
        super().pause_writing()
        self._await_flush()

    def resume_writing(self) -> None:
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


# -- other web pages

_ANY: Final = "*"


def middleware(allowed_hosts: Sequence[str], allowed_origins: Sequence[str]) -> list[Middleware]:
    """Return the middleware that checks requests, and adds CORS headers for the allowed origins.

    Raises:
        ConfigurationError: An origin is invalid (``bad_origin``).
    """
    hosts = tuple(_allowed(host.lower()) for host in allowed_hosts)
    origins = tuple(_origin(origin) for origin in allowed_origins)
    checks = Middleware(_OriginGuard, hosts=hosts, origins=origins)
    if not origins:
        return [checks]
    # After the checks, so that preflight requests of other pages are rejected too.
    cors = Middleware(
        CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=[_ANY]
    )
    return [checks, cors]


def refusal(status: int, code: str, message: str) -> Response:
    """Return an error response."""
    return JSONResponse({"error": {"code": code, "message": message}}, status)


@dataclass(frozen=True, slots=True)
class _OriginGuard:
    app: ASGIApp
    hosts: tuple[str, ...]
    origins: tuple[str, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refuse(scope, Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or self.app)(scope, receive, send)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        # Requests without these headers do not come from browsers.
        for host in headers.getlist("host"):
            if not self._is_ours(bare_host(host.lower()), scope):
                return refusal(421, "host_not_allowed", _NOT_HERE)
        for origin in headers.getlist("origin"):
            own = netloc(origin.lower()) == headers.get("host", "").lower()
            if not own and {_ANY, origin.lower()}.isdisjoint(self.origins):
                return refusal(403, "origin_not_allowed", _NOT_YOU)
        return None

    def _is_ours(self, name: str, scope: Scope) -> bool:
        """Return whether a name is a loopback name, the address of the connection, or allowed."""
        if not name:
            return False
        reached = (scope.get("server") or (None,))[0]
        return is_loopback(name) or name == reached or any(fnmatchcase(name, host) for host in self.hosts)


_NOT_HERE: Final = (
    "The name in the Host header is not allowed. "
    "To allow it, add it to `allowed_hosts` (on the command line: --allow-host)."
)
_NOT_YOU: Final = (
    "Pages of this origin may not use this gateway. "
    "To allow them, add it to `allowed_origins` (on the command line: --allow-origin). "
    "An origin consists of scheme, name and port: http://localhost:3000 and http://127.0.0.1:3000 differ."
)


def _allowed(host: str) -> str:
    """Return a host that the operator allows, which can be a pattern, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _origin(given: str) -> str:
    origin = given.rstrip("/").lower()
    place = netloc(origin)
    if origin == _ANY or (place and origin.endswith(f"://{place}")):
        return origin
    raise ConfigurationError(
        f"{given!r} is not an origin.",
        code="bad_origin",
        hint="Pass scheme, name and port, for example http://localhost:3000, or * for all origins.",
    )


# -- whether it lives

_VALID_S: Final = 1.0
"""How long an answer holds, in seconds: anyone may ask, and that must not drive the key service."""


def health_routes(keys: KeyRing | None, runs: Runs | None) -> list[Route]:
    """Return the routes, which need no credentials."""
    readiness = _Readiness(keys, runs)
    return [Route("/healthz", _alive, methods=["GET"]), Route("/readyz", readiness.answer, methods=["GET"])]


async def _alive(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


class _Readiness:
    """Whether runs can start: the server does not stop, and keys and stored runs can be reached."""

    def __init__(self, keys: KeyRing | None, runs: Runs | None) -> None:
        self._keys, self._runs = keys, runs
        self._checked_at = -_VALID_S
        self._failed: AGUIReasoningError | None = None
        self._checking = anyio.Lock()

    async def answer(self, request: Request) -> Response:
        """Answer with status 200 or 503."""
        if server_stops():
            return refusal(503, "shutdown", "The server stops.")
        async with self._checking:  # who asks meanwhile must not get an answer that is older
            if monotonic() - self._checked_at >= _VALID_S:
                self._failed = await self._check()
                self._checked_at = monotonic()
        if self._failed is not None:
            return refusal(503, self._failed.code, str(self._failed))
        return JSONResponse({"status": "ok"})

    async def _check(self) -> AGUIReasoningError | None:
        try:
            if self._keys is not None:
                await fetch_keys(self._keys)
            if self._runs is not None:
                await self._runs._check_store()
        except AGUIReasoningError as error:
            return error.with_traceback(None)
        return None
