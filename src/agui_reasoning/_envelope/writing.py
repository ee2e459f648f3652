"""Writes envelopes: parts become records, and what is too large is spread over several values.

What is written of a part depends on what the client sees of the unit. A value has whole units if they fit,
otherwise slices.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from agui_reasoning._envelope import (
    CallRecord,
    Envelope,
    Fragment,
    NativeRecord,
    OpaqueRecord,
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
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

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
    part: Part
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


def unit_record(placed: PlacedPart) -> UnitRecord | None:
    """Return the record of a unit; ``None`` if nothing may be written about it."""
    write = WRITTEN.get((type(placed.part), placed.exposure))
    return None if write is None else write(placed, placed.part)


def _reasoning(placed: PlacedPart, part: ReasoningPart) -> UnitRecord:
    is_shown, segments = placed.exposure == "shown", part.segments
    written = [
        SegmentRecord(channel=one.channel, index=one.index, text=None if is_shown else one.text)
        for one in segments
    ]
    return UnitRecord(
        seq=placed.seq,
        stretch=placed.stretch,
        lengths=tuple([len(one.text) for one in segments]) if is_shown else (),
        sha256=digest(placed.visible_text) if is_shown else None,
        part=ReasoningRecord(
            item_id=part.item_id,
            status=part.status,
            opaque=_opaque(placed, part.opaque) if part.opaque else (),
            ext=dict(part.ext) if part.ext else None,
            segments=tuple(written),
        ),
    )


def _text(placed: PlacedPart, part: TextPart) -> UnitRecord:
    is_shown = placed.exposure == "shown"
    return UnitRecord(
        seq=placed.seq,
        spans=placed.spans,
        sha256=digest(placed.visible_text) if is_shown else None,
        part=TextRecord(
            text=None if is_shown else part.text,
            status=part.status,
            opaque=_opaque(placed, part.opaque),
            ext=dict(part.ext) if part.ext else None,
        ),
    )


def _call(placed: PlacedPart, part: ToolCallPart) -> UnitRecord:
    if placed.exposure == "hidden":
        record = CallRecord(server=part.server, status=part.status)
        return UnitRecord(seq=placed.seq, id=placed.id, part=record)
    is_shown = placed.exposure == "shown"
    return UnitRecord(
        seq=placed.seq,
        id=placed.id,
        after=placed.after,
        shares=placed.shares,
        sha256=digest(placed.visible_text) if is_shown else None,
        part=CallRecord(
            id=placed.native_id,
            server=part.server,
            status=part.status,
            opaque=_opaque(placed, part.opaque),
            ext=dict(part.ext) if part.ext else None,
            arguments=None if is_shown else part.arguments,
        ),
    )


def _result(placed: PlacedPart, part: ToolResultPart) -> UnitRecord:
    record = ResultRecord()
    if placed.exposure != "hidden":
        record = ResultRecord(native=part.native, ext=dict(part.ext) if part.ext else None)
    if placed.exposure in ("encrypted", "blank"):
        record = replace(record, content=part.content, error=part.error)
    return UnitRecord(seq=placed.seq, id=placed.id, message=placed.message, part=record)


def _native(placed: PlacedPart, part: NativePart) -> UnitRecord:
    return UnitRecord(seq=placed.seq, part=NativeRecord(name=part.kind, payload=part.payload))


def _opaque(placed: PlacedPart, opaque: Iterable[Opaque]) -> tuple[OpaqueRecord, ...]:
    encrypted = placed.exposure == "encrypted"
    return tuple([OpaqueRecord.of(one, encrypted=encrypted) for one in opaque])


WRITTEN: Final[Mapping[tuple[type, str], Callable[[PlacedPart, Any], UnitRecord]]] = {
    (part, exposure): write
    for part, write, exposures in (
        (ReasoningPart, _reasoning, ("encrypted", "shown", "blank")),
        (TextPart, _text, ("shown", "blank")),
        (ToolCallPart, _call, ("encrypted", "shown", "hidden")),
        (ToolResultPart, _result, ("encrypted", "shown", "blank", "hidden")),
        (NativePart, _native, ("encrypted", "shown")),
    )
    for exposure in exposures
}
"""What writes a unit. Nothing is written of those that are not listed.

Without keys, visible text is never repeated, and neither hash nor length of hidden text is written.
"""


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
