"""Test that the fast path of the emitter agrees with its full path: events, frames, turns, audit records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agui_reasoning import Emitter
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from agui_reasoning.parts import Opaque, ReasoningPart, Segment, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.testing.strategies import any_deltas
from tests.internals import fast_path
from tests.internals.fast_path import Options
from tests.laws import law
from tests.support.effort import examples

KEYS = KeyRing({"k": bytes(32)}, now=lambda: 1_700_000_000.0)


class Word(str):
    """A string that is not of the type ``str``."""

    __slots__ = ()


OPTIONS: dict[str, Options] = {
    "full": dict,
    "full, keys, clock": lambda: {"keys": KEYS, "now_ms": lambda: 1_700_000_000_000},
    "summary": lambda: {"visibility": "summary"},
    "summary, keys": lambda: {"visibility": "summary", "keys": KEYS, "summarize": lambda part: "Brief."},
    "hidden": lambda: {"visibility": "hidden"},
    "hidden, keys": lambda: {"visibility": "hidden", "keys": KEYS, "anchors": "always"},
    "chunks": lambda: {"stages": [Chunks()]},
    "coalesce, steps": lambda: {"stages": [Coalesce(20), Steps()]},
}
each = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)

TEXTS = st.sampled_from(
    ["a", "b c", " ", "\n", "", "é", "日本", "😀", "\u2028", "\ud83d", "\ude00", "x\ud83d", '"\\', "<think>"]
)
PLACES: list[Delta] = [
    ReasoningDelta(""),
    ReasoningDelta("", key="a"),
    ReasoningDelta("", key="a", index=1),
    ReasoningDelta("", key="b", channel="summary"),
    TextDelta(""),
    TextDelta("", key="t"),
    ToolCallDelta("c1", "get", ""),
    ToolCallDelta("c1"),
    ToolCallDelta("c2", "search", server=True),
    ToolCallDelta(""),
    ToolCallDelta("", "get"),
]
NAMED = [place for place in PLACES if getattr(place, "name", "get") and getattr(place, "id", "c1")]
INTERRUPTIONS: list[Any] = [
    CloseDelta(),
    CloseDelta(key="a"),
    FinishDelta("stop"),
    OpaqueDelta(Opaque("anthropic.signature", "U0lH")),
    OpaqueDelta(Opaque("anthropic.signature", "U0lH"), key="a", append=True),
    ReasoningPart((Segment("text", 0, "A part."),)),
    TextPart("Another."),
    ToolResultPart("c1", "12 °C"),
    {"type": "STEP_STARTED", "stepName": "s"},
    {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c1", "content": "12 °C"},
    {"type": "CUSTOM", "name": "n", "value": float("nan")},
    "not an item",
]
MUTATIONS: list[dict[str, Any]] = [
    {"index": True},
    {"index": 1.0},
    {"index": False},
    {"ext": {}},
    {"ext": {"id": "x"}},
    {"item_id": "rs_1"},
    {"key": Word("a")},
    {"server": 1},
    {"server": 0},
]


def said(place: Delta, text: Any) -> Delta:
    field = "arguments" if isinstance(place, ToolCallDelta) else "text"
    return replace(place, **{field: text})


def mutated(delta: Delta, change: dict[str, Any]) -> Delta:
    return replace(delta, **{name: value for name, value in change.items() if hasattr(delta, name)})


@st.composite
def stretches(draw: st.DrawFn) -> list[Any]:
    """Generate a few deltas of one place, one of them perhaps odd."""
    place = draw(st.sampled_from(PLACES))
    deltas = [said(place, text) for text in draw(st.lists(TEXTS, min_size=1, max_size=5))]
    if draw(st.booleans()):
        odd = mutated(said(place, draw(TEXTS | st.just(Word("word")))), draw(st.sampled_from(MUTATIONS)))
        deltas.insert(draw(st.integers(0, len(deltas))), odd)
    return deltas


@st.composite
def turns(draw: st.DrawFn) -> list[Any]:
    """Generate deltas of a few places in turn."""
    places = draw(st.lists(st.sampled_from(PLACES), min_size=2, max_size=3))
    return [said(draw(st.sampled_from(places)), draw(TEXTS)) for _ in range(draw(st.integers(4, 12)))]


streams = st.lists(
    stretches()
    | turns()
    | st.sampled_from(INTERRUPTIONS).map(lambda item: [item])
    | any_deltas().map(lambda d: [d]),
    max_size=8,
).map(lambda several: [item for one in several for item in one])


@law("E16")
@each
@settings(max_examples=examples(150))
@given(items=streams)
def test_fast_and_full_path_never_disagree(options: Options, items: list[Any]) -> None:
    full = fast_path.emit(items, options, fast=False)
    fast = fast_path.emit(items, options, fast=True)
    fast.opened = 0
    assert fast == full
    framed = fast_path.emit(items, options, fast=True, frames=True)
    assert (framed.steps, framed.produced, framed.records) == (full.steps, full.produced, full.records)


@settings(max_examples=examples(60))
@given(items=streams, options=st.sampled_from(list(OPTIONS.values())), subagent=st.booleans())
def test_runs_and_their_subagents_agree_too(items: list[Any], options: Options, subagent: bool) -> None:
    full = fast_path.run(items, options, fast=False, subagent=subagent)
    fast = fast_path.run(items, options, fast=True, subagent=subagent)
    fast.opened = 0
    assert fast == full
    framed = fast_path.run(items, options, fast=True, frames=True, subagent=subagent)
    assert (framed.steps, framed.produced) == (full.steps, full.produced)


@law("E16")
@settings(max_examples=examples(30))
@given(items=streams, options=st.sampled_from(list(OPTIONS.values())))
def test_an_abort_at_every_step_gives_the_same(items: list[Any], options: Options) -> None:
    for cut in range(len(items) + 1):
        full = fast_path.emit(items, options, fast=False, cut=cut)
        framed = fast_path.emit(items, options, fast=True, frames=True, cut=cut)
        assert (framed.steps, framed.produced, framed.pending) == (full.steps, full.produced, full.pending)


def first_steps(*deltas: Delta) -> list[Any]:
    """Deltas, of which the first two open a fast path."""
    return [said(deltas[0], "One. "), said(deltas[0], "Two. "), *deltas, said(deltas[0], "Last.")]


@pytest.mark.parametrize("place", NAMED, ids=repr)
@pytest.mark.parametrize("change", MUTATIONS, ids=str)
def test_a_delta_that_is_almost_the_same_gives_what_it_gives_alone(
    place: Delta, change: dict[str, Any]
) -> None:
    for text in ("a", Word("b"), "x\ud83d", "", " ", "é"):
        items = first_steps(place, mutated(said(place, text), change), said(place, text))
        full, fast = fast_path.emit(items, fast=False), fast_path.emit(items, fast=True)
        assert fast.opened > 0
        assert (fast.events, fast.produced) == (full.events, full.produced), repr(text)


@pytest.mark.parametrize("place", NAMED, ids=repr)
def test_deltas_that_only_continue_open_one_fast_path(place: Delta) -> None:
    items = [said(place, text) for text in ["One. ", "Two. ", *("é\u2028 " * 20)]]
    for frames in (False, True):
        assert fast_path.emit(items, fast=True, frames=frames).opened == 1


@pytest.mark.parametrize(
    "places",
    [
        [ReasoningDelta("", key="a"), ReasoningDelta("", key="b")],
        [ReasoningDelta(""), ReasoningDelta("", key="b"), ReasoningDelta("", key="c")],
        [TextDelta("", key="t"), TextDelta("", key="u")],
        [ToolCallDelta("c1", "get"), ToolCallDelta("c2", "get")],
    ],
)
def test_units_that_grow_in_turn_have_a_fast_path_each(places: list[Delta]) -> None:
    items = [said(place, f"{number}. ") for number in range(10) for place in places]
    full = fast_path.emit(items, fast=False)
    for frames in (False, True):
        fast = fast_path.emit(items, fast=True, frames=frames)
        assert (fast.steps, fast.produced) == (full.steps, full.produced)
        # The first deltas of the others close the path of the first.
        assert fast.opened <= 2 * len(places)


def test_a_name_for_a_call_without_an_id_starts_another_call() -> None:
    call = ToolCallDelta("", arguments="{}")
    items = [call, ReasoningDelta("Hm."), call, *[replace(call, name="get")] * 3]
    full, fast = fast_path.emit(items, fast=False), fast_path.emit(items, fast=True)
    assert (fast.events, fast.produced) == (full.events, full.produced)
    assert [part.arguments for part in full.produced[0].parts if isinstance(part, ToolCallPart)] == [
        "{}{}{}",  # the first name is that of the call that resumed
        "{}",
        "{}",
    ]


def test_the_event_that_opened_a_fast_path_belongs_to_the_caller() -> None:
    emitter = Emitter()
    emitter.receive(TextDelta("One."))
    (event,) = emitter.receive(TextDelta("Two."))
    event.delta, event.metadata = "Changed.", {"a": 1}  # type: ignore[union-attr]
    (after,) = emitter.receive(TextDelta("Three."))
    assert (after.delta, after.metadata) == ("Three.", None)  # type: ignore[union-attr]
    after.timestamp = 5
    assert emitter.receive(TextDelta("Four."))[0].timestamp is None
