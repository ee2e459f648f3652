"""Audit records of finished responses: one per unit, without any of its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agui_reasoning._envelope import EnvelopeWriter
from agui_reasoning.audit import AuditRecord
from agui_reasoning.deltas._units import ReasoningUnit, UnitBuffer
from agui_reasoning.emitter._entities import ResponseState

__all__ = ["audit_records"]


def audit_records(state: ResponseState, sealer: EnvelopeWriter | None) -> Iterator[AuditRecord]:
    """Yield a record for each reasoning unit, and for each text and call with an encrypted value."""
    for unit in state.response.units:
        if isinstance(unit, ReasoningUnit):
            yield _record(state, sealer, unit, **_sizes(state, unit))
        elif unit.opaque:
            yield _record(state, sealer, unit)


def _sizes(state: ResponseState, unit: ReasoningUnit) -> dict[str, Any]:
    stretches = state.stretches[unit]
    messages = map(state.message_of, stretches)
    return {
        "text_chars": sum(stretch.text_chars for stretch in stretches),
        "shown_chars": sum(stretch.shown_chars for stretch in stretches),
        "span_id": next((message.span_id for message in messages if message), None),
    }


def _record(
    state: ResponseState,
    sealer: EnvelopeWriter | None,
    unit: UnitBuffer,
    *,
    text_chars: int = 0,
    shown_chars: int = 0,
    span_id: str | None = None,
) -> AuditRecord:
    origin = state.response.origin
    carrier = state.carriers.get((unit.seq, 0))
    return AuditRecord(
        "emitted",
        "not_kept" if carrier is None else "encrypted" if sealer else "plain",
        state.seen_as(unit),
        thread_id=sealer.binding.thread_id if sealer else None,
        tenant=sealer.binding.tenant if sealer else None,
        span_id=span_id,
        provider=origin.provider if origin else None,
        api=origin.api if origin else None,
        model=origin.model if origin else None,
        visibility=state.disclosure.visibility,
        key_id=sealer.keys.primary if sealer else None,
        text_chars=text_chars if carrier else 0,
        shown_chars=shown_chars,
        opaque_chars=sum(len(opaque.value) for opaque in unit.opaque) if carrier else 0,
        value_chars=state.value_chars.get(carrier, 0) if carrier else 0,
    )
