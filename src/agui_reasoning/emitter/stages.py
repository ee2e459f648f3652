"""Stages behind the emitter: events in, events out. The state machine knows nothing of them.

They are composed in the order given by ``stages=``; each keeps state of its own, so make new ones per run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ag_ui.core import (
    Event,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from agui_reasoning.errors import ConfigurationError

__all__ = ["Chunks", "Coalesce", "Stage", "Steps", "run_stages"]


class Stage(Protocol):
    """A step from events to events."""

    def receive(self, event: Event) -> list[Event]:
        """Take one event; give what goes on now."""

    def close(self) -> list[Event]:
        """Give what was held back; nothing more comes."""


def run_stages(stages: Sequence[Stage], events: Iterable[Event], *, close: bool = False) -> list[Event]:
    """Send events through stages, and (``close``) what the stages hold back after them."""
    out = list(events)
    for stage in stages:
        out = [passed for event in out for passed in stage.receive(event)]
        if close:
            out += stage.close()
    return out


class Chunks:
    """Writes messages and calls in the ``*_CHUNK`` shorthand, without START and END.

    Every chunk carries its id, so that it stays right whatever else stands between; a chunk of a call that
    does not follow one of the same call names its tool again, because it opens the call once more. The end
    of a message is told only when it has metadata.

    Source:
        AG-UI 1.0, streaming patterns: chunks close on another id, on an explicit event, or with the run.
    """

    def __init__(self) -> None:
        self._openers: dict[str, ToolCallStartEvent] = {}
        self._last: str | None = None

    def receive(self, event: Event) -> list[Event]:
        """Turn one event of a triad into chunks; others pass."""
        if isinstance(event, ToolCallStartEvent):
            self._openers[event.tool_call_id] = event
        handler = _CHUNKS.get(type(event))
        if handler is None:
            self._last = None
            return [event]
        chunks = handler(event)
        for chunk in chunks:
            self._name(chunk)
        return chunks

    def _name(self, chunk: Any) -> None:
        call_id = chunk.tool_call_id if isinstance(chunk, ToolCallChunkEvent) else None
        opener = self._openers.get(call_id or "")
        if call_id != self._last and opener is not None:
            chunk.tool_call_name = opener.tool_call_name
            chunk.parent_message_id = opener.parent_message_id
        self._last = call_id

    def close(self) -> list[Event]:
        """Nothing is held back."""
        return []


class Coalesce:
    """Joins small deltas of one message or call until they have a given length.

    Whatever is not a delta of the same entity lets the held text go first, so order never changes.
    """

    def __init__(self, chars: int = 200) -> None:
        """Start empty.

        Args:
            chars: Characters at which held text goes out.

        Raises:
            ConfigurationError: ``chars`` is less than 1 (``bad_limit``).
        """
        if chars < 1:
            raise ConfigurationError(
                f"Coalesce joins up to {chars} characters.", code="bad_limit", hint="Use 1 or more."
            )
        self._chars = chars
        self._held: list[str] = []
        self._length = 0
        self._first: Any = None

    def receive(self, event: Event) -> list[Event]:
        """Hold a delta back, or let the held ones and the event go."""
        id_field = _DELTAS.get(type(event))
        if id_field is None or _carries_more(event):
            return [*self.close(), event]
        out = [] if self._continues(event, id_field) else self.close()
        self._first = self._first or event
        self._held.append(event.delta)  # type: ignore[union-attr, arg-type]
        self._length += len(self._held[-1])
        return out if self._length < self._chars else [*out, *self.close()]

    def close(self) -> list[Event]:
        """Let the held text go."""
        first, held = self._first, self._held
        if first is None:
            return []
        self._first, self._held, self._length = None, [], 0
        return [first if len(held) == 1 else first.model_copy(update={"delta": "".join(held)})]

    def _continues(self, event: Event, id_field: str) -> bool:
        first = self._first
        return (
            type(first) is type(event)
            and getattr(first, id_field) == getattr(event, id_field)
            and first.subagent_run_id == event.subagent_run_id  # type: ignore[union-attr]
        )


class Steps:
    """Wraps each reasoning message in STEP_STARTED and STEP_FINISHED, named by the message.

    Without them TanStack merges all reasoning of an answer into one part and keeps only the last value.
    """

    def __init__(self) -> None:
        self._open: dict[str, None] = {}

    def receive(self, event: Event) -> list[Event]:
        """Open a step before a reasoning message and finish it behind."""
        if isinstance(event, ReasoningMessageStartEvent):
            self._open[event.message_id] = None
            return [StepStartedEvent(step_name=event.message_id), event]
        if isinstance(event, ReasoningMessageEndEvent) and event.message_id in self._open:
            del self._open[event.message_id]
            return [event, StepFinishedEvent(step_name=event.message_id)]
        return [event]

    def close(self) -> list[Event]:
        """Finish steps whose message never ended."""
        names, self._open = list(self._open), {}
        return [StepFinishedEvent(step_name=name) for name in names]


_DELTAS: dict[type, str] = {
    ReasoningMessageContentEvent: "message_id",
    TextMessageContentEvent: "message_id",
    ToolCallArgsEvent: "tool_call_id",
}


def _carries_more(event: Any) -> bool:
    return event.metadata is not None or event.raw_event is not None or event.timestamp is not None


def _common(event: Any) -> dict[str, Any]:
    names = ("timestamp", "metadata", "raw_event", "subagent_run_id")
    return {name: value for name in names if (value := getattr(event, name)) is not None}


def _reasoning(event: Any, **more: Any) -> list[Event]:
    return [ReasoningMessageChunkEvent(message_id=event.message_id, **_common(event), **more)]


def _text(event: Any, **more: Any) -> list[Event]:
    return [TextMessageChunkEvent(message_id=event.message_id, **_common(event), **more)]


def _call(event: Any, **more: Any) -> list[Event]:
    return [ToolCallChunkEvent(tool_call_id=event.tool_call_id, **_common(event), **more)]


def _text_opener(event: TextMessageStartEvent) -> list[Event]:
    more = {"name": event.name} if event.name is not None else {}
    return _text(event, role=event.role, **more)


_CHUNKS: dict[type, Callable[[Any], list[Event]]] = {
    ReasoningMessageStartEvent: _reasoning,
    ReasoningMessageContentEvent: lambda event: _reasoning(event, delta=event.delta),
    ReasoningMessageEndEvent: lambda event: _reasoning(event) if event.metadata else [],
    TextMessageStartEvent: _text_opener,
    TextMessageContentEvent: lambda event: _text(event, delta=event.delta),
    TextMessageEndEvent: lambda event: _text(event) if event.metadata else [],
    ToolCallStartEvent: _call,
    ToolCallArgsEvent: lambda event: _call(event, delta=event.delta),
    ToolCallEndEvent: lambda event: _call(event) if event.metadata else [],
}
