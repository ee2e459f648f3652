"""The framings of streamed responses, with a reader and a writer for each.

Readers accept bytes split anywhere, and return the JSON text of each complete payload.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from zlib import crc32

from agui_reasoning._strict_json import Malformed, dump, load
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.providers.api import Framing, HTTPEndpoint
from agui_reasoning.wire import MAX_FRAME_BYTES, MEDIA_TYPE, SSEFrames, bad_utf8, frame_too_large


class FrameReader(Protocol):
    """Splits a stream into payloads."""

    def feed(self, data: bytes, /) -> list[str]:
        """Take the next bytes and return the payloads they complete.

        Raises:
            RemoteProtocolError: A frame is invalid.
        """

    def close(self) -> list[str]:
        """Signal the end of the stream; return the last payload if only its end is missing."""


class BufferedReader(ABC):
    """Base class of readers.

    A bad frame does not lose the payloads before it: `feed` returns them, and the next call raises the error.
    If there are none, `feed` raises the error itself. From then on, every call raises it.
    """

    def __init__(self) -> None:
        self._error: RemoteProtocolError | None = None

    def feed(self, data: bytes) -> list[str]:
        """See `FrameReader`."""
        return self._collected(self._read(data))

    def close(self) -> list[str]:
        """See `FrameReader`."""
        return self._collected(self._rest())

    @abstractmethod
    def _read(self, data: bytes) -> Iterator[str]:
        """Yield the payloads that the next bytes complete."""

    @abstractmethod
    def _rest(self) -> Iterator[str]:
        """Yield the last payload if only its end is missing."""

    def _collected(self, payloads: Iterator[str]) -> list[str]:
        found: list[str] = []
        if self._error is None:
            try:
                for payload in payloads:
                    found.append(payload)  # noqa: PERF402 -- keep those before an error
            except RemoteProtocolError as error:
                self._error = error
        if self._error is not None and not found:
            raise self._error.with_traceback(None)
        return found


class JSONLines(BufferedReader):
    r"""Incremental reader of JSON lines.

    Raises ``frame_too_large`` for a line above the limit. The total work is linear in the number of bytes,
    however they are split.

    Examples:
        >>> lines = JSONLines()
        >>> lines.feed(b'{"a": 1}\n{"b"'), lines.feed(b": 2}"), lines.close()
        (['{"a": 1}'], [], ['{"b": 2}'])
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        super().__init__()
        self._limit = max_frame_bytes
        self._line = bytearray()

    def _read(self, data: bytes) -> Iterator[str]:
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._append(end)
            yield from self._rest()
        self._append(rest)

    def _append(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > self._limit:
            raise frame_too_large("A line", self._limit)

    def _rest(self) -> Iterator[str]:
        text = decode_utf8(self._line, "A line").strip()
        self._line.clear()
        if text:
            yield text


def decode_utf8(data: bytes | bytearray, place: str) -> str:
    """Return text. What is not UTF-8 is not replaced: a signature would no longer fit its text."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise bad_utf8(place, error.start) from None


# -- AWS
#
# A message consists of a prelude (its length, the length of its headers, a CRC-32 of both), headers with its
# type (event, exception or error), a payload, and a CRC-32 of everything before it.

_PRELUDE: Final = struct.Struct(">III")
_WORD: Final = struct.Struct(">I")
_SHORT: Final = struct.Struct(">H")
_OVERHEAD: Final = _PRELUDE.size + _WORD.size
_STRING: Final = 7
# The size of a header's value by its type; ``None`` if the two bytes before it contain the size.
_SIZES: Final[Mapping[int, int | None]] = {
    **{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 6: None},
    **{_STRING: None, 8: 8, 9: 16},
}


class AWSEventStream(BufferedReader):
    """Incremental reader that returns each message as JSON: its payload under the name of its event.

    Raises ``bad_frame`` for a damaged message, and ``frame_too_large``. The total work is linear in the
    number of bytes, however they are split.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        super().__init__()
        self._limit = max_frame_bytes
        self._held = bytearray()
        self._wanted = _PRELUDE.size
        # Most messages have the headers of the one before.
        self._headers: bytes | None = None
        self._opening: str | None = None

    def _read(self, data: bytes) -> Iterator[str]:
        self._held += data
        start = 0
        while len(self._held) - start >= self._wanted:
            length = self._length(start)
            if len(self._held) - start < length:
                self._wanted = length
                break
            yield self._text(bytes(self._held[start : start + length]))
            start += length
            self._wanted = _PRELUDE.size
        del self._held[:start]

    def _rest(self) -> Iterator[str]:
        self._held.clear()  # an incomplete message is dropped
        return iter(())

    def _text(self, message: bytes) -> str:
        """Return the JSON of a message: its payload under the name of its event, as in boto3."""
        (check,) = _WORD.unpack_from(message, len(message) - _WORD.size)
        if crc32(message[: -_WORD.size]) != check:
            raise _bad_frame()
        _, size, _ = _PRELUDE.unpack_from(message)
        end = _PRELUDE.size + size
        headers = message[_PRELUDE.size : end]
        if headers != self._headers:
            self._opening = _opening(dict(_headers(headers)))
            self._headers = headers
        if self._opening is None:
            said = dict(_headers(headers))
            code, words = said.get(":error-code", ""), said.get(":error-message", "")
            return dump({"error": {"type": code, "message": words}})
        payload = decode_utf8(message[end : -_WORD.size], "A message") or "{}"
        if isinstance(load(payload), Malformed):
            raise _bad_frame()
        return f"{self._opening}{payload}}}"

    def _length(self, start: int) -> int:
        length, headers, check = _PRELUDE.unpack_from(self._held, start)
        if crc32(self._held[start : start + 8]) != check or length < headers + _OVERHEAD:
            raise _bad_frame()
        if length > self._limit:
            raise frame_too_large("A message", self._limit)
        return int(length)


class AWSChunks(AWSEventStream):
    """Incremental reader of InvokeModel's stream, whose events hold the payloads of the model's own API.

    An exception becomes an error payload in Anthropic's form.
    """

    def _read(self, data: bytes) -> Iterator[str]:
        for text in super()._read(data):
            yield from _inner(load(text))


def _inner(event: Mapping[str, Any]) -> Iterator[str]:
    for name, payload in event.items():
        members = payload if isinstance(payload, dict) else {}
        if name != "chunk":
            error = {"type": members.get("type") or name, "message": members.get("message", "")}
            yield dump({"type": "error", "error": error})
        elif "bytes" in members:
            yield _decoded(members["bytes"])


def _decoded(data: Any) -> str:
    try:
        return b64decode(data, validate=True).decode()
    except (TypeError, ValueError):  # no base64, or no UTF-8
        raise _bad_frame() from None


def encode_chunk(payload: Any) -> bytes:
    """Encode one payload as InvokeModel does.

    Examples:
        >>> AWSChunks().feed(encode_chunk({"type": "ping"}))
        ['{"type":"ping"}']
    """
    return encode_event("chunk", {"bytes": b64encode(dump(payload).encode()).decode("ascii")})


def encode_event(name: str, payload: Any) -> bytes:
    """Encode one event as Bedrock does.

    Examples:
        >>> AWSEventStream().feed(encode_event("messageStop", {"stopReason": "end_turn"}))
        ['{"messageStop":{"stopReason":"end_turn"}}']
    """
    kind = "exception" if name.endswith("Exception") else "event"
    named = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(map(_header, named, named.values()))
    body = dump(payload).encode()
    lengths = struct.pack(">II", len(headers) + len(body) + _OVERHEAD, len(headers))
    message = lengths + _WORD.pack(crc32(lengths)) + headers + body
    return message + _WORD.pack(crc32(message))


def _header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + bytes([_STRING]) + _SHORT.pack(len(value)) + value.encode()


def _opening(headers: Mapping[str, str]) -> str | None:
    """Return the JSON before a payload, with the name of its event; ``None`` for an error message."""
    kind = headers.get(":message-type", "event")
    if kind == "error":
        return None
    name = headers.get(f":{kind}-type")
    if not name:
        raise _bad_frame()
    return f"{{{dump(name)}:"


def _headers(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the string headers; the others are not needed."""
    offset = 0
    try:
        while offset < len(data):
            name = data[offset + 1 : offset + 1 + data[offset]].decode()
            offset += 1 + data[offset]
            kind = data[offset]
            offset += 1
            size = _SIZES[kind]
            if size is None:
                (size,) = _SHORT.unpack_from(data, offset)
                offset += _SHORT.size
            value = data[offset : offset + size]
            offset += size
            if kind == _STRING:
                yield name, value.decode()
    except (IndexError, KeyError, UnicodeDecodeError, struct.error):
        raise _bad_frame() from None


def _bad_frame() -> RemoteProtocolError:
    return RemoteProtocolError(
        "A message of the provider's event stream is damaged.",
        code="bad_frame",
        hint="Try again, and check that no proxy in front of the provider changes its bytes.",
    )


# -- the table


def _sse(http: HTTPEndpoint, event: Mapping[str, Any]) -> bytes:
    data = event["data"]
    named = http.named_events and isinstance(data, Mapping)
    kind = event.get("event") or data.get("type") or data.get("event_type") if named else None
    name = f"event: {kind}\n" if kind else ""
    # Text that is not JSON, such as [DONE], is written unchanged.
    return f"{name}data: {data if isinstance(data, str) else dump(data)}\n\n".encode()


def _line(http: HTTPEndpoint, event: Mapping[str, Any]) -> bytes:
    return f"{dump(event['data'])}\n".encode()


def _aws(http: HTTPEndpoint, event: Mapping[str, Any]) -> bytes:
    """Frame an event, whose name is next to its payload in some recordings, and around it in others."""
    data = event["data"]
    ((name, payload),) = [(event["event"], data)] if "event" in event else data.items()
    return encode_event(name, payload)


def _chunk(http: HTTPEndpoint, event: Mapping[str, Any]) -> bytes:
    return encode_chunk(event["data"])


@dataclass(frozen=True, slots=True)
class StreamFraming:
    """A framing of streams.

    Attributes:
        media_type: The media type of streamed responses.
        reader: Creates a reader.
        write: Frames an event of a recorded exchange.
        also: Other media types of such responses.
    """

    media_type: str
    reader: Callable[[], FrameReader]
    write: Callable[[HTTPEndpoint, Mapping[str, Any]], bytes]
    also: frozenset[str] = frozenset()

    def has_type(self, media_type: str) -> bool:
        """Return whether a response with this media type is a stream."""
        return media_type == self.media_type or media_type in self.also


_JSON_LINES: Final = frozenset(
    {"application/jsonl", "application/jsonlines", "application/ndjson", "application/x-jsonlines"}
)
"""No media type of JSON lines is registered, so servers use several."""

FRAMINGS: Final[Mapping[Framing, StreamFraming]] = {
    "sse": StreamFraming(MEDIA_TYPE, SSEFrames, _sse),
    "json-lines": StreamFraming("application/x-ndjson", JSONLines, _line, _JSON_LINES),
    "aws-event-stream": StreamFraming("application/vnd.amazon.eventstream", AWSEventStream, _aws),
    "aws-chunks": StreamFraming("application/vnd.amazon.eventstream", AWSChunks, _chunk),
}
"""The supported framings. APIs with other framings cannot be called over HTTP."""
