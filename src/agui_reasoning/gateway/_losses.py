"""Tells the operator, once per thread, that reasoning did not come back from a client as it was sent."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Final

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning.run import Run

__all__ = ["Losses"]

_THREADS: Final = 4096
"""The number of threads to remember; the log repeats itself for older ones."""


class Losses:
    """Looks at the history of each run, and warns about the first loss of each thread."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()

    def watched(self, agent: Callable[[Run], AsyncIterator[AgentItem]], run: Run) -> AsyncIterator[AgentItem]:
        """Call an agent, after a look at the history, which the driver has restored before."""
        with suppress(Exception):  # raised again when the agent reads the history
            self._tell(run)
        return agent(run)

    def _tell(self, run: Run) -> None:
        thread = run.tenant, run.input.thread_id
        if thread in self._told:
            return
        lost = Counter(entry.reason for entry in run.history.report if entry.outcome == "dropped")
        if not lost:
            return
        self._told[thread] = None
        if len(self._told) > _THREADS:
            self._told.popitem(last=False)
        reasons = ", ".join(f"{count} {reason}" for reason, count in lost.items())
        self._warn(
            f"In thread {run.input.thread_id[:80]!r}, reasoning did not come back from the client as it was "
            f"sent ({reasons}). This is said once per thread; the page Troubleshoot explains the reasons."
        )
