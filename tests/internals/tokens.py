"""The parts of a token and of a ring, for tests that take them apart."""

from agui_reasoning.crypto._jwe import (
    MAX_TOKEN_CHARS,
    Header,
    Secret,
    TimedCache,
    Token,
    base64url,
    content_info,
    derive,
    from_base64url,
    read_header,
    read_token,
    seal,
    unseal,
    write_header,
)
from agui_reasoning.crypto._sources import Key

__all__ = [
    "MAX_TOKEN_CHARS",
    "Header",
    "Key",
    "Secret",
    "TimedCache",
    "Token",
    "base64url",
    "content_info",
    "derive",
    "from_base64url",
    "read_header",
    "read_token",
    "seal",
    "unseal",
    "write_header",
]
