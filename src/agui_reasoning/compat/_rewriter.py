"""Base class of byte stream rewriters.

A rewriter returns the bytes of a stream unchanged, except for events that its translator changes. The output
does not depend on how the input is split.
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
    """The replacement of a changed event."""

    kind: str
    events: list[Event]


class Rewriter(ABC):
    """Rewrites one stream.

    Output before an error is never lost: `feed` returns it, and the next call raises the error. Without such
    output the error is raised immediately.

    Attributes:
        events: The number of events read.
        changed: The number of events changed.
        written: The number of events written.
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
            translator: A new translator; closed together with the rewriter.
            on_events: Called with the translated events, in order.
            on_fault: Called with the error of an invalid event; the value is then passed on unchanged.
                Defaults to raising the error.
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
        """Process the next bytes and return the output.

        Raises:
            RemoteProtocolError: ``bad_json``, ``bad_frame``, ``bad_utf8`` or ``frame_too_large``, or an error
                of the translator.
        """
        return self._guarded(lambda: self._take(data))

    def close(self) -> bytes:
        """Signal the end of the stream and return the remaining output.

        Raises:
            RemoteProtocolError: As in `feed`.
        """
        return self._guarded(self._finish)

    @abstractmethod
    def _take(self, data: bytes) -> None:
        """Process bytes and append the output to ``_out``."""

    @abstractmethod
    def _finish(self) -> None:
        """Append the remaining output to ``_out``."""

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
        """Translate the event in a value; ``None`` if it is unchanged."""
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
        raise bad_utf8(place, position)  # raised outside the handler, because the cause contains the value


def written(event: Event) -> bytes:
    """Serialize an event as one line of JSON."""
    return SSEEncoder().encode(event)[_PREFIX:-_BLANK]
