"""The errors of this package. They contain sizes and positions, never content."""

from __future__ import annotations

from agui_reasoning.errors import RemoteProtocolError

__all__ = ["bad_event", "bad_json", "bad_utf8", "frame_too_large"]


def bad_event(place: str) -> RemoteProtocolError:
    """Return the error for JSON that is not an AG-UI event."""
    return RemoteProtocolError(
        f"{place} is not an object with a non-empty string `type`.",
        code="bad_frame",
        hint="Every AG-UI event is one JSON object with a `type`; decode a provider's own stream with a "
        "provider decoder first.",
    )


def bad_json(place: str, position: int | None, *, cut: bool = False) -> RemoteProtocolError:
    """Return the error for text that is not JSON.

    Args:
        place: The frame or item, as the subject of a sentence.
        position: The character at which parsing stopped, if known.
        cut: Whether the stream ended inside the text.
    """
    where = "" if position is None else f" (stopped at character {position})"
    return RemoteProtocolError(
        f"{place} is not valid JSON{where}.",
        code="bad_json",
        hint="The stream ended inside this frame: the connection was probably lost."
        if cut
        else "Send one JSON value per frame, without NaN or Infinity.",
    )


def bad_utf8(place: str, position: int) -> RemoteProtocolError:
    """Return the error for bytes that are not UTF-8; ``position`` counts bytes from 0."""
    return RemoteProtocolError(
        f"{place} is not valid UTF-8 at byte {position}.",
        code="bad_utf8",
        hint="Event streams and JSON are always UTF-8, regardless of the response header.",
    )


def frame_too_large(place: str, limit: int) -> RemoteProtocolError:
    """Return the error for a frame above the limit."""
    return RemoteProtocolError(
        f"{place} is larger than {limit} bytes.",
        code="frame_too_large",
        hint="Raise `max_frame_bytes` if the peer is trusted and its events are this large.",
    )
