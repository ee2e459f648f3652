"""The errors for protocol violations. They contain IDs and types, but no values."""

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
_NAMED: Final = 10  # of the open items, of which there can be many thousands


def entity_of(event: Mapping[str, Any]) -> str | None:
    """Return the ID of the entity that an event refers to, if any."""
    return next((value for name in _IDS if isinstance(value := event.get(name), str)), None)


def type_of(event: Mapping[str, Any]) -> str:
    """Return the type of an event, or "The event" if it has none."""
    kind = event.get("type")
    return str.__str__(kind) if isinstance(kind, str) and kind else "The event"


def owner_name(owner: str | None) -> str:
    """Return the name of a subagent, or of the parent agent, for messages."""
    return _PARENT if owner is None else f"subagent {quoted(owner)}"


def malformed(event: Mapping[str, Any], path: str, expected: str, state: str) -> RemoteProtocolError:
    """Return the error for a known field that is missing or invalid."""
    return RemoteProtocolError(
        f"{type_of(event)} is malformed at {cut(path) or '/'}: expected {expected}.",
        code="malformed_event",
        hint="Send the field as the protocol describes it; omit optional fields instead of sending null.",
        event_type=type_of(event),
        message_id=entity_of(event),
        state=state,
    )


def run_order(event: Mapping[str, Any], problem: str, state: str) -> RemoteProtocolError:
    """Return the error for an event outside a run, or for a run inside a run."""
    return RemoteProtocolError(
        f"{type_of(event)} {problem}",
        code="run_order",
        hint="Begin with RUN_STARTED, end with RUN_FINISHED or RUN_ERROR, and begin the next run after that.",
        event_type=type_of(event),
        message_id=entity_of(event),
        state=state,
    )


def not_open(event: Mapping[str, Any], noun: str, name: str, opener: str, state: str) -> RemoteProtocolError:
    """Return the error for content or an end without a start."""
    return RemoteProtocolError(
        f"{type_of(event)}: no {noun} {quoted(name)} is open.",
        code="not_open",
        hint=f"Send {opener} first, and nothing after the end.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def already_open(event: Mapping[str, Any], noun: str, name: str, state: str) -> RemoteProtocolError:
    """Return the error for a start of an open item."""
    return RemoteProtocolError(
        f"{type_of(event)}: the {noun} {quoted(name)} is already open.",
        code="already_open",
        hint="End it first, or use another ID.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def left_open(event: Mapping[str, Any], things: Sequence[str], state: str) -> RemoteProtocolError:
    """Return the error for RUN_FINISHED while items are open."""
    more = f" and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
    return RemoteProtocolError(
        f"{type_of(event)} while these are still open: {', '.join(things[:_NAMED])}{more}.",
        code="left_open",
        hint="End everything before RUN_FINISHED, or send RUN_ERROR instead.",
        event_type=type_of(event),
        message_id=entity_of(event),
        state=state,
    )


def owner_mismatch(
    event: Mapping[str, Any], noun: str, name: str, owner: str | None, state: str
) -> RemoteProtocolError:
    """Return the error for a subagentRunId that differs from the owner's."""
    return RemoteProtocolError(
        f"{type_of(event)} is attributed to {owner_name(event.get('subagentRunId'))}, which does not match "
        f"the {noun} {quoted(name)} of {owner_name(owner)}.",
        code="owner_mismatch",
        hint="Repeat the opener's subagentRunId, or omit it.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def subagent_order(event: Mapping[str, Any], name: str, problem: str, state: str) -> RemoteProtocolError:
    """Return the error for a violation of a subagent's life cycle."""
    return RemoteProtocolError(
        f"{type_of(event)}: the subagent {quoted(name)} {problem}.",
        code="subagent_order",
        hint="Start each subagent once with SUBAGENT_STARTED, after its parent, and end it once.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def chunk_without_id(event: Mapping[str, Any], field: str, state: str) -> RemoteProtocolError:
    """Return the error for a first chunk without a required field."""
    return RemoteProtocolError(
        f"The first {type_of(event)} must have a {field}: there is no open item to continue.",
        code="chunk_without_id",
        hint=f"Send {field} with the first chunk, and again after an event that closes the item.",
        event_type=type_of(event),
        message_id=entity_of(event),
        state=state,
    )


def chunk_conflict(event: Mapping[str, Any], name: str, field: str, state: str) -> RemoteProtocolError:
    """Return the error for a chunk that repeats a field with another value."""
    return RemoteProtocolError(
        f"{type_of(event)}: its {field} does not match that of the chunk that opened {quoted(name)}.",
        code="chunk_conflict",
        hint=f"Repeat the opener's {field}, or omit it.",
        event_type=type_of(event),
        message_id=name,
        state=state,
    )


def chunk_ambiguous(event: Mapping[str, Any], field: str, state: str) -> RemoteProtocolError:
    """Return the error for a chunk that could continue several items."""
    return RemoteProtocolError(
        f"{type_of(event)} is ambiguous: it has no {field} and no subagentRunId, and several lanes are open.",
        code="chunk_ambiguous",
        hint="Send the subagentRunId with every chunk.",
        event_type=type_of(event),
        message_id=None,
        state=state,
    )


def truncated(begun: bool) -> TruncatedRunError:
    """Return the error for a stream that ended inside a run, or before one."""
    where = "ended without a terminal event" if begun else "ended before any run began"
    hint = (
        "The run has no outcome, probably because the connection was lost. Received content is kept."
        if begun
        else "The connection was probably lost, or this is not an AG-UI stream: those begin with RUN_STARTED."
    )
    return TruncatedRunError(
        f"The stream {where}.",
        code="truncated_run",
        hint=hint,
        state="running" if begun else "idle",
    )
