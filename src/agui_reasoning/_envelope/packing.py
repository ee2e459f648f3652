"""Spreads envelopes that are too large over several values: whole units if they fit, otherwise slices."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from msgspec import convert, to_builtins
from msgspec.structs import replace

from agui_reasoning._envelope.records import Envelope, Fragment, ResponsePlace, UnitRecord
from agui_reasoning._strict_json import MAX_NESTING, dump, load

__all__ = ["joined", "pack"]

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
