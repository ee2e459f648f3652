"""The ASGI application: ``POST`` to the endpoint is a run, ``GET /`` is a page that says how to call it.

``GET`` to the endpoint's ``/capabilities`` says what to expect of it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Final, TypeAlias, Unpack

import anyio.to_thread
from ag_ui.core import AgentCapabilities, Message, RunAgentInput
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from agui_reasoning._options import ApplicationOptions, check_options
from agui_reasoning._shells.driver import OnError, now_in_ms
from agui_reasoning._shells.failures import BriefFailureLog
from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.aio import agent_events
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.emitter._disclosure import Disclosure
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError
from agui_reasoning.gateway._body import BODY_TIMEOUT_S, read_body
from agui_reasoning.gateway._capabilities import capabilities
from agui_reasoning.gateway._guard import middleware, refusal
from agui_reasoning.gateway._page import ICON, render, render_hint
from agui_reasoning.gateway._replay import ReplayUpstream
from agui_reasoning.gateway._upstream import Upstream
from agui_reasoning.parts import Origin
from agui_reasoning.policy import NO_RULE
from agui_reasoning.providers.echo import explain_no_rule, rule_for
from agui_reasoning.run import Run

__all__ = ["MAX_BODY_BYTES", "create_app"]

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Default limit of a request's body: a history of a million words and its encrypted values fit."""

TenantOf: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""Tells whose conversation a request belongs to."""

_log = logging.getLogger("agui_reasoning")
_STATUS = {
    "no_tenant": 401,
    "body_timeout": 408,
    "body_too_large": 413,
    "too_large": 413,
    "not_declared_json": 415,
    "bad_input": 422,
    "file_not_allowed": 422,
}
_NAMES = {404: "not_found", 405: "method_not_allowed"}


def create_app(
    upstream: Upstream | None = None,
    *,
    path: str = "/agent",
    keep_alive_s: float = 15.0,
    on_error: OnError | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    body_timeout_s: float = BODY_TIMEOUT_S,
    allow_file_ids: bool = False,
    tenant: TenantOf | None = None,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    **options: Unpack[ApplicationOptions],
) -> Starlette:
    """Make the application of a gateway.

    Args:
        upstream: Who answers; default is `ReplayUpstream`.
        path: Where the endpoint is.
        keep_alive_s: See `agui_reasoning.asgi.AGUIResponse`.
        on_error: See `agui_reasoning.aio.run_agent`.
        max_body_bytes: The largest body of a request that is read.
        body_timeout_s: How long the body of a request may take to come, in seconds.
        allow_file_ids: Let messages name files that are stored at the provider: they are asked for with your
            key, whoever they belong to.
        tenant: Gives the tenant of a request from your authentication, or raises Starlette's
            ``HTTPException``; an empty one is refused with status 401. Without this function everyone who
            knows a thread's id is the same to the keys.
        allowed_hosts: Names the gateway answers to, besides those of this machine and the address it is
            reached at; ``*.example.com`` and ``*`` are patterns.
        allowed_origins: Origins whose pages may use the gateway, besides its own; ``*`` is every page.
        **options: The options of `agui_reasoning.Run` that are the same for all runs; each run gets a copy of
            ``stages``.

    Raises:
        ConfigurationError: An origin is none (``bad_origin``), there is no such visibility
            (``unknown_visibility``) or what it hides would be lost (``visibility_without_keys``), or another
            option cannot be used (``bad_keys``, ``bad_ttl``, ``bad_padding``, ``wrong_option``).
    """
    chosen = upstream or ReplayUpstream()
    _check_options(chosen, tenant, options)
    visibility, keys = options.get("visibility", "full"), options.get("keys")
    declared = capabilities(chosen, visibility=visibility, encrypted=keys is not None)
    reading = _Reading(max_body_bytes, body_timeout_s, allow_file_ids)
    endpoint = _Endpoint(chosen, keep_alive_s, on_error, reading, tenant, dict(options), declared)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await chosen.aclose()

    return Starlette(
        lifespan=lifespan,
        middleware=middleware(allowed_hosts, allowed_origins),
        routes=[
            Route(path, endpoint.answer, methods=["POST"], name="agent"),
            Route("/favicon.ico", endpoint.show_icon, methods=["GET"]),
            Route(f"{path.rstrip('/')}/capabilities", endpoint.tell, methods=["GET"]),
            Route("/", endpoint.show_page, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _refuse_request},
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """How requests are read."""

    max_body_bytes: int
    body_timeout_s: float
    allow_file_ids: bool

    async def body(self, request: Request) -> bytes:
        return await read_body(request, self.max_body_bytes, self.body_timeout_s)

    def check(self, run_input: RunAgentInput) -> None:
        named = (message.id for message in run_input.messages if _names_file(message))
        if not self.allow_file_ids and (message_id := next(named, None)) is not None:
            raise RemoteProtocolError(
                f"Message {message_id[:80]!r} names a file at the provider.",
                code="file_not_allowed",
                hint="Send its data or its address, or run the gateway with `allow_file_ids=True`.",
                message_id=message_id,
            )


def _names_file(message: Message) -> bool:
    content = message.content if isinstance(message.content, list) else []
    return any(getattr(getattr(part, "source", None), "type", None) == "file" for part in content)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    upstream: Upstream
    keep_alive_s: float
    on_error: OnError | None
    reading: _Reading
    tenant: TenantOf | None
    options: dict[str, Any]
    capabilities: AgentCapabilities

    async def answer(self, request: Request) -> Response:
        try:
            if self.upstream.live:
                _check_type(request)
            tenant = await self._tenant(request)
            body = await self.reading.body(request)
            # What it costs to read is the client's choice: no other run shall wait for it.
            run = await anyio.to_thread.run_sync(lambda: self._run(_parse_json(body), tenant))
        except RemoteProtocolError as error:
            return refusal(_STATUS.get(error.code, 400), error.code, str(error))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        events = agent_events(run, self.upstream.agent, self.on_error, BriefFailureLog)
        return AGUIResponse(events, keep_alive_s=self.keep_alive_s)

    async def show_page(self, request: Request) -> Response:
        return HTMLResponse(render(str(request.url_for("agent")), self.upstream.name))

    async def show_icon(self, request: Request) -> Response:
        return Response(ICON, media_type="image/svg+xml")

    async def tell(self, request: Request) -> Response:
        try:
            await self._tenant(request)
        except RemoteProtocolError as error:
            return refusal(_STATUS[error.code], error.code, str(error))
        return JSONResponse(self.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def _tenant(self, request: Request) -> str:
        if self.tenant is None:
            return ""
        found = self.tenant(request)
        tenant = await found if isawaitable(found) else found
        if not isinstance(tenant, str) or not tenant:
            raise RemoteProtocolError(
                "The request has no tenant.", code="no_tenant", hint="Authenticate as the gateway requires."
            )
        return tenant

    def _run(self, run_input: Any, tenant: str) -> Run:
        run = Run(
            run_input,
            api=self.upstream.api,
            provider=self.upstream.provider,
            model=self.upstream.model,
            tenant=tenant,
            **(self.options | {"stages": deepcopy(self.options.get("stages", ()))}),
            now_ms=now_in_ms,
            on_warning=_log.warning,
        )
        self.reading.check(run.input)
        return run


def _check_options(upstream: Upstream, tenant: TenantOf | None, options: ApplicationOptions) -> None:
    """Tell now, and not in every run, what cannot work."""
    check_options(api=upstream.api, **options)
    if upstream.live:
        _check_provider(upstream)
    if upstream.api is not None:
        disclosure = Disclosure(options.get("visibility", "full"), options.get("keys") is not None)
        disclosure.check(Origin(upstream.provider, upstream.api, upstream.model), rule_for)
    if tenant is not None and not callable(tenant):
        raise ConfigurationError(
            f"The tenant is {type(tenant).__name__}, not a function of the request.",
            code="wrong_option",
            hint="Pass a function that tells by your authentication whose conversation a request is.",
        )


def _check_provider(upstream: Upstream) -> None:
    """Tell now that reasoning will not go back: the second turn would be late."""
    target = Origin(upstream.provider, upstream.api, upstream.model)
    if upstream.api is not None and rule_for(target) is NO_RULE:
        _log.warning("%s `agui-reasoning providers` lists all rows.", explain_no_rule(target))


def _check_type(request: Request) -> None:
    """Where a run costs something, a form of another page must not start one: it cannot send this type."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise RemoteProtocolError(
            "The request does not say that its body is JSON.",
            code="not_declared_json",
            hint="Send the header Content-Type: application/json.",
        )


def _parse_json(body: bytes) -> Any:
    """The body as JSON, whatever its content type says: browsers and curl do not always name it."""
    try:
        value = load(body.decode())
    except UnicodeDecodeError:
        value = Malformed(None)
    if isinstance(value, Malformed):
        raise RemoteProtocolError(
            "The body of the request is not JSON.", code="bad_json", hint="Send a RunAgentInput in UTF-8."
        )
    return value


async def _refuse_request(request: Request, error: Exception) -> Response:
    """What the router refuses: an unknown path, another method."""
    assert isinstance(error, HTTPException)  # it is registered for nothing else
    if error.status_code == 405:
        response = _refuse_method(request)
    else:
        response = refusal(error.status_code, _NAMES.get(error.status_code, "http_error"), f"{error.detail}.")
    response.headers.update(error.headers or {})
    return response


def _refuse_method(request: Request) -> Response:
    """Say how it is meant: people open an endpoint to see whether it is there."""
    page = request.url.replace(path=f"{request.scope.get('root_path', '')}/", query="")
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(render_hint(str(request.url.replace(query="")), str(page)), 405)
    return refusal(
        405, "method_not_allowed", f"Method Not Allowed. Send a RunAgentInput with POST; see {page}."
    )
