"""How an envelope is written and read: as plain JSON, or with keys as a token that only they open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from pydantic import ValidationError

from agui_reasoning._envelope.records import Envelope
from agui_reasoning._envelope.version1 import Version1
from agui_reasoning._strict_json import MAX_NESTING, dump, load
from agui_reasoning.crypto import Binding, KeyRing, looks_like_token
from agui_reasoning.crypto._arguments import check_encrypt_options
from agui_reasoning.crypto._reader import TokenReader
from agui_reasoning.crypto._secret import Secret
from agui_reasoning.errors import ConfigurationError, DecryptionError

__all__ = [
    "MAX_ENVELOPE_CHARS",
    "EnvelopeReader",
    "EnvelopeWriter",
    "OnUndecryptable",
    "Opened",
    "is_envelope",
    "plain_value",
    "read_envelope",
    "write_envelope",
]

MAX_ENVELOPE_CHARS: Final = 1_048_576
"""No value is longer, in characters as they travel: what does not fit goes on further ones."""

_TOKEN_FRAME: Final = 4_096
"""Room for what a token has beside its ciphertext: header, nonce, tag."""

OnUndecryptable: TypeAlias = Literal["drop", "raise"]
"""What restoring does with a token that does not open."""


_PLAIN_MARK: Final = '{"k":"agui-reasoning"'
"""How plain JSON of ours begins, whatever its version."""


def is_envelope(value: str) -> bool:
    """Whether a value says of itself that it is an envelope of this package, plain or encrypted."""
    return value.startswith(_PLAIN_MARK) or looks_like_token(value)


def write_envelope(envelope: Envelope) -> str:
    """Write an envelope as plain JSON; what has its default is left out, but for the marks."""
    marks = {"k": envelope.k, "v": envelope.v}
    return dump(marks | envelope.model_dump(exclude_defaults=True))


def read_envelope(value: str) -> Envelope | None:
    """Read plain JSON that came back; ``None`` when it is not an envelope of ours.

    The string is untrusted: types are checked strictly, unknown fields are ignored.
    """
    if len(value) > MAX_ENVELOPE_CHARS:
        return None
    document = load(value, max_nesting=MAX_NESTING)
    try:
        if isinstance(document, dict) and document.get("v") == 1:
            return Version1.model_validate(document).upgraded()
        return Envelope.model_validate(document)
    except ValidationError:
        return None


def plain_value(envelope: Envelope) -> str | None:
    """What travels of an envelope without keys; ``None`` when it is too large for one value."""
    value = write_envelope(envelope)
    return value if len(value) <= MAX_ENVELOPE_CHARS else None


@dataclass(frozen=True, slots=True)
class EnvelopeWriter:
    """Writes envelopes that only the keys open.

    Attributes:
        keys: The ring; its primary key encrypts.
        binding: The tenant and the thread they belong to.
        ttl_s: Seconds until they expire; ``None`` is never.
        pad_to: Their plaintext is padded to a multiple of so many bytes; 0 is not at all.
    """

    keys: KeyRing
    binding: Binding
    ttl_s: int | None = None
    pad_to: int = 0

    def __post_init__(self) -> None:
        """Refuse what could encrypt nothing, before there is anything to encrypt."""
        if not isinstance(self.keys, KeyRing):
            raise ConfigurationError(
                f"The keys are {type(self.keys).__name__}, not a KeyRing.",
                code="bad_keys",
                hint="Pass agui_reasoning.crypto.KeyRing, for example KeyRing.from_env().",
            )
        check_encrypt_options(self.ttl_s, self.pad_to)

    @property
    def room(self) -> int:
        """Bytes of JSON that fit into a value."""
        return (MAX_ENVELOPE_CHARS - _TOKEN_FRAME) // 4 * 3 - self.pad_to

    def write(self, envelope: Envelope) -> str | None:
        """Encrypt an envelope; ``None`` when it is too large for one value."""
        # No variable holds the plaintext: a traceback that shows locals must not show it.
        secret = Secret(write_envelope(envelope).encode())
        if len(secret.reveal()) > self.room:
            return None
        return self.keys.encrypt(secret.reveal(), self.binding, ttl_s=self.ttl_s, pad_to=self.pad_to)


@dataclass(frozen=True, slots=True)
class Opened:
    """What came of a value.

    Attributes:
        envelope: The envelope; ``None`` when the value gives none.
        sealed: It was encrypted: what it says is what was written.
        refused: Why the value may not be used, as a stable word; empty when it is only not ours.
    """

    envelope: Envelope | None = None
    sealed: bool = False
    refused: str = ""


@dataclass(frozen=True, slots=True)
class EnvelopeReader:
    """Reads what came back from a client with one request.

    Attributes:
        keys: With a ring only what it decrypts is read.
        binding: The tenant and the thread the values must belong to.
        accept_plain: Read plain envelopes and other producers' values in spite of the ring.
        on_undecryptable: ``"raise"`` to hear of a value that is not authentic, or whose key cannot be
            fetched.
    """

    keys: KeyRing | None = None
    binding: Binding | None = None
    accept_plain: bool = False
    on_undecryptable: OnUndecryptable = "drop"
    _tokens: TokenReader | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a word that means nothing: whoever wrote it wanted to hear of something."""
        if self.on_undecryptable not in get_args(OnUndecryptable):
            raise ConfigurationError(
                f"on_undecryptable is {self.on_undecryptable!r}, which means nothing.",
                code="wrong_option",
                hint='Pass "drop" or "raise".',
            )
        if self.keys is not None and self.binding is not None:
            object.__setattr__(self, "_tokens", self.keys.reader(self.binding))

    def read(self, value: str) -> Opened:
        """Read a value.

        Raises:
            ConfigurationError: It is a token of ours, and there are no keys (``keys_missing``).
            DecryptionError: It does not open, or is no token where only tokens count, and the caller asked to
                hear of it.
            Exception: What the callable raised that was asked for the key, if the caller asked to hear of it.
        """
        if len(value) > MAX_ENVELOPE_CHARS:
            return self._refuse("too_large")
        if looks_like_token(value):
            return self._decrypt(value)
        if self.keys is not None and not self.accept_plain:
            return self._refuse("unauthenticated")
        return Opened(read_envelope(value))

    def _refuse(self, reason: str) -> Opened:
        # A token whose header was altered does not look like one any more.
        if self.keys is not None and self.on_undecryptable == "raise":
            raise DecryptionError
        return Opened(refused=reason)

    def _decrypt(self, token: str) -> Opened:
        if self._tokens is None:
            raise ConfigurationError(
                "The history holds encrypted values, and there are no keys to open them.",
                code="keys_missing",
                hint="Pass the key ring that wrote them, as keys=.",
            )
        try:
            plaintext = self._tokens.open(token)
        except Exception:
            # A key management service that is down is not a forged token.
            if self.on_undecryptable == "raise":
                raise
            return Opened(refused="key_unavailable")
        if plaintext is None:
            return self._refuse("undecryptable")
        envelope = read_envelope(plaintext.reveal().decode(errors="replace"))
        return Opened(envelope, sealed=True, refused="" if envelope else "unknown_value")
