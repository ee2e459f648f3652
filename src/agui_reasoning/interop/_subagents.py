"""A subagent of a framework, as a subagent of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning.run import Run

__all__ = ["Subagent"]


class _Reader(Protocol):
    def close(self) -> Sequence[AgentItem]:
        """Return the last items."""


ReaderT = TypeVar("ReaderT", bound=_Reader)


class Subagent(Generic[ReaderT]):
    """A subagent at work.

    Attributes:
        run: Its run.
        reader: Reads what the framework gives of it.
    """

    def __init__(self, run: Run, reader: ReaderT) -> None:
        """Prepare it; its run is not started yet."""
        self.run, self.reader = run, reader

    def shown(self, items: Sequence[Any]) -> list[AgentItem]:
        """Return the events of its items."""
        return [event for item in items for event in self.run.receive(item)]

    def end(self) -> list[AgentItem]:
        """Return its last events."""
        return [*self.shown(self.reader.close()), *self.run.finish()]
