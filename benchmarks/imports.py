"""Imports, each in a new interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path as FilePath
from statistics import median
from typing import Final

from benchmarks.harness import Effort, Figure, Path, Target, at_most

__all__ = ["PATH"]

_ROOT: Final = FilePath(__file__).parents[1]
_PEER: Final = "import ag_ui.core"
_RUN_INPUT: Final = (
    "dict(threadId='t', runId='r', state={}, messages=[], tools=[], context=[], forwardedProps={})"
)
_FIRST_USES: Final[dict[str, tuple[str, Target]]] = {
    "import agui_reasoning": ("import agui_reasoning", at_most(0.3)),
    "first use of Conversation": ("import agui_reasoning; agui_reasoning.Conversation('t')", at_most(1.3)),
    "first use of Run": (f"import agui_reasoning; agui_reasoning.Run({_RUN_INPUT})", at_most(1.5)),
}
_ROUNDS: Final = 3
"""Interpreters start at different speeds, so each value is the median of several."""


def _seconds(code: str) -> float:
    program = f"import time; start = time.process_time(); {code}; print(time.process_time() - start)"
    command = [sys.executable, "-c", program]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT).stdout)


def _measure(effort: Effort) -> Iterator[Figure]:
    for name, (code, target) in _FIRST_USES.items():
        samples = []
        for _ in range(effort.rounds):
            pairs = [(_seconds(code), _seconds(_PEER)) for _ in range(_ROUNDS)]
            samples.append(median(ours for ours, _ in pairs) / median(theirs for _, theirs in pairs))
        yield Figure(name, "×", tuple(samples), target)


PATH = Path("Imports: in the time of `import ag_ui.core`", _measure)
