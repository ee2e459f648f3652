"""Encryption of what rides in ``encryptedValue``: JWE under a ring of keys, bound to tenant and thread.

Any JOSE library opens the tokens, given `KeyRing.content_key`. Everything that is wrong with a token is one
`agui_reasoning.errors.DecryptionError`.
"""

from agui_reasoning.crypto._arguments import check_encrypt_options
from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._keys import KeyRing, looks_like_token, token_key_id
from agui_reasoning.crypto._reader import TokenReader
from agui_reasoning.crypto._rekey import rekey_messages

__all__ = [
    "Binding",
    "KeyRing",
    "TokenReader",
    "check_encrypt_options",
    "looks_like_token",
    "rekey_messages",
    "token_key_id",
]
