"""An AG-UI stream in a file: the events up to where it can be read, and why it cannot be read further."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning.cli._source import read_file
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import SSEDecoder
from agui_reasoning.wire._read import iter_numbered_events

__all__ = ["Stream", "read_stream"]

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Stream:
    """What was read.

    Attributes:
        events: The events, in order.
        lines: The line that each begins on, from 1.
        cut: The file ends in the middle of an event, or of the array around them.
        error: Why the rest cannot be read; ``None`` where there is no rest, or where it was cut off.
    """

    events: list[dict[str, Any]]
    lines: list[int]
    cut: bool = False
    error: RemoteProtocolError | None = None


def read_stream(name: str) -> Stream:
    """Read a file, or standard input for ``-``.

    Raises:
        ConfigurationError: It cannot be read (``unreadable_file``).
        RemoteProtocolError: Not even its first event can.
    """
    data = read_file(name)
    events: list[dict[str, Any]] = []
    lines: list[int] = []
    try:
        for line, event in iter_numbered_events(data):
            events.append(event)
            lines.append(line)
    except RemoteProtocolError as error:
        if not events:
            raise
        return Stream(events, lines, cut=True) if _is_cut(data) else Stream(events, lines, error=error)
    return Stream(events, lines)


def _is_cut(data: bytes) -> bool:
    """Whether what is wrong with a stream is that its end is missing."""
    start = data.removeprefix(BOM_UTF8).lstrip()
    return _ends_open(start) if start.startswith((b"{", b"[")) else _ends_in_frame(data)


def _ends_open(data: bytes) -> bool:
    """Whether JSON ends inside a string, an object or an array."""
    rest = _STRING.sub(b"", data)
    opened, closed = (sum(map(rest.count, brackets)) for brackets in ((b"{", b"["), (b"}", b"]")))
    return b'"' in rest or opened > closed


def _ends_in_frame(data: bytes) -> bool:
    """Whether every frame is good but for the last one, which nothing ends."""
    decoder = SSEDecoder(max_frame_bytes=len(data))
    try:
        decoder.feed(data)
        decoder.feed(b"")  # an error comes after the events before it
    except RemoteProtocolError:
        return False
    return True
