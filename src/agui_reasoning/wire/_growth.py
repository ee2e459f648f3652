"""The frames of events that add text to a message or call. Streams consist mostly of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
)
from msgspec.json import Encoder

__all__ = ["GROWTHS", "Growth", "escape_line_breaks", "framed"]

_json = Encoder().encode

# Valid in JSON and in an SSE line, but many readers split lines there (`str.splitlines`, JavaScript eval).
# UTF-8 is self-synchronizing, so replacing bytes is safe.
_LINE_BREAKS: Final = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)


class Growth:
    """The shape of one type of event: nothing varies but the ID, the subagent and the text."""

    __slots__ = ("_id_field", "_id_name", "_kind", "_last", "_type")

    def __init__(self, model: type[BaseEvent], id_field: str) -> None:
        fields = model.model_fields
        self._kind = fields["type"].default
        self._id_field = id_field
        self._type = b'data: {"type":%b' % _json(self._kind.value)
        self._id_name = b",%b:" % _json(fields[id_field].alias)
        # The IDs of the last opening, and itself: one tuple, because threads share it.
        self._last: tuple[Any, Any, bytes] = (self, None, b"")

    def opening(self, members: Mapping[str, Any]) -> bytes | None:
        """Return the frame up to its text, given the event's members under their attribute names.

        ``None`` if an ID is not a plain string. Consecutive events usually share their IDs.
        """
        entity_id, subagent = members[self._id_field], members["subagent_run_id"]
        last = self._last
        if entity_id is last[0] and subagent is last[1]:
            return last[2]
        if type(entity_id) is not str or not (subagent is None or type(subagent) is str):
            return None
        try:
            opening = self._type + self._ids(entity_id, subagent) + b',"delta":'
        except UnicodeEncodeError:  # a lone surrogate
            return None
        self._last = entity_id, subagent, opening
        return opening

    def _ids(self, entity_id: str, subagent: str | None) -> bytes:
        before = b"" if subagent is None else b',"subagentRunId":' + _string(subagent)
        return before + self._id_name + _string(entity_id)

    def frame(self, event: BaseEvent) -> bytes | None:
        """Return the frame of an event, or ``None`` if it holds more than IDs and text."""
        members = event.__dict__
        try:
            if (
                type(members["delta"]) is str
                and members["metadata"] is None
                and members["timestamp"] is None
                and members["raw_event"] is None
                and members["type"] is self._kind
                and not event.__pydantic_extra__
                and (opening := self.opening(members)) is not None
            ):
                return framed(opening, members["delta"])
        except (KeyError, UnicodeEncodeError):  # a missing member, or a lone surrogate
            pass
        return None


def framed(opening: bytes, text: str) -> bytes:
    """Return a frame from its opening and its text.

    Raises:
        UnicodeEncodeError: The text contains a lone surrogate.
    """
    return opening + (_json(text) if text.isascii() else _string(text)) + b"}\n\n"


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
