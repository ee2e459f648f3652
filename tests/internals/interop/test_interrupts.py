"""Test which answers of the user decide on a call that a framework asked about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import Interrupt

from agui_reasoning import Conversation, Run, run_agent
from agui_reasoning.interop._client import answered_calls, approval, question
from agui_reasoning.parts import ToolCallPart

NAMED: dict[str, Any] = {"api": "openai-chat", "provider": "openai", "model": "gpt-5.6"}


def answered(asked: Interrupt, interrupt_id: str) -> list[tuple[str, bool]]:
    """The calls that are answered, and whether by a decision, if a call was asked about."""
    conversation = Conversation("thread-1")

    def agent(run: Run) -> Iterator[Any]:
        yield ToolCallPart("c1", "send", "{}")
        yield asked

    for event in run_agent(conversation.run_input("Send it."), agent, **NAMED):
        conversation.receive(event)
    answer = {"interruptId": asked.id, "status": "resolved", "payload": {}}
    run_input = conversation.run_input(resume=[answer])
    forged = run_input.model_dump(by_alias=True, exclude_none=True)
    forged["resume"][0]["interruptId"] = interrupt_id
    given = answered_calls(Run(forged, **NAMED, on_warning=lambda text: None))
    return [(call_id, one.is_decision) for call_id, one in given.items()]


@pytest.mark.parametrize(
    ("asked", "interrupt_id", "expected"),
    [
        (approval("c1", "send"), "c1", [("c1", True)]),
        (question("c1", "send"), "question:c1", [("c1", False)]),
        (approval("c1", "send"), "question:c1", []),
        (question("c1", "send"), "c1", [("c1", False)]),
    ],
)
def test_what_was_asked_says_what_an_answer_is(asked: Interrupt, interrupt_id: str, expected: Any) -> None:
    assert answered(asked, interrupt_id) == expected
