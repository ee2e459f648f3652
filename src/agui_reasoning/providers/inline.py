"""Decodes reasoning between tags in the answer as units of the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agui_reasoning.deltas import CloseDelta, Delta, ReasoningDelta, TextDelta
from agui_reasoning.parts import Status
from agui_reasoning.providers.think_tags import DEFAULT_TAGS, Piece, ThinkTagSplitter

__all__ = ["InlineThought"]


class InlineThought:
    """Splits one text unit into tagged reasoning and answer.

    Each tagged stretch is a separate unit, whose ``ext["tag"]`` contains the exact delimiters: open + text +
    close + answer is what the provider sent. An empty ``close`` means that the closing tag is missing.
    """

    def __init__(
        self,
        key: str | None = None,
        tags: Mapping[str, str] = DEFAULT_TAGS,
        *,
        starts_in_reasoning: bool = False,
    ) -> None:
        """Start before the first piece of a text.

        Args:
            key: The key of the text unit; default is the open one.
            tags: Opening tag to closing tag.
            starts_in_reasoning: Whether the text starts inside reasoning. Its unit then has an empty opening
                tag.
        """
        self._key = key
        self._splitter = ThinkTagSplitter(tags=tags, start_in_reasoning=starts_in_reasoning)
        self._count = 0
        self._opening: str | None = None
        self._spoke = False

    @property
    def _thought(self) -> str:
        return f"{self._key or 'text'}:thought:{self._count}"

    def feed(self, text: str) -> list[Delta]:
        """Split the next part of the text."""
        return self._route(self._splitter.feed(text))

    def passes(self, text: str) -> bool:
        """Return whether the text would pass as one piece, as `ThinkTagSplitter.passes` does."""
        return self._splitter.passes(text)

    def close(self, status: Status = "complete") -> list[Delta]:
        """End the text: return what was held back, and the end of a stretch without a closing tag.

        Args:
            status: The status of that stretch: ``incomplete`` if the connection was lost.
        """
        deltas = self._route(self._splitter.close())
        return deltas if self._opening is None else [*deltas, *self._end_stretch("", status)]

    def _route(self, pieces: list[Piece]) -> list[Delta]:
        return [delta for piece in pieces for delta in _ROUTES[piece.kind](self, piece.text)]

    def _open(self, text: str) -> list[Delta]:
        self._count += 1
        self._opening, self._spoke = text, False
        return []

    def _reason(self, text: str) -> list[Delta]:
        if self._opening is None:
            self._open("")
        ext = None if self._spoke else {"tag": {"open": self._opening or "", "close": ""}}
        self._spoke = True
        return [ReasoningDelta(text, key=self._thought, ext=ext)]

    def _end_stretch(self, closing: str, status: Status = "complete") -> list[Delta]:
        if self._opening is None:
            self._open("")
        ext: dict[str, object] = {"tag": {"open": self._opening or "", "close": closing}}
        if not self._spoke:
            ext["explicit_empty"] = True
        self._opening = None
        return [ReasoningDelta(key=self._thought, ext=ext), CloseDelta(key=self._thought, status=status)]

    def _say(self, text: str) -> list[Delta]:
        return [TextDelta(text, key=self._key)]


_ROUTES: dict[str, Callable[[InlineThought, str], list[Delta]]] = {
    "open": InlineThought._open,
    "reasoning": InlineThought._reason,
    "close": InlineThought._end_stretch,
    "text": InlineThought._say,
}
