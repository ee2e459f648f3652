"""Writes and reads envelopes as plain JSON, or with keys as encrypted tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from msgspec import Struct, convert, to_builtins

from agui_reasoning._envelope.records import Envelope
from agui_reasoning._envelope.version1 import Version1
from agui_reasoning._strict_json import MAX_NESTING, dump, load
from agui_reasoning.errors import ConfigurationError, DecryptionError

if TYPE_CHECKING:
    from agui_reasoning.crypto import Binding, KeyRing
    from agui_reasoning.crypto._reader import TokenReader

__all__ = [
    "MAX_ENVELOPE_CHARS",
    "EnvelopeReader",
    "EnvelopeWriter",
    "OnUndecryptable",
    "Opened",
    "is_envelope",
    "looks_like_token",
    "plain_value",
    "read_envelope",
    "write_envelope",
]

MAX_ENVELOPE_CHARS: Final = 1_048_576
"""The maximum length of a value, in characters; the rest goes into further values."""

_TOKEN_FRAME: Final = 4_096
"""The size of a token apart from its ciphertext: header, nonce and tag."""

OnUndecryptable: TypeAlias = Literal["drop", "raise"]
"""How `restore` treats a token that cannot be decrypted."""


_PLAIN_MARK: Final = '{"k":"agui-reasoning"'
"""The first characters of plain envelopes, in every version."""


def is_envelope(value: str) -> bool:
    """Return whether a value claims to be an envelope of this package, plain or encrypted."""
    return value.startswith(_PLAIN_MARK) or looks_like_token(value)


def looks_like_token(value: str) -> bool:
    """Return whether a value looks like a token of this package."""
    from agui_reasoning import crypto  # many processes have no keys

    return crypto.looks_like_token(value)


def write_envelope(envelope: Envelope) -> str:
    """Return an envelope as plain JSON, without fields that have their default, except the marks."""
    marks = {"k": envelope.k, "v": envelope.v}
    return dump(marks | to_builtins(envelope))


def read_envelope(value: str) -> Envelope | None:
    """Read an envelope from plain JSON; ``None`` if it is not one of ours.

    The string is untrusted: types are checked strictly, unknown fields are ignored.
    """
    if len(value) > MAX_ENVELOPE_CHARS:
        return None
    document = load(value, max_nesting=MAX_NESTING)
    try:
        if isinstance(document, dict) and document.get("v") == 1:
            return convert(document, Version1).upgraded()
        return convert(document, Envelope)
    except ValueError:  # a wrong type, or half a character
        return None


def plain_value(envelope: Envelope) -> str | None:
    """Return an envelope as a plain value; ``None`` if it is too large for one value."""
    value = write_envelope(envelope)
    return value if len(value) <= MAX_ENVELOPE_CHARS else None


@dataclass(frozen=True, slots=True)
class EnvelopeWriter:
    """Writes encrypted envelopes.

    Attributes:
        keys: The key ring, whose primary key encrypts.
        binding: The tenant and thread of the envelopes.
        ttl_s: Seconds until they expire; ``None`` for never.
        pad_to: Pad the plaintext to a multiple of this many bytes; 0 disables padding.
    """

    keys: KeyRing
    binding: Binding
    ttl_s: int | None = None
    pad_to: int = 0

    def __post_init__(self) -> None:
        """Reject keys that cannot encrypt, before there is anything to encrypt."""
        from agui_reasoning.crypto import KeyRing
        from agui_reasoning.crypto._arguments import check_encrypt_options

        if not isinstance(self.keys, KeyRing):
            raise ConfigurationError(
                f"The keys are {type(self.keys).__name__}, not a KeyRing.",
                code="bad_keys",
                hint="Pass agui_reasoning.crypto.KeyRing, for example KeyRing.from_env().",
            )
        check_encrypt_options(self.ttl_s, self.pad_to)

    @property
    def room(self) -> int:
        """The number of bytes of JSON that fit into a value."""
        return (MAX_ENVELOPE_CHARS - _TOKEN_FRAME) // 4 * 3 - self.pad_to

    def write(self, envelope: Envelope) -> str | None:
        """Encrypt an envelope; ``None`` if it is too large for one value."""
        from agui_reasoning.crypto._secret import Secret

        # No variable holds the plaintext, because tracebacks may show local variables.
        secret = Secret(write_envelope(envelope).encode())
        if len(secret.reveal()) > self.room:
            return None
        return self.keys.encrypt(secret.reveal(), self.binding, ttl_s=self.ttl_s, pad_to=self.pad_to)


class Opened(Struct, frozen=True):
    """The result of reading a value.

    Attributes:
        envelope: The envelope; ``None`` if the value has none that may be used.
        sealed: Whether it was encrypted, and is thus authentic.
        refused: The code of the reason why the value may not be used; empty if the value is not ours.
    """

    envelope: Envelope | None = None
    sealed: bool = False
    refused: str = ""


@dataclass(frozen=True, slots=True)
class EnvelopeReader:
    """Reads the values that a client returned with one request.

    Attributes:
        keys: The key ring. With one, only values that it decrypts are read.
        binding: The tenant and thread that the values must belong to.
        accept_plain: Whether to read plain envelopes and other producers' values despite the key ring.
        on_undecryptable: ``"raise"`` to raise for values that are not authentic, or whose key cannot be
            fetched.
    """

    keys: KeyRing | None = None
    binding: Binding | None = None
    accept_plain: bool = False
    on_undecryptable: OnUndecryptable = "drop"
    _tokens: TokenReader | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Reject an unknown ``on_undecryptable``."""
        if self.on_undecryptable not in get_args(OnUndecryptable):
            raise ConfigurationError(
                f"Unknown `on_undecryptable`: {self.on_undecryptable!r}.",
                code="wrong_option",
                hint='Pass "drop" or "raise".',
            )
        if self.keys is not None and self.binding is not None:
            object.__setattr__(self, "_tokens", self.keys.reader(self.binding))

    def read(self, value: str) -> Opened:
        """Read a value.

        Raises:
            ConfigurationError: The value is an encrypted token, but there are no keys (``keys_missing``), or
                only asynchronous code can fetch its key (``async_keys``).
            DecryptionError: With ``on_undecryptable="raise"``, the token cannot be decrypted, or the value is
                not a token although one is required.
            Exception: With ``on_undecryptable="raise"``, the error of the callable that fetches the key.
        """
        if len(value) > MAX_ENVELOPE_CHARS:
            return self._refuse("too_large")
        tokens = self._tokens
        if looks_like_token(value) if tokens is None else tokens.recognizes(value):
            return self._decrypt(value)
        if self.keys is not None and not self.accept_plain:
            return self._refuse("unauthenticated")
        return Opened(read_envelope(value))

    def _refuse(self, reason: str) -> Opened:
        # A token with an altered header no longer looks like one.
        if self.keys is not None and self.on_undecryptable == "raise":
            raise DecryptionError
        return Opened(refused=reason)

    def _decrypt(self, token: str) -> Opened:
        if self._tokens is None:
            raise ConfigurationError(
                "The history contains encrypted values, but there are no keys.",
                code="keys_missing",
                hint="Pass the key ring that encrypted them as `keys=`.",
            )
        try:
            plaintext = self._tokens.open(token)
        except Exception as error:
            # An unreachable key management service does not mean that the token is forged.
            if self.on_undecryptable == "raise" or getattr(error, "code", None) == "async_keys":
                raise
            return Opened(refused="key_unavailable")
        if plaintext is None:
            return self._refuse("undecryptable")
        envelope = read_envelope(plaintext.reveal().decode(errors="replace"))
        return Opened(envelope, sealed=True, refused="" if envelope else "application_value")
