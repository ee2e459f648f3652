"""Conversations as messages of the OpenHands SDK."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import Run
from agui_reasoning.interop.openhands import message_fields
from agui_reasoning.parts import Opaque, Part, ReasoningPart, Segment, TextPart, ToolCallPart, ToolResultPart
from tests.unit.interop.test_litellm import ASKED, SEEN, run_of

CALL = ToolCallPart("call_1", "get_weather", '{"city":"Oslo"}')
FUNCTION = {"id": "call_1", "name": "get_weather", "arguments": '{"city":"Oslo"}'}
RESULT = {
    "role": "tool",
    "content": [{"type": "text", "text": "4"}],
    "tool_call_id": "call_1",
    "name": "get_weather",
}


def said(*parts: Part, told: list[str] | None = None, **options: Any) -> Run:
    run = run_of(ASKED, api="litellm", told=told, **options)
    for part in (*parts, CALL, ToolResultPart("call_1", "4")):
        run.receive(part)
    return run


def thought(text: str, kind: str, value: str, item_id: str | None = None) -> ReasoningPart:
    return ReasoningPart((Segment("summary", 0, text),), (Opaque(kind, value),), item_id)


def test_blocks_go_back_with_the_call() -> None:
    run = said(thought("Hm.", "anthropic.signature", "EqQB"), TextPart("I look."))
    assert message_fields(run, "Be brief.") == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "I look."}],
            "tool_calls": [{**FUNCTION, "origin": "completion"}],
            "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}],
        },
        RESULT,
    ]


@pytest.mark.parametrize("model", ["openai/gpt-5.6", "openai/responses/gpt-5.6"])
def test_the_last_item_goes_back_and_the_loss_of_others_is_told(model: str) -> None:
    told: list[str] = []
    items = [thought(f"{n}.", "openai.encrypted_content", f"gAAAA{n}", f"rs_{n}") for n in range(2)]
    made = message_fields(said(*items, told=told, provider="openai", model=model))
    assert made[1] == {
        "role": "assistant",
        "content": [],
        "tool_calls": [{**FUNCTION, "origin": "responses"}],
        "responses_reasoning_item": {"id": "rs_1", "summary": ["1."], "encrypted_content": "gAAAA1"},
    }
    assert told == ["An OpenHands message holds one reasoning item; those before the last are left out."]


def test_a_string_goes_back_where_the_upstream_takes_it() -> None:
    field = ReasoningPart((Segment("text", 0, "Hm."),), ext={"field": "reasoning_content"})
    made = message_fields(said(field, provider="deepseek", model="deepseek/deepseek-v4-pro"))
    assert made[1]["reasoning_content"] == "Hm."


def test_a_picture_is_an_image_of_the_sdk() -> None:
    (made,) = message_fields(run_of(SEEN))
    assert made["content"][1] == {"type": "image", "image_urls": ["data:image/png;base64,AA=="]}
