"""Protection of a gateway against other web pages in the browsers of its users, and against endless bodies.

The gateway does not authenticate callers. Two checks reject requests from other pages: the ``Host`` header
reveals a page whose name was resolved to this machine (DNS rebinding), the ``Origin`` header any other page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_reasoning.asgi import bare_host, is_loopback, netloc
from agui_reasoning.errors import ConfigurationError

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
        answer: ASGIApp = self.app
        if scope["type"] == "http":
            answer = self._refuse(scope, Headers(scope=scope)) or self.app
        await answer(scope, receive, send)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        # Requests without these headers do not come from browsers.
        for host in headers.getlist("host"):
            if not self._is_ours(bare_host(host.lower()), scope):
                return refusal(421, "host_not_allowed", _NOT_HERE)
        for origin in headers.getlist("origin"):
            if not self._is_welcome(origin.lower(), headers.get("host", "").lower()):
                return refusal(403, "origin_not_allowed", _NOT_YOU)
        return None

    def _is_ours(self, name: str, scope: Scope) -> bool:
        """Return whether a name is a loopback name, the address of the connection, or allowed."""
        if not name:
            return False
        reached = (scope.get("server") or (None,))[0]
        return is_loopback(name) or name == reached or any(fnmatchcase(name, host) for host in self.hosts)

    def _is_welcome(self, origin: str, host: str) -> bool:
        return _ANY in self.origins or origin in self.origins or netloc(origin) == host


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
