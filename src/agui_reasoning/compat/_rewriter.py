"""Base class of byte stream rewriters.

A rewriter returns the bytes of a stream unchanged, except for events that its translator changes. The output
does not depend on how the input is split.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from pydantic import BaseModel

from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import MAX_FRAME_BYTES, SSEEncoder, bad_json, bad_utf8, check_event, frame_too_large


class Translator(Protocol):
    """Interface of `ThinkingUpgrader` and `ThinkingDowngrader`. Create a new instance for each stream."""

    def receive(self, event: BaseModel | Mapping[str, Any], /) -> list[dict[str, Any]]:
        """Translate one event."""

    def close(self) -> list[dict[str, Any]]:
        """Signal the end of the stream."""


def translate(
    events: Iterable[BaseModel | Mapping[str, Any]], translator: Translator
) -> Generator[dict[str, Any], None, None]:
    """Translate a stream.

    The source is closed together with the stream, if it has a ``close`` method.

    Args:
        events: Models or their JSON.
        translator: A new translator.

    Examples:
        >>> from agui_reasoning.compat import ThinkingDowngrader
        >>> downgrader = ThinkingDowngrader(on_warning=lambda warning: None)
        >>> list(translate([{"type": "REASONING_START", "messageId": "s"}], downgrader))
        [{'type': 'THINKING_START'}]
    """
    try:
        for event in events:
            yield from translator.receive(event)
        yield from translator.close()
    finally:
        if close := getattr(events, "close", None):
            close()


async def translate_async(
    events: AsyncIterable[BaseModel | Mapping[str, Any]], translator: Translator
) -> AsyncGenerator[dict[str, Any], None]:
    """Translate an asynchronous stream; otherwise like `translate`."""
    try:
        async for event in events:
            for translated in translator.receive(event):
                yield translated
        for translated in translator.close():
            yield translated
    finally:
        if close := getattr(events, "aclose", None):
            await close()


Event: TypeAlias = dict[str, Any]
_PREFIX = len(b"data: ")
_BLANK = len(b"\n\n")


class Replacement(NamedTuple):
    """The replacement of a changed event."""

    kind: str
    events: list[Event]


class Rewriter(ABC):
    """Rewrites one stream, and counts the events that it has read, changed and written.

    Output before an error is never lost: `feed` returns it, and the next call raises the error. Without such
    output the error is raised immediately.
    """

    def __init__(
        self,
        translator: Translator,
        *,
        on_events: Callable[[list[Event]], None] | None = None,
        on_fault: Callable[[RemoteProtocolError], None] | None = None,
    ) -> None:
        """Prepare for one stream.

        Args:
            translator: A new translator; closed together with the rewriter.
            on_events: Called with the translated events, in order.
            on_fault: Called with the error of an invalid event; the value is then passed on unchanged.
                Defaults to raising the error.
        """
        self.events = self.changed = self.written = 0
        self._translator = translator
        self._on_events = on_events
        self._on_fault = on_fault
        self._out = bytearray()
        self._error: RemoteProtocolError | None = None

    def feed(self, data: bytes) -> bytes:
        """Process the next bytes and return the output.

        Raises:
            RemoteProtocolError: ``bad_json``, ``bad_frame``, ``bad_utf8`` or ``frame_too_large``, or an error
                of the translator.
        """
        return self._guarded(lambda: self._take(data))

    def close(self) -> bytes:
        """Signal the end of the stream and return the remaining output.

        Raises:
            RemoteProtocolError: As in `feed`.
        """
        return self._guarded(self._finish)

    @abstractmethod
    def _take(self, data: bytes) -> None:
        """Process bytes and append the output to ``_out``."""

    @abstractmethod
    def _finish(self) -> None:
        """Append the remaining output to ``_out``."""

    def _guarded(self, work: Callable[[], None]) -> bytes:
        if self._error is None:
            try:
                work()
            except RemoteProtocolError as error:
                self._error = error.with_traceback(None)
        out, self._out = bytes(self._out), bytearray()
        if self._error is not None and not out:
            raise self._error
        return out

    def _change(self, value: bytes, place: str, *, cut: bool = False) -> Replacement | None:
        """Translate the event in a value; ``None`` if it is unchanged."""
        try:
            event = self._event(value, place, cut=cut)
            events = self._translator.receive(event)
        except RemoteProtocolError as fault:
            if self._on_fault is None:
                raise
            self._on_fault(fault)
            return None
        self.events += 1
        self.written += len(events)
        if self._on_events is not None:
            self._on_events(events)
        if events == [event]:
            return None
        self.changed += 1
        return Replacement(event["type"], events)

    def _event(self, value: bytes, place: str, *, cut: bool) -> Event:
        try:
            loaded = load(value.decode())
        except UnicodeDecodeError as error:
            position = error.start
        else:
            if isinstance(loaded, Malformed):
                raise bad_json(place, loaded.position, cut=cut)
            return check_event(loaded, place)
        raise bad_utf8(place, position)  # raised outside the handler, because the cause contains the value


def written(event: Event) -> bytes:
    """Serialize an event as one line of JSON."""
    return SSEEncoder().encode(event)[_PREFIX:-_BLANK]


class SSERewriter(Rewriter):
    r"""Rewrites one stream of Server-Sent Events.

    A frame with a changed event keeps its comments, ``id``, ``retry``, line endings and spacing; an ``event``
    field that names the old type is updated. Comments between frames are passed on immediately, frames when
    they are complete. (A frame that ends in a lone CR is complete when the next byte arrives.)

    Examples:
        >>> from agui_reasoning.compat import ThinkingUpgrader
        >>> upgrader = ThinkingUpgrader(lambda warning: None, new_id=lambda: "s")
        >>> SSERewriter(upgrader).feed(b': hi\r\n\r\ndata:{"type":"THINKING_START"}\r\n\r\n')
        b': hi\r\n\r\ndata:{"type":"REASONING_START","messageId":"s"}\r\n\r\n'
    """

    def __init__(
        self,
        translator: Translator,
        *,
        on_events: Callable[[list[Event]], None] | None = None,
        on_fault: Callable[[RemoteProtocolError], None] | None = None,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> None:
        """Prepare for one stream; see `Rewriter`.

        Frames larger than ``max_frame_bytes`` are an error; with ``on_fault`` they are passed on unread.
        """
        super().__init__(translator, on_events=on_events, on_fault=on_fault)
        self._limit = max_frame_bytes
        self._number = 1
        self._line = bytearray()
        self._frame: list[bytes] = []
        self._size = 0
        self._at_start = True
        self._unread = False
        """Whether the rest of the frame is passed on unread."""
        self._inside_line = False
        """Whether the rest of the line is passed on unread."""

    def _take(self, data: bytes) -> None:
        if self._line.endswith(b"\r"):  # an LF may follow
            data, self._line = bytes(self._line) + data, bytearray()
        lines = data.splitlines(keepends=True)  # bytes split at CR, LF and CRLF only
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if lines and self._line:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        for line in lines:
            self._take_line(line)
        self._line += rest
        self._check_size()

    def _take_line(self, line: bytes) -> None:
        inside, self._inside_line = self._inside_line, False
        blank = not inside and not line.rstrip(b"\r\n")
        if inside or self._unread:
            self._out += line
            if blank:
                self._next_frame()
        elif blank:
            self._dispatch(line)
        elif not self._frame and line.startswith(b":"):
            self._at_start = False
            self._out += line
        else:
            self._frame.append(line)
            self._size += len(line)
            if self._size > self._limit:
                self._reject()

    def _check_size(self) -> None:
        """Limit the buffered data to one frame of the maximum size."""
        size = len(self._line.rstrip(b"\r"))
        in_comment = self._inside_line or (not self._frame and self._line.startswith(b":"))
        if self._size + size > self._limit and not (self._unread or in_comment):
            self._reject()
        if size and (self._unread or self._inside_line or size > self._limit):
            last = b"\r" if self._line.endswith(b"\r") else b""
            self._out += self._line.removesuffix(b"\r")
            self._line = bytearray(last)
            self._inside_line = True

    def _reject(self) -> None:
        fault = frame_too_large(f"Frame {self._number}", self._limit)
        if self._on_fault is None:
            raise fault
        self._on_fault(fault)
        self._out += b"".join(self._frame)
        self._frame, self._size = [], 0
        self._unread = True

    def _next_frame(self) -> None:
        self._frame, self._size = [], 0
        self._unread = self._at_start = False
        self._number += 1

    def _finish(self) -> None:
        line, self._line = bytes(self._line), bytearray()
        if self._unread or self._inside_line:
            self._out += line
        elif line.rstrip(b"\r"):
            self._frame.append(line)
            self._dispatch(b"", cut=True)
        else:
            self._dispatch(line, cut=not line)
        self._translator.close()

    # -- one frame

    def _dispatch(self, blank: bytes, *, cut: bool = False) -> None:
        fields = [_field(line, first=self._at_start and not at) for at, line in enumerate(self._frame)]
        data = b"\n".join(value for name, value in fields if name == b"data")
        change = self._change(data, f"Frame {self._number}", cut=cut) if data else None
        if change is None:
            self._out += b"".join(self._frame) + blank
        else:
            self._out += _Frame(self._frame, fields, blank, change.kind).written(change.events)
        self._next_frame()


class _Frame:
    """A frame to rewrite, preserving its formatting."""

    def __init__(
        self, lines: list[bytes], fields: list[tuple[bytes, bytes]], blank: bytes, kind: str
    ) -> None:
        self._lines = lines
        self._fields = fields
        self._blank = blank
        at = next(at for at, (name, _) in enumerate(fields) if name == b"data")
        self._first, self._end = at, _end_of(lines[at])
        self._mark = BOM_UTF8 if lines[at].startswith(BOM_UTF8) else b""
        self._space = b" " if lines[at].removeprefix(BOM_UTF8).startswith(b"data: ") else b""
        self._old_type = (b"event", kind.encode())

    def written(self, events: Sequence[Event]) -> bytes:
        """Return the frame with these events, as one or more frames; without events, its other lines."""
        if not events:
            pairs = zip(self._lines, self._fields, strict=True)
            rest = b"".join(line for line, field in pairs if field[0] != b"data" and field != self._old_type)
            return rest and rest + self._blank
        if len(events) > 1:
            self._complete()
        frames = [self._head(events[0]), *map(self._additional_frame, events[1:])]
        return b"".join(frame + self._blank for frame in frames)

    def _complete(self) -> None:
        """Add the line endings that a truncated stream is missing."""
        self._end = self._end or b"\n"
        self._blank = self._blank or self._end
        if not _end_of(self._lines[-1]):
            self._lines[-1] += self._end

    def _head(self, event: Event) -> bytes:
        """Return the frame with its event replaced."""
        lines = []
        for at, (line, field) in enumerate(zip(self._lines, self._fields, strict=True)):
            if at == self._first:
                lines.append(self._mark + self._data(event))
            elif field == self._old_type:
                lines.append(self._type(event))
            elif field[0] != b"data":
                lines.append(line)
        return b"".join(lines)

    def _additional_frame(self, event: Event) -> bytes:
        typed = self._type(event) if self._old_type in self._fields else b""
        return typed + self._data(event)

    def _data(self, event: Event) -> bytes:
        return b"data:" + self._space + written(event) + self._end

    def _type(self, event: Event) -> bytes:
        return b"event:" + self._space + str(event["type"]).encode() + (self._end or b"\n")


def _field(line: bytes, *, first: bool = False) -> tuple[bytes, bytes]:
    """Split a line into field name and value; comments have an empty name."""
    if first:
        line = line.removeprefix(BOM_UTF8)
    name, _, value = line.rstrip(b"\r\n").partition(b":")
    return name, value.removeprefix(b" ")


def _end_of(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :]
