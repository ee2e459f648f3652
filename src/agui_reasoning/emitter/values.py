"""Which value goes on which message or call, and when: what the client must give back on the next turn.

Every reasoning message gets an envelope when it ends. What no entity shows, and a copy of what stands on
calls and text, rides on the last reasoning message of the response, because some front ends drop values
anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from ag_ui.core import Event

from agui_reasoning.audit import AuditRecord, OnAudit
from agui_reasoning.emitter import events as make
from agui_reasoning.emitter.entities import (
    AssistantMessage,
    Call,
    ReasoningMessage,
    ResponseState,
    rest_record,
)
from agui_reasoning.envelope import (
    MAX_ENVELOPE_CHARS,
    CallRecord,
    Envelope,
    OriginRecord,
    Place,
    ReasoningRecord,
    Record,
    Sealer,
    TextRecord,
    write_envelope,
)
from agui_reasoning.providers.echo import rule_for

__all__ = ["Anchors", "Values"]

Anchors: TypeAlias = Literal["required", "always", "never"]
"""When a response without reasoning gets an empty reasoning message to carry its values."""

Subtype: TypeAlias = Literal["message", "tool-call"]


class Values:
    """Writes the values of one response after the other; each method gives the events to send."""

    def __init__(
        self,
        *,
        anchors: Anchors,
        sealer: Sealer | None,
        warn: Callable[[str], None],
        on_audit: OnAudit | None,
    ) -> None:
        self._anchors = anchors
        self._sealer = sealer
        self._warn = warn
        self._on_audit = on_audit
        self.subagent: str | None = None
        """The run of the subagent that all this belongs to."""

    def of_reasoning(self, state: ResponseState, message: ReasoningMessage) -> list[Event]:
        """The value of a reasoning message that ended, or whose unit has changed since."""
        record = message.record(sealed=self._sealed)
        if record is None:
            self._audit(state, message.id, None, "", message)
            return []
        if record == message.sent:
            return []
        message.sent = record
        return self._send(state, "message", message.id, record, shown=message)

    def of_text(self, state: ResponseState, message: AssistantMessage) -> list[Event]:
        """The value of an assistant message that carries any, once it ended."""
        records = tuple(state.text_record(unit) for unit in message.units if unit.opaque)
        if not records or records == message.sent:
            return []
        message.sent = records
        return self._send(state, "message", message.id, records[0], records[1:])

    def of_call(self, state: ResponseState, call: Call) -> list[Event]:
        """The value of a call that carries any, once it ended."""
        record = call.record(sealed=self._sealed)
        if not call.unit.opaque or record == call.sent:
            return []
        call.sent = record
        return self._send(state, "tool-call", call.id, record)

    def late(self, state: ResponseState) -> list[Event]:
        """What arrived after the value of its entity was sent."""
        events = [e for message in state.reasoning[:-1] for e in self._changed(state, message)]
        events += [e for message in state.messages for e in self.of_text(state, message)]
        return events + [e for call in state.calls.values() for e in self.of_call(state, call)]

    def _changed(self, state: ResponseState, message: ReasoningMessage) -> list[Event]:
        return [] if message.sent is None else self.of_reasoning(state, message)

    def rest(
        self, state: ResponseState, open_anchor: Callable[[], tuple[str, list[Event]]]
    ) -> tuple[list[Event], bool]:
        """What no entity shows, on what carries it.

        Args:
            state: The response, which has ended.
            open_anchor: Opens an empty reasoning message; gives its id and the events so far.

        Returns:
            The events, and whether an anchor was opened.
        """
        records = _rest(state)
        if state.reasoning:
            return self._superset(state, state.reasoning[-1], records), False
        if self._needs_anchor(state, records):
            message_id, events = open_anchor()
            return [*events, *self._send(state, "message", message_id, None, records)], True
        if any(map(_is_vital, records)) and not _is_told(records):
            return self._on_entity(state, records), False
        return [], False

    @property
    def _sealed(self) -> bool:
        return self._sealer is not None

    def _superset(
        self, state: ResponseState, carrier: ReasoningMessage, records: list[Record]
    ) -> list[Event]:
        """Once more, with the rest."""
        if not records:
            return self._changed(state, carrier)
        carrier.sent = carrier.record(sealed=self._sealed)
        return self._send(state, "message", carrier.id, carrier.sent, records, shown=carrier)

    def _needs_anchor(self, state: ResponseState, records: list[Record]) -> bool:
        if self._anchors == "always":
            return bool(state.response.units)
        if self._anchors == "never" or not any(map(_is_vital, records)):
            return False
        origin = state.response.origin
        required = origin is not None and rule_for(origin).status == "required"
        return required or _entity(state) is None

    def _on_entity(self, state: ResponseState, records: list[Record]) -> list[Event]:
        entity = _entity(state)
        if entity is None:
            self._warn(
                "A response without text, calls or reasoning has values that must come back, and "
                "anchors='never' leaves nothing to carry them."
            )
            return []
        subtype, entity_id, unit = entity
        return self._send(state, subtype, entity_id, unit, records)

    def _send(
        self,
        state: ResponseState,
        subtype: Subtype,
        entity_id: str,
        unit: Record | None,
        rest: Iterable[Record] = (),
        *,
        shown: ReasoningMessage | None = None,
    ) -> list[Event]:
        origin = state.response.origin
        envelope = Envelope(
            origin=OriginRecord.of(origin) if origin else None,
            response=_place(state, self.subagent),
            unit=unit,
            rest=tuple(rest),
        )
        value = self._sealer.write(envelope) if self._sealer else write_envelope(envelope)
        if len(value) > MAX_ENVELOPE_CHARS:
            self._warn(
                f"The value of {subtype} {entity_id} has {len(value)} characters; restoring accepts "
                f"{MAX_ENVELOPE_CHARS}."
            )
        self._audit(state, entity_id, envelope, value, shown)
        return [make.encrypted_value(subtype, entity_id, value)]

    def _audit(
        self,
        state: ResponseState,
        unit: str,
        envelope: Envelope | None,
        value: str,
        message: ReasoningMessage | None,
    ) -> None:
        if self._on_audit is None:
            return
        origin = state.response.origin
        self._on_audit(
            AuditRecord(
                "emitted",
                "not_kept" if envelope is None else "encrypted" if self._sealer else "plain",
                unit,
                thread_id=self._sealer.binding.thread_id if self._sealer else None,
                tenant=self._sealer.binding.tenant if self._sealer else None,
                span_id=message.span_id if message else None,
                provider=origin.provider if origin else None,
                api=origin.api if origin else None,
                model=origin.model if origin else None,
                visibility=state.disclosure.visibility,
                key_id=self._sealer.keys.primary if self._sealer else None,
                text_chars=_reasoning_chars(envelope),
                shown_chars=message.shown_chars if message else 0,
                opaque_chars=_opaque_chars(envelope),
                value_chars=len(value),
            )
        )


def _place(state: ResponseState, subagent: str | None) -> Place:
    return Place(
        id=state.id,
        subagent=subagent,
        native_id=state.response.id,
        after=state.after,
        messages=tuple(message.id for message in state.messages),
        calls=tuple(call.id for call in state.calls.values()),
    )


def _rest(state: ResponseState) -> list[Record]:
    """The records of everything that is not reasoning, if order and entities do not tell it all."""
    records = [record for unit in state.response.units if (record := rest_record(state, unit))]
    last = max((message.unit.seq for message in state.reasoning), default=-1)
    if any(record.seq < last or _is_hidden(record) for record in records):
        return records
    return []


def _entity(state: ResponseState) -> tuple[Subtype, str, Record] | None:
    """The first thing of the response that the client can see, and what its own envelope says."""
    for message in state.messages:
        if message.length:
            return "message", message.id, state.text_record(message.units[0])
    for call in state.calls.values():
        return "tool-call", call.id, call.record(sealed=state.disclosure.sealed)
    return None


# What has no entity of its own to carry it; a value on a text or a call has.
_BLOCKS = frozenset({"result", "native"})


def _is_told(records: list[Record]) -> bool:
    """Whether the one thing in the response has its own value, which says it all."""
    return len(records) == 1 and bool(records[0].opaque) and records[0].kind not in _BLOCKS


def _is_vital(record: Record) -> bool:
    """Whether a provider may need something of it that is not on the screen.

    That a call is the provider's own is such a thing: nobody else may answer it.
    """
    return bool(record.opaque) or record.kind in _BLOCKS or (isinstance(record, CallRecord) and record.server)


def _is_hidden(record: Record) -> bool:
    """Whether the client's messages alone do not tell it all."""
    if not isinstance(record, TextRecord):
        return True
    if record.opaque or record.ext or record.status != "complete" or record.text is not None:
        return True
    return len(record.at) != 1 or record.at[0].start > 0


def _reasoning_chars(envelope: Envelope | None) -> int:
    unit = envelope.unit if envelope else None
    return sum(segment.length for segment in unit.segments) if isinstance(unit, ReasoningRecord) else 0


def _opaque_chars(envelope: Envelope | None) -> int:
    if envelope is None:
        return 0
    records: list[Any] = [record for record in (envelope.unit, *envelope.rest) if record is not None]
    return sum(len(opaque.value) for record in records for opaque in record.opaque)
