"""Indexes the messages that a client returned, and the envelopes in them.

Nothing is trusted. Messages are read as plain data, because front ends omit fields, add their own, and change
IDs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from msgspec import Struct, field

from agui_reasoning._envelope import (
    CallRecord,
    Envelope,
    EnvelopeReader,
    Fragment,
    Opened,
    ReasoningRecord,
    UnitRecord,
    WithheldRecord,
    digest,
    joined,
)
from agui_reasoning._limits import DEFAULT_LIMITS, Limits
from agui_reasoning.parts import Origin, Prefix
from agui_reasoning.request._intake import HistoryInput, messages_of

__all__ = ["ClientHistory", "Found", "RecordedResponse", "index_history"]

Position: TypeAlias = tuple[int, float]
"""The index of a message, and of a call in it; -1 stands for the message itself, .5 for text after a call."""


class Found(Struct, frozen=True):
    """The record of a unit, or of a stretch of one, and its position.

    Attributes:
        index: The position of the message that carries the value, itself or in a call.
        number: The number of the value in the response. For a unit, the latest value counts.
        sealed: Whether it was encrypted, so that it counts regardless of the content of the message.
    """

    index: int
    unit: UnitRecord
    number: int
    sealed: bool


class Slices(Struct):
    """A unit that is spread over several values."""

    number: int
    sealed: bool
    found: dict[int, tuple[int, Fragment]] = field(default_factory=dict)

    def whole(self) -> Found | None:
        """Return the unit, at the position of its first slice; ``None`` if a slice is missing."""
        unit = joined(fragment for _, fragment in self.found.values())
        return None if unit is None else Found(self.found[0][0], unit, self.number, self.sealed)


class RecordedResponse(Struct):
    """The records of one model response, and the positions of the messages that carry them.

    Attributes:
        units: The units by number and stretch.
        places: The positions of all values with a unit, likewise.
        slices: The slices of units that are too large for one value, likewise.
        torn: The units with missing slices, and the position of the others.
        origin_number: The number of the value that names the origin: the latest counts, because another model
            may go on with a response.
        authentic: Whether all of its values were encrypted. Of others, not everything is taken.
        refused: The message that tells the user that the provider declined to finish the response.
        withheld: The reasoning of its request that the model was not shown.
        effort: The effort that changed with it, as anybody may have written it.
        prefix: What preceded the conversation in the request that it answers.
        conversation: The provider's ID of the conversation in which it stored the response.
    """

    id: str
    found_at: list[int] = field(default_factory=list)
    origin: Origin | None = None
    native_id: str | None = None
    after: str | None = None
    messages: dict[str, None] = field(default_factory=dict)
    calls: dict[str, None] = field(default_factory=dict)
    units: dict[tuple[int, int], Found] = field(default_factory=dict)
    places: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    slices: dict[tuple[int, int], Slices] = field(default_factory=dict)
    torn: dict[tuple[int, int], int] = field(default_factory=dict)
    origin_number: int = -1
    authentic: bool = True
    refused: str | None = None
    withheld: tuple[WithheldRecord, ...] = ()
    effort: str | None = None
    prefix: Prefix | None = None
    conversation: str | None = None

    def learn(self, index: int, envelope: Envelope, *, sealed: bool) -> None:
        """Add the content of a value."""
        place = envelope.response
        self.authentic = self.authentic and sealed
        self.found_at.append(index)
        self.native_id = self.native_id or place.native_id
        self.conversation = self.conversation or place.conversation
        self.after = self.after or place.after
        self.refused = self.refused or place.refused
        self.withheld = self.withheld or place.withheld
        self.effort = self.effort or place.effort
        self.prefix = self.prefix or (place.prefix.value() if place.prefix else None)
        if envelope.origin is not None and place.number > self.origin_number:
            self.origin, self.origin_number = envelope.origin.value(), place.number
        self.messages = _named(self.messages, place.messages)
        self.calls = _named(self.calls, place.calls)
        for unit in envelope.units:
            self._find(Found(index, unit, place.number, sealed))
        for fragment in envelope.fragments:
            slices = self.slices.setdefault((fragment.seq, fragment.stretch), Slices(place.number, sealed))
            slices.found.setdefault(fragment.index, (index, fragment))

    def settle(self) -> None:
        """Join slices, once every value has been read. Clients do not choose where requests go."""
        if self.origin is not None and not self.authentic:
            self.origin = replace(self.origin, upstream=None)
        for key, slices in self.slices.items():
            found = slices.whole()
            if found is None:
                self.torn[key] = min(index for index, _ in slices.found.values())
            elif (found.unit.seq, found.unit.stretch) == key:
                self._find(found)

    def _find(self, found: Found) -> None:
        # Of equal values the first counts: some front ends return a message twice.
        key = found.unit.seq, found.unit.stretch
        self.places.setdefault(key, []).append(found.index)
        known = self.units.get(key)
        if known is None or known.number < found.number:
            self.units[key] = found


def _named(known: dict[str, None], names: tuple[str, ...]) -> dict[str, None]:
    """Return all names so far: the last value has all of them in order, the others only new ones."""
    if len(names) > len(known):
        return dict.fromkeys(names) | known
    known.update(dict.fromkeys(names))
    return known


class ClientHistory(Struct):
    """The messages with indexes.

    Attributes:
        by_id: The first message with each ID.
        calls: The position of the first call with each ID.
        failed: The calls whose result is an error, according to a later response.
        answers: The position of the first result of each call.
        foreign: The positions of reasoning messages without an envelope of ours.
        server_calls: The calls that the provider answers itself.
        refused: The reason why the value of a message or call may not be used, by ID.
        sealed: The responses with an encrypted envelope, for which plain ones are not used.
    """

    messages: list[dict[str, Any]]
    opener: EnvelopeReader
    subagent: str | None = None
    by_id: dict[str, int] = field(default_factory=dict)
    calls: dict[str, Position] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    responses: dict[str, RecordedResponse] = field(default_factory=dict)
    foreign: list[int] = field(default_factory=list)
    server_calls: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    opened: dict[int, Opened] = field(default_factory=dict)
    sealed: set[str] = field(default_factory=set)
    _calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    _texts: dict[int, str] = field(default_factory=dict)
    _digests: dict[int, str] = field(default_factory=dict)

    def position(self, message_id: str, role: str) -> int | None:
        """Return the position of a message; ``None`` if there is none with that role."""
        index = self.by_id.get(message_id)
        return index if index is not None and self.messages[index].get("role") == role else None

    def text(self, index: int) -> str:
        """Return the text of the message at a position, joined only once."""
        if index not in self._texts:
            self._texts[index] = message_text(self.messages[index])
        return self._texts[index]

    def has_digest(self, index: int, sha256: str) -> bool:
        """Return whether the text of the message at a position has a digest, computed only once."""
        if index not in self._digests:
            self._digests[index] = digest(self.text(index))
        return self._digests[index] == sha256

    def value(self, unit: str) -> str:
        """Return the encrypted value of a message or call; empty if it has none."""
        index = self.by_id.get(unit)
        entity = self.call(unit) if index is None else self.messages[index]
        value = (entity or {}).get("encryptedValue")
        return value if isinstance(value, str) else ""

    def call(self, call_id: str) -> dict[str, Any] | None:
        """Return a tool call of an assistant message."""
        return self._calls.get(call_id)

    def add_call(self, place: Position, call: dict[str, Any]) -> None:
        """Index a call; the first one with an ID counts."""
        call_id = str(call.get("id"))
        self.calls.setdefault(call_id, place)
        self._calls.setdefault(call_id, call)


def message_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message, without parts that are not text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def calls_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tool calls of a message."""
    calls = message.get("toolCalls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def index_history(
    given: HistoryInput, opener: EnvelopeReader, subagent: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> ClientHistory:
    """Index the messages of one conversation: the run's own, or a subagent's.

    Raises:
        RemoteProtocolError: See `messages_of`; or there are too many envelopes (``too_large``).
        ConfigurationError: See `EnvelopeReader.read`.
        DecryptionError: See `EnvelopeReader.read`.
    """
    messages = messages_of(given, limits)
    own = [message for message in messages if message.get("subagentRunId") == subagent]
    history = ClientHistory(own, opener, subagent)
    _read_values(history, limits)
    for index, message in enumerate(history.messages):
        history.by_id.setdefault(str(message.get("id")), index)
        _READERS.get(str(message.get("role")), _ignore)(history, index, message)
    _settle(history, limits)
    return history


def _read_values(history: ClientHistory, limits: Limits) -> None:
    """Read every value before using any."""
    spans = 0
    for entity, value in _values(history.messages):
        limits.check("envelopes", len(history.opened) + 1)
        opened = history.opened[id(entity)] = history.opener.read(value)
        spans += 0 if opened.envelope is None else sum(map(_spans, opened.envelope.units))
        limits.check("spans", spans)
    history.sealed = {o.envelope.response.id for o in history.opened.values() if o.sealed and o.envelope}


def _values(messages: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    for message in messages:
        if message.get("role") in _CARRIERS:
            for entity in (message, *calls_of(message)):
                value = entity.get("encryptedValue")
                if isinstance(value, str) and value:
                    yield entity, value


def _spans(unit: UnitRecord) -> int:
    """Return the number of stretches of text in a unit."""
    part = unit.part
    return len(unit.spans) + (len(part.segments) if isinstance(part, ReasoningRecord) else 0)


def _read_reasoning(history: ClientHistory, index: int, message: dict[str, Any]) -> None:
    opened = _open(history, message)
    if opened.envelope is None:
        history.foreign.append(index)
    else:
        _learn(history, index, opened, opened.envelope)


def _read_assistant(history: ClientHistory, index: int, message: dict[str, Any]) -> None:
    _learn_beside(history, index, message)
    for position, call in enumerate(calls_of(message)):
        history.add_call((index, position), call)
        _learn_beside(history, index, call)


def _learn_beside(history: ClientHistory, index: int, entity: Mapping[str, Any]) -> None:
    """Add the value of an answer or a call, unless it is one of reasoning that was moved there."""
    opened = _open(history, entity)
    envelope = opened.envelope
    if envelope is not None and not any(map(_has_message, envelope.units)):
        _learn(history, index, opened, envelope)


def _has_message(unit: UnitRecord) -> bool:
    """Return whether a unit is reasoning that has a message of its own."""
    return isinstance(unit.part, ReasoningRecord) and not unit.part.says_nothing


def _learn(history: ClientHistory, index: int, opened: Opened, envelope: Envelope) -> None:
    key = envelope.response.id
    history.failed.update(envelope.response.failed)
    history.responses.setdefault(key, RecordedResponse(key)).learn(index, envelope, sealed=opened.sealed)


def _settle(history: ClientHistory, limits: Limits) -> None:
    spans = 0
    for response in history.responses.values():
        response.settle()
        for found in response.units.values():
            unit = found.unit
            spans += _spans(unit)
            limits.check("spans", spans)
            if isinstance(unit.part, CallRecord) and unit.part.server and unit.id is not None:
                history.server_calls.add(unit.id)


def _open(history: ClientHistory, entity: Mapping[str, Any]) -> Opened:
    opened = history.opened.get(id(entity), _NOTHING)
    refused = opened.refused or _misused(history, opened)
    if refused:
        history.refused[str(entity.get("id"))] = refused
    return Opened(refused=refused) if refused else opened


def _misused(history: ClientHistory, opened: Opened) -> str:
    """Return why a readable envelope may not be used here; empty if it may."""
    if opened.envelope is None:
        return ""
    place = opened.envelope.response
    if place.subagent != history.subagent:
        return "misplaced"
    return "unauthenticated" if place.id in history.sealed and not opened.sealed else ""


def _read_result(history: ClientHistory, index: int, message: dict[str, Any]) -> None:
    history.answers.setdefault(str(message.get("toolCallId")), index)


def _ignore(history: ClientHistory, index: int, message: dict[str, Any]) -> None:
    """Skip other messages."""


_READERS = {"reasoning": _read_reasoning, "assistant": _read_assistant, "tool": _read_result}
_NOTHING = Opened()
_CARRIERS = frozenset({"reasoning", "assistant"})
