"""What the client holds of a response while it is written: messages, calls, and what each envelope says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agui_reasoning.attribution import Attributor, Shared
from agui_reasoning.deltas.units import (
    CallUnit,
    NativeUnit,
    ReasoningUnit,
    Response,
    ResultUnit,
    SegmentBuffer,
    TextUnit,
    Unit,
)
from agui_reasoning.envelope import (
    CallRecord,
    NativeRecord,
    OpaqueRecord,
    ReasoningRecord,
    Record,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    digest,
)
from agui_reasoning.parts import SEGMENT_SEPARATOR

__all__ = ["AssistantMessage", "Call", "ReasoningMessage", "ResponseState", "rest_record"]


@dataclass(slots=True, eq=False)
class _Shown:
    """Text on its way to a message. Leading white space waits until something visible follows."""

    pieces: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    visible: bool = False

    def add(self, text: str) -> str:
        """Take text, and give what may be sent now."""
        if self.visible:
            self.pieces.append(text)
            return text
        self.waiting.append(text)
        if text.isspace():
            return ""
        self.visible = True
        sent = "".join(self.waiting)
        self.waiting.clear()
        self.pieces.append(sent)
        return sent


@dataclass(slots=True, eq=False)
class ReasoningMessage:
    """A reasoning message: one unit, or one stretch of a unit that resumed.

    Attributes:
        sent: The record its last envelope held.
    """

    id: str
    unit: ReasoningUnit
    stretch: int = 0
    started_ms: int | None = None
    text: _Shown = field(default_factory=_Shown)
    segments: list[SegmentBuffer] = field(default_factory=list)
    sent: Record | None = None

    def add(self, text: str, segment: SegmentBuffer) -> str:
        """Take text of a segment, and give what may be sent now."""
        before = self.segments[-1] if self.segments else None
        if before is segment:
            return self.text.add(text)
        self.segments.append(segment)
        return self.text.add(text if before is None else SEGMENT_SEPARATOR + text)

    def record(self) -> ReasoningRecord:
        """What the envelope says of the unit."""
        unit = self.unit
        return ReasoningRecord(
            kind="reasoning",
            seq=unit.seq,
            stretch=self.stretch,
            item_id=unit.item_id,
            status=unit.status,
            segments=tuple(self._segment(segment) for segment in self.segments),
            opaque=_opaque(unit),
            ext=unit.ext or None,
            sha256=digest("".join(self.text.pieces)) if self.text.visible else None,
        )

    def _segment(self, segment: SegmentBuffer) -> SegmentRecord:
        text = "".join(segment.pieces)
        return SegmentRecord(
            channel=segment.channel,
            index=segment.index,
            length=len(text),
            text=None if self.text.visible else text,
        )


@dataclass(slots=True, eq=False)
class AssistantMessage:
    """An assistant message. It may hold several text units, one after the other."""

    id: str
    open: bool = False
    used: bool = False
    length: int = 0
    units: list[TextUnit] = field(default_factory=list)
    sent: tuple[Record, ...] = ()


@dataclass(slots=True, eq=False)
class Call:
    """A tool call under the id the client knows it by."""

    id: str
    unit: CallUnit
    parent: AssistantMessage
    owns: tuple[str, ...] | Shared | None
    after: tuple[int, ...]
    sent: Record | None = None

    def record(self) -> CallRecord:
        """What the envelope says of the call."""
        unit = self.unit
        return CallRecord(
            kind="call",
            seq=unit.seq,
            id=self.id,
            native_id=None if unit.key == self.id else unit.key,
            server=unit.server,
            status=unit.status,
            opaque=_opaque(unit),
            ext=unit.ext or None,
            after=self.after,
            shares=self.owns.owner if isinstance(self.owns, Shared) else None,
            sha256=digest("".join(unit.pieces)),
        )


@dataclass(slots=True, eq=False)
class ResponseState:
    """Everything the client holds of one response."""

    response: Response
    id: str
    attributor: Attributor = field(default_factory=Attributor)
    reasoning: list[ReasoningMessage] = field(default_factory=list)
    by_unit: dict[ReasoningUnit, ReasoningMessage] = field(default_factory=dict)
    messages: list[AssistantMessage] = field(default_factory=list)
    calls: dict[CallUnit, Call] = field(default_factory=dict)
    results: dict[ResultUnit, tuple[str, str]] = field(default_factory=dict)
    spans: dict[TextUnit, list[Span]] = field(default_factory=dict)
    held: list[tuple[TextUnit, str]] = field(default_factory=list)

    def hold(self, unit: TextUnit, text: str) -> None:
        """Keep white space that leads a message back."""
        self.held.append((unit, text))

    def place(self, unit: TextUnit, message: AssistantMessage, length: int) -> None:
        """Note that a stretch of a unit is shown in a message."""
        spans = self.spans.setdefault(unit, [])
        last = spans[-1] if spans else None
        if last is not None and last.message == message.id and last.start + last.length == message.length:
            spans[-1] = last.model_copy(update={"length": last.length + length})
        else:
            spans.append(Span(message=message.id, start=message.length, length=length))
        message.length += length
        if unit not in message.units:
            message.units.append(unit)

    def text_record(self, unit: TextUnit) -> TextRecord:
        """What an envelope says of a text unit."""
        text = "".join(unit.pieces)
        spans = tuple(self.spans.get(unit, ()))
        whole = sum(span.length for span in spans) == len(text)
        return TextRecord(
            kind="text",
            seq=unit.seq,
            status=unit.status,
            opaque=_opaque(unit),
            ext=unit.ext or None,
            at=spans,
            text=None if whole else text,
            sha256=digest(text) if whole else None,
        )


def rest_record(state: ResponseState, unit: Unit) -> Record | None:
    """The record of a unit that is not reasoning; ``None`` for reasoning, which has a message of its own."""
    return _REST[type(unit)](state, unit)


def _result(state: ResponseState, unit: ResultUnit) -> ResultRecord:
    message_id, call_id = state.results[unit]
    return ResultRecord(
        kind="result",
        seq=unit.seq,
        id=call_id,
        message=message_id,
        native=unit.native,
        ext=unit.ext or None,
    )


def _native(state: ResponseState, unit: NativeUnit) -> NativeRecord:
    return NativeRecord(kind="native", seq=unit.seq, name=unit.kind, payload=unit.payload)


def _opaque(unit: Unit) -> tuple[OpaqueRecord, ...]:
    return tuple(OpaqueRecord.of(opaque) for opaque in unit.opaque)


_REST: dict[type, Callable[[ResponseState, Any], Record | None]] = {
    ReasoningUnit: lambda state, unit: None,
    TextUnit: ResponseState.text_record,
    CallUnit: lambda state, unit: state.calls[unit].record(),
    ResultUnit: _result,
    NativeUnit: _native,
}
