"""The ASGI application of a gateway.

``POST`` to the endpoint starts a run, ``GET`` to its ``/capabilities`` describes it, and ``GET /`` returns a
page with a chat and an inspector. ``GET /healthz`` and ``GET /readyz`` are for load balancers.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

import anyio.from_thread
import anyio.to_thread
from ag_ui.core import AgentCapabilities, Message, RunAgentInput
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from agui_reasoning._driver import BriefFailureLog, OnError, hold_keys, now_in_ms
from agui_reasoning._escaping import one_line
from agui_reasoning._page import HEADERS, ICON, JoinedBy, Settings, page_routes, render_hint
from agui_reasoning._strict_json import JSONObject, Malformed, load
from agui_reasoning.aio import EventStream, agent_events
from agui_reasoning.asgi import (
    BODY_TIMEOUT_S,
    MAX_BODY_BYTES,
    AGUIResponse,
    TenantOf,
    check_type,
    is_local,
    read_body,
    require_local,
    status_of,
    tenant_by,
)
from agui_reasoning.copilotkit import routes
from agui_reasoning.emitter import Disclosure
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, RemoteProtocolError, TransportError
from agui_reasoning.gateway._inspector import Losses, findings_report, request_report
from agui_reasoning.gateway._replay import ReplayUpstream
from agui_reasoning.gateway._serving import health_routes, middleware, refusal
from agui_reasoning.gateway._upstream import Upstream, capabilities
from agui_reasoning.parts import Origin
from agui_reasoning.policy import NO_RULE
from agui_reasoning.providers.echo import explain_no_rule, rule_for
from agui_reasoning.providers.own_rules import own_rules
from agui_reasoning.providers.stored_objects import is_public_address
from agui_reasoning.run import ApplicationOptions, Run, RunSettings, run_settings, shows_options

if TYPE_CHECKING:  # imported with the runs
    from agui_reasoning.durable import LogStream, Runs

_Inspect: TypeAlias = Callable[[bytes, str], JSONObject]
"""Answers a body of a tenant."""

_Durable: TypeAlias = Callable[[JSONObject, str], Awaitable[Response]]
"""Answers a request about a thread of a tenant."""

_Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
_Errors: TypeAlias = tuple[type[AGUIReasoningError], ...]

_log = logging.getLogger("agui_reasoning")
_NAMES = {404: "not_found", 405: "method_not_allowed"}


@shows_options(ApplicationOptions, RunSettings)
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
    page_links: Mapping[str, str | Mapping[str, str]] | None = None,
    runs: Runs | None = None,
    copilotkit: str | None = None,
    single_tenant: bool = False,
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
        page_links: The pages of other gateways, by label, to be linked; or groups of them, by heading.
        runs: Keeps the runs, so that they outlive their connections: ``POST`` to the endpoint's ``/connect``
            joins a thread, and to ``/stop`` stops its run. They are closed with the application.
        copilotkit: The path of a CopilotKit runtime, such as ``/api/copilotkit``; needs ``runs``.
        single_tenant: All callers are one tenant. Without this, and without ``tenant``, only callers of this
            machine can join and stop.
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
        chosen,
        visibility=visibility,
        encrypted=keys is not None,
        policy=options["policy"],
        resumable=runs is not None,
    )
    respond = partial(AGUIResponse, keep_alive_s=keep_alive_s, send_timeout_s=send_timeout_s)
    endpoint = _Endpoint(
        upstream=chosen,
        respond=respond,
        on_error=on_error,
        max_body_bytes=max_body_bytes,
        body_timeout_s=body_timeout_s,
        allow_file_ids=allow_file_ids,
        tenant=tenant,
        options=dict(options),
        capabilities=declared,
        losses=Losses(_warn),
        runs=runs,
        single_tenant=single_tenant,
    )

    # What is wrong with the server's configuration is not for its clients.
    answer = partial(_answered, endpoint.answer, errors=(RemoteProtocolError, TransportError))
    questions = chosen.questions if isinstance(chosen, ReplayUpstream) else None
    settings = Settings(
        chosen, path, options, allowed_origins, page_links or {}, questions, endpoint.joined_by
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if runs is not None:
                await runs.aclose()
            await chosen.aclose()

    return Starlette(
        lifespan=lifespan,
        middleware=middleware(allowed_hosts, allowed_origins),
        routes=[
            Route(path, answer, methods=["POST"], name="agent"),
            *health_routes(keys, runs),
            Route("/favicon.ico", endpoint.show_icon, methods=["GET"]),
            Route(
                f"{path.rstrip('/')}/capabilities",
                endpoint.guarded(endpoint.show_capabilities),
                methods=["GET"],
            ),
            *(_durable_routes(endpoint, path) if runs is not None else ()),
            *(_copilotkit_routes(endpoint, copilotkit) if copilotkit is not None else ()),
            *(page_routes(settings, endpoint.guarded, is_local) if page else ()),
            *(_inspector_routes(endpoint) if page else ()),
        ],
        exception_handlers={HTTPException: _refuse_request},
    )


def _check_files(run_input: RunAgentInput) -> None:
    """Refuse an input that refers to files of the provider."""
    message = next(filter(_names_file, run_input.messages), None)
    if message is not None:
        raise RemoteProtocolError(
            f"Message {message.id[:80]!r} refers to a file stored at the provider.",
            code="file_not_allowed",
            hint="Send its data or URL, or run the gateway with `allow_file_ids=True`.",
            message_id=message.id,
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
    respond: Callable[[EventStream | LogStream], Response]
    on_error: OnError | None
    max_body_bytes: int
    body_timeout_s: float
    allow_file_ids: bool
    tenant: TenantOf | None
    options: dict[str, Any]
    capabilities: AgentCapabilities
    losses: Losses
    runs: Runs | None
    single_tenant: bool

    @property
    def joined_by(self) -> JoinedBy:
        """Who can join and stop runs."""
        if self.runs is None:
            return "nobody"
        return "this machine" if self.tenant is None and not self.single_tenant else "all"

    @property
    def origin(self) -> Origin:
        upstream = self.upstream
        return Origin(upstream.provider, upstream.api, upstream.model, account=upstream.account)

    async def answer(self, request: Request) -> Response:
        if self.upstream.live:
            check_type(request)
        body, tenant = await self._received(request)
        # In a worker thread, because a large input would block other runs.
        run = await anyio.to_thread.run_sync(lambda: self.run(body, tenant))
        agent = partial(self.losses.watched, self.upstream.agent)
        events = agent_events(run, agent, self.on_error, BriefFailureLog)
        return self.respond(events if self.runs is None else await self.runs._start(run, events))

    async def durable(self, answer: _Durable, request: Request) -> Response:
        """Answer what concerns a stored thread of the caller."""
        if self.joined_by == "this machine":
            require_local(
                request,
                "Without tenants, only callers of this machine can join and stop threads.",
                "Give the gateway a tenant function, or pass single_tenant=True.",
            )
        check_type(request)
        body, tenant = await self._received(request)
        return await answer(_of_thread(_parse_json(body)), tenant)

    async def inspect(self, answer: _Inspect, request: Request) -> Response:
        require_local(
            request,
            "The inspector answers only this machine.",
            "Open the page at a loopback address of the gateway, such as http://127.0.0.1.",
        )
        check_type(request)
        body, tenant = await self._received(request)
        report = await anyio.to_thread.run_sync(lambda: answer(body, tenant))
        # Lone surrogates in the events are escaped, because UTF-8 cannot encode them.
        return Response(json.dumps(report), media_type="application/json")

    async def show_icon(self, request: Request) -> Response:
        return Response(ICON, media_type="image/svg+xml")

    async def show_capabilities(self, request: Request) -> Response:
        return JSONResponse(self.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True))

    def guarded(self, handler: _Handler) -> _Handler:
        """Return a handler that answers only requests with a tenant."""

        async def guarded(request: Request) -> Response:
            await self._tenant(request)
            return await handler(request)

        return partial(_answered, guarded)

    async def _received(self, request: Request) -> tuple[bytes, str]:
        """Return the body of a request, and its tenant, which is asked for first."""
        tenant = await self._tenant(request)
        return await read_body(request, self.max_body_bytes, self.body_timeout_s), tenant

    async def _tenant(self, request: Request) -> str:
        return "" if self.tenant is None else await tenant_by(self.tenant, request)

    def held_run(self, body: bytes, tenant: str) -> Run:
        """Return a run with its keys, in a worker thread."""
        run = self.run(body, tenant)
        anyio.from_thread.run(hold_keys, run)
        return run

    def run(self, body: bytes, tenant: str) -> Run:
        run = Run(
            _parse_json(body),
            origin=self.origin,
            tenant=tenant,
            **(self.options | {"stages": deepcopy(self.options.get("stages", ()))}),
            allow_file_ids=self.allow_file_ids,
            now_ms=now_in_ms,
            on_warning=_warn,
        )
        if not self.allow_file_ids:
            _check_files(run.input)
        return run


def _durable_routes(endpoint: _Endpoint, path: str) -> list[Route]:
    runs, respond = cast("Runs", endpoint.runs), endpoint.respond

    async def connect(asked: JSONObject, tenant: str) -> Response:
        version = asked.get("protocolVersion")
        return respond(await runs.join(asked["threadId"], tenant, protocol_version=version))

    async def stop(asked: JSONObject, tenant: str) -> Response:
        return JSONResponse({"stopped": await runs.stop(asked["threadId"], tenant)})

    return [
        Route(
            f"{path.rstrip('/')}/{name}",
            partial(_answered, partial(endpoint.durable, answer)),
            methods=["POST"],
        )
        for name, answer in (("connect", connect), ("stop", stop))
    ]


def _copilotkit_routes(endpoint: _Endpoint, path: str) -> list[Route]:
    if endpoint.runs is None:
        raise ConfigurationError(
            "A CopilotKit runtime needs runs that outlive their connection.",
            code="wrong_option",
            hint="Pass runs=, for example Runs(SQLiteRuns(path)).",
        )
    agent = partial(endpoint.losses.watched, endpoint.upstream.agent)
    return routes(
        {"default": agent},
        runs=endpoint.runs,
        path=path,
        tenant=endpoint.tenant,
        single_tenant=endpoint.single_tenant,
        on_error=endpoint.on_error,
        origin=endpoint.origin,
        on_warning=_warn,
        **cast("ApplicationOptions", endpoint.options),
    )


def _of_thread(body: Any) -> JSONObject:
    """Return a body that names a thread."""
    thread_id = body.get("threadId") if isinstance(body, dict) else None
    if not isinstance(thread_id, str) or not thread_id:
        raise RemoteProtocolError(
            "The body of the request names no thread.",
            code="bad_input",
            hint="Send a RunAgentInput, or an object with `threadId`.",
        )
    return cast("JSONObject", body)


def _inspector_routes(endpoint: _Endpoint) -> list[Route]:
    """Return what the inspector asks for; in front of a model nothing that would decrypt its reasoning."""
    upstream = endpoint.upstream
    answers: dict[str, _Inspect] = {"losses": lambda body, tenant: endpoint.losses.report(tenant)}
    if isinstance(upstream, ReplayUpstream):
        answers["check"] = lambda body, tenant: findings_report(body)
        answers["request"] = lambda body, tenant: request_report(endpoint.held_run(body, tenant), upstream)
    return [
        Route(f"/_page/{name}", partial(_answered, partial(endpoint.inspect, answer)), methods=["POST"])
        for name, answer in answers.items()
    ]


def _check_options(upstream: Upstream, tenant: TenantOf | None, options: ApplicationOptions) -> None:
    """Reject invalid options when the application is created, instead of in every run."""
    run_settings({"api": upstream.api, **options})
    own = own_rules(options.get("policy", ()))
    if upstream.api is not None:
        target = Origin(upstream.provider, upstream.api, upstream.model)
        if upstream.live and rule_for(target, own) is NO_RULE:  # now, instead of in the second turn
            _warn(f"{explain_no_rule(target)} `agui-reasoning providers` lists all rows.")
        narrowest = "hidden" if options.get("allow_reasoning_request") else options.get("visibility", "full")
        disclosure = Disclosure.of(narrowest, sealed=options.get("keys") is not None)
        disclosure.check(target, partial(rule_for, own=own))
    if tenant is not None and not callable(tenant):
        raise ConfigurationError(
            f"The tenant is {type(tenant).__name__}, not a function of the request.",
            code="wrong_option",
            hint="Pass a function that returns the tenant of a request from your authentication.",
        )


def _warn(message: str) -> None:
    _log.warning("%s", one_line(message))


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


async def _answered(
    handler: _Handler, request: Request, *, errors: _Errors = (AGUIReasoningError,)
) -> Response:
    """Answer a request, errors included."""
    try:
        return await handler(request)
    except errors as error:
        status = 422 if error.code == "bad_input" else status_of(error.code)
        return refusal(status, error.code, str(error))
    except ClientDisconnect:
        return Response(status_code=400)  # not received by anyone


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
