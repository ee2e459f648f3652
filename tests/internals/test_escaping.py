"""Test what makes text safe to show on a terminal and in the log of a runner."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest

from agui_reasoning._escaping import Escaper, escaped, one_line
from tests.unit.cli.test_hostile import ATTACK


@pytest.mark.parametrize("kept", ["\n\t", ""])
def test_every_character_that_controls_or_hides_is_escaped(kept: str) -> None:
    escape = escaped if kept else one_line
    categories = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char) in categories and char not in kept:
            assert json.loads(f'"{escape(char)}"') == char
            assert escape(char).isascii()


def test_other_characters_stay() -> None:
    shown = "Grüße, 東京 \u00a0 ❤\ufe0f \U0001f327 العربية a::b # ## [x] : :"
    assert escaped(shown) == one_line(shown) == shown


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_are_escaped_like_the_whole(size: int) -> None:
    pieces = [ATTACK[at : at + size] for at in range(0, len(ATTACK), size)]
    assert "".join(map(Escaper().feed, pieces)) == escaped(ATTACK)
