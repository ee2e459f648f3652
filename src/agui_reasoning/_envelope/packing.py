"""What is too large for one value, spread over several: whole units where they fit, else slices."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from agui_reasoning._envelope.records import Envelope, Fragment, ResponsePlace, UnitRecord
from agui_reasoning._strict_json import MAX_NESTING, dump, load

__all__ = ["joined", "pack"]

_PIECE_BYTES: Final = 196_608
"""What is larger is cut: so a value has never more than a fifth of it empty, before the last."""

_Carrier = TypeVar("_Carrier")


@dataclass(frozen=True, slots=True)
class _Piece:
    """What stays together.

    Attributes:
        field: Where in an envelope it goes.
        values: What goes there.
        size: Bytes of it as JSON, and of what separates it from others.
    """

    field: Literal["messages", "calls", "units", "fragments"]
    values: tuple[Any, ...]
    size: int


def pack(
    envelope: Envelope, carriers: Iterable[tuple[_Carrier, Sequence[UnitRecord]]], room: int
) -> list[tuple[_Carrier, Envelope]]:
    """Spread what an envelope says.

    Args:
        envelope: Everything.
        carriers: Who may carry it, in order, each with what it says anyway. As many are taken as are needed.
        room: Bytes that an envelope may have as JSON.

    Returns:
        An envelope for each carrier that got anything.
    """
    waiting = deque(_pieces(envelope))
    place = envelope.response.model_copy(update={"messages": (), "calls": ()})
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
    """The unit whose slices these are; ``None`` when one is missing or they are not of one unit."""
    slices = {fragment.index: fragment for fragment in fragments}
    counts = {fragment.count for fragment in slices.values()}
    if counts != {len(slices)} or set(slices) != set(range(len(slices))):
        return None
    try:
        data = b"".join(b64decode(slices[index].data, validate=True) for index in range(len(slices)))
        return UnitRecord.model_validate(load(data.decode(), max_nesting=MAX_NESTING))
    except ValueError:  # no base64, no UTF-8, or no unit
        return None


def _envelope(
    envelope: Envelope, place: ResponsePlace, own: Sequence[UnitRecord], taken: list[_Piece]
) -> Envelope:
    def values(field: str) -> tuple[Any, ...]:
        return tuple(value for piece in taken if piece.field == field for value in piece.values)

    place = place.model_copy(update={"messages": values("messages"), "calls": values("calls")})
    units = (*own, *values("units"))
    return envelope.model_copy(update={"response": place, "units": units, "fragments": values("fragments")})


def _pieces(envelope: Envelope) -> Iterator[_Piece]:
    for unit in envelope.units:
        text = _json(unit)
        if len(text) <= _PIECE_BYTES:
            yield _Piece("units", (unit,), len(text) + 1)
        else:
            yield from _slices(unit, text)
    yield from _names("messages", envelope.response.messages)
    yield from _names("calls", envelope.response.calls)


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


def _names(field: Literal["messages", "calls"], names: Sequence[str]) -> Iterator[_Piece]:
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
    return dump(record.model_dump(exclude_defaults=True)).encode()


def _size(record: Any) -> int:
    return len(_json(record))
