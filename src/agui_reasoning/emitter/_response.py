"""The client's view of a response while it is written: messages, calls, and the content of each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from agui_reasoning._envelope import Span, UnitRecord
from agui_reasoning._envelope.writing import Exposure, PlacedPart, unit_record
from agui_reasoning.attribution import Attributor, Shared
from agui_reasoning.deltas import (
    CallUnit,
    NativeUnit,
    ReasoningUnit,
    ResponseBuffer,
    ResultUnit,
    SegmentBuffer,
    TextUnit,
    UnitBuffer,
    Unshown,
)
from agui_reasoning.emitter._visibility import Disclosure
from agui_reasoning.parts import (
    SEGMENT_SEPARATOR,
    Effort,
    Origin,
    Prefix,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    WithheldUnit,
)


class _ShownText(Unshown, eq=False):
    """A `Span` that grows with every delta; its record is created only when it is written."""

    message: str
    start: int
    length: int

    def span(self) -> Span:
        return Span(message=self.message, start=self.start, length=self.length)


class Sent(Struct, frozen=True):
    """The content of the last value of a message or call: its units, and the IDs it named."""

    units: tuple[UnitRecord, ...]
    messages: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


class Stretch(Unshown, eq=False):
    """A reasoning unit, or one stretch of a unit that resumed.

    Attributes:
        number: The number of the stretch within its unit.
        shown: The text sent to the client.
        waiting: Leading white space, until something visible follows: assistant-ui drops messages of white
            space alone, and their values.
        withheld: Whether some of its text is not shown.
    """

    unit: ReasoningUnit
    number: int
    shown: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    segments: list[SegmentBuffer] = field(default_factory=list)
    last_visible: SegmentBuffer | None = None
    withheld: bool = False

    @property
    def shown_chars(self) -> int:
        """The number of code points sent to the client."""
        return sum(map(len, self.shown))

    @property
    def text_chars(self) -> int:
        """The number of code points of its text."""
        return sum(len(piece) for segment in self.segments for piece in segment.pieces)

    def add(self, text: str, segment: SegmentBuffer) -> str:
        """Add text of a segment that is shown, and return what can be sent now."""
        self._note(segment)
        before, self.last_visible = self.last_visible, segment
        if before is not segment and before is not None:
            text = SEGMENT_SEPARATOR + text
        if not self.shown:
            self.waiting.append(text)
            if text.isspace():
                return ""
            text, self.waiting = "".join(self.waiting), []
        self.shown.append(text)
        return text

    def withhold(self, segment: SegmentBuffer) -> None:
        """Note a segment that is not shown."""
        self._note(segment)
        self.withheld = True

    def _note(self, segment: SegmentBuffer) -> None:
        if not self.segments or self.segments[-1] is not segment:
            self.segments.append(segment)

    def part(self, origin: Origin | None) -> ReasoningPart:
        """Return the unit with the text of this stretch."""
        return self.unit.part_of(self.segments, origin)

    def record(self, *, sealed: bool) -> UnitRecord | None:
        """Return the envelope's record, or ``None`` if the envelope must not mention the stretch.

        If it is ``sealed``, it is encrypted, and thus contains the text.
        """
        if self.withheld and not sealed:
            return unit_record(PlacedPart(self.unit.seq, self.unit.part(None), "hidden"))
        visible = "".join(self.shown)
        exposure: Exposure = "encrypted" if sealed else "shown" if visible else "blank"
        part = self.unit.part_of(self.segments, None)
        return unit_record(PlacedPart(self.unit.seq, part, exposure, visible, self.number))


class ReasoningMessage(Unshown, eq=False):
    """A reasoning message. It shows one stretch, and carries others that have nothing to show.

    Attributes:
        span_id: The span that contains it.
        own: The stretch that it shows; ``None`` while there is none.
        carried: The other stretches, in order.
        sent: The content of its last value.
        size_sent_again: The number of stretches when its value was last sent again.
        left_behind: Whether text followed that opens a new bubble in assistant-ui.
    """

    id: str
    span_id: str
    started_ms: int | None = None
    own: Stretch | None = None
    carried: dict[Stretch, None] = field(default_factory=dict)
    sent: Sent | None = None
    size_sent_again: int = 1
    left_behind: bool = False

    @property
    def seq(self) -> int | None:
        """The unit that the message is attributed to."""
        first = self.own or next(iter(self.carried), None)
        return first.unit.seq if first else None


class AssistantMessage(Unshown, eq=False):
    """An assistant message, which may contain several consecutive text units."""

    id: str
    open: bool = False
    used: bool = False
    length: int = 0
    units: dict[TextUnit, None] = field(default_factory=dict)
    sent: Sent | None = None


class EmittedCall(Unshown, eq=False):
    """A tool call under the ID that the client knows.

    Attributes:
        hides: Whether the arguments of the provider's own calls are not shown.
    """

    id: str
    unit: CallUnit
    parent: AssistantMessage
    owns: tuple[str, ...] | Shared | None
    after: tuple[int, ...]
    hides: bool = False
    sent: Sent | None = None

    @property
    def hidden(self) -> bool:
        """Whether its arguments are hidden; a call may become a server call later."""
        return self.hides and self.unit.server

    def record(self, *, sealed: bool) -> UnitRecord | None:
        """Return the envelope's record of the call.

        A ``sealed`` one is encrypted, and thus contains the arguments of the provider's own calls. Otherwise,
        that of a call with hidden arguments only says that it is the provider's own and cannot go back.
        """
        unit = self.unit
        part = unit.part(None)
        assert isinstance(part, ToolCallPart)
        if self.hidden and not sealed:
            cut = replace(part, status="incomplete")
            return unit_record(PlacedPart(unit.seq, cut, "hidden", id=self.id))
        return unit_record(
            PlacedPart(
                unit.seq,
                part,
                # The client must not be able to alter what the provider did itself, even where it is shown.
                "encrypted" if sealed and unit.server else "shown",
                part.arguments,
                id=self.id,
                native_id=None if unit.key == self.id else unit.key,
                after=self.after,
                shares=self.owns.owner if isinstance(self.owns, Shared) else None,
            )
        )


class ResponseState(Unshown, eq=False):
    """The client's data of one response.

    Attributes:
        after: The ID of the previous response.
        after_entity: Its last message or call, if no reasoning message has a value of it.
        failed: The calls whose result was an error, since the previous response.
        shown_by: The message that shows a stretch, once there is something to show. Messages refer to their
            stretches; with a reference back, reasoning would stay in memory until a garbage collection.
        carried_by: The message that carries the value of a stretch until then.
        speaking: The stretch of each reasoning unit that is open.
        overtaken: The messages for which a unit ended that may not be in their value.
        carriers: The message or call whose value last contained a unit, by its seq and stretch.
        text_carriers: The message whose value contains a text unit.
        held: White space at the start of a message, until something visible follows.
        values: The number of values sent.
        named: The number of messages and calls that they named.
        left_behind: The number of reasoning messages before the text that last opened a new bubble.
        value_chars: The length of the last value of each message and call, in characters.
        late: Whether reasoning changed after it had ended.
        refused: The message that tells the user that the provider declined to finish the response.
        effort: The effort that changed with it.
        prefix: What preceded the conversation in the request that it answers.
        anchor: The last empty reasoning message that was opened to carry values.
        interrupts: What the run asks about the calls, as AG-UI's JSON.
    """

    response: ResponseBuffer
    id: str
    disclosure: Disclosure
    after: str | None = None
    after_entity: str | None = None
    failed: tuple[str, ...] = ()
    attributor: Attributor = field(default_factory=Attributor)
    reasoning: list[ReasoningMessage] = field(default_factory=list)
    stretches: dict[ReasoningUnit, list[Stretch]] = field(default_factory=dict)
    shown_by: dict[Stretch, ReasoningMessage] = field(default_factory=dict)
    carried_by: dict[Stretch, ReasoningMessage] = field(default_factory=dict)
    speaking: dict[ReasoningUnit, Stretch] = field(default_factory=dict)
    overtaken: dict[ReasoningMessage, None] = field(default_factory=dict)
    messages: list[AssistantMessage] = field(default_factory=list)
    calls: dict[CallUnit, EmittedCall] = field(default_factory=dict)
    call_ids: list[str] = field(default_factory=list)
    results: dict[ResultUnit, tuple[str, str]] = field(default_factory=dict)
    spans: dict[TextUnit, list[_ShownText]] = field(default_factory=dict)
    held: list[tuple[TextUnit, str]] = field(default_factory=list)
    carriers: dict[tuple[int, int], str] = field(default_factory=dict)
    text_carriers: dict[TextUnit, AssistantMessage] = field(default_factory=dict)
    values: int = 0
    named: tuple[int, int] = (0, 0)
    left_behind: int = 0
    value_chars: dict[str, int] = field(default_factory=dict)
    late: bool = False
    refused: str | None = None
    effort: Effort | None = None
    prefix: Prefix | None = None
    anchor: str = ""
    interrupts: tuple[dict[str, Any], ...] = ()

    @property
    def withheld(self) -> tuple[WithheldUnit, ...]:
        """The reasoning that the model was not shown, if anything may be kept about it."""
        return self.response.withheld if self.disclosure.keeps else ()

    def place(self, unit: TextUnit, message: AssistantMessage, length: int) -> None:
        """Note that a message shows a stretch of a unit."""
        stretches = self.spans.setdefault(unit, [])
        last = stretches[-1] if stretches else None
        if last is not None and last.message == message.id and last.start + last.length == message.length:
            last.length += length
        else:
            stretches.append(_ShownText(message.id, message.length, length))
        message.length += length
        message.units[unit] = None

    def release(self, message: AssistantMessage) -> str:
        """Note that a message shows the white space that was held back, and return it."""
        held, self.held = self.held, []
        for unit, text in held:
            self.place(unit, message, len(text))
        return "".join([text for _, text in held])

    def leave_behind(self) -> None:
        """Note that text opens a new bubble after the reasoning so far."""
        for message in self.reasoning[self.left_behind :]:
            message.left_behind = True
        self.left_behind = len(self.reasoning)

    def begin(self, unit: ReasoningUnit) -> Stretch:
        """Start another stretch of a unit."""
        stretches = self.stretches.setdefault(unit, [])
        stretches.append(Stretch(unit, len(stretches)))
        return stretches[-1]

    def reasoning_ids(self, seqs: tuple[int, ...]) -> list[str]:
        """Return the reasoning messages that show or carry some units."""
        stretches = (self.stretches[self.response.units[seq]] for seq in seqs)  # type: ignore[index]
        messages = (self.message_of(stretch) for several in stretches for stretch in several)
        return list(dict.fromkeys(message.id for message in messages if message))

    def message_of(self, stretch: Stretch) -> ReasoningMessage | None:
        """Return the reasoning message that shows or carries a stretch."""
        return self.shown_by.get(stretch) or self.carried_by.get(stretch)

    @property
    def sole_entity(self) -> str | None:
        """The last message or call, if no reasoning message has a value."""
        entities = {*self.call_ids, *(message.id for message in self.messages)}
        if not entities.issuperset(self.value_chars):
            return None
        shown = (self.seen_as(unit) for unit in reversed(self.response.units))
        return next((name for name in shown if name in entities), None)

    def seen_as(self, unit: UnitBuffer) -> str:
        """Return the message or call ID under which the client sees a unit, or an empty string."""
        return _SEEN_AS.get(type(unit), _unseen)(self, unit)

    def tells(self, unit: UnitBuffer) -> bool:
        """Return whether the client's messages alone suffice to restore a unit: a text in one message."""
        if type(unit) is not TextUnit or unit.status != "complete":
            return False
        if (unit.values and unit.opaque) or (unit.ext and self._ext_of(unit)):
            return False
        spans = self.spans.get(unit, ())
        return len(spans) == 1 and spans[0].start == 0 and spans[0].length == sum(map(len, unit.pieces))

    def text_record(self, unit: TextUnit) -> UnitRecord | None:
        """Return the envelope's record of a text unit."""
        part = unit.part(None)
        assert isinstance(part, TextPart)
        spans = tuple(stretch.span() for stretch in self.spans.get(unit, ()))
        whole = sum(span.length for span in spans) == len(part.text)
        part = replace(part, ext=self._ext_of(unit))
        return unit_record(PlacedPart(unit.seq, part, "shown" if whole else "blank", part.text, spans=spans))

    def _ext_of(self, unit: TextUnit) -> dict[str, Any]:
        """Return only IDs and names unless everything is kept: citations quote the results of tools."""
        if self.disclosure.keeps:
            return unit.ext
        return {name: value for name, value in unit.ext.items() if not isinstance(value, dict | list)}


def other_record(state: ResponseState, unit: UnitBuffer) -> UnitRecord | None:
    """Return the record of a unit that is not reasoning.

    ``None`` for reasoning, which has its own messages, and for units that are neither shown nor kept.
    """
    return _OTHER_RECORDS[type(unit)](state, unit)


def _result(state: ResponseState, unit: ResultUnit) -> UnitRecord | None:
    message_id, call_id = state.results[unit]
    exposure = _exposure(state.disclosure)
    if exposure == "shown" and unit.error is not None:
        exposure = "blank"
    return unit_record(PlacedPart(unit.seq, unit.part(None), exposure, id=call_id, message=message_id))


def _native(state: ResponseState, unit: NativeUnit) -> UnitRecord | None:
    return unit_record(PlacedPart(unit.seq, unit.part(None), _exposure(state.disclosure)))


def _exposure(disclosure: Disclosure) -> Exposure:
    """Return the exposure of what the provider did itself."""
    if disclosure.sealed:
        return "encrypted"
    return "shown" if disclosure.full else "hidden"


def _unseen(state: ResponseState, unit: Any) -> str:
    return ""


def _reasoning_seen_as(state: ResponseState, unit: ReasoningUnit) -> str:
    first = state.stretches[unit][0]
    shown_by = state.shown_by.get(first)
    return shown_by.id if shown_by else state.carriers.get((unit.seq, 0), "")


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
