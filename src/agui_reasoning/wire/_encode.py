"""Encode AG-UI events as Server-Sent Events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ag_ui.core import BaseEvent
from pydantic import BaseModel
from pydantic_core import SchemaSerializer, core_schema, to_json

from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.errors import LocalProtocolError
from agui_reasoning.wire._growth import GROWTHS, escape_line_breaks
from agui_reasoning.wire._plain import plain_frame

__all__ = ["KEEP_ALIVE", "MEDIA_TYPE", "SSEEncoder", "frames_of", "short_frame"]

MEDIA_TYPE = "text/event-stream"
"""The ``Content-Type`` of an event stream."""

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment to send while a stream is idle; readers skip it."""

# Required members that may be null. All other None members are omitted, because peers reject null for
# optional members.
_PAYLOADS = {"CUSTOM": "value", "RAW": "event", "STATE_SNAPSHOT": "snapshot"}

_UNWRITABLE = object()
_ANY = SchemaSerializer(core_schema.any_schema())


class SSEEncoder:
    r"""Encodes events as Server-Sent Events, one frame each.

    Each event is one line of JSON with camelCase names. Optional members that are None are omitted. Nulls
    inside payloads are kept, as are payloads that are null: ``CUSTOM.value``, ``RAW.event`` and
    ``STATE_SNAPSHOT.snapshot``.

    Examples:
        >>> SSEEncoder().encode({"type": "REASONING_END", "messageId": "s1", "timestamp": None})
        b'data: {"type":"REASONING_END","messageId":"s1"}\n\n'
    """

    __slots__ = ()

    def encode(self, event: BaseModel | Mapping[str, Any]) -> bytes:
        r"""Return the frame of one event.

        Args:
            event: An `ag_ui.core` event, or a mapping with wire names. A mapping is written as given, without
                top-level members that are None.

        Returns:
            ``data: {json}`` and a blank line, in UTF-8. Text with lone surrogates is written with ``\u``
            escapes, because UTF-8 cannot encode them.

        Raises:
            LocalProtocolError: The event is not an object with a non-empty string ``type`` (``bad_event``),
                or it contains NaN, Infinity, a cycle or a value without a JSON form (``not_json``).
        """
        if isinstance(event, BaseEvent) and (frame := short_frame(event)) is not None:
            return frame
        members = _members(event)
        kind = _kind(members)
        payload = _PAYLOADS.get(kind)
        for name in [name for name, value in members.items() if value is None and name != payload]:
            del members[name]
        text = _dump(members)
        if text is None:
            raise _not_json(kind)
        return b"data: %b\n\n" % text


def short_frame(event: BaseEvent) -> bytes | None:
    """Return the frame of an event that needs no serializer, or ``None``."""
    growth = GROWTHS.get(type(event))
    if growth is not None and (frame := growth.frame(event)) is not None:
        return frame
    return plain_frame(event)


_encode = SSEEncoder().encode


def frames_of(events: Iterable[BaseModel | Mapping[str, Any]]) -> bytes:
    """Return the frames of several events."""
    return b"".join(map(_encode, events))


def _members(event: object) -> dict[str, Any]:
    """Return a fresh dict of the event's members under their wire names."""
    if not isinstance(event, (BaseModel, Mapping)):
        raise _bad_event(f"{type(event).__name__} is not an event.")
    try:
        members = _plain(event)
    except (ValueError, TypeError):  # a custom serializer failed
        members = _UNWRITABLE
    if members is _UNWRITABLE:  # raised here, because the cause may quote the event
        raise _not_json(None)
    if not isinstance(members, dict):
        raise _bad_event(f"{type(event).__name__} does not serialize to an object.")
    return members


def _kind(members: dict[str, Any]) -> str:
    kind = members.get("type")
    if not isinstance(kind, str) or not kind:
        raise _bad_event("The event's `type` is not a non-empty string.")
    return str.__str__(kind)  # an enum member hashes by its name, which need not be its value


def _plain(value: object) -> Any:
    """Convert models, dataclasses and mappings into dicts, recursively.

    Uses Python mode, because JSON mode silently turns NaN into null. Warnings are off, because they quote the
    value.
    """
    if isinstance(value, Mapping) and not isinstance(value, dict):
        value = dict(value)
    return _ANY.to_python(value, by_alias=True, warnings=False)


def _plain_mapping(value: object) -> Any:
    if isinstance(value, Mapping):
        return _plain(value)
    raise TypeError


def _dump(members: dict[str, Any]) -> bytes | None:
    """Return the members as one line of JSON, or ``None`` if JSON cannot represent them."""
    try:
        text = to_json(members, inf_nan_mode="constants", fallback=_plain_mapping)
    except (ValueError, TypeError):  # usually lone surrogates
        return _dump_escaped(members)
    if (b"NaN" in text or b"Infinity" in text) and isinstance(load(text.decode()), Malformed):
        return None  # parsing tells the constants from the same words in strings
    return text if text.isascii() else escape_line_breaks(text)


def _dump_escaped(members: dict[str, Any]) -> bytes | None:
    try:
        text = json.dumps(members, allow_nan=False, separators=(",", ":"), default=_simple)
    except (ValueError, TypeError, RecursionError):
        return None
    return text.encode("ascii")


def _simple(value: object) -> Any:
    """Convert a model, date, set or enum for `json`, as pydantic would."""
    if isinstance(value, (BaseModel, Mapping)):
        return _plain(value)
    return _ANY.to_python(value, mode="json")


def _bad_event(message: str) -> LocalProtocolError:
    return LocalProtocolError(
        message, code="bad_event", hint="Pass an `ag_ui.core` event or a mapping with a `type`."
    )


def _not_json(kind: str | None) -> LocalProtocolError:
    return LocalProtocolError(
        f"The {kind or 'given'} event cannot be written as JSON.",
        code="not_json",
        hint="Look for NaN, Infinity, a cycle, bytes or a custom object.",
        event_type=kind,
    )
