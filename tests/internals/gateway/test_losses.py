"""Test that the gateway's log says once per thread that a client did not return reasoning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from agui_reasoning import Conversation
from agui_reasoning.gateway import ReplayUpstream, create_app
from agui_reasoning.gateway._inspector import _THREADS, Losses
from agui_reasoning.run import Run

QUESTION = {"id": "u", "role": "user", "content": "Umbrella?"}
THOUGHT = {"id": "r", "role": "reasoning", "content": "SECRET"}


def body(thread: str, *messages: Any) -> dict[str, Any]:
    return {
        "threadId": thread,
        "runId": "r1",
        "messages": [QUESTION, *messages],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "did not come back" in record.getMessage()]


def test_a_loss_is_said_once_per_thread_without_content(caplog: pytest.LogCaptureFixture) -> None:
    with TestClient(create_app(), base_url="http://localhost") as client:
        for thread in ("t1", "t1", "t2"):
            assert client.post("/agent", json=body(thread, THOUGHT)).status_code == 200
    assert warnings(caplog) == [
        f"In thread {thread!r}, reasoning did not come back from the client as it was sent (1 no_value). "
        "This is said once per thread; the page Troubleshoot explains the reasons."
        for thread in ("t1", "t2")
    ]
    assert "SECRET" not in caplog.text


def test_a_client_that_returns_everything_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    conversation = Conversation("t1")
    with TestClient(create_app(), base_url="http://localhost") as client:
        for question in ("Umbrella?", "And tomorrow?"):
            for call in conversation.pending_calls:
                conversation.add_tool_result(call.id, "Rain.")
            given = conversation.run_input(question).model_dump(mode="json", by_alias=True, exclude_none=True)
            for line in client.post("/agent", json=given).text.splitlines():
                if line.startswith("data: "):
                    conversation.receive(json.loads(line.removeprefix("data: ")))
    assert warnings(caplog) == []


@pytest.mark.parametrize("script", ["anthropic-weather", "openai-weather", "chat-weather"])
def test_a_client_that_filters_reasoning_out_is_mentioned(
    caplog: pytest.LogCaptureFixture, script: str
) -> None:
    conversation = Conversation("t1")
    local = TestClient(
        create_app(ReplayUpstream(script)), base_url="http://localhost", client=("127.0.0.1", 50_000)
    )
    with local as client:
        for question in ("Umbrella?", "And tomorrow?", "And on Sunday?"):
            for call in conversation.pending_calls:
                conversation.add_tool_result(call.id, "Rain.")
            given = conversation.run_input(question).model_dump(mode="json", by_alias=True, exclude_none=True)
            given["messages"] = [one for one in given["messages"] if one["role"] != "reasoning"]
            for line in client.post("/agent", json=given).text.splitlines():
                if line.startswith("data: ") and "REASONING" not in line:
                    conversation.receive(json.loads(line.removeprefix("data: ")))
        threads = client.post("/_page/losses", json={}).json()["threads"]
    assert warnings(caplog) == [
        "In thread 't1', reasoning did not come back from the client as it was sent (1 not_returned). "
        "This is said once per thread; the page Troubleshoot explains the reasons."
    ]
    assert [(lost["reason"], lost["count"]) for lost in threads[0]["losses"]] == [("not_returned", 2)]


def test_the_inspector_shows_a_tenant_what_its_threads_lost() -> None:
    app = create_app(tenant=lambda request: request.headers["x-user"])
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50_000)) as client:
        for user, thread, messages in (("ada", "t1", [THOUGHT]), ("bob", "t2", [THOUGHT]), ("ada", "t3", [])):
            client.post("/agent", json=body(thread, *messages), headers={"x-user": user})
        answer = client.post("/_page/losses", json={}, headers={"x-user": "ada"})
    sentence = "the front end returned it without its value"
    losses = [{"reason": "no_value", "count": 1, "sentence": sentence}]
    assert answer.json() == {"threads": [{"thread": "t1", "losses": losses}]}


def test_a_thread_that_lost_nothing_in_its_newest_run_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    local = TestClient(create_app(), base_url="http://localhost", client=("127.0.0.1", 50_000))
    with local as client:
        for messages in ([THOUGHT], [], [THOUGHT], []):
            client.post("/agent", json=body("t1", *messages))
        assert client.post("/_page/losses", json={}).json() == {"threads": []}
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize(("client", "told"), [("127.0.0.1", ["losses"]), ("192.0.2.1", [])])
def test_only_a_page_on_this_machine_asks(client: str, told: list[str]) -> None:
    app = create_app(ReplayUpstream())
    with TestClient(app, base_url="http://localhost", client=(client, 50_000)) as page:
        offered = page.get("/_page/config.json").json()["inspector"]
    assert [*offered] == [*told, "check", "request"]


def test_it_remembers_a_limited_number_of_threads() -> None:
    said: list[str] = []
    losses = Losses(said.append)
    for number in (*range(_THREADS + 1), _THREADS, 0):
        losses._look(Run(body(f"t{number}", THOUGHT)))
    assert len(said) == _THREADS + 2
