"""The units of a response while they are being built, and the changes that a delta makes to them.

What holds text has no ``repr`` of its own: a traceback that shows locals must not show it.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from agui_reasoning.deltas._operations import OpaqueDelta
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
)

__all__ = [
    "Answered",
    "Appeared",
    "CallUnit",
    "Change",
    "Ended",
    "Grew",
    "NativeUnit",
    "OpaqueBuffer",
    "ReasoningUnit",
    "ResponseBuffer",
    "ResponseEnded",
    "ResponseOpened",
    "ResultUnit",
    "Resumed",
    "SegmentBuffer",
    "TextUnit",
    "UnitBuffer",
    "Valued",
]


@dataclass(slots=True, eq=False, repr=False)
class OpaqueBuffer:
    """An opaque value under way; fragments are joined when it is read."""

    opaque: Opaque
    fragments: list[str]
    whole: bool

    def settled(self) -> Opaque:
        """The value as it stands, its fragments joined."""
        if len(self.fragments) == 1:
            return replace(self.opaque, value=self.fragments[0])
        return replace(self.opaque, value=_join(self.fragments, self.opaque.encoding))


def _join(fragments: list[str], encoding: str) -> str:
    """Join fragments; base64 ones as bytes, since each fragment may carry padding of its own."""
    if encoding != "base64":
        return "".join(fragments)
    try:
        joined = b"".join(base64.b64decode(fragment, validate=True) for fragment in fragments)
    except (binascii.Error, ValueError):
        return "".join(fragments)
    return base64.b64encode(joined).decode("ascii")


@dataclass(slots=True, eq=False, repr=False)
class UnitBuffer:
    """A unit of the response while it is being built.

    Attributes:
        seq: Its number in the response, from 0, in order of first presence.
        present: It has something to keep; until then it does not exist for anyone else.
        open: It has not ended.
        held: A high surrogate that waits for its other half.
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
        """The opaque values that can be trusted to be whole."""
        return tuple(value.settled() for value in self.values.values() if value.whole or not self.open)

    def part(self, origin: Origin | None) -> Part:
        """The settled value of the unit."""
        raise NotImplementedError


@dataclass(slots=True, eq=False, repr=False)
class SegmentBuffer:
    """A segment under way."""

    channel: Channel
    index: int
    pieces: list[str] = field(default_factory=list)

    def settled(self) -> Segment:
        """The segment as it stands."""
        return Segment(self.channel, self.index, "".join(self.pieces))


@dataclass(slots=True, eq=False, repr=False)
class ReasoningUnit(UnitBuffer):
    """A reasoning unit under way."""

    segments: list[SegmentBuffer] = field(default_factory=list)
    item_id: str | None = None
    stretch: int = 0
    """Where in ``segments`` the current stretch began: a unit that resumes starts another."""

    def part(self, origin: Origin | None) -> ReasoningPart:
        """The settled value of the unit."""
        segments = tuple(segment.settled() for segment in self.segments)
        return ReasoningPart(segments, self.opaque, self.item_id, self.status, origin, self.ext or None)


@dataclass(slots=True, eq=False, repr=False)
class TextUnit(UnitBuffer):
    """A text unit under way."""

    pieces: list[str] = field(default_factory=list)

    def part(self, origin: Origin | None) -> TextPart:
        """The settled value of the unit."""
        return TextPart("".join(self.pieces), self.opaque, self.status, origin, self.ext or None)


@dataclass(slots=True, eq=False, repr=False)
class CallUnit(UnitBuffer):
    """A tool call under way; its key is the provider's id."""

    name: str = ""
    server: bool = False
    pieces: list[str] = field(default_factory=list)

    def part(self, origin: Origin | None) -> ToolCallPart:
        """The settled value of the unit."""
        return ToolCallPart(
            self.key or "",
            self.name,
            "".join(self.pieces),
            self.server,
            self.opaque,
            self.status,
            origin,
            self.ext or None,
        )


@dataclass(slots=True, eq=False, repr=False)
class ResultUnit(UnitBuffer):
    """The result of a tool."""

    call_id: str = ""
    content: str = ""
    native: Any = None

    def part(self, origin: Origin | None) -> ToolResultPart:
        """The settled value of the unit."""
        return ToolResultPart(self.call_id, self.content, self.native, origin, self.ext or None)


@dataclass(slots=True, eq=False, repr=False)
class NativeUnit(UnitBuffer):
    """A block that goes back verbatim."""

    kind: str = ""
    payload: Any = None

    def part(self, origin: Origin | None) -> NativePart:
        """The settled value of the unit."""
        return NativePart(self.kind, self.payload, origin)


@dataclass(slots=True, eq=False, repr=False)
class ResponseBuffer:
    """One model response under way."""

    origin: Origin | None
    id: str | None = None
    units: list[UnitBuffer] = field(default_factory=list)
    finish_reason: str | None = None
    reasoning: dict[str | None, ReasoningUnit] = field(default_factory=dict)
    text: dict[str | None, TextUnit] = field(default_factory=dict)
    calls: dict[str, CallUnit] = field(default_factory=dict)
    waiting: list[OpaqueDelta] = field(default_factory=list)
    last: UnitBuffer | None = None
    """The unit the last delta went to: as long as it is the same, nothing else can end by itself."""

    def parts(self) -> list[Part]:
        """The settled values of its units, in order."""
        return [unit.part(self.origin) for unit in self.units]


@dataclass(frozen=True, slots=True)
class ResponseOpened:
    """A response began."""

    response: ResponseBuffer


@dataclass(frozen=True, slots=True)
class Appeared:
    """A unit became present."""

    unit: UnitBuffer


@dataclass(frozen=True, slots=True, repr=False)
class Grew:
    """Text was added to a unit; ``segment`` is the one of a reasoning unit it went to."""

    unit: UnitBuffer
    text: str
    segment: SegmentBuffer | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """A unit that had ended goes on."""

    unit: UnitBuffer


@dataclass(frozen=True, slots=True)
class Valued:
    """Something of a unit that is not text changed: a value, a status, or ``ext``."""

    unit: UnitBuffer


@dataclass(frozen=True, slots=True)
class Ended:
    """A unit ended."""

    unit: UnitBuffer


@dataclass(frozen=True, slots=True)
class ResponseEnded:
    """A response ended, and with it all its units."""

    response: ResponseBuffer


@dataclass(frozen=True, slots=True)
class Answered:
    """A tool that is not the provider's returned; this belongs to no response."""

    unit: ResultUnit


Change: TypeAlias = ResponseOpened | Appeared | Grew | Resumed | Valued | Ended | ResponseEnded | Answered
