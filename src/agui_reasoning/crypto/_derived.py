"""A cache of derived keys, because each derivation hashes the thread ID, which can be long."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._derive import content_info, derive, entity_info, entity_mac
from agui_reasoning.crypto._secret import Secret

__all__ = ["DerivedKeys"]

_RECENT: Final = 16


class DerivedKeys:
    """Derives keys per ring key and thread, and caches the last 16 of each kind."""

    __slots__ = ("_ciphers", "_entity_keys")

    def __init__(self) -> None:
        self._ciphers = lru_cache(maxsize=_RECENT)(_cipher)
        self._entity_keys = lru_cache(maxsize=_RECENT)(_entity_key)

    def cipher(self, key: Secret, binding: Binding) -> AESGCM:
        """Return the cipher of a thread for a ring key."""
        return self._ciphers(key, binding.thread_id, binding.tenant)

    def entity_mac(self, key: Secret, binding: Binding) -> str:
        """Return the MAC of a binding's entity."""
        return entity_mac(self._entity_keys(key, binding.thread_id, binding.tenant), binding)

    def forget(self) -> None:
        """Clear the cache."""
        self._ciphers.cache_clear()
        self._entity_keys.cache_clear()


def _cipher(key: Secret, thread_id: str, tenant: str) -> AESGCM:
    return AESGCM(derive(key, content_info(Binding(thread_id, tenant=tenant))).reveal())


def _entity_key(key: Secret, thread_id: str, tenant: str) -> Secret:
    return derive(key, entity_info(Binding(thread_id, tenant=tenant)))
