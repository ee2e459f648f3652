"""Test base64url: one text for each value, and no value for any other text."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.internals.tokens import base64url as encode
from tests.internals.tokens import from_base64url as decode

ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"


@pytest.mark.parametrize("size", range(66))
def test_what_was_written_is_read_and_is_what_the_standard_library_writes(size: int) -> None:
    value = bytes(range(200, 200 + size)) if size < 56 else bytes(size)
    text = encode(value)
    assert decode(text) == value
    assert text == base64.urlsafe_b64encode(value).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "A",
        "AAAAA",
        "AA==",
        "AAA=",
        "AA=",
        "=",
        "A+AA",
        "A/AA",
        " AAAA",
        "AAAA\n",
        "AA AA",
        "AA.A",
        "ÄAAA",
        "AA\0A",
    ],
)
def test_other_lengths_alphabets_padding_and_white_space_are_refused(text: str) -> None:
    assert decode(text) is None


@given(st.text(st.sampled_from(ALPHABET[:4] + ALPHABET[-6:] + '+/=\\"u0 é\n'), max_size=12))
def test_a_text_is_read_only_if_it_is_what_would_be_written(text: str) -> None:
    value = decode(text)
    assert value is None or encode(value) == text
    try:
        whole = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        assert value is None
    else:
        assert (value is None) == (base64.urlsafe_b64encode(whole).decode().rstrip("=") != text)


@pytest.mark.parametrize("stem", ["A", "AA", "AAAAA", "AAAAAA"])
def test_of_all_last_characters_only_those_without_stray_bits_are_read(stem: str) -> None:
    read = [last for last in ALPHABET if decode(stem + last) is not None]
    assert len(read) == (4 if len(stem) % 4 == 1 else 16)
    assert {encode(decode(stem + last)) for last in read} == {stem + last for last in read}


@given(st.binary(max_size=400))
def test_every_value_has_one_spelling(value: bytes) -> None:
    assert decode(encode(value)) == value


@given(st.text(max_size=40) | st.text(string.ascii_letters + string.digits + "-_", max_size=40))
def test_every_spelling_that_is_read_is_that_of_its_value(text: str) -> None:
    value = decode(text)
    assert value is None or encode(value) == text
