"""Tracks the application's own events, and closes what they leave open at the end of a run."""

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
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_reasoning.parts import CUT_CALL_RESULT

__all__ = ["Passthrough"]


class Passthrough:
    """Tracks what the application opened, because a run must not finish while anything is open."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._open: dict[tuple[type, str], Event] = {}
        self._answered: set[str] = set()

    def note(self, event: Event) -> None:
        """Note what an event opens or closes."""
        kind = type(event)
        if kind in _ENDS:
            self._open[kind, getattr(event, _ENDS[kind][1])] = event
        elif kind in _STARTS:
            start, id_field = _STARTS[kind]
            self._open.pop((start, getattr(event, id_field)), None)
        elif isinstance(event, ToolCallResultEvent):
            self._answered.add(event.tool_call_id)

    def close(self) -> list[Event]:
        """Return the events that close everything open, last opened first. Open calls count as cut."""
        opened = list(reversed(self._open.items()))
        self._open.clear()
        events: list[Event] = []
        for (start, entity_id), event in opened:
            events.append(_end(start, entity_id, event))
            if start is ToolCallStartEvent and entity_id not in self._answered:
                events.append(self._result(entity_id, event))
        return events

    def _result(self, call_id: str, event: Any) -> Event:
        return ToolCallResultEvent(
            message_id=self._new_id(),
            tool_call_id=call_id,
            content=CUT_CALL_RESULT,
            role="tool",
            subagent_run_id=event.subagent_run_id,
        )


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
