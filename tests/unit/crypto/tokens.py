"""Make keys, places and tokens for the tests of `crypto`."""

from __future__ import annotations

import base64
import json
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.errors import DecryptionError

OLD_KEY = b"KEYMATERIAL-OLD-" * 2
NEW_KEY = b"KEYMATERIAL-NEW-" * 2
OLD = KeyRing({"old": OLD_KEY})
NEW = KeyRing({"new": NEW_KEY})
BOTH = KeyRing({"new": NEW_KEY, "old": OLD_KEY})
HOME = Binding("thread-1", tenant="acme")
TEXT = b'{"text":"PLAINTEXT-MARKER"}'


def base64url(value: bytes) -> str:
    """Bytes as base64url without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """The bytes of base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def closed(ring: KeyRing, token: Any, binding: Binding = HOME) -> DecryptionError:
    """Fail unless a token does not open."""
    with pytest.raises(DecryptionError) as caught:
        ring.decrypt(token, binding)
    return caught.value


def frames(action: Callable[[], object]) -> str:
    """What a traceback that shows local variables tells of the frames below the caller's."""
    try:
        action()
    except Exception as error:
        inner = error.__traceback__.tb_next.tb_next  # neither this frame nor the action's
        told = traceback.TracebackException(type(error), error, inner, capture_locals=True)
        return "".join(told.format())
    raise AssertionError("it did not fail")


def altered(token: str) -> str:
    """A token with another tag, whatever its tag is."""
    head, tag = token.rsplit(".", 1)
    return f"{head}.{'B' if tag[0] == 'A' else 'A'}{tag[1:]}"


def with_header(token: str, members: dict[str, Any] | str) -> str:
    """A token with another first segment; its tag no longer fits."""
    text = members if isinstance(members, str) else json.dumps(members)
    return ".".join([base64url(text.encode()), *token.split(".")[1:]])


def header_of(token: str) -> dict[str, Any]:
    """What a token says of itself."""
    return json.loads(from_base64url(token.partition(".")[0]))


def forged(kid: str) -> str:
    return KeyRing({kid: OLD_KEY}).encrypt(TEXT, HOME)
