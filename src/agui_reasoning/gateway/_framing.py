"""The framings of streamed responses, with a reader and a writer for each.

Readers accept bytes split anywhere, and return the JSON text of each complete payload.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning._strict_json import dump
from agui_reasoning.gateway._aws_event_stream import AWSChunks, AWSEventStream, encode_chunk, encode_event
from agui_reasoning.gateway._frame_reader import BufferedReader, FrameReader
from agui_reasoning.providers.api import Framing, HTTPEndpoint
from agui_reasoning.wire import MAX_FRAME_BYTES, MEDIA_TYPE, SSEFrames
from agui_reasoning.wire._faults import frame_too_large

__all__ = ["FRAMINGS", "JSONLines", "StreamFraming"]


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
        """Create a reader for one stream."""
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
        text = self._line.decode(errors="replace").strip()
        self._line.clear()
        if text:
            yield text


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
    """

    media_type: str
    reader: Callable[[], FrameReader]
    write: Callable[[HTTPEndpoint, Mapping[str, Any]], bytes]


FRAMINGS: Final[Mapping[Framing, StreamFraming]] = {
    "sse": StreamFraming(MEDIA_TYPE, SSEFrames, _sse),
    "json-lines": StreamFraming("application/x-ndjson", JSONLines, _line),
    "aws-event-stream": StreamFraming("application/vnd.amazon.eventstream", AWSEventStream, _aws),
    "aws-chunks": StreamFraming("application/vnd.amazon.eventstream", AWSChunks, _chunk),
}
"""The supported framings. APIs with other framings cannot be called over HTTP."""
