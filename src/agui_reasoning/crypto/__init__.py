"""Encryption of ``encryptedValue`` as JWE tokens, with a key ring, bound to tenant and thread.

Any JOSE library can open the tokens with `KeyRing.content_key`. Every failure to decrypt raises the same
`agui_reasoning.errors.DecryptionError`.
"""

from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._keys import KeyRing, looks_like_token
from agui_reasoning.crypto._rekey import rekey_messages

__all__ = [
    "Binding",
    "KeyRing",
    "looks_like_token",
    "rekey_messages",
]
