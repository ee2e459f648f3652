"""The ASGI application of a gateway.

``POST`` to the endpoint starts a run, ``GET`` to its ``/capabilities`` describes it, and ``GET /`` returns a
page with a chat and an inspector.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import Any, Final, TypeAlias, Unpack

import anyio.from_thread
import anyio.to_thread
from ag_ui.core import AgentCapabilities, Message, RunAgentInput
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from agui_reasoning._escaping import one_line
from agui_reasoning._options import ApplicationOptions, check_options, shows_options
from agui_reasoning._shells.driver import OnError, now_in_ms
from agui_reasoning._shells.failures import BriefFailureLog
from agui_reasoning._shells.keys import hold_keys
from agui_reasoning._strict_json import JSONObject, Malformed, load
from agui_reasoning.aio import EventStream, agent_events
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.emitter._disclosure import Disclosure
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, RemoteProtocolError
from agui_reasoning.gateway._body import BODY_TIMEOUT_S, read_body
from agui_reasoning.gateway._capabilities import capabilities
from agui_reasoning.gateway._guard import middleware, refusal
from agui_reasoning.gateway._inspector import findings_report, request_report, require_local
from agui_reasoning.gateway._losses import Losses
from agui_reasoning.gateway._page import HEADERS, ICON, Settings, page_routes, render_hint
from agui_reasoning.gateway._replay import ReplayUpstream
from agui_reasoning.gateway._upstream import Upstream
from agui_reasoning.parts import Origin
from agui_reasoning.policy import NO_RULE, EchoRule
from agui_reasoning.providers._stored_objects import is_public_address
from agui_reasoning.providers.echo import explain_no_rule, rule_for
from agui_reasoning.providers.own_rules import own_rules
from agui_reasoning.run import Run

__all__ = ["MAX_BODY_BYTES", "create_app"]

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""The default limit for request bodies, in bytes: enough for a million words and their encrypted values."""

TenantOf: TypeAlias = Callable[[Request], str | Awaitable[str]]
"""Returns the tenant of a request."""

_Inspect: TypeAlias = Callable[[bytes, str], JSONObject]
"""Answers a body of a tenant."""

_Handler: TypeAlias = Callable[[Request], Awaitable[Response]]

_log = logging.getLogger("agui_reasoning")
_STATUS = {
    "no_tenant": 401,
    "not_local": 403,
    "body_timeout": 408,
    "body_too_large": 413,
    "too_large": 413,
    "not_declared_json": 415,
    "bad_input": 422,
    "file_not_allowed": 422,
}
_NAMES = {404: "not_found", 405: "method_not_allowed"}


@shows_options(ApplicationOptions, Run.__init__)
def create_app(
    upstream: Upstream | None = None,
    *,
    path: str = "/agent",
    keep_alive_s: float = 15.0,
    send_timeout_s: float = 60.0,
    on_error: OnError | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    body_timeout_s: float = BODY_TIMEOUT_S,
    allow_file_ids: bool = False,
    tenant: TenantOf | None = None,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    page: bool = True,
    page_links: Mapping[str, str] | None = None,
    **options: Unpack[ApplicationOptions],
) -> Starlette:
    """Create the application of a gateway.

    Args:
        upstream: Answers the requests; default is `ReplayUpstream`.
        path: The path of the endpoint.
        keep_alive_s: See `agui_reasoning.asgi.AGUIResponse`.
        send_timeout_s: See `agui_reasoning.asgi.AGUIResponse`.
        on_error: See `agui_reasoning.aio.run_agent`.
        max_body_bytes: Limit for request bodies, in bytes.
        body_timeout_s: Time limit for receiving a request body, in seconds.
        allow_file_ids: Let clients refer to files and other objects stored at the provider, in messages and
            in values that are not encrypted. They are read with your API key, so clients can read files of
            others.
        tenant: Returns the tenant of a request from your authentication, or raises Starlette's
            ``HTTPException``; an empty tenant is rejected with status 401. Without this function, values are
            bound only to thread IDs, which clients choose.
        allowed_hosts: Accepted values of ``Host``, besides names of this machine and the address of the
            connection. Patterns such as ``*.example.com`` and ``*`` are allowed.
        allowed_origins: Origins of web pages that may use the gateway, besides its own; ``*`` allows all.
        page: Serve a page with a chat and an inspector at ``/``, to callers that ``tenant`` accepts.
        page_links: The pages of other gateways, by label, for the page to link.
        **options: The options of `agui_reasoning.Run` for all runs; each run gets a copy of ``stages``.

    Raises:
        ConfigurationError: An origin is invalid (``bad_origin``), the visibility is unknown
            (``unknown_visibility``), reasoning that the provider requires would be lost because it is not
            shown, or need not be with ``allow_reasoning_request`` (``visibility_without_keys``), or another
            option is invalid (``bad_keys``, ``bad_ttl``, ``bad_padding``, ``bad_policy``, ``wrong_option``).
    """
    chosen = upstream or ReplayUpstream()
    options["policy"] = own_rules(options.get("policy", ()))  # a file is read once
    _check_options(chosen, tenant, options)
    visibility, keys = options.get("visibility", "full"), options.get("keys")
    declared = capabilities(
        chosen, visibility=visibility, encrypted=keys is not None, policy=options["policy"]
    )
    respond = partial(AGUIResponse, keep_alive_s=keep_alive_s, send_timeout_s=send_timeout_s)
    reading = _Reading(max_body_bytes, body_timeout_s, allow_file_ids)
    endpoint = _Endpoint(chosen, respond, on_error, reading, tenant, dict(options), declared, Losses(_warn))

    settings = Settings(chosen, path, options, allowed_origins, page_links or {})

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
            Route(
                f"{path.rstrip('/')}/capabilities",
                endpoint.guarded(endpoint.show_capabilities),
                methods=["GET"],
            ),
            *(page_routes(settings, endpoint.guarded) if page else ()),
            *(_inspector_routes(endpoint) if page else ()),
        ],
        exception_handlers={HTTPException: _refuse_request},
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads request bodies, and checks their file references."""

    max_body_bytes: int
    body_timeout_s: float
    allow_file_ids: bool

    async def body(self, request: Request) -> bytes:
        return await read_body(request, self.max_body_bytes, self.body_timeout_s)

    def check(self, run_input: RunAgentInput) -> None:
        named = (message.id for message in run_input.messages if _names_file(message))
        if not self.allow_file_ids and (message_id := next(named, None)) is not None:
            raise RemoteProtocolError(
                f"Message {message_id[:80]!r} refers to a file stored at the provider.",
                code="file_not_allowed",
                hint="Send its data or URL, or run the gateway with `allow_file_ids=True`.",
                message_id=message_id,
            )


def _names_file(message: Message) -> bool:
    """Return whether content is a file ID, or an address that leads to a stored object."""
    content = message.content if isinstance(message.content, list) else []
    sources = [source for part in content if (source := getattr(part, "source", None)) is not None]
    return any(
        one.type == "file" or (one.type == "url" and not is_public_address(one.value)) for one in sources
    )


@dataclass(frozen=True, slots=True)
class _Endpoint:
    upstream: Upstream
    respond: Callable[[EventStream], Response]
    on_error: OnError | None
    reading: _Reading
    tenant: TenantOf | None
    options: dict[str, Any]
    capabilities: AgentCapabilities
    losses: Losses

    async def answer(self, request: Request) -> Response:
        try:
            if self.upstream.live:
                _check_type(request)
            tenant = await self._tenant(request)
            body = await self.reading.body(request)
            # In a worker thread, because a large input would block other runs.
            run = await anyio.to_thread.run_sync(lambda: self.run(body, tenant))
        except RemoteProtocolError as error:
            return refusal(_STATUS.get(error.code, 400), error.code, str(error))
        except ClientDisconnect:
            return Response(status_code=400)  # not received by anyone
        agent = partial(self.losses.watched, self.upstream.agent)
        events = agent_events(run, agent, self.on_error, BriefFailureLog)
        return self.respond(events)

    async def inspect(self, answer: _Inspect, request: Request) -> Response:
        try:
            require_local(request)
            _check_type(request)
            tenant = await self._tenant(request)
            body = await self.reading.body(request)
            report = await anyio.to_thread.run_sync(lambda: answer(body, tenant))
        except AGUIReasoningError as error:
            return refusal(_STATUS.get(error.code, 400), error.code, str(error))
        except ClientDisconnect:
            return Response(status_code=400)
        # Half characters of the events are escaped: no encoding can write them.
        return Response(json.dumps(report), media_type="application/json")

    async def show_icon(self, request: Request) -> Response:
        return Response(ICON, media_type="image/svg+xml")

    async def show_capabilities(self, request: Request) -> Response:
        return JSONResponse(self.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True))

    def guarded(self, handler: _Handler) -> _Handler:
        """Return a handler that answers only requests with a tenant."""

        async def guarded(request: Request) -> Response:
            try:
                await self._tenant(request)
            except RemoteProtocolError as error:
                return refusal(_STATUS[error.code], error.code, str(error))
            return await handler(request)

        return guarded

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

    def held_run(self, body: bytes, tenant: str) -> Run:
        """Return a run with its keys, in a worker thread."""
        run = self.run(body, tenant)
        anyio.from_thread.run(hold_keys, run)
        return run

    def run(self, body: bytes, tenant: str) -> Run:
        run = Run(
            _parse_json(body),
            api=self.upstream.api,
            provider=self.upstream.provider,
            model=self.upstream.model,
            tenant=tenant,
            **(self.options | {"stages": deepcopy(self.options.get("stages", ()))}),
            allow_file_ids=self.reading.allow_file_ids,
            now_ms=now_in_ms,
            on_warning=_warn,
        )
        self.reading.check(run.input)
        return run


def _inspector_routes(endpoint: _Endpoint) -> list[Route]:
    """Return what the inspector asks for; nothing in front of a model, whose reasoning it would decrypt."""
    upstream = endpoint.upstream
    if not isinstance(upstream, ReplayUpstream):
        return []
    answers: dict[str, _Inspect] = {
        "check": lambda body, tenant: findings_report(body),
        "request": lambda body, tenant: request_report(endpoint.held_run(body, tenant), upstream),
    }
    return [
        Route(f"/_page/{name}", partial(endpoint.inspect, answer), methods=["POST"])
        for name, answer in answers.items()
    ]


def _check_options(upstream: Upstream, tenant: TenantOf | None, options: ApplicationOptions) -> None:
    """Reject invalid options when the application is created, instead of in every run."""
    check_options(api=upstream.api, **options)
    own = own_rules(options.get("policy", ()))
    if upstream.live:
        _check_provider(upstream, own)
    if upstream.api is not None:
        narrowest = "hidden" if options.get("allow_reasoning_request") else options.get("visibility", "full")
        disclosure = Disclosure(narrowest, options.get("keys") is not None)
        disclosure.check(Origin(upstream.provider, upstream.api, upstream.model), partial(rule_for, own=own))
    if tenant is not None and not callable(tenant):
        raise ConfigurationError(
            f"The tenant is {type(tenant).__name__}, not a function of the request.",
            code="wrong_option",
            hint="Pass a function that returns the tenant of a request from your authentication.",
        )


def _check_provider(upstream: Upstream, own: Sequence[EchoRule]) -> None:
    """Warn at startup, instead of in the second turn, if reasoning will not be sent back."""
    target = Origin(upstream.provider, upstream.api, upstream.model)
    if upstream.api is not None and rule_for(target, own) is NO_RULE:
        _warn(f"{explain_no_rule(target)} `agui-reasoning providers` lists all rows.")


def _warn(message: str) -> None:
    _log.warning("%s", one_line(message))


def _check_type(request: Request) -> None:
    """Require JSON, so that forms of other web pages, which cannot send this type, do not start paid runs."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise RemoteProtocolError(
            "The content type of the request is not JSON.",
            code="not_declared_json",
            hint="Send the header Content-Type: application/json.",
        )


def _parse_json(body: bytes) -> Any:
    """Parse the body as JSON, regardless of its content type, which curl does not set by default."""
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
    """Respond to a request with an unknown path or another method."""
    assert isinstance(error, HTTPException)  # registered only for this class
    if error.status_code == 405:
        response = _refuse_method(request)
    else:
        response = refusal(error.status_code, _NAMES.get(error.status_code, "http_error"), f"{error.detail}.")
    response.headers.update(error.headers or {})
    return response


def _refuse_method(request: Request) -> Response:
    """Explain how to call the endpoint to people who open it in a browser."""
    has_page = any(isinstance(route, Route) and route.name == "page" for route in request.app.routes)
    page = str(request.url.replace(path=f"{request.scope.get('root_path', '')}/", query=""))
    if has_page and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(render_hint(str(request.url.replace(query="")), page), 405, HEADERS)
    see = f"; see {page}" if has_page else ""
    return refusal(405, "method_not_allowed", f"Method Not Allowed. Send a RunAgentInput with POST{see}.")
