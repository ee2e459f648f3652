"""Conversion between JSON and the models of ``ag_ui``, which are not used for validation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from ag_ui import core
from ag_ui.core import Event, Message
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._unvalidated import made
from agui_reasoning.consumer._schema import EVENTS

__all__ = [
    "EventTemplate",
    "event_model",
    "is_event_model",
    "message_model",
    "model_of",
    "plain_json",
    "whole_text",
]

_M = TypeVar("_M", bound=BaseModel)

_EVENTS: Final[dict[str, type[BaseModel]]] = {
    kind: getattr(core, f"{kind.title().replace('_', '')}Event") for kind in EVENTS
}
_EVENT_MODELS: Final = frozenset(_EVENTS.values())
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MESSAGE: Final[TypeAdapter[Message]] = TypeAdapter(Message)


def plain_json(value: object) -> Mapping[str, Any] | None:
    """Return the members of a model or mapping under their wire names; ``None`` for other types.

    Uses Python mode, because JSON mode silently turns NaN into null.
    """
    if isinstance(value, BaseModel):
        members = value.model_dump(by_alias=True, warnings=False)
        return members if isinstance(members, dict) else None
    return value if isinstance(value, Mapping) else None


def is_event_model(value: object) -> bool:
    """Return whether the value is an event of ``ag_ui``, and of no subclass."""
    return type(value) in _EVENT_MODELS


def event_model(event: JSONObject) -> Event:
    """Create the model of a validated event."""
    model = _EVENTS[event["type"]]
    try:
        return cast("Event", model.model_validate(event))
    except ValidationError:  # pydantic rejects some lone surrogates
        repaired: Any = model.model_validate(_mended(event))
    if isinstance(event.get("delta"), str):
        # A character may be split between this delta and the next, so it is delivered as it is.
        repaired.delta = event["delta"]
    return cast("Event", repaired)


class EventTemplate:
    """A validated event, and others that differ from it in delta and timestamp."""

    def __init__(self, event: JSONObject) -> None:
        self._is_timed = "timestamp" in event
        model = event_model(event)
        self._model = type(model)
        self._members = model.__dict__
        self._given = model.__pydantic_fields_set__

    def event(self, delta: str, timestamp: int | None) -> Event:
        """Return the event with another delta and timestamp, which must be valid.

        Args:
            delta: The delta.
            timestamp: Ignored if the first event has none.
        """
        members = self._members.copy()
        members["delta"] = delta
        if self._is_timed:
            members["timestamp"] = timestamp
        return made(self._model, members, self._given.copy())


def message_model(message: JSONObject) -> Message:
    """Create the model of a validated message."""
    return _MESSAGE.validate_python(_sound(message))


def model_of(model: type[_M], value: JSONObject) -> _M:
    """Create another model from validated JSON."""
    return model.model_validate(_sound(value))


def whole_text(pieces: Sequence[str]) -> str:
    """Join text, including characters that were split between the pieces."""
    text = "".join(pieces)
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _sound(value: JSONObject) -> JSONObject:
    """Return a value that can be encoded as UTF-8: unchanged, or a repaired copy."""
    try:
        to_json(value)
    except ValueError:
        mended: JSONObject = _mended(value)
        return mended
    return value


def _mended(value: Any) -> Any:
    """Copy a value, with U+FFFD for lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_mended(name): _mended(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_mended(element) for element in value]
    return value
