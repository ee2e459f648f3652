"""Fast path: an input that differs only in its text gives the last output with the new text.

It opens after the full path turned a delta into a growth of a unit and a content event with the same text. It
repeats these, and restates no rule. While units only grow, each keeps its path, because growth ends no unit:
what grows in turn survived the others' growth. Every other item closes all paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar

from ag_ui.core import Event

from agui_reasoning._strict_json import JSONObject, well_formed
from agui_reasoning._wire_events import template_of
from agui_reasoning.deltas import Change, Delta, Grew, ReasoningDelta, TextDelta, ToolCallDelta, Unshown
from agui_reasoning.wire import form_of, json_string, write_json

_Made = TypeVar("_Made")
_Writer: TypeAlias = Callable[[str], _Made | None]
"""Makes something of a text, and adds the text; ``None`` if the text must take the full path."""

_Path: TypeAlias = Callable[[object], _Made | None]
"""Makes something of an item, likewise."""


class FastPath(Unshown, gc=True, eq=False):
    """Continues one stretch of text.

    Attributes:
        grew: The growth that it repeats.
        frame: Returns the frame of an item, or ``None`` if the item must take the full path.
        event: Returns the event of an item, likewise.
        form: That of the frames, after `frames`; ``None`` if it cannot be written.
    """

    grew: Grew
    _delta: Delta
    _first: JSONObject
    _start: int
    _write: _Writer[bytes] | None
    frame: _Path[bytes] | None = None
    event: _Path[Event] | None = None
    form: bytes | None = None

    def take_pieces(self) -> list[str]:
        """Return the text that it added to the unit since the last call."""
        pieces, start = self.grew.pieces, self._start
        self._start = len(pieces)
        return pieces[start:]

    def takes(self, item: object) -> bool:
        """Return whether an item takes the path."""
        return type(item) is type(self._delta) and _path(self._delta, str)(item) is not None

    def frames(self) -> _Writer[bytes]:
        """Return what makes the frames of texts."""
        if self._write is None:
            try:
                self.form = form_of(self._first)
            except UnicodeEncodeError:  # lone surrogates in an ID
                self._write = _never
            else:
                self._write = _frames(self.form, self.grew.pieces.append)
        return self._write

    def first_frame(self, item: object) -> bytes | None:
        """Create `frame` if the item may take the path, and return the frame of the item."""
        if type(item) is not type(self._delta):
            return None
        self.frame = _path(self._delta, self.frames())
        return self.frame(item)

    def first_event(self, item: object) -> Event | None:
        """Create `event` if the item may take the path, and return the event of the item."""
        if type(item) is not type(self._delta):
            return None
        self.event = _path(self._delta, _events(self._first, self.grew.pieces.append))
        return self.event(item)


def fast_path(
    delta: Any, changes: Sequence[Change], written: Sequence[Any], *, staged: bool
) -> FastPath | None:
    """Return the fast path of what follows a delta; ``None`` if the delta caused anything else than text.

    ``staged`` says that stages change the events, so that there are no frames.
    """
    known = _KINDS.get(type(delta))
    if known is None or delta.ext is not None or not changes or not written:
        return None
    if type(delta) is ToolCallDelta and delta.name and not delta.id:
        return None  # without IDs, each delta with a name starts another call
    grew, first = changes[-1], written[-1]
    if type(grew) is not Grew or type(first) is not dict:
        return None
    if not known[1](delta) == first.get("delta") == grew.text:
        return None
    return FastPath(grew, delta, first, len(grew.pieces), _never if staged else None)


def path_key(item: object) -> tuple[type, str | None] | None:
    """Return the type and the key of the unit that an item adds text to; ``None`` if it adds none."""
    known = _KINDS.get(type(item))
    return None if known is None else (type(item), known[2](item))


def _frames(form: bytes, append: Callable[[str], None]) -> _Writer[bytes]:
    def frame(text: str) -> bytes | None:
        if type(text) is not str or not text:
            return None
        try:
            frame = form % (write_json(text) if text.isascii() else json_string(text))
        except UnicodeEncodeError:  # a lone surrogate
            return None
        append(text)
        return frame

    return frame


def _events(first: JSONObject, append: Callable[[str], None]) -> _Writer[Event]:
    event = template_of(first)

    def model(text: str) -> Event | None:
        if type(text) is not str or not text or well_formed(text) is not text:
            return None
        append(text)
        return event(text, None)

    return model


def _never(item: object) -> None:
    """Leave everything to the full path."""


# -- what takes the path of a delta: the items that differ from it only in their text


def _path(delta: Any, write: _Writer[_Made]) -> _Path[_Made]:
    return _KINDS[type(delta)][0](delta, write)


def _reasoning(first: ReasoningDelta, write: _Writer[_Made]) -> _Path[_Made]:
    key, index, channel, item_id = first.key, first.index, first.channel, first.item_id

    def take(item: Any) -> _Made | None:
        if (
            type(item) is ReasoningDelta
            and item.key == key
            and item.index is index  # tells 1, 1.0 and ``True`` apart
            and item.channel is channel
            and item.item_id == item_id
            and item.ext is None
        ):
            return write(item.text)
        return None

    return take


def _text(first: TextDelta, write: _Writer[_Made]) -> _Path[_Made]:
    key = first.key

    def take(item: Any) -> _Made | None:
        if type(item) is TextDelta and item.key == key and item.ext is None:
            return write(item.text)
        return None

    return take


def _arguments(first: ToolCallDelta, write: _Writer[_Made]) -> _Path[_Made]:
    call_id, name, server = first.id, first.name, first.server

    def take(item: Any) -> _Made | None:
        if (
            type(item) is ToolCallDelta
            and item.id == call_id
            and item.name == name
            and item.server is server
            and item.ext is None
        ):
            return write(item.arguments)
        return None

    return take


_KINDS: Final[dict[type, tuple[Callable[[Any, _Writer[Any]], _Path[Any]], Callable[[Any], str], Any]]] = {
    ReasoningDelta: (_reasoning, attrgetter("text"), attrgetter("key")),
    TextDelta: (_text, attrgetter("text"), attrgetter("key")),
    ToolCallDelta: (_arguments, attrgetter("arguments"), attrgetter("id")),
}
"""What returns the path of a delta that adds text, its text and the key of its unit."""
