"""Time per delta of ever longer answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice, pairwise

from benchmarks.consume import consume
from benchmarks.harness import Effort, Figure, Path, at_most, cpu_seconds
from benchmarks.produce import serve_payloads
from benchmarks.streams import STREAMS, Payload
from benchmarks.texts import pieces
from benchmarks.thread import chunks_of_run

__all__ = ["PATH"]

_SIZES = (20_000, 200_000, 2_000_000)
_ROUNDS_MOST = 3


def _payloads(count: int) -> Iterator[Payload]:
    stream = STREAMS["anthropic-messages"]
    texts = pieces(1_000)
    yield from stream.opening
    yield from islice(cycle([stream.reasoning(text, 0) for text in texts]), count // 2)
    yield from stream.between
    yield from islice(cycle([stream.answer(text, 0) for text in texts]), count - count // 2)
    yield from stream.closing


def _produce(count: int) -> None:
    serve_payloads("anthropic-messages", STREAMS["anthropic-messages"], _payloads(count))


def _consume(count: int) -> None:
    consume(chunks_of_run(count))


def _measure(effort: Effort) -> Iterator[Figure]:
    sides: dict[str, Callable[[int], None]] = {"produce": _produce, "consume": _consume}
    for name, work in sides.items():
        work(effort.size(_SIZES[0]))
        for shorter, longer in pairwise(_SIZES):
            few, many = effort.size(shorter), effort.size(longer)
            samples = tuple(_growth(work, few, many) for _ in range(min(effort.rounds, _ROUNDS_MOST)))
            yield Figure(f"{name}, {few:,} → {many:,} deltas", "×", samples, at_most(1.2))


def _growth(work: Callable[[int], None], few: int, many: int) -> float:
    # The shorter input runs as often as it takes to do the same work, so that both see the same load.
    repeated = sum(cpu_seconds(lambda: work(few)) for _ in range(many // few))
    return cpu_seconds(lambda: work(many)) / repeated


PATH = Path("Time per delta of a longer answer, divided by that of a shorter one", _measure)
