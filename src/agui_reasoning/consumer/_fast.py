"""Fast path: an input that differs only in its text gives the last output with the new text.

It opens after the full path turned an event into exactly one event with the same delta, which grew one text,
and gave no notice. The next event that is equal in all but its delta and timestamp does the same: the schema
checks these two, and no other rule reads them. It restates no rule. Every other event closes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from ag_ui.core import Event

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import EVENT_MODELS, template_of
from agui_reasoning.consumer._faults import Notice, NoticeSink
from agui_reasoning.consumer._schema import TIMESTAMP
from agui_reasoning.consumer._schema_types import inspect

_EVENT_MODELS: Final = frozenset(EVENT_MODELS.values())


class Repeats:
    """Recognizes repeats in one stream after another.

    Attributes:
        enabled: Whether to recognize any. Tests compare streams with and without.
        repeat: What the next event may repeat.
    """

    enabled: bool = True

    def __init__(self) -> None:
        self.repeat: _Repeat | None = None
        self._is_blocked = False

    def close(self) -> None:
        """Close the path, before an event takes the full path and at the end of the stream."""
        self.repeat = None
        self._is_blocked = False

    def block(self) -> None:
        """Keep the path closed after this event: it gave a notice, which a repeat has to give again."""
        self._is_blocked = True

    def watched(self, warn: NoticeSink) -> NoticeSink:
        """Return a sink that blocks the path too."""
        return partial(self._notice, warn)

    def _notice(self, warn: NoticeSink, notice: Notice) -> None:
        warn(notice)
        self.block()

    def open(self, event: object, delivered: Sequence[JSONObject], growth: list[str] | None) -> None:
        """Open the path after an event took the full path, if it can be repeated.

        ``delivered`` is what it was delivered as; ``growth``, the deltas that it was appended to, if any.
        """
        if growth is None or self._is_blocked or len(delivered) != 1 or not self.enabled:
            return
        members = _members(event)
        if _is_comparable(members) and members.get("delta") == delivered[0]["delta"]:
            self.repeat = _Repeat(type(event), members, delivered[0], growth)

    def grow(self, event: object) -> str | None:
        """Append the delta of an event that repeats the last one.

        Returns:
            The delta. If it is ``None``, nothing has changed, and the event has to take the full path.
        """
        return None if self.repeat is None else self.repeat.grow(event)


class _Repeat:
    """The last event, what it was delivered as, and the deltas that it was appended to.

    Attributes:
        template: Returns the event to deliver for what `grow` returned, and the time, once it was asked for.
        time: The timestamp of the last event, if it has one.
    """

    __slots__ = ("_delivered", "_form", "_growth", "_is_timed", "_last", "template", "time")

    def __init__(self, form: type, members: JSONObject, delivered: JSONObject, growth: list[str]) -> None:
        self._form, self._delivered, self._growth = form, delivered, growth
        self._last = dict(members)  # a copy, because callers may change theirs
        self._is_timed = members.get("timestamp") is not None
        self.time: int | None = None
        self.template: Callable[[str, int | None], Event] | None = None

    def grow(self, event: object) -> str | None:
        """Append the delta of an event if it repeats the last one, and return it."""
        if type(event) is not self._form:
            return None
        members: JSONObject = event if type(event) is dict else _members(event)
        last = self._last
        last["delta"] = delta = members.get("delta")
        if self._is_timed:
            last["timestamp"] = self.time = members.get("timestamp")
        if type(delta) is not str or members != last or (self._is_timed and not _is_time(self.time)):
            return None
        self._growth.append(delta)
        return delta

    def new_template(self) -> Callable[[str, int | None], Event]:
        """Make the template, which takes as long as several events."""
        self.template = template_of(self._delivered)
        return self.template


def _members(event: Any) -> JSONObject:
    """Return the members of plain JSON or of a model of ``ag_ui``, and none of subclasses and other forms."""
    if type(event) is dict:
        return event
    return event.__dict__ if type(event) in _EVENT_MODELS and not event.__pydantic_extra__ else {}


def _is_comparable(members: JSONObject) -> bool:
    """Return whether equality tells the members apart, as it does not tell ``1`` and ``True``."""
    others = (value for name, value in members.items() if name != "timestamp")
    return all(value is None or isinstance(value, str) for value in others)


def _is_time(value: object) -> bool:
    return type(value) is int and inspect(TIMESTAMP, value)[2] is None
