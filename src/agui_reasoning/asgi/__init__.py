"""AG-UI over ASGI, for Starlette and FastAPI (extra ``server``): a response, and THINKING_* middleware.

Beside them what servers of the library ask of a request: its body, whose it is, whether it is local.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from importlib import import_module
from inspect import isawaitable
from ipaddress import ip_address
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from agui_reasoning.errors import MissingExtraError, RemoteProtocolError

try:
    import_module("starlette")
except ImportError:
    raise MissingExtraError("agui_reasoning.asgi", "server") from None

import anyio
from starlette.requests import Request

from agui_reasoning.asgi._open import server_stops as server_stops
from agui_reasoning.asgi._open import stop_responses as stop_responses
from agui_reasoning.asgi._response import AGUIResponse
from agui_reasoning.asgi._response import cancel_on_disconnect as cancel_on_disconnect
from agui_reasoning.asgi._thinking import ThinkingUpgradeMiddleware

# Names with an alias are for the other packages of the library, not for its users.
__all__ = ["AGUIResponse", "ThinkingUpgradeMiddleware"]

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""The default limit for request bodies, in bytes: enough for a million words and their encrypted values."""

BODY_TIMEOUT_S: Final = 60.0
"""The default time limit for receiving a body, in seconds."""

TenantOf: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""Returns the tenant of a request."""

_STATUS: Final = {
    "no_tenant": 401,
    "not_local": 403,
    "unknown_agent": 404,
    "unknown_thread": 404,
    "body_timeout": 408,
    "thread_running": 409,
    "body_too_large": 413,
    "too_large": 413,
    "not_declared_json": 415,
    "file_not_allowed": 422,
    "shutdown": 503,
    "store_unavailable": 503,
}

# An address in brackets or a name, and a port: what else URLs can have there is not for this machine.
_ADDRESS: Final = r"([\da-f.]*:[\da-f:.]*)"  # of IPv6; whether it is one is looked at later
_HOST: Final = re.compile(rf"(?:\[{_ADDRESS}\]|([\w.-]+))(?::\d{{0,5}})?|{_ADDRESS}", re.ASCII)
_LOCALHOST: Final = "localhost"
_FORWARDED: Final = frozenset(
    {"cf-connecting-ip", "forwarded", "true-client-ip", "via", "x-client-ip", "x-real-ip"}
)
_X_FORWARDED: Final = "x-forwarded-"


def bare_host(host: str) -> str:
    """Return the name or address in a ``Host`` header; ``""`` if the header is not valid."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2] or found[3]) if found else ""


def is_loopback(name: str) -> bool:
    """Return whether a name or an address without brackets is one of this machine."""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == _LOCALHOST or name.endswith(f".{_LOCALHOST}")


def netloc(origin: str) -> str | None:
    """Return name and port of an origin; ``None`` for other values, such as ``null``."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc if parts.scheme in ("http", "https") and parts.netloc else None


def is_local(request: Request) -> bool:
    """Return whether a request was sent to this machine by this machine, and not through a proxy.

    Pages of other origins are not local, also if they may use the gateway: they show only what users may see.
    """
    headers, host = request.headers, request.headers.get("host", "").lower()
    peers = (request.scope.get(name) or ("",) for name in ("client", "server"))
    names = (*(peer[0] for peer in peers), bare_host(host))
    own_page = "origin" not in headers or netloc(headers["origin"].lower()) == host
    forwarded = any(name in _FORWARDED or name.startswith(_X_FORWARDED) for name in headers)
    return own_page and not forwarded and all(map(is_loopback, names))


def require_local(request: Request, told: str, hint: str) -> None:
    """Refuse a request that is not local, with a text and a hint.

    Raises:
        RemoteProtocolError: The request is not local (``not_local``).
    """
    if not is_local(request):
        raise RemoteProtocolError(told, code="not_local", hint=hint)


async def tenant_by(find: TenantOf, request: Request) -> str:
    """Return the tenant of a request.

    Raises:
        RemoteProtocolError: It has none (``no_tenant``).
    """
    found = find(request)
    tenant = await found if isawaitable(found) else found
    if not isinstance(tenant, str) or not tenant:
        raise RemoteProtocolError(
            "The request has no tenant.", code="no_tenant", hint="Authenticate as the server requires."
        )
    return tenant


def status_of(code: str) -> int:
    """Return the HTTP status of an error."""
    return _STATUS.get(code, 400)


async def read_body(request: Request, max_bytes: int, timeout_s: float) -> bytes:
    """Read a complete body.

    Raises:
        RemoteProtocolError: The body is too large (``body_too_large``), or takes too long (``body_timeout``).
    """
    body = bytearray()
    with anyio.move_on_after(timeout_s) as scope:
        async for piece in request.stream():
            body += piece
            if len(body) > max_bytes:
                raise RemoteProtocolError(
                    f"The body of the request is larger than {max_bytes} bytes.",
                    code="body_too_large",
                    hint="Send fewer messages, or raise `max_body_bytes`.",
                )
    if scope.cancelled_caught:
        raise RemoteProtocolError(
            f"The body of the request was not received within {timeout_s} seconds.",
            code="body_timeout",
            hint="Send it faster, or raise `body_timeout_s`.",
        )
    return bytes(body)


def check_type(request: Request) -> None:
    """Require JSON, so that forms of other web pages, which cannot send this type, do not start paid runs."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise RemoteProtocolError(
            "The content type of the request is not JSON.",
            code="not_declared_json",
            hint="Send the header Content-Type: application/json.",
        )
