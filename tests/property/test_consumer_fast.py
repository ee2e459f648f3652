"""The consumer's fast path and the full path never disagree."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from agui_reasoning import Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from tests.conformance.corpus import STREAMS, names, parameters, stream
from tests.property.test_own_streams import RUN_INPUT
from tests.recordings.test_recordings import decode
from tests.support.consumed import assert_same_without_fast_path, received
from tests.support.effort import examples, is_quick, mostly_slow
from tests.support.fuzz.mutator import OTHERS
from tests.support.play import FINISHED, STARTED, Json, call, text, thought
from tests.support.recordings import EXPECT, load, recordings
from tests.support.streams import WRONG, mutated_streams, valid_streams
from tests.support.verifier import plain

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
DELTAS = ["", "a", "b c", "é", "日本", "\n", "\ud83d", "\ude00", "Bearer sk-abcdefghijklmnop1234"]
TIMES = [0, 7, 2**53 - 1, 2**53, -1, 1.0, 1.5, True, None, "7"]
MEMBERS = {"messageId": "m", "timestamp": 7, "rawEvent": {"a": 1}, "metadata": {"a": 1}}
MEMBERS |= {"subagentRunId": "s1", "futureProp": "x", "role": "assistant", "name": "Ann"}

values = st.sampled_from([*WRONG, *OTHERS, *DELTAS, *TIMES])


@st.composite
def repeating(draw: st.DrawFn, streams: st.SearchStrategy[list[Json]]) -> list[Json]:
    """A stream in which events are repeated, most with another delta, some with another change."""
    repeated: list[Json] = []
    for event in draw(streams):
        repeated.append(event)
        if isinstance(event.get("delta"), str):
            repeated += draw(st.lists(variations(event), max_size=3))
    return repeated


@st.composite
def variations(draw: st.DrawFn, event: Json) -> Json:
    """An event with another delta, often another time, and sometimes another change."""
    other = {**copy.deepcopy(event), "delta": draw(st.sampled_from(DELTAS))}
    if "timestamp" in other:
        other["timestamp"] = draw(st.sampled_from(TIMES))
    change = draw(st.integers(0, 9))
    if change == 0:
        other[draw(st.sampled_from(list(other)))] = copy.deepcopy(draw(values))
    elif change == 1:
        other.pop(draw(st.sampled_from(list(other))))
    elif change == 2:
        name = draw(st.sampled_from(list(MEMBERS)))
        other[name] = MEMBERS[name]
    elif change == 3:
        other = dict(reversed(other.items()))
    return other


streams = st.one_of(valid_streams(), mutated_streams())


@settings(max_examples=examples(400))
@given(st.one_of(streams, repeating(streams)))
def test_streams(stream: list[Json]) -> None:
    assert_same_without_fast_path(stream)


@settings(max_examples=examples(150))
@given(repeating(streams))
def test_streams_of_models(stream: list[Json]) -> None:
    assert_same_without_fast_path([modelled(event) for event in stream])


def modelled(event: Json) -> Any:
    """The event as a model, if the models of ``ag_ui`` accept it."""
    try:
        return EVENT.validate_python(event)
    except ValidationError:
        return event


ITEMS = {
    "text": text("m", "a", "b", "c"),
    "thought": thought("r", "a", "b", "c"),
    "call": call("c", "a", "b", "c"),
    "text chunks": [{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": delta} for delta in "abcd"],
    "thought chunks": [{"type": "REASONING_MESSAGE_CHUNK", "messageId": "r", "delta": d} for d in "abcd"],
    "call chunks": [
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "get", "delta": delta}
        for delta in "abcd"
    ],
}


OTHER = [None, True, 1, 1.0, 5, 6, 2**53, -1.5, "", "other", "\ud800", [], {}, {"a": 1}, {"a": 1.0}]
EXTRAS: dict[str, Json] = {
    "bare": {},
    "timed": {"timestamp": 5},
    "owned": {"subagentRunId": "s1"},
    "raw": {"rawEvent": 1},
    "described": {"metadata": {"a": 1}},
}


@pytest.mark.parametrize("extra", mostly_slow(EXTRAS, quick=["timed", "raw"]))
@pytest.mark.parametrize("name", ITEMS)
def test_every_change_of_a_second_event(name: str, extra: str) -> None:
    stream = [STARTED, *({**event, **EXTRAS[extra]} for event in ITEMS[name]), FINISHED]
    assert_same_without_fast_path(stream)
    before, second, after = stream[:3], stream[3], stream[4:]
    for member in {**second, **MEMBERS}:
        rest = {key: value for key, value in second.items() if key != member}
        for changed in (rest, *({**second, member: other} for other in OTHER)):
            assert_same_without_fast_path([*before, changed, *after], looks=[received])


@pytest.mark.parametrize("name", parameters(names(), STREAMS))
def test_conformance_streams_with_repeats(name: str) -> None:
    assert_same_without_fast_path(stream(name).events)
    assert_same_without_fast_path([one for event in stream(name).events for one in repeats(event)])


def repeats(event: Json) -> list[Json]:
    """An event, and two more like it if it has text."""
    if not isinstance(event.get("delta"), str):
        return [event]
    return [event, {**event, "delta": "more"}, {**event, "delta": "é\ud83d"}]


KEYS = KeyRing({"k": bytes(32)})
OPTIONS: list[dict[str, Any]] = [
    {},
    {"now_ms": count(1_700_000_000_000).__next__},
    {"keys": KEYS},
    {"visibility": "summary", "keys": KEYS, "summarize": lambda text: "It thought."},
    {"visibility": "hidden", "keys": KEYS},
    {"stages": [Chunks]},
    {"stages": [Coalesce]},
    {"stages": [Steps, Coalesce, Chunks], "keys": KEYS},
]
FILES = [found for api in EXPECT for found in recordings(api)[: 2 if is_quick() else None]]
RECORDINGS = [
    pytest.param(number, *found.values, id=f"{number}-{found.id}", marks=found.marks)
    for number, found in enumerate(FILES)
]


@pytest.mark.parametrize(("number", "file"), RECORDINGS)
def test_what_is_emitted_for_a_recording(number: int, file: Path) -> None:
    deltas = decode(load(file))
    options = OPTIONS[number % len(OPTIONS)]
    events = emitted(deltas, **options, helper=number % 3 == 0)
    assert_same_without_fast_path(events)
    assert_same_without_fast_path(plain(events))


def emitted(deltas: list[Delta], *, helper: bool, stages: Sequence[Any] = (), **options: Any) -> list[Any]:
    """The events of a run, and of a subagent in it that works on the same."""
    run = Run(RUN_INPUT, on_warning=lambda message: None, stages=[stage() for stage in stages], **options)
    events: list[Any] = run.start()
    workers = [run, run.subagent("helper")] if helper else [run]
    for number, worker in enumerate(workers):
        events += worker.start() if number else []
        for delta in deltas:
            events += worker.receive(delta)
        events += worker.finish() if number else []
    return [*events, *run.finish()]
