"""What load balancers ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.testclient import TestClient

from agui_reasoning.asgi import stop_responses
from agui_reasoning.crypto import KeyRing
from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.gateway import create_app

OK = (200, {"status": "ok"})


def nobody(request: Any) -> str:
    return ""


def asked(client: TestClient, path: str) -> tuple[int, Any]:
    answer = client.get(path)
    body = answer.json()
    return answer.status_code, body.get("error", {}).get("code") or body


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_process_answers_without_credentials(path: str, tmp_path: Path) -> None:
    runs = Runs(SQLiteRuns(tmp_path / "runs.db"))
    with TestClient(create_app(tenant=nobody, runs=runs, keys=KeyRing.generate(), page=False)) as client:
        assert asked(client, path) == OK
        assert client.get("/agent/capabilities").status_code == 401


def test_a_process_that_stops_lives_and_is_not_ready() -> None:
    app = create_app()

    async def stopping(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await stop_responses(0)
        await app(scope, receive, send)

    with TestClient(stopping) as client:
        assert asked(client, "/healthz") == OK
        assert asked(client, "/readyz") == (503, "shutdown")


def test_a_process_is_not_ready_while_its_key_service_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    down, asks = True, 0

    def fetch(kid: str) -> bytes:
        nonlocal asks
        asks += 1
        if down:
            raise ConnectionError
        return b"k" * 32

    with TestClient(create_app(keys=KeyRing(fetch, primary="k1"), visibility="hidden")) as client:
        for _ in range(20):
            assert asked(client, "/readyz") == (503, "key_unavailable")
        assert asks == 1
        down = False
        monkeypatch.setattr("agui_reasoning.gateway._serving._VALID_S", 0.0)
        assert asked(client, "/readyz") == OK


@pytest.mark.anyio
async def test_nobody_is_told_that_it_is_ready_before_that_is_known() -> None:
    asked_for, answer, asks = anyio.Event(), anyio.Event(), 0

    async def fetch(kid: str) -> bytes:
        nonlocal asks
        asks += 1
        asked_for.set()
        await answer.wait()
        raise ConnectionError

    statuses: list[int] = []
    app = create_app(keys=KeyRing(fetch, primary="k1"), visibility="hidden")
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

        async def ask() -> None:
            statuses.append((await client.get("/readyz")).status_code)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await asked_for.wait()
            for _ in range(20):
                group.start_soon(ask)
            assert (await client.get("/healthz")).status_code == 200
            answer.set()
    assert statuses == [503] * 21
    assert asks == 1


def test_a_process_is_not_ready_without_its_store(tmp_path: Path) -> None:
    runs = Runs(SQLiteRuns(tmp_path / "runs.db"))
    with TestClient(create_app(runs=runs)) as client:
        anyio.run(runs.aclose)
        status, code = asked(client, "/readyz")
    assert (status, code) == (503, "shutdown")
