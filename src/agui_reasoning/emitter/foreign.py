"""Events of the application's own, passed on in order, and closed when the run ends with them open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ag_ui.core import (
    Event,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

__all__ = ["Foreign"]


class Foreign:
    """Remembers what the application opened: a run must not finish while anything is open."""

    def __init__(self) -> None:
        self._open: dict[tuple[type, str], Event] = {}

    def see(self, event: Event) -> None:
        """Note what an event opens or closes."""
        kind = type(event)
        if kind in _ENDS:
            self._open[kind, getattr(event, _ENDS[kind][1])] = event
        elif kind in _STARTS:
            start, id_field = _STARTS[kind]
            self._open.pop((start, getattr(event, id_field)), None)

    def close(self) -> list[Event]:
        """The events that close what is open, the last opened first."""
        opened = list(reversed(self._open.items()))
        self._open.clear()
        return [_end(start, entity_id, event) for (start, entity_id), event in opened]


def _end(start: type, entity_id: str, event: Any) -> Event:
    end, id_field = _ENDS[start]
    tag = {} if start is SubagentStartedEvent else {"subagent_run_id": event.subagent_run_id}
    return end(**{id_field: entity_id}, **tag)


_ENDS: dict[type, tuple[Callable[..., Event], str]] = {
    TextMessageStartEvent: (TextMessageEndEvent, "message_id"),
    ToolCallStartEvent: (ToolCallEndEvent, "tool_call_id"),
    ReasoningStartEvent: (ReasoningEndEvent, "message_id"),
    ReasoningMessageStartEvent: (ReasoningMessageEndEvent, "message_id"),
    StepStartedEvent: (StepFinishedEvent, "step_name"),
    SubagentStartedEvent: (SubagentFinishedEvent, "subagent_run_id"),
}
_STARTS: dict[Any, tuple[type, str]] = {end: (start, field) for start, (end, field) in _ENDS.items()}
_STARTS[SubagentErrorEvent] = SubagentStartedEvent, "subagent_run_id"
