"""What the client shows of the responses: each message, call and result is given out once.

A client may return anything: a thousand envelopes that all name one message would make a thousand copies of
it, and so would spans that overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agui_reasoning._envelope import CallRecord, ResultRecord, Span, TextRecord, UnitRecord, digest
from agui_reasoning.request._client_history import ClientHistory, Found, RecordedResponse

__all__ = ["ClientView", "overlapping"]


class ClientView:
    """Gives each response the messages and calls that it names; the first that names one has it."""

    def __init__(self, seen: ClientHistory) -> None:
        self._seen = seen
        self._messages: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        self._claimed: set[str] = set()
        self._whole: set[str] = set()
        self._called: set[str] = set()
        self._answered: set[int] = set()
        self._thought: set[int] = set()
        for response in seen.responses.values():
            for message_id in _named_messages(response):
                self._messages.setdefault(message_id, response.id)
            for call_id in _named_calls(response):
                self._calls.setdefault(call_id, response.id)

    @property
    def messages(self) -> set[str]:
        """The ids of the messages that a response has."""
        return set(self._messages)

    @property
    def calls(self) -> set[str]:
        """The ids of the calls that a response has."""
        return set(self._calls)

    def thought(self, found: Found) -> tuple[int, str | None]:
        """Where the reasoning is shown that a unit is of, and the content, the first time it is asked for."""
        named = found.unit.message
        index = None if named is None else self._seen.position(named, "reasoning")
        index = found.index if index is None else index
        if found.unit.sha256 is None or index in self._thought:
            return index, None
        self._thought.add(index)
        return index, self._seen.text(index)

    def text(self, response: RecordedResponse, unit: UnitRecord, kept: str | None) -> tuple[str, bool] | None:
        """The text of a unit, and whether it is what was sent; ``None`` when the client shows none of it.

        An edited message is taken whole by the unit that began it.
        """
        text = kept if kept is not None else self._joined(response, unit.spans)
        if text is not None and (unit.sha256 is None or digest(text) == unit.sha256):
            self._claimed |= {span.message for span in unit.spans}
            return text, True
        edited = kept if kept is not None else self.begun(response, unit)
        return None if edited is None else (edited, False)

    def begun(self, response: RecordedResponse, unit: UnitRecord) -> str | None:
        """The whole message that a unit began; ``None`` where it began none."""
        first = unit.spans[0] if unit.spans else None
        return self._take(response, first.message) if first and first.start == 0 else None

    def unclaimed(self, response: RecordedResponse) -> Iterator[tuple[str, str]]:
        """The messages of a response, id and text, of which no unit has told."""
        for message_id in dict.fromkeys(_named_messages(response)):
            text = None if message_id in self._claimed else self._take(response, message_id)
            if text:
                yield message_id, text

    def call(self, response: RecordedResponse, call_id: str) -> dict[str, Any] | None:
        """A call of a response, the first time it is asked for."""
        if self._calls.get(call_id) != response.id or call_id in self._called:
            return None
        self._called.add(call_id)
        return self._seen.call(call_id)

    def result(self, unit: UnitRecord, part: ResultRecord) -> str:
        """The content of a result, the first time a message is asked for."""
        if part.content is not None:
            return part.content
        index = self._seen.position(unit.message or "", "tool")
        index = self._seen.answers.get(unit.id or "") if index is None else index
        if index is None or index in self._answered:
            return ""
        self._answered.add(index)
        return self._seen.text(index)

    def _joined(self, response: RecordedResponse, spans: Iterable[Span]) -> str | None:
        pieces: list[str] = []
        for span in spans:
            content = self._content(response, span.message)
            if content is None or span.start + span.length > len(content):
                return None
            pieces.append(content[span.start : span.start + span.length])
        return "".join(pieces)

    def _take(self, response: RecordedResponse, message_id: str) -> str | None:
        content = self._content(response, message_id)
        if content is None or message_id in self._whole:
            return None
        self._whole.add(message_id)
        self._claimed.add(message_id)
        return content

    def _content(self, response: RecordedResponse, message_id: str) -> str | None:
        # A client may give any id to any message: what a user says is never the model's.
        index = self._seen.position(message_id, "assistant")
        if index is None or self._messages.get(message_id) != response.id:
            return None
        return self._seen.text(index)


def overlapping(units: Iterable[UnitRecord]) -> set[int]:
    """The numbers of the units of one response whose spans overlap, among them or with another's."""
    spans = sorted(
        (span.message, span.start, span.length, unit.seq)
        for unit in units
        for span in unit.spans
        if span.length
    )
    found: set[int] = set()
    place, end, widest = "", 0, -1
    for message, start, length, seq in spans:
        if message == place and start < end:
            found |= {seq, widest}
        if message != place or start + length > end:
            place, end, widest = message, start + length, seq
    return found


def _named_messages(response: RecordedResponse) -> Iterator[str]:
    yield from response.messages
    for found in response.units.values():
        if isinstance(found.unit.part, TextRecord):
            yield from (span.message for span in found.unit.spans)


def _named_calls(response: RecordedResponse) -> Iterator[str]:
    yield from response.calls
    units = (found.unit for found in response.units.values())
    yield from (unit.id for unit in units if isinstance(unit.part, CallRecord) and unit.id is not None)
