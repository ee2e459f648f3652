"""Splits text into reasoning and answer, which are marked with ``<think>`` tags.

Some providers (MiniMax, Perplexity, Groq's ``raw`` format, most self-hosted models) send their reasoning
inside the answer's text. Streams may split the tags anywhere, and some providers require the identical string
in the next request, so nothing is dropped: every character is in exactly one piece.
"""

from __future__ import annotations

import re
from collections import abc
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from itertools import chain, permutations, product
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agui_reasoning.errors import ConfigurationError, LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

__all__ = ["DEFAULT_TAGS", "Piece", "ThinkTagSplitter"]

_HARMONY: Final = "<|channel|>analysis<|message|>"

DEFAULT_TAGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "<think>": "</think>",
        "<thinking>": "</thinking>",
        "<thought>": "</thought>",
        "<reason>": "</reason>",
        "<reasoning>": "</reasoning>",
        "<antthinking>": "</antthinking>",
        "<seed:think>": "</seed:think>",
        "[THINK]": "[/THINK]",
        "◁think▷": "◁/think▷",
        "<|begin_of_thought|>": "<|end_of_thought|>",
        "<|START_THINKING|>": "<|END_THINKING|>",
        "<|channel>thought": "<channel|>",
        "<unused94>thought": "<unused95>",
        _HARMONY: "<|end|>",
    }
)
"""Opening to closing tags of known models; the last pair is that of gpt-oss (harmony)."""

# ASCII only: an ideographic space (U+3000) or a no-break space begins a Chinese or a typeset paragraph, so
# it is content, not layout around a tag.
_SPACES: Final = " \t\n\r\f\v"
_SPACE_RUN: Final = re.compile(f"[{_SPACES}]*")

# Before the first tag, other spaces and invisible characters (a byte order mark, zero-width characters) are
# also accepted; otherwise one of them would turn the reasoning after it into text.
_BLANK: Final = r"[\s\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]"
_BLANK_RUN: Final = re.compile(f"{_BLANK}*")


@dataclass(frozen=True, slots=True, repr=False)
class Piece:
    """One run of the stream. The ``text`` of all pieces, joined, is the stream.

    Attributes:
        kind: ``"reasoning"`` and ``"text"`` are content; ``"open"`` and ``"close"`` are delimiters.
        text: The content, or for a delimiter the tag with surrounding white space. Never empty.
    """

    kind: Literal["open", "reasoning", "close", "text"]
    text: str

    def __repr__(self) -> str:
        # Model output stays out of logs and tracebacks.
        return f"Piece(kind={self.kind!r}, length={len(self.text)})"


class _State(Enum):
    LEADING = auto()  # an opening tag may come: at the start, and after a close delimiter
    PREFILLED = auto()  # in reasoning without an opening tag, which may still come
    OPENED = auto()  # after an opening tag, in its white space
    REASONING = auto()
    ENDED = auto()  # the reasoning is over, and its closing tag may still come
    CLOSED = auto()  # after a closing tag, in its white space
    TEXT = auto()


# The kind of content without an opening tag.
_UNTAGGED: Final = {_State.LEADING: _State.TEXT, _State.PREFILLED: _State.REASONING}

_AFTER_DELIMITER: Final = {_State.OPENED: _State.REASONING, _State.CLOSED: _State.LEADING}

# The kind of held-back characters at the end of the stream.
_KIND_AT_END: Final[Mapping[_State, Literal["open", "reasoning", "close", "text"]]] = {
    _State.LEADING: "text",
    _State.PREFILLED: "reasoning",
    _State.OPENED: "open",
    _State.REASONING: "reasoning",
    _State.ENDED: "text",
    _State.CLOSED: "close",
    _State.TEXT: "text",
}

_IN_REASONING: Final = frozenset({_State.PREFILLED, _State.OPENED, _State.REASONING})


class ThinkTagSplitter:
    r"""Splits a text stream into reasoning, answer and the delimiters between them.

    Only a leading tag opens reasoning: once the answer has started, tags are part of it, unless ``anywhere``
    contains them. The closing tag must match the opening tag, and reasoning does not nest. After a
    closing tag another opening tag may follow. ASCII white space before an opening tag, directly inside the
    tags and after a closing tag is part of the delimiter, so that reasoning and answer are clean; before a
    leading opening tag, so are other spaces and invisible characters (a byte order mark, zero-width
    characters). Without a closing tag, everything that remains is reasoning.

    Any split of the stream into feeds gives the same pieces, except that reasoning or text may be divided.
    Time is linear in the length of the stream. Only a possible (part of a) delimiter is held back.

    Args:
        start_in_reasoning: Whether the stream starts inside reasoning because the prompt contains the
            opening tag. Any closing tag then ends it. A leading opening tag is still accepted.
        tags: Opening to closing tags, ignoring case. Tags in the style of HTML may have white space around
            the name and attributes after it.
        anywhere: The opening tags that also count within the answer.

    Raises:
        ConfigurationError: There are no tags, a tag is empty or padded with white space, or one hides
            another: an opening tag begins another, or a closing tag is inside another tag (``bad_tags``).

    Examples:
        >>> splitter = ThinkTagSplitter()
        >>> pieces = splitter.feed("<think>\nHm") + splitter.feed(".\n</thi")
        >>> pieces += splitter.feed("nk>\n\nYes.") + splitter.close()
        >>> [piece.kind for piece in pieces]
        ['open', 'reasoning', 'reasoning', 'close', 'text']
        >>> [piece.text for piece in pieces]
        ['<think>\n', 'Hm', '.', '\n</think>\n\n', 'Yes.']
    """

    def __init__(
        self,
        *,
        start_in_reasoning: bool = False,
        tags: Mapping[str, str] = DEFAULT_TAGS,
        anywhere: Collection[str] = (),
    ) -> None:
        if not isinstance(tags, abc.Mapping) or not all(isinstance(tag, str) for tag in chain(*tags.items())):
            raise ConfigurationError(
                "The reasoning tags are not a mapping of opening to closing tags.",
                code="bad_tags",
                hint='Pass, for example, {"<plan>": "</plan>"}.',
            )
        if not tags.keys() >= set(anywhere):
            raise _bad_tags()
        self._grammar: _Grammar = _grammar(tuple(tags.items()))
        self._anywhere: _Pattern | None = self._grammar.only(anywhere) if anywhere else None
        self._closing: _Pattern = self._grammar.any_closing
        self._tagged: bool = False
        self._resuming: _Pattern | None = None
        self._state: _State = _State.PREFILLED if start_in_reasoning else _State.LEADING
        # Held back: white space and whole tags (a list, because joining on every feed would make a long run
        # of white space quadratic), followed by a possible start of a tag.
        self._pending: list[str] = []
        self._partial: str = ""
        self._is_closed: bool = False

    @property
    def in_reasoning(self) -> bool:
        """Whether the last character is in reasoning; after `close`, whether reasoning was not closed."""
        return self._state in _IN_REASONING

    def feed(self, text: str) -> list[Piece]:
        """Split the next part of the stream.

        Args:
            text: Any number of characters.

        Returns:
            The pieces that are now certain, in order.

        Raises:
            LocalProtocolError: The splitter is closed. State is unchanged.
        """
        self._check_open()
        text = self._partial + text
        self._partial = ""
        pieces: list[Piece] = []
        position = 0
        while position < len(text):
            position = _READERS[self._state](self, text, position, pieces)
        return pieces

    def passes(self, text: str) -> bool:
        """Return whether `feed` would only return the text as one piece of reasoning or answer.

        ``False`` if the text has a character that may begin a tag, even if none follows.
        """
        if self._partial or self._pending or not text:
            return False
        if self._state is _State.TEXT:
            return self._anywhere is None or self._anywhere.first.search(text) is None
        clean = self._state is _State.REASONING and text[-1] not in _SPACES
        return clean and self._closing.first.search(text) is None

    def begin_reasoning(self) -> list[Piece]:
        """Start reasoning without a tag; tags around it are still recognized.

        Returns:
            What was held back, if it was not reasoning.

        Raises:
            LocalProtocolError: The splitter is closed. State is unchanged.
        """
        self._check_open()
        pieces: list[Piece] = []
        if self.in_reasoning:
            return pieces
        if self._state is not _State.LEADING:
            self._flush(pieces)
        self._state, self._tagged, self._closing = _State.PREFILLED, False, self._grammar.any_closing
        return pieces

    def end_reasoning(self) -> list[Piece]:
        """Start the answer without a tag; the closing tag before it is still recognized.

        Reasoning that started with an opening tag continues until its closing tag.

        Returns:
            What was held back.

        Raises:
            LocalProtocolError: The splitter is closed. State is unchanged.
        """
        self._check_open()
        pieces: list[Piece] = []
        if self.in_reasoning and not self._tagged:
            self._flush(pieces)
            self._state = _State.ENDED
        return pieces

    def close(self) -> list[Piece]:
        """End the stream.

        Returns:
            What was held back, 0 or 1 piece. Further calls return nothing.
        """
        self._is_closed = True
        pieces: list[Piece] = []
        self._flush(pieces)
        return pieces

    def _check_open(self) -> None:
        if self._is_closed:
            raise LocalProtocolError(
                "The splitter is closed.",
                code="closed",
                hint="Create a new ThinkTagSplitter for each response.",
                state="closed",
            )

    def _flush(self, pieces: list[Piece]) -> None:
        text, self._partial = self._partial, ""
        self._emit(_KIND_AT_END[self._state], text, pieces)

    def _read_leading(self, text: str, position: int, pieces: list[Piece]) -> int:
        position = self._hold(_BLANK_RUN, text, position)
        found = self._grammar.opening.whole.match(text, position)
        if found is not None:
            return self._open(found)
        if self._grammar.opening.may_begin(text, position):
            self._partial = text[position:]
            return len(text)
        self._state = _UNTAGGED[self._state]
        if self._state is _State.REASONING:
            held = "".join(self._pending)
            self._pending.clear()
            self._hold_trailing_space(held, pieces)
        return position

    def _open(self, found: re.Match[str]) -> int:
        self._pending.append(found[0])
        self._closing, self._resuming = self._grammar.closings[str(found.lastgroup)]
        self._tagged = True
        self._state = _State.OPENED
        return found.end()

    def _read_delimiter_space(self, text: str, position: int, pieces: list[Piece]) -> int:
        position = self._hold(_SPACE_RUN, text, position)
        if position < len(text):
            self._emit(_KIND_AT_END[self._state], "", pieces)
            self._state = _AFTER_DELIMITER[self._state]
        return position

    def _read_reasoning(self, text: str, position: int, pieces: list[Piece]) -> int:
        found = self._closing.whole.search(text, position)
        if found is None:
            end = self._closing.partial_start(text, position)
            self._partial = text[end:]
            self._hold_trailing_space(text[position:end], pieces)
            return len(text)
        self._hold_trailing_space(text[position : found.start()], pieces)
        return self._close(found)

    def _close(self, found: re.Match[str]) -> int:
        self._pending.append(found[0])
        self._state = _State.CLOSED
        return found.end()

    def _read_ended(self, text: str, position: int, pieces: list[Piece]) -> int:
        position = self._hold(_BLANK_RUN, text, position)
        found = self._closing.whole.match(text, position)
        if found is not None:
            return self._close(found)
        if self._closing.may_begin(text, position):
            self._partial = text[position:]
            return len(text)
        self._state = _State.LEADING
        return position

    def _read_closed(self, text: str, position: int, pieces: list[Piece]) -> int:
        """Read the white space of a closing tag, and the header of the answer if the format has one."""
        position = self._hold(_SPACE_RUN, text, position)
        if self._resuming is not None and position < len(text):
            found = self._resuming.whole.match(text, position)
            if found is not None:
                self._resuming = None
                self._pending.append(found[0])
                return found.end()
            if self._resuming.may_begin(text, position):
                self._partial = text[position:]
                return len(text)
        return self._read_delimiter_space(text, position, pieces)

    def _read_text(self, text: str, position: int, pieces: list[Piece]) -> int:
        opening = self._anywhere
        if opening is None:
            self._emit("text", text[position:], pieces)
            return len(text)
        found = opening.whole.search(text, position)
        end = opening.partial_start(text, position) if found is None else found.start()
        self._emit("text", text[position:end], pieces)
        if found is not None:
            return self._open(found)
        self._partial = text[end:]
        return len(text)

    def _hold(self, spaces: re.Pattern[str], text: str, position: int) -> int:
        run = spaces.match(text, position)
        if run is None or not run[0]:
            return position
        self._pending.append(run[0])
        return run.end()

    def _hold_trailing_space(self, content: str, pieces: list[Piece]) -> None:
        """Emit reasoning up to its last visible character; white space after it may belong to the tag."""
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


_READERS: Final[Mapping[_State, abc.Callable[[ThinkTagSplitter, str, int, list[Piece]], int]]] = {
    **dict.fromkeys((_State.LEADING, _State.PREFILLED), ThinkTagSplitter._read_leading),
    _State.OPENED: ThinkTagSplitter._read_delimiter_space,
    _State.REASONING: ThinkTagSplitter._read_reasoning,
    _State.ENDED: ThinkTagSplitter._read_ended,
    _State.CLOSED: ThinkTagSplitter._read_closed,
    _State.TEXT: ThinkTagSplitter._read_text,
}
"""What reads one stretch of text from a position, and returns the start of the next."""


# -- tags as patterns

_Atoms: TypeAlias = "Sequence[str]"
"""A tag as patterns, each for one character or for several of one class."""

# The space allowed around a name. Bounded, because it is held back until the tag is complete.
_INNER: Final = _BLANK + "{0,16}"
_NAMED: Final = re.compile(r"<(/?)([A-Za-z][\w:.-]*)>")
_BOUND: Final = re.compile(r"\{0,(\d+)\}$")


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Patterns of tags: the whole tags, all of their prefixes, and their first characters."""

    whole: re.Pattern[str]
    start: re.Pattern[str]
    first: re.Pattern[str]
    longest: int

    def may_begin(self, text: str, position: int) -> bool:
        """Return whether ``text`` from ``position`` may become one of the tags; an empty string may."""
        return self.start.fullmatch(text, position) is not None

    def partial_start(self, text: str, position: int) -> int:
        """Return the start of the longest end of ``text`` that may become a tag, or else its length."""
        nearest = max(position, len(text) - self.longest)
        candidates = (found.start() for found in self.first.finditer(text, nearest))
        return next((start for start in candidates if self.may_begin(text, start)), len(text))


@dataclass(frozen=True, slots=True)
class _Grammar:
    """The tags of a splitter.

    Attributes:
        names: The opening tags, with the names of their groups in patterns.
        opening: One pattern for all opening tags.
        closings: By name, the closing tag, and a header that may follow it before the answer.
        any_closing: All closing tags.
    """

    names: Mapping[str, str]
    opening: _Pattern
    closings: Mapping[str, tuple[_Pattern, _Pattern | None]]
    any_closing: _Pattern

    def only(self, tags: Collection[str]) -> _Pattern:
        """Return the pattern of some of the opening tags."""
        return _pattern(*map(_opening, tags), names=[self.names[tag] for tag in tags])


@cache
def _grammar(tags: tuple[tuple[str, str], ...]) -> _Grammar:
    _check_tags(dict(tags))
    names = {tag: f"t{number}" for number, (tag, _) in enumerate(tags)}
    endings = {names[tag]: _HARMONY_ENDINGS if tag == _HARMONY else _closing(end) for tag, end in tags}
    heads = {names[_HARMONY]: _pattern(_FINAL)} if _HARMONY in names else {}
    closings = {name: (_pattern(ending), heads.get(name)) for name, ending in endings.items()}
    opening = _pattern(*map(_opening, names), names=list(names.values()))
    return _Grammar(names, opening, closings, _pattern(*endings.values()))


def _pattern(*tags: Iterable[_Atoms], names: Sequence[str] = ()) -> _Pattern:
    """Build the pattern of tags, each given in all its forms."""
    wholes = ["|".join("".join(form) for form in forms) for forms in tags]
    named = [f"(?P<{n}>{whole})" for n, whole in zip(names, wholes, strict=True)] if names else wholes
    forms = [form for every in tags for form in every]
    return _Pattern(
        re.compile("|".join(named), re.IGNORECASE),
        re.compile("|".join(dict.fromkeys(map(_start, forms))), re.IGNORECASE),
        re.compile("|".join(dict.fromkeys(form[0] for form in forms)), re.IGNORECASE),
        max(sum(map(_width, form)) for form in forms),
    )


def _start(form: _Atoms) -> str:
    """Return a pattern of every prefix of a tag, including the empty one."""
    pattern = ""
    for atom in reversed(form):
        pattern = f"(?:{atom}{pattern})?"
    return pattern


def _width(atom: str) -> int:
    bounded = _BOUND.search(atom)
    return int(bounded[1]) if bounded else 1


def _letters(text: str) -> list[str]:
    return [re.escape(character) for character in text]


def _opening(tag: str) -> list[_Atoms]:
    if tag == _HARMONY:
        return _headed("analysis")
    named = _NAMED.fullmatch(tag)
    if named is None or named[1]:
        return [_letters(tag)]
    name = ["<", _INNER, *_letters(named[2])]
    # A tag that ends in a slash has no content.
    return [[*name, _INNER, ">"], [*name, _BLANK, "[^<>]{0,256}", "(?<!/)>"]]


def _closing(tag: str) -> list[_Atoms]:
    named = _NAMED.fullmatch(tag)
    if named is None or not named[1]:
        return [_letters(tag)]
    return [["<", _INNER, "/", _INNER, *_letters(named[2]), _INNER, ">"]]


def _headed(channel: str) -> list[_Atoms]:
    """Return the forms of a harmony header; the prompt contains the role of the first one."""
    head = [*_letters(f"<|channel|>{channel}"), "[^<]{0,128}", *_letters("<|message|>")]
    return [head, [*_letters("<|start|>assistant"), *head]]


_FINAL: Final = _headed("final")
_HARMONY_ENDINGS: Final = [*map(_letters, ("<|end|>", "<|return|>", "<|call|>")), *_FINAL]


def _check_tags(tags: Mapping[str, str]) -> None:
    # If one tag hid another, the result would depend on how the stream is split; a closing tag hidden by an
    # opening tag could not be recognized at the start of a prefilled stream until more text arrived.
    opening = {tag.casefold() for tag in tags}
    closing = {tag.casefold() for tag in tags.values()}
    if (
        not tags
        or len(opening) < len(tags)
        or any(not tag or tag != tag.strip(_SPACES) for tag in (*opening, *closing))
        or any(longer.startswith(tag) for tag, longer in permutations(opening, 2))
        or any(tag in longer for tag, longer in permutations(closing, 2))
        or any(tag in opened[:-1] for tag, opened in product(closing, opening))
    ):
        raise _bad_tags()


def _bad_tags() -> ConfigurationError:
    return ConfigurationError(
        "The reasoning tags are ambiguous.",
        code="bad_tags",
        hint="Give at least one pair; no tag may be empty, have white space at an end, or hide another. "
        "The tags in `anywhere` must be among them.",
    )
