"""Rebuilds the turns of the responses that have envelopes, from these and the client's messages.

Each message, call and result is assigned to one response, and only once. Clients may return anything: a
thousand envelopes that name the same message must not make a thousand copies of it, and neither must
overlapping spans.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from agui_reasoning._envelope import (
    CallRecord,
    NativeRecord,
    OpaqueRecord,
    ReasoningRecord,
    ResultRecord,
    TextRecord,
    UnitRecord,
    digest,
)
from agui_reasoning.parts import (
    SEGMENT_SEPARATOR,
    NativePart,
    Opaque,
    Origin,
    Part,
    ReasoningPart,
    Segment,
    Status,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers.registry import native_kinds
from agui_reasoning.request._history import ReportEntry
from agui_reasoning.request._index import ClientHistory, FoundUnit, RecordedResponse
from agui_reasoning.request._messages import ClientCall
from agui_reasoning.request._plain import AUTHENTICATED, STORED_OBJECT, Intake, intake_of

_GAP = len(SEGMENT_SEPARATOR)
_FORBIDDEN = "item_reference"
"""References to stored items are never sent back."""


class Rebuilder(Struct):
    """Rebuilds the turns of one history, and notes what has been used of it.

    With ``allow_file_ids``, values that are not encrypted may name objects stored at the provider.
    """

    history: ClientHistory
    allow_file_ids: bool
    report: list[ReportEntry] = field(default_factory=list)
    _intakes: dict[str | None, Intake] = field(default_factory=dict)
    _claimed: set[str] = field(default_factory=set)
    _whole: set[str] = field(default_factory=set)
    _called: set[str] = field(default_factory=set)
    _answered: set[int] = field(default_factory=set)
    _thought: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for response in self.history.responses.values():
            refused = response.place.refused
            if refused is not None and self.history.message_owners.get(refused) == response.id:
                self._claimed.add(refused)  # it is no part of the answer

    def turn(self, response: RecordedResponse) -> Turn:
        """Return the turn of a response."""
        thoughts: dict[int, list[FoundUnit]] = {}
        shown: list[UnitRecord] = []
        units = response.units
        for key in sorted(units) if len(units) > 1 else units:
            found = units[key]
            if type(found.unit.part) is not ReasoningRecord:
                shown.append(found.unit)
            elif key[0] in thoughts:
                thoughts[key[0]].append(found)
            else:
                thoughts[key[0]] = [found]
        work = self._work(response, shown)
        parts: dict[int, Any] = {}
        for seq, stretches in thoughts.items():
            parts[seq] = work.reasoning(stretches)
        if response.slices:
            for (seq, _), slices in response.slices.items():
                if seq not in parts:
                    work.drop(self.history.messages[slices.first].id, "part_missing")
        for unit in shown:
            if unit.seq not in parts:
                parts[unit.seq] = _REBUILDERS[type(unit.part)](work, unit, unit.part)
        recorded = [parts[n] for n in sorted(parts) if parts[n] is not None] if shown else parts.values()
        place, origin = response.place, response.origin
        whole = (*recorded, *work.unrecorded(shown))
        refused = place.refused is not None
        return Turn(whole, origin, place.native_id, refused, place.withheld, place.prefix, place.conversation)

    def _work(self, response: RecordedResponse, shown: list[UnitRecord]) -> _Work:
        """Begin a response that has these units besides reasoning."""
        origin, intake = response.origin, AUTHENTICATED
        if not response.authentic:
            api = origin.api if origin else None
            if api not in self._intakes:
                self._intakes[api] = intake_of(api, allow_file_ids=self.allow_file_ids)
            intake = self._intakes[api]
        if not shown:
            return _Work(self, response, origin, intake)
        return _Work(self, response, origin, intake, overlapping(shown), intake.withheld(shown))

    # -- what has not been used yet

    def thought(self, found: FoundUnit) -> tuple[str, str | None, bool]:
        """Return the message of a stretch of reasoning: its ID, its content and whether that is right.

        The content is ``None`` after the first request. Front ends may return a later value of a message as a
        message of its own, without the text. Then the text is that of a message with an earlier value.
        """
        unit, messages = found.unit, self.history.messages
        named = None if unit.message is None else self.history.find(unit.message, "reasoning")
        message = messages[found.index] if named is None else named
        if unit.sha256 is None:
            return message.id, None, True
        intact = message.has_digest(unit.sha256)
        if not intact and named is None:
            for other in found.places or ():
                if messages[other].has_digest(unit.sha256):
                    message, intact = messages[other], True
                    break
        if id(message) in self._thought:
            return message.id, None, False
        self._thought.add(id(message))
        return message.id, message.text, intact

    def text(self, response: RecordedResponse, unit: UnitRecord, kept: str | None) -> tuple[str, bool] | None:
        """Return the text of a unit, and whether it is unchanged; ``None`` if the client shows none of it.

        The unit that started an edited message gets all of its text.
        """
        text = kept if kept is not None else self._joined(response, unit)
        if text is not None and (unit.sha256 is None or digest(text) == unit.sha256):
            for span in unit.spans:
                self._claimed.add(span.message)
            return text, True
        edited = kept if kept is not None else self.begun(response, unit)
        return None if edited is None else (edited, False)

    def begun(self, response: RecordedResponse, unit: UnitRecord) -> str | None:
        """Return the whole message that a unit started; ``None`` if it started none."""
        first = unit.spans[0] if unit.spans else None
        return self._take(response, first.message) if first and first.start == 0 else None

    def unclaimed(self, response: RecordedResponse, message_id: str) -> str | None:
        """Return a message of a response, if no unit has used it."""
        return None if message_id in self._claimed else self._take(response, message_id)

    def call(self, response: RecordedResponse, call_id: str) -> ClientCall | None:
        """Return a call of a response, at the first request."""
        if call_id in self._called or self.history.call_owners.get(call_id) != response.id:
            return None
        self._called.add(call_id)
        return self.history.call(call_id)

    def result(self, unit: UnitRecord, part: ResultRecord) -> str:
        """Return the content of a result, at the first request for its message."""
        if part.content is not None:
            return part.content
        message = self.history.find(unit.message or "", "tool")
        if message is None:
            index = self.history.answers.get(unit.id or "")
            message = None if index is None else self.history.messages[index]
        if message is None or id(message) in self._answered:
            return ""
        self._answered.add(id(message))
        return message.text

    def _joined(self, response: RecordedResponse, unit: UnitRecord) -> str | None:
        pieces: list[str] = []
        for span in unit.spans:
            content = self._content(response, span.message)
            end = span.start + span.length
            if content is None or end > len(content):
                return None
            pieces.append(content[span.start : end])
        return "".join(pieces)

    def _take(self, response: RecordedResponse, message_id: str) -> str | None:
        content = None if message_id in self._whole else self._content(response, message_id)
        if content is not None:
            self._whole.add(message_id)
            self._claimed.add(message_id)
        return content

    def _content(self, response: RecordedResponse, message_id: str) -> str | None:
        # Clients may give any message any ID, but a user message is never the model's.
        if self.history.message_owners.get(message_id) != response.id:
            return None
        message = self.history.find(message_id, "assistant")
        return None if message is None else message.text


class _Work(Struct, gc=False):
    """A response under reconstruction.

    ``overlapping`` has the texts whose spans overlap; ``withheld``, why server tool calls are left out with
    their results, by call ID.
    """

    client: Rebuilder
    response: RecordedResponse
    origin: Origin | None
    intake: Intake
    overlapping: Container[int] = ()
    withheld: Mapping[str, str] = {}

    def drop(self, unit: str, reason: str) -> None:
        """Report that a unit, or something of it, cannot be used."""
        self.client.report.append(ReportEntry(unit, "dropped", reason))

    def members(self, part: Any, unit: str) -> dict[str, Any] | None:
        """Return what is taken of the ``ext`` of a unit that has one."""
        taken, named = self.intake.members(part.ext)
        if named:
            self.drop(unit, STORED_OBJECT)
        return taken

    def values(self, part: Any, unit: str, *, text_intact: bool) -> tuple[Opaque, ...]:
        """Return the values of a text or a call with values that are still good; none if its text changed."""
        kept = _intact(part.opaque) if text_intact else ()
        if len(kept) < len(part.opaque):
            self.drop(unit, "value_modified" if text_intact else "text_modified")
        return kept

    def reasoning(self, stretches: list[FoundUnit]) -> ReasoningPart:
        """Return a unit of reasoning, whose stretches may be spread over messages."""
        client = self.client
        name = altered = ""
        texts: list[str] = []
        segments: list[Segment] = []
        item_id: str | None = None
        status: Status = "complete"
        ext = None
        values: list[OpaqueRecord] = []
        for number, found in enumerate(stretches):
            unit = found.unit
            record: Any = unit.part
            seen, content, intact = client.thought(found)
            name = name if number else seen
            if content:
                texts.append(content)
            piece = _segments(unit, record, content) if intact else None
            if unit.stretch != number:
                altered = "part_missing"
            elif piece is None:
                altered = altered or "text_modified"
            segments += piece or ()
            item_id = item_id or record.item_id
            status, ext = record.status, record.ext
            values += record.opaque
        if altered:
            # Altered text is for display, without its signature; it is never sent back, because Claude
            # refuses thinking that was modified (anthropics/claude-code#63203).
            self.drop(name, altered)
            shown = tuple([Segment("text", 0, text) for text in texts])
            return ReasoningPart(shown, status="incomplete", origin=self.origin, seen=name)
        if len(values) > 1:  # of one kind, the latest counts
            values = [*{(value.kind, value.attach): value for value in values}.values()]
        kept = _intact(values) if values else ()
        ext = self.intake.members(ext)[0] if ext else None
        if len(kept) < len(values):
            self.drop(name, "value_modified")
        else:
            reason = "" if status == "complete" else "incomplete"
            client.report.append(ReportEntry(name, "restored", reason))
        return ReasoningPart(tuple(segments), kept, item_id or None, status, self.origin, ext, seen=name)

    def unrecorded(self, shown: Sequence[UnitRecord]) -> list[Part]:
        """Return parts without a record: a plain answer, or calls whose record was lost with its carrier.

        Args:
            shown: The units besides reasoning, whose messages are also those of the response.
        """
        client, response, origin = self.client, self.response, self.origin
        found: list[Part] = []
        spans = [span.message for one in response.units.values() for span in one.unit.spans] if shown else ()
        for name in (*response.messages, *spans):
            text = client.unclaimed(response, name)
            if text:
                found.append(TextPart(text, origin=origin, seen=name))
        for call_id in response.calls:
            call = client.call(response, call_id)
            if call is not None:
                found.append(ToolCallPart(call_id, call.name, call.arguments, origin=origin, seen=call_id))
        return found


def _segments(unit: UnitRecord, part: ReasoningRecord, content: str | None) -> list[Segment] | None:
    """Return the segments of a stretch; ``None`` if its boundaries do not fit the text."""
    if unit.sha256 is None:
        # The text is in the record if it was not shown, or if the message does not count.
        return [Segment(s.channel, s.index, s.text or "") for s in part.segments]
    if content is None or len(part.segments) != len(unit.lengths):
        return None
    cut, start, end = [], 0, -1
    for number, segment in enumerate(part.segments):  # `zip` takes longer
        end = start + unit.lengths[number]
        cut.append(Segment(segment.channel, segment.index, content[start:end]))
        start = end + _GAP
    return cut if end == len(content) else None


def _text(work: _Work, unit: UnitRecord, part: TextRecord) -> Part | None:
    seen = unit.spans[0].message if unit.spans else ""
    if unit.seq in work.overlapping:
        work.drop(seen, "spans_overlap")
        begun = work.client.begun(work.response, unit)
        return None if begun is None else TextPart(begun, status=part.status, origin=work.origin, seen=seen)
    found = work.client.text(work.response, unit, part.text)
    if found is None:
        return None
    text, intact = found
    named = seen if unit.spans else work.response.id
    opaque = work.values(part, named, text_intact=intact) if part.opaque else ()
    ext = work.members(part, seen) if part.ext else None
    return TextPart(text, opaque, part.status, work.origin, ext, seen=seen)


def _call(work: _Work, unit: UnitRecord, part: CallRecord) -> Part | None:
    call_id = unit.id or ""
    call = work.client.call(work.response, call_id)
    if call is None:
        return None
    if call_id in work.withheld and part.server:
        work.drop(call_id, work.withheld[call_id])
        # It stays, as a call that is not sent, so that the encoder knows what reasoning led to it.
        return ToolCallPart(
            call_id, call.name, server=True, status="incomplete", origin=work.origin, seen=call_id
        )
    arguments = call.arguments if part.arguments is None else part.arguments
    intact = unit.sha256 is None or digest(arguments) == unit.sha256
    ext = work.members(part, call_id) if part.ext else None
    ext = ext if part.id is None else {**(ext or {}), "native_id": part.id}
    opaque = work.values(part, call_id, text_intact=intact) if part.opaque else ()
    return ToolCallPart(
        call_id, call.name, arguments, part.server, opaque, part.status, work.origin, ext, seen=call_id
    )


def _result(work: _Work, unit: UnitRecord, part: ResultRecord) -> Part | None:
    content = work.client.result(unit, part)
    call_id = unit.id or ""
    if call_id in work.withheld:
        return None
    native = work.intake.result(part.native)
    ext = work.members(part, call_id) if part.ext else None
    return ToolResultPart(call_id, content, part.error, native, work.origin, ext, seen=unit.message or "")


def _native(work: _Work, unit: UnitRecord, part: NativeRecord) -> Part | None:
    api = work.origin.api if work.origin else None
    name = work.response.id
    typed = part.payload.get("type") if isinstance(part.payload, dict) else None
    allowed = part.name.startswith(native_kinds(api)) and not part.name.endswith(_FORBIDDEN)
    if not allowed or typed == _FORBIDDEN:
        work.drop(name, "native_kind")
        return None
    payload, reason = work.intake.native(part.name, part.payload)
    if reason:
        # It stays without its content, so that the encoder knows what reasoning led to it.
        work.drop(name, reason)
        return NativePart(part.name, None, work.origin, seen=name)
    return NativePart(part.name, payload, work.origin, seen=unit.message or "")


def _intact(records: Iterable[OpaqueRecord]) -> tuple[Opaque, ...]:
    """Return the values that nothing changed on the way."""
    return tuple([opaque for record in records if (opaque := record.opaque()) is not None])


_REBUILDERS: dict[type, Callable[[_Work, UnitRecord, Any], Part | None]] = {
    TextRecord: _text,
    CallRecord: _call,
    ResultRecord: _result,
    NativeRecord: _native,
}


def overlapping(units: Iterable[UnitRecord]) -> set[int]:
    """Return the numbers of the texts of one response whose spans overlap."""
    spans = [
        (span.message, span.start, span.length, unit.seq)
        for unit in units
        if type(unit.part) is TextRecord
        for span in unit.spans
        if span.length
    ]
    if len(spans) < 2:
        return set()
    spans.sort()
    found: set[int] = set()
    place, end, widest = "", 0, -1
    for message, start, length, seq in spans:
        if message == place and start < end:
            found |= {seq, widest}
        if message != place or start + length > end:
            place, end, widest = message, start + length, seq
    return found
