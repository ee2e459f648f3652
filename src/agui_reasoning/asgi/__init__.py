"""AG-UI over ASGI, for Starlette and FastAPI (extra ``server``): a response, and THINKING_* middleware.

Beside them what servers of the library ask of a request: its body, whose it is, whether it is local.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from inspect import isawaitable
from ipaddress import ip_address
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from agui_reasoning.errors import ConfigurationError, MissingExtraError, RemoteProtocolError

try:
    import_module("starlette")
except ImportError:
    raise MissingExtraError("agui_reasoning.asgi", "server") from None

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_reasoning.asgi._ready import server_stops as server_stops
from agui_reasoning.asgi._ready import stop_responses as stop_responses
from agui_reasoning.asgi._response import AGUIResponse
from agui_reasoning.asgi._response import cancel_on_disconnect as cancel_on_disconnect
from agui_reasoning.compat import SSERewriter, ThinkingDowngrader, ThinkingUpgrader, Translator
from agui_reasoning.wire import MEDIA_TYPE

# Names with an alias are for the other packages of the library, not for its users.
__all__ = ["AGUIResponse", "ThinkingUpgradeMiddleware"]

# -- requests

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


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type that headers declare, without its parameters; ``""`` for none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def check_type(request: Request) -> None:
    """Require JSON, so that forms of other web pages, which cannot send this type, do not start paid runs."""
    if media_type(request.headers) != "application/json":
        raise RemoteProtocolError(
            "The content type of the request is not JSON.",
            code="not_declared_json",
            hint="Send the header Content-Type: application/json.",
        )


# -- THINKING_* middleware

THINKING: Final = "thinking"
"""The peer name for any version that reads THINKING_*."""

Downgrade: TypeAlias = str | Callable[[Scope], str | None] | None

_log = logging.getLogger("agui_reasoning")
_MAX_WARNINGS: Final = 100


class ThinkingUpgradeMiddleware:
    """Upgrades THINKING_* events in the event streams of an application to REASONING_*.

    In responses of type ``text/event-stream``, the frames of THINKING_* events are rewritten. All other bytes
    pass unchanged. Only incomplete frames are buffered, so a slow client slows down the application. The
    application has to detect disconnected clients.

    Compressed streams pass unchanged, with a warning in the log: add this middleware before the one that
    compresses.

    Events are downgraded only on request. A client that declares no ``protocolVersion`` counts as current,
    because widespread front ends declare none and show nothing for THINKING_*.

    Examples:
        >>> from starlette.applications import Starlette
        >>> app = Starlette()
        >>> app.add_middleware(ThinkingUpgradeMiddleware)
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        repair: bool = True,
        keep_title: bool = False,
        downgrade: Downgrade = None,
        downgrade_header: str | None = None,
        on_warning: Callable[[str], None] | None = None,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        """Wrap an application.

        Args:
            app: The application.
            repair: See `ThinkingUpgrader`. On by default, because strict clients reject runs with mistakes.
            keep_title: See `ThinkingUpgrader`.
            downgrade: Downgrade for an older peer instead: an ag-ui-protocol version or "thinking" for every
                request, or a callable that takes the ASGI scope and returns one of them, or ``None`` to
                upgrade.
            downgrade_header: The name of a request header that contains the peer. An unknown peer counts as
                current.
            on_warning: Called with each kind of loss or repair, once per response; defaults to the logger
                ``agui_reasoning``, which gets each kind once.
            new_id: See `ThinkingUpgrader`.

        Raises:
            ConfigurationError: ``downgrade`` is not a known peer (``unknown_peer``).
        """
        if isinstance(downgrade, str):
            _downgrader(downgrade)
        self._app = app
        self._repair = repair
        self._keep_title = keep_title
        self._downgrade = downgrade
        self._header = downgrade_header
        self._warn = on_warning or _LogOnce()
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        def rewriter() -> SSERewriter:
            return SSERewriter(self._translator(scope), on_fault=self._warn_of_fault)

        await self._app(scope, receive, _UpgradedResponse(send, rewriter, self._warn).send)

    def _translator(self, scope: Scope) -> Translator:
        peer = self._peer(scope)
        if peer is not None:
            return _downgrader(peer, self._warn)
        return ThinkingUpgrader(
            self._warn, new_id=self._new_id, repair=self._repair, keep_title=self._keep_title, tell="losses"
        )

    def _peer(self, scope: Scope) -> str | None:
        peer = self._downgrade(scope) if callable(self._downgrade) else self._downgrade
        if peer is not None or self._header is None:
            return peer
        named = Headers(scope=scope).get(self._header, "")
        try:
            _downgrader(named)
        except ConfigurationError:
            return None
        return named

    def _warn_of_fault(self, fault: RemoteProtocolError) -> None:
        self._warn(f"A frame of an event stream was passed on unchanged: {fault.code}.")


class _UpgradedResponse:
    """Rewrites the messages of one response."""

    def __init__(self, send: Send, rewriter: Callable[[], SSERewriter], warn: Callable[[str], None]) -> None:
        self._send = send
        self._make = rewriter
        self._warn = warn
        self._rewriter: SSERewriter | None = None
        self._head: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._start(message)
        elif message["type"] == "http.response.body" and self._rewriter is not None:
            await self._body(message, self._rewriter)
        else:
            await self._send(message)

    async def _start(self, message: Message) -> None:
        headers = Headers(raw=message.get("headers", []))
        if media_type(headers) == MEDIA_TYPE:
            if headers.get("content-encoding", "identity") == "identity":
                self._rewriter = self._make()
            else:
                self._warn(
                    "A compressed event stream was passed on unchanged: compress outside this middleware."
                )
        if self._rewriter is not None and "content-length" in headers:
            self._head = message  # sent with the body, which shows whether the length changes
        else:
            await self._send(message)

    async def _body(self, message: Message, rewriter: SSERewriter) -> None:
        body, more = message.get("body", b""), message.get("more_body", False)
        out = rewriter.feed(body) if body else b""
        if not more:
            out += rewriter.close()
        if self._head is not None:
            head, self._head = self._head, None
            if more or out != body:
                head = {**head, "headers": list(head["headers"])}
                del MutableHeaders(scope=head)["content-length"]
            await self._send(head)
        if out or not more:
            await self._send({**message, "body": out})


class _LogOnce:
    """Logs each warning once. There are few different ones, because none quotes the stream."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def __call__(self, message: str) -> None:
        if message not in self._logged and len(self._logged) < _MAX_WARNINGS:
            self._logged.add(message)
            _log.warning("%s", message)


def _downgrader(peer: str, warn: Callable[[str], None] | None = None) -> ThinkingDowngrader:
    return ThinkingDowngrader(None if peer == THINKING else peer, warn)
