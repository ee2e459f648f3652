"""Envelopes: opaque values and structure in the one string that AG-UI has for them; version 2 of the format.

``encryptedValue`` is a single opaque string per message or tool call. Ours is self-describing JSON: the place
of the response, and units with everything that must go back verbatim. A unit is a part with its position and
the way it is shown. Without keys the envelope contains the SHA-256 of visible text instead of the text, so
that text altered on the way loses its signature. The hash detects accidents, not attackers. With keys the
whole envelope is encrypted and also contains the reasoning text; see `EnvelopeWriter`.

::

    {"k": "agui-reasoning", "v": 2,
     "origin":   {"provider": …, "api": …, "model": …, "upstream": …, "account": …},
     "response": {"id": …, "number": 0, "native_id": …, "messages": […], "calls": […]},
     "units":    [{"seq": 0, "lengths": […], "sha256": …, "part": {"kind": "reasoning", "opaque": […]}}, …]}
"""

from __future__ import annotations

import hashlib
from binascii import b2a_base64
from dataclasses import dataclass, field
from sys import intern
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

from msgspec import Meta, Struct, convert, to_builtins
from msgspec.json import Decoder, Encoder

from agui_reasoning._strict_json import MAX_NESTING, dump, load, may_exceed
from agui_reasoning.errors import ConfigurationError, DecryptionError
from agui_reasoning.parts import (
    Channel,
    Encoding,
    Opaque,
    Origin,
    Prefix,
    ReasoningPart,
    Status,
    WithheldUnit,
)

if TYPE_CHECKING:
    from agui_reasoning.crypto import Binding, KeyRing, TokenReader


Count: TypeAlias = Annotated[int, Meta(ge=0)]
"""A number that is not negative."""


class WireRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A record that is read strictly and whose ``repr`` shows no content.

    Records are written without the members that are their default object. They are trees of JSON, so that
    the garbage collector need not track them.
    """

    def __repr__(self) -> str:
        """Omit the fields: records contain what only their reader may see."""
        return f"{type(self).__name__}()"


class OpaqueRecord(WireRecord, frozen=True, kw_only=True):
    """An `Opaque`.

    Attributes:
        check: The `checksum` of the value, if the envelope is not encrypted.
    """

    kind: str
    value: str
    encoding: Encoding = "utf8"
    attach: str = "self"
    check: str | None = None

    @classmethod
    def of(cls, opaque: Opaque, *, encrypted: bool = False) -> OpaqueRecord:
        """Return the record of an opaque value."""
        return cls(
            kind=opaque.kind,
            value=opaque.value,
            encoding=opaque.encoding,
            attach=intern(opaque.attach),  # so that the default is recognized
            check=None if encrypted else checksum(opaque.value),
        )

    def opaque(self) -> Opaque | None:
        """Return the value; ``None`` if something changed it on the way, as far as can be told."""
        if self.check is not None and self.check != checksum(self.value):
            return None
        return Opaque(self.kind, self.value, self.encoding, self.attach)


class SegmentRecord(WireRecord, frozen=True, kw_only=True):
    """A segment, with its text unless the message shows it."""

    channel: Channel = "text"
    index: int = 0
    text: str | None = None


class Span(WireRecord, frozen=True, kw_only=True):
    """A stretch of an assistant message: code points from ``start``."""

    message: str
    start: Count
    length: Count


class ResponsePlace(WireRecord, frozen=True, kw_only=True):
    """Identifies a response, and the IDs under which the client sees it.

    Attributes:
        id: Our ID of the response.
        number: The number of this value, in the order of sending. For a unit, the latest value counts.
        native_id: The provider's ID of the response.
        conversation: The provider's ID of the conversation in which it stored the response.
        after: Our ID of the previous response in the run. Responses of which only reasoning is visible are
            ordered by it, because front ends move reasoning.
        after_entity: The last message or call of that response, if no reasoning message has a value of it:
            some front ends drop other values, and then nothing else identifies it.
        messages: The assistant messages that no earlier value named; in the last value, all of them. The last
            one may be named before it exists.
        calls: The tool calls, likewise.
        failed: The calls before this response whose result is an error; in the first value and the last.
        subagent: The run of the subagent, which shares the thread but has its own conversation.
        refused: The message that tells the user that the provider declined to finish the response; in its
            last value.
        withheld: The reasoning of the request that the model was not shown; in the last value.
        effort: The effort that changed with the response; in the first value and the last, as is ``prefix``.
        prefix: What preceded the conversation in the request. Without keys, only the first two digits of
            ``system``: clients see too little of the instructions to confirm a guess.
        interrupts: What the run asked about the calls when it ended, as AG-UI's JSON; in the last value.
    """

    id: str
    number: Count = 0
    native_id: str | None = None
    after: str | None = None
    after_entity: str | None = None
    messages: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    subagent: str | None = None
    refused: str | None = None
    withheld: tuple[WithheldUnit, ...] = ()
    effort: str | None = None
    prefix: Prefix | None = None
    conversation: str | None = None
    interrupts: tuple[dict[str, Any], ...] = ()


class _PartRecord(WireRecord, frozen=True, kw_only=True):
    status: Status = "complete"
    opaque: tuple[OpaqueRecord, ...] = ()
    ext: dict[str, Any] | None = None


class ReasoningRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="reasoning"):
    """A reasoning part, or one stretch of a unit that resumed."""

    item_id: str | None = None
    segments: tuple[SegmentRecord, ...] = ()

    @property
    def says_nothing(self) -> bool:
        """Whether it says no more than that the model did not think: no text, no value and no ID."""
        return not (self.segments or self.opaque or self.item_id)


class TextRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """A text part, with its text unless all of it is shown."""

    text: str | None = None


class CallRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="call"):
    """A tool call, with the provider's ID if it differs, and the arguments of the provider's own tools."""

    id: str | None = None
    server: bool = False
    arguments: str | None = None


class ResultRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="result"):
    """The result of a server tool, with its content unless a tool message shows just that."""

    native: Any = None
    content: str | None = None
    error: str | None = None


class NativeRecord(_PartRecord, frozen=True, kw_only=True, tag_field="kind", tag="native"):
    """A block that is returned verbatim."""

    name: str
    payload: Any = None


PartRecord: TypeAlias = ReasoningRecord | TextRecord | CallRecord | ResultRecord | NativeRecord


class UnitRecord(WireRecord, frozen=True, kw_only=True):
    """A part, with its position and the way it is shown.

    Attributes:
        seq: The number of the unit in the response.
        stretch: The number of the stretch, if the unit resumed.
        id: The client's ID of a call, or of the call that a result answers.
        message: The tool message of a result, or the message that shows reasoning if another one has this
            value.
        spans: The positions of a text in its messages.
        lengths: The number of code points of each visible segment of reasoning.
        sha256: The hash of the visible text; absent for reasoning that is not shown or is encrypted.
        after: The ``seq`` of the reasoning that a call followed.
        shares: The call whose reasoning a call shares.
        part: The part.
    """

    seq: Count
    stretch: Count = 0
    id: str | None = None
    message: str | None = None
    spans: tuple[Span, ...] = ()
    lengths: tuple[Count, ...] = ()
    sha256: str | None = None
    after: tuple[int, ...] = ()
    shares: str | None = None
    part: PartRecord


class Fragment(WireRecord, frozen=True, kw_only=True):
    """A slice of the JSON of a unit that is too large for one value, as base64.

    It has the unit's ``seq`` and ``stretch``, its own number and the number of slices.
    """

    seq: Count
    stretch: Count = 0
    index: Count
    count: Annotated[int, Meta(ge=1)]
    data: str


class Envelope(WireRecord, frozen=True, kw_only=True):
    """The content of one ``encryptedValue``."""

    k: Literal["agui-reasoning"] = "agui-reasoning"
    v: Literal[2] = 2
    origin: Origin | None = None
    response: ResponsePlace
    units: tuple[UnitRecord, ...] = ()
    fragments: tuple[Fragment, ...] = ()


def digest(text: str) -> str:
    """Return the hexadecimal SHA-256 of a text in UTF-8. Text with lone surrogates matches no other."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def checksum(value: str) -> str:
    """Return 6 bytes of the SHA-256 of a value, in URL-safe base64: too short for filters to mask it."""
    found = hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
    return b2a_base64(found[:6], newline=False).translate(_URL_SAFE).decode("ascii")


_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


def unit_digest(part: ReasoningPart) -> str | None:
    """Return what identifies a unit wherever it is returned: the digest of its value, or else of its ID."""
    named = part.opaque[0].value if part.opaque else part.item_id
    return None if named is None else checksum(named)


# -- values: plain JSON, or encrypted tokens

MAX_ENVELOPE_CHARS: Final = 1_048_576
"""The maximum length of a value, in characters; the rest goes into further values."""

_TOKEN_FRAME: Final = 4_096
"""The size of a token apart from its ciphertext: header, nonce and tag."""

OnUndecryptable: TypeAlias = Literal["drop", "raise"]
"""How `restore` treats a token that cannot be decrypted."""

_ON_UNDECRYPTABLE: Final[tuple[OnUndecryptable, ...]] = get_args(OnUndecryptable)

_PLAIN_MARK: Final = '{"k":"agui-reasoning"'
"""The first characters of plain envelopes, in every version."""


def is_envelope(value: str) -> bool:
    """Return whether a value claims to be an envelope of this package, plain or encrypted."""
    return value.startswith(_PLAIN_MARK) or looks_like_token(value)


def looks_like_token(value: str) -> bool:
    """Return whether a value looks like a token of this package."""
    if value.startswith("{"):
        return False
    from agui_reasoning import crypto  # many processes have no keys

    return crypto.looks_like_token(value)


def write_envelope(envelope: Envelope) -> str:
    """Return an envelope as plain JSON, without fields that have their default, except the marks."""
    if not envelope.response.interrupts and not any(map(_holds_json, envelope.units)):
        try:
            return _MARKS + _encoded(envelope)[1:].decode()
        except UnicodeEncodeError:  # a lone surrogate
            pass
    marks = {"k": envelope.k, "v": envelope.v}
    return dump(marks | to_builtins(envelope))


def _holds_json(unit: UnitRecord) -> bool:
    """Return whether a unit may have numbers of a provider, which msgspec writes in another way."""
    return unit.part.ext is not None or type(unit.part) in _FOREIGN


_FOREIGN: Final = frozenset({ResultRecord, NativeRecord})
_MARKS: Final = f'{_PLAIN_MARK},"v":2,'
_encoded: Final = Encoder().encode


def read_envelope(value: str) -> Envelope | None:
    """Read an envelope from plain JSON; ``None`` if it is not one of ours.

    The string is untrusted: types are checked strictly, unknown fields are ignored.
    """
    if len(value) > MAX_ENVELOPE_CHARS:
        return None
    try:
        if not may_exceed(value, MAX_NESTING):
            return _ENVELOPES.decode(value)
    except ValueError:  # not an envelope, or one with a lone surrogate
        pass
    try:
        return convert(load(value, max_nesting=MAX_NESTING), Envelope)
    except ValueError:  # a wrong type, or a lone surrogate
        return None


_ENVELOPES: Final = Decoder(Envelope)


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
        from agui_reasoning.crypto import KeyRing, check_encrypt_options

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
        from agui_reasoning.crypto import Secret

        # No variable holds the plaintext, because tracebacks may show local variables.
        secret = Secret(write_envelope(envelope).encode())
        if len(secret.reveal()) > self.room:
            return None
        return self.keys.encrypt(secret.reveal(), self.binding, ttl_s=self.ttl_s, pad_to=self.pad_to)


def check_on_undecryptable(value: OnUndecryptable) -> None:
    """Reject an unknown ``on_undecryptable``.

    Raises:
        ConfigurationError: It is unknown (``wrong_option``).
    """
    if value not in _ON_UNDECRYPTABLE:
        problem = f"Unknown `on_undecryptable`: {value!r}."
        raise ConfigurationError(problem, code="wrong_option", hint='Pass "drop" or "raise".')


class OpenedValue(Struct, frozen=True, gc=False):
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
        check_on_undecryptable(self.on_undecryptable)
        if self.keys is not None and self.binding is not None:
            object.__setattr__(self, "_tokens", self.keys.reader(self.binding))

    def read(self, value: str) -> OpenedValue:
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
        return OpenedValue(read_envelope(value))

    def _refuse(self, reason: str) -> OpenedValue:
        # A token with an altered header no longer looks like one.
        if self.keys is not None and self.on_undecryptable == "raise":
            raise DecryptionError
        return OpenedValue(refused=reason)

    def _decrypt(self, token: str) -> OpenedValue:
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
            return OpenedValue(refused="key_unavailable")
        if plaintext is None:
            return self._refuse("undecryptable")
        envelope = read_envelope(plaintext.reveal().decode(errors="replace"))
        return OpenedValue(envelope, sealed=True, refused="" if envelope else "application_value")
