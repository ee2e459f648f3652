"""Decode AG-UI events from Server-Sent Events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire._faults import bad_event, bad_json
from agui_reasoning.wire._frames import MAX_FRAME_BYTES, SSEFrames

__all__ = ["SSEDecoder", "check_event"]


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
                for text in texts():
                    events.append(self._event(text, cut=cut))  # noqa: PERF401 -- keep those before an error
            except RemoteProtocolError as error:
                self._error = error
        if self._error is not None and not events:
            raise self._error.with_traceback(None)
        return events

    def _event(self, text: str, *, cut: bool) -> dict[str, Any]:
        self._number += 1
        value = load(text)
        if isinstance(value, Malformed):
            raise bad_json(f"Frame {self._number}", value.position, cut=cut)
        return value if _is_event(value) else check_event(value, f"Frame {self._number}")


def check_event(value: object, place: str) -> dict[str, Any]:
    """Return the value if it is an object with a non-empty string ``type``.

    Raises:
        RemoteProtocolError: ``bad_frame``.
    """
    if _is_event(value):
        return value
    raise bad_event(place)


def _is_event(value: object) -> TypeGuard[dict[str, Any]]:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return isinstance(kind, str) and kind != ""
