"""Memory of runs that are open at once."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agui_reasoning import Run
from agui_reasoning.providers import decoder
from benchmarks.harness import Effort, Figure, Path, at_most
from benchmarks.produce import run_input
from benchmarks.streams import STREAMS, Payload
from benchmarks.texts import pieces

__all__ = ["PATH"]

_API = "anthropic-messages"
_STREAM = STREAMS[_API]


def _start() -> tuple[Any, Any]:
    """Start a run and its decoder."""
    run = Run(run_input(), api=_API, model=_STREAM.model)
    run.start()
    return run, decoder(_API, model=_STREAM.model)


def _open() -> tuple[Any, Any]:
    """Start a run and its decoder, and let both read the beginning of a stream."""
    run, decode = _start()
    _feed(run, decode, _STREAM.opening)
    _feed(run, decode, _reasoning(3))
    return run, decode


def _feed(run: Any, decode: Any, payloads: Iterable[Payload]) -> None:
    frames = run.frames
    for payload in payloads:
        for delta in decode.receive(payload):
            frames(delta)


def _reasoning(count: int) -> Iterator[Payload]:
    return (_STREAM.reasoning(text, 0) for text in pieces(count))


def _held(make: Callable[[], object]) -> tuple[int, object]:
    """Return the bytes that an object holds, and the object."""
    gc.collect()
    tracemalloc.start()
    made = make()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held, made


def _per_run(make: Callable[[], object], count: int) -> float:
    return _held(lambda: [make() for _ in range(count)])[0] / count / 1024


def _per_delta(count: int) -> float:
    run, decode = _open()
    held, _ = _held(lambda: _feed(run, decode, _reasoning(count)))
    return (held - sum(map(sys.getsizeof, pieces(count)))) / count


def _measure(effort: Effort) -> Iterator[Figure]:
    runs, deltas = effort.size(1_000), effort.size(50_000)
    _open()
    rounds = range(min(effort.rounds, 3))
    idle = tuple(_per_run(_start, runs) for _ in rounds)
    yield Figure("decoder and run, before the first payload", "KiB", idle, at_most(12))
    inside = tuple(_per_run(_open, runs) for _ in rounds)
    yield Figure("decoder and run, inside a message", "KiB", inside)
    grown = tuple(_per_delta(deltas) for _ in rounds)
    yield Figure("each further delta, besides its string", "bytes", grown, at_most(24))


PATH = Path("Memory", _measure)
