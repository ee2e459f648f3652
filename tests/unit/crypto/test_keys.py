"""Test `KeyRing`: sources of keys, the key that encrypts, and values that cannot be keys."""

from __future__ import annotations

import copy
import os
import pickle
import stat
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.errors import AGUIReasoningWarning, ConfigurationError, DecryptionError
from tests.unit.crypto.tokens import BOTH, HOME, NEW, NEW_KEY, OLD, OLD_KEY, TEXT, closed, forged, header_of

KEY = bytes(32)


def refused(action: Callable[[], object], code: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        action()
    assert caught.value.code == code
    return str(caught.value)


# -- keys


@pytest.mark.parametrize("size", [0, 1, 15, 16, 24, 31, 33, 43, 64])
def test_a_key_of_another_size_is_refused_and_the_message_says_both(size: int) -> None:
    message = refused(lambda: KeyRing({"k": bytes(size)}), "bad_key")
    assert f"{size} bytes" in message
    assert "32" in message
    refused(lambda: KeyRing({"good": KEY, "k": bytes(size)}), "bad_key")


@pytest.mark.parametrize("key", ["k" * 32, None, 7, [0] * 32, memoryview(KEY)])
def test_a_key_that_is_not_bytes_is_refused(key: Any) -> None:
    refused(lambda: KeyRing({"k": key}), "bad_key")


@pytest.mark.parametrize(
    "kid", ["", "a,b", "a:b", "a b", "a\n", "\t", "clé", "k" * 65, "\x7f", "a\0", 7, None, b"k"]
)
def test_an_id_that_would_not_survive_a_list_of_keys_is_refused(kid: Any) -> None:
    refused(lambda: KeyRing({kid: KEY}), "bad_kid")


@pytest.mark.parametrize("kid", ["k", "2026-10", "k" * 64, "a/b+c=d.e_f~g", '"\\', "{}", "!"])
def test_any_other_id_goes_there_and_back(kid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = KeyRing({kid: KEY})
    assert ring.decrypt(ring.encrypt(TEXT, HOME), HOME) == TEXT
    monkeypatch.setenv("RING", ring.to_env())
    assert KeyRing.from_env("RING").kids == (kid,)


def test_a_ring_without_a_key_or_of_something_else_is_refused() -> None:
    refused(lambda: KeyRing({}), "no_keys")
    refused(lambda: KeyRing(KEY), "bad_keys")  # type: ignore[arg-type]
    refused(lambda: KeyRing(None), "bad_keys")  # type: ignore[arg-type]


def test_the_first_key_encrypts_unless_another_one_is_named() -> None:
    keys = {"a": OLD_KEY, "b": NEW_KEY}
    assert header_of(KeyRing(keys).encrypt(TEXT, HOME))["kid"] == "a"
    assert header_of(KeyRing(keys, primary="b").encrypt(TEXT, HOME))["kid"] == "b"
    refused(lambda: KeyRing(keys, primary="c"), "unknown_key")
    refused(lambda: KeyRing(keys, primary=""), "unknown_key")


def test_a_ring_keeps_the_keys_it_was_made_with() -> None:
    keys = {"a": bytearray(KEY)}
    ring = KeyRing(keys)
    token = ring.encrypt(TEXT, HOME)
    keys["a"][0] = 1
    keys["b"] = bytearray(NEW_KEY)
    ring.forget()
    assert ring.kids == ("a",)
    assert ring.decrypt(token, HOME) == TEXT


def test_generated_keys_are_new_and_named() -> None:
    one, two = KeyRing.generate(), KeyRing.generate()
    assert one.primary != two.primary
    assert one.to_env().partition(":")[2] != two.to_env().partition(":")[2]
    assert KeyRing.generate("2026-10").kids == ("2026-10",)
    refused(lambda: KeyRing.generate("a:b"), "bad_kid")


# -- text


def test_keys_go_through_the_environment_with_the_primary_one_first(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = KeyRing({"old": OLD_KEY, "new": NEW_KEY}, primary="new")
    monkeypatch.setenv("AGUI_REASONING_KEYS", ring.to_env())
    again = KeyRing.from_env()
    assert (again.primary, again.kids) == ("new", ("new", "old"))
    assert again.decrypt(OLD.encrypt(TEXT, HOME), HOME) == TEXT
    assert again.to_env() == ring.to_env()


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_no_keys_in_the_environment_is_said_with_the_name(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("RING", text)
    told = refused(lambda: KeyRing.from_env("RING"), "no_keys")
    assert "RING" in told
    assert "keys=" in told
    assert "--" not in told
    monkeypatch.delenv("RING")
    assert "RING" in refused(lambda: KeyRing.from_env("RING"), "no_keys")


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry + "=",
        lambda entry: entry + "A",
        lambda entry: entry[:-1],
        lambda entry: entry[:-1] + "/",
        lambda entry: entry.replace(":", "="),
        lambda entry: entry.partition(":")[2],
        lambda entry: entry.replace(":", ": "),
        lambda entry: entry.replace("new:", ":"),
        lambda entry: entry.replace("new:", "new:new:"),
        lambda entry: "new:",
        lambda entry: f"{entry},{entry}",
    ],
)
def test_what_is_not_an_entry_is_refused_and_no_part_of_it_is_told(
    change, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RING", f"{OLD.to_env()},{change(NEW.to_env())}")
    message = refused(lambda: KeyRing.from_env("RING"), "bad_key")
    assert "Key 2 in RING" in message or "twice" in message
    assert NEW.to_env()[6:20] not in message
    assert OLD.to_env()[6:20] not in message


def test_a_file_holds_keys_as_the_environment_does_or_one_on_each_line(tmp_path) -> None:
    path = tmp_path / "keys"
    path.touch(mode=0o600)
    for text in (BOTH.to_env(), BOTH.to_env().replace(",", "\n") + "\n", f"\ufeff{BOTH.to_env()}\r\n"):
        path.write_text(text, encoding="utf-8", newline="")
        assert KeyRing.from_file(path).kids == ("new", "old")
        assert KeyRing.from_file(str(path)).primary == "new"


def test_a_file_that_cannot_be_read_or_has_no_keys_is_refused(tmp_path) -> None:
    path = tmp_path / "keys"
    assert "keys" in refused(lambda: KeyRing.from_file(path), "unreadable_keys")
    refused(lambda: KeyRing.from_file(tmp_path), "unreadable_keys")
    refused(lambda: KeyRing.from_file("a\0b"), "unreadable_keys")
    path.write_bytes(b"\n")
    refused(lambda: KeyRing.from_file(path), "no_keys")
    path.write_bytes(b"\xff\xfe:\x00")
    refused(lambda: KeyRing.from_file(path), "bad_key")


@pytest.mark.skipif(os.name != "posix", reason="files have other permissions here")
def test_a_file_that_everybody_may_read_warns(tmp_path) -> None:
    path = tmp_path / "keys"
    path.write_text(OLD.to_env())
    path.chmod(0o644)
    told: list[str] = []
    KeyRing.from_file(path, on_warning=told.append)
    assert len(told) == 1
    assert str(path) in told[0]
    with pytest.warns(AGUIReasoningWarning):
        KeyRing.from_file(path)
    path.chmod(stat.S_IRUSR)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KeyRing.from_file(path)


# -- a callable


@dataclass
class Service:
    """Keys that are kept elsewhere."""

    keys: dict[str, Any]
    asked: list[str] = field(default_factory=list)
    outage: Exception | None = None

    def __call__(self, kid: str) -> bytes:
        self.asked.append(kid)
        if self.outage is not None:
            raise self.outage
        return self.keys[kid]


def test_a_callable_fetches_keys_and_is_asked_once_for_each() -> None:
    service = Service({"old": OLD_KEY, "new": NEW_KEY})
    ring = KeyRing(service, primary="new")
    for thread in "abc":
        for given in (OLD, NEW):
            assert ring.decrypt(given.encrypt(TEXT, Binding(thread)), Binding(thread)) == TEXT
        ring.encrypt(TEXT, Binding(thread, entity_id="e"))
    assert sorted(service.asked) == ["new", "old"]
    ring.forget()
    ring.encrypt(TEXT, HOME)
    assert service.asked[2:] == ["new"]


def test_no_more_than_32_fetched_keys_are_remembered() -> None:
    service = Service({f"k{number}": bytes([number] * 32) for number in range(33)})
    ring = KeyRing(service, primary="k0")
    for kid in service.keys:
        ring.content_key(kid, "t")
    assert ring.content_key("k32", "t") == KeyRing({"k32": bytes([32] * 32)}).content_key("k32", "t")
    ring.content_key("k0", "t")
    assert service.asked == [*service.keys, "k0"]


def test_after_forgetting_a_key_that_was_destroyed_opens_nothing() -> None:
    service = Service({"old": OLD_KEY, "new": NEW_KEY})
    ring, token = KeyRing(service, primary="new"), OLD.encrypt(TEXT, HOME)
    assert ring.decrypt(token, HOME) == TEXT
    del service.keys["old"]
    ring.forget()
    closed(ring, token)


def test_a_callable_needs_a_primary_key() -> None:
    refused(lambda: KeyRing(Service({})), "unknown_key")
    refused(lambda: KeyRing(Service({}), primary="a b"), "unknown_key")


@pytest.mark.parametrize("fetch", [Service({}), {}.__getitem__, {}.get, lambda kid: [][0]])
def test_a_key_that_the_callable_does_not_know_is_an_unknown_key(fetch) -> None:
    ring = KeyRing(fetch, primary="new")
    closed(ring, OLD.encrypt(TEXT, HOME))
    refused(lambda: ring.encrypt(TEXT, HOME), "unknown_key")
    refused(lambda: ring.content_key("new", "t"), "unknown_key")


@pytest.mark.parametrize("seconds", [5.0, 3600.0, -3600.0])
def test_a_key_that_turns_up_later_is_found(seconds: float) -> None:
    clock = [1000.0]
    service = Service({"new": NEW_KEY})
    ring = KeyRing(service, primary="new", now=lambda: clock[0])
    token = OLD.encrypt(TEXT, HOME)
    closed(ring, token)
    service.keys["old"] = OLD_KEY
    clock[0] += 4.9
    closed(ring, token)
    assert service.asked == ["old"]
    clock[0] = 1000.0 + seconds
    assert ring.decrypt(token, HOME) == TEXT


def test_forgetting_and_encrypting_do_not_wait_for_an_unknown_key() -> None:
    service = Service({"new": NEW_KEY})
    ring, token = KeyRing(service, primary="old"), OLD.encrypt(TEXT, HOME)
    closed(ring, token)
    service.keys["old"] = OLD_KEY
    ring.encrypt(TEXT, HOME)
    assert ring.decrypt(token, HOME) == TEXT
    del service.keys["old"]
    ring.forget()
    closed(ring, token)
    service.keys["old"] = OLD_KEY
    ring.forget()
    assert ring.decrypt(token, HOME) == TEXT


HOSTILE = [
    "../../other-key",
    "/etc/passwd",
    ".",
    "..",
    "-rf",
    "alias/other",
    "a/b",
    "a?b",
    "a%2fb",
    "{}",
    "http=//x",
]


@pytest.mark.parametrize("kid", HOSTILE)
def test_an_id_that_could_be_a_path_is_not_asked_for_unless_it_is_listed(kid: str) -> None:
    service = Service({kid: OLD_KEY, "new": NEW_KEY})
    closed(KeyRing(service, primary="new"), forged(kid))
    assert service.asked == []
    assert KeyRing(service, primary="new", kids={"new", kid}).decrypt(forged(kid), HOME) == TEXT
    assert KeyRing(service, primary=kid).decrypt(forged(kid), HOME) == TEXT


def test_with_a_list_of_ids_nothing_else_is_asked_for() -> None:
    service = Service({"old": OLD_KEY, "new": NEW_KEY, "other": OLD_KEY})
    ring = KeyRing(service, primary="new", kids=["new", "old"])
    closed(ring, forged("other"))
    assert service.asked == []
    assert ring.decrypt(forged("old"), HOME) == TEXT
    assert ring.kids == ()


def test_the_list_of_ids_holds_the_primary_one_and_only_ids() -> None:
    refused(lambda: KeyRing(Service({}), primary="new", kids=["old"]), "unknown_key")
    refused(lambda: KeyRing(Service({}), primary="new", kids=["new", "a b"]), "bad_kid")
    refused(lambda: KeyRing(Service({}), primary="n", kids="new"), "bad_kid")
    refused(lambda: KeyRing({"new": NEW_KEY}, kids=["new"]), "wrong_option")


def test_forged_ids_of_one_request_are_asked_for_eight_times_at_most() -> None:
    service = Service({"old": OLD_KEY, "new": NEW_KEY})
    reader = KeyRing(service, primary="new").reader(HOME)
    for number in range(1500):
        assert reader.open(forged(f"forged-{number}")) is None
    assert service.asked == [f"forged-{number}" for number in range(8)]


def test_known_ids_are_found_whatever_else_a_request_names() -> None:
    keys = {f"k{number}": bytes([number] * 32) for number in range(40)}
    service = Service(dict(keys))
    reader = KeyRing(service, primary="k0").reader(HOME)
    for _ in range(2):
        for number in range(7):
            assert reader.open(forged(f"forged-{number}")) is None
        for kid, key in keys.items():
            opened = reader.open(KeyRing({kid: key}).encrypt(TEXT, HOME))
            assert opened is not None
            assert opened.reveal() == TEXT
    assert sorted(service.asked) == sorted([*keys, *(f"forged-{number}" for number in range(7))])


def test_ids_that_were_unknown_a_moment_ago_do_not_count() -> None:
    service = Service({"new": NEW_KEY})
    ring = KeyRing(service, primary="new", now=lambda: 1000.0)
    gone = [forged(f"gone-{number}") for number in range(8)]
    token = OLD.encrypt(TEXT, HOME)
    first, second = ring.reader(HOME), ring.reader(HOME)
    assert [first.open(text) for text in [*gone, token]] == [None] * 9
    service.keys["old"] = OLD_KEY  # rotated in the meantime
    assert [second.open(text) for text in gone] == [None] * 8
    opened = second.open(token)
    assert opened is not None
    assert opened.reveal() == TEXT


def test_what_is_remembered_of_unknown_ids_is_bounded() -> None:
    service = Service({"new": NEW_KEY})
    ring = KeyRing(service, primary="new", now=lambda: 1000.0)
    for number in range(1025):
        closed(ring, forged(f"forged-{number}"))
    closed(ring, forged("forged-1"))
    assert len(service.asked) == 1025
    closed(ring, forged("forged-0"))
    assert len(service.asked) == 1026


def test_a_failing_key_is_asked_for_once_in_a_request() -> None:
    service = Service({"old": OLD_KEY}, outage=TimeoutError("no route"))
    ring = KeyRing(service, primary="old")
    reader = ring.reader(HOME)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            reader.open(OLD.encrypt(TEXT, HOME))
    assert service.asked == ["old"]
    service.outage = None
    assert ring.decrypt(OLD.encrypt(TEXT, HOME), HOME) == TEXT


def test_a_key_that_was_fetched_again_is_derived_again() -> None:
    ring = KeyRing(Service({"old": OLD_KEY}), primary="old")
    ring.encrypt(TEXT, HOME)
    ring.forget()
    assert OLD.decrypt(ring.encrypt(TEXT, HOME), HOME) == TEXT


def test_an_outage_is_not_a_forged_token() -> None:
    service = Service({"old": OLD_KEY}, outage=TimeoutError("no route"))
    ring = KeyRing(service, primary="old")
    with pytest.raises(TimeoutError):
        ring.decrypt(OLD.encrypt(TEXT, HOME), HOME)
    with pytest.raises(TimeoutError):
        ring.encrypt(TEXT, HOME)
    service.outage = None
    assert ring.decrypt(OLD.encrypt(TEXT, HOME), HOME) == TEXT


def test_nobody_is_asked_about_what_is_not_a_token() -> None:
    service = Service({"old": OLD_KEY})
    ring = KeyRing(service, primary="old")
    for value in ("", "EqoBCkgIARABGAIiQL8", OLD.encrypt(TEXT, HOME)[:-1], "....", None):
        with pytest.raises(DecryptionError):
            ring.decrypt(value, HOME)  # type: ignore[arg-type]
    assert service.asked == []


@pytest.mark.parametrize("key", [b"short", bytes(33), "k" * 32, 7])
def test_what_a_callable_gives_in_place_of_a_key_is_refused(key: Any) -> None:
    ring = KeyRing(Service({"old": key}), primary="old")
    refused(lambda: ring.encrypt(TEXT, HOME), "bad_key")
    refused(lambda: ring.decrypt(OLD.encrypt(TEXT, HOME), HOME), "bad_key")


def test_keys_that_are_kept_elsewhere_are_not_written_down() -> None:
    ring = KeyRing(Service({"old": OLD_KEY}), primary="old")
    ring.encrypt(TEXT, HOME)
    refused(ring.to_env, "keys_elsewhere")
    assert ring.kids == ()
    assert repr(ring) == "KeyRing(primary='old', keys fetched on demand)"


# -- what is asked of a ring


@pytest.mark.parametrize("plaintext", ["text", None, 7, [1]])
def test_only_bytes_are_encrypted(plaintext: Any) -> None:
    refused(lambda: OLD.encrypt(plaintext, HOME), "bad_plaintext")


def test_what_would_not_open_again_is_not_encrypted() -> None:
    most = 12_000_000
    assert len(OLD.decrypt(OLD.encrypt(bytes(most), HOME), HOME)) == most
    refused(lambda: OLD.encrypt(bytes(most + 1), HOME), "bad_plaintext")
    refused(lambda: OLD.encrypt(b"{}", HOME, pad_to=most + 1), "bad_plaintext")


@pytest.mark.parametrize("binding", ["thread-1", None, {"thread_id": "t"}])
def test_a_binding_is_a_binding(binding: Any) -> None:
    refused(lambda: OLD.encrypt(TEXT, binding), "bad_binding")
    refused(lambda: OLD.decrypt("", binding), "bad_binding")
    refused(lambda: OLD.rekey("", binding), "bad_binding")


@pytest.mark.parametrize(
    "fields", [{"thread_id": None}, {"tenant": None}, {"entity_id": 7}, {"subtype": "step"}, {"subtype": []}]
)
def test_a_binding_to_something_else_is_refused(fields: dict[str, Any]) -> None:
    told = refused(lambda: Binding(**({"thread_id": "t"} | fields)), "bad_binding")
    ((name, value),) = fields.items()
    said = (
        "subtype is neither message nor tool-call."
        if name == "subtype"
        else f"{name} is {type(value).__name__}, not str."
    )
    assert said in told


@pytest.mark.parametrize("ttl_s", [0, -1, True, 1.5, 60.0, "60", 2**53])
def test_a_time_to_live_is_whole_seconds(ttl_s: Any) -> None:
    refused(lambda: OLD.encrypt(TEXT, HOME, ttl_s=ttl_s), "bad_ttl")


def test_a_token_may_last_until_the_last_second_that_json_can_name() -> None:
    ring, most = KeyRing({"k": KEY}, now=lambda: 1.5), 2**53 - 1
    assert header_of(ring.encrypt(TEXT, HOME, ttl_s=most - 1))["exp"] == most
    refused(lambda: ring.encrypt(TEXT, HOME, ttl_s=most), "bad_ttl")


def test_a_token_of_a_call_opens_for_the_call_alone() -> None:
    call, message = (Binding("t", entity_id="c", subtype=kind) for kind in ("tool-call", "message"))
    token = OLD.encrypt(TEXT, call)
    assert OLD.decrypt(token, call) == TEXT
    closed(OLD, token, message)


@pytest.mark.parametrize("pad_to", [-1, True, 1.5, "8", None])
def test_padding_is_a_whole_number_of_bytes(pad_to: Any) -> None:
    refused(lambda: OLD.encrypt(TEXT, HOME, pad_to=pad_to), "bad_padding")


@pytest.mark.parametrize("pad_to", [0, 1, 2, 7, 16, 27, 28, 256])
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 27])
def test_padding_makes_the_length_a_multiple_by_spaces_at_the_end(size: int, pad_to: int) -> None:
    padded = OLD.decrypt(OLD.encrypt(b"x" * size, HOME, pad_to=pad_to), HOME)
    assert padded.rstrip(b" ") == b"x" * size
    assert len(padded) - size < max(pad_to, 1)
    assert len(padded) % (pad_to or 1) == 0


def test_with_padding_lengths_say_nothing() -> None:
    lengths = {len(OLD.encrypt(b"x" * size, HOME, pad_to=64)) for size in range(1, 65)}
    assert len(lengths) == 1


# -- rotation


def test_after_a_rotation_old_tokens_open_until_their_key_is_gone() -> None:
    token = OLD.encrypt(TEXT, HOME)
    assert BOTH.decrypt(token, HOME) == TEXT
    again = BOTH.rekey(token, HOME)
    assert NEW.decrypt(again, HOME) == TEXT
    closed(NEW, token)


def test_rekeying_is_needed_under_any_other_key_and_told_by_the_header_alone() -> None:
    token = OLD.encrypt(TEXT, HOME)
    assert BOTH.needs_rekey(token)
    assert NEW.needs_rekey(token)
    assert not OLD.needs_rekey(token)
    assert not BOTH.needs_rekey(BOTH.rekey(token, HOME))


@pytest.mark.parametrize("value", ["", "EqoBCkgIARABGAIiQL8", "eyJ0eXAiOiJKV1QifQ..A.A.A", None, 7])
def test_whether_something_else_needs_rekeying_is_not_a_question(value: Any) -> None:
    with pytest.raises(DecryptionError):
        OLD.needs_rekey(value)
    with pytest.raises(DecryptionError):
        OLD.rekey(value, HOME)


def test_rekeying_keeps_expiry_entity_and_padding() -> None:
    clock = [1000.0]
    ring = KeyRing({"new": NEW_KEY, "old": OLD_KEY}, now=lambda: clock[0])
    old = KeyRing({"old": OLD_KEY}, now=lambda: clock[0])
    there = Binding("t", tenant="acme", entity_id="c1", subtype="tool-call")
    token = old.encrypt(b"{}", there, ttl_s=60, pad_to=32)
    clock[0] = 1059.0
    again = ring.rekey(token, there)
    assert header_of(again)["exp"] == 1060
    assert ring.decrypt(again, there) == b"{}" + b" " * 30
    closed(ring, again, Binding("t", tenant="acme"))
    clock[0] = 1060.0
    with pytest.raises(DecryptionError):
        ring.rekey(token, there)


def test_rekeying_somewhere_else_is_refused() -> None:
    with pytest.raises(DecryptionError):
        BOTH.rekey(OLD.encrypt(TEXT, HOME), Binding("thread-2", tenant="acme"))


# -- a ring as a value


def test_a_ring_shows_its_ids_and_nothing_else() -> None:
    assert repr(BOTH) == str(BOTH) == f"{BOTH}" == "KeyRing(primary='new', kids=('new', 'old'))"
    assert not hasattr(BOTH, "__dict__")


def test_a_copy_is_the_ring_itself_and_a_pickle_is_refused() -> None:
    assert copy.copy(BOTH) is BOTH
    assert copy.deepcopy({"ring": BOTH})["ring"] is BOTH
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(BOTH)


def test_an_unknown_key_is_refused_without_repeating_what_was_asked_for() -> None:
    message = refused(lambda: BOTH.content_key("KEYMATERIAL", "t"), "unknown_key")
    assert "KEYMATERIAL" not in message
    assert "new, old" in message
