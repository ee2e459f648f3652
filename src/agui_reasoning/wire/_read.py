"""Read a complete recording: Server-Sent Events, JSON lines, a JSON array or one JSON object."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

from agui_reasoning._strict_json import Malformed, load, scan, skip_blank
from agui_reasoning.wire._decode import SSEDecoder, check_event
from agui_reasoning.wire._faults import bad_json, bad_utf8
from agui_reasoning.wire._frames import SSEFrames

__all__ = ["iter_events", "iter_numbered_events", "iter_payloads", "read_events", "read_payloads"]

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
    for number, (start, value) in enumerate(_scan_all(text), 1):
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


def _scan_all(text: str) -> Iterator[tuple[int, Any]]:
    """Yield values until the text ends; the caller stops at the first `Malformed`."""
    start = skip_blank(text, 0)
    return _scan_array(text, start) if text.startswith("[", start) else _scan_sequence(text, start)


def _scan_sequence(text: str, at: int) -> Iterator[tuple[int, Any]]:
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
