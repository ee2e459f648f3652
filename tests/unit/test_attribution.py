"""Test attribution by whole results, one vector per situation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from agui_reasoning import ConfigurationError, History
from agui_reasoning.attribution import (
    Attribution,
    PartKind,
    Shared,
    TraceRecord,
    TraceUnit,
    attribute,
    trace,
)
from agui_reasoning.parts import (
    Channel,
    Opaque,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from tests.laws import law

KINDS: dict[str, PartKind] = {
    "R": "reasoning",
    "T": "text",
    "C": "call",
    "S": "call",
    "O": "result",
    "B": "boundary",
}


def walk(wire: str) -> Attribution:
    """Attribute a line such as ``R1 T C1``; ``|`` is the next response."""
    return attribute(("boundary", "") if item == "|" else (KINDS[item[0]], item) for item in wire.split())


VECTORS = [
    ("R1 C1", Attribution(calls={"C1": ("R1",)})),
    ("R1 T C1", Attribution(calls={"C1": ("R1",)})),
    ("R1 T S1 O1 R2 T T C1", Attribution(calls={"S1": ("R1",), "C1": ("R2",)})),
    ("R1 S1 R2 C1", Attribution(calls={"S1": ("R1",), "C1": ("R2",)})),
    (
        "R1 C1 C2 C3",
        Attribution(
            calls={"C1": ("R1",)}, shared={"C2": Shared("C1", "parallel"), "C3": Shared("C1", "parallel")}
        ),
    ),
    ("R1 C1 T C2", Attribution(calls={"C1": ("R1",)}, shared={"C2": Shared("C1", "parallel")})),
    ("R1 S1 O1 C1", Attribution(calls={"S1": ("R1",)}, shared={"C1": Shared("S1", "carried")})),
    ("R1 R2 C1", Attribution(calls={"C1": ("R1", "R2")})),
    ("R1 T", Attribution(texts=[("R1",)])),
    ("R1 S1 O1 R2 T", Attribution(calls={"S1": ("R1",)}, texts=[("R2",)])),
    ("R1 S1 O1 T", Attribution(calls={"S1": ("R1",)})),
    ("T C1", Attribution()),
    ("R1", Attribution(orphans=["R1"])),
    ("R1 T R2", Attribution(texts=[("R1",)], orphans=["R2"])),
    ("R1 C1 | C2", Attribution(calls={"C1": ("R1",)})),
    ("R1 T R2 C1", Attribution(calls={"C1": ("R1", "R2")})),
    ("", Attribution()),
]


@law("E9")
@pytest.mark.parametrize(("wire", "expected"), VECTORS, ids=[wire or "nothing" for wire, _ in VECTORS])
def test_a_call_owns_the_reasoning_before_it_and_the_next_ones_share_it(
    wire: str, expected: Attribution
) -> None:
    assert walk(wire) == expected


# -- the trace of a conversation


def thought(text: str = "", *kinds: str, channel: Channel = "text") -> ReasoningPart:
    segments = (Segment(channel, 0, text),) if text else ()
    return ReasoningPart(segments, tuple(Opaque(kind, "x") for kind in kinds))


def call(name: str, **more: Any) -> ToolCallPart:
    return ToolCallPart(name, f"tool_{name}", f'{{"{name}": 1}}', **more)


def record(name: str, reasoning: str = "", ref: str | None = None, how: Any = None) -> TraceRecord:
    return TraceRecord(
        name, f"tool_{name}", f'{{"{name}": 1}}', reasoning, ref, how, units=units_of(reasoning)
    )


def units_of(reasoning: str) -> tuple[TraceUnit, ...]:
    lines = reasoning.split("\n") if reasoning else ()
    return tuple(TraceUnit("redacted" if line == "[REDACTED]" else "reasoning", line) for line in lines)


TRACES: list[tuple[list[Part], list[TraceRecord]]] = [
    ([thought("Why."), call("a")], [record("a", "Why.", None, "owned")]),
    (
        [thought("Why."), call("a"), TextPart("And."), call("b"), call("c")],
        [
            record("a", "Why.", None, "owned"),
            record("b", "", "a", "parallel"),
            record("c", "", "a", "parallel"),
        ],
    ),
    (
        [thought("Why."), call("s", server=True), ToolResultPart("s", "found"), call("a")],
        [record("s", "Why.", None, "owned"), record("a", "", "s", "carried")],
    ),
    (
        [thought("One."), thought("", "anthropic.redacted_thinking"), thought("Two."), call("a")],
        [record("a", "One.\n[REDACTED]\nTwo.", None, "owned")],
    ),
    (
        [thought("", "anthropic.signature"), call("a")],
        [replace(record("a", "", None, "owned"), units=(TraceUnit("omitted"),))],
    ),
    ([TextPart("So."), call("a")], [record("a")]),
    (
        [thought("Why."), TextPart("So."), TextPart(" Yes.")],
        [TraceRecord(reasoning="Why.", how="owned", final_text="So. Yes.", units=units_of("Why."))],
    ),
    ([TextPart("So.")], [TraceRecord(final_text="So.")]),
    (
        [thought("One."), call("a"), ToolResultPart("a", ""), thought("Two."), TextPart("So.")],
        [
            record("a", "One.", None, "owned"),
            TraceRecord(reasoning="Two.", how="owned", final_text="So.", units=units_of("Two.")),
        ],
    ),
    (
        [thought("Why."), call("s", server=True), call("a", ext={"caller": {"tool_id": "s"}})],
        [record("s", "Why.", None, "owned"), record("a", "", "s", "carried")],
    ),
    ([thought("Why.")], []),
]


@pytest.mark.parametrize(("parts", "expected"), TRACES)
def test_a_trace_has_a_record_per_call_and_for_the_answer(
    parts: list[Part], expected: list[TraceRecord]
) -> None:
    assert trace(parts) == trace(Turn(tuple(parts))) == trace(History((Turn(tuple(parts)),))) == expected


@law("E9")
def test_ownership_never_crosses_responses_and_ids_may_repeat() -> None:
    first, second = Turn((thought("Why."), call("a"))), Turn((call("a"), call("a")))
    assert trace([first, second]) == [record("a", "Why.", None, "owned"), record("a"), record("a")]


@pytest.mark.parametrize(
    ("visibility", "shown"), [("full", "Sum.\nRaw."), ("summary", "Sum."), ("hidden", "")]
)
def test_a_trace_shows_only_what_may_be_shown(
    visibility: Literal["full", "summary", "hidden"], shown: str
) -> None:
    parts = [thought("Sum.", channel="summary"), thought("Raw.", channel="raw"), call("a")]
    (found,) = trace(parts, visibility=visibility)
    assert (found.reasoning, found.how) == (shown, "owned")
    assert [unit.type for unit in found.units] == ["reasoning", "reasoning"]
    assert [unit.content for unit in found.units if unit.content] == shown.splitlines()


def test_messages_of_a_client_are_not_traced_unrestored() -> None:
    with pytest.raises(ConfigurationError, match=r"An item to trace is dict, not a part .* Pass .* restore"):
        trace([{"id": "r", "role": "reasoning", "content": "Why."}])  # type: ignore[list-item]


def test_a_record_shows_no_reasoning_in_its_repr() -> None:
    assert "Why" not in repr(trace([thought("Why."), TextPart("Why not.")]))
