"""Assigns the client's messages, calls and results to responses, each only once.

Clients may return anything. A thousand envelopes that name the same message must not make a thousand copies
of it, and neither must overlapping spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agui_reasoning._envelope import CallRecord, ResultRecord, Span, TextRecord, UnitRecord, digest
from agui_reasoning._hint import hint_of_call
from agui_reasoning.request._client_history import (
    ClientHistory,
    Found,
    RecordedResponse,
    calls_of,
    message_text,
)

__all__ = ["ClientView", "overlapping"]


class ClientView:
    """Assigns messages and calls to the first response that names them."""

    def __init__(self, history: ClientHistory) -> None:
        self._history = history
        self._messages: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        self._claimed: set[str] = set()
        self._whole: set[str] = set()
        self._called: set[str] = set()
        self._answered: set[int] = set()
        self._thought: set[int] = set()
        for response in history.responses.values():
            for message_id in _named_messages(response):
                self._messages.setdefault(message_id, response.id)
            for call_id in _named_calls(response):
                self._calls.setdefault(call_id, response.id)
            if response.refused is not None and self._messages.get(response.refused) == response.id:
                self._claimed.add(response.refused)  # it is no part of the answer

    def has_message(self, message_id: str) -> bool:
        """Return whether a message belongs to a response."""
        return message_id in self._messages

    def response_of_call(self, call_id: str) -> str | None:
        """Return the ID of the response that a call belongs to; ``None`` if no value names it."""
        return self._calls.get(call_id)

    def cut_calls(self) -> set[str]:
        """Return the IDs of the unanswered calls that the client received before it stopped the response.

        The last value of a response names all of its calls. If the values that arrived do not name a call of
        their response, the client never received the last one.
        """
        calling = set(self._calls.values())
        followed = self._followed_by_unseen(calling)
        return {
            call_id
            for message in self._history.messages
            for call in calls_of(message)
            if (call_id := str(call.get("id"))) not in self._calls
            and call_id not in self._history.answers
            and self._is_of_recorded(message, call, calling, followed)
        }

    def _followed_by_unseen(self, calling: set[str]) -> set[str]:
        """Return the responses before those of which only reasoning is visible, in the same run."""
        found: set[str] = set()
        responses = self._history.responses
        for response in responses.values():
            if response.id in calling or any(name in self._history.by_id for name in response.messages):
                continue
            before = responses.get(response.after or "")
            while before is not None and before.id not in found:
                found.add(before.id)
                before = responses.get(before.after or "")
        return found

    def _is_of_recorded(
        self, message: dict[str, Any], call: dict[str, Any], calling: set[str], followed: set[str]
    ) -> bool:
        """Return whether a call without a name belongs to a response with values.

        Without a hint, front ends may have merged the call into the message of an earlier response. Then it
        is one of a later response of which only reasoning is visible. A message that exists only for calls,
        of a response that names none, has its own.
        """
        hinted = hint_of_call(call, message).get("response")
        if isinstance(hinted, str):
            return hinted in self._history.responses
        response = self._messages.get(str(message.get("id")))
        if response is None or response in calling or message_text(message):
            return response in followed
        return True

    def thought(self, response: RecordedResponse, found: Found) -> tuple[int, str | None]:
        """Return the position of a unit's reasoning message, and its content at the first request.

        Front ends may return a later value of a message as a message of its own, without the text. Then the
        text is that of a message with an earlier value.
        """
        unit = found.unit
        named = None if unit.message is None else self._history.position(unit.message, "reasoning")
        if unit.sha256 is None:
            return found.index if named is None else named, None
        index = self._showing(response, found, unit.sha256) if named is None else named
        if index in self._thought:
            return index, None
        self._thought.add(index)
        return index, self._history.text(index)

    def _showing(self, response: RecordedResponse, found: Found, sha256: str) -> int:
        """Return the position of the message that shows a text: one with a value that has the unit."""
        places = [found.index, *response.places.get((found.unit.seq, found.unit.stretch), ())]
        fitting = (index for index in places if self._history.has_digest(index, sha256))
        return next(fitting, found.index)

    def text(self, response: RecordedResponse, unit: UnitRecord, kept: str | None) -> tuple[str, bool] | None:
        """Return the text of a unit, and whether it is unchanged; ``None`` if the client shows none of it.

        The unit that started an edited message gets all of its text.
        """
        text = kept if kept is not None else self._joined(response, unit.spans)
        if text is not None and (unit.sha256 is None or digest(text) == unit.sha256):
            self._claimed |= {span.message for span in unit.spans}
            return text, True
        edited = kept if kept is not None else self.begun(response, unit)
        return None if edited is None else (edited, False)

    def begun(self, response: RecordedResponse, unit: UnitRecord) -> str | None:
        """Return the whole message that a unit started; ``None`` if it started none."""
        first = unit.spans[0] if unit.spans else None
        return self._take(response, first.message) if first and first.start == 0 else None

    def unclaimed(self, response: RecordedResponse) -> Iterator[tuple[str, str]]:
        """Yield ID and text of the messages of a response that no unit has used."""
        for message_id in dict.fromkeys(_named_messages(response)):
            text = None if message_id in self._claimed else self._take(response, message_id)
            if text:
                yield message_id, text

    def call(self, response: RecordedResponse, call_id: str) -> dict[str, Any] | None:
        """Return a call of a response, at the first request."""
        if self._calls.get(call_id) != response.id or call_id in self._called:
            return None
        self._called.add(call_id)
        return self._history.call(call_id)

    def result(self, unit: UnitRecord, part: ResultRecord) -> str:
        """Return the content of a result, at the first request for its message."""
        if part.content is not None:
            return part.content
        index = self._history.position(unit.message or "", "tool")
        index = self._history.answers.get(unit.id or "") if index is None else index
        if index is None or index in self._answered:
            return ""
        self._answered.add(index)
        return self._history.text(index)

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
        # Clients may give any message any ID, but a user message is never the model's.
        index = self._history.position(message_id, "assistant")
        if index is None or self._messages.get(message_id) != response.id:
            return None
        return self._history.text(index)


def overlapping(units: Iterable[UnitRecord]) -> set[int]:
    """Return the numbers of the units of one response whose spans overlap."""
    spans = [
        (span.message, span.start, span.length, unit.seq)
        for unit in units
        for span in unit.spans
        if span.length
    ]
    if len(spans) < 2:
        return set()
    spans.sort()
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
