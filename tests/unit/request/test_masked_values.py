"""Mask values on the way, as log filters and secret scanners do: what was changed is not sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_reasoning import build_request, restore
from agui_reasoning.deltas import OpaqueDelta, ReasoningDelta, ResponseStart, TextDelta, ToolCallDelta
from agui_reasoning.parts import Opaque, Origin, ReasoningPart, Segment
from tests.unit.request.test_keys import KEYS, messages_of, outcomes, reasoning_of

CLAUDE = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-6")
GEMINI = Origin("google", "gemini", "gemini-3-flash-preview")
SIGNATURE = "U0lHTkVEU0lHTkVE"
CALLED = (
    ResponseStart(CLAUDE),
    ReasoningDelta("It will rain."),
    OpaqueDelta(Opaque("anthropic.signature", SIGNATURE)),
    ToolCallDelta("toolu_1", "forecast", "{}"),
)
ON_TEXT_AND_CALL = (
    ResponseStart(GEMINI),
    TextDelta("Let me look.", key="a"),
    OpaqueDelta(Opaque("gemini.thought_signature", SIGNATURE, "base64", "text"), key="a"),
    ToolCallDelta("c", "forecast", "{}"),
    OpaqueDelta(Opaque("gemini.thought_signature", SIGNATURE, "base64", "tool_call:c"), key="c"),
)


def masked(messages: list[dict[str, Any]], by: str = "****") -> list[dict[str, Any]]:
    text = json.dumps(messages)
    assert SIGNATURE in text
    loaded: list[dict[str, Any]] = json.loads(text.replace(SIGNATURE, by))
    return loaded


@pytest.mark.parametrize("by", ["****", "[REDACTED]", SIGNATURE[:-1], SIGNATURE + "=", "\ud800"])
def test_a_masked_signature_is_dropped_and_the_thought_stays(by: str) -> None:
    history = restore(masked(messages_of(*CALLED), by))
    assert outcomes(history) == [("dropped", "value_modified")]
    [thought] = reasoning_of(history)
    assert (thought.text, thought.opaque) == ("It will rain.", ())


def test_a_masked_signature_is_not_sent() -> None:
    request = build_request(
        "anthropic-messages",
        masked(messages_of(*CALLED)),
        provider="anthropic",
        model="claude-sonnet-4-6",
        on_warning=lambda warning: None,
    )
    assert [block["type"] for block in request.body["messages"][1]["content"]] == ["tool_use"]
    assert [(entry.outcome, entry.reason) for entry in request.lost] == [("dropped", "value_modified")]
    assert "a value differs from the one that was sent" in request.explain()


def test_masked_values_of_texts_and_calls_are_dropped_each_for_itself() -> None:
    messages = messages_of(*ON_TEXT_AND_CALL)
    history = restore(masked(messages))
    assert [reason for _, reason in outcomes(history) if reason] == ["value_modified"] * 2
    assert all(not getattr(part, "opaque", ()) for turn in history.turns for part in turn.parts)


def test_values_that_were_not_masked_stay() -> None:
    other = Opaque("openai.encrypted_content", "T1RIRVI=")
    messages = messages_of(*CALLED[:3], OpaqueDelta(other), TextDelta("Yes."))
    [thought] = reasoning_of(restore(masked(messages)))
    assert thought.opaque == (other,)


def test_values_from_before_there_was_a_checksum_are_read() -> None:
    messages = messages_of(*CALLED)
    envelope = json.loads(messages[1]["encryptedValue"])
    [value] = envelope["units"][0]["part"]["opaque"]
    assert len(value.pop("check")) == 8
    messages[1]["encryptedValue"] = json.dumps(envelope, separators=(",", ":"))
    assert reasoning_of(restore(messages)) == [
        ReasoningPart(
            (Segment("text", 0, "It will rain."),), (Opaque("anthropic.signature", SIGNATURE),), origin=CLAUDE
        )
    ]


def test_encrypted_envelopes_need_no_checksum() -> None:
    messages = messages_of(*CALLED, keys=KEYS)
    from agui_reasoning.crypto import Binding

    [value] = [m["encryptedValue"] for m in messages if m["role"] == "reasoning"]
    assert b"check" not in KEYS.decrypt(value, Binding("thread"))
