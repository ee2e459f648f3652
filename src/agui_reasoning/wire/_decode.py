"""Decode AG-UI events: incrementally from Server-Sent Events, or from a complete recording.

A recording is Server-Sent Events, JSON lines, a JSON array or one JSON object.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from agui_reasoning._strict_json import Malformed, load, load_each, scan, skip_blank
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire._frames import MAX_FRAME_BYTES, SSEFrames, bad_event, bad_json, bad_utf8


class SSEDecoder:
    r"""Decodes the bytes of an AG-UI stream into events, one dict per event.

    Checks only that each frame is an object with a non-empty string ``type``.

    A bad frame does not lose the events before it: `feed` returns them, and the next call raises the error.
    If there are none, `feed` raises the error itself. From then on, every call raises it.

    Args:
        max_frame_bytes: Limit for one frame, in bytes.

    Raises:
        ConfigurationError: The limit is below 1.

    Source:
        AG-UI 1.0, HTTP and Server-Sent Events binding.

    Examples:
        >>> decoder = SSEDecoder()
        >>> decoder.feed(b'data: {"type": "REASONING_')
        []
        >>> decoder.feed(b'END", "messageId": "s1"}\n\n')
        [{'type': 'REASONING_END', 'messageId': 's1'}]
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._frames: SSEFrames = SSEFrames(max_frame_bytes)
        self._number: int = 0
        self._error: RemoteProtocolError | None = None

    def feed(self, data: bytes | bytearray | memoryview) -> list[dict[str, Any]]:
        """Take the next bytes and return the events they complete, in order.

        Raises:
            RemoteProtocolError: ``bad_json``, ``bad_frame``, ``bad_utf8`` or ``frame_too_large``.
            LocalProtocolError: The decoder is closed.
        """
        return self._read(lambda: self._frames.feed(data), cut=False)

    def close(self) -> list[dict[str, Any]]:
        """Signal the end of the stream; return the last event if its blank line is missing.

        Does not check for a terminal event; the consumer of the events does.

        Raises:
            RemoteProtocolError: As in `feed`; ``bad_json`` when the stream was cut inside a frame.
        """
        return self._read(self._frames.close, cut=True)

    def _read(self, texts: Callable[[], list[str]], *, cut: bool) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        if self._error is None:
            try:
                values = [*load_each(texts())]
                # Written out, because a call for each takes longer than the rest.
                events = [v for v in values if type(v) is dict and type(v.get("type")) is str and v["type"]]
                if len(events) < len(values):
                    at = next(at for at, value in enumerate(values) if not _is_event(value))
                    events = events[:at]
                    raise _fault(values[at], f"Frame {self._number + at + 1}", cut=cut)
            except RemoteProtocolError as error:
                self._error = error
            self._number += len(events)
        if self._error is not None and not events:
            raise self._error.with_traceback(None)
        return events


def _fault(value: object, place: str, *, cut: bool) -> RemoteProtocolError:
    return bad_json(place, value.position, cut=cut) if isinstance(value, Malformed) else bad_event(place)


def check_event(value: object, place: str) -> dict[str, Any]:
    """Return the value if it is an object with a non-empty string ``type``.

    Raises:
        RemoteProtocolError: ``bad_frame``.
    """
    if _is_event(value):
        return value
    raise bad_event(place)


def _is_event(value: object) -> TypeGuard[dict[str, Any]]:
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind != ""


_DONE = "[DONE]"
_SSE = re.compile(rb"[\r\n]*(?:data|event|id|retry)?:")


def iter_events(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the AG-UI events of a recording, then raise if the rest is bad.

    Events before an error are still yielded; `read_events` is all or nothing.

    Args:
        data: The complete recording. Its beginning determines the format, see `iter_payloads`.

    Raises:
        RemoteProtocolError: ``bad_json``, ``bad_frame`` or ``bad_utf8``.
    """
    for _, event in iter_numbered_events(data):
        yield event


def iter_numbered_events(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield events as `iter_events` does, each with the number of the line it begins on, from 1."""
    yield from _numbered_frames(data) if _is_sse(data) else _numbered_items(data)


def _numbered_frames(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    decoder = SSEDecoder(max_frame_bytes=len(data))  # already in memory
    start: int | None = None
    number = 0
    for number, line in enumerate(data.removeprefix(BOM_UTF8).splitlines(keepends=True), 1):
        if start is None and line.startswith(b"data"):
            start = number
        for event in decoder.feed(line):
            yield start or number, event
        if not line.strip(b"\r\n"):
            start = None
    for event in decoder.close():
        yield start or number, event


def _numbered_items(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    line, counted = 1, 0
    text, _ = _decode(data.removeprefix(BOM_UTF8))
    for number, (start, value) in enumerate(_json_values(data), 1):
        line, counted = line + text.count("\n", counted, start), start
        yield line, check_event(value, f"Item {number}")


def read_events(data: bytes) -> list[dict[str, Any]]:
    """Return the AG-UI events of a recording.

    Args:
        data: The complete recording: Server-Sent Events, JSON lines, a JSON array or one JSON object.

    Raises:
        RemoteProtocolError: ``bad_json``, ``bad_frame`` or ``bad_utf8``.

    Examples:
        >>> read_events(b'[{"type": "REASONING_START", "messageId": "s1"}]')
        [{'type': 'REASONING_START', 'messageId': 's1'}]
    """
    return list(iter_events(data))


def iter_payloads(data: bytes) -> Iterator[Any]:
    """Yield the payloads of a provider's recording, then raise if the rest is bad.

    Reads Server-Sent Events if the first non-empty line is a comment or begins with ``data:``, ``event:``,
    ``id:`` or ``retry:``; a JSON array if the first character is ``[``; otherwise a sequence of JSON values,
    such as JSON lines or a single object printed over several lines.

    Args:
        data: The complete recording.

    Yields:
        Each parsed payload. The final ``[DONE]`` of OpenAI streams is yielded as a string.

    Raises:
        RemoteProtocolError: ``bad_json`` or ``bad_utf8``.
    """
    yield from _sse_values(data) if _is_sse(data) else (value for _, value in _json_values(data))


def read_payloads(data: bytes) -> list[Any]:
    r"""Return the payloads of a provider's recording as a list, see `iter_payloads`.

    Raises:
        RemoteProtocolError: ``bad_json`` or ``bad_utf8``.

    Examples:
        >>> read_payloads(b'event: x\ndata: {"a": 1}\n\ndata: [DONE]\n\n')
        [{'a': 1}, '[DONE]']
    """
    return list(iter_payloads(data))


def _is_sse(data: bytes) -> bool:
    return _SSE.match(data.removeprefix(BOM_UTF8)) is not None


def _sse_values(data: bytes) -> Iterator[Any]:
    for number, text in enumerate(_sse_texts(data), 1):
        value = _DONE if text.strip() == _DONE else load(text)
        if isinstance(value, Malformed):
            raise bad_json(f"Frame {number}", value.position)
        yield value


def _sse_texts(data: bytes) -> Iterator[str]:
    frames = SSEFrames(max_frame_bytes=len(data))
    yield from frames.feed(data)
    yield from frames.close()


def _json_values(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield values, each with the offset at which it begins."""
    text, bad_byte = _decode(data.removeprefix(BOM_UTF8))
    begin = skip_blank(text, 0)
    scan_all = _scan_array if text.startswith("[", begin) else _scan_sequence
    for number, (start, value) in enumerate(scan_all(text, begin), 1):
        if isinstance(value, Malformed):
            if bad_byte is not None:  # the text was cut there, so the parser's error is meaningless
                break
            raise bad_json(f"Item {number}", value.position)
        yield start, value
    if bad_byte is not None:
        raise bad_utf8("The recording", bad_byte)


def _decode(data: bytes) -> tuple[str, int | None]:
    """Return the text up to the first byte that is not UTF-8, and the position of that byte."""
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        return data[: error.start].decode(), error.start


def _scan_sequence(text: str, at: int) -> Iterator[tuple[int, Any]]:
    """Yield values until the text ends; the caller stops at the first `Malformed`."""
    while at < len(text):
        value, end = scan(text, at)
        yield at, value
        at = skip_blank(text, end)


def _scan_array(text: str, at: int) -> Iterator[tuple[int, Any]]:
    """Yield the elements of the array at ``at``, also the first ones of a truncated array."""
    at = skip_blank(text, at + 1)
    more = not text.startswith("]", at)
    while more:
        value, end = scan(text, at)
        yield at, value
        at = skip_blank(text, end)
        if more := text.startswith(",", at):
            at = skip_blank(text, at + 1)
    if not text.startswith("]", at) or (at := skip_blank(text, at + 1)) < len(text):
        yield at, Malformed(at)
