"""Reads version 1 of the format as version 2. It stays readable forever.

It has ``unit``, the unit of the message or call itself, and ``rest``, other units; a unit is one object with
its position and its part.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from agui_reasoning._envelope.records import (
    CallRecord,
    Count,
    Envelope,
    NativeRecord,
    OpaqueRecord,
    OriginRecord,
    PartRecord,
    ReasoningRecord,
    ResponsePlace,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    UnitRecord,
    WireRecord,
)
from agui_reasoning.parts import Channel, Status

__all__ = ["Version1"]


class _Segment(WireRecord, frozen=True, kw_only=True):
    channel: Channel = "text"
    index: int = 0
    length: Count
    text: str | None = None

    def record(self) -> SegmentRecord:
        return SegmentRecord(channel=self.channel, index=self.index, text=self.text)


class _Unit(WireRecord, frozen=True, kw_only=True):
    seq: Count
    status: Status = "complete"
    opaque: tuple[OpaqueRecord, ...] = ()
    ext: dict[str, Any] | None = None

    @property
    def common(self) -> dict[str, Any]:
        return {"status": self.status, "opaque": self.opaque, "ext": self.ext}


class _Reasoning(_Unit, frozen=True, kw_only=True, tag_field="kind", tag="reasoning"):
    stretch: Count = 0
    item_id: str | None = None
    segments: tuple[_Segment, ...] = ()
    sha256: str | None = None

    def upgraded(self) -> UnitRecord:
        segments = tuple(segment.record() for segment in self.segments)
        part = ReasoningRecord(item_id=self.item_id, segments=segments, **self.common)
        lengths = tuple(segment.length for segment in self.segments) if self.sha256 else ()
        return _unit(self, part, stretch=self.stretch, lengths=lengths, sha256=self.sha256)


class _Text(_Unit, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    at: tuple[Span, ...] = ()
    text: str | None = None
    sha256: str | None = None

    def upgraded(self) -> UnitRecord:
        part = TextRecord(text=self.text, **self.common)
        return _unit(self, part, spans=self.at, sha256=self.sha256)


class _Call(_Unit, frozen=True, kw_only=True, tag_field="kind", tag="call"):
    id: str
    native_id: str | None = None
    server: bool = False
    after: tuple[int, ...] = ()
    shares: str | None = None
    arguments: str | None = None
    sha256: str | None = None

    def upgraded(self) -> UnitRecord:
        part = CallRecord(id=self.native_id, server=self.server, arguments=self.arguments, **self.common)
        return _unit(self, part, id=self.id, after=self.after, shares=self.shares, sha256=self.sha256)


class _Result(_Unit, frozen=True, kw_only=True, tag_field="kind", tag="result"):
    id: str
    message: str
    native: Any = None
    content: str | None = None

    def upgraded(self) -> UnitRecord:
        part = ResultRecord(native=self.native, content=self.content, **self.common)
        return _unit(self, part, id=self.id, message=self.message)


class _Native(_Unit, frozen=True, kw_only=True, tag_field="kind", tag="native"):
    name: str
    payload: Any = None

    def upgraded(self) -> UnitRecord:
        return _unit(self, NativeRecord(name=self.name, payload=self.payload, **self.common))


def _unit(old: _Unit, part: PartRecord, **place: Any) -> UnitRecord:
    return UnitRecord(seq=old.seq, part=part, **place)


_Record: TypeAlias = _Reasoning | _Text | _Call | _Result | _Native


class Version1(WireRecord, frozen=True, kw_only=True):
    """An envelope in version 1."""

    k: Literal["agui-reasoning"]
    v: Literal[1]
    origin: OriginRecord | None = None
    response: ResponsePlace
    unit: _Record | None = None
    rest: tuple[_Record, ...] = ()

    def upgraded(self) -> Envelope:
        """Return the envelope in the current version."""
        records = (self.unit, *self.rest)
        units = tuple(record.upgraded() for record in records if record is not None)
        return Envelope(origin=self.origin, response=self.response, units=units)
