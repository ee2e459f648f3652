"""The routes that CopilotKit's browser package asks for, on any application."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from starlette.requests import Request
from starlette.testclient import TestClient

from agui_reasoning import ConfigurationError, Run, reduce_events
from agui_reasoning.copilotkit import routes
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import FinishDelta, ReasoningDelta, TextDelta
from agui_reasoning.durable import Runs
from agui_reasoning.wire import read_events
from tests.unit.durable.stores import sqlite_runs

PATH = "/api/copilotkit"
INPUT: dict[str, Any] = {
    "threadId": "thread-1",
    "runId": "run-1",
    "messages": [{"id": "u", "role": "user", "content": "Umbrella?"}],
    "tools": [],
    "context": [],
    "state": {"seen": 1},
    "forwardedProps": {},
}


async def agent(run: Run) -> AsyncIterator[Any]:
    yield ReasoningDelta("Clouds.", key="0")
    yield TextDelta("Yes.", key="1")
    yield FinishDelta("stop")


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with sqlite_runs(tmp_path) as made:
        yield made


@pytest.fixture
def client(runs: Runs) -> Iterator[TestClient]:
    app = FastAPI()
    app.router.routes.extend(routes({"default": agent}, runs=runs, single_tenant=True, api="openai-chat"))
    with TestClient(app) as client:
        yield client


def single(method: str, body: Any = None, **params: str) -> dict[str, Any]:
    return {"method": method, "params": params, **({} if body is None else {"body": body})}


def test_the_runtime_describes_itself_in_both_forms(client: TestClient) -> None:
    info = client.get(f"{PATH}/info").json()
    assert info["agents"]["default"]["name"] == "default"
    assert info["mode"] == "sse"
    assert client.post(PATH, json=single("info")).json() == info


@pytest.mark.parametrize("form", ["routes", "single"])
def test_a_thread_is_run_joined_and_stopped(client: TestClient, form: str) -> None:
    def ask(method: str) -> Any:
        if form == "single":
            return client.post(
                PATH, json=single(f"agent/{method}", INPUT, agentId="default", threadId="thread-1")
            )
        end = "stop/thread-1" if method == "stop" else method
        return client.post(f"{PATH}/agent/default/{end}", json=INPUT)

    nothing = ask("connect")
    assert (nothing.status_code, nothing.content) == (200, b"")
    assert nothing.headers["content-type"].startswith("text/event-stream")
    told = read_events(ask("run").content)
    joined = read_events(ask("connect").content)
    assert [event["type"] for event in joined[:3]] == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
    assert reduce_events(joined)[1:] == reduce_events(told)
    assert ask("stop").json() == {"stopped": False, "message": "No run of this thread is running."}


@pytest.mark.anyio
@pytest.mark.parametrize("declared", [{}, {"protocolVersion": "1.0"}], ids=["0.x", "1.0"])
async def test_a_stop_is_no_error_to_show(runs: Runs, declared: dict[str, str]) -> None:
    """CopilotKit shows each RUN_ERROR to the user, but not those with the code ``abort``."""

    async def endless(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta("Clouds.", key="0")
        await anyio.sleep_forever()

    app = FastAPI()
    app.router.routes.extend(routes({"default": endless}, runs=runs, single_tenant=True, api="openai-chat"))
    transport = ASGITransport(app=app)
    async with AsyncClient(transport=transport, base_url="http://test") as client:
        async with anyio.create_task_group() as tasks:
            told: list[bytes] = []

            async def ask() -> None:
                asked = await client.post(f"{PATH}/agent/default/run", json=INPUT | declared)
                told.append(asked.content)

            tasks.start_soon(ask)
            while not await runs.stop("thread-1"):
                await anyio.sleep(0.01)
        joined = (await client.post(f"{PATH}/agent/default/connect", json=INPUT)).content
    if declared:
        assert read_events(told[0])[-1]["outcome"] == {"type": "cancelled"}
    for frames in [joined] if declared else [told[0], joined]:
        last = read_events(frames)[-1]
        assert (last["type"], last["code"]) == ("RUN_ERROR", "abort")


def test_stored_threads_are_listed_and_shown(client: TestClient) -> None:
    client.post(f"{PATH}/agent/default/run", json=INPUT)
    [thread] = client.get(f"{PATH}/threads?agentId=default").json()["threads"]
    assert (thread["id"], thread["agentId"]) == ("thread-1", "default")
    messages = client.get(f"{PATH}/threads/thread-1/messages").json()["messages"]
    assert [message["role"] for message in messages] == ["user", "reasoning", "assistant"]
    assert client.get(f"{PATH}/threads/thread-1/state").json() == {"state": {"seen": 1}}


def test_lone_surrogates_of_one_thread_hide_no_other(client: TestClient) -> None:
    told = INPUT | {"threadId": "t-\ud800", "state": {"seen": "\ud800"}}
    content, headers = json.dumps(told), {"content-type": "application/json"}
    for given in (content, json.dumps(INPUT)):
        assert client.post(f"{PATH}/agent/default/run", content=given, headers=headers).status_code == 200
    listed = client.get(f"{PATH}/threads").json()["threads"]
    assert {thread["id"] for thread in listed} == {"t-\ud800", "thread-1"}


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("agent/other/run", INPUT, 404, "unknown_agent"),
        ("agent/default/run", {"threadId": 1}, 400, "bad_input"),
        ("agent/default/run", [], 400, "bad_json"),
        ("", {"method": "agent/delete"}, 400, "bad_input"),
        ("", single("agent/run", INPUT, agentId="other"), 404, "unknown_agent"),
    ],
)
def test_errors_have_the_form_of_the_runtime(
    client: TestClient, path: str, body: Any, status: int, code: str
) -> None:
    refused = client.post(f"{PATH}/{path}".rstrip("/"), json=body)
    assert (refused.status_code, refused.json()["error"]) == (status, code)
    assert refused.json()["message"]


def test_forms_of_other_pages_start_nothing(client: TestClient) -> None:
    refused = client.post(f"{PATH}/agent/default/run", content="{}", headers={"content-type": "text/plain"})
    assert refused.status_code == 415


def test_strangers_are_refused_without_tenants(runs: Runs) -> None:
    """The test client is no loopback address."""
    app = FastAPI()
    app.router.routes.extend(routes({"default": agent}, runs=runs))
    with TestClient(app) as client:
        for answer in (client.get(f"{PATH}/info"), client.post(PATH, json=single("info"))):
            assert (answer.status_code, answer.json()["error"]) == (403, "not_local")


def test_threads_belong_to_tenants_and_hide_what_they_shall(tmp_path: Path) -> None:
    keys = KeyRing.generate("k1")

    def tenant(request: Request) -> str:
        return request.headers.get("x-user", "")

    app = FastAPI()
    options: Any = {"visibility": "hidden", "keys": keys, "api": "openai-chat", "provider": "deepseek"}
    with sqlite_runs(tmp_path, keys) as runs, TestClient(app) as client:
        app.router.routes.extend(routes({"default": agent}, runs=runs, tenant=tenant, **options))
        ada, bob = {"x-user": "ada"}, {"x-user": "bob"}
        told = client.post(f"{PATH}/agent/default/run", json=INPUT, headers=ada).text
        assert "Clouds" not in told
        assert "encryptedValue" in told
        assert "encryptedValue" in client.post(f"{PATH}/agent/default/connect", json=INPUT, headers=ada).text
        assert client.post(f"{PATH}/agent/default/connect", json=INPUT, headers=bob).content == b""
        assert client.get(f"{PATH}/threads", headers=bob).json()["threads"] == []
        assert client.get(f"{PATH}/threads/thread-1/messages", headers=bob).status_code == 404
        assert client.get(f"{PATH}/info").status_code == 401
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Clouds" not in raw


def test_a_runtime_without_agents_is_an_error(runs: Runs) -> None:
    with pytest.raises(ConfigurationError) as caught:
        routes({}, runs=runs)
    assert caught.value.code == "no_agent"
