"""Decryption of the tokens of one request, with a single look-up and derivation per key.

Clients choose the key IDs of tokens, so the number of look-ups of unknown IDs is limited.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._derived import DerivedKeys
from agui_reasoning.crypto._held import FetchedKeys, HeldKeys, LookUps
from agui_reasoning.crypto._jwe import Header, claims_type, header_of, read_header, read_token, unseal
from agui_reasoning.crypto._run_keys import RunKeys
from agui_reasoning.crypto._secret import Secret

__all__ = ["TokenReader"]


@dataclass(frozen=True, slots=True)
class _Key:
    """A ring key, and the thread's cipher derived from it."""

    secret: Secret
    cipher: AESGCM


@dataclass(slots=True)
class TokenReader:
    """Decrypts the tokens of one request, which have the same binding.

    Attributes:
        keys: The ring keys.
        stand_in: Used instead of an unknown key.
        now: Returns the Unix time in seconds.
        binding: The binding of the tokens.
        derived: Derives the keys of the thread.
    """

    keys: HeldKeys | FetchedKeys | RunKeys
    stand_in: Secret
    now: Callable[[], float]
    binding: Binding
    derived: DerivedKeys
    _look_ups: LookUps = field(default_factory=LookUps, init=False, repr=False)
    _ready: dict[str | None, _Key] = field(default_factory=dict, init=False, repr=False)
    _failed: dict[str, Exception | None] = field(default_factory=dict, init=False, repr=False)
    _header: tuple[str, Header | None] = field(default=("", None), init=False, repr=False)
    """The header of the last token, which most tokens of a thread share."""

    def recognizes(self, text: str) -> bool:
        """Return whether a value looks like a token of this package; see `looks_like_token`."""
        return self._read_header(header_of(text)) is not None or claims_type(text)

    def open(self, text: str) -> Secret | None:
        """Decrypt a token; return ``None`` if that fails, in the same time for every reason where possible.

        Raises:
            Exception: The callable failed to fetch the key. The exception is raised again for the same key,
                without another call.
        """
        token = read_token(text, self._read_header) if isinstance(text, str) else None
        if token is None:
            return None
        key = self._key(token.header.kid)
        plaintext = unseal(key.cipher, token)
        if plaintext is None or self._is_over(token.header) or not self._fits(token.header, key):
            return None
        return plaintext

    def _read_header(self, segment: str) -> Header | None:
        if segment != self._header[0]:
            self._header = segment, read_header(segment)
        return self._header[1]

    def _key(self, kid: str) -> _Key:
        if kid in self._ready:
            return self._ready[kid]
        secret = self._look_up(kid)
        # An unknown key is treated as a wrong one, so that the tag does not match.
        name = None if secret is None else kid
        if name not in self._ready:
            chosen = self.stand_in if secret is None else secret
            self._ready[name] = _Key(chosen, self.derived.cipher(chosen, self.binding))
        return self._ready[name]

    def _look_up(self, kid: str) -> Secret | None:
        """Look up a key, and each missing key only once."""
        if kid in self._failed:
            if error := self._failed[kid]:
                raise error
            return None
        try:
            secret = self.keys.find(kid, self._look_ups)
        except Exception as error:
            self._failed[kid] = error
            raise
        if secret is None:
            self._failed[kid] = None
        return secret

    def _is_over(self, header: Header) -> bool:
        return header.exp is not None and self.now() >= header.exp

    def _fits(self, header: Header, key: _Key) -> bool:
        """Return whether header and binding have the same entity, or none."""
        if header.entity is None or not self.binding.entity_id:
            return header.entity is None and not self.binding.entity_id
        return hmac.compare_digest(header.entity, self.derived.entity_mac(key.secret, self.binding))
