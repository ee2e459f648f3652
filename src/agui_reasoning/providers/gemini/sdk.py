"""Converts objects of the google-genai SDK, and what their ``model_dump`` returns, to wire JSON.

The JSON mode of the SDK writes bytes as URL-safe base64, unlike the API. Without ``by_alias``, names are
those of Python.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import date, datetime
from enum import Enum
from typing import Any, Final

from agui_reasoning._strict_json import flaw
from agui_reasoning.providers.payload import JSONObject, dumped, plain, reject

__all__ = ["wire_json", "wire_names"]

_FREE: Final = frozenset({"args", "response", "partMetadata", "part_metadata"})
"""Members whose names are not the API's."""
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
    if any(map(_is_of_python, payload)):
        return True
    members = (member for candidate in _objects(payload, "candidates") for member in _members(candidate))
    return any(_is_of_python(name) or isinstance(value, bytes | Enum) for name, value in members)


def _is_of_python(name: Any) -> bool:
    return isinstance(name, str) and "_" in name


def _members(candidate: JSONObject) -> Iterator[tuple[Any, Any]]:
    yield from candidate.items()
    content = candidate.get("content")
    for part in _objects(content, "parts") if isinstance(content, dict) else ():
        yield from part.items()


def _objects(holder: JSONObject, name: str) -> Iterator[JSONObject]:
    items = holder.get(name)
    return (item for item in items if isinstance(item, dict)) if isinstance(items, list) else iter(())


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
