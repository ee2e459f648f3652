"""Upgrade THINKING_* events, which AG-UI 1.0 removed, to REASONING_* events, and downgrade them again.

Rewriters translate streams of bytes. Of JSON logs, a sequence of values or the elements of one array, they
hold one value in memory, so logs can be of any size. Unchanged values keep their bytes;
white space between values is not preserved.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Final

from agui_reasoning._thinking import (
    ThinkingEndEvent,
    ThinkingEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
    ThinkingUpgrader,
)
from agui_reasoning.compat._downgrade import ThinkingDowngrader
from agui_reasoning.compat._downgrade import peer_of as peer_of  # this and the rewriters: for the other rooms
from agui_reasoning.compat._rewriter import Event, Translator, translate, translate_async
from agui_reasoning.compat._rewriter import Rewriter as Rewriter
from agui_reasoning.compat._rewriter import SSERewriter as SSERewriter
from agui_reasoning.compat._rewriter import written as written
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import MAX_FRAME_BYTES, bad_json, frame_too_large

__all__ = [
    "ThinkingDowngrader",
    "ThinkingEndEvent",
    "ThinkingEvent",
    "ThinkingStartEvent",
    "ThinkingTextMessageContentEvent",
    "ThinkingTextMessageEndEvent",
    "ThinkingTextMessageStartEvent",
    "ThinkingUpgrader",
    "Translator",
    "translate",
    "translate_async",
]


# Possessive quantifiers prevent backtracking: the time per byte is bounded.
_BLANK: Final = re.compile(rb"[ \t\r\n]*+")
_FLAT: Final = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SCALAR: Final = re.compile(rb'[^ \t\r\n,\[\]{}"]*+')
_QUOTE, _BACKSLASH = b'"'[0], b"\\"[0]
_OPEN, _SHUT = frozenset(b"{["), frozenset(b"}]")


class Splitter:
    r"""Splits JSON text incrementally into values and separators.

    Tracks only strings, escapes and nesting. Values are not validated.

    Examples:
        >>> list(Splitter().feed(b' {"a": "}"} [1'))
        [('value', b'{"a": "}"}')]
    """

    def __init__(self, *, array: bool = False) -> None:
        """Prepare for one text. The values of an array are its elements; brackets and commas are "mark"."""
        self.held = bytearray()
        """The bytes of an incomplete value."""
        self._marks = frozenset(b"[],") if array else frozenset[int]()
        self._first_mark = array
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._in_scalar = False

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield the complete pieces: kind ("value", "mark" or "wrong") and bytes."""
        at = 0
        while at < len(data):
            if self._depth or self._in_string or self._in_scalar:
                end, complete = self._value_end(data, at)
                self.held += data[at:end]
                if complete:
                    yield "value", self._take_value()
            elif (end := _match(_BLANK, data, at)) == at:
                end = at + 1
                yield from self._begin(data[at])
            at = end

    def close(self) -> Iterator[tuple[str, bytes]]:
        """Yield a number or literal that only the end of the text completes."""
        if self._in_scalar:
            yield "value", self._take_value()

    def _take_value(self) -> bytes:
        self._in_scalar = False
        value, self.held = bytes(self.held), bytearray()
        return value

    def _begin(self, byte: int) -> Iterator[tuple[str, bytes]]:
        if byte in self._marks and (byte != b"["[0] or self._first_mark):
            self._first_mark = False
            yield "mark", bytes((byte,))
        elif byte in _SHUT or byte == b","[0]:
            yield "wrong", bytes((byte,))
        else:
            self.held.append(byte)
            self._depth = int(byte in _OPEN)
            self._in_string = byte == _QUOTE
            self._in_scalar = not self._depth and not self._in_string

    def _value_end(self, data: bytes, at: int) -> tuple[int, bool]:
        """Return the end of the value within these bytes, and whether the value is complete."""
        if self._in_scalar:
            end = _match(_SCALAR, data, at)
            return end, end < len(data)
        while at < len(data):
            at = self._string_end(data, at) if self._in_string else self._step(data, at)
            if not self._depth and not self._in_string:
                return at, True
        return at, False

    def _string_end(self, data: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        at = _match(_STRING, data, at)
        if at == len(data):
            return at
        self._escaped = data[at] == _BACKSLASH  # the data may end after the backslash
        self._in_string = self._escaped
        return at + 1

    def _step(self, data: bytes, at: int) -> int:
        at = _match(_FLAT, data, at)
        if at == len(data):
            return at
        byte = data[at]
        if byte == _QUOTE:
            self._in_string = True
        else:
            self._depth += 1 if byte in _OPEN else -1
        return at + 1


class LinesRewriter(Rewriter):
    r"""Rewrites a sequence of JSON values: JSON lines, or objects that span several lines.

    Examples:
        >>> from agui_reasoning.compat import ThinkingDowngrader
        >>> rewriter = LinesRewriter(ThinkingDowngrader(on_warning=lambda warning: None))
        >>> rewriter.feed(b'{"type": "REASONING_START", "messageId": "s"}\n{"type": "RAW", "event": 1}\n')
        b'{"type":"THINKING_START"}\n{"type": "RAW", "event": 1}\n'
    """

    # (state, piece) to the next state.
    _steps: ClassVar[Mapping[tuple[str, str], str]] = {("begin", "value"): "begin"}
    _end = "begin"
    _array = False

    def __init__(
        self,
        translator: Translator,
        *,
        on_events: Callable[[list[Event]], None] | None = None,
        on_fault: Callable[[RemoteProtocolError], None] | None = None,
        max_value_bytes: int = MAX_FRAME_BYTES,
    ) -> None:
        """Prepare for one log, whose values have at most ``max_value_bytes``; see `Rewriter`."""
        super().__init__(translator, on_events=on_events, on_fault=on_fault)
        self._limit = max_value_bytes
        self._splitter = Splitter(array=self._array)
        self._state = "begin"
        self._number = 1
        self._start: bytes | None = b""

    def _take(self, data: bytes) -> None:
        if self._start is not None and not (data := self._without_bom(data)):
            return
        for kind, piece in self._splitter.feed(data):
            self._take_piece(kind, piece)
        if len(self._splitter.held) > self._limit:
            raise frame_too_large(self._place, self._limit)

    def _without_bom(self, data: bytes) -> bytes:
        """Drop a byte order mark, even if it arrives in pieces."""
        start = (self._start or b"") + data
        if len(start) < len(BOM_UTF8) and BOM_UTF8.startswith(start):
            self._start = start
            return b""
        self._start = None
        return start.removeprefix(BOM_UTF8)

    def _finish(self) -> None:
        for kind, piece in self._splitter.close():
            self._take_piece(kind, piece)
        if self._start or self._splitter.held or self._state != self._end:
            raise bad_json(self._place, None, cut=True)
        self._translator.close()

    @property
    def _place(self) -> str:
        return f"Item {self._number}"

    def _take_piece(self, kind: str, piece: bytes) -> None:
        state = self._steps.get((self._state, kind if kind == "value" else piece.decode("ascii", "replace")))
        if state is None:
            raise bad_json(self._place, 0)
        if kind == "value":
            change = self._change(piece, self._place)
            self._number += 1
            for value in [piece] if change is None else map(written, change.events):
                self._write(value)
        else:
            self._mark(piece)
        self._state = state

    def _write(self, value: bytes) -> None:
        self._out += value + b"\n"

    def _mark(self, mark: bytes) -> None:
        """Write a bracket or comma, if the output has one."""


class ArrayRewriter(LinesRewriter):
    r"""Rewrites the elements of an array.

    Examples:
        >>> from agui_reasoning.compat import ThinkingDowngrader
        >>> rewriter = ArrayRewriter(ThinkingDowngrader(on_warning=lambda warning: None))
        >>> rewriter.feed(b'[{"type": "REASONING_START", "messageId": "s"}, {"type": "RAW", "event": 1}]')
        b'[{"type":"THINKING_START"},\n{"type": "RAW", "event": 1}]\n'
    """

    _steps: ClassVar[Mapping[tuple[str, str], str]] = {
        ("begin", "["): "empty",
        ("empty", "value"): "element",
        ("empty", "]"): "end",
        ("element", ","): "next",
        ("element", "]"): "end",
        ("next", "value"): "element",
    }
    _end = "end"
    _array = True
    _some = False

    def _write(self, value: bytes) -> None:
        self._out += (b",\n" if self._some else b"") + value
        self._some = True

    def _mark(self, mark: bytes) -> None:
        if mark != b",":
            self._out += mark if mark == b"[" else mark + b"\n"


def _match(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    return pattern.match(data, at).end()  # type: ignore[union-attr] # each matches any text
