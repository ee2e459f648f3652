"""Reads ``input_transformations``: what a provider did with the reasoning in the request.

Anthropic and OpenAI have a list of this name, of entries in different forms. Whatever is not an entry about
reasoning is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from agui_reasoning.deltas import InputTransformation
from agui_reasoning.providers.payload import JSONObject

__all__ = ["of_anthropic", "of_openai"]

_Entries: TypeAlias = tuple[InputTransformation, ...]

_NAME: Final = "input_transformations"
_DROPPED: Final = {"thinking_dropped": True, "thinking_mismatch_allowed": False}
"""Anthropic's types of entries, and whether the model was not shown the block."""

_EXPECTED: Final = "turn_boundary"
"""Not a loss: OpenAI's models forget the reasoning of earlier turns unless they are asked not to."""


def of_anthropic(source: JSONObject) -> _Entries:
    """Read entries that name places in the request."""
    return _read(source, _anthropic)


def of_openai(source: JSONObject) -> _Entries:
    """Read entries that name reasoning items by their ID."""
    return _read(source, _openai)


def _read(source: JSONObject, read: Callable[[JSONObject], InputTransformation | None]) -> _Entries:
    entries = source.get(_NAME)
    given = entries if isinstance(entries, list) else []
    found = (read(entry) for entry in given if isinstance(entry, dict))
    return tuple(entry for entry in found if entry is not None)


def _anthropic(entry: JSONObject) -> InputTransformation | None:
    kind, path = _text(entry, "type"), _text(entry, "path")
    if not path or kind not in _DROPPED:
        return None
    return InputTransformation(path, _text(entry, "reason"), _DROPPED[kind])


def _openai(entry: JSONObject) -> InputTransformation | None:
    name, reason = _text(entry, "id"), _text(entry, "reason")
    removed = _text(entry, "action") == "removed" and _text(entry, "type") == "reasoning"
    return InputTransformation(name, reason) if name and removed and reason != _EXPECTED else None


def _text(entry: JSONObject, name: str) -> str:
    value: Any = entry.get(name)
    return value if isinstance(value, str) else ""
