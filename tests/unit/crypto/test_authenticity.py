"""Change a token, its key or its place: it does not open, and the error never says why."""

from __future__ import annotations

import itertools
import string
import traceback
from collections.abc import Callable

import pytest

from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.errors import DecryptionError
from tests.unit.crypto.tokens import (
    BOTH,
    HOME,
    NEW,
    OLD,
    OLD_KEY,
    TEXT,
    base64url,
    closed,
    from_base64url,
    header_of,
    with_header,
)

ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
THERE = Binding("thread-1", tenant="acme", entity_id="m1")
TOKEN = OLD.encrypt(b"{}", HOME)
BOUND = OLD.encrypt(b"{}", THERE, ttl_s=10**9)


def opens(ring: KeyRing, token: str, binding: Binding) -> bool:
    try:
        ring.decrypt(token, binding)
    except DecryptionError:
        return False
    return True


# -- changed


@pytest.mark.parametrize(("token", "binding"), [(TOKEN, HOME), (BOUND, THERE)], ids=["plain", "bound"])
def test_no_bit_of_a_token_can_be_flipped(token: str, binding: Binding) -> None:
    assert opens(OLD, token, binding)
    flipped = [
        token[:place] + ALPHABET[ALPHABET.index(char) ^ (1 << bit)] + token[place + 1 :]
        for place, char in enumerate(token)
        if char != "."
        for bit in range(6)
    ]
    assert [changed for changed in flipped if opens(OLD, changed, binding)] == []


def test_the_last_character_of_each_segment_can_be_no_other_one() -> None:
    ends = [place - 1 for place, char in enumerate(f"{TOKEN}.") if char == "." and TOKEN[place - 1] != "."]
    assert len(ends) == 4
    for end, char in itertools.product(ends, string.printable + "é\0"):
        changed = TOKEN[:end] + char + TOKEN[end + 1 :]
        assert opens(OLD, changed, HOME) == (changed == TOKEN)


def test_no_token_can_be_cut_short_or_made_longer_at_any_place() -> None:
    for place in range(len(TOKEN)):
        closed(OLD, TOKEN[:place])
        closed(OLD, TOKEN[place + 1 :])
    for place, char in itertools.product(range(len(TOKEN) + 1), "A.= \n"):
        closed(OLD, TOKEN[:place] + char + TOKEN[place:])


@pytest.mark.parametrize("pad", ["=", "==", "%3D", "\n", " ", "\t"])
def test_no_segment_takes_padding_or_white_space(pad: str) -> None:
    segments = TOKEN.split(".")
    for number in range(5):
        closed(OLD, ".".join([*segments[:number], segments[number] + pad, *segments[number + 1 :]]))
        closed(OLD, ".".join([*segments[:number], pad + segments[number], *segments[number + 1 :]]))


def test_segments_of_two_tokens_do_not_mix() -> None:
    other = OLD.encrypt(b"[]", HOME, ttl_s=1000)
    pairs = list(zip(TOKEN.split("."), other.split("."), strict=True))
    for choice in itertools.product((0, 1), repeat=5):
        mixed = ".".join(pair[side] for pair, side in zip(pairs, choice, strict=True))
        assert opens(OLD, mixed, HOME) == (mixed in (TOKEN, other))


def test_ciphertext_and_tag_cannot_trade_bytes_or_places() -> None:
    head, _, nonce, ciphertext, tag = TOKEN.split(".")
    closed(OLD, ".".join([head, "", nonce, tag, ciphertext]))
    closed(OLD, ".".join([head, "", tag[:16], ciphertext, tag]))
    sealed = from_base64url(ciphertext) + from_base64url(tag)
    closed(OLD, ".".join([head, "", nonce, base64url(sealed[:1]), base64url(sealed[1:17])]))


def test_a_header_that_says_the_same_in_other_words_is_another_header() -> None:
    members = header_of(TOKEN)
    closed(OLD, with_header(TOKEN, members))
    closed(OLD, with_header(TOKEN, dict(reversed(members.items()))))
    closed(OLD, with_header(TOKEN, members | {"exp": 9_000_000_000}))
    closed(OLD, with_header(BOUND, members), THERE)


# -- elsewhere


@pytest.mark.parametrize(
    "elsewhere",
    [
        Binding("thread-2", tenant="acme"),
        Binding("thread-1"),
        Binding("thread-1", tenant="Acme"),
        Binding("acme", tenant="thread-1"),
        Binding("thread-1", tenant="acme\0"),
        Binding("", tenant="acme"),
        Binding("thread-1", tenant="acme", entity_id="m1"),
    ],
)
def test_a_token_opens_for_its_thread_and_tenant_alone(elsewhere: Binding) -> None:
    closed(OLD, TOKEN, elsewhere)


@pytest.mark.parametrize(
    "elsewhere",
    [
        HOME,
        Binding("thread-1", tenant="acme", entity_id="m2"),
        Binding("thread-1", tenant="acme", entity_id="m1", subtype="tool-call"),
        Binding("thread-2", tenant="acme", entity_id="m1"),
        Binding("thread-1", tenant="other", entity_id="m1"),
        Binding("thread-1", tenant="acme", entity_id="m"),
    ],
)
def test_a_token_that_is_bound_to_an_entity_opens_for_it_alone(elsewhere: Binding) -> None:
    assert OLD.decrypt(BOUND, THERE) == b"{}"
    closed(OLD, BOUND, elsewhere)


def test_names_that_run_together_alike_are_different_places() -> None:
    places = [Binding("bc", tenant="a"), Binding("c", tenant="ab"), Binding("", tenant="abc"), Binding("abc")]
    for written, read in itertools.product(places, repeat=2):
        assert opens(OLD, OLD.encrypt(TEXT, written), read) == (written is read)


def test_a_mac_of_an_entity_tells_nothing_about_another_thread() -> None:
    macs = {header_of(OLD.encrypt(TEXT, Binding(thread, entity_id="m1")))["entity"] for thread in "abc"}
    assert len(macs) == 3
    assert header_of(OLD.encrypt(TEXT, THERE))["entity"] == header_of(BOUND)["entity"]


# -- too late, and by another key


def test_a_token_opens_until_the_second_it_expires() -> None:
    clock = [1000.0]
    ring = KeyRing({"k": bytes(32)}, now=lambda: clock[0])
    token = ring.encrypt(TEXT, HOME, ttl_s=60)
    for moment, good in [(0, True), (1059.999, True), (1060.0, False), (1060.001, False), (9e9, False)]:
        clock[0] = moment
        assert opens(ring, token, HOME) == good
    forever = ring.encrypt(TEXT, HOME)
    clock[0] = 2.0**60
    assert opens(ring, forever, HOME)


def test_part_of_a_second_is_never_added_to_the_time_to_live() -> None:
    clock = [1000.7]
    ring = KeyRing({"k": bytes(32)}, now=lambda: clock[0])
    token = ring.encrypt(TEXT, HOME, ttl_s=1)
    clock[0] = 1001.0
    closed(ring, token)


def test_another_key_under_the_same_id_opens_nothing() -> None:
    closed(KeyRing({"old": bytes(32)}), TOKEN)


def test_an_id_in_the_header_chooses_the_key_and_no_other_is_tried() -> None:
    closed(KeyRing({"other": OLD_KEY}), TOKEN)
    closed(BOTH, with_header(TOKEN, header_of(TOKEN) | {"kid": "new"}))


# -- one error


def causes() -> dict[str, tuple[KeyRing, object, Binding]]:
    late = KeyRing({"old": OLD_KEY}, now=lambda: 1e12)
    segments = TOKEN.split(".")
    return {
        "altered": (OLD, TOKEN[:-1] + ("A" if TOKEN[-1] != "A" else "Q"), HOME),
        "altered header": (OLD, with_header(TOKEN, header_of(TOKEN) | {"exp": 9_000_000_000}), HOME),
        "cut": (OLD, TOKEN[:50], HOME),
        "empty": (OLD, "", HOME),
        "no text": (OLD, None, HOME),
        "not base64url": (OLD, ".".join([*segments[:4], "=" * 22]), HOME),
        "not ascii": (OLD, ".".join([*segments[:4], "é" * 22]), HOME),
        "not a header": (OLD, with_header(TOKEN, "[" * 700), HOME),
        "other algorithm": (OLD, with_header(TOKEN, header_of(TOKEN) | {"enc": "A128GCM"}), HOME),
        "unknown key": (NEW, TOKEN, HOME),
        "unknown key of a callable": (KeyRing({}.__getitem__, primary="new"), TOKEN, HOME),
        "wrong key": (KeyRing({"old": bytes(32)}), TOKEN, HOME),
        "other thread": (OLD, TOKEN, Binding("thread-2", tenant="acme")),
        "other tenant": (OLD, TOKEN, Binding("thread-1")),
        "other entity": (OLD, BOUND, Binding("thread-1", tenant="acme", entity_id="m2")),
        "no entity": (OLD, BOUND, HOME),
        "an entity": (OLD, TOKEN, THERE),
        "expired": (late, BOUND, THERE),
        "expired and elsewhere": (late, BOUND, HOME),
    }


def told(action: Callable[[], object]) -> tuple[object, ...]:
    """Everything that can be learned from an error."""
    try:
        action()
    except DecryptionError as error:
        text = "".join(traceback.format_exception(error))
        links = (error.__cause__, error.__context__, getattr(error, "__notes__", None))
        return (str(error), repr(error), error.args, error.code, error.hint, vars(error), links, text)
    raise AssertionError("it opened")


@pytest.mark.parametrize("method", [KeyRing.decrypt, KeyRing.rekey])
def test_every_cause_gives_the_same_error(method: Callable[..., object]) -> None:
    each = {
        cause: told(lambda: method(ring, token, binding))  # noqa: B023 - called at once
        for cause, (ring, token, binding) in causes().items()
    }
    first = each["altered"]
    assert first[6] == (None, None, None)
    assert {cause for cause, seen in each.items() if seen != first} == set()


def test_an_error_that_is_raised_while_another_is_handled_says_no_more() -> None:
    def handle() -> None:
        try:
            {}["x"]
        except KeyError:
            OLD.decrypt("", HOME)

    with pytest.raises(DecryptionError) as caught:
        handle()
    assert isinstance(caught.value.__context__, KeyError)  # the caller's own
    assert caught.value.__cause__ is None
