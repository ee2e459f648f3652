"""The responses of models, as the readers of frameworks build them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning.deltas import CloseDelta, Delta, FinishDelta, OpaqueDelta, ResponseStart
from agui_reasoning.parts import Opaque, Origin

__all__ = ["ResponseLane", "ResponseQueue"]


class ResponseLane:
    """One response: opens with its first unit, and ends a unit when another begins.

    Attributes:
        open: Whether the response has begun and not ended.
        current: The key of the unit that is open.
    """

    def __init__(self, origin: Origin) -> None:
        """Prepare it; nothing is open yet."""
        self.open = False
        self._origin = origin
        self.current: str | None = None
        self._known: set[str] = set()
        self._segments: dict[str, list[Any]] = {}
        self._values: dict[str, Opaque] = {}

    def begin(self) -> list[Delta]:
        """Open the response, unless it is open."""
        if self.open:
            return []
        self.open = True
        return [ResponseStart(self._origin)]

    def unit(self, key: str, text: str = "") -> list[Delta]:
        """Begin or continue a unit. Without text, one that has ended stays so: an ID or a value came late."""
        if key == self.current or (key in self._known and not text):
            return []
        ended = self.end_unit()
        self.current = key
        self._known.add(key)
        return ended

    def end_unit(self) -> list[Delta]:
        """End the open unit, with its value. Calls are no units here, because parallel ones may alternate."""
        key, self.current = self.current, None
        if key is None:
            return []
        value = self._values.pop(key, None)
        return [*([] if value is None else [OpaqueDelta(value, key=key)]), CloseDelta(key=key)]

    def keep(self, key: str, value: Opaque) -> None:
        """Keep a value that may still change until its unit ends."""
        self._values[key] = value

    def segment(self, key: str, place: Any) -> int:
        """Return the number of a segment in its unit, from what the framework names it by."""
        places = self._segments.setdefault(key, [])
        if place not in places:
            places.append(place)
        return places.index(place)

    def has_segments(self, key: str) -> bool:
        """Return whether a unit has any segment."""
        return key in self._segments

    def end(self, reason: str | None = None, details: Mapping[str, Any] | None = None) -> list[Delta]:
        """End the response: before its tools run, or when another one begins.

        Only Claude's stop reason for a refusal has this name.
        """
        if not self.open:
            return []
        ended = self.end_unit()
        self.open = False
        return [*ended, FinishDelta(reason, details=details, refused=reason == "refusal")]


class ResponseQueue:
    """Puts responses that a framework streams at the same time one after the other, as a run needs them.

    The first one is shown as it arrives; the next ones are kept until it ends.
    """

    def __init__(self) -> None:
        """Start without responses."""
        self._kept: list[tuple[ResponseLane | None, list[AgentItem]]] = []

    def put(self, lane: ResponseLane | None, items: Sequence[AgentItem]) -> list[AgentItem]:
        """Return what can be shown now that a response, or something between responses, has these items."""
        mine = next((kept for one, kept in self._kept if one is lane is not None), None)
        if mine is None:
            self._kept.append((lane, mine := []))
        mine += items
        shown: list[AgentItem] = []
        while self._kept:
            first, kept = self._kept[0]
            shown += kept
            kept.clear()
            if first is not None and first.open:
                break
            del self._kept[0]
        return shown
