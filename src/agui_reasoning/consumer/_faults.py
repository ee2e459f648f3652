"""The violations: what each says, and what the producer should do. Ids and types are named, values never."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_reasoning.consumer._notices import cut, quoted
from agui_reasoning.errors import RemoteProtocolError, TruncatedRunError

__all__ = [
    "already_open",
    "chunk_ambiguous",
    "chunk_conflict",
    "chunk_without_id",
    "left_open",
    "malformed",
    "not_open",
    "owner_mismatch",
    "run_order",
    "subagent_order",
    "truncated",
]

_IDS = ("messageId", "toolCallId", "entityId", "stepName", "subagentRunId", "runId")
_PARENT = "the parent agent"
_NAMED: Final = 10  # of what is left open: there may be a hundred thousand


def entity_of(event: Mapping[str, Any]) -> str | None:
    """The id of what an event is about, if it names anything."""
    return next((value for name in _IDS if isinstance(value := event.get(name), str)), None)


def type_of(event: Mapping[str, Any]) -> str:
    """The type of an event, or what stands for it."""
    kind = event.get("type")
    return str.__str__(kind) if isinstance(kind, str) and kind else "The event"


def owner_name(owner: str | None) -> str:
    """A subagent, or the parent agent, as it is called in a message."""
    return _PARENT if owner is None else f"subagent {quoted(owner)}"


def malformed(event: Mapping[str, Any], path: str, expected: str, state: str) -> RemoteProtocolError:
    """A described field is missing or has a wrong value."""
    return RemoteProtocolError(
        f"{type_of(event)} is malformed at {cut(path) or '/'}: expected {expected}.",
        code="malformed_event",
        hint="Send the field as the protocol describes it; leave an optional one out, never send null.",
        event_type=type_of(event),
        message_id=entity_of(event),
        state=state,
    )


def run_order(event: Mapping[str, Any], problem: str, state: str) -> RemoteProtocolError:
    """An event outside a run, or a run inside a run."""
    return RemoteProtocolError(
        f"{type_of(event)} {problem}",
        code="run_order",
        hint="Begin with RUN_STARTED, end with RUN_FINISHED or RUN_ERROR, and begin the next run after that.",
        event_type=type_of(event),
        message_id=entity_of(event),
        state=state,
    )


def not_open(event: Mapping[str, Any], noun: str, name: str, opener: str, state: str) -> RemoteProtocolError:
    """Content or an end for what nothing has opened."""
    return RemoteProtocolError(
        f"{type_of(event)}: no {noun} {quoted(name)} is open.",
        code="not_open",
        hint=f"Send {opener} for it first, and nothing after its end.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def already_open(event: Mapping[str, Any], noun: str, name: str, state: str) -> RemoteProtocolError:
    """A start for what is open."""
    return RemoteProtocolError(
        f"{type_of(event)}: the {noun} {quoted(name)} is already open.",
        code="already_open",
        hint="End it first, or use another id.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def left_open(event: Mapping[str, Any], things: Sequence[str], state: str) -> RemoteProtocolError:
    """RUN_FINISHED while something is open."""
    more = f" and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
    return RemoteProtocolError(
        f"{type_of(event)} while these are still open: {', '.join(things[:_NAMED])}{more}.",
        code="left_open",
        hint="End everything before RUN_FINISHED; where that cannot be done, send RUN_ERROR instead.",
        event_type=type_of(event),
        message_id=entity_of(event),
        state=state,
    )


def owner_mismatch(
    event: Mapping[str, Any], noun: str, name: str, owner: str | None, state: str
) -> RemoteProtocolError:
    """A subagentRunId that disagrees with whose the thing is."""
    return RemoteProtocolError(
        f"{type_of(event)} is attributed to {owner_name(event.get('subagentRunId'))}, which does not match "
        f"the {noun} {quoted(name)} of {owner_name(owner)}.",
        code="owner_mismatch",
        hint="Repeat the opener's subagentRunId, or leave it out.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def subagent_order(event: Mapping[str, Any], name: str, problem: str, state: str) -> RemoteProtocolError:
    """A subagent's life cycle out of order."""
    return RemoteProtocolError(
        f"{type_of(event)}: the subagent {quoted(name)} {problem}.",
        code="subagent_order",
        hint="Announce each invocation once with SUBAGENT_STARTED, its parent before it, and end it once.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def chunk_without_id(event: Mapping[str, Any], field: str, state: str) -> RemoteProtocolError:
    """A chunk that would have to open something and does not say what."""
    return RemoteProtocolError(
        f"The first {type_of(event)} must have a {field}: nothing is open that it could continue.",
        code="chunk_without_id",
        hint=f"Send {field} on the first chunk, and again after anything that closed what it opened.",
        event_type=type_of(event),
        message_id=entity_of(event),
        state=state,
    )


def chunk_conflict(event: Mapping[str, Any], name: str, field: str, state: str) -> RemoteProtocolError:
    """A chunk that repeats a field with another value."""
    return RemoteProtocolError(
        f"{type_of(event)}: its {field} does not match the one that {quoted(name)} was opened with.",
        code="chunk_conflict",
        hint=f"Repeat the opener's {field}, or leave it out.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def chunk_ambiguous(event: Mapping[str, Any], field: str, state: str) -> RemoteProtocolError:
    """A chunk that could continue several things."""
    return RemoteProtocolError(
        f"{type_of(event)} is ambiguous: it has no {field} and no subagentRunId, and several lanes are open.",
        code="chunk_ambiguous",
        hint="Put the subagentRunId on every chunk.",
        event_type=type_of(event),
        message_id=None,
        state=state,
    )


def truncated(begun: bool) -> TruncatedRunError:
    """The stream ended where no run may end."""
    where = "ended without a terminal event" if begun else "ended before any run began"
    hint = (
        "The run has no outcome: the connection was probably cut. What was delivered is kept."
        if begun
        else "The connection was probably cut, or this is no AG-UI stream: the first event is RUN_STARTED."
    )
    return TruncatedRunError(
        f"The stream {where}.",
        code="truncated_run",
        hint=hint,
        state="running" if begun else "idle",
    )
