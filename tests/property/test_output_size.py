"""Output stays in proportion to the provider's input, and no value is too large."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning import Emitter
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.parts import Opaque
from agui_reasoning.wire import SSEEncoder
from tests.internals.envelopes import MAX_ENVELOPE_CHARS
from tests.laws import law
from tests.support.strategies import delta_lists

KEYS = KeyRing({"k1": bytes(range(32))})
SEALED: dict[str, Any] = {"keys": KEYS, "thread_id": "thread"}
BOUND = {"plain": 20, "encrypted": 30}
OPTIONS: dict[str, dict[str, Any]] = {"plain": {}, "encrypted": SEALED}
_TEXTS = ("text", "arguments", "content", "id", "name", "item_id", "ext", "native", "payload", "kind")
"""What a delta holds that the provider sent; each delta counts 100 on top."""


def sent_bytes(deltas: Iterable[Delta]) -> int:
    """What the provider sent, at least: texts and values as JSON, and 100 per delta."""
    return sum(
        100 + len(json.dumps(_payload(delta), ensure_ascii=False).encode(errors="replace"))
        for delta in deltas
    )


def _payload(delta: Delta) -> list[Any]:
    opaque = [delta.opaque.value, delta.opaque.kind] if isinstance(delta, OpaqueDelta) else []
    fields = (getattr(delta, name, None) for name in _TEXTS)
    return [*opaque, *(field for field in fields if field)]


def received_bytes(deltas: Iterable[Delta], **options: Any) -> int:
    emitter = Emitter(on_warning=lambda text: None, now_ms=lambda: 1_750_000_000_000, **options)
    encoder = SSEEncoder()
    events = [event for delta in deltas for event in emitter.receive(delta)] + emitter.close()
    return sum(len(encoder.encode(event)) for event in events)


def alternating(count: int) -> list[Delta]:
    """Flat reasoning and text that take turns."""
    turns = (ReasoningDelta("r", key="r"), CloseDelta(key="r"), TextDelta("t", key="t"))
    return [delta for _ in range(count) for delta in turns]


def alternating_units(count: int) -> list[Delta]:
    return [
        delta
        for n in range(count)
        for delta in (ReasoningDelta("r", key=f"{n}"), CloseDelta(key=f"{n}"), TextDelta("t", key=f"t{n}"))
    ]


def alternating_bare(count: int) -> list[Delta]:
    return [delta for _ in range(count) for delta in (ReasoningDelta("r"), TextDelta("t"))]


def signed_texts(count: int) -> list[Delta]:
    """One text that goes on after every thought, with a value."""
    value = Opaque("gemini.thought_signature", "V", attach="text")
    return [
        delta
        for n in range(count)
        for delta in (
            ReasoningDelta("r", key="r"),
            CloseDelta(key="r"),
            TextDelta("t", key="t"),
            OpaqueDelta(value),
        )
    ]


def empty_units(count: int) -> list[Delta]:
    value = Opaque("anthropic.redacted_thinking", "V")
    return [OpaqueDelta(value, key=f"{n}") for n in range(count)]


def empty_units_between_texts(count: int) -> list[Delta]:
    value = Opaque("anthropic.redacted_thinking", "V")
    return [d for n in range(count) for d in (OpaqueDelta(value, key=f"{n}"), TextDelta("t"))]


def empty_units_after_thoughts(count: int) -> list[Delta]:
    value = Opaque("anthropic.redacted_thinking", "V")
    return [
        delta
        for n in range(count)
        for delta in (
            ReasoningDelta("r", key=f"{n}"),
            CloseDelta(key=f"{n}"),
            OpaqueDelta(value, key=f"s{n}"),
            CloseDelta(key=f"s{n}"),
            TextDelta("t"),
        )
    ]


def empty_units_that_end_between_texts(count: int) -> list[Delta]:
    value = Opaque("anthropic.redacted_thinking", "V")
    return [
        delta
        for n in range(count)
        for delta in (OpaqueDelta(value, key=f"{n}"), CloseDelta(key=f"{n}"), TextDelta("t"))
    ]


def calls(count: int) -> list[Delta]:
    return [
        delta
        for n in range(count)
        for delta in (
            ReasoningDelta("r"),
            ToolCallDelta(f"c{n}", "f", "{}"),
            OpaqueDelta(Opaque("gemini.thought_signature", "V", attach=f"tool_call:c{n}")),
        )
    ]


def server_calls(count: int) -> list[Delta]:
    return [
        delta
        for n in range(count)
        for delta in (
            ToolCallDelta(f"c{n}", "f", "{}", server=True),
            ToolResultDelta(f"c{n}", "found", native={"id": f"c{n}"}),
            TextDelta("t"),
        )
    ]


def large_values(count: int) -> list[Delta]:
    value = Opaque("anthropic.redacted_thinking", '"\\' * 40 * count)
    return [
        OpaqueDelta(value, key="0"),
        ReasoningDelta("r", key="1"),
        OpaqueDelta(value, key="2"),
        TextDelta("t"),
        ReasoningDelta("r", key="3"),
    ]


SHAPES = [
    alternating,
    alternating_units,
    alternating_bare,
    signed_texts,
    empty_units,
    empty_units_between_texts,
    empty_units_after_thoughts,
    empty_units_that_end_between_texts,
    calls,
    server_calls,
    large_values,
]


@law("linear")
@pytest.mark.parametrize("how", sorted(OPTIONS))
@pytest.mark.parametrize("shape", SHAPES, ids=[shape.__name__ for shape in SHAPES])
def test_output_grows_with_the_input_whatever_its_shape(shape: Any, how: str) -> None:
    ratios = []
    for count in (50, 400):
        deltas = shape(count)
        ratios.append(received_bytes(deltas, **OPTIONS[how]) / sent_bytes(deltas))
    assert max(ratios) <= BOUND[how], ratios
    assert ratios[1] <= ratios[0] * 1.1, ratios


@pytest.mark.parametrize("anchors", ["auto", "required", "always", "never"])
@pytest.mark.parametrize("visibility", ["full", "hidden"])
@pytest.mark.parametrize("how", sorted(OPTIONS))
@pytest.mark.parametrize("shape", SHAPES, ids=[shape.__name__ for shape in SHAPES])
def test_anchors_do_not_multiply_the_output(shape: Any, how: str, visibility: str, anchors: str) -> None:
    options = {**OPTIONS[how], "visibility": visibility, "anchors": anchors}
    small, large = (received_bytes(shape(count), **options) for count in (50, 400))
    assert large <= 8 * 1.1 * small


@law("linear")
@pytest.mark.parametrize("how", sorted(OPTIONS))
@settings(max_examples=100)
@given(deltas=delta_lists)
def test_output_is_bounded_by_the_input(deltas: list[Delta], how: str) -> None:
    # A response of its own costs something, however little is in it.
    assert received_bytes(deltas, **OPTIONS[how]) <= BOUND[how] * (sent_bytes(deltas) + 100)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(1, 900_000), st.sampled_from(["text", "value", "answer"])), max_size=8),
    st.sampled_from(sorted(OPTIONS)),
)
def test_no_value_is_ever_too_large(sizes: list[tuple[int, str]], how: str) -> None:
    made = {
        "text": lambda n, size: ReasoningDelta("x" * size, key=f"{n}"),
        "value": lambda n, size: OpaqueDelta(Opaque("a.b", "é" * size), key=f"{n}"),
        "answer": lambda n, size: TextDelta("x" * size, key=f"{n}"),
    }
    emitter = Emitter(**OPTIONS[how])
    deltas = [made[kind](n, size) for n, (size, kind) in enumerate(sizes)]
    events: list[Any] = [event for delta in deltas for event in emitter.receive(delta)] + emitter.close()
    values = [event.encrypted_value for event in events if event.type == "REASONING_ENCRYPTED_VALUE"]
    assert all(len(value) <= MAX_ENVELOPE_CHARS for value in values)
