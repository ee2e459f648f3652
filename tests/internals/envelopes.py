"""The content of envelopes, for tests that read or forge it: no public name shows it."""

from __future__ import annotations

from typing import Any

from agui_reasoning._envelope import (
    MAX_ENVELOPE_CHARS,
    CallRecord,
    Envelope,
    EnvelopeReader,
    EnvelopeWriter,
    Fragment,
    NativeRecord,
    OpaqueRecord,
    ReasoningRecord,
    ResponsePlace,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    UnitRecord,
    digest,
    is_envelope,
    read_envelope,
    unit_digest,
    write_envelope,
)
from agui_reasoning._envelope.writing import WRITTEN, Exposure, PlacedPart, unit_record

__all__ = [
    "MAX_ENVELOPE_CHARS",
    "WRITTEN",
    "CallRecord",
    "Envelope",
    "EnvelopeReader",
    "EnvelopeWriter",
    "Exposure",
    "Fragment",
    "NativeRecord",
    "OpaqueRecord",
    "PlacedPart",
    "ReasoningRecord",
    "ResponsePlace",
    "ResultRecord",
    "SegmentRecord",
    "Span",
    "TextRecord",
    "UnitRecord",
    "call_unit",
    "digest",
    "is_envelope",
    "native_unit",
    "read_envelope",
    "reasoning_unit",
    "result_unit",
    "text_unit",
    "unit_digest",
    "unit_record",
    "write_envelope",
]

_PLACE = frozenset(UnitRecord.__struct_fields__)


def reasoning_unit(seq: int = 0, **fields: Any) -> UnitRecord:
    """A reasoning unit; fields go where they belong."""
    return _unit(seq, ReasoningRecord, {}, fields)


def text_unit(seq: int, **fields: Any) -> UnitRecord:
    """A text unit."""
    return _unit(seq, TextRecord, {}, fields)


def call_unit(seq: int, id: str, *, native_id: str | None = None, **fields: Any) -> UnitRecord:  # noqa: A002
    """A call under the id the client knows."""
    return _unit(seq, CallRecord, {"id": native_id}, fields, id=id)


def result_unit(seq: int, id: str, **fields: Any) -> UnitRecord:  # noqa: A002
    """The result of a call."""
    return _unit(seq, ResultRecord, {}, fields, id=id)


def native_unit(seq: int, **fields: Any) -> UnitRecord:
    """A native block."""
    return _unit(seq, NativeRecord, {}, fields)


def _unit(
    seq: int, record: type[Any], part: dict[str, Any], fields: dict[str, Any], **place: Any
) -> UnitRecord:
    place |= {name: value for name, value in fields.items() if name in _PLACE}
    part = part | {name: value for name, value in fields.items() if name not in _PLACE}
    return UnitRecord(seq=seq, part=record(**part), **place)
