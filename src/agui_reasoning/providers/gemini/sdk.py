"""Converts objects of the google-genai SDK to wire JSON.

The JSON mode of the SDK writes bytes as URL-safe base64, unlike the API.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import date, datetime
from enum import Enum
from typing import Any

from agui_reasoning.providers.payload import dumped, plain, reject

__all__ = ["wire_json"]


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
