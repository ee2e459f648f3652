"""Rebuilds the parts of a response from its envelopes and the client's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
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
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers.registry import native_kinds
from agui_reasoning.request._client_history import ClientHistory, Found, RecordedResponse
from agui_reasoning.request._client_view import ClientView, overlapping
from agui_reasoning.request._history import ReportEntry
from agui_reasoning.request._plain import STORED_OBJECT, Intake, intake_of

__all__ = ["rebuild"]

_FORBIDDEN = "item_reference"
"""References to stored items are never sent back."""


class _Work(Struct):
    """A response under reconstruction.

    Attributes:
        view: The client's messages and calls.
        overlapping: The texts whose spans overlap.
        intake: What is taken of its values.
        withheld: Why server tool calls are left out with their results, by call ID.
        report: The outcomes for the units.
    """

    response: RecordedResponse
    view: ClientView
    overlapping: set[int]
    intake: Intake
    withheld: dict[str, str]
    report: list[ReportEntry] = field(default_factory=list)

    @property
    def origin(self) -> Origin | None:
        """The producer of the response."""
        return self.response.origin

    def members(self, part: Any, unit: str) -> dict[str, Any] | None:
        """Return what is taken of the ``ext`` of a unit."""
        taken, named = self.intake.members(part.ext)
        if named:
            self.report.append(ReportEntry(unit, "dropped", STORED_OBJECT))
        return taken

    def values(self, part: Any, unit: str, *, text_intact: bool) -> tuple[Opaque, ...]:
        """Return the values of a text or a call that are still good; none if its text was changed."""
        kept = _intact(part.opaque) if text_intact else ()
        if len(kept) < len(part.opaque):
            reason = "value_modified" if text_intact else "text_modified"
            self.report.append(ReportEntry(unit, "dropped", reason))
        return kept


def rebuild(
    history: ClientHistory, response: RecordedResponse, view: ClientView, *, allow_file_ids: bool = False
) -> tuple[Turn, list[ReportEntry]]:
    """Return the turn of a response, and the outcomes for its reasoning."""
    units = [found.unit for found in response.units.values()]
    intake = intake_of(response.origin, authentic=response.authentic, allow_file_ids=allow_file_ids)
    overlaps = overlapping(u for u in units if isinstance(u.part, TextRecord))
    work = _Work(response, view, overlaps, intake, intake.withheld(units))
    parts: dict[int, Part] = {}
    others: list[UnitRecord] = []
    for seq, stretches in groupby(sorted(response.units.items()), key=lambda found: found[0][0]):
        founds = [found for _, found in stretches]
        thought = [found for found in founds if isinstance(found.unit.part, ReasoningRecord)]
        if thought:
            parts[seq], entry = _reasoning(history, work, thought)
            work.report.append(entry)
        else:
            others.append(founds[0].unit)
    work.report += (
        ReportEntry(str(history.messages[index].get("id")), "dropped", "part_missing")
        for (seq, _), index in response.torn.items()
        if seq not in parts
    )
    for unit in others:
        rebuilt = _REBUILDERS[type(unit.part)](work, unit, unit.part)
        if rebuilt is not None:
            parts[unit.seq] = rebuilt
    ordered = (*(parts[seq] for seq in sorted(parts)), *_unrecorded(work))
    turn = Turn(
        ordered,
        response.origin,
        response.native_id,
        refused=response.refused is not None,
        withheld=tuple(record.value() for record in response.withheld),
        prefix=response.prefix,
        conversation=response.conversation,
    )
    return turn, work.report


def _unrecorded(work: _Work) -> Iterator[Part]:
    """Yield parts without a record: a plain answer, or calls whose record was lost with its carrier."""
    for message_id, text in work.view.unclaimed(work.response):
        yield TextPart(text, origin=work.origin, seen=message_id)
    for call_id in work.response.calls:
        call = work.view.call(work.response, call_id)
        if call is not None:
            yield ToolCallPart(call_id, *_function(call), origin=work.origin, seen=call_id)


def _reasoning(
    history: ClientHistory, work: _Work, stretches: list[Found]
) -> tuple[ReasoningPart, ReportEntry]:
    places = [work.view.thought(work.response, found) for found in stretches]
    unit = str(history.messages[places[0][0]].get("id"))
    pieces = [_segments(found, content) for found, (_, content) in zip(stretches, places, strict=True)]
    texts = [content for _, content in places if content]
    if [found.unit.stretch for found in stretches] != list(range(len(stretches))):
        return _altered(work, texts, unit), ReportEntry(unit, "dropped", "part_missing")
    if any(piece is None for piece in pieces):
        return _altered(work, texts, unit), ReportEntry(unit, "dropped", "text_modified")
    records = [found.unit.part for found in stretches if isinstance(found.unit.part, ReasoningRecord)]
    last = records[-1]
    values = {(value.kind, value.attach): value for record in records for value in record.opaque}
    part = ReasoningPart(
        tuple(segment for piece in pieces for segment in piece or ()),
        _intact(values.values()),
        next((record.item_id for record in records if record.item_id), None),
        last.status,
        work.origin,
        work.intake.members(last.ext)[0],
        seen=unit,
    )
    if not all(value.intact for value in values.values()):
        return part, ReportEntry(unit, "dropped", "value_modified")
    return part, ReportEntry(unit, "restored", "" if part.status == "complete" else "incomplete")


def _altered(work: _Work, texts: list[str], unit: str) -> ReasoningPart:
    """Return altered text for display, without its signature; it is never sent back."""
    segments = tuple(Segment("text", 0, text) for text in texts)
    return ReasoningPart(segments, status="incomplete", origin=work.origin, seen=unit)


def _segments(found: Found, content: str | None) -> list[Segment] | None:
    """Return the segments of a stretch; ``None`` if the message shows altered text."""
    unit, part = found.unit, found.unit.part
    assert isinstance(part, ReasoningRecord)
    if unit.sha256 is None:
        # The text is in the record if it was not shown, or if the message does not count.
        return [Segment(s.channel, s.index, s.text or "") for s in part.segments]
    if content is None or digest(content) != unit.sha256:
        return None
    return _cut(unit, part, content)


def _cut(unit: UnitRecord, part: ReasoningRecord, content: str) -> list[Segment] | None:
    """Split the visible text at the recorded boundaries."""
    if len(part.segments) != len(unit.lengths):
        return None
    cut, start = [], 0
    for segment, length in zip(part.segments, unit.lengths, strict=True):
        cut.append(Segment(segment.channel, segment.index, content[start : start + length]))
        start += length + len(SEGMENT_SEPARATOR)
    return cut if start - len(SEGMENT_SEPARATOR) == len(content) else None


def _text(work: _Work, unit: UnitRecord, part: TextRecord) -> Part | None:
    if unit.seq in work.overlapping:
        work.report.append(ReportEntry(unit.spans[0].message, "dropped", "spans_overlap"))
        begun = work.view.begun(work.response, unit)
        if begun is None:
            return None
        return TextPart(begun, status=part.status, origin=work.origin, seen=_name(unit))
    text, intact = work.view.text(work.response, unit, part.text) or (None, True)
    if text is None:
        return None
    name = unit.spans[0].message if unit.spans else work.response.id
    return TextPart(
        text,
        work.values(part, name, text_intact=intact),
        part.status,
        work.origin,
        work.members(part, _name(unit)),
        seen=_name(unit),
    )


def _call(work: _Work, unit: UnitRecord, part: CallRecord) -> Part | None:
    call_id = unit.id or ""
    call = work.view.call(work.response, call_id)
    if call is None:
        return None
    name, visible_arguments = _function(call)
    if call_id in work.withheld and part.server:
        work.report.append(ReportEntry(call_id, "dropped", work.withheld[call_id]))
        # It stays, as a call that is not sent, so that the encoder knows what reasoning led to it.
        return ToolCallPart(call_id, name, server=True, status="incomplete", origin=work.origin, seen=call_id)
    arguments = visible_arguments if part.arguments is None else part.arguments
    intact = unit.sha256 is None or digest(arguments) == unit.sha256
    ext = work.members(part, call_id)
    ext = ext if part.id is None else {**(ext or {}), "native_id": part.id}
    return ToolCallPart(
        call_id,
        name,
        arguments,
        part.server,
        work.values(part, call_id, text_intact=intact),
        part.status,
        work.origin,
        ext,
        seen=call_id,
    )


def _function(call: dict[str, Any]) -> tuple[str, str]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return str(function.get("name") or ""), str(function.get("arguments") or "")


def _result(work: _Work, unit: UnitRecord, part: ResultRecord) -> Part | None:
    content = work.view.result(unit, part)
    call_id = unit.id or ""
    if call_id in work.withheld:
        return None
    native = work.intake.result(part.native)
    ext = work.members(part, call_id)
    return ToolResultPart(call_id, content, part.error, native, work.origin, ext, seen=_name(unit))


def _native(work: _Work, unit: UnitRecord, part: NativeRecord) -> Part | None:
    api = work.origin.api if work.origin else None
    typed = part.payload.get("type") if isinstance(part.payload, dict) else None
    allowed = part.name.startswith(native_kinds(api)) and not part.name.endswith(_FORBIDDEN)
    if not allowed or typed == _FORBIDDEN:
        work.report.append(ReportEntry(work.response.id, "dropped", "native_kind"))
        return None
    payload, reason = work.intake.native(part.name, part.payload)
    if reason:
        # It stays without its content, so that the encoder knows what reasoning led to it.
        work.report.append(ReportEntry(work.response.id, "dropped", reason))
        return NativePart(part.name, None, work.origin, seen=work.response.id)
    return NativePart(part.name, payload, work.origin, seen=_name(unit))


def _intact(records: Iterable[OpaqueRecord]) -> tuple[Opaque, ...]:
    """Return the values that nothing changed on the way."""
    return tuple(record.opaque() for record in records if record.intact)


def _name(unit: UnitRecord) -> str:
    """Return the message or call ID under which the client sees a unit that is not reasoning."""
    if isinstance(unit.part, TextRecord):
        return unit.spans[0].message if unit.spans else ""
    return (unit.id if isinstance(unit.part, CallRecord) else unit.message) or ""


_REBUILDERS: dict[type, Callable[[_Work, UnitRecord, Any], Part | None]] = {
    TextRecord: _text,
    CallRecord: _call,
    ResultRecord: _result,
    NativeRecord: _native,
}
