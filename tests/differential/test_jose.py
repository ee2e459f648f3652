"""Exchange tokens with two JOSE libraries, which are given `KeyRing.content_key`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.errors import DecryptionError
from tests.differential.node import JS_DIR, find_node, packages_installed
from tests.unit.crypto.tokens import base64url, from_base64url

RING = KeyRing({"2026-10": bytes(range(32)), "2026-04": bytes(32)}, now=lambda: 1_000_000_000)
PLACES = [
    Binding("thread-1"),
    Binding("thread-1", tenant="acme"),
    Binding("ünïcode-🙂", tenant="ténant"),
    Binding("thread-1", entity_id="m1"),
    Binding("thread-1", tenant="acme", entity_id="c1", subtype="tool-call"),
]
PLAINTEXTS = [b"", b"{}", '{"text":"Grüße 🙂"}'.encode(), bytes(range(256)) * 100]
OPTIONS: list[dict[str, Any]] = [{}, {"ttl_s": 3600}, {"pad_to": 256}]
HEADER = {"alg": "dir", "enc": "A256GCM", "kid": "2026-10", "typ": "agui-reasoning+jwe"}
# Unless told otherwise, joserfc refuses members that JWE does not register, as our `exp` and `entity`.
REGISTRY = jwe.JWERegistry(strict_check_header=False)

Jobs = list[dict[str, Any]]
Library = Callable[[Jobs], Jobs]


def joserfc(jobs: Jobs) -> Jobs:
    return [_joserfc(job) for job in jobs]


def _joserfc(job: dict[str, Any]) -> dict[str, Any]:
    key = OctKey.import_key(read(job["key"]))
    try:
        if job["do"] == "make":
            return {
                "token": jwe.encrypt_compact(job["header"], read(job["plaintext"]), key, registry=REGISTRY)
            }
        opened = jwe.decrypt_compact(job["token"], key, registry=REGISTRY)
    except (JoseError, ValueError) as error:
        return {"error": type(error).__name__}
    return {"plaintext": base64url(opened.plaintext or b""), "header": opened.headers()}


def npm_jose(jobs: Jobs) -> Jobs:
    node = find_node()
    if node is None:
        pytest.skip("no Node here to run npm's jose: run `make test`, which gets one where it can")
    if not packages_installed():
        pytest.skip("npm's jose is not installed: run `make test`")
    done = subprocess.run(
        [node, JS_DIR / "jose.mjs"],
        input=json.dumps(jobs).encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(params=[joserfc, npm_jose], ids=["joserfc", "npm jose"])
def library(request: pytest.FixtureRequest) -> Library:
    return request.param


def test_another_library_opens_what_we_made(library: Library) -> None:
    cases = [
        (plaintext, place, options) for plaintext in PLAINTEXTS for place in PLACES for options in OPTIONS
    ]
    tokens = [RING.encrypt(plaintext, place, **options) for plaintext, place, options in cases]
    answers = library([opening(token, place) for token, (_, place, _) in zip(tokens, cases, strict=True)])
    for answer, (plaintext, place, options) in zip(answers, cases, strict=True):
        assert read(answer["plaintext"]).rstrip(b" ") == plaintext
        assert {name: answer["header"][name] for name in HEADER} == HEADER
        assert ("exp" in answer["header"]) == ("ttl_s" in options)
        assert ("entity" in answer["header"]) == bool(place.entity_id)


def test_we_open_what_another_library_made(library: Library) -> None:
    cases = [(plaintext, place) for plaintext in PLAINTEXTS for place in PLACES if not place.entity_id]
    for header in (HEADER, dict(reversed(HEADER.items())), HEADER | {"exp": 1_000_000_001}):
        made = library([making(plaintext, place, header) for plaintext, place in cases])
        opened = [
            RING.decrypt(answer["token"], place) for answer, (_, place) in zip(made, cases, strict=True)
        ]
        assert opened == [plaintext for plaintext, _ in cases]


@pytest.mark.parametrize(
    "header",
    [
        HEADER | {"exp": 1_000_000_000},
        HEADER | {"kid": "2026-04"},
        HEADER | {"typ": "JWT"},
        HEADER | {"cty": "json"},
        HEADER | {"entity": "A" * 43},
        {name: HEADER[name] for name in ("alg", "enc", "kid")},
        {name: HEADER[name] for name in ("alg", "enc", "typ")},
    ],
)
def test_what_it_made_otherwise_does_not_open(library: Library, header: dict[str, Any]) -> None:
    [made] = library([making(b"{}", PLACES[0], header)])
    with pytest.raises(DecryptionError):
        RING.decrypt(made["token"], PLACES[0])


def test_zipped_tokens_do_not_open() -> None:
    [made] = joserfc([making(b"{}" * 100, PLACES[0], HEADER | {"zip": "DEF"})])
    assert joserfc([opening(made["token"], PLACES[0])])[0]["plaintext"]
    with pytest.raises(DecryptionError):
        RING.decrypt(made["token"], PLACES[0])


def test_the_key_of_one_thread_opens_no_other(library: Library) -> None:
    token = RING.encrypt(b"{}", PLACES[0])
    answers = library([opening(token, place) for place in PLACES])
    assert ["error" in answer for answer in answers] == [False, True, True, False, True]


def opening(token: str, place: Binding) -> dict[str, Any]:
    return {"do": "open", "token": token, "key": key(place)}


def making(plaintext: bytes, place: Binding, header: dict[str, Any]) -> dict[str, Any]:
    return {"do": "make", "plaintext": base64url(plaintext), "header": header, "key": key(place)}


def key(place: Binding) -> str:
    return base64url(RING.content_key("2026-10", place.thread_id, place.tenant))


def read(text: str) -> bytes:
    value = from_base64url(text)
    assert value is not None
    return value
