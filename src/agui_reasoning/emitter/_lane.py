"""The short way of deltas that continue the text of the last one.

A lane opens after the full path turned a delta into exactly one growth of a unit and one content event with
the same text. A delta that differs from that one only in its text then gives the same event with its own
text: the lane repeats what happened, and restates no rule. Every other delta closes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ag_ui.core import Event

from agui_reasoning._unvalidated import made
from agui_reasoning.deltas import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.deltas._units import Change, Grew
from agui_reasoning.wire._growth import GROWTHS, framed

__all__ = ["Lane", "open_lane"]


class Lane:
    """Continues one stretch of text.

    Attributes:
        grew: The growth that it repeats.
    """

    __slots__ = ("_append", "_first", "_given", "_members", "_model", "_opening", "_start", "grew")

    def __init__(self, first: Any, grew: Grew, event: Event, opening: bytes) -> None:
        self.grew = grew
        self._first = first
        self._append = grew.pieces.append
        self._start = len(grew.pieces)
        self._model: Any = type(event)
        # Copies, because the caller may change the event.
        self._members = vars(event).copy()
        self._given = event.model_fields_set.copy()
        self._opening = opening

    @property
    def pieces(self) -> list[str]:
        """The text that it added to the unit."""
        return self.grew.pieces[self._start :]

    def text_of(self, delta: Any) -> str | None:
        """Return the text of a delta that differs from the first one only in its text.

        Members of few values are compared by identity, which tells 1, 1.0 and ``True`` apart.
        """
        raise NotImplementedError

    def event(self, delta: object) -> Event | None:
        """Return the event of a delta, or ``None`` if the delta must take the full path."""
        text = self.text_of(delta)
        if type(text) is not str or not text or not (text.isascii() or _is_encodable(text)):
            return None
        self._append(text)
        members = self._members.copy()
        members["delta"] = text
        event: Event = made(self._model, members, self._given.copy())
        return event

    def frame(self, delta: object) -> bytes | None:
        """Return the frame of a delta, or ``None`` if the delta must take the full path."""
        text = self.text_of(delta)
        if type(text) is not str or not text:
            return None
        try:
            frame = framed(self._opening, text)
        except UnicodeEncodeError:  # a lone surrogate
            return None
        self._append(text)
        return frame


def _is_encodable(text: str) -> bool:
    """Return whether UTF-8 can encode a text, which thus has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _ReasoningLane(Lane):
    __slots__ = ()

    def text_of(self, delta: Any) -> str | None:
        first = self._first
        if (
            type(delta) is ReasoningDelta
            and delta.key == first.key
            and delta.index is first.index
            and delta.channel is first.channel
            and delta.item_id == first.item_id
            and delta.ext is None
        ):
            return delta.text
        return None


class _TextLane(Lane):
    __slots__ = ()

    def text_of(self, delta: Any) -> str | None:
        if type(delta) is TextDelta and delta.key == self._first.key and delta.ext is None:
            return delta.text
        return None


class _CallLane(Lane):
    __slots__ = ()

    def text_of(self, delta: Any) -> str | None:
        first = self._first
        if (
            type(delta) is ToolCallDelta
            and delta.id == first.id
            and delta.name == first.name
            and delta.server is first.server
            and delta.ext is None
        ):
            return delta.arguments
        return None


_LANES: dict[type, type[Lane]] = {
    ReasoningDelta: _ReasoningLane,
    TextDelta: _TextLane,
    ToolCallDelta: _CallLane,
}


def open_lane(delta: Delta, changes: Sequence[Change], written: Sequence[Any]) -> Lane | None:
    """Return the lane of a delta, or ``None`` if the delta caused anything else than text."""
    if len(changes) != 1 or len(written) != 1:
        return None
    grew, event = changes[0], written[0]
    kind, growth = _LANES.get(type(delta)), GROWTHS.get(type(event))
    if kind is None or growth is None or type(grew) is not Grew or event.delta != grew.text:
        return None
    opening = growth.opening(vars(event))
    if opening is None:
        return None
    lane = kind(delta, grew, event, opening)
    return lane if lane.text_of(delta) == grew.text else None
