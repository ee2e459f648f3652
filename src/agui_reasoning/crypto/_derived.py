"""A cache of derived keys, because each derivation hashes the thread ID, which can be long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._derive import content_info, derive, entity_info, entity_mac
from agui_reasoning.crypto._recent import Recent
from agui_reasoning.crypto._secret import Secret

__all__ = ["DerivedKeys"]

_RECENT: Final = 16

_Thread: TypeAlias = tuple[Secret, str, str]
"""The ring key, the thread and the tenant. Secrets are equal only to themselves."""


class DerivedKeys:
    """Derives keys per ring key, tenant and thread, and caches the last 16 of each kind for a while."""

    __slots__ = ("_ciphers", "_entity_keys")

    def __init__(self, max_age_s: float, now: Callable[[], float]) -> None:
        self._ciphers: Recent[_Thread, AESGCM] = Recent(_RECENT, max_age_s, now)
        self._entity_keys: Recent[_Thread, Secret] = Recent(_RECENT, max_age_s, now)

    def cipher(self, key: Secret, binding: Binding) -> AESGCM:
        """Return the cipher of a thread for a ring key."""
        thread = key, binding.thread_id, binding.tenant
        cipher = self._ciphers.get(thread)
        if cipher is None:
            cipher = AESGCM(derive(key, content_info(binding)).reveal())
            self._ciphers.put(thread, cipher)
        return cipher

    def entity_mac(self, key: Secret, binding: Binding) -> str:
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
