"""The hint in ``metadata``: what a client may know of a run, a message or a call without opening an envelope.

It names the response and the place in it, the reasoning that a call followed, durations, the reason why the
last response ended, and the title of a THINKING_* phase. Two of three front ends drop it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject

__all__ = ["HINT_KEY", "hint", "hint_of", "without_hint"]

HINT_KEY: Final = "agui-reasoning"
"""The member of ``metadata`` that holds it."""


def hint(members: Mapping[str, Any]) -> JSONObject:
    """Write metadata with nothing but a hint."""
    return {HINT_KEY: dict(members)}


def hint_of(entity: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read the hint of an event, a message or a call; empty when it has none. It is as the client sent it."""
    metadata = entity.get("metadata")
    found = metadata.get(HINT_KEY) if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def without_hint(metadata: Mapping[str, Any]) -> JSONObject | None:
    """Take the hint out of metadata; ``None`` when nothing is left."""
    return {name: value for name, value in metadata.items() if name != HINT_KEY} or None
