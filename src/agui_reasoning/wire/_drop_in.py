"""A faster replacement for the official encoder."""

from __future__ import annotations

from ag_ui.core import BaseEvent
from ag_ui.encoder import EventEncoder as OfficialEncoder
from pydantic_core import PydanticSerializationError

from agui_reasoning.wire._encode import SSEEncoder, short_frame

__all__ = ["EventEncoder"]


class EventEncoder(OfficialEncoder):
    r"""A drop-in for ``ag_ui.encoder.EventEncoder`` that writes content events several times as fast.

    The text is that of the official encoder, with two differences: U+2028, U+2029 and U+0085, at which many
    readers split lines, are escaped in events without a payload; and text with lone surrogates is escaped
    instead of raising an error.

    Args:
        accept: The request's ``Accept`` header, which makes no difference.

    Examples:
        >>> from ag_ui.core import ReasoningEndEvent
        >>> EventEncoder().encode(ReasoningEndEvent(message_id="s1"))
        'data: {"type":"REASONING_END","messageId":"s1"}\n\n'
    """

    def __init__(self, accept: str | None = None) -> None:
        super().__init__(accept)  # type: ignore[arg-type]

    def encode(self, event: BaseEvent) -> str:
        """Return the frame of one event.

        Raises:
            LocalProtocolError: The event cannot be written as JSON (``not_json``).
        """
        frame = short_frame(event)
        if frame is not None:
            return frame.decode()
        try:
            return super().encode(event)
        except PydanticSerializationError:
            return SSEEncoder().encode(event).decode()
