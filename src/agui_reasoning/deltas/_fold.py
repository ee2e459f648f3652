"""Conversion between deltas and parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agui_reasoning.deltas._assembler import Assembler
from agui_reasoning.deltas._operations import (
    CloseDelta,
    Delta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.deltas._units import Answered, Change, ResponseEnded
from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

__all__ = ["fold", "unfold"]


def fold(deltas: Iterable[Delta]) -> list[Part]:
    """Combine deltas into parts, in order of first appearance.

    Open units count as complete. Only units closed with `CloseDelta` can be incomplete.

    Examples:
        >>> fold([ReasoningDelta("Hm, "), ReasoningDelta("yes."), TextDelta("Yes.")])
        [ReasoningPart(segments=(Segment(channel='text', index=0, text=<8>),)), TextPart(text=<4>)]
    """
    assembler = Assembler()
    parts: list[Part] = []
    for delta in deltas:
        _collect(assembler.receive(delta), parts)
    _collect(assembler.close(), parts)
    return parts


def _collect(changes: Iterable[Change], parts: list[Part]) -> None:
    for change in changes:
        if isinstance(change, ResponseEnded):
            parts.extend(change.response.parts())
        elif isinstance(change, Answered):
            parts.append(change.unit.part(None))


def unfold(parts: Iterable[Part]) -> list[Delta]:
    """Return deltas that fold into these parts, with a `ResponseStart` per origin.

    The parts belong to one response; a change of origin starts another response.
    """
    deltas: list[Delta] = []
    origin: object = ...
    for number, part in enumerate(parts):
        if part.origin != origin:
            origin = part.origin
            deltas.append(ResponseStart(part.origin))
        deltas.extend(deltas_of(part, f"part {number}"))
    return deltas


def deltas_of(part: Part, key: str) -> Iterator[Delta]:
    """Yield the deltas of one part. ``key`` names its unit, except for calls, whose key is their ID."""
    return _UNFOLD[type(part)](part, key)


def _reasoning(part: ReasoningPart, key: str) -> Iterator[Delta]:
    yield ReasoningDelta("", key=key, item_id=part.item_id, ext=part.ext)
    before = None
    for segment in part.segments:
        if (segment.channel, segment.index) == before:
            # A repeated segment means that reasoning resumed: close the previous stretch.
            yield CloseDelta(key=key)
        before = (segment.channel, segment.index)
        yield ReasoningDelta(segment.text, key=key, channel=segment.channel, index=segment.index)
    yield from (OpaqueDelta(opaque, key=key) for opaque in part.opaque)
    yield CloseDelta(key=key, status=part.status)


def _text(part: TextPart, key: str) -> Iterator[Delta]:
    yield TextDelta(part.text, key=key, ext=part.ext)
    yield from (OpaqueDelta(opaque, key=key) for opaque in part.opaque)
    yield CloseDelta(key=key, status=part.status)


def _call(part: ToolCallPart, key: str) -> Iterator[Delta]:
    yield ToolCallDelta(part.id, part.name, part.arguments, server=part.server, ext=part.ext)
    yield from (OpaqueDelta(opaque, key=part.id) for opaque in part.opaque)
    yield CloseDelta(key=part.id, status=part.status)


def _result(part: ToolResultPart, key: str) -> Iterator[Delta]:
    yield ToolResultDelta(part.tool_call_id, part.content, error=part.error, native=part.native, ext=part.ext)


def _native(part: NativePart, key: str) -> Iterator[Delta]:
    yield NativeDelta(part.kind, part.payload)


_UNFOLD: dict[type, Callable[[Any, str], Iterator[Delta]]] = {
    ReasoningPart: _reasoning,
    TextPart: _text,
    ToolCallPart: _call,
    ToolResultPart: _result,
    NativePart: _native,
}
