"""AG-UI streams in files: the readable events, and the error that stopped reading, if any."""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import Any

from agui_reasoning.cli._source import JSON_STRING, read_file
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import SSEDecoder
from agui_reasoning.wire._read import iter_numbered_events

__all__ = ["Stream", "read_stream"]


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of a file.

    Attributes:
        events: The events, in order.
        lines: The line each event starts on, from 1.
        cut: Whether the file ends in the middle of an event or of the array.
        error: The error that stopped reading; ``None`` if the file was read to the end or is truncated.
    """

    events: list[dict[str, Any]]
    lines: list[int]
    cut: bool = False
    error: RemoteProtocolError | None = None


def read_stream(name: str) -> Stream:
    """Read a file, or standard input for ``-``.

    Raises:
        ConfigurationError: The file cannot be read (``unreadable_file``).
        RemoteProtocolError: The first event cannot be read.
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
    """Return whether the stream is unreadable because its end is missing."""
    start = data.removeprefix(BOM_UTF8).lstrip()
    return _ends_open(start) if start.startswith((b"{", b"[")) else _ends_in_frame(data)


def _ends_open(data: bytes) -> bool:
    """Return whether JSON ends inside a string, an object or an array."""
    outside_strings = JSON_STRING.sub(b"", data)
    opened, closed = (sum(map(outside_strings.count, brackets)) for brackets in ((b"{", b"["), (b"}", b"]")))
    return b'"' in outside_strings or opened > closed


def _ends_in_frame(data: bytes) -> bool:
    """Return whether every frame is valid except for an unterminated last one."""
    decoder = SSEDecoder(max_frame_bytes=len(data))
    try:
        decoder.feed(data)
        decoder.feed(b"")  # errors are raised after the events before them
    except RemoteProtocolError:
        return False
    return True
