"""base64url without padding (RFC 7515, section 2), in its one canonical spelling."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

__all__ = ["decode", "encode"]

_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]*")


def encode(value: bytes) -> str:
    """Write bytes as base64url."""
    return urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes | None:
    """Read base64url, or give ``None`` for anything that `encode` does not write.

    The standard library skips foreign characters and ignores the bits behind the last byte, so that
    several texts would stand for the same bytes. Here a changed text is a different one, or none.
    """
    if len(text) % 4 == 1 or _ALPHABET.fullmatch(text) is None:
        return None
    value = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return value if encode(value) == text else None
