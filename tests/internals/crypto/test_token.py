"""Test the form of a token, and refuse any other."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agui_reasoning.crypto import Binding, KeyRing, looks_like_token
from tests.internals.tokens import (
    MAX_TOKEN_CHARS,
    Header,
    Secret,
    content_info,
    read_header,
    read_token,
    seal,
    write_header,
)
from tests.unit.crypto.tokens import (
    BOTH,
    HOME,
    NEW,
    OLD,
    TEXT,
    base64url,
    closed,
    from_base64url,
    header_of,
    with_header,
)

HEADER = {"alg": "dir", "enc": "A256GCM", "kid": "old", "typ": "agui-reasoning+jwe"}
# Written once, with the key and for the place named in the test: what is stored has to open for ever.
PINNED = (
    "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiayIsInR5cCI6ImFndWktcmVhc29uaW5nK2p3ZSJ9.."
    "RzeHL5RI4SVIR1av.Enc.LiZaj1UzlnGyULll9gHXdA"
)
PINNED_WITH_ALL = (
    "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiayIsInR5cCI6ImFndWktcmVhc29uaW5nK2p3ZSIsIm"
    "V4cCI6MTAwMDAwMDAwMCwiZW50aXR5IjoiRDUzejg2ZWtPSlBKUC1XQkh6QWUxSVhHdHRNZGlQMi0zNnUyaGNfSVRD"
    "cyJ9..cnlGMIgda0xL_LDX.tMbmI5nqoiw.0wMfOqJXUA-I8bJ8kUgq7w"
)


def test_a_token_is_five_segments_with_the_second_one_empty_and_a_header_of_four_members() -> None:
    protected, wrapped_key, nonce, ciphertext, tag = OLD.encrypt(TEXT, HOME).split(".")
    assert from_base64url(protected).decode() == json.dumps(HEADER, separators=(",", ":"))
    assert wrapped_key == ""
    assert [len(from_base64url(segment)) for segment in (nonce, ciphertext, tag)] == [12, len(TEXT), 16]


def test_expiry_and_entity_are_in_the_header_when_they_are_asked_for() -> None:
    ring = KeyRing({"old": bytes(32)}, now=lambda: 1000.9)
    header = header_of(ring.encrypt(TEXT, Binding("t", entity_id="m"), ttl_s=60))
    assert header["exp"] == 1060
    assert len(from_base64url(header["entity"])) == 32
    assert set(header) == {*HEADER, "exp", "entity"}


@pytest.mark.parametrize(("exp", "known"), [(-1, False), (0, True), (2**53 - 1, True), (2**53, False)])
def test_the_first_and_the_last_second_are_times(exp: int, known: bool) -> None:
    assert (read_header(written(HEADER | {"exp": exp})) is not None) == known


def test_tokens_that_were_stored_long_ago_open() -> None:
    ring = KeyRing({"k": bytes(range(32))}, now=lambda: 0)
    assert ring.decrypt(PINNED, Binding("thread-1")) == b"{}"
    everything = Binding("thread-1", tenant="acme", entity_id="call-1", subtype="tool-call")
    assert ring.decrypt(PINNED_WITH_ALL, everything) == b"{}      "


def test_every_token_has_a_nonce_of_its_own() -> None:
    nonces = {OLD.encrypt(TEXT, HOME).split(".")[2] for _ in range(2000)}
    assert len(nonces) == 2000


@pytest.mark.parametrize("member", HEADER)
def test_a_header_without_one_of_its_members_is_refused(member: str) -> None:
    assert read_header(written({name: HEADER[name] for name in HEADER if name != member})) is None


@pytest.mark.parametrize(
    "change",
    [
        {"alg": "A256GCMKW"},
        {"alg": "none"},
        {"alg": "DIR"},
        {"alg": None},
        {"enc": "A128GCM"},
        {"enc": "A256CBC-HS512"},
        {"typ": "JWT"},
        {"typ": "agui-reasoning+JWE"},
        {"typ": "application/agui-reasoning+jwe"},
        {"zip": "DEF"},
        {"crit": ["exp"], "exp": 9_000_000_000},
        {"crit": []},
        {"cty": "json"},
        {"b64": False},
        {"epk": {}},
        {"kid": ""},
        {"kid": 7},
        {"kid": ["old"]},
        {"kid": "a b"},
        {"kid": "a,b"},
        {"kid": "a:b"},
        {"kid": "clé"},
        {"kid": "k" * 65},
        {"exp": True},
        {"exp": False},
        {"exp": None},
        {"exp": "9000000000"},
        {"exp": 9e9},
        {"exp": -1},
        {"exp": 2**53},
        {"entity": None},
        {"entity": ""},
        {"entity": "A" * 42},
        {"entity": "A" * 44},
        {"entity": "A" * 42 + "="},
        {"entity": ["A" * 43]},
    ],
)
def test_a_header_that_says_anything_else_is_refused(change: dict[str, object]) -> None:
    assert read_header(written(HEADER | change)) is None


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(HEADER)[:-1] + ',"alg":"dir"}',
        json.dumps(HEADER)[:-1] + ',"exp":1,"exp":9000000000}',
        json.dumps(HEADER)[:-1] + ',"x":{"a":1,"a":1}}',
        json.dumps(HEADER)[:-1] + ',"exp":NaN}',
        json.dumps(HEADER) + "x",
        "\ufeff" + json.dumps(HEADER),
        json.dumps([HEADER]),
        "[" * 700,
        "null",
        "",
    ],
)
def test_a_header_that_is_not_one_json_object_with_distinct_members_is_refused(text: str) -> None:
    assert read_header(base64url(text.encode())) is None


def test_bytes_that_are_not_utf_8_are_no_header() -> None:
    assert read_header(base64url(b'{"alg":"\xff"}')) is None


def test_a_header_may_be_spelled_as_another_library_spells_it() -> None:
    header = read_header(written(dict(reversed(HEADER.items()))))
    assert header is not None
    assert header.kid == "old"


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token.replace("..", ".AAAA."),
        lambda token: token.replace("..", "."),
        lambda token: f"{token}.",
        lambda token: f"{token}.AAAA",
        lambda token: f".{token}",
        lambda token: f" {token}",
        lambda token: f"{token}\n",
        lambda token: token.rpartition(".")[0] + ".",
        lambda token: token.rpartition(".")[0],
        lambda token: "....",
        lambda token: "",
        lambda token: resized(token, 2, 11),
        lambda token: resized(token, 2, 13),
        lambda token: resized(token, 2, 0),
        lambda token: resized(token, 4, 15),
        lambda token: resized(token, 4, 12),
        lambda token: resized(token, 4, 17),
    ],
)
def test_other_shapes_and_sizes_are_refused(change) -> None:
    token = OLD.encrypt(TEXT, HOME)
    assert read_token(change(token)) is None
    closed(OLD, change(token))


def test_what_is_too_long_is_refused_although_it_is_sound() -> None:
    cipher = AESGCM(OLD.content_key("old", "thread-1", "acme"))
    nonce, protected = bytes(12), write_header(Header("old"))
    fits = (MAX_TOKEN_CHARS - len(seal(cipher, protected, nonce, Secret(b"")))) * 3 // 4
    assert len(OLD.decrypt(seal(cipher, protected, nonce, Secret(bytes(fits))), HOME)) == fits
    closed(OLD, seal(cipher, protected, nonce, Secret(bytes(fits + 1))))


def test_a_header_that_is_too_long_is_refused_although_it_says_the_right_things() -> None:
    for spaces, known in ((600, True), (700, False)):
        segment = base64url((json.dumps(HEADER) + " " * spaces).encode())
        assert (read_header(segment) is not None) == known
        assert looks_like_token(f"{segment}....") == known


def test_a_token_says_what_it_is_even_when_it_is_forged_or_cut() -> None:
    token = OLD.encrypt(TEXT, HOME)
    assert looks_like_token(token)
    assert looks_like_token(token[: token.index(".") + 3])
    assert looks_like_token(with_header(token, HEADER | {"zip": "DEF"}))


@pytest.mark.parametrize(
    "members", [HEADER, HEADER | {"zip": "DEF"}, HEADER | {"kid": 7}, {"typ": "JWT"}, {}]
)
def test_a_reader_recognizes_what_looks_like_a_token_however_its_header_is_damaged(members) -> None:
    token, reader = with_header(OLD.encrypt(TEXT, HOME), members), OLD.reader(HOME)
    for text in (token, token, token[: token.index(".")]):  # the header is remembered
        assert reader.recognizes(text) == looks_like_token(text)


@pytest.mark.parametrize(
    "value",
    [
        "",
        ".",
        "....",
        "EqoBCkgIARABGAIiQL8",
        "gAAAAABo",
        '{"k":"agui-reasoning","v":2}',
        "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AAAA.AAAA.AAAA",
        "eyJ0eXAiOiJKV1QifQ.e30.AAAA",
        "A" * 100_000 + ".",
        None,
        b"bytes",
    ],
)
def test_values_of_others_are_not_taken_for_tokens(value) -> None:
    assert not looks_like_token(value)


def test_a_key_is_derived_for_tenant_and_thread_without_running_them_together() -> None:
    places = [
        ("a", "bc"),
        ("ab", "c"),
        ("abc", ""),
        ("", "abc"),
        ("a\0", "bc"),
        ("a", "\0bc"),
        ("a", "\ud83d"),
        ("a", "?"),
    ]
    assert len({content_info(Binding(thread, tenant=tenant)) for tenant, thread in places}) == len(places)
    assert len({OLD.content_key("old", thread, tenant) for tenant, thread in places}) == len(places)


def test_keys_of_two_ring_keys_for_one_thread_differ() -> None:
    assert OLD.content_key("old", "t") != NEW.content_key("new", "t")
    assert BOTH.content_key("new", "t") == NEW.content_key("new", "t")
    assert len(BOTH.content_key("old", "t")) == 32


@pytest.mark.parametrize("thread", ["", "ünïcode-🙂", "\ud83d", "x" * 5000, "a.b", "\0"])
def test_any_string_is_a_thread(thread: str) -> None:
    binding = Binding(thread, tenant=thread, entity_id=f"{thread}e")
    assert OLD.decrypt(OLD.encrypt(TEXT, binding), binding) == TEXT


def written(members: dict[str, object]) -> str:
    return base64url(json.dumps(members).encode())


def resized(token: str, segment: int, size: int) -> str:
    segments = token.split(".")
    segments[segment] = base64url((from_base64url(segments[segment]) * 2)[:size])
    return ".".join(segments)
