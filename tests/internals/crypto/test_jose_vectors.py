"""Check published test vectors with the functions that make tokens.

RFC 4648 and 7515 for base64url, RFC 5869 for HKDF, the AES-256 cases of McGrew and Viega's "The
Galois/Counter Mode of Operation" for GCM, RFC 7516 A.1 and RFC 7520 5.6 for GCM with a protected header.
"""

from __future__ import annotations

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agui_reasoning.crypto import Binding, KeyRing
from tests.internals.tokens import (
    Header,
    Secret,
    Token,
    base64url,
    content_info,
    derive,
    from_base64url,
    read_header,
    read_token,
    seal,
    unseal,
)

# -- base64url


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # RFC 4648, section 10, without the padding
        (b"", ""),
        (b"f", "Zg"),
        (b"fo", "Zm8"),
        (b"foo", "Zm9v"),
        (b"foob", "Zm9vYg"),
        (b"fooba", "Zm9vYmE"),
        (b"foobar", "Zm9vYmFy"),
        # RFC 7515, appendix C
        (bytes([3, 236, 255, 224, 193]), "A-z_4ME"),
        # RFC 7516, appendix A.1.1
        (b'{"alg":"RSA-OAEP","enc":"A256GCM"}', "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ"),
    ],
)
def test_base64url(value: bytes, text: str) -> None:
    assert base64url(value) == text
    assert from_base64url(text) == value


# -- HKDF-SHA256: RFC 5869, appendix A

HKDF = [
    (
        "0b" * 22,
        "000102030405060708090a0b0c",
        "f0f1f2f3f4f5f6f7f8f9",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        bytes(range(0x00, 0x50)).hex(),
        bytes(range(0x60, 0xB0)).hex(),
        bytes(range(0xB0, 0x100)).hex(),
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
        "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
        "cc30c58179ec3e87c14c01d5c1f3434f1d87",
    ),
    (
        "0b" * 22,
        "",
        "",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
]


def by_hand(key: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    """HKDF-SHA256 as the RFC writes it down."""
    secret = hmac.digest(salt or bytes(32), key, hashlib.sha256)
    output, block = b"", b""
    while len(output) < size:
        block = hmac.digest(secret, block + info + bytes([len(output) // 32 + 1]), hashlib.sha256)
        output += block
    return output[:size]


@pytest.mark.parametrize(("key", "salt", "info", "output"), HKDF)
def test_hkdf_by_hand_is_the_published_one(key: str, salt: str, info: str, output: str) -> None:
    made = by_hand(bytes.fromhex(key), bytes.fromhex(salt), bytes.fromhex(info), len(output) // 2)
    assert made.hex() == output


def test_hkdf_without_salt() -> None:
    key, _, info, output = HKDF[2]
    assert derive(Secret(bytes.fromhex(key)), bytes.fromhex(info)).reveal().hex() == output[:64]


@pytest.mark.parametrize(("tenant", "thread"), [("", ""), ("acme", "thread-1"), ("é", "🙂" * 100)])
def test_the_content_key_is_hkdf_of_the_ring_key_for_tenant_and_thread(tenant: str, thread: str) -> None:
    lengths = [len(name.encode()).to_bytes(4, "big") + name.encode() for name in (tenant, thread)]
    info = b"agui-reasoning/1/content" + b"".join(lengths)
    assert content_info(Binding(thread, tenant=tenant)) == info
    ring = KeyRing({"k": bytes(range(32))})
    assert ring.content_key("k", thread, tenant) == by_hand(bytes(range(32)), b"", info, 32)


# -- AES-256-GCM: test cases 13 to 15 of the specification that was submitted to NIST

GCM = [
    ("00" * 32, "00" * 12, "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
    (
        "00" * 32,
        "00" * 12,
        "00" * 16,
        "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919",
    ),
    (
        "feffe9928665731c6d6a8f9467308308" * 2,
        "cafebabefacedbaddecaf888",
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
        "b094dac5d93471bdec1a502270e3cc6c",
    ),
]


@pytest.mark.parametrize("case", GCM, ids=["13", "14", "15"])
def test_gcm_seals_and_unseals(case: tuple[str, ...]) -> None:
    key, nonce, plaintext, ciphertext, tag = map(bytes.fromhex, case)
    segments = ["", "", *map(base64url, (nonce, ciphertext, tag))]
    assert seal(AESGCM(key), "", nonce, Secret(plaintext)) == ".".join(segments)
    assert revealed(key, "", nonce, ciphertext + tag) == plaintext
    assert revealed(key, "", nonce, ciphertext + tag[:-1] + bytes([tag[-1] ^ 1])) is None


# -- with a protected header as associated data

RFC_7516_A_1 = (
    "eyJhbGciOiJSU0EtT0FFUCIsImVuYyI6IkEyNTZHQ00ifQ",
    "48V1_ALb6US04U3b",
    "5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpzs9tX_EFShS8iB7j6jiSdiwkIr3ajwQzaBtQD_A",
    "XFBoMYUZodetZdvTiFvSkQ",
)
RFC_7516_A_1_KEY = bytes.fromhex("b1a1f480548fe1733fb403ff6b9ad4f68a076e5b702e22692f82cb2e7aea40fc")
RFC_7520_5_6 = (
    "eyJhbGciOiJkaXIiLCJraWQiOiI3N2M3ZTJiOC02ZTEzLTQ1Y2YtODY3Mi02MTdiNWI0NTI0M2EiLCJlbmMiOiJBMTI4R0NNIn0",
    "refa467QzzKx6QAB",
    "JW_i_f52hww_ELQPGaYyeAB6HYGcR559l9TYnSovc23XJoBcW29rHP8yZOZG7YhLpT1bjFuvZPjQS-m0IFtVcXkZXdH_lr_FrdYt9HRUYk"
    "shtrMmIUAyGmUnd9zMDB2n0cRDIHAzFVeJUDxkUwVAE7_YGRPdcqMyiBoCO-FBdE-Nceb4h3-FtBP-c_BIwCPTjb9o0SbdcdREEMJMyZBH"
    "8ySWMVi1gPD9yxi-aQpGbSv_F9N4IZAxscj5g-NJsUPbjk29-s7LJAGb15wEBtXphVCgyy53CoIKLHHeJHXex45Uz9aKZSRSInZI-wjsY0"
    "yu3cT4_aQ3i1o-tiE-F8Ios61EKgyIQ4CWao8PFMj8TTnp",
    "vbb32Xvllea2OtmHAdccRQ",
)
RFC_7520_5_6_KEY = "XctOhJAkA-pD9Lh7ZgW_2A"


def test_rfc_7516_a_1() -> None:
    protected, nonce, ciphertext, tag = RFC_7516_A_1
    sealed = read(ciphertext) + read(tag)
    plaintext = b"The true sign of intelligence is not knowledge but imagination."
    assert revealed(RFC_7516_A_1_KEY, protected, read(nonce), sealed) == plaintext
    made = seal(AESGCM(RFC_7516_A_1_KEY), protected, read(nonce), Secret(plaintext))
    assert made == ".".join([protected, "", nonce, ciphertext, tag])
    assert revealed(RFC_7516_A_1_KEY, protected[:-1] + "R", read(nonce), sealed) is None


def test_rfc_7520_5_6_which_is_direct_encryption() -> None:
    protected, nonce, ciphertext, tag = RFC_7520_5_6
    plaintext = revealed(read(RFC_7520_5_6_KEY), protected, read(nonce), read(ciphertext) + read(tag))
    assert plaintext is not None
    assert plaintext.decode().startswith("You can trust us to stick with you through thick and thin")
    made = seal(AESGCM(read(RFC_7520_5_6_KEY)), protected, read(nonce), Secret(plaintext))
    assert made == ".".join([protected, "", nonce, ciphertext, tag])


@pytest.mark.parametrize("vector", [RFC_7516_A_1, RFC_7520_5_6])
def test_tokens_of_other_kinds_are_refused_although_they_are_sound(vector: tuple[str, ...]) -> None:
    protected, *rest = vector
    assert read_header(protected) is None
    assert read_token(".".join([protected, "", *rest])) is None


def read(text: str) -> bytes:
    value = from_base64url(text)
    assert value is not None
    return value


def revealed(key: bytes, protected: str, nonce: bytes, sealed: bytes) -> bytes | None:
    opened = unseal(AESGCM(key), Token(protected, Header("k"), nonce, sealed))
    return None if opened is None else opened.reveal()
