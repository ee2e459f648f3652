"""The start of the command ``agui-reasoning``, each time in a new process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from statistics import median
from typing import Final

from benchmarks.harness import Effort, Figure, Path, at_most
from benchmarks.produce import run_input

__all__ = ["PATH"]

_ROOT: Final = FilePath(__file__).parents[1]
_PEER: Final = ("-c", "import ag_ui.core")
_COMMAND: Final = ("-m", "agui_reasoning")
_MOST: Final = {"--version": 60, "--help": 120, "check": 150}
_ROUNDS: Final = 3
"""Interpreters start at different speeds, so each value is the median of several."""


def _cpu_ms(arguments: Sequence[str]) -> float:
    """Return the CPU time of a Python process, from its start to its end."""
    before = _of_children_s()
    subprocess.run([sys.executable, *arguments], check=True, cwd=_ROOT, stdout=subprocess.DEVNULL)
    return (_of_children_s() - before) * 1000


def _of_children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _beyond(arguments: Sequence[str]) -> float:
    pairs = [(_cpu_ms(arguments), _cpu_ms(_PEER)) for _ in range(_ROUNDS)]
    return median(ours for ours, _ in pairs) - median(theirs for _, theirs in pairs)


def _stream() -> str:
    """Return a stream of two events without a finding."""
    run = {"threadId": "thread-1", "runId": "run-1"}
    started = {"type": "RUN_STARTED", **run, "protocolVersion": run_input()["protocolVersion"]}
    return "".join(f"data: {json.dumps(event)}\n\n" for event in (started, {"type": "RUN_FINISHED", **run}))


def _measure(effort: Effort) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        file = FilePath(folder, "run.sse")
        file.write_text(_stream(), encoding="utf-8")
        for name, most in _MOST.items():
            given = [*_COMMAND, name, *([str(file)] if name == "check" else [])]
            _cpu_ms(given)
            samples = tuple(_beyond(given) for _ in range(effort.rounds))
            yield Figure(f"`{name}`", "ms", samples, at_most(most))


PATH = Path("CPU time of the command, less that of `python -c 'import ag_ui.core'`", _measure)
