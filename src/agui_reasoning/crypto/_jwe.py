"""JWE compact serialization (RFC 7516), restricted to the form that this package writes, in base64url.

``alg`` is ``dir``, ``enc`` is ``A256GCM``, without compression and with an empty second segment. Other forms
of JOSE are rejected before a key is looked up. Reading returns ``None`` without a reason, because
distinguishable failures would help an attacker to forge tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, NoReturn, TypeVar, final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import MsgspecError
from msgspec.json import Decoder, Encoder

from agui_reasoning._strict_json import dump

MAX_TOKEN_CHARS: Final = 16_777_216
"""The maximum length of a token; longer text is rejected without parsing."""

MAX_PLAINTEXT_BYTES: Final = 12_000_000
"""The maximum size of a plaintext, including padding."""

MAX_EXPIRY: Final = 2**53 - 1
"""The largest integer that all JSON parsers represent exactly."""

KID: Final = re.compile(r"[!-+\--9;-~]{1,64}")
"""A key ID: visible ASCII without comma and colon, which separate keys in their text form."""

NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_MAX_HEADER_CHARS: Final = 1024
_MAC: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_TYPE: Final = "agui-reasoning+jwe"
_FIXED: Final = {"alg": "dir", "enc": "A256GCM", "typ": _TYPE}
_MEMBERS: Final = frozenset({*_FIXED, "kid", "exp", "entity"})


_Hidden_co = TypeVar("_Hidden_co", covariant=True)


@final
class Secret(Generic[_Hidden_co]):
    """Key material or plaintext that is not shown by ``repr`` and cannot be pickled.

    Local variables of this package contain secrets instead of bytes, because tracebacks can show their
    ``repr``.
    """

    __slots__ = ("_value",)

    def __init__(self, value: _Hidden_co) -> None:
        self._value = value

    def reveal(self) -> _Hidden_co:
        """Return the value. Call it inside an expression, so that it is not stored in a local variable."""
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled")


@dataclass(frozen=True, slots=True)
class Header:
    """The variable members of a protected header.

    Attributes:
        kid: The ID of the ring key.
        exp: The Unix time in seconds at which the token expires; ``None`` for never.
        entity: The MAC of the entity that the token is bound to, if any.
    """

    kid: str
    exp: int | None = None
    entity: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A parsed token.

    Attributes:
        protected: The first segment, unchanged, which is the associated data.
        header: The parsed first segment.
        nonce: The nonce, 12 bytes.
        sealed: Ciphertext and tag.
    """

    protected: str
    header: Header
    nonce: bytes
    sealed: bytes


def write_header(header: Header) -> str:
    """Write a protected header as the first segment of a token."""
    members: dict[str, Any] = {"alg": "dir", "enc": "A256GCM", "kid": header.kid, "typ": _TYPE}
    if header.exp is not None:
        members["exp"] = header.exp
    if header.entity is not None:
        members["entity"] = header.entity
    return base64url(dump(members).encode())


def read_header(segment: str) -> Header | None:
    """Read the first segment of a token; ``None`` unless it has the form that this package writes."""
    members = _members(segment)
    if members is None or not members.keys() <= _MEMBERS:
        return None
    if any(members.get(name) != value for name, value in _FIXED.items()):
        return None
    kid, exp, entity = (members.get(name) for name in ("kid", "exp", "entity"))
    known = (
        isinstance(kid, str)
        and KID.fullmatch(kid) is not None
        and ("exp" not in members or _is_expiry(exp))
        and ("entity" not in members or (isinstance(entity, str) and _MAC.fullmatch(entity) is not None))
    )
    return Header(str(kid), exp, entity) if known else None


def claims_type(text: str) -> bool:
    """Return whether text begins with a protected header of this package's type."""
    members = _members(header_of(text))
    return members is not None and members.get("typ") == _TYPE


def header_of(text: str) -> str:
    """Return the first segment of a possible token without copying the rest; empty if there is none."""
    end = text.find(".", 0, _MAX_HEADER_CHARS + 1)
    return text[: max(end, 0)]


def read_token(text: str, read_header: Callable[[str], Header | None] = read_header) -> Token | None:
    """Parse a token; return ``None`` if it is invalid. Readers of many tokens cache headers."""
    if len(text) > MAX_TOKEN_CHARS or text.count(".") != 4:
        return None
    protected, wrapped_key, *rest = text.split(".")
    header = read_header(protected)
    if header is None or wrapped_key:
        return None
    nonce, ciphertext, tag = map(from_base64url, rest)
    if nonce is None or ciphertext is None or tag is None:
        return None
    if len(nonce) != NONCE_BYTES or len(tag) != _TAG_BYTES:
        return None
    return Token(protected, header, nonce, ciphertext + tag)


def seal(cipher: AESGCM, protected: str, nonce: bytes, plaintext: Secret[bytes]) -> str:
    """Encrypt a plaintext, with a protected header, into a token."""
    sealed = cipher.encrypt(nonce, plaintext.reveal(), protected.encode("ascii"))
    ciphertext, tag = base64url(sealed[:-_TAG_BYTES]), base64url(sealed[-_TAG_BYTES:])
    return f"{protected}..{base64url(nonce)}.{ciphertext}.{tag}"


def unseal(cipher: AESGCM, token: Token) -> Secret[bytes] | None:
    """Decrypt a token; return ``None`` if the tag does not match."""
    try:
        return Secret(cipher.decrypt(token.nonce, token.sealed, token.protected.encode("ascii")))
    except InvalidTag:
        return None


def _is_expiry(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_EXPIRY


def _members(segment: str) -> dict[str, Any] | None:
    """Return the members of a JSON object in base64url; ``None`` if it is malformed or has duplicates."""
    text = from_base64url(segment) if len(segment) <= _MAX_HEADER_CHARS else None
    if text is None:
        return None
    try:
        value = json.loads(text.decode(), object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate member")
    return members


# -- base64url, in canonical form

_FOREIGN: Final = ('"', "+", "/", "=", "\\")
"""Characters of base64 and of JSON strings that base64url does not have."""

_LAST: Final[dict[int, frozenset[str]]] = {2: frozenset("AQgw"), 3: frozenset("AEIMQUYcgkosw048")}
"""The characters without surplus bits that can end a text, by the number of characters in its last group."""

_BYTES: Final = Decoder(bytes)
_JSON: Final = Encoder()
"""msgspec writes and reads bytes as JSON strings in base64, several times faster than the `base64` module."""


def base64url(value: bytes) -> str:
    """Encode bytes as base64url without padding (RFC 7515, section 2)."""
    padding = -len(value) % 3
    text = _JSON.encode(value)[1 : -1 - padding]
    return text.replace(b"+", b"-").replace(b"/", b"_").decode("ascii")


def from_base64url(text: str) -> bytes | None:
    """Decode base64url; return ``None`` for text that `base64url` does not produce.

    Decoders ignore surplus bits, so that several texts would decode to the same bytes.
    """
    surplus = len(text) % 4
    if surplus and text[-1] not in _LAST.get(surplus, ()):
        return None
    if any(character in text for character in _FOREIGN):
        return None
    try:
        data = text.encode("ascii").replace(b"-", b"+").replace(b"_", b"/")
        return _BYTES.decode(b'"%b%b"' % (data, b"=" * (-surplus % 4)))
    except (UnicodeEncodeError, MsgspecError):
        return None
