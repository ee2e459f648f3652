"""Test JSON that takes lone surrogates, and nothing that could not be written again."""

from __future__ import annotations

import pytest

from agui_reasoning._strict_json import MAX_NESTING, Malformed, dump, load, well_formed


@pytest.mark.parametrize("text", ['"\ud800"', '{"\udc00": "half \ud83d"}', '["\\ud83d"]'])
def test_lone_surrogates_are_read_and_written(text: str) -> None:
    value = load(text)
    assert not isinstance(value, Malformed)
    assert load(dump(value)) == value


@pytest.mark.parametrize(
    "text", ["1e999", "-1e999", "[1e400]", '{"a": 1.0E+309}', "1" * 5_000, "0.1e9999", "NaN", "[Infinity]"]
)
def test_a_number_that_cannot_be_written_again_is_malformed(text: str) -> None:
    assert isinstance(load(text), Malformed)


@pytest.mark.parametrize("text", ["1e308", "[1e-400]", '{"a": ":1e999"}', "12345678901234567890"])
def test_other_numbers_are_read(text: str) -> None:
    assert dump(load(text))


def test_nesting_is_limited_where_it_is_asked_for() -> None:
    for depth in (MAX_NESTING, MAX_NESTING + 1, 900):
        text = "[" * depth + "]" * depth
        assert not isinstance(load(text), Malformed)
        assert isinstance(load(text, max_nesting=MAX_NESTING), Malformed) == (depth > MAX_NESTING)
    assert load("[[]]", max_nesting=2) == [[]]
    assert isinstance(load("[[[]]]", max_nesting=2), Malformed)
    assert isinstance(load("[" * 100_000), Malformed)


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert well_formed({"a\ud800": ["\ud83d" + "\ude00", 1, None]}) == {"a\ufffd": ["\U0001f600", 1, None]}
