"""Test what assertions learn from models of front ends, of which they make their own."""

from __future__ import annotations

import pytest

from agui_reasoning.deltas import FinishDelta, ReasoningDelta, ResponseStart, ToolCallDelta, ToolResultDelta
from agui_reasoning.parts import Origin
from agui_reasoning.testing import TanStack, _round_trip, assert_round_trip
from tests.unit.testing.test_assertions import INPUT, QUESTION, Json, emitted, later_run, thought


def test_a_loss_in_the_next_request_of_a_front_end_that_renames_messages_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Z.AI reads the reasoning of a tool loop only, which a message of the user ends."""

    class Talkative(TanStack):
        def messages(self) -> list[Json]:
            return [*super().messages(), QUESTION | {"id": "u2"}]

    target = {"api": "openai-chat", "provider": "zai", "model": "glm-5.2"}
    origin = Origin("zai", "openai-chat", "glm-5.2")
    call = [ToolCallDelta("call_1", "weather", "{}"), FinishDelta("tool_calls")]
    events = emitted([ResponseStart(origin), ReasoningDelta("Cold there?"), *call])
    assert_round_trip(INPUT, events, **target)
    monkeypatch.setattr(_round_trip, "TanStack", Talkative)
    with pytest.raises(AssertionError) as caught:
        assert_round_trip(INPUT, events, **target)
    assert str(caught.value).splitlines()[1:] == ["- TanStack: message 'id3': it was dropped (out_of_scope)"]


def test_the_messages_that_tanstack_names_itself_have_other_names_than_those_of_earlier_runs() -> None:
    call = [ToolCallDelta("toolu_1", "weather", "{}"), FinishDelta("tool_use")]
    other = [ToolCallDelta("toolu_2", "weather", "{}"), FinishDelta("tool_use")]
    earlier = [*thought("SIG-1"), *call, ToolResultDelta("toolu_1", "4C")]
    given, events = later_run(earlier, *thought("SIG-2"), *other)
    _, held = _round_trip._tanstack(_round_trip.Client(given, events, keys=None, tenant=""))
    names = [message["id"] for message in held]
    assert sorted(set(names)) == sorted(names)
