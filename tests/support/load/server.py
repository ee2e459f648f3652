"""The ready-made gateway under uvicorn, which says at ``/level`` what its process has.

python -m tests.support.load.server '{"provider": "http://127.0.0.1:8001"}'     prints its address
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from agui_reasoning.crypto import KeyRing
from agui_reasoning.gateway import HTTPUpstream, create_app, listen, serve, url_of
from tests.support.load.answers import API, MODEL

_PAGE = os.sysconf("SC_PAGE_SIZE")


class _WithLevel:
    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/level":
            await JSONResponse(_level())(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _level() -> dict[str, Any]:
    peak = _peak()
    garbage = gc.collect()
    return {
        "rss": int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE,
        "peak": peak,
        "cpu": time.process_time(),
        "files": len(os.listdir("/proc/self/fd")),
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
        "objects": len(gc.get_objects()),
        "garbage": garbage,
    }


def _peak() -> int:
    """Return the most memory since this was asked last."""
    (line,) = (row for row in Path("/proc/self/status").read_text().splitlines() if row.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(line.split()[1]) * 1024


def _app(provider: str, *, hidden: bool = False, store: str | None = None) -> Any:
    upstream = HTTPUpstream(API, base_url=provider, model=MODEL, api_key="sk-of-nobody")
    options: dict[str, Any] = {"page": False}
    if hidden:
        options |= {"visibility": "hidden", "keys": KeyRing.generate()}
    if store is not None:
        from agui_reasoning.durable import Runs, SQLiteRuns

        options["runs"] = Runs(SQLiteRuns(Path(store)))
    return create_app(upstream, **options)


if __name__ == "__main__":
    listening = listen()
    application = _WithLevel(_app(**json.loads(sys.argv[1])))
    serve(application, listening, on_ready=lambda: print(url_of(listening), flush=True))
