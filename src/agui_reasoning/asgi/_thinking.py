"""Middleware for a server whose agent still speaks THINKING_*: its clients read REASONING_*."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_reasoning.compat import ThinkingUpgrader, Translator
from agui_reasoning.compat._downgrade import ThinkingDowngrader
from agui_reasoning.compat._sse import SSERewriter
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError
from agui_reasoning.wire import MEDIA_TYPE

__all__ = ["THINKING", "ThinkingUpgradeMiddleware", "is_event_stream"]

THINKING: Final = "thinking"
"""As a peer: one that speaks THINKING_*, whatever its version."""

Downgrade: TypeAlias = str | Callable[[Scope], str | None] | None

_log = logging.getLogger("agui_reasoning")
_MAX_WARNINGS: Final = 100


class ThinkingUpgradeMiddleware:
    """Upgrades the event streams that an application sends; everything else passes byte for byte.

    In a response of the type ``text/event-stream``, the frames of THINKING_* events are written anew; other
    frames, comments and spacing stay, and so does every response of another type. Streams are passed on as
    they come: nothing is held but the frame that is not complete, a slow client slows the application down,
    and a client that leaves is the application's to notice.

    A compressed stream is left alone, with a warning in the log: add this middleware before the one that
    compresses.

    Nobody is downgraded unless you say so. A client that declares no ``protocolVersion`` is a current one:
    widespread front ends declare none, and show nothing for THINKING_*.

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
            repair: See `ThinkingUpgrader`. On by default: a strict client refuses the run otherwise, and
                what an agent leaves open is closed when its run ends.
            keep_title: See `ThinkingUpgrader`.
            downgrade: Send what an older peer reads instead: a version of ag-ui-protocol or "thinking" for
                every request, or a callable that gets the ASGI scope and returns either of them, or ``None``
                to upgrade as usual.
            downgrade_header: Name of a request header that says the same; a value that names no known peer
                means a current one.
            on_warning: Called with what is lost or repaired, each kind once per response; default is the
                logger ``agui_reasoning``, each kind once.
            new_id: See `ThinkingUpgrader`.

        Raises:
            ConfigurationError: ``downgrade`` is a peer that nothing can be downgraded for (``unknown_peer``).
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
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = _Response(send, lambda: self._rewriter(scope), self._warn)
        await self._app(scope, receive, response.send)

    def _rewriter(self, scope: Scope) -> SSERewriter:
        return SSERewriter(self._translator(scope), on_fault=self._tell)

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

    def _tell(self, fault: RemoteProtocolError) -> None:
        self._warn(f"A frame of an event stream is passed on as it is: {fault.code}.")


class _Response:
    """The messages of one response on their way to the client."""

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
                self._warn("A compressed event stream is left alone: compress outside this middleware.")
        if self._rewriter is not None and "content-length" in headers:
            self._head = message  # the length is right only if nothing changes, which the body shows
        else:
            await self._send(message)

    async def _body(self, message: Message, rewriter: SSERewriter) -> None:
        came, more = message.get("body", b""), message.get("more_body", False)
        out = rewriter.feed(came) if came else b""
        if not more:
            out += rewriter.close()
        if self._head is not None:
            await self._send_head(self._head, same=not more and out == came)
            self._head = None
        if out or not more:
            await self._send({**message, "body": out})

    async def _send_head(self, head: Message, *, same: bool) -> None:
        if not same:
            head = {**head, "headers": list(head["headers"])}
            del MutableHeaders(scope=head)["content-length"]
        await self._send(head)


class _LogOnce:
    """Logs each warning once. There are few: none of them quotes what came."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def __call__(self, message: str) -> None:
        if message not in self._logged and len(self._logged) < _MAX_WARNINGS:
            self._logged.add(message)
            _log.warning("%s", message)


def is_event_stream(content_type: str) -> bool:
    """Whether a content type is that of an event stream."""
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
