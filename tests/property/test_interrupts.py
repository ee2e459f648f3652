"""Test the law *asking loses nothing*: a run that asks about its calls comes back as one that does not.

`History.interrupts` has what was asked, and the rest of the history is the same: reasoning that is shown,
hidden, encrypted or redacted, for every API and through what front ends do.
"""

from __future__ import annotations

from itertools import count, product
from typing import Any

import pytest
from ag_ui.core import Interrupt
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning import Emitter
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import unfold
from agui_reasoning.parts import Part, ReasoningPart, ToolCallPart
from agui_reasoning.request import History, restore
from tests.property.test_round_trip import bare, essential, has_envelope
from tests.support.effort import examples, thinned
from tests.support.frontends import FRONT_ENDS
from tests.support.strategies import turns
from tests.support.verifier import replay

KEYS = KeyRing.generate()
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "encrypted": {"keys": KEYS},
    "summary": {"keys": KEYS, "visibility": "summary"},
    "hidden": {"keys": KEYS, "visibility": "hidden"},
}
RETURNS = {"as it is": lambda messages: messages, **FRONT_ENDS}

calling = turns().filter(lambda parts: any(isinstance(part, ToolCallPart) for part in parts))
schemas = st.sampled_from([None, {"type": "object", "properties": {"approved": {"type": "boolean"}}}])


def asking(parts: list[Part], schema: Any) -> list[Interrupt]:
    """Ask about every call that waits."""
    answered = {getattr(part, "tool_call_id", None) for part in parts}
    calls = [part for part in parts if isinstance(part, ToolCallPart) and not part.server]
    return [
        Interrupt(id=f"ask {call.id}", reason="tool_call", tool_call_id=call.id, response_schema=schema)
        for call in calls
        if call.id not in answered and call.status == "complete"
    ]


def come_back(
    parts: list[Part], options: dict[str, Any], returns: str, interrupts: list[Interrupt]
) -> History:
    """Return what is restored of a response after which a run asks."""
    numbers = count()
    emitter = Emitter(
        thread_id="t", new_id=lambda: f"id{next(numbers)}", on_warning=lambda text: None, **options
    )
    events = [event for delta in unfold(parts) for event in emitter.receive(delta)]
    events += emitter.close(interrupts=interrupts)
    messages = [{"id": "user", "role": "user", "content": "Hi."}, *replay(events).messages]
    return restore(RETURNS[returns](messages), thread_id="t", keys=options.get("keys"))


@pytest.mark.parametrize(("how", "returns"), thinned(product(OPTIONS, RETURNS), 3))
@settings(max_examples=examples(60))
@given(calling, schemas)
def test_asking_loses_nothing(how: str, returns: str, parts: list[Part], schema: Any) -> None:
    interrupts, options = asking(parts, schema), OPTIONS[how]
    asked = come_back(parts, options, returns, interrupts)
    not_asked = come_back(parts, options, returns, [])
    if has_envelope(parts) or not interrupts:
        assert asked.items == not_asked.items
        assert asked.report == not_asked.report
    else:  # it has one now, so that more is known of it
        assert [bare(essential(turn.parts)) for turn in asked.turns] == [
            bare(essential(turn.parts)) for turn in not_asked.turns
        ]
    if returns != "assistant-ui" or any(isinstance(part, ReasoningPart) for part in essential(parts)):
        assert list(asked.interrupts) == interrupts  # it drops values on texts and calls
