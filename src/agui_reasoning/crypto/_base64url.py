"""base64url without padding (RFC 7515, section 2), in canonical form."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

__all__ = ["decode", "encode"]

_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]*")


def encode(value: bytes) -> str:
    """Encode bytes as base64url."""
    return urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes | None:
    """Decode base64url; return ``None`` for text that `encode` does not produce.

    The standard library skips foreign characters and ignores surplus bits, so that several texts would decode
    to the same bytes.
    """
    if len(text) % 4 == 1 or _ALPHABET.fullmatch(text) is None:
        return None
    value = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return value if encode(value) == text else None
