"""Converts objects of xai-sdk to the JSON form of their protocol buffers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agui_reasoning.errors import MissingExtraError
from agui_reasoning.providers.payload import plain

__all__ = ["wire_json"]


def wire_json(payload: Any) -> Any:
    """Return the JSON form of an SDK object; convert other values with `plain`.

    ``chat.stream()`` yields pairs of the response so far and the new chunk; only the chunk is converted.

    Raises:
        MissingExtraError: The value is a message of protocol buffers, and their library is not installed.

    Examples:
        >>> wire_json({"outputs": []})
        {'outputs': []}
    """
    if isinstance(payload, tuple) and payload:
        payload = payload[-1]
    message = getattr(payload, "proto", payload)
    if not hasattr(message, "DESCRIPTOR"):
        return plain(payload)
    try:
        json_format = import_module("google.protobuf.json_format")
    except ImportError:
        if hasattr(message.DESCRIPTOR, "full_name"):  # made by another copy of the library
            raise MissingExtraError("Reading messages of xAI", "xai") from None
        return plain(payload)
    return json_format.MessageToDict(message, preserving_proto_field_name=True)
