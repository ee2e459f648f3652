"""What the client holds of a response while it is written: messages, calls, and what each envelope says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
from agui_reasoning.emitter.disclosure import Disclosure
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
from agui_reasoning.parts import SEGMENT_SEPARATOR, Origin, ReasoningPart

__all__ = ["AssistantMessage", "Call", "ReasoningMessage", "ResponseState", "rest_record"]


@dataclass(slots=True, eq=False, repr=False)
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
class _Stretch:
    """A `Span` that grows with every delta: the record of it is made once, when it is written."""

    message: str
    start: int
    length: int

    def span(self) -> Span:
        """The record."""
        return Span(message=self.message, start=self.start, length=self.length)


@dataclass(slots=True, eq=False, repr=False)
class ReasoningMessage:
    """A reasoning message: one unit, or one stretch of a unit that resumed.

    Attributes:
        span_id: The span it stands in.
        withheld: Some of its text is not shown.
        sent: The record its last envelope held.
    """

    id: str
    unit: ReasoningUnit
    span_id: str
    stretch: int = 0
    started_ms: int | None = None
    text: _Shown = field(default_factory=_Shown)
    segments: list[SegmentBuffer] = field(default_factory=list)
    last_shown: SegmentBuffer | None = None
    withheld: bool = False
    sent: Record | None = None

    @property
    def shown_chars(self) -> int:
        """How many code points of it were sent to the client."""
        return sum(map(len, self.text.pieces))

    def add(self, text: str, segment: SegmentBuffer) -> str:
        """Take text of a segment that is shown, and give what may be sent now."""
        self._note(segment)
        before, self.last_shown = self.last_shown, segment
        return self.text.add(text if before in (None, segment) else SEGMENT_SEPARATOR + text)

    def withhold(self, segment: SegmentBuffer) -> None:
        """Take note of a segment that is not shown."""
        self._note(segment)
        self.withheld = True

    def _note(self, segment: SegmentBuffer) -> None:
        if not self.segments or self.segments[-1] is not segment:
            self.segments.append(segment)

    def part(self, origin: Origin | None) -> ReasoningPart:
        """The unit, with the text of this stretch of it."""
        return replace(self.unit.part(origin), segments=tuple(s.settled() for s in self.segments))

    def record(self, *, sealed: bool) -> ReasoningRecord | None:
        """What the envelope says of the unit; ``None`` when it is to say nothing.

        Args:
            sealed: It will be encrypted, and holds the text.
        """
        if self.withheld and not sealed:
            return None
        unit = self.unit
        whole = sealed or not self.text.visible
        return ReasoningRecord(
            kind="reasoning",
            seq=unit.seq,
            stretch=self.stretch,
            item_id=unit.item_id,
            status=unit.status,
            segments=tuple(_segment(segment, whole) for segment in self.segments),
            opaque=_opaque(unit),
            ext=unit.ext or None,
            sha256=None if whole else digest("".join(self.text.pieces)),
        )


def _segment(segment: SegmentBuffer, whole: bool) -> SegmentRecord:
    text = "".join(segment.pieces)
    return SegmentRecord(
        channel=segment.channel, index=segment.index, length=len(text), text=text if whole else None
    )


@dataclass(slots=True, eq=False, repr=False)
class AssistantMessage:
    """An assistant message. It may hold several text units, one after the other."""

    id: str
    open: bool = False
    used: bool = False
    length: int = 0
    units: list[TextUnit] = field(default_factory=list)
    sent: tuple[Record, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class Call:
    """A tool call under the id the client knows it by.

    Attributes:
        conceals: Arguments of the provider's own calls are not shown.
    """

    id: str
    unit: CallUnit
    parent: AssistantMessage
    owns: tuple[str, ...] | Shared | None
    after: tuple[int, ...]
    conceals: bool = False
    sent: Record | None = None

    @property
    def concealed(self) -> bool:
        """Its arguments are not shown. That it is the provider's own may turn out only under way."""
        return self.conceals and self.unit.server

    def record(self, *, sealed: bool) -> CallRecord:
        """What the envelope says of the call.

        Args:
            sealed: It will be encrypted, and holds the arguments of the provider's own calls. Otherwise
                nothing is told of one whose arguments are not shown but that it is the provider's own and
                cannot go back.
        """
        unit = self.unit
        if self.concealed and not sealed:
            return CallRecord(kind="call", seq=unit.seq, id=self.id, server=True, status="incomplete")
        arguments = "".join(unit.pieces)
        # What the provider did itself is not the client's to tell, even where the client is shown it.
        whole = sealed and unit.server
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
            arguments=arguments if whole else None,
            sha256=None if whole else digest(arguments),
        )


@dataclass(slots=True, eq=False, repr=False)
class ResponseState:
    """Everything the client holds of one response; ``after`` is the id of the one before it."""

    response: Response
    id: str
    after: str | None = None
    disclosure: Disclosure = field(default_factory=Disclosure)
    attributor: Attributor = field(default_factory=Attributor)
    reasoning: list[ReasoningMessage] = field(default_factory=list)
    by_unit: dict[ReasoningUnit, ReasoningMessage] = field(default_factory=dict)
    messages: list[AssistantMessage] = field(default_factory=list)
    calls: dict[CallUnit, Call] = field(default_factory=dict)
    results: dict[ResultUnit, tuple[str, str]] = field(default_factory=dict)
    spans: dict[TextUnit, list[_Stretch]] = field(default_factory=dict)
    held: list[tuple[TextUnit, str]] = field(default_factory=list)

    def hold(self, unit: TextUnit, text: str) -> None:
        """Keep white space that leads a message back."""
        self.held.append((unit, text))

    def place(self, unit: TextUnit, message: AssistantMessage, length: int) -> None:
        """Note that a stretch of a unit is shown in a message."""
        stretches = self.spans.setdefault(unit, [])
        last = stretches[-1] if stretches else None
        if last is not None and last.message == message.id and last.start + last.length == message.length:
            last.length += length
        else:
            stretches.append(_Stretch(message.id, message.length, length))
        message.length += length
        if unit not in message.units:
            message.units.append(unit)

    def seen_as(self, unit: Unit) -> str:
        """The message or call id under which the client sees a unit; empty where it sees none."""
        return _SEEN_AS.get(type(unit), _unseen)(self, unit)

    def text_record(self, unit: TextUnit) -> TextRecord:
        """What an envelope says of a text unit."""
        text = "".join(unit.pieces)
        spans = tuple(stretch.span() for stretch in self.spans.get(unit, ()))
        whole = sum(span.length for span in spans) == len(text)
        return TextRecord(
            kind="text",
            seq=unit.seq,
            status=unit.status,
            opaque=_opaque(unit),
            ext=self._ext_of(unit) or None,
            at=spans,
            text=None if whole else text,
            sha256=digest(text) if whole else None,
        )

    def _ext_of(self, unit: TextUnit) -> dict[str, Any]:
        """Where nothing is kept that is not shown, only ids and names: citations quote what tools found."""
        if self.disclosure.keeps:
            return unit.ext
        return {name: value for name, value in unit.ext.items() if not isinstance(value, dict | list)}


def rest_record(state: ResponseState, unit: Unit) -> Record | None:
    """The record of a unit that is not reasoning.

    ``None`` for reasoning, which has a message of its own, and for what is neither shown nor kept.
    """
    return _REST[type(unit)](state, unit)


def _result(state: ResponseState, unit: ResultUnit) -> ResultRecord:
    message_id, call_id = state.results[unit]
    if not state.disclosure.keeps:
        return ResultRecord(kind="result", seq=unit.seq, id=call_id, message=message_id)
    return ResultRecord(
        kind="result",
        seq=unit.seq,
        id=call_id,
        message=message_id,
        native=unit.native,
        ext=unit.ext or None,
        content=unit.content if state.disclosure.sealed else None,
    )


def _native(state: ResponseState, unit: NativeUnit) -> NativeRecord | None:
    if not state.disclosure.keeps:
        return None
    return NativeRecord(kind="native", seq=unit.seq, name=unit.kind, payload=unit.payload)


def _opaque(unit: Unit) -> tuple[OpaqueRecord, ...]:
    return tuple(OpaqueRecord.of(opaque) for opaque in unit.opaque)


def _unseen(state: ResponseState, unit: Any) -> str:
    return ""


def _reasoning_seen_as(state: ResponseState, unit: ReasoningUnit) -> str:
    return next((message.id for message in state.reasoning if message.unit is unit), "")


def _text_seen_as(state: ResponseState, unit: TextUnit) -> str:
    spans = state.spans.get(unit)
    return spans[0].message if spans else ""


_SEEN_AS: dict[type, Callable[[ResponseState, Any], str]] = {
    ReasoningUnit: _reasoning_seen_as,
    TextUnit: _text_seen_as,
    CallUnit: lambda state, unit: state.calls[unit].id,
    ResultUnit: lambda state, unit: state.results[unit][0],
}
_REST: dict[type, Callable[[ResponseState, Any], Record | None]] = {
    ReasoningUnit: lambda state, unit: None,
    TextUnit: ResponseState.text_record,
    CallUnit: lambda state, unit: state.calls[unit].record(sealed=state.disclosure.sealed),
    ResultUnit: _result,
    NativeUnit: _native,
}
