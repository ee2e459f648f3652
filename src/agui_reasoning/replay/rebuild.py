"""One response's parts, from its envelopes and from what the client shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from agui_reasoning.envelope import (
    CallRecord,
    NativeRecord,
    OpaqueRecord,
    ReasoningRecord,
    ResultRecord,
    TextRecord,
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
from agui_reasoning.replay.history import ReportEntry
from agui_reasoning.replay.seen import Found, Response, Seen
from agui_reasoning.replay.shown import Shown, overlapping

__all__ = ["rebuild"]

_FORBIDDEN = "item_reference"
"""A reference to stored items never goes back."""


@dataclass(slots=True)
class _Work:
    """One response on its way back.

    Attributes:
        shown: What the client shows.
        overlapping: Its texts whose spans overlap.
        report: What became of its units.
    """

    response: Response
    shown: Shown
    overlapping: set[int]
    report: list[ReportEntry] = field(default_factory=list)

    @property
    def origin(self) -> Origin | None:
        """Who produced it."""
        return self.response.origin


def rebuild(seen: Seen, response: Response, shown: Shown) -> tuple[Turn, list[ReportEntry]]:
    """Give the turn of a response, and what became of its reasoning."""
    texts = (record for record in response.rest.values() if isinstance(record, TextRecord))
    work = _Work(response, shown, overlapping(texts))
    parts: dict[int, Part] = {}
    names: dict[int, str] = {}
    for seq, stretches in groupby(sorted(response.reasoning.items()), key=lambda found: found[0][0]):
        parts[seq], entry = _reasoning(seen, response, [found for _, found in stretches])
        names[seq] = entry.unit
        work.report.append(entry)
    for seq, record in sorted(response.rest.items()):
        part = None if seq in parts else _REST[type(record)](work, record)
        if part is not None:
            parts[seq], names[seq] = part, _NAMES[type(record)](record)
    order = sorted(parts)
    unrecorded = list(_unrecorded(work))
    return Turn(
        (*(parts[seq] for seq in order), *(part for part, _ in unrecorded)),
        response.origin,
        response.native_id,
        (*(names[seq] for seq in order), *(name for _, name in unrecorded)),
    ), work.report


def _unrecorded(work: _Work) -> Iterator[tuple[Part, str]]:
    """What the envelopes only name: a plain answer, or calls whose record was lost with its carrier."""
    for message_id, text in work.shown.rest(work.response):
        yield TextPart(text, origin=work.origin), message_id
    for call_id in work.response.calls:
        call = work.shown.call(work.response, call_id)
        if call is not None:
            yield ToolCallPart(call_id, *_function(call), origin=work.origin), call_id


def _reasoning(seen: Seen, response: Response, stretches: list[Found]) -> tuple[ReasoningPart, ReportEntry]:
    shown = [seen.text(found.index) for found in stretches]
    unit = str(seen.messages[stretches[0].index].get("id"))
    pieces = [_segments(found, text) for found, text in zip(stretches, shown, strict=True)]
    if [found.record.stretch for found in stretches] != list(range(len(stretches))):
        return _altered(response, shown), ReportEntry(unit, "dropped", "part_missing")
    if any(piece is None for piece in pieces):
        return _altered(response, shown), ReportEntry(unit, "dropped", "text_modified")
    records = [found.record for found in stretches]
    last = records[-1]
    part = ReasoningPart(
        tuple(segment for piece in pieces for segment in piece or ()),
        _opaques(records),
        next((record.item_id for record in records if record.item_id), None),
        last.status,
        response.origin,
        last.ext,
    )
    return part, ReportEntry(unit, "restored", "" if part.status == "complete" else "incomplete")


def _altered(response: Response, shown: list[str]) -> ReasoningPart:
    """Text that is not what was sent stays for people, without what was signed, and is never sent back."""
    segments = tuple(Segment("text", 0, text) for text in shown if text)
    return ReasoningPart(segments, status="incomplete", origin=response.origin)


def _segments(found: Found, content: str) -> list[Segment] | None:
    """The text of a stretch; ``None`` when what is shown is not the text that was sent."""
    record = found.record
    if record.sha256 is None:
        # Nothing was shown, or what is shown does not count: the text is in the record.
        kept = [Segment(s.channel, s.index, s.text or "") for s in record.segments]
        return kept if found.sealed or not content.strip() else None
    return _cut(record, content) if digest(content) == record.sha256 else None


def _cut(record: ReasoningRecord, content: str) -> list[Segment] | None:
    """Cut the shown text at the recorded boundaries."""
    cut, start = [], 0
    for segment in record.segments:
        cut.append(Segment(segment.channel, segment.index, content[start : start + segment.length]))
        start += segment.length + len(SEGMENT_SEPARATOR)
    return cut if start - len(SEGMENT_SEPARATOR) == len(content) else None


def _opaques(records: Iterable[ReasoningRecord]) -> tuple[Opaque, ...]:
    """The values of all stretches of a unit; a later one of the same kind replaces the earlier."""
    values = {(o.kind, o.attach): o.opaque() for record in records for o in record.opaque}
    return tuple(values.values())


def _text(work: _Work, record: TextRecord) -> Part | None:
    if record.seq in work.overlapping:
        work.report.append(ReportEntry(record.at[0].message, "dropped", "spans_overlap"))
        begun = work.shown.begun(work.response, record)
        return None if begun is None else TextPart(begun, status=record.status, origin=work.origin)
    text, intact = work.shown.text(work.response, record) or (None, True)
    if text is None:
        return None
    if not intact and record.opaque:
        name = record.at[0].message if record.at else work.response.id
        work.report.append(ReportEntry(name, "dropped", "text_modified"))
    return TextPart(
        text,
        _values(record.opaque) if intact else (),
        record.status,
        work.origin,
        record.ext,
    )


def _call(work: _Work, record: CallRecord) -> Part | None:
    call = work.shown.call(work.response, record.id)
    if call is None:
        return None
    name, shown = _function(call)
    arguments = shown if record.arguments is None else record.arguments
    intact = record.sha256 is None or digest(arguments) == record.sha256
    if not intact and record.opaque:
        work.report.append(ReportEntry(record.id, "dropped", "text_modified"))
    ext = record.ext if record.native_id is None else {**(record.ext or {}), "native_id": record.native_id}
    return ToolCallPart(
        record.id,
        name,
        arguments,
        record.server,
        _values(record.opaque) if intact else (),
        record.status,
        work.origin,
        ext,
    )


def _function(call: dict[str, Any]) -> tuple[str, str]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return str(function.get("name") or ""), str(function.get("arguments") or "")


def _result(work: _Work, record: ResultRecord) -> Part:
    return ToolResultPart(record.id, work.shown.result(record), record.native, work.origin, record.ext)


def _native(work: _Work, record: NativeRecord) -> Part | None:
    api = work.origin.api if work.origin else None
    typed = record.payload.get("type") if isinstance(record.payload, dict) else None
    allowed = record.name.startswith(native_kinds(api)) and not record.name.endswith(_FORBIDDEN)
    if not allowed or typed == _FORBIDDEN:
        work.report.append(ReportEntry(work.response.id, "dropped", "native_kind"))
        return None
    return NativePart(record.name, record.payload, work.origin)


def _values(records: Iterable[OpaqueRecord]) -> tuple[Opaque, ...]:
    return tuple(record.opaque() for record in records)


_REST: dict[type, Callable[[_Work, Any], Part | None]] = {
    TextRecord: _text,
    CallRecord: _call,
    ResultRecord: _result,
    NativeRecord: _native,
}
_NAMES: dict[type, Callable[[Any], str]] = {
    TextRecord: lambda record: record.at[0].message if record.at else "",
    CallRecord: lambda record: str(record.id),
    ResultRecord: lambda record: str(record.message),
    NativeRecord: lambda record: "",
}
