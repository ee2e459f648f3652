"""How a streamed answer is cut into payloads, and how one is framed: a row per framing.

Every reader takes bytes, cut anywhere, and gives the JSON text of each payload that is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agui_reasoning._strict_json import dump
from agui_reasoning.gateway._aws_event_stream import AWSEventStream, encode_event
from agui_reasoning.providers.api import Framing, HTTPEndpoint
from agui_reasoning.wire import MAX_FRAME_BYTES, MEDIA_TYPE, SSEFrames
from agui_reasoning.wire._faults import frame_too_large

__all__ = ["FRAMINGS", "FrameReader", "JSONLines", "StreamFraming"]


class FrameReader(Protocol):
    """Cuts a stream."""

    def feed(self, data: bytes, /) -> list[str]:
        """Take the next bytes and return the payloads they complete."""

    def close(self) -> list[str]:
        """Say that no more bytes come, and return the last payload, if only its end is missing."""


class JSONLines:
    r"""Incremental reader of JSON lines.

    Total work is linear in the bytes fed, however they are cut.

    Examples:
        >>> lines = JSONLines()
        >>> lines.feed(b'{"a": 1}\n{"b"'), lines.feed(b": 2}"), lines.close()
        (['{"a": 1}'], [], ['{"b": 2}'])
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Start before the first byte."""
        self._limit = max_frame_bytes
        self._line = bytearray()

    def feed(self, data: bytes) -> list[str]:
        """Take the next bytes and return the lines they complete.

        Raises:
            RemoteProtocolError: A line is too long (``frame_too_large``).
        """
        *ends, rest = data.split(b"\n")
        texts: list[str] = []
        for end in ends:
            self._line += end
            texts += self.close()
        self._line += rest
        if len(self._line) > self._limit:
            raise frame_too_large("A line", self._limit)
        return texts

    def close(self) -> list[str]:
        """Say that no more bytes come, and return the last line if its end is missing."""
        text = self._line.decode(errors="replace").strip()
        self._line.clear()
        return [text] if text else []


def _sse(http: HTTPEndpoint, event: Mapping[str, Any]) -> bytes:
    data = event["data"]
    named = http.named_events and isinstance(data, Mapping)
    told = event.get("event") or data.get("type") or data.get("event_type") if named else None
    name = f"event: {told}\n" if told else ""
    # What is no JSON, such as [DONE], goes as it is.
    return f"{name}data: {data if isinstance(data, str) else dump(data)}\n\n".encode()


def _line(http: HTTPEndpoint, event: Mapping[str, Any]) -> bytes:
    return f"{dump(event['data'])}\n".encode()


def _aws(http: HTTPEndpoint, event: Mapping[str, Any]) -> bytes:
    """Recordings have the name of an event beside its payload, or around it."""
    data = event["data"]
    ((name, payload),) = [(event["event"], data)] if "event" in event else data.items()
    return encode_event(name, payload)


@dataclass(frozen=True, slots=True)
class StreamFraming:
    """One way to frame a stream.

    Attributes:
        media_type: By which the answer is known as a stream.
        reader: Makes a reader.
        write: Frames an event of a recorded exchange.
    """

    media_type: str
    reader: Callable[[], FrameReader]
    write: Callable[[HTTPEndpoint, Mapping[str, Any]], bytes]


FRAMINGS: Final[Mapping[Framing, StreamFraming]] = {
    "sse": StreamFraming(MEDIA_TYPE, SSEFrames, _sse),
    "json-lines": StreamFraming("application/x-ndjson", JSONLines, _line),
    "aws-event-stream": StreamFraming("application/vnd.amazon.eventstream", AWSEventStream, _aws),
}
"""The framings that are read; an API with another is not asked over HTTP."""
