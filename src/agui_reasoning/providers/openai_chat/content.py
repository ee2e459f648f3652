"""The answer's string, which in some models carries the reasoning too, between tags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agui_reasoning.deltas import Delta, ReasoningDelta, TextDelta
from agui_reasoning.providers.openai_chat.units import Units
from agui_reasoning.providers.think_tags import Piece, ThinkTagSplitter

__all__ = ["Content"]


@dataclass(slots=True)
class _Segment:
    """A tagged stretch that is under way. The exact tags are kept: MiniMax wants its string back."""

    key: str
    opening: str
    spoke: bool = False

    def tag(self, closing: str) -> dict[str, str]:
        return {"open": self.opening, "close": closing}


class Content:
    """Splits the ``content`` strings of one response into text and tagged reasoning.

    Each tagged stretch is a unit ``think:<n>`` whose ``ext["tag"]`` holds the delimiters, with the white
    space taken along with them: open + text + close + answer is the provider's string. An empty ``close``
    means that the tag never came.
    """

    def __init__(self, units: Units) -> None:
        self._units = units
        self._splitter: ThinkTagSplitter | None = ThinkTagSplitter()
        self._fed = False
        self._segment: _Segment | None = None
        self._count = 0

    def feed(self, text: str) -> list[Delta]:
        """Take the next part of the string."""
        if self._splitter is None:
            return self._say(text)
        self._fed = True
        return self._route(self._splitter.feed(text))

    def literal(self) -> list[Delta]:
        """Reasoning comes in a field of its own: a tag in the content is just text from here on."""
        if self._splitter is None or self._splitter.in_reasoning:
            return []
        pieces = self._splitter.close()
        self._splitter = None
        return self._route(pieces)

    def pause(self) -> list[Delta]:
        """Something else begins: what was held back comes before it. More may follow."""
        if self._splitter is None or not self._fed or self._splitter.in_reasoning:
            return []
        pieces, self._splitter, self._fed = self._splitter.close(), ThinkTagSplitter(), False
        return self._route(pieces)

    def end(self) -> list[Delta]:
        """The response ended."""
        if self._splitter is None:
            return []
        pieces, self._splitter = self._splitter.close(), None
        deltas = self._route(pieces)
        if self._segment is not None:
            deltas += self._finish_segment(self._segment, "")
        return deltas

    def _route(self, pieces: list[Piece]) -> list[Delta]:
        deltas: list[Delta] = []
        for piece in pieces:
            deltas += _ROUTES[piece.kind](self, piece.text)
        return deltas

    def _open(self, text: str) -> list[Delta]:
        self._count += 1
        self._segment = _Segment(f"think:{self._count}", text)
        return []

    def _reason(self, text: str) -> list[Delta]:
        segment = self._segment
        if segment is None:  # pragma: no cover - the splitter opens before it reasons
            return self._say(text)
        ext = None if segment.spoke else {"tag": segment.tag("")}
        segment.spoke = True
        return [*self._units.reasoning(segment.key), ReasoningDelta(text, key=segment.key, ext=ext)]

    def _close(self, text: str) -> list[Delta]:
        return self._finish_segment(self._segment, text) if self._segment else []

    def _finish_segment(self, segment: _Segment, closing: str) -> list[Delta]:
        self._segment = None
        if segment.spoke and not closing:
            return []
        ext: dict[str, object] = {"tag": segment.tag(closing)}
        if not segment.spoke:
            ext["explicit_empty"] = True
        opened = self._units.reasoning(segment.key, grows=not segment.spoke)
        return [*opened, ReasoningDelta(key=segment.key, ext=ext), *self._units.close(segment.key)]

    def _say(self, text: str) -> list[Delta]:
        # Once the answer has begun the splitter has nothing left to hold back.
        self._splitter = None
        key = self._units.text_key
        return [*self._units.text(key), TextDelta(text, key=key)]


_ROUTES: dict[str, Callable[[Content, str], list[Delta]]] = {
    "open": Content._open,
    "reasoning": Content._reason,
    "close": Content._close,
    "text": Content._say,
}
