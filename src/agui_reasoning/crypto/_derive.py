"""Derivation of keys from a ring key (HKDF, RFC 5869), one per tenant and thread, to avoid nonce collisions.

Inputs are length-prefixed, so that tenant ``a`` with thread ``bc`` differs from tenant ``ab`` with thread
``c``.
"""

from __future__ import annotations

import os
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from agui_reasoning.crypto import _base64url as base64url
from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._secret import Secret

__all__ = ["KEY_BYTES", "content_info", "derive", "entity_info", "entity_mac", "random_bytes"]

KEY_BYTES: Final = 32
"""Length of ring keys and of derived keys."""

# The labels contain the version of the derivation. Neither is a prefix of the other.
_CONTENT: Final = b"agui-reasoning/1/content"
_ENTITY: Final = b"agui-reasoning/1/entity"


def random_bytes(count: int) -> bytes:
    """Return random bytes from the operating system; the only source of keys and nonces."""
    return os.urandom(count)


def content_info(binding: Binding) -> bytes:
    """Return the HKDF info of a content key: tenant and thread."""
    return _CONTENT + _prefixed(binding.tenant) + _prefixed(binding.thread_id)


def derive(ring_key: Secret, info: bytes) -> Secret:
    """Derive 32 bytes with HKDF-SHA256, without salt, because ring keys are random."""
    return Secret(HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(ring_key.reveal()))


def entity_info(binding: Binding) -> bytes:
    """Return the HKDF info of an entity key: tenant and thread."""
    return _ENTITY + _prefixed(binding.tenant) + _prefixed(binding.thread_id)


def entity_mac(entity_key: Secret, binding: Binding) -> str:
    """Return the HMAC-SHA256 of the entity as base64url.

    A MAC instead of a hash, so that the entity of a token cannot be guessed without the key.
    """
    mac = HMAC(entity_key.reveal(), SHA256())
    mac.update(_prefixed(binding.subtype) + _prefixed(binding.entity_id))
    return base64url.encode(mac.finalize())


def _prefixed(text: str) -> bytes:
    """Return UTF-8 after its length (4 bytes, big-endian). Lone surrogates are encoded too."""
    value = text.encode("utf-8", "surrogatepass")
    return len(value).to_bytes(4, "big") + value
