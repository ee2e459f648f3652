"""The ASGI application: ``POST`` to the endpoint is a run, ``GET /`` is a page that says how to call it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.driver import OnError, now_in_ms
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.gateway.page import render
from agui_reasoning.gateway.replay import ReplayUpstream
from agui_reasoning.gateway.upstream import Upstream
from agui_reasoning.run import Run
from agui_reasoning.strict_json import Malformed, load

__all__ = ["MAX_BODY_BYTES", "create_app"]

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Default limit of a request's body: a history of a million words and its encrypted values fit."""

_log = logging.getLogger("agui_reasoning")
_STATUS = {"bad_input": 422, "body_too_large": 413}
_NAMES = {404: "not_found", 405: "method_not_allowed"}


def create_app(
    upstream: Upstream | None = None,
    *,
    path: str = "/agent",
    keep_alive_s: float = 15.0,
    on_error: OnError | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    new_id: Callable[[], str] | None = None,
) -> Starlette:
    """Make the application of a gateway.

    Args:
        upstream: Who answers; default is `ReplayUpstream`.
        path: Where the endpoint is.
        keep_alive_s: See `agui_reasoning.asgi.AGUIResponse`.
        on_error: See `agui_reasoning.aio.run_agent`.
        max_body_bytes: The largest body of a request that is read.
        new_id: Makes the ids of messages; default is a random UUID.
    """
    chosen = upstream or ReplayUpstream()
    endpoint = _Endpoint(chosen, keep_alive_s, on_error, max_body_bytes, new_id)
    return Starlette(
        routes=[
            Route(path, endpoint.answer, methods=["POST"], name="agent"),
            Route("/", endpoint.show_page, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _refuse_request},
    )


@dataclass(frozen=True, slots=True)
class _Endpoint:
    upstream: Upstream
    keep_alive_s: float
    on_error: OnError | None
    max_body_bytes: int
    new_id: Callable[[], str] | None

    async def answer(self, request: Request) -> Response:
        try:
            run = self._run(await _read_json(request, self.max_body_bytes))
        except RemoteProtocolError as error:
            return _refusal(_STATUS.get(error.code, 400), error.code, str(error))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        events = run_agent(run, self.upstream.agent, on_error=self.on_error)
        return AGUIResponse(events, keep_alive_s=self.keep_alive_s)

    async def show_page(self, request: Request) -> Response:
        return HTMLResponse(render(str(request.url_for("agent")), self.upstream.name))

    def _run(self, run_input: Any) -> Run:
        return Run(run_input, new_id=self.new_id, now_ms=now_in_ms, on_warning=_log.warning)


async def _read_json(request: Request, limit: int) -> Any:
    """The body as JSON, whatever its content type says: browsers and curl do not always name it."""
    try:
        value = load((await _read_body(request, limit)).decode())
    except UnicodeDecodeError:
        value = Malformed(None)
    if isinstance(value, Malformed):
        raise RemoteProtocolError(
            "The body of the request is not JSON.", code="bad_json", hint="Send a RunAgentInput in UTF-8."
        )
    return value


async def _read_body(request: Request, limit: int) -> bytearray:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limit:
            raise RemoteProtocolError(
                f"The body of the request is larger than {limit} bytes.",
                code="body_too_large",
                hint="Send fewer messages, or raise `max_body_bytes`.",
            )
    return body


async def _refuse_request(request: Request, error: Exception) -> Response:
    """What the router refuses: an unknown path, another method."""
    assert isinstance(error, HTTPException)  # it is registered for nothing else
    response = _refusal(error.status_code, _NAMES.get(error.status_code, "http_error"), f"{error.detail}.")
    response.headers.update(error.headers or {})
    return response


def _refusal(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status)
