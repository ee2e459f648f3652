"""Validation of the input that a client sends for the next run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ag_ui.core import Context, ResumeEntry, Tool
from pydantic import BaseModel

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._enforce import inspect
from agui_reasoning.consumer._legacy import upgrade_message
from agui_reasoning.consumer._models import plain_json
from agui_reasoning.consumer._notices import Notice, NoticeSink, cut
from agui_reasoning.consumer._schema import MESSAGE, RUN_AGENT_INPUT
from agui_reasoning.consumer._schema_types import ANY, DROP, MalformedValue, SchemaType
from agui_reasoning.errors import LocalProtocolError

__all__ = [
    "UserContent",
    "check_interrupts",
    "clean_input",
    "clean_message",
    "clean_state",
    "outgoing_members",
]

UserContent: TypeAlias = str | Sequence[BaseModel | Mapping[str, Any]]
Member: TypeAlias = Tool | Context | ResumeEntry | Mapping[str, Any]

_HINT = "Pass it as the protocol describes it; omit optional fields instead of passing null."
_REMEDY = "Omit it, because the agent would not know it."


def clean_message(message: object, warn: NoticeSink) -> JSONObject | None:
    """Validate a message of the client, and remove unknown material.

    Returns:
        The known members of the message; ``None``, with a notice, if its role is unknown.

    Raises:
        LocalProtocolError: The message is malformed (``bad_message``).

    Source:
        AG-UI 1.1: C5 (binary parts are upgraded outbound too), C15.
    """
    members = plain_json(message)
    if members is None:
        raise _bad_message("", "a message or its JSON")
    cleaned = _clean(MESSAGE, upgrade_message(members)[0], "A message", warn)
    if isinstance(cleaned, MalformedValue):
        raise _bad_message(cleaned.path, cleaned.expected)
    return cleaned


def clean_state(state: Any) -> Any:
    """Copy a state as JSON. Models are converted.

    Raises:
        LocalProtocolError: The state cannot be represented as JSON (``bad_state``).
    """
    value = state.model_dump(by_alias=True, warnings=False) if isinstance(state, BaseModel) else state
    known, _, fault = inspect(ANY, value)
    if fault is not None:
        raise LocalProtocolError(
            f"The state cannot be sent: expected {fault.expected}.",
            code="bad_state",
            hint="Use objects, arrays, strings, finite numbers, booleans and null, without deep nesting.",
        )
    return known


def clean_input(run_input: JSONObject, warn: NoticeSink) -> JSONObject:
    """Validate the input of a run before it is sent.

    Raises:
        LocalProtocolError: The input is malformed (``bad_input``).

    Source:
        AG-UI 1.1, C15.
    """
    cleaned = _clean(RUN_AGENT_INPUT, run_input, "The run input", warn)
    if cleaned is None or isinstance(cleaned, MalformedValue):
        path, expected = ("", "a run input") if cleaned is None else (cleaned.path, cleaned.expected)
        raise LocalProtocolError(
            f"The run input is malformed at {cut(path) or '/'}: expected {expected}.",
            code="bad_input",
            hint=_HINT,
        )
    return cleaned


def outgoing_members(values: Iterable[Member]) -> list[Any]:
    """Convert tools, context and resume entries to JSON; other values are kept, and rejected later."""
    return [value if (members := plain_json(value)) is None else dict(members) for value in values]


def check_interrupts(interrupts: Iterable[JSONObject], resume: Iterable[Any], now: float | None) -> None:
    """Check that every interrupt has an answer, and in time.

    Raises:
        LocalProtocolError: An interrupt has no answer (``open_interrupt``), or has expired
            (``expired_interrupt``).

    Source:
        AG-UI 1.1, C56.
    """
    answers = {entry.get("interruptId"): entry for entry in resume if isinstance(entry, Mapping)}
    for interrupt in interrupts:
        answer = answers.get(interrupt["id"])
        if answer is None:
            raise LocalProtocolError(
                f"The interrupt {interrupt['id']!r} has no answer.",
                code="open_interrupt",
                hint="Pass a resume entry for each of `Conversation.interrupts`, resolved or cancelled.",
                message_id=interrupt["id"],
                state="interrupted",
            )
        if now is not None and answer.get("status") != "cancelled" and _expired(interrupt, now):
            raise LocalProtocolError(
                f"The interrupt {interrupt['id']!r} has expired.",
                code="expired_interrupt",
                hint="It can only be cancelled now.",
                message_id=interrupt["id"],
                state="interrupted",
            )


def _expired(interrupt: JSONObject, now: float) -> bool:
    try:
        expires = datetime.fromisoformat(interrupt["expiresAt"])
    except (KeyError, ValueError):
        return False  # absent, or not a date
    if expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    return expires.timestamp() <= now


def _clean(
    kind: SchemaType, value: Mapping[str, Any], what: str, warn: NoticeSink
) -> JSONObject | MalformedValue | None:
    known, removed, fault = inspect(kind, value)
    if fault is not None:
        return fault
    if known is DROP:
        warn(Notice("unknown_member", f"{what} is of an unknown kind and is removed.", _REMEDY))
        return None
    for path in removed:
        warn(
            Notice(
                "unknown_member", f"{what} has an unknown member at {cut(path)}, which is removed.", _REMEDY
            )
        )
    members: JSONObject = known
    return members


def _bad_message(path: str, expected: str) -> LocalProtocolError:
    return LocalProtocolError(
        f"The message is malformed at {cut(path) or '/'}: expected {expected}.",
        code="bad_message",
        hint=_HINT,
    )
