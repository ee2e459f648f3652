"""One response's parts, from its envelopes and from what the client shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.replay.history import ReportEntry
from agui_reasoning.replay.seen import Found, Response, Seen

__all__ = ["rebuild"]

NATIVE_KINDS = {
    "anthropic-messages": ("anthropic.",),
    "openai-responses": ("openai.",),
    "openai-chat": ("openrouter.",),
}
"""The native parts each API may get back; a reference to stored items never is one."""

_FORBIDDEN = "item_reference"


def rebuild(seen: Seen, response: Response) -> tuple[Turn, list[ReportEntry]]:
    """Give the turn of a response, and what became of its reasoning."""
    parts: dict[int, Part] = {}
    names: dict[int, str] = {}
    report: list[ReportEntry] = []
    for seq, stretches in groupby(sorted(response.reasoning.items()), key=lambda found: found[0][0]):
        parts[seq], entry = _reasoning(seen, response, [found for _, found in stretches])
        names[seq] = entry.unit
        report.append(entry)
    for seq, record in sorted(response.rest.items()):
        part = _REST[type(record)](seen, response, record, report)
        if part is not None and seq not in parts:
            parts[seq], names[seq] = part, _NAMES[type(record)](record)
    order = sorted(parts)
    unrecorded = list(_unrecorded(seen, response))
    return Turn(
        (*(parts[seq] for seq in order), *(part for part, _ in unrecorded)),
        response.origin,
        response.native_id,
        (*(names[seq] for seq in order), *(name for _, name in unrecorded)),
    ), report


def _unrecorded(seen: Seen, response: Response) -> Iterable[tuple[Part, str]]:
    """What the envelopes only name: a plain answer, or calls whose record was lost with its carrier."""
    shown = {span.message for r in response.rest.values() if isinstance(r, TextRecord) for span in r.at}
    for message_id in response.messages:
        text = seen.content(message_id, "assistant")
        if message_id not in shown and text:
            yield TextPart(text, origin=response.origin), message_id
    recorded = {record.id for record in response.rest.values() if isinstance(record, CallRecord)}
    for call_id in response.calls:
        call = seen.call(call_id)
        if call_id not in recorded and call is not None:
            yield ToolCallPart(call_id, *_function(call), origin=response.origin), call_id


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


def _text(seen: Seen, response: Response, record: TextRecord, report: list[ReportEntry]) -> Part | None:
    shown = _spans(seen, record)
    if shown is None:
        return None
    intact = record.sha256 is None or digest(shown) == record.sha256
    if not intact and record.opaque:
        report.append(ReportEntry(record.at[0].message, "dropped", "text_modified"))
    return TextPart(
        shown,
        _values(record.opaque) if intact else (),
        record.status,
        response.origin,
        record.ext,
    )


def _spans(seen: Seen, record: TextRecord) -> str | None:
    """The text as it is shown; an edited message is taken whole by the unit that began it."""
    if record.text is not None:
        return record.text
    texts = []
    for span in record.at:
        content = seen.content(span.message, "assistant")
        if content is None:
            return None
        texts.append(content[span.start : span.start + span.length])
    text = "".join(texts)
    if digest(text) == record.sha256 or not record.at:
        return text
    first = record.at[0]
    return seen.content(first.message, "assistant") if first.start == 0 else None


def _call(seen: Seen, response: Response, record: CallRecord, report: list[ReportEntry]) -> Part | None:
    call = seen.call(record.id)
    if call is None:
        return None
    name, shown = _function(call)
    arguments = shown if record.arguments is None else record.arguments
    intact = record.sha256 is None or digest(arguments) == record.sha256
    if not intact and record.opaque:
        report.append(ReportEntry(record.id, "dropped", "text_modified"))
    ext = record.ext if record.native_id is None else {**(record.ext or {}), "native_id": record.native_id}
    return ToolCallPart(
        record.id,
        name,
        arguments,
        record.server,
        _values(record.opaque) if intact else (),
        record.status,
        response.origin,
        ext,
    )


def _function(call: dict[str, Any]) -> tuple[str, str]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return str(function.get("name") or ""), str(function.get("arguments") or "")


def _result(seen: Seen, response: Response, record: ResultRecord, report: list[ReportEntry]) -> Part:
    content = record.content if record.content is not None else seen.content(record.message, "tool")
    if content is None:
        content = seen.answer(record.id)
    return ToolResultPart(record.id, content, record.native, response.origin, record.ext)


def _native(seen: Seen, response: Response, record: NativeRecord, report: list[ReportEntry]) -> Part | None:
    api = response.origin.api if response.origin else None
    if not record.name.startswith(NATIVE_KINDS.get(api or "", ())) or record.name.endswith(_FORBIDDEN):
        report.append(ReportEntry(response.id, "dropped", "native_kind"))
        return None
    if isinstance(record.payload, dict) and record.payload.get("type") == _FORBIDDEN:
        report.append(ReportEntry(response.id, "dropped", "native_kind"))
        return None
    return NativePart(record.name, record.payload, response.origin)


def _values(records: Iterable[OpaqueRecord]) -> tuple[Opaque, ...]:
    return tuple(record.opaque() for record in records)


_REST: dict[type, Callable[[Seen, Response, Any, list[ReportEntry]], Part | None]] = {
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
