"""The loop over pending calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from agui_reasoning import Conversation, Run
from agui_reasoning.aio import run_agent, tool_loop
from agui_reasoning.deltas import FinishDelta
from agui_reasoning.parts import TextPart, ToolCallPart

pytestmark = pytest.mark.anyio

ANSWERS: list[list[Any]] = [
    [ToolCallPart("c1", "wait", '{"s": 1}'), ToolCallPart("c2", "add", '{"a": 1, "b": 2}')],
    [ToolCallPart("c3", "wait", '{"s": 2}'), ToolCallPart("c4", "paint", "{}")],
    [TextPart("Done.")],
]


async def wait(s: int) -> str:
    return f"{s} s"


def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


async def test_own_calls_are_answered_and_others_end_the_run() -> None:
    answers = iter(ANSWERS)

    async def turn(run: Run) -> AsyncGenerator[Any, None]:
        for part in next(answers):
            yield part
        yield FinishDelta("stop")

    conversation = Conversation("t")
    agent = tool_loop(turn, {"wait": wait, "add": add})
    async for event in run_agent(conversation.run_input("Go."), agent):
        conversation.receive(event)
    told = {one.tool_call_id: one.content for one in conversation.messages if one.role == "tool"}
    assert told == {"c1": "1 s", "c2": '{"sum":3}', "c3": "2 s"}
    assert [call.id for call in conversation.pending_calls] == ["c4"]
    conversation.add_tool_result("c4", "Painted.")
    async for event in run_agent(conversation.run_input(), agent):
        conversation.receive(event)
    assert (conversation.status, conversation.pending_calls) == ("finished", [])
    assert conversation.messages[-1].content == "Done."
