"""Test the law *pairing*: for any deltas and any abort point the events satisfy every rule."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning import Emitter, Run
from agui_reasoning.deltas import Delta, fold, unfold
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart
from tests.internals.envelopes import read_envelope
from tests.laws import law
from tests.support.effort import examples
from tests.support.strategies import delta_lists, turns, with_results
from tests.support.verifier import Client, plain, replay

RUN_INPUT = {
    "threadId": "t",
    "runId": "r",
    "messages": [],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


def emitter(**options: Any) -> Emitter:
    numbers = count()
    return Emitter(new_id=lambda: f"id{next(numbers)}", on_warning=lambda message: None, **options)


def emit(items: list[Any], *, abort: bool = False, **options: Any) -> list[Any]:
    machine = emitter(**options)
    events = [event for item in items for event in machine.receive(item)]
    return events + (machine.abort() if abort else machine.close())


@law("pairing")
@settings(max_examples=examples(400))
@given(delta_lists, st.booleans(), st.sampled_from(["auto", "required", "always", "never"]), st.booleans())
def test_whatever_comes_in_what_comes_out_is_paired(
    deltas: list[Delta], abort: bool, anchors: Any, clock: bool
) -> None:
    ticks = count(1_700_000_000_000, 7)
    events = emit(deltas, abort=abort, anchors=anchors, now_ms=ticks.__next__ if clock else None)
    replay(events)


@law("pairing")
@given(delta_lists)
def test_an_abort_at_every_step_closes_in_order(deltas: list[Delta]) -> None:
    for cut in range(len(deltas) + 1):
        replay(emit(deltas[:cut], abort=True))


@law("pairing", "E11")
@given(delta_lists, st.sampled_from(["finish", "cancel", "fail"]), st.booleans())
def test_a_run_ends_with_exactly_one_terminal_event(deltas: list[Delta], ending: str, modern: bool) -> None:
    run = Run(RUN_INPUT | ({"protocolVersion": "1.0"} if modern else {}), on_warning=lambda message: None)
    events = run.start()
    for delta in deltas:
        events += run.receive(delta)
    events += {"finish": run.finish, "cancel": run.cancel, "fail": lambda: run.fail("It failed.")}[ending]()
    replay(events, framed=True)
    assert run.cancel() == run.fail("Again.") == []


@given(delta_lists)
def test_reasoning_and_answer_reach_the_client_whole_and_in_order(deltas: list[Delta]) -> None:
    client = replay(emit(deltas))
    parts = fold(deltas)
    shown = "".join(m["content"] for m in client.messages if m["role"] == "reasoning")
    kept = "".join(s.text for p in parts if isinstance(p, ReasoningPart) for s in p.segments)
    assert sorted("".join(shown.split())) == sorted("".join(kept.split()))


@given(turns())
def test_every_part_is_in_what_the_client_holds(parts: list[Part]) -> None:
    parts = with_results(parts)
    client = replay(emit(unfold(parts)))
    reasoning = [m for m in client.messages if m["role"] == "reasoning"]
    held = "".join(json.dumps(m.get("encryptedValue", "")) for m in client.messages)
    held += "".join(
        json.dumps(c.get("encryptedValue", "")) for m in client.messages for c in m.get("toolCalls", ())
    )
    for part in parts:
        if isinstance(part, ReasoningPart) and part.text.strip():
            assert any(part.text.startswith(m["content"]) or m["content"] in part.text for m in reasoning)
        if isinstance(part, ToolCallPart):
            call = client.tool_call(part.id)
            assert call is not None
            assert call["function"] == {"name": part.name, "arguments": part.arguments}
        if isinstance(part, TextPart) and part.text.strip():
            assert any(part.text.strip() in m.get("content", "") for m in client.messages)
        if isinstance(part, NativePart) and reasoning:
            assert part.kind in held


@law("E5")
@given(turns())
def test_every_reasoning_message_has_an_envelope_that_reads_back(parts: list[Part]) -> None:
    client = replay(emit(unfold(with_results(parts))))
    answers = [message for message in client.messages if message["role"] == "assistant"]
    calls = [call for message in answers for call in message.get("toolCalls", ())]
    values = [message["encryptedValue"] for message in client.messages if message["role"] == "reasoning"]
    # Reasoning that says nothing has no message; it is in the value of the answer or a call.
    values += [held["encryptedValue"] for held in (*answers, *calls) if "encryptedValue" in held]
    seqs = set()
    for value in values:
        envelope = read_envelope(value)
        assert envelope is not None
        for unit in envelope.units:
            part = with_results(parts)[unit.seq]
            if isinstance(part, ReasoningPart):
                seqs.add(unit.seq)
                assert tuple(record.opaque() for record in unit.part.opaque) == part.opaque
    thoughts = {seq for seq, part in enumerate(with_results(parts)) if isinstance(part, ReasoningPart)}
    assert seqs == thoughts


@law("E14")
@given(delta_lists, st.integers(1, 30))
def test_coalescing_changes_nothing_but_the_number_of_deltas(deltas: list[Delta], chars: int) -> None:
    bare, joined = emit(deltas), emit(deltas, stages=[Coalesce(chars)])
    assert len(joined) <= len(bare)
    assert replay(joined).messages == replay(bare).messages


@law("E14")
@given(delta_lists)
def test_steps_surround_every_reasoning_message(deltas: list[Delta]) -> None:
    events = plain(emit(deltas, stages=[Steps()]))
    Client(framed=False).feed(events).done()
    starts = [place for place, event in enumerate(events) if event["type"] == "REASONING_MESSAGE_START"]
    steps = [(events[place - 1]["type"], events[place - 1].get("stepName")) for place in starts]
    assert steps == [("STEP_STARTED", events[place]["messageId"]) for place in starts]
    kinds = [event["type"] for event in events]  # values of other messages have steps, too
    assert kinds.count("STEP_STARTED") == kinds.count("STEP_FINISHED")


@law("E14")
@given(delta_lists)
def test_chunks_hold_no_triads(deltas: list[Delta]) -> None:
    kinds = {event["type"] for event in plain(emit(deltas, stages=[Chunks()]))}
    assert not kinds & {"TEXT_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_END", "TOOL_CALL_ARGS"}
