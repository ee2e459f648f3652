"""What is said of a stream: notices of problems, and errors that end its run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agui_reasoning._escaping import one_line
from agui_reasoning.errors import AGUIReasoningWarning, RemoteProtocolError, TruncatedRunError

_MAX_NAME_CHARS: Final = 120


def cut(name: str) -> str:
    """Shorten a path or type for messages."""
    return name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}…"


def quoted(name: str) -> str:
    """Shorten and quote an ID or name for messages."""
    return repr(cut(name))


@dataclass(frozen=True, slots=True)
class Notice:
    """A problem that does not end the run, such as a removed member.

    Attributes:
        code: A stable identifier, and the name of its page under ``docs/reference/findings``.
        message: The problem in one sentence, without reasoning text or values.
        remedy: The solution for the producer, in one sentence.
    """

    code: str
    message: str
    remedy: str


NoticeSink: TypeAlias = Callable[[Notice], None]
"""Receives notices."""


def notice_sink(on_warning: Callable[[str], None] | None) -> NoticeSink:
    """Return a sink that passes each message to ``on_warning``, or to Python's ``warnings``."""

    def sink(notice: Notice) -> None:
        if on_warning is None:
            warnings.warn(notice.message, AGUIReasoningWarning, stacklevel=2)
        else:
            on_warning(one_line(notice.message))  # it may quote a type or an ID, and goes to logs

    return sink


_IDS = ("messageId", "toolCallId", "entityId", "stepName", "subagentRunId", "runId")
_PARENT = "the parent agent"
_NAMED: Final = 10  # of things of which there can be many thousands


def type_of(event: Mapping[str, Any]) -> str:
    """Return the type of an event, or "The event" if it has none."""
    kind = event.get("type")
    return str.__str__(kind) if isinstance(kind, str) and kind else "The event"


def owner_name(owner: str | None) -> str:
    """Return the name of a subagent, or of the parent agent, for messages."""
    return _PARENT if owner is None else f"subagent {quoted(owner)}"


def listed(things: Sequence[str]) -> str:
    """Name the first few."""
    more = f" and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
    return f"{', '.join(things[:_NAMED])}{more}"


def _about(event: Mapping[str, Any], state: str, name: str | None = None) -> dict[str, Any]:
    """Return what an error says beside its message; ``name`` is that of the item, if the event names more."""
    if name is None:
        name = next((value for member in _IDS if isinstance(value := event.get(member), str)), None)
    return {"event_type": type_of(event), "message_id": name, "state": state}


def malformed(event: Mapping[str, Any], path: str, expected: str, state: str) -> RemoteProtocolError:
    """Return the error for a known field that is missing or invalid."""
    message = f"{type_of(event)} is malformed at {cut(path) or '/'}: expected {expected}."
    hint = "Send the field as the protocol describes it; omit optional fields instead of sending null."
    return RemoteProtocolError(message, code="malformed_event", hint=hint, **_about(event, state))


def run_order(event: Mapping[str, Any], problem: str, state: str) -> RemoteProtocolError:
    """Return the error for an event outside a run, or for a run inside a run."""
    hint = "Begin with RUN_STARTED, end with RUN_FINISHED or RUN_ERROR, and begin the next run after that."
    message = f"{type_of(event)} {problem}"
    return RemoteProtocolError(message, code="run_order", hint=hint, **_about(event, state))


def not_open(event: Mapping[str, Any], noun: str, name: str, opener: str, state: str) -> RemoteProtocolError:
    """Return the error for content or an end without a start."""
    message = f"{type_of(event)}: no {noun} {quoted(name)} is open."
    hint = f"Send {opener} first, and nothing after the end."
    return RemoteProtocolError(message, code="not_open", hint=hint, **_about(event, state, name))


def already_open(event: Mapping[str, Any], noun: str, name: str, state: str) -> RemoteProtocolError:
    """Return the error for a start of an open item."""
    message = f"{type_of(event)}: the {noun} {quoted(name)} is already open."
    hint = "End it first, or use another ID."
    return RemoteProtocolError(message, code="already_open", hint=hint, **_about(event, state, name))


def run_identity(event: Mapping[str, Any], problem: str, state: str) -> RemoteProtocolError:
    """Return the error for IDs of a run or thread that change."""
    hint = "Send threadId and runId of the input with the first and last event; one thread per stream."
    message = f"{type_of(event)} {problem}."
    return RemoteProtocolError(message, code="run_identity", hint=hint, **_about(event, state))


def duplicate_interrupt(event: Mapping[str, Any], name: str, state: str) -> RemoteProtocolError:
    """Return the error for two interrupts that one answer would cover."""
    hint = "Give each interrupt of a run its own ID, because one answer would cover both."
    message = f"{type_of(event)} has two interrupts with the id {quoted(name)}."
    return RemoteProtocolError(message, code="duplicate_interrupt", hint=hint, **_about(event, state))


def left_open(event: Mapping[str, Any], things: Sequence[str], state: str) -> RemoteProtocolError:
    """Return the error for RUN_FINISHED while items are open."""
    message = f"{type_of(event)} while these are still open: {listed(things)}."
    hint = "End everything before RUN_FINISHED, or send RUN_ERROR instead."
    return RemoteProtocolError(message, code="left_open", hint=hint, **_about(event, state))


def owner_mismatch(
    event: Mapping[str, Any], noun: str, name: str, owner: str | None, state: str
) -> RemoteProtocolError:
    """Return the error for a subagentRunId that differs from the owner's."""
    message = (
        f"{type_of(event)} is attributed to {owner_name(event.get('subagentRunId'))}, which does not match "
        f"the {noun} {quoted(name)} of {owner_name(owner)}."
    )
    hint = "Repeat the opener's subagentRunId, or omit it."
    return RemoteProtocolError(message, code="owner_mismatch", hint=hint, **_about(event, state, name))


def subagent_order(event: Mapping[str, Any], name: str, problem: str, state: str) -> RemoteProtocolError:
    """Return the error for a violation of a subagent's life cycle."""
    message = f"{type_of(event)}: the subagent {quoted(name)} {problem}."
    hint = "Start each subagent once with SUBAGENT_STARTED, after its parent, and end it once."
    return RemoteProtocolError(message, code="subagent_order", hint=hint, **_about(event, state, name))


def chunk_without_id(event: Mapping[str, Any], field: str, state: str) -> RemoteProtocolError:
    """Return the error for a first chunk without a required field."""
    message = f"The first {type_of(event)} must have a {field}: there is no open item to continue."
    hint = f"Send {field} with the first chunk, and again after an event that closes the item."
    return RemoteProtocolError(message, code="chunk_without_id", hint=hint, **_about(event, state))


def chunk_conflict(event: Mapping[str, Any], name: str, field: str, state: str) -> RemoteProtocolError:
    """Return the error for a chunk that repeats a field with another value."""
    message = f"{type_of(event)}: its {field} does not match that of the chunk that opened {quoted(name)}."
    hint = f"Repeat the opener's {field}, or omit it."
    return RemoteProtocolError(message, code="chunk_conflict", hint=hint, **_about(event, state, name))


def chunk_ambiguous(event: Mapping[str, Any], field: str, state: str) -> RemoteProtocolError:
    """Return the error for a chunk that could continue several items."""
    kind = type_of(event)
    message = f"{kind} is ambiguous: it has no {field} and no subagentRunId, and several lanes are open."
    hint = "Send the subagentRunId with every chunk."
    return RemoteProtocolError(message, code="chunk_ambiguous", hint=hint, **_about(event, state))


def truncated(begun: bool) -> TruncatedRunError:
    """Return the error for a stream that ended inside a run, or before one."""
    where = "ended without a terminal event" if begun else "ended before any run began"
    hint = (
        "The run has no outcome, probably because the connection was lost. Received content is kept."
        if begun
        else "The connection was probably lost, or this is not an AG-UI stream: those begin with RUN_STARTED."
    )
    return TruncatedRunError(
        f"The stream {where}.", code="truncated_run", hint=hint, state="running" if begun else "idle"
    )
