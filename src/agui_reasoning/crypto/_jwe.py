"""JWE compact serialization (RFC 7516), restricted to the form that this package writes, in base64url.

``alg`` is ``dir``, ``enc`` is ``A256GCM``, without compression and with an empty second segment. Other forms
of JOSE are rejected before a key is looked up. Reading returns ``None`` without a reason, because
distinguishable failures would help an attacker to forge tokens.

The keys are derived for bindings (HKDF, RFC 5869): one per tenant and thread, to avoid nonce collisions. They
are cached, because each derivation hashes the thread ID, which can be long.
"""

from __future__ import annotations

import json
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass
from threading import Lock
from typing import Any, Final, Generic, Literal, NoReturn, TypeAlias, TypeVar, final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import MsgspecError
from msgspec.json import Decoder, Encoder

from agui_reasoning._forks import renew_lock_after_fork
from agui_reasoning._strict_json import dump
from agui_reasoning.errors import ConfigurationError

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
        is_kid(kid)
        and ("exp" not in members or _is_expiry(exp))
        and ("entity" not in members or (isinstance(entity, str) and _MAC.fullmatch(entity) is not None))
    )
    return Header(str(kid), exp, entity) if known else None


def is_kid(kid: object) -> bool:
    """Return whether a value is a valid key ID."""
    return isinstance(kid, str) and KID.fullmatch(kid) is not None


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


# -- bindings, the keys that are derived for them, and caches

Subtype: TypeAlias = Literal["message", "tool-call"]
_SUBTYPES = ("message", "tool-call")


@dataclass(frozen=True, slots=True)
class Binding:
    """The tenant, thread and optional entity that a token is bound to.

    Tokens cannot be decrypted with another binding.

    Attributes:
        thread_id: The thread ID. Clients choose it, so it does not separate users.
        tenant: The owner of the thread. Take it from your authentication, never from the request body.
        entity_id: The ID of the message or tool call that stores the token, or empty for no entity. A token
            with an entity can only be decrypted for the same entity, and one without only for no entity.
        subtype: The type of the entity; ignored without ``entity_id``.

    Raises:
        ConfigurationError: A field has a wrong type or value (``bad_binding``).

    Examples:
        >>> Binding("thread-1", tenant="acme")
        Binding(thread_id='thread-1', tenant='acme', entity_id='', subtype='message')
    """

    thread_id: str
    _: KW_ONLY
    tenant: str = ""
    entity_id: str = ""
    subtype: Subtype = "message"

    def __post_init__(self) -> None:
        for name in ("thread_id", "tenant", "entity_id"):
            if not isinstance(getattr(self, name), str):
                raise _bad_binding(f"{name} is {type(getattr(self, name)).__name__}, not str.")
        if self.subtype not in _SUBTYPES:
            raise _bad_binding("subtype is neither message nor tool-call.")


def _bad_binding(problem: str) -> ConfigurationError:
    return ConfigurationError(
        f"The binding is invalid: {problem}",
        code="bad_binding",
        hint="Pass the thread ID, and the tenant if there are several.",
    )


# -- derivation

KEY_BYTES: Final = 32
"""Length of ring keys and of derived keys."""

# The labels contain the version of the derivation. None is a prefix of another. What follows has its
# length before it, so that tenant ``a`` with thread ``bc`` differs from tenant ``ab`` with thread ``c``.
_CONTENT: Final = b"agui-reasoning/1/content"
_ENTITY: Final = b"agui-reasoning/1/entity"
_INDEX: Final = b"agui-reasoning/1/index"


def random_bytes(count: int) -> bytes:
    """Return random bytes from the operating system; the only source of keys and nonces."""
    return os.urandom(count)


def content_info(binding: Binding, label: bytes = _CONTENT) -> bytes:
    """Return the HKDF info of a content key, or of one with another label: tenant and thread."""
    return label + _prefixed(binding.tenant) + _prefixed(binding.thread_id)


def derive(ring_key: Secret[bytes], info: bytes) -> Secret[bytes]:
    """Derive 32 bytes with HKDF-SHA256, without salt, because ring keys are random."""
    return Secret(HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(ring_key.reveal()))


def entity_mac(entity_key: Secret[bytes], binding: Binding) -> str:
    """Return the HMAC-SHA256 of the entity as base64url.

    A MAC instead of a hash, so that the entity of a token cannot be guessed without the key.
    """
    mac = HMAC(entity_key.reveal(), SHA256())
    mac.update(_prefixed(binding.subtype) + _prefixed(binding.entity_id))
    return base64url(mac.finalize())


def blind_index(ring_key: Secret[bytes], name: bytes) -> str:
    """Return the HMAC-SHA256 of a name under a key of its own, as base64url."""
    mac = HMAC(derive(ring_key, _INDEX).reveal(), SHA256())
    mac.update(name)
    return base64url(mac.finalize())


def _prefixed(text: str) -> bytes:
    """Return UTF-8 after its length (4 bytes, big-endian). Lone surrogates are encoded too."""
    value = text.encode("utf-8", "surrogatepass")
    return len(value).to_bytes(4, "big") + value


# -- caches

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TimedCache(Generic[K, V]):
    """A thread-safe cache of the values used last.

    Expired values are removed when the cache is next used, whichever value is asked for.
    """

    __slots__ = ("__weakref__", "_lock", "_max_age_s", "_most", "_now", "_oldest", "_values")

    def __init__(self, most: int, max_age_s: float, now: Callable[[], float]) -> None:
        """Create an empty cache.

        Args:
            most: The number of values to keep.
            max_age_s: The seconds for which a value is kept.
            now: Returns the time in seconds. Values from its future have expired: the clock was set back.
        """
        self._most = most
        self._max_age_s = max_age_s
        self._now = now
        self._values: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._oldest = 0.0
        self._lock = Lock()
        renew_lock_after_fork(self)

    def get(self, key: K) -> V | None:
        """Return a value that has not expired, or ``None``."""
        with self._lock:
            self._expire(self._now())
            held = self._values.get(key)
            if held is None:
                return None
            self._values.move_to_end(key)
            return held[1]

    def put(self, key: K, value: V) -> None:
        """Keep a value from now on."""
        with self._lock:
            now = self._now()
            self._expire(now)
            self._oldest = min(now, self._oldest) if self._values else now
            self._values[key] = now, value
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()

    def _expire(self, now: float) -> None:
        if not self._values or 0 <= now - self._oldest < self._max_age_s:
            return
        expired = [key for key, (since, _) in self._values.items() if not 0 <= now - since < self._max_age_s]
        for key in expired:
            del self._values[key]
        self._oldest = min((since for since, _ in self._values.values()), default=now)


_DERIVED: Final = 16

_Thread: TypeAlias = tuple[Secret[bytes], str, str]
"""The ring key, the thread and the tenant. Secrets are equal only to themselves."""


class DerivedKeys:
    """Derives keys per ring key, tenant and thread, and caches the last 16 of each kind for a while."""

    __slots__ = ("_ciphers", "_entity_keys")

    def __init__(self, max_age_s: float, now: Callable[[], float]) -> None:
        self._ciphers: TimedCache[_Thread, AESGCM] = TimedCache(_DERIVED, max_age_s, now)
        self._entity_keys: TimedCache[_Thread, Secret[bytes]] = TimedCache(_DERIVED, max_age_s, now)

    def cipher(self, key: Secret[bytes], binding: Binding) -> AESGCM:
        """Return the cipher of a thread for a ring key."""
        thread = key, binding.thread_id, binding.tenant
        cipher = self._ciphers.get(thread)
        if cipher is None:
            cipher = AESGCM(derive(key, content_info(binding)).reveal())
            self._ciphers.put(thread, cipher)
        return cipher

    def entity_mac(self, key: Secret[bytes], binding: Binding) -> str:
        """Return the MAC of a binding's entity."""
        thread = key, binding.thread_id, binding.tenant
        entity_key = self._entity_keys.get(thread)
        if entity_key is None:
            entity_key = derive(key, content_info(binding, _ENTITY))
            self._entity_keys.put(thread, entity_key)
        return entity_mac(entity_key, binding)

    def forget(self) -> None:
        """Clear the cache."""
        self._ciphers.clear()
        self._entity_keys.clear()
