"""What the client holds of a response while it is written: messages, calls, and what each value says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agui_reasoning._envelope import Exposure, PlacedPart, Span, UnitRecord, unit_record
from agui_reasoning.attribution import Attributor, Shared
from agui_reasoning.deltas._units import (
    CallUnit,
    NativeUnit,
    ReasoningUnit,
    ResponseBuffer,
    ResultUnit,
    SegmentBuffer,
    TextUnit,
    UnitBuffer,
)
from agui_reasoning.emitter._disclosure import Disclosure
from agui_reasoning.parts import SEGMENT_SEPARATOR, Origin, ReasoningPart, TextPart, ToolCallPart

__all__ = [
    "AssistantMessage",
    "EmittedCall",
    "ReasoningMessage",
    "ResponseState",
    "Sent",
    "Stretch",
    "other_record",
]


@dataclass(slots=True, eq=False, repr=False)
class _VisibleText:
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


@dataclass(frozen=True, slots=True, repr=False)
class Sent:
    """What the last value of a message or call said: its units, and the ids it named."""

    units: tuple[UnitRecord, ...]
    messages: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


@dataclass(slots=True, eq=False, repr=False)
class Stretch:
    """A reasoning unit, or one stretch of a unit that resumed.

    Attributes:
        number: Which stretch of its unit this is.
        message: The message that shows it; ``None`` while it has nothing to show.
        carrier: The message it rides along with until then.
        withheld: Some of its text is not shown.
    """

    unit: ReasoningUnit
    number: int
    message: ReasoningMessage | None = None
    carrier: ReasoningMessage | None = None
    text: _VisibleText = field(default_factory=_VisibleText)
    segments: list[SegmentBuffer] = field(default_factory=list)
    last_visible: SegmentBuffer | None = None
    withheld: bool = False

    @property
    def shown_chars(self) -> int:
        """How many code points of it were sent to the client."""
        return sum(map(len, self.text.pieces))

    @property
    def text_chars(self) -> int:
        """How many code points of text it has."""
        return sum(len(piece) for segment in self.segments for piece in segment.pieces)

    def add(self, text: str, segment: SegmentBuffer) -> str:
        """Take text of a segment that is shown, and give what may be sent now."""
        self._note(segment)
        before, self.last_visible = self.last_visible, segment
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

    def record(self, *, sealed: bool) -> UnitRecord | None:
        """What an envelope says of it; ``None`` when it is to say nothing.

        Args:
            sealed: It will be encrypted, and holds the text.
        """
        if self.withheld and not sealed:
            return unit_record(PlacedPart(self.unit.seq, self.unit.part(None), "concealed"))
        visible = "".join(self.text.pieces)
        exposure: Exposure = "encrypted" if sealed else "shown" if visible else "blank"
        placed = PlacedPart(self.unit.seq, self.part(None), exposure, visible, self.number)
        return unit_record(placed)


@dataclass(slots=True, eq=False, repr=False)
class ReasoningMessage:
    """A reasoning message: it shows one stretch, and others that have nothing to show ride along.

    Attributes:
        span_id: The span it stands in.
        own: What it shows; ``None`` while that is nothing.
        riders: What rides along, in order.
        sent: What its last value said.
    """

    id: str
    span_id: str
    started_ms: int | None = None
    own: Stretch | None = None
    riders: dict[Stretch, None] = field(default_factory=dict)
    sent: Sent | None = None

    @property
    def seq(self) -> int | None:
        """The unit that it is said to be of."""
        first = self.own or next(iter(self.riders), None)
        return first.unit.seq if first else None


@dataclass(slots=True, eq=False, repr=False)
class AssistantMessage:
    """An assistant message. It may hold several text units, one after the other."""

    id: str
    open: bool = False
    used: bool = False
    length: int = 0
    units: dict[TextUnit, None] = field(default_factory=dict)
    sent: Sent | None = None


@dataclass(slots=True, eq=False, repr=False)
class EmittedCall:
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
    sent: Sent | None = None

    @property
    def concealed(self) -> bool:
        """Its arguments are not shown. That it is the provider's own may turn out only under way."""
        return self.conceals and self.unit.server

    def record(self, *, sealed: bool) -> UnitRecord | None:
        """What an envelope says of the call.

        Args:
            sealed: It will be encrypted, and holds the arguments of the provider's own calls. Otherwise
                nothing is told of one whose arguments are not shown but that it is the provider's own and
                cannot go back.
        """
        unit = self.unit
        part = unit.part(None)
        assert isinstance(part, ToolCallPart)
        if self.concealed and not sealed:
            cut = replace(part, status="incomplete")
            return unit_record(PlacedPart(unit.seq, cut, "concealed", id=self.id))
        return unit_record(
            PlacedPart(
                unit.seq,
                part,
                # What the provider did itself is not the client's to tell, even where the client is shown it.
                "encrypted" if sealed and unit.server else "shown",
                part.arguments,
                id=self.id,
                native_id=None if unit.key == self.id else unit.key,
                after=self.after,
                shares=self.owns.owner if isinstance(self.owns, Shared) else None,
            )
        )


@dataclass(slots=True, eq=False, repr=False)
class ResponseState:
    """Everything the client holds of one response; ``after`` is the id of the one before it.

    Attributes:
        carriers: The message or call with the last value that told of a unit, by its seq and stretch.
        text_carriers: The message whose value tells of a text unit that has one.
        values: How many values were sent.
        named: How many messages and calls they named.
        value_chars: Characters of the last value of each message and call.
    """

    response: ResponseBuffer
    id: str
    after: str | None = None
    disclosure: Disclosure = field(default_factory=Disclosure)
    attributor: Attributor = field(default_factory=Attributor)
    reasoning: list[ReasoningMessage] = field(default_factory=list)
    stretches: dict[ReasoningUnit, list[Stretch]] = field(default_factory=dict)
    messages: list[AssistantMessage] = field(default_factory=list)
    calls: dict[CallUnit, EmittedCall] = field(default_factory=dict)
    call_ids: list[str] = field(default_factory=list)
    results: dict[ResultUnit, tuple[str, str]] = field(default_factory=dict)
    spans: dict[TextUnit, list[_Stretch]] = field(default_factory=dict)
    held: list[tuple[TextUnit, str]] = field(default_factory=list)
    carriers: dict[tuple[int, int], str] = field(default_factory=dict)
    text_carriers: dict[TextUnit, AssistantMessage] = field(default_factory=dict)
    values: int = 0
    named: tuple[int, int] = (0, 0)
    value_chars: dict[str, int] = field(default_factory=dict)

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
        message.units[unit] = None

    def begin(self, unit: ReasoningUnit) -> Stretch:
        """Another stretch of a unit."""
        stretches = self.stretches.setdefault(unit, [])
        stretches.append(Stretch(unit, len(stretches)))
        return stretches[-1]

    def reasoning_ids(self, seqs: tuple[int, ...]) -> list[str]:
        """The reasoning messages that show some units, or that they ride along with."""
        stretches = (self.stretches[self.response.units[seq]] for seq in seqs)  # type: ignore[index]
        messages = (stretch.message or stretch.carrier for several in stretches for stretch in several)
        return list(dict.fromkeys(message.id for message in messages if message))

    def seen_as(self, unit: UnitBuffer) -> str:
        """The message or call id under which the client sees a unit; empty where it sees none."""
        return _SEEN_AS.get(type(unit), _unseen)(self, unit)

    def text_record(self, unit: TextUnit) -> UnitRecord | None:
        """What an envelope says of a text unit."""
        part = unit.part(None)
        assert isinstance(part, TextPart)
        spans = tuple(stretch.span() for stretch in self.spans.get(unit, ()))
        whole = sum(span.length for span in spans) == len(part.text)
        part = replace(part, ext=self._ext_of(unit))
        return unit_record(PlacedPart(unit.seq, part, "shown" if whole else "blank", part.text, spans=spans))

    def _ext_of(self, unit: TextUnit) -> dict[str, Any]:
        """Where nothing is kept that is not shown, only ids and names: citations quote what tools found."""
        if self.disclosure.keeps:
            return unit.ext
        return {name: value for name, value in unit.ext.items() if not isinstance(value, dict | list)}


def other_record(state: ResponseState, unit: UnitBuffer) -> UnitRecord | None:
    """The record of a unit that is not reasoning.

    ``None`` for reasoning, which has messages of its own, and for what is neither shown nor kept.
    """
    return _OTHER_RECORDS[type(unit)](state, unit)


def _result(state: ResponseState, unit: ResultUnit) -> UnitRecord | None:
    message_id, call_id = state.results[unit]
    exposure = _exposure(state.disclosure)
    return unit_record(PlacedPart(unit.seq, unit.part(None), exposure, id=call_id, message=message_id))


def _native(state: ResponseState, unit: NativeUnit) -> UnitRecord | None:
    return unit_record(PlacedPart(unit.seq, unit.part(None), _exposure(state.disclosure)))


def _exposure(disclosure: Disclosure) -> Exposure:
    """Of what the provider did itself."""
    if disclosure.sealed:
        return "encrypted"
    return "shown" if disclosure.full else "concealed"


def _unseen(state: ResponseState, unit: Any) -> str:
    return ""


def _reasoning_seen_as(state: ResponseState, unit: ReasoningUnit) -> str:
    first = state.stretches[unit][0]
    return first.message.id if first.message else state.carriers.get((unit.seq, 0), "")


def _text_seen_as(state: ResponseState, unit: TextUnit) -> str:
    spans = state.spans.get(unit)
    return spans[0].message if spans else ""


_SEEN_AS: dict[type, Callable[[ResponseState, Any], str]] = {
    ReasoningUnit: _reasoning_seen_as,
    TextUnit: _text_seen_as,
    CallUnit: lambda state, unit: state.calls[unit].id,
    ResultUnit: lambda state, unit: state.results[unit][0],
}
_OTHER_RECORDS: dict[type, Callable[[ResponseState, Any], UnitRecord | None]] = {
    ReasoningUnit: lambda state, unit: None,
    TextUnit: ResponseState.text_record,
    CallUnit: lambda state, unit: state.calls[unit].record(sealed=state.disclosure.sealed),
    ResultUnit: _result,
    NativeUnit: _native,
}
