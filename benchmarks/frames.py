"""Deltas to frames, without event objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from agui_reasoning import Emitter
from agui_reasoning.deltas import Delta, TextDelta
from benchmarks.emit import DELTAS
from benchmarks.harness import Effort, Figure, Path, at_least, faster, fresh
from benchmarks.produce import official
from benchmarks.texts import ASCII, MIXED, long_pieces, pieces

__all__ = ["PATH"]

_TEXTS: Final = {"ASCII": ASCII, "non-ASCII": MIXED}
_LEAST: Final = {"ASCII": 14.0, "non-ASCII": 8.0}


def _frames(texts: Sequence[str], make: Callable[[str], Delta]) -> Callable[[], None]:
    def write() -> None:
        frames = Emitter().frames
        for delta in fresh(texts, make):
            frames(delta)

    return write


def _measure(effort: Effort) -> Iterator[Figure]:
    for kind, delta in DELTAS.items():
        for name, text in _TEXTS.items():
            texts = pieces(effort.size(20_000), text)
            frames = _frames(texts, delta)
            yield faster(f"{kind}, {name}", frames, official(kind, texts), effort, at_least(_LEAST[name]))
    for name, text in _TEXTS.items():
        texts = long_pieces(effort.size(10_000), text)
        yield faster(f"text, {name}, long", _frames(texts, TextDelta), official("text", texts), effort)


PATH = Path(
    "`Emitter.frames(delta)`: times as fast as the official construct + `encode`",
    _measure,
)
