"""The frames of events that add text to a message or call. Streams consist mostly of these."""

from __future__ import annotations

from typing import Final

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from msgspec.json import Encoder

__all__ = ["GROWTHS", "Growth", "escape_line_breaks", "framed"]

_json = Encoder().encode
_OPTIONAL: Final = (str, type(None))

# Valid in JSON and in an SSE line, but many readers split lines there (`str.splitlines`, JavaScript eval).
# UTF-8 is self-synchronizing, so replacing bytes is safe.
_LINE_BREAKS: Final = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)


class Growth:
    """The shape of one type of event: nothing varies but the ID, the subagent and the text."""

    __slots__ = ("_id_field", "_id_name", "_kind", "_size", "_type")

    def __init__(self, model: type[BaseEvent], id_field: str) -> None:
        fields = model.model_fields
        self._kind = fields["type"].default
        self._size = len(fields)
        self._id_field = id_field
        self._type = b'data: {"type":%b' % _json(self._kind.value)
        self._id_name = b",%b:" % _json(fields[id_field].alias)

    def opening(self, entity_id: str, subagent: str | None) -> bytes:
        """Return the frame up to its text."""
        start = self._type if subagent is None else self._type + b',"subagentRunId":' + _string(subagent)
        return start + self._id_name + _string(entity_id) + b',"delta":'

    def frame(self, event: BaseEvent) -> bytes | None:
        """Return the frame of an event, or ``None`` if it holds more than IDs and text."""
        members = event.__dict__
        if len(members) != self._size or event.__pydantic_extra__ or members["type"] is not self._kind:
            return None
        if not (members["timestamp"] is members["metadata"] is members["raw_event"] is None):
            return None
        entity_id, text, subagent = members[self._id_field], members["delta"], members["subagent_run_id"]
        if type(text) is not str or type(entity_id) is not str or type(subagent) not in _OPTIONAL:
            return None
        try:
            return framed(self.opening(entity_id, subagent), text)
        except UnicodeEncodeError:  # a lone surrogate
            return None


def framed(opening: bytes, text: str) -> bytes:
    """Return a frame from its opening and its text.

    Raises:
        UnicodeEncodeError: The text contains a lone surrogate.
    """
    return opening + _string(text) + b"}\n\n"


def escape_line_breaks(json_text: bytes) -> bytes:
    """Escape the characters at which some readers of JSON split lines."""
    for character, escape in _LINE_BREAKS:
        json_text = json_text.replace(character, escape)
    return json_text


def _string(text: str) -> bytes:
    written = _json(text)
    # Searching the text is faster than searching its bytes.
    if text.isascii() or not ("\u2028" in text or "\u2029" in text or "\x85" in text):
        return written
    return escape_line_breaks(written)


GROWTHS: Final[dict[type, Growth]] = {
    model: Growth(model, id_field)
    for model, id_field in (
        (ReasoningMessageContentEvent, "message_id"),
        (TextMessageContentEvent, "message_id"),
        (ToolCallArgsEvent, "tool_call_id"),
    )
}
