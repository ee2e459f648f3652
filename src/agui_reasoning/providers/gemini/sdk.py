"""Converts objects of the google-genai SDK, and what their ``model_dump`` returns, to wire JSON.

The JSON mode of the SDK writes bytes as URL-safe base64, unlike the API. Without ``by_alias``, names are
those of Python.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import date, datetime
from enum import Enum
from typing import Any, Final

from agui_reasoning._strict_json import flaw
from agui_reasoning.providers.payload import JSONObject, dumped, plain, reject

__all__ = ["wire_json", "wire_names"]

_FREE: Final = frozenset({"args", "response", "partMetadata", "part_metadata"})
"""Members whose names are not the API's."""
_OF_RESPONSES: Final = frozenset(
    {"candidates", "prompt_feedback", "usage_metadata", "model_version", "response_id", "sdk_http_response"}
)
"""The members of a response by which a dump of it is told from what other APIs send."""
_BYTES: Final = frozenset({"thought_signature", "data"})
_STANDARD: Final = str.maketrans("-_", "+/")


def wire_json(payload: Any) -> Any:
    """Return the wire JSON of an SDK object; convert other values with `plain`.

    Examples:
        >>> wire_json({"thoughtSignature": "+/8="})
        {'thoughtSignature': '+/8='}
    """
    if not callable(getattr(payload, "model_dump", None)):
        return plain(payload)
    try:
        return _spelled(dumped(payload, mode="python"))
    except RecursionError:
        pass  # not raised here: its text may quote the value
    raise reject("an object that can be written as JSON", payload, "")


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _spelled(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(inner) for inner in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, Enum):
        return value.value
    return value.isoformat() if isinstance(value, datetime | date) else value


def wire_names(payload: JSONObject) -> JSONObject:
    """Return the wire JSON of what ``model_dump`` of the SDK returns; return wire JSON unchanged.

    Examples:
        >>> wire_names({"candidates": [], "model_version": "gemini-3-pro", "prompt_feedback": None})
        {'candidates': [], 'modelVersion': 'gemini-3-pro'}
    """
    if not _is_dump(payload) or flaw(payload) is not None:
        return payload
    converted: JSONObject = _renamed(_spelled(payload))
    return converted


def _is_dump(payload: JSONObject) -> bool:
    """Return whether a response, a candidate or a part has a name or a value of Python."""
    if _OF_RESPONSES.isdisjoint(payload):
        return False
    return _is_of_python(payload) or any(
        _is_of_python(candidate) or any(map(_is_of_python, _objects(candidate.get("content"), "parts")))
        for candidate in _objects(payload, "candidates")
    )


def _is_of_python(members: JSONObject) -> bool:
    for name, value in members.items():
        if type(name) is str and "_" in name:
            return True
        if type(value) is not str and isinstance(value, bytes | Enum):
            return True
    return False


def _objects(holder: Any, name: str) -> list[JSONObject]:
    items = holder.get(name) if isinstance(holder, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _renamed(value: Any) -> Any:
    if isinstance(value, list):
        return [_renamed(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {_camel(name): _member(name, inner) for name, inner in value.items() if inner is not None}


def _member(name: str, value: Any) -> Any:
    if isinstance(value, str) and name in _BYTES:
        return value.translate(_STANDARD)
    return value if name in _FREE else _renamed(value)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)
