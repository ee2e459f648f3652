"""Objects of xai-sdk as the JSON form of their protocol buffers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agui_reasoning.providers.payload import plain

__all__ = ["wire_json"]


def wire_json(payload: Any) -> Any:
    """Give the JSON form of an SDK object, and anything else as `plain` does.

    ``chat.stream()`` yields pairs of the response so far and the chunk that came: the chunk counts.

    Examples:
        >>> wire_json({"outputs": []})
        {'outputs': []}
    """
    if isinstance(payload, tuple) and payload:
        payload = payload[-1]
    message = getattr(payload, "proto", payload)
    if not hasattr(message, "DESCRIPTOR"):
        return plain(payload)
    # Whoever has such a message has this library.
    json_format = import_module("google.protobuf.json_format")
    return json_format.MessageToDict(message, preserving_proto_field_name=True)
