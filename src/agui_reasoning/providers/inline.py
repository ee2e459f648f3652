"""Decodes reasoning between tags in the answer as units of the response."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from agui_reasoning.deltas import CloseDelta, Delta, ReasoningDelta, TextDelta
from agui_reasoning.parts import Status
from agui_reasoning.providers.think_tags import DEFAULT_TAGS, Piece, ThinkTagSplitter

__all__ = ["InlineThought", "Tagging"]


@dataclass(frozen=True, slots=True)
class Tagging:
    """How a model marks reasoning inside its answers, as the application says.

    Attributes:
        tags: Opening to closing tags.
        starts_in_reasoning: Whether answers start inside reasoning, because the prompt has the opening tag.
    """

    tags: Mapping[str, str] = field(default_factory=lambda: DEFAULT_TAGS)
    starts_in_reasoning: bool = False


@dataclass(slots=True)
class _Stretch:
    """An open tagged stretch, with its exact tag, because MiniMax requires the original string."""

    key: str
    opening: str
    spoke: bool = False


class InlineThought:
    """Splits one text unit into tagged reasoning and answer.

    Each tagged stretch is a separate unit, whose ``ext["tag"]`` contains the exact delimiters: open + text +
    close + answer is what the provider sent. An empty ``close`` means that the closing tag is missing.

    Ambiguous text is held until a closing tag shows that it was reasoning, or the end of the response that it
    was text. This concerns the start of the text, if models of this name start in reasoning and the
    application does not say so, and an opening tag after reasoning in a field of its own.
    """

    def __init__(
        self,
        key: str | None = None,
        tags: Mapping[str, str] = DEFAULT_TAGS,
        *,
        starts_in_reasoning: bool = False,
        anywhere: Collection[str] = (),
        guessed: bool = False,
    ) -> None:
        """Start before the first piece of a text.

        Args:
            key: The key of the text unit; default is the open one.
            tags: Opening tag to closing tag.
            starts_in_reasoning: Whether the text starts inside reasoning, whose opening tag is then empty.
            anywhere: The opening tags that count within the answer, too, if they are among the tags.
            guessed: Whether the model's name says that the text starts inside reasoning.
        """
        guessed = guessed and not starts_in_reasoning
        self._key = key
        self._tags = tags
        self._anywhere = [tag for tag in anywhere if tag in tags]
        self._splitter: ThinkTagSplitter | None = self._fresh(inside=starts_in_reasoning or guessed)
        self._held: list[Piece] | None = [] if guessed else None
        self._doubtful = self._marked = self._fed = False
        self._stretch: _Stretch | None = None
        self._count = 0

    @property
    def answers(self) -> bool:
        """Whether the answer has begun, so that all text that follows is part of it."""
        return self._splitter is None

    @property
    def passes(self) -> Callable[[str], bool] | None:
        """What is asked whether more text would be emitted as it is; ``None`` if it always is."""
        return None if self._splitter is None else self._splitter.passes

    def feed(self, text: str, *, thought: bool = False) -> list[Delta]:
        """Split the next part of the text; with ``thought``, the provider marked it as reasoning."""
        if thought and self._splitter is None:
            self._splitter = self._fresh()
        splitter = self._splitter
        if splitter is None:
            return self._say(text) if text else []
        self._fed = True
        deltas: list[Delta] = []
        if thought:
            deltas = self._settle(thought=True)
            deltas += self._route(splitter.begin_reasoning())
        elif self._marked:
            deltas = self._route(splitter.end_reasoning())
        self._marked = thought
        return [*deltas, *self._route(splitter.feed(text))]

    def turn_to(self, key: str | None) -> list[Delta]:
        """Continue with the text of another unit; return what was held back as text of the previous one."""
        deltas = self.pause() if key != self._key else []
        self._key = key
        return deltas

    def doubt(self) -> list[Delta]:
        """Note reasoning in a field of its own: tags in the text then count only if they are closed."""
        if self._doubtful:
            return []
        self._doubtful = True
        if self._held is None:
            if self._splitter is not None and not self._fed:
                self._splitter = self._fresh()  # the server has a parser, so the text is the answer
            return []
        deltas = self._settle(thought=False)
        if not deltas:
            self._splitter = self._fresh()
        return deltas

    def pause(self) -> list[Delta]:
        """Return what was held back before something else starts. More may follow."""
        if self._splitter is None or not self._fed or (self._held is None and self._splitter.in_reasoning):
            return []
        pieces, self._splitter, self._fed = self._splitter.close(), self._fresh(), False
        return [*self._route(pieces), *self._settle(thought=False)]

    def close(self, status: Status = "complete") -> list[Delta]:
        """End the text: return what was held back, and the end of a stretch without a closing tag.

        Args:
            status: That of the stretch: ``incomplete`` if the response was cut; held text is reasoning then.
        """
        if self._splitter is None:
            return []
        pieces, self._splitter = self._splitter.close(), None
        deltas = [*self._route(pieces), *self._settle(thought=status == "incomplete")]
        return [*deltas, *self._end_stretch("", status)] if self._stretch else deltas

    def _fresh(self, *, inside: bool = False) -> ThinkTagSplitter:
        return ThinkTagSplitter(start_in_reasoning=inside, tags=self._tags, anywhere=self._anywhere)

    # -- pieces

    def _route(self, pieces: list[Piece]) -> list[Delta]:
        return [delta for piece in pieces for delta in self._take(piece)]

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
        return [delta for piece in held for delta in _ROUTES[piece.kind](self, piece.text)]

    def _open(self, text: str) -> list[Delta]:
        self._begin(text)
        return []

    def _begin(self, opening: str = "") -> _Stretch:
        self._count += 1
        self._stretch = _Stretch(f"{self._key or 'text'}:thought:{self._count}", opening)
        return self._stretch

    def _reason(self, text: str) -> list[Delta]:
        stretch = self._stretch or self._begin()
        ext = None if stretch.spoke else {"tag": {"open": stretch.opening, "close": ""}}
        stretch.spoke = True
        return [ReasoningDelta(text, key=stretch.key, ext=ext)]

    def _end_stretch(self, closing: str, status: Status = "complete") -> list[Delta]:
        stretch, self._stretch = self._stretch or self._begin(), None
        ended = CloseDelta(key=stretch.key, status=status)
        if stretch.spoke and not closing:
            return [ended]
        ext: dict[str, object] = {"tag": {"open": stretch.opening, "close": closing}}
        if not stretch.spoke:
            ext["explicit_empty"] = True
        return [ReasoningDelta(key=stretch.key, ext=ext), ended]

    def _say(self, text: str) -> list[Delta]:
        ended = self._end_stretch("") if self._stretch else []
        if not self._anywhere:
            # Once the answer has started, nothing is held back.
            self._splitter = None
        return [*ended, TextDelta(text, key=self._key)]


_ROUTES: Final[dict[str, Callable[[InlineThought, str], list[Delta]]]] = {
    "open": InlineThought._open,
    "reasoning": InlineThought._reason,
    "close": InlineThought._end_stretch,
    "text": InlineThought._say,
}
