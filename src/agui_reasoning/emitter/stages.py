"""Stages that transform the emitter's events.

They run in the order given by ``stages=``. Each stage has state: create new ones for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ag_ui.core import (
    Event,
    ReasoningEncryptedValueEvent,
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
    """Transforms events."""

    def receive(self, event: Event) -> list[Event]:
        """Return the events to send in place of one event."""

    def close(self) -> list[Event]:
        """Return the events that were held back, at the end of the run."""


def run_stages(stages: Sequence[Stage], events: Iterable[Event], *, close: bool = False) -> list[Event]:
    """Send events through stages; ``close`` also sends what the stages held back."""
    out = list(events)
    for stage in stages:
        out = [passed for event in out for passed in stage.receive(event)]
        if close:
            out += stage.close()
    return out


class Chunks:
    """Writes messages and calls in the ``*_CHUNK`` shorthand, without START and END.

    Every chunk has its ID, so that interleaved entities stay apart. A chunk of a call that does not
    follow one of the same call repeats the tool name, because it reopens the call. Messages have an end event
    only if it has metadata.

    Source:
        AG-UI 1.0, streaming patterns: chunks close on another ID, on an explicit event, or with the run.
    """

    def __init__(self) -> None:
        self._openers: dict[str, ToolCallStartEvent] = {}
        self._last: str | None = None

    def receive(self, event: Event) -> list[Event]:
        """Turn one event of a triad into chunks; other events pass unchanged."""
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
        """Return nothing, because nothing is held back."""
        return []


class Coalesce:
    """Joins small deltas of one message or call up to a given length or age.

    Any other event first releases the held text, so that order never changes.
    """

    def __init__(self, chars: int = 200, ms: int | None = None) -> None:
        """Create the stage.

        Args:
            chars: The number of characters at which held text is sent.
            ms: The age in milliseconds at which held text is sent, by the clock of the run (``now_ms``). It
                is looked at when a delta arrives: while the model is silent, what is held waits.

        Raises:
            ConfigurationError: ``chars`` or ``ms`` is less than 1 (``bad_limit``).
        """
        for name, limit in (("chars", chars), ("ms", 1 if ms is None else ms)):
            if limit < 1:
                raise ConfigurationError(
                    f"`{name}` of `Coalesce` must be at least 1, got {limit}.",
                    code="bad_limit",
                    hint="Use 1 or more, or omit the stage.",
                )
        self._chars = chars
        self._ms = ms
        self._now_ms: Callable[[], int] | None = None
        self._since = 0
        self._held: list[str] = []
        self._length = 0
        self._first: Any = None

    def receive(self, event: Event) -> list[Event]:
        """Hold a delta back, or release the held ones and the event."""
        id_field = _DELTAS.get(type(event))
        if id_field is None or _carries_more(event):
            return [*self.close(), event]
        out = [] if self._continues(event, id_field) else self.close()
        now = 0 if self._ms is None or self._now_ms is None else self._now_ms()
        if self._first is None:
            self._first, self._since = event, now
        self._held.append(event.delta)  # type: ignore[union-attr, arg-type]
        self._length += len(self._held[-1])
        is_due = self._length >= self._chars or (self._ms is not None and now - self._since >= self._ms)
        return [*out, *self.close()] if is_due else out

    def close(self) -> list[Event]:
        """Release the held text."""
        first, held = self._first, self._held
        if first is None:
            return []
        self._first, self._held, self._length = None, [], 0
        return [first if len(held) == 1 else first.model_copy(update={"delta": "".join(held)})]

    def use_clock(self, now_ms: Callable[[], int] | None) -> None:
        """Take the clock of the run. The run calls this.

        Raises:
            ConfigurationError: The stage has ``ms``, but the run has no clock (``no_clock``).
        """
        if self._ms is not None and now_ms is None:
            raise ConfigurationError(
                "`Coalesce(ms=…)` needs a clock, and this run has none.",
                code="no_clock",
                hint="Pass now_ms=, a function that returns the Unix time in milliseconds.",
            )
        self._now_ms = now_ms

    def _continues(self, event: Event, id_field: str) -> bool:
        first = self._first
        return (
            type(first) is type(event)
            and getattr(first, id_field) == getattr(event, id_field)
            and first.subagent_run_id == event.subagent_run_id  # type: ignore[union-attr]
        )


class Steps:
    """Wraps each reasoning message in STEP_STARTED and STEP_FINISHED, named by the message.

    Without steps, TanStack merges all reasoning of an answer into one part and keeps only the last value. It
    adds text and values to the step that started last, so a message that continues, and a value of another
    message, start a step again.
    """

    def __init__(self) -> None:
        self._last: str | None = None
        self._open = False

    def receive(self, event: Event) -> list[Event]:
        """Start a step where reasoning or a value belongs to another message than the last step."""
        name = _step_of(event)
        if name is None:
            return [event]
        if isinstance(event, ReasoningMessageEndEvent):
            return [event, *self._finished()] if name == self._last else [event]
        started = [] if name == self._last else self._started(name)
        is_value = isinstance(event, ReasoningEncryptedValueEvent)
        return [*started, event, *(self._finished() if is_value and started else ())]

    def close(self) -> list[Event]:
        """Finish a step whose message never ended."""
        return self._finished()

    def _started(self, name: str) -> list[Event]:
        finished, self._last, self._open = self._finished(), name, True
        return [*finished, StepStartedEvent(step_name=name)]

    def _finished(self) -> list[Event]:
        if not self._open or self._last is None:
            return []
        self._open = False
        return [StepFinishedEvent(step_name=self._last)]


def _step_of(event: Event) -> str | None:
    """Return the message that an event of reasoning, or a value, belongs to."""
    if isinstance(event, _REASONING):
        return event.message_id
    if isinstance(event, ReasoningEncryptedValueEvent) and event.subtype == "message":
        return event.entity_id
    return None


_REASONING = (ReasoningMessageStartEvent, ReasoningMessageContentEvent, ReasoningMessageEndEvent)
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
