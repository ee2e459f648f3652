"""The first and last events of a run or of a subagent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

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
from agui_reasoning._strict_json import well_formed
from agui_reasoning.deltas import UsageDelta
from agui_reasoning.protocol import PROTOCOL_VERSION

__all__ = ["Ending", "Frame", "RunFrame", "SubagentFrame", "usage_of"]

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
)

_MAX_COUNT = 2**53 - 1
"""The largest count that AG-UI accepts. Negative counts are ignored."""

CANCELLED_SENTENCE = "The run was cancelled."
CANCELLED_CODE = "cancelled"

_CREDENTIALS: Final = frozenset({"fallback_credit_token"})
"""Members of the details that only the server may use."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The contents of a run's last event."""

    now: int | None
    usage: list[TokenUsage] | None
    interrupts: Sequence[Interrupt] = ()
    pending: Sequence[str] = ()
    result: Any = None
    finish_reason: str | None = None
    finish_details: Mapping[str, Any] | None = None

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The finish reason of the last response and what the provider says about it, as metadata."""
        if not self.finish_reason:
            return None
        details = well_formed(dict(self.finish_details or {}))
        told = {name: value for name, value in details.items() if name not in _CREDENTIALS}
        return hint({"finishReason": self.finish_reason} | ({"finishDetails": told} if told else {}))


class Frame(Protocol):
    """Creates the first and last events, and marks those in between."""

    def started(self, now: int | None) -> Event:
        """Return the first event."""

    def finished(self, end: Ending) -> Event:
        """Return the last event of a successful run."""

    def cancelled(self, end: Ending, *, begun: bool) -> Event:
        """Return the last event of a cancelled run."""

    def failed(self, end: Ending, message: str, code: str | None) -> Event:
        """Return the last event of a failed run."""

    def mark(self, events: list[Event]) -> list[Event]:
        """Return the events in between as they are sent."""


@dataclass(frozen=True, slots=True)
class RunFrame:
    """The frame of a run.

    Attributes:
        modern: Whether the client declares a protocol version, and thus supports the outcomes of 1.0.
    """

    thread_id: str
    run_id: str
    modern: bool

    def started(self, now: int | None) -> Event:
        """Return RUN_STARTED."""
        return RunStartedEvent(
            thread_id=self.thread_id, run_id=self.run_id, protocol_version=PROTOCOL_VERSION, timestamp=now
        )

    def finished(self, end: Ending) -> Event:
        """Return RUN_FINISHED."""
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
        """Return RUN_FINISHED for clients that support the outcome, else RUN_ERROR."""
        if self.modern and begun:
            return self._finished(end, RunFinishedCancelledOutcome(type="cancelled"))
        return self.failed(end, CANCELLED_SENTENCE, CANCELLED_CODE)

    def failed(self, end: Ending, message: str, code: str | None) -> Event:
        """Return RUN_ERROR."""
        return RunErrorEvent(message=message, code=code, usage=end.usage, timestamp=end.now)

    def mark(self, events: list[Event]) -> list[Event]:
        """Return the events unchanged."""
        return events


@dataclass(frozen=True, slots=True)
class SubagentFrame:
    """The frame of a subagent inside a run. Its events carry its ID."""

    id: str
    name: str
    parent_id: str | None = None

    def started(self, now: int | None) -> Event:
        """Return SUBAGENT_STARTED."""
        return SubagentStartedEvent(
            subagent_run_id=self.id, name=self.name, parent_subagent_run_id=self.parent_id, timestamp=now
        )

    def finished(self, end: Ending) -> Event:
        """Return SUBAGENT_FINISHED."""
        ids = [interrupt.id for interrupt in end.interrupts]
        outcome = SubagentFinishedSuspendedOutcome(type="suspended", interrupt_ids=ids) if ids else None
        return SubagentFinishedEvent(
            subagent_run_id=self.id, outcome=outcome, result=end.result, timestamp=end.now
        )

    def cancelled(self, end: Ending, *, begun: bool) -> Event:
        """Return SUBAGENT_ERROR."""
        return self.failed(end, CANCELLED_SENTENCE, CANCELLED_CODE)

    def failed(self, end: Ending, message: str, code: str | None) -> Event:
        """Return SUBAGENT_ERROR."""
        return SubagentErrorEvent(subagent_run_id=self.id, message=message, code=code, timestamp=end.now)

    def mark(self, events: list[Event]) -> list[Event]:
        """Attribute events to the subagent, unless they are already attributed."""
        return [
            event
            if getattr(event, "subagent_run_id", None) is not None
            else event.model_copy(update={"subagent_run_id": self.id})
            for event in events
        ]


def usage_of(counts: Sequence[UsageDelta]) -> list[TokenUsage] | None:
    """Return one entry per provider and model; ``None`` if nothing was reported."""
    entries: dict[tuple[str | None, str | None], dict[str, int]] = {}
    for count in counts:
        entry = entries.setdefault((count.provider, count.model), {})
        for name in _COUNTS:
            value = getattr(count, name)
            if value is not None and value >= 0:
                entry[name] = min(entry.get(name, 0) + value, _MAX_COUNT)
    usage = [TokenUsage(provider=who, model=model, **sums) for (who, model), sums in entries.items() if sums]
    return usage or None
