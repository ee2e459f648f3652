"""What stands around the events of a run: RUN_STARTED to RUN_FINISHED, or those of a subagent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ag_ui.core import (
    Event,
    Interrupt,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
    TokenUsage,
)

from agui_reasoning._hint import hint
from agui_reasoning.protocol import PROTOCOL_VERSION

__all__ = ["Ending", "Frame", "RunFrame", "SubagentFrame"]

CANCELLED_SENTENCE = "The run was cancelled."
CANCELLED_CODE = "cancelled"


@dataclass(frozen=True, slots=True)
class Ending:
    """What a run ends with."""

    now: int | None
    usage: list[TokenUsage] | None
    interrupts: Sequence[Interrupt] = ()
    pending: Sequence[str] = ()
    result: Any = None
    finish_reason: str | None = None

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What the last event says of the last response."""
        return hint({"finishReason": self.finish_reason}) if self.finish_reason else None


class Frame(Protocol):
    """Makes the first and the last event, and marks those between."""

    def started(self, now: int | None) -> Event:
        """The first event."""

    def finished(self, end: Ending) -> Event:
        """The last event of success."""

    def cancelled(self, end: Ending, *, begun: bool) -> Event:
        """The last event when someone stopped it."""

    def failed(self, end: Ending, message: str, code: str | None) -> Event:
        """The last event of a failure."""

    def mark(self, events: list[Event]) -> list[Event]:
        """The events between, as they go out."""


@dataclass(frozen=True, slots=True)
class RunFrame:
    """The frame of a run.

    Attributes:
        modern: The client declares a protocol version, and so knows the outcomes of 1.0.
    """

    thread_id: str
    run_id: str
    modern: bool

    def started(self, now: int | None) -> Event:
        """RUN_STARTED."""
        return RunStartedEvent(
            thread_id=self.thread_id, run_id=self.run_id, protocol_version=PROTOCOL_VERSION, timestamp=now
        )

    def finished(self, end: Ending) -> Event:
        """RUN_FINISHED."""
        return self._finished(end, self._outcome(end))

    def _outcome(self, end: Ending) -> Any:
        if end.interrupts:
            return RunFinishedInterruptOutcome(type="interrupt", interrupts=list(end.interrupts))
        if end.pending and self.modern:
            return RunFinishedSuccessOutcome(type="success", pending_tool_call_ids=list(end.pending))
        return None

    def _finished(self, end: Ending, outcome: Any) -> Event:
        return RunFinishedEvent(
            thread_id=self.thread_id,
            run_id=self.run_id,
            outcome=outcome,
            result=end.result,
            usage=end.usage,
            metadata=end.metadata,
            timestamp=end.now,
        )

    def cancelled(self, end: Ending, *, begun: bool) -> Event:
        """RUN_FINISHED for clients that know the outcome, else RUN_ERROR."""
        if self.modern and begun:
            return self._finished(end, RunFinishedCancelledOutcome(type="cancelled"))
        return self.failed(end, CANCELLED_SENTENCE, CANCELLED_CODE)

    def failed(self, end: Ending, message: str, code: str | None) -> Event:
        """RUN_ERROR."""
        return RunErrorEvent(message=message, code=code, usage=end.usage, timestamp=end.now)

    def mark(self, events: list[Event]) -> list[Event]:
        """The events are the run's own."""
        return events


@dataclass(frozen=True, slots=True)
class SubagentFrame:
    """The frame of a subagent inside a run. Everything it emits carries its id."""

    id: str
    name: str
    parent_id: str | None = None

    def started(self, now: int | None) -> Event:
        """SUBAGENT_STARTED."""
        return SubagentStartedEvent(
            subagent_run_id=self.id, name=self.name, parent_subagent_run_id=self.parent_id, timestamp=now
        )

    def finished(self, end: Ending) -> Event:
        """SUBAGENT_FINISHED."""
        ids = [interrupt.id for interrupt in end.interrupts]
        outcome = SubagentFinishedSuspendedOutcome(type="suspended", interrupt_ids=ids) if ids else None
        return SubagentFinishedEvent(
            subagent_run_id=self.id, outcome=outcome, result=end.result, timestamp=end.now
        )

    def cancelled(self, end: Ending, *, begun: bool) -> Event:
        """SUBAGENT_ERROR."""
        return self.failed(end, CANCELLED_SENTENCE, CANCELLED_CODE)

    def failed(self, end: Ending, message: str, code: str | None) -> Event:
        """SUBAGENT_ERROR."""
        return SubagentErrorEvent(subagent_run_id=self.id, message=message, code=code, timestamp=end.now)

    def mark(self, events: list[Event]) -> list[Event]:
        """Attribute events to the subagent, but for those that are attributed already."""
        return [
            event
            if getattr(event, "subagent_run_id", None) is not None
            else event.model_copy(update={"subagent_run_id": self.id})
            for event in events
        ]
