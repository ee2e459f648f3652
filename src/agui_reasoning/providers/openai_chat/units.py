"""Tracks which units of a response are open, and which one received the last content.

Chat Completions does not mark units: a unit ends when content of another kind follows.
"""

from __future__ import annotations

from typing import Literal

from agui_reasoning.deltas import CloseDelta, Delta

__all__ = ["FLAT", "TEXT", "UnitTracker"]

FLAT = "reasoning"
"""The key of reasoning in a plain string."""

TEXT = "text"
"""The key of the answer."""


class UnitTracker:
    """Tracks the units of one response; each method returns the closes that it implies.

    Attributes:
        last: The key of the unit that received the last content, which a length limit cuts.
        reasoned: Whether the response has reasoning.
        spoke: Whether the response has text.
        text_key: The key of the current stretch of the answer.
    """

    def __init__(self) -> None:
        self.last: str | None = None
        self.reasoned = False
        self.spoke = False
        self.text_key = TEXT
        self._stretches = 1
        self._open: dict[str, Literal["reasoning", "text"]] = {}
        self._open_texts: dict[str, None] = {}
        self._known: set[str] = set()

    def reasoning(self, key: str, *, grows: bool = True) -> list[Delta]:
        """Add content to a reasoning unit; without ``grows``, a known unit is not reopened."""
        self.last, self.reasoned = key, True
        if key in self._open or (key in self._known and not grows):
            return []
        # Other reasoning stays open, because the entries of one list may be interleaved.
        closes = self._close(list(self._open_texts))
        self._known.add(key)
        self._open[key] = "reasoning"
        return closes

    def text(self, key: str) -> list[Delta]:
        """Add content to a text unit."""
        self.last, self.spoke = key, True
        if key in self._open and len(self._open) == 1:
            return []
        closes = self._close([name for name in self._open if name != key])
        self._known.add(key)
        self._open[key] = "text"
        self._open_texts[key] = None
        return closes

    def break_text(self) -> None:
        """Start another text unit, because reasoning in the same list divides the text."""
        if self.spoke and self.text_key in self._known:
            self._stretches += 1
            self.text_key = f"{TEXT}:{self._stretches}"

    def call(self, key: str) -> list[Delta]:
        """Add content to a call, which ends all open units; calls are closed elsewhere."""
        self.last = key
        return self._close(list(self._open)) if self._open else []

    def close(self, key: str) -> list[Delta]:
        """Close a unit that the provider ended."""
        return self._close([key]) if key in self._open else []

    def _close(self, keys: list[str]) -> list[Delta]:
        for key in keys:
            del self._open[key]
            self._open_texts.pop(key, None)
        return [CloseDelta(key=key) for key in keys]
