"""Count calls: ``reasoning_details`` take time proportional to their number, whatever their shape."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from agui_reasoning.deltas import Delta, ReasoningDelta, fold
from agui_reasoning.providers import decoder
from tests.support.effort import thinned


def chunk(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def entry(kind: str, **fields: Any) -> dict[str, Any]:
    return chunk(reasoning_details=[{"type": f"reasoning.{kind}", **fields}])


def call(number: int) -> dict[str, Any]:
    tool = {"index": number, "id": f"c{number}", "function": {"name": "f", "arguments": "{}"}}
    return chunk(tool_calls=[tool])


def waiting(number: int) -> dict[str, Any]:
    return entry("encrypted", data="x", id=f"c{number}", index=number, format="google-gemini-v1")


SHAPES: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "held entries": lambda n: [waiting(i) for i in range(n)],
    "held entries and their calls": lambda n: [*map(waiting, range(n)), *map(call, range(n))],
    "units": lambda n: [entry("text", text="x", id=f"u{i}", index=i) for i in range(n)],
    "units of one id": lambda n: [entry("encrypted", data="x", id="u", index=i) for i in range(n)],
    "units without an index": lambda n: [entry("encrypted", data="x") for i in range(n)],
    "entries of one unit": lambda n: [entry("summary", summary="x", id="u", index=i) for i in range(n)],
    "changes of one unit": lambda n: [
        entry("summary", summary="x", id="u", index=i % 20, format=f"f{i}") for i in range(n)
    ],
}


def decode(payloads: list[dict[str, Any]]) -> list[Delta]:
    made = decoder("openai-chat", provider="openrouter")
    return [delta for payload in [*payloads, chunk("stop")] for delta in made.receive(payload)] + made.close()


def work(payloads: list[dict[str, Any]]) -> int:
    """Calls of functions, C's included, and lines of details that are told."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        deltas = decode(payloads)
    finally:
        sys.setprofile(before)
    exts = [delta.ext for delta in deltas if isinstance(delta, ReasoningDelta) and delta.ext]
    return count + sum(len(ext.get("details", ())) for ext in exts)


@pytest.mark.parametrize("name", thinned(SHAPES, 3))
def test_four_times_the_entries_are_about_four_times_the_work(name: str) -> None:
    shape = SHAPES[name]
    work(shape(10))  # what is looked up once
    assert work(shape(1200)) < 6 * work(shape(300))


def test_fields_that_were_told_late_are_told() -> None:
    payloads = SHAPES["entries of one unit"](100)
    (part,) = fold(decode(payloads))
    skeletons = [{"type": "reasoning.summary", "id": "u", "index": i} for i in range(100)]
    assert (getattr(part, "ext", None) or {})["details"] == skeletons
