"""Measure the steps of bulk work on stored threads: ``python -m benchmarks.bulk [THREADS …]``.

A part has 1,000 threads, and is worked on as often as the number of threads asks for. Its threads have ten
turns, about 32 KB with encrypted values, or the events of a run of 200 deltas, about 15 KB.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from agui_reasoning import bulk
from agui_reasoning.bulk import Part, Summary
from agui_reasoning.crypto import KeyRing
from agui_reasoning.wire import read_events
from benchmarks.history import thread
from benchmarks.thread import chunks_of_run

_PART: Final = 1_000
_TURNS: Final = 10
_DELTAS: Final = 200
_OLD: Final = {"old": b"o" * 32}
_STEPS: Final = {
    "messages": (bulk.rekey, bulk.audit, bulk.erase),
    "events": (bulk.check, bulk.upgrade, bulk.reduce),
}


def main(sizes: Iterable[int]) -> None:
    """Print the rate of each step for each number of threads."""
    os.environ["AGUI_REASONING_KEYS"] = KeyRing({"new": b"n" * 32, **_OLD}).to_env()
    with tempfile.TemporaryDirectory() as folder:
        for kind, steps in _STEPS.items():
            source = Path(folder, f"{kind}.jsonl")
            source.write_text("".join(f"{json.dumps(one)}\n" for one in _threads(kind)))
            print(f"{kind}: {source.stat().st_size / _PART / 1000:.0f} KB per thread", flush=True)
            for step in steps:
                for size in sizes:
                    print(_measured(step, source, size), flush=True)


def _threads(kind: str) -> Iterator[dict[str, object]]:
    events = read_events(b"".join(chunks_of_run(_DELTAS)))
    for number in range(_PART):
        name = f"thread-{number}"
        if kind == "events":
            yield {"threadId": name, "events": events}
        else:
            yield {"threadId": name, "messages": json.loads(thread(_TURNS, KeyRing(_OLD), name))}


def _measured(step: bulk.Step, source: Path, size: int) -> str:
    # Checks and audits write nothing.
    writes = step not in (bulk.check, bulk.audit)
    parts = [Part(str(source), f"{source}.{n}" if writes else None) for n in range(size // _PART)]
    started = time.process_time()
    summary = bulk.run(parts, step, map=_discarding)
    seconds = time.process_time() - started
    assert summary.threads == size
    assert not any(code.startswith("error.") for code in summary.counts), summary
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    name = getattr(step, "__name__", "")
    return (
        f"  {name:8} {size:>8,} threads {size / seconds:>7,.0f} per second and core, {peak:.0f} MiB at most"
    )


def _discarding(function: Callable[[Part], Summary], parts: Iterable[Part], /) -> Iterator[Summary]:
    """Like ``map``, but keep no disk full of results."""
    for part in parts:
        yield function(part)
        if part.target is not None:
            Path(part.target).unlink()
            Path(f"{part.target}.report.json").unlink()


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000])
