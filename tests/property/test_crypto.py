"""Test the law *authenticity*: a token opens with its own key in its own place only."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agui_reasoning.crypto import Binding, KeyRing, looks_like_token
from agui_reasoning.errors import ConfigurationError, DecryptionError
from tests.laws import law
from tests.unit.crypto.tokens import BOTH, HOME, OLD, with_header

ids = st.text(st.characters(), max_size=20)
kids = st.text(string.ascii_letters + string.digits + "-._/", min_size=1, max_size=64)
bindings = st.builds(
    Binding, ids, tenant=ids, entity_id=ids, subtype=st.sampled_from(["message", "tool-call"])
)
keys = st.binary(min_size=32, max_size=32)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def opened(ring: KeyRing, token: str, binding: Binding) -> bytes | None:
    """The plaintext, ``None`` for a DecryptionError; anything else fails the test."""
    try:
        return ring.decrypt(token, binding)
    except DecryptionError:
        return None


@given(st.binary(max_size=300), bindings, kids, keys, st.integers(0, 64))
def test_what_was_encrypted_comes_back(
    plaintext: bytes, binding: Binding, kid: str, key: bytes, pad_to: int
) -> None:
    ring = KeyRing({kid: key})
    token = ring.encrypt(plaintext, binding, ttl_s=60, pad_to=pad_to)
    padded = ring.decrypt(token, binding)
    assert padded[: len(plaintext)] == plaintext
    assert padded[len(plaintext) :].strip(b" ") == b""
    assert looks_like_token(token)
    assert token.isascii()


@law("authenticity")
@given(bindings, bindings)
@example(Binding("bc", tenant="a"), Binding("c", tenant="ab"))
@example(Binding("t", entity_id="e"), Binding("t", entity_id="e", subtype="tool-call"))
def test_it_comes_back_there_and_nowhere_else(there: Binding, elsewhere: Binding) -> None:
    same = place(there) == place(elsewhere)
    assert (opened(OLD, OLD.encrypt(b"{}", there), elsewhere) is not None) == same


@law("authenticity")
@given(keys, keys)
def test_it_comes_back_with_its_key_and_no_other(one: bytes, other: bytes) -> None:
    token = KeyRing({"k": one}).encrypt(b"{}", HOME)
    assert (opened(KeyRing({"k": other}), token, HOME) is not None) == (one == other)


@law("authenticity")
@given(st.data())
def test_a_changed_token_does_not_open(data: st.DataObject) -> None:
    token = OLD.encrypt(b'{"v": 1}', HOME)
    changed = data.draw(mutations(token))
    assume(changed != token)
    assert opened(OLD, changed, HOME) is None


@law("authenticity")
@given(st.text(), bindings)
@example("....", HOME)
@example("eyJ", HOME)
@example("\ud83d....", HOME)
def test_no_text_raises_anything_but_one_error(text: str, binding: Binding) -> None:
    assert opened(BOTH, text, binding) is None
    looks_like_token(text)


@given(st.lists(st.text(string.ascii_letters + string.digits + "-_=", max_size=60), min_size=3, max_size=7))
def test_no_text_that_looks_like_one_does_either(segments: list[str]) -> None:
    assert opened(BOTH, ".".join(segments), HOME) is None


@given(
    st.dictionaries(
        st.sampled_from(["alg", "enc", "kid", "typ", "exp", "entity", "crit", "zip"]), json_values
    )
)
def test_no_header_raises_anything_but_one_error(members: dict[str, Any]) -> None:
    assert opened(BOTH, with_header(OLD.encrypt(b"{}", HOME), members), HOME) is None


@given(st.binary(max_size=100), bindings, st.none() | st.integers(1, 10**6))
def test_rekeying_changes_the_key_and_nothing_else(
    plaintext: bytes, binding: Binding, ttl_s: int | None
) -> None:
    token = BOTH.rekey(OLD.encrypt(plaintext, binding, ttl_s=ttl_s), binding)
    assert opened(BOTH, token, binding) == plaintext
    assert not BOTH.needs_rekey(token)
    assert opened(OLD, token, binding) is None


@given(st.text())
def test_whether_something_is_an_id_can_be_asked_of_any_text(text: str) -> None:
    if 1 <= len(text) <= 64 and all("!" <= character <= "~" and character not in ",:" for character in text):
        ring = KeyRing({text: bytes(32)})
        assert opened(ring, ring.encrypt(b"{}", HOME), HOME) == b"{}"
    else:
        with pytest.raises(ConfigurationError, match="visible ASCII"):
            KeyRing({text: bytes(32)})


def place(binding: Binding) -> tuple[str, ...]:
    """What of a binding counts: without an entity, its kind means nothing."""
    entity = (binding.entity_id, binding.subtype) if binding.entity_id else ()
    return (binding.thread_id, binding.tenant, *entity)


def mutations(token: str) -> st.SearchStrategy[str]:
    places = st.integers(0, len(token))
    return st.one_of(
        st.builds(lambda at, text: token[:at] + text + token[at:], places, st.text(min_size=1, max_size=4)),
        st.builds(lambda at, text: token[:at] + text + token[at + len(text) :], places, st.text(max_size=4)),
        st.builds(lambda at, to: token[: min(at, to)] + token[max(at, to) :], places, places),
        st.permutations(token.split(".")).map(".".join),
    )
