"""Runs with a log, against the same runs without one."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path as FilePath
from typing import Any, Final

from agui_reasoning import Run
from agui_reasoning.aio import ModelStream, run_agent
from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.durable.store import RunStore
from benchmarks.harness import Effort, Figure, Path, at_most, cpu_seconds
from benchmarks.produce import run_input
from benchmarks.streams import STREAMS
from benchmarks.texts import pieces

__all__ = ["PATH"]

_API: Final = "anthropic-messages"
_STREAM: Final = STREAMS[_API]
_RUNS: Final = 300
_DELTAS: Final = 500
_PER_READ: Final = 8
_JOINED: Final = 20_000


class _Agent:
    """Answers with a stream of some deltas, eight payloads per read."""

    def __init__(self, deltas: int) -> None:
        self._texts = [json.dumps(payload) for payload in _STREAM.payloads(pieces(deltas))]

    async def __call__(self, run: Run) -> AsyncIterator[Any]:
        yield ModelStream(self._source(), api=_API, model=_STREAM.model)

    async def _source(self) -> AsyncIterator[Any]:
        for number, text in enumerate(self._texts):
            if number % _PER_READ == 0:
                await asyncio.sleep(0)
            yield json.loads(text)


def _input(number: int) -> dict[str, Any]:
    return {**run_input(), "threadId": f"thread-{number}"}


async def _read(stream: Any) -> None:
    async for _ in stream.frames():
        pass


async def _plain(agent: _Agent, count: int) -> None:
    await asyncio.gather(*(_read(run_agent(_input(number), agent)) for number in range(count)))


async def _durable(agent: _Agent, count: int, store: RunStore) -> None:
    runs = Runs(store)

    async def run(number: int) -> None:
        await _read(await runs.start(Run(_input(number)), agent))

    await asyncio.gather(*(run(number) for number in range(count)))
    await runs.aclose()


async def _join_seconds(store: RunStore) -> float:
    """Return the processor seconds until a reader of a long, finished run has its prelude."""
    runs = Runs(store)
    await _read(await runs.start(Run(_input(0)), _Agent(_JOINED)))
    loop, taken = asyncio.get_running_loop(), []
    for _ in range(5):
        began = loop.time()
        await anext((await runs.join("thread-0")).frames())
        taken.append(loop.time() - began)
    await runs.aclose()
    return min(taken)


def _measure(effort: Effort) -> Iterator[Figure]:
    count, agent = effort.size(_RUNS), _Agent(_DELTAS)
    added = []
    with tempfile.TemporaryDirectory() as folder:
        stores = (SQLiteRuns(FilePath(folder, f"{number}.db")) for number in itertools.count())
        for _ in range(min(effort.rounds, 5)):
            without = cpu_seconds(lambda: asyncio.run(_plain(agent, count)))
            with_log = cpu_seconds(lambda: asyncio.run(_durable(agent, count, next(stores))))
            added.append((with_log - without) / (count * _DELTAS) * 1e6)
        joined = [asyncio.run(_join_seconds(next(stores))) * 1e3 for _ in range(3)]
    yield Figure(f"added per delta, {count} runs of {_DELTAS} at once", "µs", tuple(added), at_most(15))
    yield Figure(f"join a run of {_JOINED:,} deltas", "ms", tuple(joined), at_most(50))


PATH = Path("Runs that outlive their connection, in SQLite", _measure)
