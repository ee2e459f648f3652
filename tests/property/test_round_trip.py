"""Test the law *round trip*: emitted parts are restored, also after front ends changed the history."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, groupby
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agui_reasoning import Emitter
from agui_reasoning.deltas import Delta, FinishDelta, ToolResultDelta, unfold
from agui_reasoning.emitter.stages import Steps
from agui_reasoning.parts import NativePart, Opaque, Part, ReasoningPart, Segment, TextPart, ToolCallPart
from agui_reasoning.request import restore
from agui_reasoning.testing import AssistantUI, FrontEnd, TanStack
from tests.laws import law
from tests.support.effort import examples
from tests.support.frontends import FRONT_ENDS
from tests.support.strategies import delta_lists, turns, with_results
from tests.support.verifier import plain, replay


def history(conversation: list[list[Part]]) -> list[dict[str, Any]]:
    """The client's messages after some turns, each answered by the user."""
    numbers = count()
    messages: list[dict[str, Any]] = []
    used: list[str] = []
    for number, parts in enumerate(conversation):
        emitter = Emitter(
            new_id=lambda: f"id{next(numbers)}", on_warning=lambda message: None, used_call_ids=used
        )
        events = [event for delta in unfold(parts) for event in emitter.receive(delta)] + emitter.close()
        produced = replay(events).messages
        used += [call["id"] for message in produced for call in message.get("toolCalls", ())]
        messages += [{"id": f"user{number}", "role": "user", "content": "Hi."}, *produced]
    return messages


def has_envelope(parts: list[Part]) -> bool:
    """Whether the response has an envelope at all: one of nothing but text and calls has none."""
    vital = any(
        isinstance(part, ReasoningPart | NativePart) or getattr(part, "native", None) is not None
        for part in parts
    )
    return vital or any(getattr(part, "opaque", ()) for part in parts)


def bare(parts: list[Part]) -> tuple[str, list[tuple[str, str, str]]]:
    """What is left of a response without an envelope."""
    text = "".join(part.text for part in parts if isinstance(part, TextPart))
    return "".join(text.split()), [(p.id, p.name, p.arguments) for p in parts if isinstance(p, ToolCallPart)]


def distinct(conversation: list[list[Part]]) -> list[list[Part]]:
    """The same turns, with call ids that no two turns share."""
    return [
        [_renamed(part, number) for part in with_results(parts)] for number, parts in enumerate(conversation)
    ]


def _renamed(part: Part, number: int) -> Part:
    if isinstance(part, ToolCallPart):
        return replace(part, id=f"{part.id}-{number}")
    if hasattr(part, "tool_call_id"):
        return replace(part, tool_call_id=f"{part.tool_call_id}-{number}")
    return part


conversations = st.lists(turns(), min_size=1, max_size=3).map(distinct)


@law("round trip")
@settings(max_examples=examples(300))
@given(conversations)
def test_what_was_emitted_is_restored(conversation: list[list[Part]]) -> None:
    restored = restore(history(conversation)).turns
    expected = [parts for parts in conversation if parts and _visible(parts)]
    assert len(restored) == len(expected)
    for turn, parts in zip(restored, expected, strict=True):
        if has_envelope(parts):
            assert list(turn.parts) == parts
            assert turn.origin == parts[0].origin
        else:
            assert bare(list(turn.parts)) == bare(parts)


def _visible(parts: list[Part]) -> bool:
    return has_envelope(parts) or any(not isinstance(p, TextPart) or p.text.strip() for p in parts)


def essential(parts: Iterable[Part]) -> list[Part]:
    """The parts without reasoning that says no more than that the model did not think."""
    return [
        part
        for part in parts
        if not isinstance(part, ReasoningPart) or part.segments or part.opaque or part.item_id
    ]


def essentials(parts: list[Part]) -> tuple[list[str], list[Opaque], list[Any], list[str]]:
    """What a provider requires back of a turn, in order."""
    reasoning = [part for part in parts if isinstance(part, ReasoningPart)]
    return (
        [part.text for part in reasoning],
        [opaque for part in reasoning for opaque in part.opaque],
        [part.payload for part in parts if isinstance(part, NativePart)],
        [part.id for part in parts if isinstance(part, ToolCallPart)],
    )


@law("round trip")
@pytest.mark.parametrize("front_end", ["copilotkit", "assistant-ui"])
@settings(max_examples=examples(200))
@given(conversations)
def test_what_front_ends_do_loses_nothing_a_provider_requires(
    front_end: str, conversation: list[list[Part]]
) -> None:
    returned = FRONT_ENDS[front_end](history(conversation))
    restored = [essential(turn.parts) for turn in restore(returned).turns]
    conversation = [essential(parts) for parts in conversation]
    expected = [parts for parts in conversation if any(isinstance(p, ReasoningPart) for p in parts)]
    kept = [parts for parts in restored if any(isinstance(p, ReasoningPart) for p in parts)]
    assert [essentials(parts) for parts in kept] == [essentials(parts) for parts in expected]


@law("round trip")
@settings(max_examples=examples(200))
@given(conversations)
def test_merged_reasoning_never_comes_back_as_something_it_was_not(conversation: list[list[Part]]) -> None:
    restored = restore(FRONT_ENDS["tanstack"](history(conversation))).turns
    originals = [part for parts in conversation for part in parts if isinstance(part, ReasoningPart)]
    for turn in restored:
        for part in turn.parts:
            if isinstance(part, ReasoningPart) and part.status == "complete":
                assert replace(part, ext=None) in [replace(original, ext=None) for original in originals]


def in_one_stretch(part: ReasoningPart) -> ReasoningPart:
    """The same unit, if it had not resumed: it is shown in one message."""
    stretches = groupby(part.segments, key=lambda segment: (segment.channel, segment.index))
    return replace(part, segments=tuple(next(segments) for _, segments in stretches))


def with_one_text(parts: list[Part]) -> list[Part]:
    """The same response with at most one reasoning message that shows anything."""
    kept: list[Part] = []
    shown = False
    for part in parts:
        if isinstance(part, ReasoningPart) and part.text.strip():
            if shown and not (part.opaque or part.item_id):
                continue
            part, shown = (replace(part, segments=()) if shown else in_one_stretch(part)), True
        kept.append(part)
    return kept


@settings(max_examples=examples(200))
@given(conversations)
def test_merging_loses_nothing_of_answers_with_one_text_of_reasoning(conversation: list[list[Part]]) -> None:
    conversation = [with_one_text(parts) for parts in conversation]
    restored = restore(FRONT_ENDS["tanstack"](history(conversation))).turns
    expected = [parts for parts in conversation if any(isinstance(p, ReasoningPart) for p in parts)]
    kept = [turn for turn in restored if any(isinstance(p, ReasoningPart) for p in turn.parts)]
    assert [essentials(list(turn.parts)) for turn in kept] == [essentials(parts) for parts in expected]


def in_one_run(conversation: list[list[Part]]) -> list[dict[str, Any]]:
    """The events of a run that asks the model several times, and answers its calls itself."""
    numbers = count()
    emitter = Emitter(new_id=lambda: f"id{next(numbers)}", on_warning=lambda message: None, stages=[Steps()])
    events: list[Any] = []
    for parts in conversation:
        for item in [*unfold(parts), FinishDelta("tool_use")]:
            events += emitter.receive(item)
        for part in parts:
            if isinstance(part, ToolCallPart) and not part.server:
                events += emitter.receive(ToolResultDelta(part.id, "ok"))
    return plain(events + emitter.close())


THOUGHT = ReasoningPart((Segment("text", 0, "Hm."),))
CALL = ToolCallPart("call", "get", "{}")
OTHER_CALL = ToolCallPart("call-2", "get", "{}")
CALLED = [CALL, ReasoningPart(item_id="rs_1")]


@pytest.mark.parametrize("front_end", [AssistantUI, TanStack])
@settings(max_examples=examples(200))
@example([CALLED, [], [THOUGHT]])  # TanStack puts the thought before the call
@example([[CALL, THOUGHT], [OTHER_CALL], [THOUGHT]])  # front ends merge the calls into one message
@given(conversations)
def test_responses_of_one_run_with_reasoning_come_back_whole(
    front_end: type[FrontEnd], conversation: list[list[Part]]
) -> None:
    client = front_end()
    for event in in_one_run(conversation):
        client.receive(event)
    restored = [essential(turn.parts) for turn in restore(client.messages()).turns]
    conversation = [essential(parts) for parts in conversation]
    expected = [parts for parts in conversation if any(isinstance(p, ReasoningPart) for p in parts)]
    assert [parts for parts in restored if any(isinstance(p, ReasoningPart) for p in parts)] == expected


@given(delta_lists)
def test_whatever_was_emitted_restoring_never_fails(deltas: list[Delta]) -> None:
    emitter = Emitter(on_warning=lambda message: None)
    events = [event for delta in deltas for event in emitter.receive(delta)] + emitter.close()
    messages = replay(events).messages
    for transform in (lambda given: given, *FRONT_ENDS.values()):
        restore(transform(messages))
