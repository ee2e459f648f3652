"""Whether a process lives, and whether it can take runs: ``/healthz`` and ``/readyz``."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agui_reasoning._driver import fetch_keys
from agui_reasoning.asgi import server_stops
from agui_reasoning.errors import AGUIReasoningError

if TYPE_CHECKING:  # imported with the keys and the runs
    from agui_reasoning.crypto import KeyRing
    from agui_reasoning.durable import Runs

_VALID_S: Final = 1.0
"""How long an answer holds, in seconds: anyone may ask, and that must not drive the key service."""


def health_routes(keys: KeyRing | None, runs: Runs | None) -> list[Route]:
    """Return the routes, which need no credentials."""
    readiness = _Readiness(keys, runs)
    return [
        Route("/healthz", _alive, methods=["GET"]),
        Route("/readyz", readiness.answer, methods=["GET"]),
    ]


async def _alive(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


class _Readiness:
    """Whether runs can start: the server does not stop, and keys and stored runs can be reached."""

    def __init__(self, keys: KeyRing | None, runs: Runs | None) -> None:
        self._keys, self._runs = keys, runs
        self._checked_at = -_VALID_S
        self._failed: AGUIReasoningError | None = None

    async def answer(self, request: Request) -> Response:
        """Answer with status 200 or 503."""
        if server_stops():
            return _unready("shutdown", "The server stops.")
        if monotonic() - self._checked_at >= _VALID_S:
            self._checked_at = monotonic()
            self._failed = await self._check()
        if self._failed is not None:
            return _unready(self._failed.code, str(self._failed))
        return JSONResponse({"status": "ok"})

    async def _check(self) -> AGUIReasoningError | None:
        try:
            if self._keys is not None:
                await fetch_keys(self._keys)
            if self._runs is not None:
                await self._runs._check_store()
        except AGUIReasoningError as error:
            return error.with_traceback(None)
        return None


def _unready(code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, 503)
