"""Whole runs, from the client's input to the last byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ag_ui.core import (
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from ag_ui.encoder import EventEncoder

from agui_reasoning import Run
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.wire import SSEEncoder
from benchmarks.harness import Effort, Figure, Path, at_least, faster, fresh
from benchmarks.produce import OFFICIAL, run_input
from benchmarks.texts import pieces

__all__ = ["PATH"]

_LEAST: Final = {2: 0.6, 20: 1.3, 200: 4.0}
_DELTAS: Final = 20_000
"""The deltas of all runs of a measurement."""
_RUNS_MOST: Final = 500


def _ours(given: dict[str, Any], texts: Sequence[str]) -> int:
    half = len(texts) // 2
    encode = SSEEncoder().encode
    run = Run(given)
    frames = run.frames
    size = sum(len(encode(event)) for event in run.start())
    for thought in fresh(texts[:half], ReasoningDelta):
        size += len(frames(thought))
    for said in fresh(texts[half:], TextDelta):
        size += len(frames(said))
    return size + sum(len(encode(event)) for event in run.finish())


def _official(given: dict[str, Any], texts: Sequence[str]) -> int:
    return sum(map(len, _official_frames(given, texts)))


def _official_frames(given: dict[str, Any], texts: Sequence[str]) -> Iterator[str]:
    half = len(texts) // 2
    encode = EventEncoder().encode
    read = RunAgentInput.model_validate(given)
    yield encode(RunStartedEvent(thread_id=read.thread_id, run_id=read.run_id))
    yield encode(ReasoningStartEvent(message_id="s1"))
    yield encode(ReasoningMessageStartEvent(message_id="m1", role="reasoning"))
    thought = OFFICIAL["reasoning"]
    for text in texts[:half]:
        yield encode(thought(text))
    yield encode(ReasoningMessageEndEvent(message_id="m1"))
    yield encode(ReasoningEndEvent(message_id="s1"))
    yield encode(TextMessageStartEvent(message_id="m2", role="assistant"))
    said = OFFICIAL["text"]
    for text in texts[half:]:
        yield encode(said(text))
    yield encode(TextMessageEndEvent(message_id="m2"))
    yield encode(RunFinishedEvent(thread_id=read.thread_id, run_id=read.run_id))


def _repeated(
    work: Callable[[dict[str, Any], Sequence[str]], int], deltas: int, runs: int
) -> Callable[[], None]:
    texts = pieces(deltas)

    def serve() -> None:
        for _ in range(runs):
            work(run_input(), texts)

    return serve


def _measure(effort: Effort) -> Iterator[Figure]:
    for deltas, least in _LEAST.items():
        runs = effort.size(min(_DELTAS // deltas, _RUNS_MOST))
        ours, official = (_repeated(work, deltas, runs) for work in (_ours, _official))
        yield faster(f"{deltas} deltas", ours, official, effort, at_least(least))


PATH = Path(
    "A run: its input → deltas → AG-UI bytes: times as fast as the official input, construct + `encode`",
    _measure,
)
