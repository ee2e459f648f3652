"""Many runs that are open in one process."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from statistics import median
from typing import Final

from agui_reasoning.aio import stream_run
from benchmarks.harness import Effort, Figure, Path, at_most, cpu_seconds
from benchmarks.produce import run_input
from benchmarks.streams import STREAMS, Payload
from benchmarks.texts import pieces

__all__ = ["PATH"]

_API: Final = "anthropic-messages"
_STREAM: Final = STREAMS[_API]
_DELTAS: Final = 30
_FEW: Final = 1_000
_MANY: Final = 10_000
_SERVED: Final = 100_000, 50, 100
"""The thresholds of the collector that `agui-reasoning serve` sets, and `docs/how-to/deploy.md` names."""


async def _source(texts: Sequence[str]) -> AsyncIterator[Payload]:
    """Parse and yield payloads. Parsing is measured, too, because it sets off garbage collections."""
    for text in texts:
        await asyncio.sleep(0)
        yield json.loads(text)


async def _run(texts: Sequence[str], began: float) -> float:
    """Serve one run, and return the seconds until its end."""
    stream = stream_run(run_input(), _source(texts), api=_API, model=_STREAM.model)
    async for _ in stream.frames():
        pass
    return time.perf_counter() - began


async def _runs(count: int) -> list[float]:
    texts = [json.dumps(payload) for payload in _STREAM.payloads(pieces(_DELTAS))]
    began = time.perf_counter()
    return await asyncio.gather(*(_run(texts, began) for _ in range(count)))


def _measure(effort: Effort) -> Iterator[Figure]:
    few, many = effort.size(_FEW), effort.size(_MANY)
    rounds = min(effort.rounds, 5)
    asyncio.run(_runs(few))
    spreads = []
    for _ in range(rounds):
        times = asyncio.run(_runs(many))
        spreads.append(max(times) / median(times))
    yield Figure(f"slowest ÷ median of {many:,}", "×", tuple(spreads), at_most(1.2))
    name = f"CPU per run, {many:,} at once ÷ {few:,} at once"
    yield Figure(f"{name}, as Python collects", "×", tuple(_growth(few, many, rounds)))
    usual = gc.get_threshold()
    gc.set_threshold(*_SERVED)
    served = tuple(_growth(few, many, rounds))
    gc.set_threshold(*usual)
    yield Figure(f"{name}, as `serve` does", "×", served, at_most(1.15))


def _growth(few: int, many: int, rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        repeated = sum(cpu_seconds(lambda: asyncio.run(_runs(few))) for _ in range(many // few))
        yield cpu_seconds(lambda: asyncio.run(_runs(many))) / repeated


PATH = Path("Open runs in one process, without sockets", _measure)
