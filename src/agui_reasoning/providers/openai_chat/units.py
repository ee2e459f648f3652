"""Which units of a response are open, and which one got the last content.

Chat Completions names no units and ends none: a unit ends when something of another kind follows.
"""

from __future__ import annotations

from typing import Literal

from agui_reasoning.deltas import CloseDelta, Delta

__all__ = ["FLAT", "TEXT", "UnitTracker"]

FLAT = "reasoning"
"""The key of the reasoning that comes as one plain string."""

TEXT = "text"
"""The key of the answer."""


class UnitTracker:
    """Follows the units of one response; each method returns the ends that its call implies.

    Attributes:
        last: The key of the unit that got the last content: a length limit cut that one.
        reasoned: The response has reasoning.
        spoke: The response has text.
        text_key: The key of the answer, or of its next stretch.
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
        """A reasoning unit gets content; one that exists and does not grow stays as it is."""
        self.last, self.reasoned = key, True
        if key in self._open or (key in self._known and not grows):
            return []
        # Other reasoning stays open: the entries of one list may come interleaved.
        closes = self._close(list(self._open_texts))
        self._known.add(key)
        self._open[key] = "reasoning"
        return closes

    def text(self, key: str) -> list[Delta]:
        """A text unit gets content."""
        self.last, self.spoke = key, True
        if key in self._open and len(self._open) == 1:
            return []
        closes = self._close([name for name in self._open if name != key])
        self._known.add(key)
        self._open[key] = "text"
        self._open_texts[key] = None
        return closes

    def break_text(self) -> None:
        """Reasoning stands between two stretches of text in one list: they are two units."""
        if self.spoke and self.text_key in self._known:
            self._stretches += 1
            self.text_key = f"{TEXT}:{self._stretches}"

    def call(self, key: str) -> list[Delta]:
        """A call gets content; calls end by themselves."""
        self.last = key
        return self._close(list(self._open)) if self._open else []

    def close(self, key: str) -> list[Delta]:
        """The provider ended a unit."""
        return self._close([key]) if key in self._open else []

    def _close(self, keys: list[str]) -> list[Delta]:
        for key in keys:
            del self._open[key]
            self._open_texts.pop(key, None)
        return [CloseDelta(key=key) for key in keys]
