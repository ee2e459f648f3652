"""Enforcement: what the protocol does not describe is taken out with a notice, what it does is held to it.

Driven by the table in `schema`; nothing is ever coerced.
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
_LEAVE_OUT = "Send only what the protocol describes; private signals go into CUSTOM or metadata."


def enforce(event: Mapping[str, Any], warn: NoticeSink, state: str = "") -> dict[str, Any] | None:
    """Hold an event to the protocol.

    Args:
        event: The event's JSON; it is not changed.
        warn: Told of everything that was removed, with its path.
        state: The state of the run, for the error.

    Returns:
        What the protocol knows of the event, sharing nothing with it; ``None`` when that is nothing.

    Raises:
        RemoteProtocolError: A described field is missing or wrong (``malformed_event``).

    Source:
        AG-UI 1.1: C7 (unknown event), C8 (unknown property), C9 (unknown union member), C10 (malformed),
        C11 (closed sets), C12 (open objects).
    """
    name = event.get("type")
    if not isinstance(name, str) or not name:
        raise faults.malformed(event, "/type", "a string that is not empty", state)
    kind = EVENTS.get(str.__str__(name))
    if kind is None:
        message = f"{cut(faults.type_of(event))} is not an AG-UI event; it is dropped."
        warn(Notice("unknown_event", message, _LEAVE_OUT))
        return None
    known, removed, fault = inspect(kind, event)
    if fault is not None:
        raise faults.malformed(event, fault.path, fault.expected, state)
    if known is DROP:
        message = f"{faults.type_of(event)} holds a value this version does not know; it is dropped whole."
        warn(Notice("unknown_event", message, _LEAVE_OUT))
        return None
    for path in removed:
        warn(Notice("unknown_member", f"{faults.type_of(event)}{cut(path)} is unknown; removed.", _LEAVE_OUT))
    members: dict[str, Any] = known
    return members


def inspect(kind: SchemaType, value: Any) -> tuple[Any, list[str], MalformedValue | None]:
    """Read a value.

    Returns:
        What is known of it (`DROP` when nothing is), the paths of what was removed, and what is wrong.
        The fault is returned, so that no error is raised while it holds a frame with the event in it.
    """
    removed: list[str] = []
    try:
        return kind.read(value, removed), removed, None
    except MalformedValue as fault:
        return None, removed, fault.with_traceback(None)
    except RecursionError:
        return None, removed, MalformedValue(_DEPTH)
