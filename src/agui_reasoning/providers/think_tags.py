"""Tell reasoning from answer in text that carries both, marked with ``<think>`` tags.

Usable alone. Some providers (MiniMax, Perplexity, Groq's ``raw`` format, most self-hosted models) send their
reasoning inside the answer's text. The tags may be cut anywhere by the stream, and some providers want the
very same string back in the next request, so nothing is dropped: every character is in exactly one piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from itertools import permutations, product
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from agui_reasoning.errors import ConfigurationError, LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["DEFAULT_TAGS", "Piece", "ThinkTagSplitter"]

DEFAULT_TAGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "<think>": "</think>",
        "<thinking>": "</thinking>",
        "◁think▷": "◁/think▷",
        "<seed:think>": "</seed:think>",
        "[THINK]": "[/THINK]",
    }
)
"""Opening tag to closing tag, of the models known to use them."""

# ASCII only: an ideographic space (U+3000) or a no-break space begins a Chinese or a typeset paragraph, so
# it is content, not layout around a tag.
_SPACES: Final = " \t\n\r\f\v"
_SPACE_RUN: Final = re.compile(f"[{_SPACES}]*")


@dataclass(frozen=True, slots=True, repr=False)
class Piece:
    """One run of the stream. The ``text`` of all pieces, joined, is the stream.

    Attributes:
        kind: ``"reasoning"`` and ``"text"`` are content; ``"open"`` and ``"close"`` are delimiters.
        text: The content; of a delimiter the tag with the white space taken along with it. Never empty.
    """

    kind: Literal["open", "reasoning", "close", "text"]
    text: str

    def __repr__(self) -> str:
        # Model output stays out of logs and tracebacks.
        return f"Piece(kind={self.kind!r}, length={len(self.text)})"


class _State(Enum):
    LEADING = auto()  # an opening tag may come: at the start, and behind a close delimiter
    PREFILLED = auto()  # the start of a stream whose opening tag was in the prompt
    OPENED = auto()  # behind an opening tag, in its white space
    REASONING = auto()
    CLOSED = auto()  # behind a closing tag, in its white space
    TEXT = auto()


# What the content is when no opening tag leads it.
_UNTAGGED: Final = {_State.LEADING: _State.TEXT, _State.PREFILLED: _State.REASONING}

_AFTER_DELIMITER: Final = {_State.OPENED: _State.REASONING, _State.CLOSED: _State.LEADING}

# What held-back characters turn out to be when nothing follows them.
_KIND_AT_END: Final[Mapping[_State, Literal["open", "reasoning", "close", "text"]]] = {
    _State.LEADING: "text",
    _State.PREFILLED: "reasoning",
    _State.OPENED: "open",
    _State.REASONING: "reasoning",
    _State.CLOSED: "close",
    _State.TEXT: "text",
}

_IN_REASONING: Final = frozenset({_State.PREFILLED, _State.OPENED, _State.REASONING})


class ThinkTagSplitter:
    r"""Split a text stream into reasoning, answer and the delimiters between them.

    Only a leading tag opens reasoning: once the answer has begun, tags are part of it. The closing tag must
    be the one of the opening tag, and reasoning does not nest. Behind a closing tag another opening tag may
    follow. White space (ASCII) before an opening tag, directly inside the tags and behind a closing tag is
    part of the delimiter, so that reasoning and answer are clean. Without a closing tag all the rest is
    reasoning.

    Any split of the stream into feeds gives the same pieces, but that reasoning or text may come in several.
    Time is linear in the length of the stream. Only what may still be (part of) a delimiter is held back.

    Args:
        start_in_reasoning: The stream begins inside reasoning, because the prompt template already wrote the
            opening tag. Any closing tag then ends it. An opening tag that leads all the same is taken as one.
        tags: Opening tag to closing tag, matched exactly.

    Raises:
        ConfigurationError: There are no tags, a tag is empty or has white space at an end, or one hides
            another: an opening tag begins another, or a closing tag is inside another tag.

    Examples:
        >>> splitter = ThinkTagSplitter()
        >>> pieces = splitter.feed("<think>\nHm") + splitter.feed(".\n</thi")
        >>> pieces += splitter.feed("nk>\n\nYes.") + splitter.close()
        >>> [piece.kind for piece in pieces]
        ['open', 'reasoning', 'reasoning', 'close', 'text']
        >>> [piece.text for piece in pieces]
        ['<think>\n', 'Hm', '.', '\n</think>\n\n', 'Yes.']
    """

    def __init__(self, *, start_in_reasoning: bool = False, tags: Mapping[str, str] = DEFAULT_TAGS) -> None:
        _check_tags(tags)
        self._tags: dict[str, str] = dict(tags)
        self._closing: tuple[str, ...] = tuple(dict.fromkeys(tags.values()))
        self._state: _State = _State.PREFILLED if start_in_reasoning else _State.LEADING
        # Held back: white space and whole tags, as a list because joining on every feed would make a long run
        # of white space quadratic; behind them what may be the start of a tag, so shorter than a tag.
        self._pending: list[str] = []
        self._partial: str = ""
        self._is_closed: bool = False

    @property
    def in_reasoning(self) -> bool:
        """Whether the last character fed is in reasoning; after `close`, whether reasoning was left open."""
        return self._state in _IN_REASONING

    def feed(self, text: str) -> list[Piece]:
        """Take the next part of the stream.

        Args:
            text: Any number of characters, cut anywhere.

        Returns:
            The pieces that are now certain, in order.

        Raises:
            LocalProtocolError: The splitter is closed. State is unchanged.
        """
        if self._is_closed:
            raise LocalProtocolError(
                "Text was fed to a closed splitter.",
                code="closed",
                hint="Make a new ThinkTagSplitter for each response.",
                state="closed",
            )
        text = self._partial + text
        self._partial = ""
        pieces: list[Piece] = []
        position = 0
        while position < len(text):
            position = self._step(text, position, pieces)
        return pieces

    def close(self) -> list[Piece]:
        """End the stream.

        Returns:
            What was held back, 0 or 1 piece. A second call returns nothing.
        """
        self._is_closed = True
        rest, self._partial = self._partial, ""
        pieces: list[Piece] = []
        self._emit(_KIND_AT_END[self._state], rest, pieces)
        return pieces

    def _step(self, text: str, position: int, pieces: list[Piece]) -> int:
        """Read one stretch of ``text`` from ``position``; return where the next begins."""
        match self._state:
            case _State.LEADING | _State.PREFILLED:
                return self._read_leading(text, position)
            case _State.OPENED:
                return self._read_delimiter_space("open", text, position, pieces)
            case _State.REASONING:
                return self._read_reasoning(text, position, pieces)
            case _State.CLOSED:
                return self._read_delimiter_space("close", text, position, pieces)
            case _:  # TEXT, which nothing ends
                self._emit("text", text[position:], pieces)
                return len(text)

    def _read_leading(self, text: str, position: int) -> int:
        position = self._hold_space(text, position)
        tag = next((tag for tag in self._tags if text.startswith(tag, position)), None)
        if tag is not None:
            self._pending.append(tag)
            self._closing = (self._tags[tag],)
            self._state = _State.OPENED
            return position + len(tag)
        if any(_starts(tag, text, position) for tag in self._tags):
            self._partial = text[position:]
            return len(text)
        # What is held is white space; it leads the content.
        self._state = _UNTAGGED[self._state]
        return position

    def _read_delimiter_space(
        self, kind: Literal["open", "close"], text: str, position: int, pieces: list[Piece]
    ) -> int:
        position = self._hold_space(text, position)
        if position < len(text):
            self._emit(kind, "", pieces)
            self._state = _AFTER_DELIMITER[self._state]
        return position

    def _read_reasoning(self, text: str, position: int, pieces: list[Piece]) -> int:
        found = min(
            ((start, tag) for tag in self._closing if (start := text.find(tag, position)) >= 0), default=None
        )
        if found is None:
            end = _partial_start(self._closing, text, position)
            self._partial = text[end:]
            self._hold_trailing_space(text[position:end], pieces)
            return len(text)
        start, tag = found
        self._hold_trailing_space(text[position:start], pieces)
        self._pending.append(tag)
        self._state = _State.CLOSED
        return start + len(tag)

    def _hold_space(self, text: str, position: int) -> int:
        run = _SPACE_RUN.match(text, position)
        if run is None or not run[0]:
            return position
        self._pending.append(run[0])
        return run.end()

    def _hold_trailing_space(self, content: str, pieces: list[Piece]) -> None:
        """Emit reasoning up to its last other character; white space behind it may belong to the tag."""
        solid = content.rstrip(_SPACES)
        if solid:
            self._emit("reasoning", solid, pieces)
        if len(solid) < len(content):
            self._pending.append(content[len(solid) :])

    def _emit(
        self, kind: Literal["open", "reasoning", "close", "text"], text: str, pieces: list[Piece]
    ) -> None:
        """Emit what is pending together with ``text``."""
        held = "".join(self._pending) + text
        self._pending.clear()
        if held:
            pieces.append(Piece(kind, held))


def _starts(tag: str, text: str, position: int) -> bool:
    """Whether ``text`` from ``position`` is a proper start of ``tag``; the empty string is one."""
    return len(text) - position < len(tag) and tag.startswith(text[position:])


def _partial_start(tags: Iterable[str], text: str, position: int) -> int:
    """Where the longest end of ``text`` begins that may become one of ``tags``; its length if none may."""
    longest = max(map(len, tags))
    first = max(position, len(text) - longest + 1)
    return next(
        (start for start in range(first, len(text)) if any(_starts(tag, text, start) for tag in tags)),
        len(text),
    )


def _check_tags(tags: Mapping[str, str]) -> None:
    # Where one tag hides another, what it means would depend on where the stream was cut; a closing tag that
    # an opening tag hides could not be told at the start of a prefilled stream until more came.
    closing = set(tags.values())
    if (
        not tags
        or any(not tag or tag != tag.strip(_SPACES) for tag in (*tags, *closing))
        or any(longer.startswith(tag) for tag, longer in permutations(tags, 2))
        or any(tag in longer for tag, longer in permutations(closing, 2))
        or any(tag in opening[:-1] for tag, opening in product(closing, tags))
    ):
        raise ConfigurationError(
            "The reasoning tags cannot be told apart.",
            code="bad_tags",
            hint="Give at least one pair; no tag may be empty, have white space at an end, or hide another.",
        )
