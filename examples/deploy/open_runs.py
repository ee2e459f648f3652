"""Limits the runs that a user has open: `app.add_middleware(OpenRuns, limit=4)`."""

from collections import Counter

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class OpenRuns:
    """Allows each user so many open requests at the same time, in each process."""

    def __init__(self, app: ASGIApp, limit: int = 4) -> None:
        self.app, self.limit = app, limit
        self.open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = Request(scope).headers.get("authorization", "") if scope["type"] == "http" else ""
        if not user:
            await self.app(scope, receive, send)
        elif self.open[user] >= self.limit:
            await JSONResponse({"error": {"code": "too_many_runs"}}, 429)(scope, receive, send)
        else:
            self.open[user] += 1
            try:
                await self.app(scope, receive, send)
            finally:
                self.open[user] -= 1
                self.open += Counter()  # forgets who has none
