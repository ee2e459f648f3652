"""A reverse proxy that upgrades the THINKING_* events of a running agent to REASONING_*.

An agent built on ``ag-ui-protocol`` 0.x cannot share an environment with 1.0, so it is upgraded from outside.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_reasoning._strict_json import dump, load
from agui_reasoning.asgi import (
    BODY_TIMEOUT_S,
    ThinkingUpgradeMiddleware,
    cancel_on_disconnect,
    read_body,
    status_of,
)
from agui_reasoning.compat import peer_of
from agui_reasoning.errors import ConfigurationError, MissingExtraError, RemoteProtocolError
from agui_reasoning.gateway._serving import middleware, refusal

try:
    import httpx2
except ImportError:
    raise MissingExtraError("The proxy", "client") from None

_RawHeaders: TypeAlias = Iterable[tuple[bytes, bytes]]

_log = logging.getLogger("agui_reasoning")

_CONNECT_S: Final = 10.0
_MAX_BODY_BYTES: Final = 64 * 1024 * 1024
_IS_IT_UP: Final = "Check that it is running, and that --upstream is its URL."

# Hop-by-hop headers (RFC 9110, 7.6.1), which are not forwarded.
_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# Set by the proxy itself. Compressed event streams could not be read.
_OF_REQUEST: Final = frozenset({"host", "content-length", "accept-encoding", "expect"})
_OF_RESPONSE: Final = frozenset({"date", "server"})


def create_proxy(
    upstream: str,
    *,
    agent_version: str | None = None,
    repair: bool = True,
    keep_title: bool = False,
    downgrade: str | Callable[[Scope], str | None] | None = None,
    downgrade_header: str | None = None,
    allowed_hosts: Sequence[str] = (),
    max_body_bytes: int = _MAX_BODY_BYTES,
    body_timeout_s: float = BODY_TIMEOUT_S,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> ASGIApp:
    """Create the application of a proxy.

    Forwards method, path, query, headers and body to the upstream, and its response back, with events
    rewritten by `ThinkingUpgradeMiddleware`.

    Args:
        upstream: The URL of the agent; the path of a request is appended to it.
        agent_version: The agent's version of ag-ui-protocol. Versions before 0.1.11 reject requests with
            reasoning messages, which are therefore removed. By default, bodies are forwarded unchanged.
        repair: See `ThinkingUpgradeMiddleware`.
        keep_title: See `ThinkingUpgradeMiddleware`.
        downgrade: See `ThinkingUpgradeMiddleware`.
        downgrade_header: See `ThinkingUpgradeMiddleware`.
        allowed_hosts: Accepted values of ``Host``, besides names of this machine and the address of the
            connection; ``*`` accepts all.
        max_body_bytes: Limit for request bodies, in bytes.
        body_timeout_s: Time limit for receiving a request body, in seconds.
        transport: The transport for requests to the agent; default is the network.

    Raises:
        ConfigurationError: The upstream is not an HTTP URL (``bad_url``), or a version is unknown
            (``unknown_peer``).
    """
    strips = agent_version is not None and peer_of(agent_version).thinking
    proxy = _Proxy(_base(upstream), strips, max_body_bytes, body_timeout_s, transport)
    upgraded = ThinkingUpgradeMiddleware(
        proxy, repair=repair, keep_title=keep_title, downgrade=downgrade, downgrade_header=downgrade_header
    )
    # The agent checks origins. Hosts are checked here, because the agent does not receive them.
    checks, *_ = middleware(allowed_hosts, ("*",))
    app: ASGIApp = checks.cls(upgraded, *checks.args, **checks.kwargs)
    return app


class _Proxy:
    def __init__(
        self,
        base: str,
        strips_reasoning: bool,
        max_body_bytes: int,
        body_timeout_s: float,
        transport: httpx2.AsyncBaseTransport | None,
    ) -> None:
        self._base = base
        self._strips_reasoning = strips_reasoning
        self._max_body_bytes = max_body_bytes
        self._body_timeout_s = body_timeout_s
        self._http = httpx2.AsyncClient(
            transport=transport,
            # Agents can think for any time.
            timeout=httpx2.Timeout(None, connect=_CONNECT_S),
            # Idle connections are closed at once, so that none are left when the server stops.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            sent = self._request(request, await self._body(request))
        except RemoteProtocolError as error:
            await refusal(status_of(error.code), error.code, str(error))(scope, receive, send)
        except ClientDisconnect:
            return
        else:
            # Detects a disconnect of the client before the agent starts to respond.
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cancel_on_disconnect, receive, tasks.cancel_scope)
                await self._answer(sent, scope, receive, send)
                tasks.cancel_scope.cancel()

    # -- request

    async def _body(self, request: Request) -> bytes:
        body = await read_body(request, self._max_body_bytes, self._body_timeout_s)
        return _without_reasoning(body) if self._strips_reasoning else body

    def _request(self, request: Request, body: bytes) -> httpx2.Request:
        headers = [*_end_to_end(request.headers.raw, _OF_REQUEST), (b"accept-encoding", b"identity")]
        return httpx2.Request(request.method, self._url(request.scope), headers=headers, content=body)

    def _url(self, scope: Scope) -> str:
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        if not path.startswith("/"):
            # Appended to the base URL, another target could change the host.
            raise RemoteProtocolError(
                "The request target is not a path.",
                code="bad_target",
                hint="Send requests as to a server, not as to a forward proxy.",
            )
        query = scope["query_string"].decode("latin-1")
        return self._base + ("" if path == "/" else path) + (f"?{query}" if query else "")

    # -- response

    async def _answer(self, request: httpx2.Request, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._http.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            message = f"The agent behind this proxy cannot be reached ({type(error).__name__}). {_IS_IT_UP}"
            await refusal(502, "upstream_unreachable", message)(scope, receive, send)
            return
        try:
            await _pass_on(answer, send)
        except OSError:
            pass  # raised by some servers if the client has disconnected
        except httpx2.HTTPError as error:
            # The server then aborts the connection, so that the client does not take this for the end.
            _log.warning("The agent behind the proxy broke off its response (%s).", type(error).__name__)
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()


async def _pass_on(answer: httpx2.Response, send: Send) -> None:
    headers = list(_end_to_end(answer.headers.raw, _OF_RESPONSE))
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    async for piece in answer.aiter_raw():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _end_to_end(headers: _RawHeaders, without: frozenset[str]) -> Iterator[tuple[bytes, bytes]]:
    """Return the headers to forward, in lower case."""
    low = [(name.lower(), value) for name, value in headers]
    listed = b",".join(value for name, value in low if name == b"connection").decode("latin-1")
    local = _HOP | without | {name.strip().lower() for name in listed.split(",")}
    return ((name, value) for name, value in low if name.decode("latin-1") not in local)


def _without_reasoning(body: bytes) -> bytes:
    """Return a request body without reasoning messages; unchanged if it has none."""
    try:
        run_input = load(body.decode())
    except UnicodeDecodeError:
        return body
    messages = run_input.get("messages") if isinstance(run_input, dict) else None
    if not isinstance(messages, list):
        return body
    kept = [one for one in messages if not (isinstance(one, dict) and one.get("role") == "reasoning")]
    return body if len(kept) == len(messages) else dump({**run_input, "messages": kept}).encode()


def _base(upstream: str) -> str:
    try:
        parts = urlsplit(upstream)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known or parts.query or parts.fragment:
        raise ConfigurationError(
            "The upstream is not the URL of an agent.",  # not quoted: it can contain a password
            code="bad_url",
            hint="Pass scheme, host and optional path, such as http://localhost:8000/agent.",
        )
    return upstream.rstrip("/")
