"""Spread an envelope over carriers: the room is used to the last byte, and not more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_reasoning._envelope.writing import _PIECE_BYTES, _size, pack
from tests.internals.envelopes import Envelope, ResponsePlace, reasoning_unit

NAMES = tuple(f"message-{number:04}" for number in range(4))


def packed(room: int, **names: Any) -> list[Envelope]:
    envelope = Envelope(response=ResponsePlace(id="one", **(names or {"messages": NAMES})))
    carriers = [(f"carrier {number}", ()) for number in range(3)]
    return [part for _, part in pack(envelope, carriers, room)]


@pytest.mark.parametrize("field", ["messages", "calls", "failed"])
def test_what_fits_exactly_is_taken(field: str) -> None:
    names = sum(len(json.dumps(name)) + 1 for name in NAMES)
    room = _size(Envelope(response=ResponsePlace(id="one"))) + 64 + names
    assert [getattr(part.response, field) for part in packed(room, **{field: NAMES})] == [NAMES]
    assert packed(room - 1, **{field: NAMES}) == []


def test_what_does_not_fit_is_in_the_next_value() -> None:
    fields = ("messages", "calls", "failed")
    names = sum(len(json.dumps(name)) + 1 for name in NAMES)
    room = _size(Envelope(response=ResponsePlace(id="one"))) + 64 + 2 * names - 1
    parts = packed(room, **dict.fromkeys(fields, NAMES))
    assert [[getattr(part.response, field) for field in fields] for part in parts] == [
        [NAMES, (), ()],
        [(), NAMES, ()],
        [(), (), NAMES],
    ]


def test_units_that_fit_exactly_are_taken_with_their_separators() -> None:
    units = tuple(reasoning_unit(number) for number in range(3))
    envelope = Envelope(response=ResponsePlace(id="one"), units=units)
    room = _size(Envelope(response=ResponsePlace(id="one"))) + 64 + sum(map(_size, units)) + len(units)
    for most, expected in [(room, [units]), (room - 1, [units[:2], units[2:]])]:
        found = pack(envelope, [(number, ()) for number in range(3)], most)
        assert [part.units for _, part in found] == expected


@pytest.mark.parametrize("field", ["messages", "calls", "failed"])
def test_many_names_are_pieces_of_limited_size(field: str) -> None:
    most = _PIECE_BYTES // 103  # with quotes and a comma
    names = tuple(f"{number:0100}" for number in range(2 * most))
    parts = packed(_PIECE_BYTES + 1_000, **{field: names})
    found = [getattr(part.response, field) for part in parts]
    assert [name for several in found for name in several] == list(names)
    assert list(map(len, found)) == [most, most]
