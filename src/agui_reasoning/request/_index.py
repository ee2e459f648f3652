"""Indexes the messages that a client returned, with the envelopes in them.

Every value is read before any is used, and all of them before the first turn is rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ag_ui.core import Message
from msgspec import Struct, field
from msgspec.structs import astuple, replace

from agui_reasoning._envelope import (
    CallRecord,
    Envelope,
    EnvelopeReader,
    Fragment,
    OpenedValue,
    ReasoningRecord,
    ResponsePlace,
    TextRecord,
    UnitRecord,
)
from agui_reasoning._envelope.writing import joined
from agui_reasoning._limits import DEFAULT_LIMITS, Limits
from agui_reasoning._wire_events import TOOL_FAILED, hinted_error
from agui_reasoning.parts import Origin
from agui_reasoning.request._messages import ClientCall, ClientMessage, ClientMessages, as_message

Position: TypeAlias = tuple[int, float]
"""The index of a message, and of a call in it; -1 stands for the message itself, .5 for text after a call."""


_Entity: TypeAlias = ClientMessage | ClientCall
"""What can have a value."""


class FoundUnit(Struct, frozen=True, gc=False):
    """The record of a unit, or of a stretch of one, and its position.

    Attributes:
        index: The position of the message that carries the value, itself or in a call.
        number: The number of the value in the response. For a unit, the latest value counts.
        places: The positions of all values with the unit, if it is in several.
    """

    index: int
    unit: UnitRecord
    number: int
    places: list[int] | None = None


_Names: TypeAlias = tuple[str, ...] | dict[str, None]
"""The names in one value, or in several."""


class Slices(Struct):
    """A unit that is spread over several values."""

    number: int
    found: dict[int, tuple[int, Fragment]] = field(default_factory=dict)

    def whole(self) -> FoundUnit | None:
        """Return the unit, at the position of its first slice; ``None`` if a slice is missing."""
        unit = joined(fragment for _, fragment in self.found.values())
        return None if unit is None else FoundUnit(self.found[0][0], unit, self.number)

    @property
    def first(self) -> int:
        """The first position of a slice."""
        return min(index for index, _ in self.found.values())


class RecordedResponse(Struct, gc=False):
    """The records of one model response, and the positions of the messages that carry them.

    Attributes:
        place: What its values tell of it, the first that has a member; anybody may have written it.
        found_at: The position of the first value.
        units: The units by number and stretch.
        slices: The slices of units that are too large for one value, likewise; in the end only of those with
            missing slices.
        origin_number: The number of the value that names the origin: the latest counts, because another model
            may go on with a response.
        authentic: Whether all of its values were encrypted. Of others, not everything is taken.
    """

    id: str
    place: ResponsePlace
    found_at: int
    messages: _Names
    calls: _Names
    origin: Origin | None = None
    units: dict[tuple[int, int], FoundUnit] = field(default_factory=dict)
    slices: dict[tuple[int, int], Slices] | None = None
    origin_number: int = -1
    authentic: bool = True

    def learn(self, index: int, envelope: Envelope, *, sealed: bool) -> None:
        """Add the content of a value."""
        place = envelope.response
        self.authentic = self.authentic and sealed
        if place is not self.place:
            self.place = _joined_places(self.place, place)
            self.messages = _named(self.messages, place.messages)
            self.calls = _named(self.calls, place.calls)
        if envelope.origin is not None and place.number > self.origin_number:
            self.origin, self.origin_number = envelope.origin, place.number
        for unit in envelope.units:
            self._keep(FoundUnit(index, unit, place.number))
        if envelope.fragments:
            known = self.slices = self.slices or {}
            for fragment in envelope.fragments:
                slices = known.setdefault((fragment.seq, fragment.stretch), Slices(place.number))
                slices.found.setdefault(fragment.index, (index, fragment))

    def join(self, sliced: Mapping[tuple[int, int], Slices]) -> None:
        """Join slices, once every value has been read, and keep those of which some are missing."""
        self.slices = {}
        for key, slices in sliced.items():
            found = slices.whole()
            if found is None:
                self.slices[key] = slices
            elif (found.unit.seq, found.unit.stretch) == key:
                self._keep(found)

    def _keep(self, found: FoundUnit) -> None:
        # Of equal values the first counts: assistant-ui returns messages twice that a snapshot repeated.
        key = found.unit.seq, found.unit.stretch
        known = self.units.setdefault(key, found)
        if known is not found:
            places = known.places or [known.index]
            places.append(found.index)
            latest = found if known.number < found.number else known
            self.units[key] = replace(latest, places=places)


_TOLD: Final = (
    *("native_id", "conversation", "after", "after_entity", "refused", "withheld", "effort", "interrupts"),
    "prefix",
)
"""The members of a place that only some values of a response have."""


def _joined_places(known: ResponsePlace, place: ResponsePlace) -> ResponsePlace:
    """Return a place with the members that only another value of the response has."""
    more = {name: value for name in _TOLD if (value := getattr(place, name)) and not getattr(known, name)}
    return replace(known, **more) if more else known


def _named(known: _Names, names: tuple[str, ...]) -> dict[str, None]:
    """Return all names so far: the last value has all of them in order, the others only new ones."""
    if not isinstance(known, dict):
        known = dict.fromkeys(known)
    if len(names) > len(known):
        return dict.fromkeys(names) | known
    known.update(dict.fromkeys(names))
    return known


class ClientHistory(Struct):
    """The messages with indexes.

    Attributes:
        by_id: The first message with each ID.
        calls: The position of the first call with each ID: the index of its message, and its own there.
        failed: The calls whose result is an error, according to a later response.
        answers: The position of the first result of each call.
        foreign: The positions of reasoning messages without an envelope of ours.
        server_calls: The calls that the provider answers itself.
        refused: The reason why the value of a message or call may not be used, by ID.
        sealed: The responses with an encrypted envelope, for which plain ones are not used.
        message_owners: The first response that names each message.
        call_owners: The first response that names each call.
    """

    messages: list[ClientMessage]
    subagent: str | None = None
    by_id: dict[str, int] = field(default_factory=dict)
    calls: dict[str, tuple[int, int]] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    responses: dict[str, RecordedResponse] = field(default_factory=dict)
    foreign: set[int] = field(default_factory=set)
    server_calls: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    sealed: set[str] = field(default_factory=set)
    message_owners: dict[str, str] = field(default_factory=dict)
    call_owners: dict[str, str] = field(default_factory=dict)

    def find(self, message_id: str, role: str) -> ClientMessage | None:
        """Return a message; ``None`` if there is none with that role."""
        index = self.by_id.get(message_id)
        message = None if index is None else self.messages[index]
        return message if message is not None and message.role == role else None

    def message(self, index: int) -> Message:
        """Return the model of the message at a position; that of a result has its error.

        The event that creates a result can carry its error only as a hint.

        Raises:
            RemoteProtocolError: The message is malformed (``bad_input``).
        """
        message = self.messages[index]
        if message.role != "tool" or message.error:
            return as_message(message.given)
        error = hinted_error(message.metadata) if message.metadata else None
        if error is None and message.answers in self.failed:
            error = message.text or TOOL_FAILED
        return as_message(message.given) if error is None else message.with_error(error)

    def value(self, unit: str) -> str:
        """Return the encrypted value of a message or call; empty if it has none."""
        index = self.by_id.get(unit)
        entity = self.call(unit) if index is None else self.messages[index]
        value = None if entity is None else entity.value
        return value if isinstance(value, str) else ""

    def call(self, call_id: str) -> ClientCall | None:
        """Return a tool call of an assistant message."""
        place = self.calls.get(call_id)
        return None if place is None else self.messages[place[0]].calls[place[1]]

    def learn(self, index: int, entity: _Entity, opened: OpenedValue, *, beside: bool) -> None:
        """Add a value of a message or call.

        One beside reasoning, in an answer or a call, is not used if it is one of reasoning that was moved
        there.
        """
        envelope, refused = opened.envelope, opened.refused
        if envelope is not None:
            if envelope.response.subagent != self.subagent:
                refused = "misplaced"
            elif envelope.response.id in self.sealed and not opened.sealed:
                refused = "unauthenticated"
        if refused:
            self.refused[entity.id] = refused
        if envelope is None or refused:
            if not beside:
                self.foreign.add(index)
            return
        if beside and any(map(_has_message, envelope.units)):
            return
        place = envelope.response
        if place.failed:
            self.failed.update(place.failed)
        response = self.responses.get(place.id)
        if response is None:
            response = RecordedResponse(place.id, place, index, place.messages, place.calls)
            self.responses[place.id] = response
        response.learn(index, envelope, sealed=opened.sealed)

    def settle(self, limits: Limits) -> None:
        """Join what is spread over values, and assign messages and calls to responses.

        Raises:
            RemoteProtocolError: There are too many spans (``too_large``).
        """
        origins: dict[tuple[Any, ...], Origin] = {}
        sliced = False
        for response in self.responses.values():
            if response.slices:
                sliced = True
                response.join(response.slices)
            origin = response.origin
            if origin is not None:
                if origin.upstream is not None and not response.authentic:
                    origin = replace(origin, upstream=None)  # clients do not choose where requests go
                # The same object for all, so that to compare two is fast.
                response.origin = origins.setdefault(astuple(origin), origin)
            self._assign(response)
        if sliced:  # units that were not counted
            founds = (found for one in self.responses.values() for found in one.units.values())
            limits.check("spans", _spans(found.unit for found in founds))

    def _assign(self, response: RecordedResponse) -> None:
        """Assign messages and calls to the first response that names them."""
        for name in response.messages:
            self.message_owners.setdefault(name, response.id)
        for name in response.calls:
            self.call_owners.setdefault(name, response.id)
        for found in response.units.values():
            unit = found.unit
            part = unit.part
            kind = type(part)
            if kind is ReasoningRecord:
                if unit.message and not self.value(unit.message):
                    self.foreign.discard(self.by_id.get(unit.message, -1))  # other messages carry its value
            elif kind is TextRecord:
                for span in unit.spans:
                    self.message_owners.setdefault(span.message, response.id)
            elif type(part) is CallRecord and unit.id is not None:
                self.call_owners.setdefault(unit.id, response.id)
                if part.server:
                    self.server_calls.add(unit.id)


def index_history(
    messages: ClientMessages,
    opener: EnvelopeReader,
    subagent: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> ClientHistory:
    """Index the messages of one conversation: the run's own, or a subagent's.

    Raises:
        RemoteProtocolError: There are too many envelopes (``too_large``).
        ConfigurationError: See `EnvelopeReader.read`.
        DecryptionError: See `EnvelopeReader.read`.
    """
    own = [message for message in messages.read if message.subagent == subagent]
    history = ClientHistory(own, subagent)
    carriers: list[tuple[int, _Entity, bool]] = []
    for index, message in enumerate(own):
        history.by_id.setdefault(message.id, index)
        role = message.role
        if role == "reasoning":
            if message.value and isinstance(message.value, str):
                carriers.append((index, message, False))
            else:
                history.foreign.add(index)
        elif role == "assistant":
            if message.value and isinstance(message.value, str):
                carriers.append((index, message, True))
            for number, call in enumerate(message.calls) if message.calls else ():
                history.calls.setdefault(call.id, (index, number))
                if call.value and isinstance(call.value, str):
                    carriers.append((index, call, True))
        elif role == "tool":
            history.answers.setdefault(message.answers, index)
    # Every value is read before any is used.
    values = _read([entity.value for _, entity, _ in carriers], opener, limits)
    history.sealed = {one.envelope.response.id for one in values if one.sealed and one.envelope}
    for (index, entity, beside), opened in zip(carriers, values, strict=True):
        history.learn(index, entity, opened, beside=beside)
    history.settle(limits)
    return history


def _read(values: Sequence[str], opener: EnvelopeReader, limits: Limits) -> list[OpenedValue]:
    """Read the values of messages and calls, unless they are too many or describe too many texts."""
    found: list[OpenedValue] = []
    spans = 0
    for value in values:
        if len(found) >= limits.envelopes:
            limits.check("envelopes", len(found) + 1)
        opened = opener.read(value)
        found.append(opened)
        if opened.envelope is not None:
            spans += _spans(opened.envelope.units)
            if spans > limits.spans:
                limits.check("spans", spans)
    return found


def _spans(units: Iterable[UnitRecord]) -> int:
    """Return the number of stretches of text in units."""
    count = 0
    for unit in units:
        part = unit.part
        count += len(unit.spans) + (len(part.segments) if type(part) is ReasoningRecord else 0)
    return count


def _has_message(unit: UnitRecord) -> bool:
    """Return whether a unit is reasoning that has a message of its own."""
    return type(unit.part) is ReasoningRecord and not unit.part.says_nothing
