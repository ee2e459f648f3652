"""Bindings, the keys that are derived for them (HKDF, RFC 5869), and caches.

There is a key per tenant and thread, to avoid nonce collisions. The derived keys are cached, because each
derivation hashes the thread ID, which can be long.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass
from threading import Lock
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from agui_reasoning._forks import renew_lock_after_fork
from agui_reasoning.crypto._jwe import Secret, base64url
from agui_reasoning.errors import ConfigurationError

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


def content_info(binding: Binding) -> bytes:
    """Return the HKDF info of a content key: tenant and thread."""
    return _CONTENT + _prefixed(binding.tenant) + _prefixed(binding.thread_id)


def derive(ring_key: Secret[bytes], info: bytes) -> Secret[bytes]:
    """Derive 32 bytes with HKDF-SHA256, without salt, because ring keys are random."""
    return Secret(HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(ring_key.reveal()))


def entity_info(binding: Binding) -> bytes:
    """Return the HKDF info of an entity key: tenant and thread."""
    return _ENTITY + _prefixed(binding.tenant) + _prefixed(binding.thread_id)


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
            entity_key = derive(key, entity_info(binding))
            self._entity_keys.put(thread, entity_key)
        return entity_mac(entity_key, binding)

    def forget(self) -> None:
        """Clear the cache."""
        self._ciphers.clear()
        self._entity_keys.clear()
