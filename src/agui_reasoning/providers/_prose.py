"""Reads reasoning in members that no standard defines, which gateways send in any JSON type."""

from __future__ import annotations

from typing import Any, Final

from agui_reasoning.providers.payload import JSONObject

__all__ = ["prose", "spelled"]

_SPELLINGS: Final = ("thinking", "text", "reasoning", "content")
"""The members in which gateways put the text of a block of reasoning."""

_PROSE_TYPES: Final = frozenset(
    {"", "text", "thinking", "reasoning", "reasoning_text", "reasoning.text", "summary_text"}
)
_DEEPEST_PROSE: Final = 4


def spelled(source: JSONObject) -> str | None:
    """Return the member that has the text of a block of reasoning; ``None`` if there is none.

    Examples:
        >>> spelled({"type": "thinking", "thinking": "", "text": "Hm."})
        'text'
    """
    present = [name for name in _SPELLINGS if source.get(name) is not None]
    return next((name for name in present if source[name]), next(iter(present), None))


def prose(value: Any, depth: int = _DEEPEST_PROSE) -> str | None:
    """Read reasoning from a member that no standard defines.

    Returns:
        The text of a string, of an object that has one, or of a list of these; ``None`` for other values.

    Examples:
        >>> prose([{"type": "text", "text": "Hm, "}, "yes."])
        'Hm, yes.'
    """
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, dict) and depth and _is_prose(value):
        name = spelled(value)
        return None if name is None else prose(value[name], depth - 1)
    if not isinstance(value, list) or not depth:
        return None
    texts = [prose(item, depth - 1) for item in value]
    return None if None in texts else "".join(filter(None, texts))


def _is_prose(block: JSONObject) -> bool:
    kind = block.get("type")
    return kind is None or (isinstance(kind, str) and kind in _PROSE_TYPES)
