"""Chooses which message or call carries which encrypted value, and when.

Every reasoning message gets a value when it ends, and again when units without text followed it. Each value
names only the messages and calls that are new since the previous one, and those of the value that it
replaces, so that the output stays proportional to the provider's. The last value of a response,
on its last reasoning message, contains everything once: all names, every unit without text, everything that
no entity shows, and a copy of what calls and texts carry. This value alone is kept by assistant-ui, and by
TanStack where it merges the reasoning of an answer. Audit records of a finished response say what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from ag_ui.core import Interrupt
from msgspec import Struct, structs

from agui_reasoning._envelope import (
    MAX_ENVELOPE_CHARS,
    CallRecord,
    Envelope,
    EnvelopeWriter,
    NativeRecord,
    ReasoningRecord,
    ResponsePlace,
    ResultRecord,
    UnitRecord,
    plain_value,
)
from agui_reasoning._envelope.writing import pack
from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import WireEvents
from agui_reasoning.audit import AuditRecord, OnAudit
from agui_reasoning.deltas import ReasoningUnit, UnitBuffer, Unshown
from agui_reasoning.emitter._response import (
    AssistantMessage,
    EmittedCall,
    ReasoningMessage,
    ResponseState,
    Sent,
    Stretch,
    other_record,
)
from agui_reasoning.parts import Origin, Prefix

if TYPE_CHECKING:  # imported with the first policy
    from agui_reasoning.crypto import Subtype
    from agui_reasoning.policy import EchoRule


Anchors: TypeAlias = Literal["auto", "required", "always", "never"]
"""When to add an empty reasoning message that carries the values of a response without reasoning."""


OpenAnchor: TypeAlias = Callable[[], tuple[str, list[JSONObject]]]
"""Opens and ends an empty reasoning message; returns its ID and the events."""

UnitRecords: TypeAlias = tuple[UnitRecord, ...]

_NOTHING = Sent(())
_sent_by: Final = attrgetter("sent")
_PLAIN_ROOM = MAX_ENVELOPE_CHARS - 1_024


class _Carrier(Struct, frozen=True):
    """A message or call that carries a value.

    Attributes:
        opening: The events that create it, if it exists only to carry the value, or that name it again.
    """

    subtype: Subtype
    id: str
    opening: tuple[JSONObject, ...] = ()


class Values(Unshown, gc=True, eq=False):
    """Writes the values of consecutive responses; its methods return the events to send."""

    _rule_of: Callable[[Origin], EchoRule]
    _anchors: Anchors
    _sealer: EnvelopeWriter | None
    _events: WireEvents
    _warn: Callable[[str], None]
    _on_audit: OnAudit | None

    # -- under way

    def of_reasoning(self, state: ResponseState, message: ReasoningMessage) -> list[JSONObject]:
        """Send the value of a reasoning message that ended, or whose unit changed afterwards."""
        own = self._own(message)
        units = own + self._records(message.carried) if message.carried else own
        if not units or (message.sent is not None and own and own[0] in message.sent.units):
            return []
        return self._send(state, message, self._thought(message), units)

    def of_carried(self, state: ResponseState, message: ReasoningMessage) -> list[JSONObject]:
        """Send the value of a reasoning message again, with the units that followed without text.

        Clients keep only the last value of a message, so it contains the units and names of the previous one.
        Thus it is sent only when it has twice as many units, so that the output stays proportional to them.
        """
        size = len(message.carried) + 1
        if message.sent is None or size < 2 * message.size_sent_again:
            return []
        message.size_sent_again = size
        units = self._own(message) + self._records(message.carried)
        if units == message.sent.units:
            return []
        return self._send(state, message, self._thought(message), units, message.sent)

    def of_text(self, state: ResponseState, message: AssistantMessage) -> list[JSONObject]:
        """Send the value of an assistant message that ended, if it carries one. A unit has one carrier."""
        carried = [unit for unit in message.units if unit.values and unit.opaque]
        if not carried:
            return []
        carried = [unit for unit in carried if state.text_carriers.setdefault(unit, message) is message]
        units = tuple(record for unit in carried if (record := state.text_record(unit)))
        if not units or (message.sent is not None and message.sent.units == units):
            return []
        return self._send(state, message, _Carrier("message", message.id), units)

    def of_call(self, state: ResponseState, call: EmittedCall) -> list[JSONObject]:
        """Send the value of a call that ended, if it carries one."""
        record = call.record(sealed=self._sealer is not None) if call.unit.opaque else None
        if record is None or (call.sent is not None and call.sent.units == (record,)):
            return []
        return self._send(state, call, _Carrier("tool-call", call.id), (record,))

    # -- the end of a response

    def end(self, state: ResponseState, open_anchor: OpenAnchor) -> list[JSONObject]:
        """Send the remaining values when a response has ended."""
        events = self._late(state)
        events += self._last(state, open_anchor)
        if self._on_audit is not None:
            for record in audit_records(state, self._sealer):
                self._on_audit(record)
        return events

    def of_interrupts(self, state: ResponseState, interrupts: Sequence[Interrupt]) -> list[JSONObject]:
        """Send the last value again, with what the run asks about the calls of the response.

        The next run's input has the answers, but repeats no questions. Of a response without a last value,
        the first message or call gets it. Nothing is sent if the value would be too large.
        """
        about = [interrupt for interrupt in interrupts if interrupt.tool_call_id in state.call_ids]
        state.interrupts = tuple(
            interrupt.model_dump(mode="json", by_alias=True, exclude_none=True) for interrupt in about
        )
        carrier = self._last_carrier(state) if about else None
        if carrier is None:
            return []
        units = (*self._final_reasoning(state), *_other_records(state))
        envelope = self._envelope(state, Sent(units, *_names(state, (0, 0))), again=True)
        value = self._write(envelope)
        return [] if value is None else [*carrier.opening, self._note(state, carrier, envelope, value)]

    def _last_carrier(self, state: ResponseState) -> _Carrier | None:
        """Return what carries the last value of a response, or could."""
        if state.reasoning:
            return self._thought(state.reasoning[-1])
        return _Carrier("message", state.anchor) if state.anchor else next(_entities(state), None)

    def _late(self, state: ResponseState) -> list[JSONObject]:
        """Send what arrived after the value of its entity."""
        events: list[JSONObject] = []
        for thought in state.reasoning[:-1]:
            if thought.own and thought.sent:
                events += self.of_reasoning(state, thought)
        for message in state.messages:
            events += self.of_text(state, message)
        for call in state.calls.values():
            events += self.of_call(state, call)
        return events

    def _last(self, state: ResponseState, open_anchor: OpenAnchor) -> list[JSONObject]:
        if _is_said(state):
            return []
        thoughts, others = self._final_reasoning(state), _other_records(state)
        units = (*thoughts, *others)
        carriers = self._carriers(state, others if state.reasoning else units, open_anchor)
        first = next(carriers, None)
        if first is None or (not _is_marked(state) and _is_needless(state, units)):
            return []
        envelope = self._envelope(state, Sent(units, *_names(state, (0, 0))), again=True)
        value = self._write(envelope)
        if value is not None:
            return [*first.opening, self._note(state, first, envelope, value)]
        return self._spread(state, envelope, chain([first], carriers))

    def _final_reasoning(self, state: ResponseState) -> UnitRecords:
        """Return the records of the last reasoning message, of unsent ones, and of silent units."""
        unsaid = [message for message in state.reasoning[:-1] if message.sent is None]
        messages = [*state.reasoning[-1:], *unsaid]
        silent = (stretch for several in state.stretches.values() for stretch in several)
        own = chain.from_iterable(map(self._own, messages))
        return (*own, *self._records(stretch for stretch in silent if stretch not in state.shown_by))

    def _carriers(
        self, state: ResponseState, others: UnitRecords, open_anchor: OpenAnchor
    ) -> Iterator[_Carrier]:
        """Yield possible carriers of the last value, in the order in which to fill them."""
        if state.reasoning:
            yield from map(self._thought, reversed(state.reasoning))
        elif not self._needs_anchor(state, others):
            if not _is_marked(state) and (not any(map(_is_vital, others)) or _is_carried(state, others)):
                return
            yield from _entities(state)
        while self._anchors != "never":
            state.anchor, opening = open_anchor()
            yield _Carrier("message", state.anchor, tuple(opening))
        self._warn(
            "A response has values that must come back, but with anchors='never' nothing can carry "
            f"those that exceed {MAX_ENVELOPE_CHARS} characters on its own messages and calls."
        )

    def _spread(
        self, state: ResponseState, envelope: Envelope, carriers: Iterable[_Carrier]
    ) -> list[JSONObject]:
        """Spread an envelope over several values, none of them too large."""
        message_of = {
            (stretch.unit.seq, stretch.number): message.id
            for message in state.reasoning
            if (stretch := message.own)
        }
        located = tuple(
            structs.replace(unit, message=message_of[unit.seq, unit.stretch])
            if (unit.seq, unit.stretch) in message_of
            else unit
            for unit in envelope.units
        )
        envelope = structs.replace(envelope, units=located)
        sent_units = {message.id: message.sent.units for message in state.reasoning[:-1] if message.sent}
        offered = ((carrier, sent_units.get(carrier.id, ())) for carrier in carriers)
        packed = pack(envelope, offered, self._sealer.room if self._sealer else _PLAIN_ROOM)
        events: list[JSONObject] = []
        for carrier, one in packed:
            place = structs.replace(one.response, number=state.values)
            one = structs.replace(one, response=place)
            value = self._write(one)
            assert value is not None, "what was packed fits"
            events += [*carrier.opening, self._note(state, carrier, one, value)]
        return events

    def _thought(self, message: ReasoningMessage) -> _Carrier:
        """Return a reasoning message as a carrier.

        assistant-ui forgets reasoning messages when text opens a new bubble, and ignores values for them. A
        span with the ID of the message names it again. Other clients store nothing of a span.
        """
        if not message.left_behind or self._events.subagent is not None:
            return _Carrier("message", message.id)
        now, at = self._events.now(), self._events.at
        span = tuple(
            at(now, type=kind, messageId=message.id) for kind in ("REASONING_START", "REASONING_END")
        )
        return _Carrier("message", message.id, span)

    def _own(self, message: ReasoningMessage) -> UnitRecords:
        record = message.own.record(sealed=self._sealer is not None) if message.own else None
        return () if record is None else (record,)

    def _records(self, stretches: Iterable[Stretch]) -> UnitRecords:
        sealed = self._sealer is not None
        return tuple(filter(None, [stretch.record(sealed=sealed) for stretch in stretches]))

    def _needs_anchor(self, state: ResponseState, others: UnitRecords) -> bool:
        if self._anchors == "always":
            return bool(state.response.units)
        if self._anchors == "never":
            return False
        if _is_marked(state) or any(map(_is_thought, others)):
            return True
        vital = [record for record in others if _is_vital(record)]
        if vital and next(_entities(state), None) is None:
            return True
        origin = state.response.origin
        rule = None if origin is None else self._rule_of(origin)
        if rule is None or not (rule.anchors if self._anchors == "auto" else rule.status == "required"):
            return False
        return any(_is_missed(record, rule, calls=bool(state.calls)) for record in vital)

    # -- one value

    def _send(
        self,
        state: ResponseState,
        entity: ReasoningMessage | AssistantMessage | EmittedCall,
        carrier: _Carrier,
        units: UnitRecords,
        before: Sent = _NOTHING,
    ) -> list[JSONObject]:
        """Send a value with the new names and those of the value that it replaces.

        Send nothing yet if it is too large.
        """
        messages, calls = _names(state, state.named)
        sent = Sent(units, before.messages + messages, before.calls + calls)
        envelope = self._envelope(state, sent, again=before is not _NOTHING)
        value = self._write(envelope)
        if value is None:
            return []
        entity.sent = sent
        return [*carrier.opening, self._note(state, carrier, envelope, value)]

    def _envelope(self, state: ResponseState, content: Sent, *, again: bool) -> Envelope:
        response, marked = state.response, again or not state.values
        place = ResponsePlace(
            id=state.id,
            number=state.values,
            native_id=response.id,
            conversation=response.conversation,
            after=state.after,
            after_entity=state.after_entity,
            messages=content.messages,
            calls=content.calls,
            failed=state.failed if marked else (),
            subagent=self._events.subagent,
            refused=state.refused if again else None,
            withheld=state.withheld if again else (),
            effort=state.effort if marked else None,
            prefix=self._prefix(state.prefix) if marked and state.prefix else None,
            interrupts=state.interrupts,
        )
        return Envelope(origin=response.origin, response=place, units=content.units)

    def _prefix(self, prefix: Prefix) -> Prefix:
        return prefix if self._sealer else structs.replace(prefix, system=prefix.system[:2])

    def _write(self, envelope: Envelope) -> str | None:
        return self._sealer.write(envelope) if self._sealer else plain_value(envelope)

    def _note(self, state: ResponseState, carrier: _Carrier, envelope: Envelope, value: str) -> JSONObject:
        """Note which carrier has which units, and return the event of the value."""
        state.values += 1
        state.named = len(state.messages), len(state.call_ids)
        state.value_chars[carrier.id] = len(value)
        for unit in envelope.units:
            state.carriers[unit.seq, unit.stretch] = carrier.id
        for fragment in envelope.fragments:
            if fragment.index == 0:
                state.carriers[fragment.seq, fragment.stretch] = carrier.id
        at, kind = self._events.at, "REASONING_ENCRYPTED_VALUE"
        return at(None, type=kind, subtype=carrier.subtype, entityId=carrier.id, encryptedValue=value)


def _names(state: ResponseState, start: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the messages and calls after the first few of each."""
    return tuple([message.id for message in state.messages[start[0] :]]), tuple(state.call_ids[start[1] :])


def _is_marked(state: ResponseState) -> bool:
    """Return whether the last value says something about the response that no unit says."""
    if state.refused is not None or state.withheld:
        return True
    return state.effort is not None and not state.values


def _is_said(state: ResponseState) -> bool:
    """Return whether the last value so far contains everything, without looking at what it contains."""
    sent = state.reasoning[-1].sent if state.reasoning else None
    if sent is None or state.late or _is_marked(state):
        return False
    return (
        len(sent.units) == 1
        and len(sent.messages) == len(state.messages)  # values name messages and calls in order
        and len(sent.calls) == len(state.call_ids)
        and len(state.shown_by) == sum(map(len, state.stretches.values()))
        and all(map(_sent_by, state.reasoning))
        and not _other_records(state)
    )


def _is_needless(state: ResponseState, units: UnitRecords) -> bool:
    """Return whether the value of the last reasoning message contains everything, or may say nothing."""
    if not state.reasoning:
        return False
    return not units or state.reasoning[-1].sent == Sent(units, *_names(state, (0, 0)))


def _other_records(state: ResponseState) -> UnitRecords:
    """Return the records of everything but reasoning, unless order and entities suffice to restore it."""
    units, thoughts = state.response.units, state.stretches
    last = next(reversed(thoughts)).seq if thoughts else -1
    if last < len(thoughts) and all(map(state.tells, units[len(thoughts) :])):  # all reasoning comes first
        return ()
    records = {unit: record for unit in units if (record := other_record(state, unit))}
    is_told = all(unit.seq > last and state.tells(unit) for unit in records)
    return () if is_told else tuple(records.values())


def _entities(state: ResponseState) -> Iterator[_Carrier]:
    """Yield the visible messages and calls of a response, in order."""
    for message in state.messages:
        if message.length:
            yield _Carrier("message", message.id)
    for call in state.calls.values():
        yield _Carrier("tool-call", call.id)


# Units without an entity of their own that could carry a value, unlike texts and calls.
_BLOCKS = (ReasoningRecord, ResultRecord, NativeRecord)


def _is_carried(state: ResponseState, others: Sequence[UnitRecord]) -> bool:
    """Return whether the response is a single unit whose own value contains everything."""
    entities: Iterable[Any] = chain(state.messages, state.calls.values())
    return len(others) == 1 and any(entity.sent for entity in entities)


def _is_vital(record: UnitRecord) -> bool:
    """Return whether a provider may need data of the unit that is not visible.

    One example is that a call is the provider's own, so that the client must not answer it.
    """
    part = record.part
    return bool(part.opaque) or isinstance(part, _BLOCKS) or (isinstance(part, CallRecord) and part.server)


def _is_thought(record: UnitRecord) -> bool:
    """Return whether the unit is reasoning that more is known of than that there was none."""
    return isinstance(record.part, ReasoningRecord) and not record.part.says_nothing


def _is_missed(record: UnitRecord, rule: EchoRule, *, calls: bool) -> bool:
    """Return whether a provider misses a vital unit if the front end drops the value of the answer.

    Front ends such as assistant-ui do. Reasoning that says nothing matters only to the responses that the
    provider checks.
    """
    if isinstance(record.part, ReasoningRecord):
        return rule.status == "required" and rule.placeholder is None and rule.misses(calls=calls)
    return True


def audit_records(state: ResponseState, sealer: EnvelopeWriter | None) -> Iterator[AuditRecord]:
    """Yield a record for each reasoning unit, and for each text and call with an encrypted value."""
    for unit in state.response.units:
        if isinstance(unit, ReasoningUnit) or unit.opaque:
            yield _audit_record(state, sealer, unit)


def _audit_record(state: ResponseState, sealer: EnvelopeWriter | None, unit: UnitBuffer) -> AuditRecord:
    origin = state.response.origin or Origin()
    carrier = state.carriers.get((unit.seq, 0))
    stretches = state.stretches[unit] if isinstance(unit, ReasoningUnit) else []
    text_chars = sum(stretch.text_chars for stretch in stretches)
    return AuditRecord(
        "emitted",
        "not_kept" if carrier is None else "encrypted" if sealer else "plain",
        state.seen_as(unit),
        thread_id=sealer.binding.thread_id if sealer else None,
        tenant=sealer.binding.tenant if sealer else None,
        span_id=next((one.span_id for one in map(state.message_of, stretches) if one), None),
        provider=origin.provider,
        api=origin.api,
        model=origin.model,
        visibility=state.disclosure.visibility,
        key_id=sealer.keys.primary if sealer else None,
        text_chars=text_chars if carrier else 0,
        shown_chars=sum(stretch.shown_chars for stretch in stretches),
        opaque_chars=sum(len(opaque.value) for opaque in unit.opaque) if carrier else 0,
        value_chars=state.value_chars.get(carrier, 0) if carrier else 0,
    )
