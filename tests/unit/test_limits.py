"""How large an input may be."""

from __future__ import annotations

from dataclasses import fields

import pytest

from agui_reasoning import ConfigurationError, Limits, RemoteProtocolError

NAMES = ("messages", "calls", "bytes", "envelopes", "spans", "nesting")


def test_the_fields_are_those_of_the_contract_and_leave_room_for_long_histories() -> None:
    assert tuple(field.name for field in fields(Limits)) == NAMES
    assert Limits().messages >= 10_000
    assert Limits().calls >= 10_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, 1.5, "9", None, True])
def test_a_limit_that_is_no_whole_number_is_refused_when_it_is_made(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Limits(**{name: value})  # type: ignore[arg-type]
    assert (caught.value.code, name in str(caught.value)) == ("bad_limit", True)


@pytest.mark.parametrize("name", NAMES)
def test_the_error_says_what_came_what_is_allowed_and_what_to_raise(name: str) -> None:
    limits = Limits(**{name: 7})
    limits.check(name, 7)  # type: ignore[arg-type]
    with pytest.raises(RemoteProtocolError) as caught:
        limits.check(name, 9)  # type: ignore[arg-type]
    assert caught.value.code == "too_large"
    assert all(said in str(caught.value) for said in ("9 ", "7 are allowed", f"Limits({name}="))


def test_the_bytes_of_documents_add_up() -> None:
    limits = Limits(bytes=12)
    counted = limits.check_json({"a": "é"})  # the object, two strings, one byte and two
    assert counted == 6
    assert limits.check_json(["four"], counted=counted) == 12
    with pytest.raises(RemoteProtocolError, match="at least 13 bytes"):
        limits.check_json(["four!"], counted=counted)


def test_half_a_character_has_a_size_too() -> None:
    assert Limits().check_json("\ud83d") == 4


def test_nesting_is_counted_without_recursion() -> None:
    document: list[object] = ["leaf"]
    for _ in range(100_000):
        document = [document]
    with pytest.raises(RemoteProtocolError, match="nesting"):
        Limits().check_json(document)
    assert Limits(nesting=2).check_json([["leaf"]]) == 7
