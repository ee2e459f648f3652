"""Splits the answer's string, which may contain reasoning between tags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agui_reasoning.deltas import Delta, ReasoningDelta, TextDelta
from agui_reasoning.policy import VendorTraits
from agui_reasoning.providers._tagging import Tagging
from agui_reasoning.providers.openai_chat.units import UnitTracker
from agui_reasoning.providers.think_tags import Piece, ThinkTagSplitter

__all__ = ["ContentSplitter"]


@dataclass(slots=True)
class _Segment:
    """An open tagged stretch, with its exact tags, because MiniMax requires the original string."""

    key: str
    opening: str
    spoke: bool = False

    def tag(self, closing: str) -> dict[str, str]:
        return {"open": self.opening, "close": closing}


class ContentSplitter:
    """Splits the ``content`` strings of one response into text and tagged reasoning.

    Each tagged stretch is a unit ``think:<n>`` whose ``ext["tag"]`` contains the exact delimiters with
    their white space: open + text + close + answer is the provider's string. An empty ``close`` means that
    the closing tag is missing.

    Ambiguous content is held until a closing tag shows that it was reasoning, or the end of the response that
    it was text. This concerns the start of the content, if models of this name start in reasoning and the
    application does not say so, and an opening tag after reasoning in a separate field.
    """

    def __init__(self, units: UnitTracker, traits: VendorTraits, tagging: Tagging) -> None:
        self._units = units
        self._anywhere = traits.tags_anywhere
        self._tagging = tagging
        guessed = traits.tags_prefilled and not tagging.starts_in_reasoning
        self._splitter: ThinkTagSplitter | None = tagging.splitter(
            anywhere=traits.tags_anywhere, start_in_reasoning=guessed or None
        )
        self._held: list[Piece] | None = [] if guessed else None
        self._doubtful = False
        self._marked = False
        self._fed = False
        self._key: str | None = None
        self._segment: _Segment | None = None
        self._count = 0

    def feed(self, text: str, *, key: str | None = None, thought: bool = False) -> list[Delta]:
        """Split the next part of the string.

        Args:
            text: The part.
            key: The key of the text unit; default is that of the answer.
            thought: Whether the provider marked it as reasoning.
        """
        deltas = self._turn_to(key)
        if thought and self._splitter is None:
            self._splitter = self._fresh()
        if self._splitter is None:
            return deltas + self._say(text)
        self._fed = True
        deltas += self._mark(self._splitter, thought)
        return deltas + self._route(self._splitter.feed(text))

    @property
    def passes(self) -> Callable[[str], bool]:
        """What is asked whether more content passes unchanged."""
        return bool if self._splitter is None else self._splitter.passes

    def thinks(self, key: str | None) -> bool:
        """Return whether a unit is the open tagged stretch."""
        return self._segment is not None and self._segment.key == key

    def doubt(self) -> list[Delta]:
        """Note reasoning in a separate field: tags in the content then count only if they are closed."""
        if self._doubtful:
            return []
        self._doubtful = True
        if self._held is None:
            if self._splitter is not None and not self._fed:
                self._splitter = self._fresh()  # the server has a parser, so the content is the answer
            return []
        deltas = self._settle(thought=False)
        if not deltas:
            self._splitter = self._fresh()
        return deltas

    def pause(self) -> list[Delta]:
        """Return what was held back before something else starts. More may follow."""
        if self._splitter is None or not self._fed:
            return []
        if self._held is None and self._splitter.in_reasoning:
            return []
        pieces, self._splitter, self._fed = self._splitter.close(), self._fresh(), False
        return self._route(pieces) + self._settle(thought=False)

    def end(self, *, cut: bool) -> list[Delta]:
        """End the response.

        Args:
            cut: Whether the response was cut off: held content is then reasoning without a closing tag.
        """
        if self._splitter is None:
            return []
        pieces, self._splitter = self._splitter.close(), None
        deltas = self._route(pieces) + self._settle(thought=cut)
        if self._segment is not None:
            deltas += self._finish_segment(self._segment, "")
        return deltas

    def _fresh(self) -> ThinkTagSplitter:
        return self._tagging.splitter(anywhere=self._anywhere, start_in_reasoning=False)

    def _turn_to(self, key: str | None) -> list[Delta]:
        """Return what was held back as text of the previous unit."""
        deltas = self.pause() if key != self._key else []
        self._key = key
        return deltas

    def _mark(self, splitter: ThinkTagSplitter, thought: bool) -> list[Delta]:
        pieces: list[Piece] = []
        deltas: list[Delta] = []
        if thought:
            deltas = self._settle(thought=True)
            pieces = splitter.begin_reasoning()
        elif self._marked:
            pieces = splitter.end_reasoning()
        self._marked = thought
        return deltas + self._route(pieces)

    # -- pieces

    def _route(self, pieces: list[Piece]) -> list[Delta]:
        deltas: list[Delta] = []
        for piece in pieces:
            deltas += self._take(piece)
        return deltas

    def _take(self, piece: Piece) -> list[Delta]:
        if piece.kind == "open" and not self._held:
            # An opening tag at the start of prefilled reasoning makes waiting unnecessary.
            self._held = [] if self._doubtful and not self._marked else None
        if self._held is None:
            return _ROUTES[piece.kind](self, piece.text)
        self._held.append(piece)
        return self._settle(thought=True) if piece.kind == "close" else []

    def _settle(self, *, thought: bool) -> list[Delta]:
        """Return what was held back as reasoning or as text."""
        held, self._held = self._held or [], None
        if not thought:
            text = "".join(piece.text for piece in held)
            return self._say(text) if text else []
        deltas: list[Delta] = []
        for piece in held:
            deltas += _ROUTES[piece.kind](self, piece.text)
        return deltas

    def _open(self, text: str) -> list[Delta]:
        self._count += 1
        self._segment = _Segment(f"think:{self._count}", text)
        self._units.break_text()
        return []

    def _running(self) -> _Segment:
        """Return the open segment; one without an opening tag starts with its first piece."""
        if self._segment is None:
            self._open("")
        assert self._segment is not None
        return self._segment

    def _reason(self, text: str) -> list[Delta]:
        segment = self._running()
        ext = None if segment.spoke else {"tag": segment.tag("")}
        segment.spoke = True
        return [*self._units.reasoning(segment.key), ReasoningDelta(text, key=segment.key, ext=ext)]

    def _close(self, text: str) -> list[Delta]:
        return self._finish_segment(self._running(), text)

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
        deltas = [] if self._segment is None else self._finish_segment(self._segment, "")
        if not self._anywhere:
            # Once the answer has started, the splitter holds nothing back.
            self._splitter = None
        key = self._key or self._units.text_key
        return [*deltas, *self._units.text(key), TextDelta(text, key=key)]


_ROUTES: dict[str, Callable[[ContentSplitter, str], list[Delta]]] = {
    "open": ContentSplitter._open,
    "reasoning": ContentSplitter._reason,
    "close": ContentSplitter._close,
    "text": ContentSplitter._say,
}
