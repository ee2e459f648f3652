"""A runtime for CopilotKit's browser package, without a Node server (extra ``server``).

Source: `ProxiedCopilotRuntimeAgent` and the thread store of ``@copilotkit/core`` 1.74.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Unpack

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning import __version__
from agui_reasoning._driver import OnError, run_of
from agui_reasoning._strict_json import JSONObject, Malformed, load
from agui_reasoning.aio import Agent
from agui_reasoning.asgi import (
    BODY_TIMEOUT_S,
    MAX_BODY_BYTES,
    AGUIResponse,
    TenantOf,
    check_type,
    read_body,
    require_local,
    status_of,
    tenant_by,
)
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, RemoteProtocolError
from agui_reasoning.parts import Origin
from agui_reasoning.run import ApplicationOptions
from agui_reasoning.wire import MEDIA_TYPE, frames_of, read_events

if TYPE_CHECKING:
    from agui_reasoning.durable import LogStream, Runs, ThreadInfo

__all__ = ["routes"]

_Answer: TypeAlias = Callable[[Request, str], Awaitable[Response]]

_STOPPED: Final = {"type": "RUN_ERROR", "message": "The run was stopped.", "code": "STOPPED"}
_CANCELLED: Final = b'"code":"cancelled"'


def routes(
    agents: Mapping[str, Agent],
    *,
    runs: Runs,
    path: str = "/api/copilotkit",
    tenant: TenantOf | None = None,
    single_tenant: bool = False,
    on_error: OnError | None = None,
    origin: Origin | None = None,
    on_warning: Callable[[str], None] | None = None,
    **options: Unpack[ApplicationOptions],
) -> list[Route]:
    """Return the routes of a CopilotKit runtime, for any Starlette or FastAPI application.

    Args:
        agents: The agents by ID; CopilotKit asks for ``default`` unless told otherwise. See
            `agui_reasoning.aio.run_agent`.
        runs: Keeps the runs, so that pages can be reloaded. Close it with the application.
        path: The path, which is the ``runtimeUrl`` of the page.
        tenant: Returns the tenant of a request from your authentication; an empty one is refused.
        single_tenant: All callers are one tenant. Without this, and without ``tenant``, only callers of this
            machine are answered.
        on_error: See `agui_reasoning.aio.run_agent`.
        origin: See `agui_reasoning.Run`.
        on_warning: See `agui_reasoning.Run`.
        **options: The options of `agui_reasoning.Run` for all runs; each run gets a copy of ``stages``.

    Raises:
        ConfigurationError: There is no agent (``no_agent``).
    """
    if not agents:
        raise ConfigurationError(
            "There is no agent.", code="no_agent", hint='Pass one, such as {"default": agent}.'
        )
    made = {**options, "origin": origin, "on_warning": on_warning}
    runtime = _Runtime(dict(agents), runs, tenant, single_tenant, on_error, made)
    at = path.rstrip("/")
    table: list[tuple[str, str, _Answer]] = [
        ("GET", f"{at}/info", runtime.info),
        ("POST", f"{at}/agent/{{agent_id}}/run", runtime.run),
        ("POST", f"{at}/agent/{{agent_id}}/connect", runtime.connect),
        ("POST", f"{at}/agent/{{agent_id}}/stop/{{thread_id:path}}", runtime.stop),
        ("GET", f"{at}/threads", runtime.threads),
        ("GET", f"{at}/threads/{{thread_id}}/messages", partial(runtime.thread, "messages")),
        ("GET", f"{at}/threads/{{thread_id}}/state", partial(runtime.thread, "state")),
        ("POST", at or "/", runtime.single),
        ("POST", f"{at}/", runtime.single),
    ]
    return [
        Route(where, partial(runtime.answered, answer), methods=[method]) for method, where, answer in table
    ]


@dataclass(frozen=True, slots=True)
class _Runtime:
    """Answers the routes."""

    agents: dict[str, Agent]
    runs: Runs
    tenant: TenantOf | None
    single_tenant: bool
    on_error: OnError | None
    options: dict[str, Any]

    async def answered(self, answer: _Answer, request: Request) -> Response:
        """Answer a request of a tenant; errors in the form of CopilotKit's runtime."""
        try:
            if request.method == "POST":
                check_type(request)
            return await answer(request, await self._tenant(request))
        except AGUIReasoningError as error:
            return _json({"error": error.code, "message": str(error)}, status_of(error.code))

    async def _tenant(self, request: Request) -> str:
        if self.tenant is None:
            if not self.single_tenant:
                require_local(
                    request,
                    "Without tenants, only callers of this machine are answered,"
                    " and neither proxies nor pages of other origins.",
                    "Pass a tenant function, or single_tenant=True.",
                )
            return ""
        return await tenant_by(self.tenant, request)

    async def info(self, request: Request, tenant: str) -> Response:
        described = {
            "version": __version__,
            "agents": {name: {"name": name, "description": "", "className": "Agent"} for name in self.agents},
            "mode": "sse",
            "audioFileTranscriptionEnabled": False,
            "threadEndpoints": {"list": True, "inspect": True, "mutations": False, "realtimeMetadata": False},
            "suggestions": False,
            "a2uiEnabled": False,
            "openGenerativeUIEnabled": False,
            "telemetryDisabled": True,
        }
        return _json(described)

    async def run(self, request: Request, tenant: str) -> Response:
        return await self._run(request.path_params["agent_id"], await _body(request), tenant)

    async def connect(self, request: Request, tenant: str) -> Response:
        return await self._connect(request.path_params["agent_id"], await _body(request), tenant)

    async def stop(self, request: Request, tenant: str) -> Response:
        named = await _body(request, {})
        return await self._stop(request.path_params["thread_id"], _text(named, "runId"), tenant)

    async def single(self, request: Request, tenant: str) -> Response:
        """Answer the single-route form, which names the route in its body."""
        envelope = await _body(request)
        params, body = envelope.get("params") or {}, envelope.get("body") or {}
        agent_id, thread_id = _text(params, "agentId") or "", _text(params, "threadId") or ""
        if envelope.get("method") == "info":
            return await self.info(request, tenant)
        if envelope.get("method") == "agent/run":
            return await self._run(agent_id, body, tenant)
        if envelope.get("method") == "agent/connect":
            return await self._connect(agent_id, body, tenant)
        if envelope.get("method") == "agent/stop":
            return await self._stop(thread_id, _text(body, "runId"), tenant)
        raise RemoteProtocolError(
            "The method is not known.",
            code="bad_input",
            hint="Use info, agent/run, agent/connect or agent/stop.",
        )

    async def threads(self, request: Request, tenant: str) -> Response:
        agent_id = request.query_params.get("agentId", "default")
        found = [_listed(info, agent_id) for info in await self.runs.threads(tenant)]
        return _json({"threads": found, "nextCursor": None})

    async def thread(self, what: str, request: Request, tenant: str) -> Response:
        """Return the messages or the state of a thread."""
        conversation = await self.runs.conversation(request.path_params["thread_id"], tenant)
        if what == "state":
            return _json({"state": conversation.state})
        told = conversation.messages
        return _json({what: [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in told]})

    def _agent(self, agent_id: str) -> Agent:
        agent = self.agents.get(agent_id)
        if agent is None:
            raise RemoteProtocolError(
                "There is no such agent.",
                code="unknown_agent",
                hint=f"Ask for one of {', '.join(self.agents)}.",
            )
        return agent

    async def _run(self, agent_id: str, body: JSONObject, tenant: str) -> Response:
        agent = self._agent(agent_id)
        # In a worker thread, because a large input would block other runs.
        options = self.options | {"tenant": tenant, "stages": deepcopy(self.options.get("stages", ()))}
        run = await anyio.to_thread.run_sync(run_of, body, options)
        return AGUIResponse(_ShownStream(await self.runs.start(run, agent, self.on_error)))

    async def _connect(self, agent_id: str, body: JSONObject, tenant: str) -> Response:
        self._agent(agent_id)
        try:
            stream = await self.runs.join(
                _text(body, "threadId") or "", tenant, protocol_version=_text(body, "protocolVersion")
            )
            return AGUIResponse(_ShownStream(stream))
        except RemoteProtocolError as error:
            if error.code != "unknown_thread":
                raise
            return Response(media_type=MEDIA_TYPE)  # a new thread, of which there is nothing to say

    async def _stop(self, thread_id: str, run_id: str | None, tenant: str) -> Response:
        if await self.runs.stop(thread_id, tenant, run_id=run_id):
            return _json({"stopped": True, "interrupt": _STOPPED})
        return _json({"stopped": False, "message": "No run of this thread is running."})


class _ShownStream:
    """The frames of a run for CopilotKit, which shows each RUN_ERROR but ``abort``: a stop is none."""

    def __init__(self, stream: LogStream) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[Any]:
        return aiter(self._stream)

    async def frames(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._stream.frames()) as chunks:
            async for chunk in chunks:
                yield _shown(chunk) if _CANCELLED in chunk else chunk


def _shown(chunk: bytes) -> bytes:
    events = read_events(chunk)
    if events[-1]["type"] != "RUN_ERROR" or events[-1].get("code") != "cancelled":
        return chunk
    return frames_of([*events[:-1], events[-1] | {"code": "abort"}])


def _listed(info: ThreadInfo, agent_id: str) -> JSONObject:
    updated = datetime.fromtimestamp(info.updated_s, UTC).isoformat()
    return {
        "id": info.thread_id,
        "agentId": agent_id,
        "organizationId": "",
        "createdById": "",
        "name": None,
        "archived": False,
        **dict.fromkeys(("createdAt", "updatedAt", "lastRunAt"), updated),
    }


def _json(value: JSONObject, status: int = 200) -> Response:
    # Lone surrogates, of which clients may have any, are escaped, because UTF-8 cannot encode them.
    return Response(json.dumps(value), status, media_type="application/json")


async def _body(request: Request, default: JSONObject | None = None) -> JSONObject:
    data = await read_body(request, MAX_BODY_BYTES, BODY_TIMEOUT_S)
    body = default if not data and default is not None else load(data.decode("utf-8", "replace"))
    if isinstance(body, Malformed) or not isinstance(body, dict):
        raise RemoteProtocolError(
            "The body of the request is not a JSON object.", code="bad_json", hint="Send JSON in UTF-8."
        )
    return body


def _text(members: Any, name: str) -> str | None:
    value = members.get(name) if isinstance(members, dict) else None
    return value if isinstance(value, str) else None
