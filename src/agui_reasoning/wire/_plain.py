"""The frames of events that hold nothing but strings, numbers and metadata, written without their models."""

from __future__ import annotations

from typing import Any, Final, get_args

from ag_ui.core import BaseEvent, CustomEvent, Event, EventType, RawEvent, StateSnapshotEvent
from msgspec.json import Encoder

from agui_reasoning.wire._growth import escape_line_breaks

__all__ = ["plain_frame"]

_json = Encoder().encode
_SCALARS: Final = frozenset({str, int, bool, EventType})
_WITH_PAYLOAD: Final = (CustomEvent, RawEvent, StateSnapshotEvent)
"""Their payload may be null, and any JSON."""

_ALIASES: Final[dict[type, dict[str, str]]] = {
    model: {name: field.alias or name for name, field in model.model_fields.items()}
    for model in get_args(get_args(Event)[0])
    if model not in _WITH_PAYLOAD
}


def plain_frame(event: BaseEvent) -> bytes | None:
    """Return the frame of an event, or ``None`` if it holds anything else."""
    aliases = _ALIASES.get(type(event))
    held = vars(event)
    if aliases is None or event.__pydantic_extra__ or held.keys() != aliases.keys():
        return None
    try:
        if type(held["type"]) is not EventType or not all(map(_is_simple, held.items())):
            return None
        text = _json({aliases[name]: value for name, value in held.items() if value is not None})
    except (ValueError, OverflowError, RecursionError):  # a lone surrogate, a huge number, a cycle
        return None
    return b"data: " + (text if text.isascii() else escape_line_breaks(text)) + b"\n\n"


def _is_simple(member: tuple[str, Any]) -> bool:
    name, value = member
    return value is None or type(value) in _SCALARS or (name == "metadata" and _is_plain(value))


def _is_plain(value: Any) -> bool:
    """Return whether a value is JSON of exact types without floats, which may be NaN."""
    kind = type(value)
    if kind is dict:
        return all(type(name) is str and _is_plain(inner) for name, inner in value.items())
    if kind is list:
        return all(map(_is_plain, value))
    return value is None or kind in _SCALARS
