"""Spread an envelope over carriers: the room is used to the last byte, and not more."""

from __future__ import annotations

import json

from agui_reasoning._envelope.writing import _size, pack
from tests.internals.envelopes import Envelope, ResponsePlace

NAMES = tuple(f"message-{number:04}" for number in range(4))


def packed(room: int) -> list[tuple[str, ...]]:
    envelope = Envelope(response=ResponsePlace(id="one", messages=NAMES))
    carriers = [(f"carrier {number}", ()) for number in range(3)]
    return [part.response.messages for _, part in pack(envelope, carriers, room)]


def test_what_fits_exactly_is_taken() -> None:
    names = sum(len(json.dumps(name)) + 1 for name in NAMES)
    room = _size(Envelope(response=ResponsePlace(id="one"))) + 64 + names
    assert packed(room) == [NAMES]
    assert packed(room - 1) == []
