"""Test stages by whole event lists."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from agui_reasoning import ConfigurationError, Emitter
from agui_reasoning.deltas import CloseDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from tests.support.verifier import plain


def emit(*items: Any, stages: list[Any], **options: Any) -> list[dict[str, Any]]:
    numbers = count()
    emitter = Emitter(new_id=lambda: f"id{next(numbers)}", stages=stages, **options)
    return plain([event for item in items for event in emitter.receive(item)] + emitter.close())


def bare(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events without hints and values."""
    return [
        {name: value for name, value in event.items() if name not in ("metadata", "encryptedValue")}
        for event in events
    ]


ITEMS = [
    ReasoningDelta("r"),
    TextDelta("t1"),
    TextDelta("t2"),
    ToolCallDelta("c", "f", "{"),
    ToolCallDelta("c", "", "}"),
]


def test_chunks_say_the_same_in_the_shorthand() -> None:
    assert bare(emit(*ITEMS, stages=[Chunks()]))[:6] == [
        {"type": "REASONING_START", "messageId": "id2"},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "id3"},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "id3", "delta": "r"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "id3"},
        {"type": "REASONING_END", "messageId": "id2"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "id1", "role": "assistant"},
    ]
    assert bare(emit(*ITEMS, stages=[Chunks()]))[6:11] == [
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "id1", "delta": "t1"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "id1", "delta": "t2"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "id1"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "delta": "{"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "delta": "}"},
    ]


def test_the_duration_survives_the_shorthand() -> None:
    ticks = count(0, 5)
    events = emit(ReasoningDelta("r"), stages=[Chunks()], now_ms=ticks.__next__)
    last = [event for event in events if event["type"] == "REASONING_MESSAGE_CHUNK"][-1]
    assert last["metadata"]["agui-reasoning"]["durationMs"] == 5


def test_coalescing_joins_deltas_of_one_entity_until_something_else_comes() -> None:
    deltas = [event for event in emit(*ITEMS, stages=[Coalesce(100)]) if "delta" in event]
    assert [(event["type"], event["delta"]) for event in deltas] == [
        ("REASONING_MESSAGE_CONTENT", "r"),
        ("TEXT_MESSAGE_CONTENT", "t1t2"),
        ("TOOL_CALL_ARGS", "{}"),
    ]


def test_coalescing_lets_go_at_its_limit() -> None:
    events = emit(*(TextDelta("ab") for _ in range(5)), stages=[Coalesce(4)])
    assert [event["delta"] for event in events if "delta" in event] == ["abab", "abab", "ab"]


def test_coalescing_lets_go_of_what_is_old() -> None:
    now = iter([0, 30, 60, 100, 140, 500, 1000]).__next__
    ticks = [TextDelta(text) for text in "abcdef"]
    stage = Coalesce(100, ms=50)
    emitter = Emitter(stages=[stage], now_ms=lambda: 0)
    stage.use_clock(now)
    events = plain([event for item in ticks for event in emitter.receive(item)] + emitter.close())
    assert [event["delta"] for event in events if "delta" in event] == ["abc", "def"]


def test_an_age_needs_a_clock() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Emitter(stages=[Coalesce(ms=50)])
    assert caught.value.code == "no_clock"


def test_coalescing_keeps_two_open_messages_apart() -> None:
    items = [ReasoningDelta(text, key=key) for text, key in (("a", "0"), ("b", "1"), ("c", "1"), ("d", "0"))]
    events = emit(*items, stages=[Coalesce(100)])
    assert [event["delta"] for event in events if "delta" in event] == ["a", "bc", "d"]


@pytest.mark.parametrize("chars", [0, -1])
def test_a_limit_below_one_is_refused(chars: int) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Coalesce(chars)
    assert caught.value.code == "bad_limit"
    with pytest.raises(ConfigurationError, match="`ms`"):
        Coalesce(ms=chars)


def test_steps_are_named_by_their_message() -> None:
    assert bare(emit(ReasoningDelta("r"), stages=[Steps()]))[1:5] == [
        {"type": "STEP_STARTED", "stepName": "id3"},
        {"type": "REASONING_MESSAGE_START", "messageId": "id3", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "id3", "delta": "r"},
        {"type": "REASONING_MESSAGE_END", "messageId": "id3"},
    ]


def test_a_step_starts_again_for_reasoning_that_continues_and_for_a_value_of_another_message() -> None:
    items = [
        ReasoningDelta("a", key="1"),
        ReasoningDelta("b", key="2"),
        ReasoningDelta("c", key="1"),
        CloseDelta(key="2"),
        CloseDelta(key="1"),
    ]
    events = bare(emit(*items, stages=[Steps()]))
    named = [e.get("stepName") or e.get("entityId") or e.get("messageId") for e in events]
    kinds = [event["type"].removeprefix("REASONING_") for event in events]
    one, two = "id3", "id4"
    assert list(zip(kinds, named, strict=True))[1:-1] == [
        *(("STEP_STARTED", one), ("MESSAGE_START", one), ("MESSAGE_CONTENT", one), ("STEP_FINISHED", one)),
        *(("STEP_STARTED", two), ("MESSAGE_START", two), ("MESSAGE_CONTENT", two), ("STEP_FINISHED", two)),
        *(("STEP_STARTED", one), ("MESSAGE_CONTENT", one)),
        *(("MESSAGE_END", two), ("STEP_FINISHED", one), ("STEP_STARTED", two)),
        *(("ENCRYPTED_VALUE", two), ("STEP_FINISHED", two)),
        *(("MESSAGE_END", one), ("STEP_STARTED", one), ("ENCRYPTED_VALUE", one), ("STEP_FINISHED", one)),
    ]


def test_what_stages_hold_back_goes_out_at_the_end() -> None:
    events = emit(TextDelta("a"), stages=[Coalesce(100), Chunks()])
    assert [event.get("delta") for event in events] == [None, "a"]


def test_a_chunk_of_a_call_that_was_interrupted_names_its_tool_again() -> None:
    items = [ToolCallDelta("a", "f", "1"), ToolCallDelta("b", "g", "2"), ToolCallDelta("a", "", "3")]
    chunks = [e for e in bare(emit(*items, stages=[Chunks()])) if e["type"] == "TOOL_CALL_CHUNK"]
    assert [(c["toolCallId"], c.get("toolCallName"), c.get("delta")) for c in chunks] == [
        ("a", "f", None),
        ("a", None, "1"),
        ("b", "g", None),
        ("b", None, "2"),
        ("a", "f", "3"),
    ]
