"""What rewriters of bytes have in common: which events a value holds, and what becomes of them.

A rewriter takes the bytes of a stream and gives the same bytes, apart from the events that its translator
changes. However the bytes are cut, what comes out is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from agui_reasoning._strict_json import Malformed, load
from agui_reasoning.compat._streams import Translator
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.wire import SSEEncoder
from agui_reasoning.wire._decode import check_event
from agui_reasoning.wire._faults import bad_json, bad_utf8

__all__ = ["Event", "Replacement", "Rewriter", "written"]

Event: TypeAlias = dict[str, Any]

_PREFIX = len(b"data: ")
_BLANK = len(b"\n\n")


class Replacement(NamedTuple):
    """What becomes of an event that does not go on as it is."""

    kind: str
    events: list[Event]


class Rewriter(ABC):
    """Rewrites one stream.

    Good bytes are never lost to bad ones behind them: `feed` returns what was good, and the error is raised
    by the next call. When there is nothing to return it is raised at once.

    Attributes:
        events: How many events have come.
        changed: How many of them were changed.
        written: How many events have gone.
    """

    def __init__(
        self,
        translator: Translator,
        *,
        on_events: Callable[[list[Event]], None] | None = None,
        on_fault: Callable[[RemoteProtocolError], None] | None = None,
    ) -> None:
        """Prepare for one stream.

        Args:
            translator: What to do with each event; fresh, and closed with this.
            on_events: Called with the events that go on, in order.
            on_fault: Called with what is wrong with a value that is no event, or that the translator
                refuses; it goes on as it is then. Default is to raise it.
        """
        self.events = 0
        self.changed = 0
        self.written = 0
        self._translator = translator
        self._on_events = on_events
        self._on_fault = on_fault
        self._out = bytearray()
        self._error: RemoteProtocolError | None = None

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes and return those that go on.

        Raises:
            RemoteProtocolError: ``bad_json``, ``bad_frame``, ``bad_utf8`` or ``frame_too_large``, or what
                the translator raises.
        """
        return self._guarded(lambda: self._take(data))

    def close(self) -> bytes:
        """Say that the stream ended, and return what was held back.

        Raises:
            RemoteProtocolError: As in `feed`.
        """
        return self._guarded(self._finish)

    @abstractmethod
    def _take(self, data: bytes) -> None:
        """Write to ``_out`` what the bytes give."""

    @abstractmethod
    def _finish(self) -> None:
        """Write to ``_out`` what was held back."""

    def _guarded(self, work: Callable[[], None]) -> bytes:
        if self._error is None:
            try:
                work()
            except RemoteProtocolError as error:
                self._error = error.with_traceback(None)
        out, self._out = bytes(self._out), bytearray()
        if self._error is not None and not out:
            raise self._error
        return out

    def _change(self, value: bytes, place: str, *, cut: bool = False) -> Replacement | None:
        """What becomes of the event in a value; ``None`` when it goes on as it is."""
        try:
            event = self._event(value, place, cut=cut)
            events = self._translator.receive(event)
        except RemoteProtocolError as fault:
            if self._on_fault is None:
                raise
            self._on_fault(fault)
            return None
        self.events += 1
        self.written += len(events)
        if self._on_events is not None:
            self._on_events(events)
        if events == [event]:
            return None
        self.changed += 1
        return Replacement(event["type"], events)

    def _event(self, value: bytes, place: str, *, cut: bool) -> Event:
        try:
            loaded = load(value.decode())
        except UnicodeDecodeError as error:
            position = error.start
        else:
            if isinstance(loaded, Malformed):
                raise bad_json(place, loaded.position, cut=cut)
            return check_event(loaded, place)
        raise bad_utf8(place, position)  # outside: the cause holds the value


def written(event: Event) -> bytes:
    """Write an event as one line of JSON."""
    return SSEEncoder().encode(event)[_PREFIX:-_BLANK]
