"""Middleware that upgrades the THINKING_* events of an application to REASONING_*."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_reasoning.compat import SSERewriter, ThinkingDowngrader, ThinkingUpgrader, Translator
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError
from agui_reasoning.wire import MEDIA_TYPE

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
            _downgrader(downgrade, _ignore)
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
        response = _UpgradedResponse(send, lambda: self._rewriter(scope), self._warn)
        await self._app(scope, receive, response.send)

    def _rewriter(self, scope: Scope) -> SSERewriter:
        return SSERewriter(self._translator(scope), on_fault=self._warn_of_fault)

    def _translator(self, scope: Scope) -> Translator:
        peer = self._peer(scope)
        if peer is not None:
            return _downgrader(peer, self._warn)
        return ThinkingUpgrader(
            self._warn,
            new_id=self._new_id,
            repair=self._repair,
            keep_title=self._keep_title,
            tell="losses",
        )

    def _peer(self, scope: Scope) -> str | None:
        peer = self._downgrade(scope) if callable(self._downgrade) else self._downgrade
        if peer is not None or self._header is None:
            return peer
        named = Headers(scope=scope).get(self._header)
        return named if named is not None and _is_peer(named) else None

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
        if is_event_stream(headers.get("content-type", "")):
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
            await self._send_head(self._head, same=not more and out == body)
            self._head = None
        if out or not more:
            await self._send({**message, "body": out})

    async def _send_head(self, head: Message, *, same: bool) -> None:
        if not same:
            head = {**head, "headers": list(head["headers"])}
            del MutableHeaders(scope=head)["content-length"]
        await self._send(head)


class _LogOnce:
    """Logs each warning once. There are few different ones, because none quotes the stream."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def __call__(self, message: str) -> None:
        if message not in self._logged and len(self._logged) < _MAX_WARNINGS:
            self._logged.add(message)
            _log.warning("%s", message)


def is_event_stream(content_type: str) -> bool:
    """Return whether a content type is that of an event stream."""
    return content_type.partition(";")[0].strip().lower() == MEDIA_TYPE


def _downgrader(peer: str, warn: Callable[[str], None]) -> ThinkingDowngrader:
    return ThinkingDowngrader(None if peer == THINKING else peer, warn)


def _is_peer(name: str) -> bool:
    try:
        _downgrader(name, _ignore)
    except ConfigurationError:
        return False
    return True


def _ignore(message: str) -> None:
    pass
