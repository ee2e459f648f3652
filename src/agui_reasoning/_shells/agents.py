"""Shows the agents below the root of a response as subagents of the run (OpenAI's multi-agent beta)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ag_ui.core import BaseEvent

from agui_reasoning.deltas import Delta, FinishDelta, NativeDelta, OpaqueDelta, ResponseStart
from agui_reasoning.providers._agents import OfAgent
from agui_reasoning.run import Run

__all__ = ["ModelAgents"]

_BOUNDS: Final = (FinishDelta, ResponseStart)
_CONCERNED: Final = frozenset({OfAgent, NativeDelta, *_BOUNDS})


class ModelAgents:
    """The agents at work in the current response, by name.

    A subagent only shows what its agent says: its items belong to the response, and go back with that.
    """

    def __init__(self, run: Run) -> None:
        """Start without agents."""
        self._run = run
        self._at_work: dict[str, Run] = {}
        self._start: ResponseStart | None = None

    def shown(self, deltas: Sequence[Delta]) -> Sequence[Delta | BaseEvent]:
        """Return the deltas of the response, and the events of the subagents in place of theirs."""
        if _CONCERNED.isdisjoint(map(type, deltas)):
            return deltas
        return [item for delta in deltas for item in self._items(delta)]

    def _items(self, delta: Any) -> Iterable[Delta | BaseEvent]:
        if isinstance(delta, OfAgent):
            # Its values are in its native part.
            return [] if isinstance(delta.delta, OpaqueDelta) else self._said(delta.agent, delta.delta)
        if isinstance(delta, _BOUNDS):
            if isinstance(delta, ResponseStart):
                self._start = delta
            return [*self._ended(), delta]
        if isinstance(delta, NativeDelta) and self._must_not_keep(delta):
            return []
        return [delta]

    def _must_not_keep(self, delta: NativeDelta) -> bool:
        """Return whether a block contains reasoning that the client must not see and could read."""
        return delta.kind == "openai.reasoning" and self._run.visibility != "full" and self._run.keys is None

    def _said(self, agent: str, delta: Delta) -> list[BaseEvent]:
        begun = self._begun(agent)
        return [*begun, *self._at_work[agent].receive(delta)]

    def _begun(self, agent: str) -> list[BaseEvent]:
        """Begin the subagent, after those above it."""
        if agent in self._at_work:
            return []
        above, _, name = agent.rpartition("/")
        is_below_another = above.strip("/").count("/") > 0
        events = self._begun(above) if is_below_another else []
        parent = self._at_work[above] if is_below_another else self._run
        run = self._at_work[agent] = parent.subagent(name or agent)
        origin = None if self._start is None else self._start.origin
        return [*events, *run.start(), *run.receive(ResponseStart(origin))]

    def _ended(self) -> list[BaseEvent]:
        """End all subagents, the newest first."""
        runs = list(reversed(self._at_work.values()))
        self._at_work.clear()
        return [event for run in runs for event in run.finish()]
