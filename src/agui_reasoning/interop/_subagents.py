"""The subagents of a framework, as subagents of the run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning.run import Run

__all__ = ["Subagents"]


class _Reader(Protocol):
    def close(self) -> Sequence[AgentItem]:
        """Return the last items."""


KeyT = TypeVar("KeyT", bound=Hashable)
ReaderT = TypeVar("ReaderT", bound=_Reader)


class Subagents(Generic[KeyT, ReaderT]):
    """The subagents at work, by what the framework knows them by."""

    def __init__(self, reader: Callable[[Run], ReaderT]) -> None:
        """Start without subagents.

        Args:
            reader: Makes what reads the items of a subagent.
        """
        self._reader = reader
        self._at_work: dict[KeyT, tuple[Run, ReaderT]] = {}

    def run(self, key: KeyT | None) -> Run | None:
        """Return the run of a subagent; ``None`` if there is none."""
        found = None if key is None else self._at_work.get(key)
        return None if found is None else found[0]

    def read(
        self, key: KeyT, parent: Run, name: str, read: Callable[[ReaderT], Sequence[AgentItem]]
    ) -> list[AgentItem]:
        """Return the events of what a subagent says; it begins with the first."""
        begun: list[AgentItem] = []
        if key not in self._at_work:
            run = parent.subagent(name)
            self._at_work[key] = run, self._reader(run)
            begun += run.start()
        run, reader = self._at_work[key]
        return [*begun, *_shown(run, read(reader))]

    def end(self, wanted: Callable[[KeyT], bool] = lambda _: True) -> list[AgentItem]:
        """Return the last events of subagents: of all, or those wanted. The newest ends first."""
        ended: list[AgentItem] = []
        for key in [key for key in reversed(self._at_work) if wanted(key)]:
            run, reader = self._at_work.pop(key)
            ended += [*_shown(run, reader.close()), *run.finish()]
        return ended


def _shown(run: Run, items: Sequence[Any]) -> list[AgentItem]:
    return [event for item in items for event in run.receive(item)]
