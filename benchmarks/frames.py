"""Deltas to frames, without event objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agui_reasoning import Emitter
from agui_reasoning.deltas import Delta, TextDelta
from benchmarks.emit import DELTAS
from benchmarks.harness import Effort, Figure, Path, UnavailableError, at_least, faster
from benchmarks.produce import official
from benchmarks.texts import ASCII, MIXED, long_pieces, pieces

__all__ = ["PATH"]

_LEAST = {"reasoning": 13.0, "arguments": 13.0, "text": 8.0}


def _frames(deltas: Sequence[Delta]) -> Callable[[], None]:
    def write() -> None:
        emitter: Any = Emitter()
        frames = emitter.frames
        for delta in deltas:
            frames(delta)

    return write


def _measure(effort: Effort) -> Iterator[Figure]:
    if not hasattr(Emitter, "frames"):
        raise UnavailableError("`Emitter.frames` does not exist")
    ascii_texts = pieces(effort.size(20_000), ASCII)
    mixed_texts = pieces(effort.size(20_000), MIXED)
    for kind, delta in DELTAS.items():
        for name, texts, least in (("ASCII", ascii_texts, _LEAST[kind]), ("non-ASCII", mixed_texts, 8.0)):
            frames = _frames([delta(text) for text in texts])
            yield faster(f"{kind}, {name}", frames, official(kind, texts), effort, at_least(least))
    for name, text in (("ASCII", ASCII), ("non-ASCII", MIXED)):
        texts = long_pieces(effort.size(10_000), text)
        frames = _frames([TextDelta(text) for text in texts])
        yield faster(f"text, {name}, long", frames, official("text", texts), effort)


PATH = Path(
    "`Emitter.frames(delta)`: times as fast as the official construct + `encode`",
    _measure,
)
