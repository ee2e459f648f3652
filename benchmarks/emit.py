"""Deltas to events to frames, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from agui_reasoning import Emitter
from agui_reasoning.deltas import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.wire import SSEEncoder
from benchmarks.harness import Effort, Figure, Path, at_least, faster, fresh
from benchmarks.produce import official
from benchmarks.texts import ASCII, MIXED, long_pieces, pieces

__all__ = ["DELTAS", "PATH"]

DELTAS: dict[str, Callable[[str], Delta]] = {
    "reasoning": ReasoningDelta,
    "text": TextDelta,
    "arguments": lambda text: ToolCallDelta("c1", "look_up", text),
}
"""Construct the delta of a piece of content."""


def _typed(texts: Sequence[str], make: Callable[[str], Delta]) -> Callable[[], None]:
    def write() -> None:
        receive = Emitter().receive
        encode = SSEEncoder().encode
        for delta in fresh(texts, make):
            for event in receive(delta):
                encode(event)

    return write


def _of_two_units() -> Callable[[str], Delta]:
    keys = cycle("ab")
    return lambda text: ReasoningDelta(text, key=next(keys))


def _measure(effort: Effort) -> Iterator[Figure]:
    ascii_texts = pieces(effort.size(20_000), ASCII)
    mixed_texts = pieces(effort.size(20_000), MIXED)
    for kind, delta in DELTAS.items():
        for name, texts, least in (("ASCII", ascii_texts, 3.0), ("non-ASCII", mixed_texts, 2.5)):
            typed = _typed(texts, delta)
            yield faster(f"{kind}, {name}", typed, official(kind, texts), effort, at_least(least))
    for name, text, least in (("ASCII", ASCII, 3.0), ("non-ASCII", MIXED, 2.5)):
        texts = long_pieces(effort.size(10_000), text)
        typed = _typed(texts, TextDelta)
        yield faster(f"text, {name}, long", typed, official("text", texts), effort, at_least(least))
    two = _typed(ascii_texts, _of_two_units())
    yield faster("reasoning, two keys", two, official("reasoning", ascii_texts), effort, at_least(0.9))


PATH = Path(
    "Delta → `Emitter.receive` → `SSEEncoder.encode`: times as fast as the official construct + `encode`",
    _measure,
)
