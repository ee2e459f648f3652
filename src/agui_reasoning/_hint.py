"""The hint in ``metadata``: details of a run, message or call that clients read without opening an envelope.

It contains the response and the position in it, the reasoning that preceded a call, the error of a tool,
durations, the finish reason of the last response, and the title of a THINKING_* phase. Two of three front
ends drop it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject

__all__ = ["HINT_KEY", "error_hint", "hint", "hint_of", "hint_of_call", "hinted_error", "without_hint"]

HINT_KEY: Final = "agui-reasoning"
"""The member of ``metadata`` that holds the hint."""


def hint(members: Mapping[str, Any]) -> JSONObject:
    """Return metadata that contains only a hint."""
    return {HINT_KEY: dict(members)}


def hint_of(entity: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the hint of an event, message or call; empty if there is none. Clients control its content."""
    metadata = entity.get("metadata")
    found = metadata.get(HINT_KEY) if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def hint_of_call(call: Mapping[str, Any], message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the hint of a call, or the one that TanStack moved to the message of the call."""
    found: Any = message.get("metadata")
    for member in ("tanstack", "toolCallMetadata", call.get("id")):
        found = found.get(member) if isinstance(found, Mapping) and isinstance(member, str) else None
    return hint_of(call) or hint_of({"metadata": found})


def error_hint(error: str | None) -> JSONObject | None:
    """Return the metadata of a result; TOOL_CALL_RESULT, unlike the message it becomes, has no error."""
    return None if error is None else hint({"error": error})


def hinted_error(metadata: object) -> str | None:
    """Return the error in the metadata of a result."""
    error = hint_of({"metadata": metadata}).get("error")
    return error if isinstance(error, str) and error.strip() else None


def without_hint(metadata: Mapping[str, Any]) -> JSONObject | None:
    """Return metadata without the hint, or ``None`` if nothing is left."""
    return {name: value for name, value in metadata.items() if name != HINT_KEY} or None
