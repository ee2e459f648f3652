"""Texts that models stream, cut into pieces."""

from __future__ import annotations

from itertools import islice
from typing import Final

__all__ = ["ASCII", "MIXED", "long_pieces", "pieces"]

ASCII: Final = (
    "The question is whether the harbour or the hill gets the rain first, and how long the gusts last. "
    'Compare both forecasts: "4.2 mm from 14:00" against "light showers".\nAt 14 m/s an umbrella breaks. '
)
MIXED: Final = (
    "Überprüfe zuerst die Vorhersage für Ålesund: «4,2 mm», dann die Böen. 结论是:带雨衣,不要带伞。 "
    "Am Nachmittag wird es kühler — 傘は風で壊れる, so a raincoat it is, naïvely put. "
)

_SHORT: Final = 6
_LONG: Final = 400


def pieces(count: int, text: str = ASCII, length: int = _SHORT) -> list[str]:
    """Return distinct string objects, each about as long as a token, that repeat a text."""
    source = text * (length // len(text) + 2)
    starts = (number * length % len(text) for number in range(count))
    return [source[start : start + length] for start in islice(starts, count)]


def long_pieces(count: int, text: str = ASCII) -> list[str]:
    """Return pieces as long as a paragraph."""
    return pieces(count, text, _LONG)
