"""Turns parts into records. A table lists the fields to write, by what the client sees of the unit.

Fields that the table does not list are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from agui_reasoning._envelope.records import (
    CallRecord,
    NativeRecord,
    OpaqueRecord,
    PartRecord,
    ReasoningRecord,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    UnitRecord,
    digest,
)
from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

__all__ = ["WRITTEN", "Exposure", "PlacedPart", "WrittenFields", "unit_record"]

Exposure: TypeAlias = Literal["encrypted", "shown", "blank", "concealed"]
"""``encrypted``: the record is encrypted, and authoritative. ``shown``: the client sees the text. ``blank``:
the client does not see just the text, because it is only white space, or followed by an error. ``concealed``:
the client must not see the text, and there are no keys."""


@dataclass(frozen=True, slots=True, repr=False)
class PlacedPart:
    """A part, with the way a client sees it; the fields are those of `UnitRecord`.

    Attributes:
        visible_text: The text as the client sees it.
        native_id: The provider's ID of a call, if the client knows another one.
    """

    seq: int
    part: Part
    exposure: Exposure
    visible_text: str = ""
    stretch: int = 0
    id: str | None = None
    native_id: str | None = None
    message: str | None = None
    spans: tuple[Span, ...] = ()
    after: tuple[int, ...] = ()
    shares: str | None = None


@dataclass(frozen=True, slots=True)
class WrittenFields:
    """The fields to write of a unit, its part and the part's segments."""

    unit: str
    part: str = ""
    segment: str = ""


_REASONING = "item_id status opaque ext segments"
_CALL = "id server status opaque ext"

WRITTEN: Final[dict[tuple[type, Exposure], WrittenFields]] = {
    (ReasoningPart, "encrypted"): WrittenFields("seq stretch", _REASONING, "channel index text"),
    (ReasoningPart, "shown"): WrittenFields("seq stretch lengths sha256", _REASONING, "channel index"),
    (ReasoningPart, "blank"): WrittenFields("seq stretch", _REASONING, "channel index text"),
    (TextPart, "shown"): WrittenFields("seq spans sha256", "status opaque ext"),
    (TextPart, "blank"): WrittenFields("seq spans", "text status opaque ext"),
    (ToolCallPart, "encrypted"): WrittenFields("seq id after shares", f"{_CALL} arguments"),
    (ToolCallPart, "shown"): WrittenFields("seq id after shares sha256", _CALL),
    (ToolCallPart, "concealed"): WrittenFields("seq id", "server status"),
    (ToolResultPart, "encrypted"): WrittenFields("seq id message", "native ext content error"),
    (ToolResultPart, "shown"): WrittenFields("seq id message", "native ext"),
    (ToolResultPart, "blank"): WrittenFields("seq id message", "native ext content error"),
    (ToolResultPart, "concealed"): WrittenFields("seq id message"),
    (NativePart, "encrypted"): WrittenFields("seq", "name payload"),
    (NativePart, "shown"): WrittenFields("seq", "name payload"),
}
"""Without keys, visible text is never repeated, and neither hash nor length of concealed text is written."""


def unit_record(placed: PlacedPart) -> UnitRecord | None:
    """Return the record of a unit; ``None`` if nothing may be written about it."""
    fields = WRITTEN.get((type(placed.part), placed.exposure))
    if fields is None:
        return None
    place = {name: _PLACE.get(name, getattr)(placed, name) for name in fields.unit.split()}
    return UnitRecord(part=_part(placed, fields), **place)


def _part(placed: PlacedPart, fields: WrittenFields) -> PartRecord:
    values = {
        name: _PART[name](placed, fields) if name in _PART else getattr(placed.part, name)
        for name in fields.part.split()
    }
    return _RECORDS[type(placed.part)](values)


def _lengths(placed: PlacedPart, name: str) -> tuple[int, ...]:
    assert isinstance(placed.part, ReasoningPart)
    return tuple(len(segment.text) for segment in placed.part.segments)


def _segments(placed: PlacedPart, fields: WrittenFields) -> tuple[SegmentRecord, ...]:
    assert isinstance(placed.part, ReasoningPart)
    names = fields.segment.split()
    return tuple(
        SegmentRecord(**{name: getattr(segment, name) for name in names}) for segment in placed.part.segments
    )


def _opaque(placed: PlacedPart, fields: WrittenFields) -> tuple[OpaqueRecord, ...]:
    encrypted = placed.exposure == "encrypted"
    return tuple(
        OpaqueRecord.of(opaque, encrypted=encrypted) for opaque in getattr(placed.part, "opaque", ())
    )


def _ext(placed: PlacedPart, fields: WrittenFields) -> dict[str, Any] | None:
    ext: Mapping[str, Any] | None = getattr(placed.part, "ext", None)
    return dict(ext) if ext else None


_PLACE: dict[str, Callable[[PlacedPart, str], Any]] = {
    "lengths": _lengths,
    "sha256": lambda placed, name: digest(placed.visible_text),
}
_PART: dict[str, Callable[[PlacedPart, WrittenFields], Any]] = {
    "segments": _segments,
    "opaque": _opaque,
    "ext": _ext,
    "id": lambda placed, fields: placed.native_id,
    "name": lambda placed, fields: getattr(placed.part, "kind", None),
}
_RECORDS: dict[type, Callable[[dict[str, Any]], PartRecord]] = {
    ReasoningPart: lambda values: ReasoningRecord(**values),
    TextPart: lambda values: TextRecord(**values),
    ToolCallPart: lambda values: CallRecord(**values),
    ToolResultPart: lambda values: ResultRecord(**values),
    NativePart: lambda values: NativeRecord(**values),
}
