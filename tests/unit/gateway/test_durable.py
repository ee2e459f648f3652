"""Runs of a gateway that outlive their connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from agui_reasoning import Conversation, TransportError
from agui_reasoning.client import AgentClient
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import FinishDelta, ReasoningDelta, TextDelta
from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.gateway import ReplayUpstream, create_app
from tests.support.replay_server import local_server

INPUT: dict[str, Any] = {
    "threadId": "thread-1",
    "runId": "run-1",
    "messages": [{"id": "u", "role": "user", "content": "Umbrella?"}],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Slow(ReplayUpstream):
    """Thinks for a while."""

    async def agent(self, run: Any) -> AsyncIterator[Any]:
        yield ReasoningDelta("Clouds, ", key="0")
        for _ in range(10):
            await anyio.sleep(0.05)
            yield ReasoningDelta("hm, ", key="0")
        yield TextDelta("Yes.", key="1")
        yield FinishDelta("end_turn")


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(SQLiteRuns(tmp_path / "runs.db"))


@pytest.mark.anyio
async def test_a_client_that_was_cut_goes_on(runs: Runs) -> None:
    with local_server(create_app(Slow(), runs=runs)) as url:
        cut, whole = Conversation("thread-1"), Conversation("thread-1")
        async with AgentClient(f"{url}/agent") as client:
            with pytest.raises(TransportError) as caught:
                [event async for event in client.connect(cut)]
            assert (caught.value.status_code, caught.value.error_code) == (404, "unknown_thread")
            async with aclosing(client.run(cut, "Umbrella?")) as events:
                async for event in events:
                    if event.type == "REASONING_MESSAGE_CONTENT":
                        break
            assert cut.status == "truncated"
            kinds = [event.type.value async for event in client.connect(cut)]
            assert kinds[:2] == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]
            [_ async for _ in client.connect(whole)]
        assert cut.messages == whole.messages
        shown = ["Umbrella?", "Clouds, " + "hm, " * 10, "Yes."]
        assert [message.content for message in cut.messages] == shown
        assert (cut.status, whole.status) == ("finished", "finished")


@pytest.mark.anyio
async def test_a_second_run_of_a_thread_is_refused(runs: Runs) -> None:
    with local_server(create_app(Slow(), runs=runs)) as url:
        async with (
            AgentClient(f"{url}/agent") as client,
            aclosing(client.run(Conversation("thread-1"), "Umbrella?")) as events,
        ):
            await anext(events)
            with pytest.raises(TransportError) as caught:
                [_ async for _ in client.run(Conversation("thread-1"), "And?")]
        assert (caught.value.status_code, caught.value.error_code) == (409, "thread_running")


@pytest.mark.anyio
async def test_a_run_is_stopped_by_anyone_of_its_tenant(runs: Runs) -> None:
    import httpx2

    with local_server(create_app(Slow(), runs=runs)) as url:
        conversation = Conversation("thread-1")
        async with AgentClient(f"{url}/agent") as client, httpx2.AsyncClient() as http:
            stream = client.run(conversation, "Umbrella?")
            await anext(stream)
            answer = await http.post(f"{url}/agent/stop", json={"threadId": "thread-1"})
            assert answer.json() == {"stopped": True}
            [_ async for _ in stream]
        assert conversation.status == "cancelled"


def test_the_gateway_says_that_runs_can_be_joined(runs: Runs) -> None:
    with TestClient(create_app(runs=runs)) as client:
        assert client.get("/agent/capabilities").json()["transport"] == {"streaming": True, "resumable": True}
    with TestClient(create_app()) as client:
        assert client.post("/agent/connect", json=INPUT).status_code == 404


@pytest.mark.parametrize("path", ["connect", "stop"])
def test_strangers_join_and_stop_nothing(runs: Runs, path: str) -> None:
    """The test client is no loopback address."""
    with TestClient(create_app(runs=runs)) as client:
        refused = client.post(f"/agent/{path}", json=INPUT)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_local")


def test_threads_belong_to_tenants(runs: Runs) -> None:
    def tenant(request: Request) -> str:
        return request.headers.get("x-user", "")

    with TestClient(create_app(runs=runs, tenant=tenant)) as client:
        ada, bob = {"x-user": "ada"}, {"x-user": "bob"}
        assert client.post("/agent", json=INPUT, headers=ada).status_code == 200
        assert client.post("/agent/connect", json=INPUT, headers=ada).status_code == 200
        assert client.post("/agent/connect", json=INPUT, headers=bob).status_code == 404
        assert client.post("/agent/connect", json=INPUT).status_code == 401
        assert client.post("/agent/stop", json=INPUT, headers=bob).json() == {"stopped": False}


def test_a_gateway_of_one_tenant_says_so(runs: Runs) -> None:
    with TestClient(create_app(runs=runs, single_tenant=True)) as client:
        assert client.post("/agent", json=INPUT).status_code == 200
        assert client.post("/agent/connect", json=INPUT).status_code == 200
        assert client.post("/agent/connect", json={"thread": 1}).json()["error"]["code"] == "bad_input"


@pytest.mark.anyio
async def test_a_server_that_restarts_keeps_the_threads(tmp_path: Path) -> None:
    keys, path = KeyRing.generate("k1"), tmp_path / "runs.db"
    conversation, again = Conversation("thread-1"), Conversation("thread-1")
    for _ in range(2):
        runs = Runs(SQLiteRuns(path), keys=keys)
        with local_server(create_app(Slow(), keys=keys, runs=runs)) as url:
            async with AgentClient(f"{url}/agent") as client:
                stream = (
                    client.connect(again) if conversation.messages else client.run(conversation, "Umbrella?")
                )
                [_ async for _ in stream]
    assert again.messages == conversation.messages
