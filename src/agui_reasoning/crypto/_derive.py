"""Keys derived from a ring key (HKDF, RFC 5869): one per tenant and thread, so that no two share a nonce.

What goes in is length-prefixed: tenant ``a`` with thread ``bc`` is not tenant ``ab`` with thread ``c``.
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

# The version of the derivation is in the labels; neither is the beginning of the other.
_CONTENT: Final = b"agui-reasoning/1/content"
_ENTITY: Final = b"agui-reasoning/1/entity"


def random_bytes(count: int) -> bytes:
    """Random bytes from the operating system: the one place where keys and nonces come from."""
    return os.urandom(count)


def content_info(binding: Binding) -> bytes:
    """What a content key is derived for: the tenant and the thread."""
    return _CONTENT + _prefixed(binding.tenant) + _prefixed(binding.thread_id)


def derive(ring_key: Secret, info: bytes) -> Secret:
    """Derive 32 bytes with HKDF-SHA256, without salt: ring keys are random already."""
    return Secret(HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(ring_key.reveal()))


def entity_info(binding: Binding) -> bytes:
    """What the sibling of a content key is derived for: the tenant and the thread too."""
    return _ENTITY + _prefixed(binding.tenant) + _prefixed(binding.thread_id)


def entity_mac(entity_key: Secret, binding: Binding) -> str:
    """HMAC-SHA256 of the entity, under a sibling of the content key, as base64url.

    A MAC and not a hash: nobody without the key can tell which entity a token belongs to.
    """
    mac = HMAC(entity_key.reveal(), SHA256())
    mac.update(_prefixed(binding.subtype) + _prefixed(binding.entity_id))
    return base64url.encode(mac.finalize())


def _prefixed(text: str) -> bytes:
    """UTF-8 behind its length in 4 bytes, big-endian; half characters, which JSON can hold, stay apart."""
    value = text.encode("utf-8", "surrogatepass")
    return len(value).to_bytes(4, "big") + value
