"""Writes envelopes: parts become records, and what is too large is spread over several values.

A table lists the fields to write of a part, by what the client sees of the unit. Fields that the table does
not list are not written. A value has whole units if they fit, otherwise slices.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from agui_reasoning._envelope import (
    CallRecord,
    Envelope,
    Fragment,
    NativeRecord,
    OpaqueRecord,
    PartRecord,
    ReasoningRecord,
    ResponsePlace,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    UnitRecord,
    digest,
)
from agui_reasoning._strict_json import MAX_NESTING, dump, load
from agui_reasoning.parts import NativePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

# -- parts as records

Exposure: TypeAlias = Literal["encrypted", "shown", "blank", "hidden"]
"""``encrypted``: the record is encrypted, and authoritative. ``shown``: the client sees the text. ``blank``:
the client does not see just the text, because it is only white space, or followed by an error. ``hidden``:
the client must not see the text, and there are no keys."""


class PlacedPart(Struct, frozen=True):
    """A part, with the way a client sees it; the fields are those of `UnitRecord`.

    Attributes:
        visible_text: The text as the client sees it.
        native_id: The provider's ID of a call, if the client knows another one.
    """

    seq: int
    part: Any
    exposure: Exposure
    visible_text: str = ""
    stretch: int = 0
    id: str | None = None
    native_id: str | None = None
    message: str | None = None
    spans: tuple[Span, ...] = ()
    after: tuple[int, ...] = ()
    shares: str | None = None

    def __repr__(self) -> str:
        """Omit the fields, as records do."""
        return f"{type(self).__name__}()"

    @property
    def opaque(self) -> tuple[OpaqueRecord, ...]:
        """The records of its opaque values."""
        if not self.part.opaque:
            return ()
        encrypted = self.exposure == "encrypted"
        return tuple([OpaqueRecord.of(opaque, encrypted=encrypted) for opaque in self.part.opaque])

    @property
    def ext(self) -> dict[str, Any] | None:
        """A copy of its ``ext``, unless that is empty."""
        return dict(self.part.ext) if self.part.ext else None

    @property
    def segments(self) -> tuple[SegmentRecord, ...]:
        """The records of its segments."""
        texts = WRITTEN[type(self.part), self.exposure].texts
        return tuple(
            [
                SegmentRecord(channel=one.channel, index=one.index, text=one.text if texts else None)
                for one in self.part.segments
            ]
        )

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of code points of each segment."""
        return tuple([len(segment.text) for segment in self.part.segments])

    @property
    def sha256(self) -> str:
        """The hash of its visible text."""
        return digest(self.visible_text)


@dataclass(frozen=True, slots=True)
class WrittenFields:
    """The fields to write of a unit and its part, and whether the part's segments are written with texts."""

    unit: str
    part: str = ""
    texts: bool = False


_REASONING = "item_id status opaque ext segments"
_CALL = "id server status opaque ext"

WRITTEN: Final[dict[tuple[type, Exposure], WrittenFields]] = {
    (ReasoningPart, "encrypted"): WrittenFields("seq stretch", _REASONING, texts=True),
    (ReasoningPart, "shown"): WrittenFields("seq stretch lengths sha256", _REASONING),
    (ReasoningPart, "blank"): WrittenFields("seq stretch", _REASONING, texts=True),
    (TextPart, "shown"): WrittenFields("seq spans sha256", "status opaque ext"),
    (TextPart, "blank"): WrittenFields("seq spans", "text status opaque ext"),
    (ToolCallPart, "encrypted"): WrittenFields("seq id after shares", f"{_CALL} arguments"),
    (ToolCallPart, "shown"): WrittenFields("seq id after shares sha256", _CALL),
    (ToolCallPart, "hidden"): WrittenFields("seq id", "server status"),
    (ToolResultPart, "encrypted"): WrittenFields("seq id message", "native ext content error"),
    (ToolResultPart, "shown"): WrittenFields("seq id message", "native ext"),
    (ToolResultPart, "blank"): WrittenFields("seq id message", "native ext content error"),
    (ToolResultPart, "hidden"): WrittenFields("seq id message"),
    (NativePart, "encrypted"): WrittenFields("seq", "name payload"),
    (NativePart, "shown"): WrittenFields("seq", "name payload"),
}
"""Without keys, visible text is never repeated, and neither hash nor length of hidden text is written."""


def unit_record(placed: PlacedPart) -> UnitRecord | None:
    """Return the record of a unit; ``None`` if nothing may be written about it."""
    known = _GETTERS.get((type(placed.part), placed.exposure))
    if known is None:
        return None
    record, of_part, of_unit, get = known
    values = iter(get(placed))
    part = record(**dict(zip(of_part, values, strict=False)))
    return UnitRecord(part=part, **dict(zip(of_unit, values, strict=False)))


_RECORDS: Final[Mapping[type, type[PartRecord]]] = {
    ReasoningPart: ReasoningRecord,
    TextPart: TextRecord,
    ToolCallPart: CallRecord,
    ToolResultPart: ResultRecord,
    NativePart: NativeRecord,
}
_PLACES: Final = {
    **{name: name for name in ("opaque", "ext", "segments")},
    "id": "native_id",
    "name": "part.kind",
}
"""Where a `PlacedPart` has the fields of a part's record, if not in the part."""


def _getters(part: type, fields: WrittenFields) -> _Getters:
    of_part, of_unit = fields.part.split(), fields.unit.split()
    places = [_PLACES.get(name, f"part.{name}") for name in of_part]
    return _RECORDS[part], of_part, of_unit, attrgetter(*places, *of_unit)


_Getters: TypeAlias = tuple[type[PartRecord], list[str], list[str], Callable[[Any], tuple[Any, ...]]]
"""The record of a part, the names of its fields and those of its unit, and what returns all of them."""

_GETTERS: Final[Mapping[tuple[type, Exposure], _Getters]] = {
    (part, exposure): _getters(part, fields) for (part, exposure), fields in WRITTEN.items()
}


# -- values

_PIECE_BYTES: Final = 196_608
"""Larger units are sliced, so that no value but the last is more than a fifth empty."""

_Carrier = TypeVar("_Carrier")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece that stays in one value.

    Attributes:
        field: The field of the envelope that takes it.
        values: The content of the field.
        size: Its size as JSON with separators, in bytes.
    """

    field: Literal["messages", "calls", "failed", "units", "fragments"]
    values: tuple[Any, ...]
    size: int


def pack(
    envelope: Envelope, carriers: Iterable[tuple[_Carrier, Sequence[UnitRecord]]], room: int
) -> list[tuple[_Carrier, Envelope]]:
    """Spread the content of an envelope over carriers.

    Args:
        envelope: The whole envelope.
        carriers: Possible carriers in order, each with the records it repeats. Only as many as needed are
            taken.
        room: The maximum size of an envelope as JSON, in bytes.

    Returns:
        An envelope for each carrier that got content.
    """
    waiting = deque(_pieces(envelope))
    place = replace(envelope.response, messages=(), calls=(), failed=())
    empty = _size(Envelope(origin=envelope.origin, response=place)) + 64
    packed: list[tuple[_Carrier, Envelope]] = []
    for carrier, own in carriers:
        left = room - empty - sum(map(_size, own))
        taken: list[_Piece] = []
        while waiting and waiting[0].size <= left:
            taken.append(waiting.popleft())
            left -= taken[-1].size
        if taken:
            packed.append((carrier, _envelope(envelope, place, own, taken)))
        if not waiting or not (taken or own):
            break
    return packed


def joined(fragments: Iterable[Fragment]) -> UnitRecord | None:
    """Return the unit that the slices form; ``None`` if they are incomplete or do not belong together."""
    slices = {fragment.index: fragment for fragment in fragments}
    counts = {fragment.count for fragment in slices.values()}
    if counts != {len(slices)} or set(slices) != set(range(len(slices))):
        return None
    try:
        data = b"".join(b64decode(slices[index].data, validate=True) for index in range(len(slices)))
        return convert(load(data.decode(), max_nesting=MAX_NESTING), UnitRecord)
    except ValueError:  # no base64, no UTF-8, or no unit
        return None


def _envelope(
    envelope: Envelope, place: ResponsePlace, own: Sequence[UnitRecord], taken: list[_Piece]
) -> Envelope:
    def values(field: str) -> tuple[Any, ...]:
        return tuple(value for piece in taken if piece.field == field for value in piece.values)

    place = replace(place, **{name: values(name) for name in ("messages", "calls", "failed")})
    units = (*own, *values("units"))
    return replace(envelope, response=place, units=units, fragments=values("fragments"))


def _pieces(envelope: Envelope) -> Iterator[_Piece]:
    for unit in envelope.units:
        text = _json(unit)
        if len(text) <= _PIECE_BYTES:
            yield _Piece("units", (unit,), len(text) + 1)
        else:
            yield from _slices(unit, text)
    yield from _names("messages", envelope.response.messages)
    yield from _names("calls", envelope.response.calls)
    yield from _names("failed", envelope.response.failed)


def _slices(unit: UnitRecord, text: bytes) -> Iterator[_Piece]:
    step = _PIECE_BYTES // 4 * 3
    starts = range(0, len(text), step)
    for index, start in enumerate(starts):
        fragment = Fragment(
            seq=unit.seq,
            stretch=unit.stretch,
            index=index,
            count=len(starts),
            data=b64encode(text[start : start + step]).decode(),
        )
        yield _Piece("fragments", (fragment,), _size(fragment) + 1)


def _names(field: Literal["messages", "calls", "failed"], names: Sequence[str]) -> Iterator[_Piece]:
    taken: list[str] = []
    size = 0
    for name in names:
        length = len(dump(name).encode()) + 1
        if taken and size + length > _PIECE_BYTES:
            yield _Piece(field, tuple(taken), size)
            taken, size = [], 0
        taken.append(name)
        size += length
    if taken:
        yield _Piece(field, tuple(taken), size)


def _json(record: Any) -> bytes:
    return dump(to_builtins(record)).encode()


def _size(record: Any) -> int:
    return len(_json(record))
