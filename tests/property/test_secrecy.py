"""Test the laws *round trip* and *secrecy* with keys: everything comes back, no hidden text goes out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agui_reasoning import Emitter
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import unfold
from agui_reasoning.emitter import Visibility
from agui_reasoning.parts import Part, ReasoningPart, ToolCallPart, ToolResultPart
from agui_reasoning.request import restore
from tests.laws import law
from tests.property.test_round_trip import conversations, essential, has_envelope
from tests.support.effort import examples
from tests.support.frontends import FRONT_ENDS
from tests.support.verifier import plain, replay

KEYS = KeyRing({"k": bytes(32)})
VISIBILITIES: tuple[Visibility, ...] = ("full", "summary", "hidden")


def streams(conversation: list[list[Part]], visibility: Visibility) -> list[list[dict[str, Any]]]:
    """The events of some turns."""
    numbers = count()
    used: list[str] = []
    runs = []
    for parts in conversation:
        emitter = Emitter(
            new_id=lambda: f"id{next(numbers)}",
            on_warning=lambda message: None,
            used_call_ids=used,
            keys=KEYS,
            thread_id="thread",
            tenant="tenant",
            visibility=visibility,
        )
        events = [event for delta in unfold(parts) for event in emitter.receive(delta)] + emitter.close()
        used += [part.id for part in parts if isinstance(part, ToolCallPart)]
        runs.append(plain(events))
    return runs


def history(runs: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number, events in enumerate(runs):
        user = {"id": f"user{number}", "role": "user", "content": "Hi."}
        messages += [user, *replay(events).messages]
    return messages


@law("round trip")
@pytest.mark.parametrize("visibility", VISIBILITIES)
@settings(max_examples=examples(60))
@given(conversations)
def test_what_was_emitted_is_restored_in_every_visibility(
    visibility: Visibility, conversation: list[list[Part]]
) -> None:
    restored = restore(
        history(streams(conversation, visibility)), keys=KEYS, thread_id="thread", tenant="tenant"
    )
    turns = [list(turn.parts) for turn in restored.turns if has_envelope(list(turn.parts))]
    assert turns == [parts for parts in conversation if has_envelope(parts)]
    assert all(entry.outcome == "restored" for entry in restored.report)


def thoughts(turns: Iterable[Iterable[Part]]) -> list[Part]:
    """The reasoning of a conversation that says something."""
    return [part for parts in turns for part in essential(parts) if isinstance(part, ReasoningPart)]


@pytest.mark.parametrize("visibility", VISIBILITIES)
@pytest.mark.parametrize("front_end", ["copilotkit", "assistant-ui"])
@settings(max_examples=examples(30))
@given(conversations)
def test_front_ends_lose_no_reasoning_that_is_encrypted(
    front_end: str, visibility: Visibility, conversation: list[list[Part]]
) -> None:
    returned = FRONT_ENDS[front_end](history(streams(conversation, visibility)))
    restored = restore(returned, keys=KEYS, thread_id="thread", tenant="tenant")
    assert thoughts(turn.parts for turn in restored.turns) == thoughts(conversation)


@settings(max_examples=examples(30))
@given(conversations)
def test_assistant_ui_with_its_thinking_turned_off_loses_nothing(conversation: list[list[Part]]) -> None:
    returned = FRONT_ENDS["assistant-ui"](history(streams(conversation, "full")))
    for message in returned:
        if message["role"] == "reasoning":
            message["content"] = ""
    restored = restore(returned, keys=KEYS, thread_id="thread", tenant="tenant")
    assert thoughts(turn.parts for turn in restored.turns) == thoughts(conversation)


def hidden_texts(parts: list[Part], visibility: Visibility) -> list[str]:
    """What the client must not see."""
    hidden = []
    for part in parts:
        if isinstance(part, ReasoningPart):
            hidden += [s.text for s in part.segments if visibility == "hidden" or s.channel != "summary"]
        elif isinstance(part, ToolCallPart) and part.server:
            hidden.append(part.arguments)
        elif isinstance(part, ToolResultPart):
            hidden.append(part.content)
    return hidden


def marked(parts: list[Part], number: int) -> list[Part]:
    """The same parts, with text that stands out."""
    return [_marked(part, f"«{number}.{index}»" * 3) for index, part in enumerate(parts)]


def _marked(part: Part, mark: str) -> Part:
    if isinstance(part, ReasoningPart):
        return replace(
            part, segments=tuple(replace(s, text=f"«{s.channel}{mark}{s.text}") for s in part.segments)
        )
    if isinstance(part, ToolCallPart) and part.server:
        return replace(part, arguments=json.dumps({"query": mark}, ensure_ascii=False))
    if isinstance(part, ToolResultPart):
        return replace(part, content=mark)
    return part


@law("secrecy")
@pytest.mark.parametrize("visibility", ["summary", "hidden"])
@settings(max_examples=examples(60))
@given(conversations)
def test_no_hidden_text_is_in_any_event(visibility: Visibility, conversation: list[list[Part]]) -> None:
    conversation = [marked(parts, number) for number, parts in enumerate(conversation)]
    out = json.dumps(streams(conversation, visibility), ensure_ascii=False)
    for parts in conversation:
        for text in hidden_texts(parts, visibility):
            assert text.strip("\n")[:9] not in out


@law("authenticity")
@settings(max_examples=examples(40))
@given(st.sampled_from(["thread", "tenant", "key"]), conversations)
def test_nothing_is_restored_that_does_not_open(what: str, conversation: list[list[Part]]) -> None:
    returned = history(streams(conversation, "hidden"))
    wrong = KeyRing({"k": bytes(31) + b"\1"}) if what == "key" else KEYS
    restored = restore(
        returned,
        keys=wrong,
        thread_id="other" if what == "thread" else "thread",
        tenant="other" if what == "tenant" else "tenant",
    )
    parts = [part for turn in restored.turns for part in turn.parts]
    assert not [opaque for part in parts for opaque in getattr(part, "opaque", ())]
    assert all(part.status == "incomplete" for part in parts if isinstance(part, ReasoningPart))
    reasoning = [message["id"] for message in returned if message["role"] == "reasoning"]
    dropped = {entry.unit: entry.reason for entry in restored.report if entry.outcome == "dropped"}
    assert dict.fromkeys(reasoning, "undecryptable").items() <= dropped.items()
