"""Test that the gateway's log says once per thread that a client did not return reasoning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from agui_reasoning import Conversation
from agui_reasoning.gateway import create_app
from agui_reasoning.gateway._losses import _THREADS, Losses
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


def test_it_remembers_a_limited_number_of_threads() -> None:
    said: list[str] = []
    losses = Losses(said.append)
    for number in (*range(_THREADS + 1), _THREADS, 0):
        losses._tell(Run(body(f"t{number}", THOUGHT)))
    assert len(said) == _THREADS + 2
