"""Reads version 1 of the format as version 2. It stays readable forever.

It has ``unit``, the unit of the message or call itself, and ``rest``, other units; a unit is one object with
its position and its part.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from agui_reasoning._envelope.records import (
    CallRecord,
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


class _Segment(WireRecord):
    channel: Channel = "text"
    index: int = 0
    length: int = Field(ge=0)
    text: str | None = None

    def record(self) -> SegmentRecord:
        return SegmentRecord(channel=self.channel, index=self.index, text=self.text)


class _Unit(WireRecord):
    seq: int = Field(ge=0)
    status: Status = "complete"
    opaque: tuple[OpaqueRecord, ...] = Field(default=(), strict=False)
    ext: dict[str, Any] | None = None

    @property
    def common(self) -> dict[str, Any]:
        return {"status": self.status, "opaque": self.opaque, "ext": self.ext}


class _Reasoning(_Unit):
    kind: Literal["reasoning"]
    stretch: int = Field(default=0, ge=0)
    item_id: str | None = None
    segments: tuple[_Segment, ...] = Field(default=(), strict=False)
    sha256: str | None = None

    def upgraded(self) -> UnitRecord:
        segments = tuple(segment.record() for segment in self.segments)
        part = ReasoningRecord(kind="reasoning", item_id=self.item_id, segments=segments, **self.common)
        lengths = tuple(segment.length for segment in self.segments) if self.sha256 else ()
        return _unit(self, part, stretch=self.stretch, lengths=lengths, sha256=self.sha256)


class _Text(_Unit):
    kind: Literal["text"]
    at: tuple[Span, ...] = Field(default=(), strict=False)
    text: str | None = None
    sha256: str | None = None

    def upgraded(self) -> UnitRecord:
        part = TextRecord(kind="text", text=self.text, **self.common)
        return _unit(self, part, spans=self.at, sha256=self.sha256)


class _Call(_Unit):
    kind: Literal["call"]
    id: str
    native_id: str | None = None
    server: bool = False
    after: tuple[int, ...] = Field(default=(), strict=False)
    shares: str | None = None
    arguments: str | None = None
    sha256: str | None = None

    def upgraded(self) -> UnitRecord:
        part = CallRecord(
            kind="call", id=self.native_id, server=self.server, arguments=self.arguments, **self.common
        )
        return _unit(self, part, id=self.id, after=self.after, shares=self.shares, sha256=self.sha256)


class _Result(_Unit):
    kind: Literal["result"]
    id: str
    message: str
    native: Any = None
    content: str | None = None

    def upgraded(self) -> UnitRecord:
        part = ResultRecord(kind="result", native=self.native, content=self.content, **self.common)
        return _unit(self, part, id=self.id, message=self.message)


class _Native(_Unit):
    kind: Literal["native"]
    name: str
    payload: Any = None

    def upgraded(self) -> UnitRecord:
        return _unit(self, NativeRecord(kind="native", name=self.name, payload=self.payload, **self.common))


def _unit(old: _Unit, part: PartRecord, **place: Any) -> UnitRecord:
    return UnitRecord(seq=old.seq, part=part, **place)


_Record: TypeAlias = Annotated[_Reasoning | _Text | _Call | _Result | _Native, Field(discriminator="kind")]


class Version1(WireRecord):
    """An envelope in version 1."""

    k: Literal["agui-reasoning"]
    v: Literal[1]
    origin: OriginRecord | None = None
    response: ResponsePlace
    unit: _Record | None = None
    rest: tuple[_Record, ...] = Field(default=(), strict=False)

    def upgraded(self) -> Envelope:
        """Return the envelope in the current version."""
        records = (self.unit, *self.rest)
        units = tuple(record.upgraded() for record in records if record is not None)
        return Envelope(origin=self.origin, response=self.response, units=units)
