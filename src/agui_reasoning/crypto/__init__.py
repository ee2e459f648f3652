"""Encryption of ``encryptedValue`` as JWE tokens, with a key ring, bound to tenant and thread.

Any JOSE library can open the tokens with `KeyRing.content_key`. Every failure to decrypt raises the same
`agui_reasoning.errors.DecryptionError`.
"""

from agui_reasoning.crypto._cache import Binding
from agui_reasoning.crypto._cache import Subtype as Subtype
from agui_reasoning.crypto._jwe import Secret as Secret
from agui_reasoning.crypto._rekey import rekey_messages
from agui_reasoning.crypto._rekey import renewed as renewed
from agui_reasoning.crypto._ring import DEFAULT_VARIABLE as DEFAULT_VARIABLE
from agui_reasoning.crypto._ring import KeyRing, looks_like_token
from agui_reasoning.crypto._ring import TokenReader as TokenReader
from agui_reasoning.crypto._ring import check_encrypt_options as check_encrypt_options
from agui_reasoning.crypto._ring import key_ids as key_ids
from agui_reasoning.crypto._ring import token_key_id as token_key_id
from agui_reasoning.crypto._sources import Fetching as Fetching
from agui_reasoning.crypto._sources import at_once as at_once

# Names with an alias are for the other packages of the library, not for its users.
__all__ = [
    "Binding",
    "KeyRing",
    "looks_like_token",
    "rekey_messages",
]
