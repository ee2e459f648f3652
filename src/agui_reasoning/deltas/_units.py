"""Units under construction, and the changes that deltas make to them.

Classes that hold text show none of it in their ``repr``, so that tracebacks with local variables do not.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from agui_reasoning.parts import (
    Channel,
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
    WithheldUnit,
)

if TYPE_CHECKING:
    from agui_reasoning.deltas._operations import OpaqueDelta


class Unshown(Struct, gc=False):
    """A value whose ``repr`` shows no content. Dataclasses take several times as long to make.

    The garbage collector, which would visit those of all open runs, does not know them: no type of them may
    refer to itself, through whatever others.
    """

    __repr__ = object.__repr__


class OpaqueBuffer(Unshown, eq=False):
    """An opaque value under construction; fragments are joined when it is read."""

    opaque: Opaque
    fragments: list[str]
    whole: bool

    def settled(self) -> Opaque:
        """Return the current value with its fragments joined."""
        return replace(self.opaque, value=_join(self.fragments, self.opaque.encoding))


def _join(fragments: list[str], encoding: str) -> str:
    """Join fragments; base64 fragments are joined as bytes, since each may have its own padding."""
    if len(fragments) == 1 or encoding != "base64":
        return "".join(fragments)
    try:
        joined = b"".join(base64.b64decode(fragment, validate=True) for fragment in fragments)
    except (binascii.Error, ValueError):
        return "".join(fragments)
    return base64.b64encode(joined).decode("ascii")


class UnitBuffer(Unshown, eq=False):
    """A unit under construction.

    Attributes:
        seq: The index in the response, from 0, in order of appearance.
        present: Whether it has content; until then it is not reported.
        open: Whether it has not ended.
        held: A high surrogate that waits for its low surrogate.
    """

    key: str | None
    seq: int = -1
    present: bool = False
    open: bool = True
    status: Status = "complete"
    ext: dict[str, Any] = field(default_factory=dict)
    values: dict[tuple[str, str], OpaqueBuffer] = field(default_factory=dict)
    held: str = ""

    @property
    def opaque(self) -> tuple[Opaque, ...]:
        """The opaque values that are known to be complete."""
        if not self.values:
            return ()
        return tuple([value.settled() for value in self.values.values() if value.whole or not self.open])

    def part(self, origin: Origin | None) -> Part:
        """Return the unit as a part."""
        raise NotImplementedError


class SegmentBuffer(Unshown, eq=False):
    """A segment under construction."""

    channel: Channel
    index: int
    pieces: list[str] = field(default_factory=list)

    def settled(self) -> Segment:
        """Return the current segment."""
        return Segment(self.channel, self.index, "".join(self.pieces))


class ReasoningUnit(UnitBuffer, eq=False):
    """A reasoning unit under construction."""

    segments: list[SegmentBuffer] = field(default_factory=list)
    item_id: str | None = None
    stretch: int = 0
    """The index in ``segments`` of the current stretch; a unit that resumes starts a new one."""

    @property
    def says_nothing(self) -> bool:
        """Whether it says no more than that the model did not think: no text, no value and no ID so far."""
        return not (self.segments or self.values or self.item_id)

    def part(self, origin: Origin | None) -> ReasoningPart:
        return self.part_of(self.segments, origin)

    def part_of(self, segments: list[SegmentBuffer], origin: Origin | None) -> ReasoningPart:
        """Return some of its segments as a part."""
        settled = tuple([segment.settled() for segment in segments])
        return ReasoningPart(settled, self.opaque, self.item_id, self.status, origin, self.ext or None)


class TextUnit(UnitBuffer, eq=False):
    """A text unit under construction."""

    pieces: list[str] = field(default_factory=list)

    def part(self, origin: Origin | None) -> TextPart:
        return TextPart("".join(self.pieces), self.opaque, self.status, origin, self.ext or None)


class CallUnit(UnitBuffer, eq=False):
    """A tool call under construction; its key is the provider's ID."""

    name: str = ""
    server: bool = False
    pieces: list[str] = field(default_factory=list)

    def part(self, origin: Origin | None) -> ToolCallPart:
        key, arguments, ext = self.key or "", "".join(self.pieces), self.ext or None
        return ToolCallPart(key, self.name, arguments, self.server, self.opaque, self.status, origin, ext)


class ResultUnit(UnitBuffer, eq=False):
    """The result of a tool."""

    call_id: str = ""
    content: str | list[Any] = ""
    error: str | None = None
    native: Any = None

    def part(self, origin: Origin | None) -> ToolResultPart:
        return ToolResultPart(self.call_id, self.content, self.error, self.native, origin, self.ext or None)


class NativeUnit(UnitBuffer, eq=False):
    """A block that is returned verbatim."""

    kind: str = ""
    payload: Any = None

    def part(self, origin: Origin | None) -> NativePart:
        return NativePart(self.kind, self.payload, origin)


class ResponseBuffer(Unshown, eq=False):
    """A model response under construction."""

    origin: Origin | None
    id: str | None = None
    conversation: str | None = None
    units: list[UnitBuffer] = field(default_factory=list)
    finish_reason: str | None = None
    finish_details: Mapping[str, Any] | None = None
    refused: bool = False
    withheld: tuple[WithheldUnit, ...] = ()
    reasoning: dict[str | None, ReasoningUnit] = field(default_factory=dict)
    text: dict[str | None, TextUnit] = field(default_factory=dict)
    calls: dict[str, CallUnit] = field(default_factory=dict)
    waiting: list[OpaqueDelta] = field(default_factory=list)
    last: UnitBuffer | None = None
    """The unit of the last delta; other units end implicitly only when it changes."""

    def parts(self) -> list[Part]:
        """Return the units as parts, in order."""
        return [unit.part(self.origin) for unit in self.units]


class ResponseOpened(Struct, frozen=True):
    """A response started."""

    response: ResponseBuffer


class _Change(Struct, frozen=True):
    unit: UnitBuffer


class Appeared(_Change, frozen=True):
    """A unit became present."""


class Grew(Unshown):
    """Text was added to ``pieces`` of a unit; ``segment`` is the segment if it is a reasoning unit."""

    unit: UnitBuffer
    text: str
    pieces: list[str]
    segment: SegmentBuffer | None = None


class Resumed(_Change, frozen=True):
    """A unit that had ended resumed."""


class Valued(_Change, frozen=True):
    """A value, the status or ``ext`` of a unit changed."""


class Ended(_Change, frozen=True):
    """A unit ended."""


class ResponseEnded(Struct, frozen=True):
    """A response and all its units ended."""

    response: ResponseBuffer


class Answered(Struct, frozen=True):
    """A client or agent tool returned a result, which belongs to no response."""

    unit: ResultUnit


Change: TypeAlias = ResponseOpened | Appeared | Grew | Resumed | Valued | Ended | ResponseEnded | Answered
