"""Enforcement: removes unknown material with a notice, and validates known material.

Driven by the table in `_schema`. Values are never coerced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agui_reasoning.consumer import _faults as faults
from agui_reasoning.consumer._notices import Notice, NoticeSink, cut
from agui_reasoning.consumer._schema import EVENTS
from agui_reasoning.consumer._schema_types import DROP, MalformedValue, SchemaType

__all__ = ["enforce", "inspect"]

_DEPTH = "fewer levels of nesting"
_LEAVE_OUT = "Send only known events and fields; put private data into CUSTOM or metadata."


def enforce(event: Mapping[str, Any], warn: NoticeSink, state: str = "") -> dict[str, Any] | None:
    """Validate an event, and remove unknown material.

    Args:
        event: The event's JSON; it is not modified.
        warn: Called with a notice for each removal.
        state: The state of the run, for the error.

    Returns:
        A copy of the event's known members; ``None`` if the event is unknown.

    Raises:
        RemoteProtocolError: A known field is missing or invalid (``malformed_event``).

    Source:
        AG-UI 1.1: C7 (unknown event), C8 (unknown property), C9 (unknown union member), C10 (malformed),
        C11 (closed sets), C12 (open objects).
    """
    name = event.get("type")
    if not isinstance(name, str) or not name:
        raise faults.malformed(event, "/type", "a string that is not empty", state)
    kind = EVENTS.get(str.__str__(name))
    if kind is None:
        message = f"{cut(faults.type_of(event))} is not an AG-UI event and is dropped."
        warn(Notice("unknown_event", message, _LEAVE_OUT))
        return None
    known, removed, fault = inspect(kind, event)
    if fault is not None:
        raise faults.malformed(event, fault.path, fault.expected, state)
    if known is DROP:
        message = (
            f"{faults.type_of(event)} has an unknown value in a required field, so the event is dropped."
        )
        warn(Notice("unknown_event", message, _LEAVE_OUT))
        return None
    for path in removed:
        warn(
            Notice(
                "unknown_member", f"{faults.type_of(event)}{cut(path)} is unknown and is removed.", _LEAVE_OUT
            )
        )
    members: dict[str, Any] = known
    return members


def inspect(kind: SchemaType, value: Any) -> tuple[Any, list[str], MalformedValue | None]:
    """Read a value.

    Returns:
        The known part of the value or `DROP`, the paths removed from it, and the fault, if any. The fault is
        not raised, because its traceback would reference the event.
    """
    removed: list[str] = []
    try:
        return kind.read(value, removed), removed, None
    except MalformedValue as fault:
        return None, removed, fault.with_traceback(None)
    except RecursionError:
        return None, removed, MalformedValue(_DEPTH)
