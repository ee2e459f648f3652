"""`KeyRing`: a set of keys that all decrypt, and one of which encrypts."""

from __future__ import annotations

import hmac
import os
import time
import warnings
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, Self, final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agui_reasoning.crypto._jwe import (
    KEY_BYTES,
    MAX_EXPIRY,
    MAX_PLAINTEXT_BYTES,
    NONCE_BYTES,
    Binding,
    DerivedKeys,
    Header,
    Secret,
    base64url,
    blind_index,
    claims_type,
    content_info,
    derive,
    header_of,
    random_bytes,
    read_header,
    read_token,
    seal,
    unseal,
    write_header,
)
from agui_reasoning.crypto._sources import (
    FetchedKeys,
    Fetching,
    HeldKeys,
    Key,
    LookUps,
    RunKeys,
    keys_in_env,
    keys_in_file,
    keys_in_mapping,
    readable,
)
from agui_reasoning.errors import AGUIReasoningWarning, ConfigurationError, DecryptionError

DEFAULT_VARIABLE: Final = "AGUI_REASONING_KEYS"

MAX_AGE_S: Final = 300.0
"""The default for how long keys are cached, in seconds."""


def looks_like_token(value: str) -> bool:
    """Return whether a value looks like a token of this package.

    Reads only the protected header, without a key, so forged, truncated and expired tokens are included.

    Examples:
        >>> ring = KeyRing.generate()
        >>> looks_like_token(ring.encrypt(b"{}", Binding("thread-1"))), looks_like_token("gAAAAAB...")
        (True, False)
    """
    return isinstance(value, str) and claims_type(value)


def token_key_id(value: str) -> str | None:
    """Return the unverified key ID of a token; ``None`` if it is not a token of this package."""
    return next(key_ids([value]), None)


def key_ids(values: Iterable[str]) -> Iterator[str]:
    """Yield the unverified key IDs of the tokens among values. Tokens with the same header count once."""
    for text in dict.fromkeys(map(header_of, values)):
        if (header := read_header(text)) is not None:
            yield header.kid


@final
class KeyRing:
    """Keys by ID: the primary key encrypts, all keys decrypt.

    Rings are immutable and thread-safe. Their ``repr`` shows only key IDs, copying returns the same ring, and
    pickling raises ``TypeError``.

    Examples:
        >>> ring = KeyRing({"2026-10": bytes(32), "2026-04": b"k" * 32})
        >>> ring
        KeyRing(primary='2026-10', kids=('2026-10', '2026-04'))
        >>> token = ring.encrypt(b'{"v": 1}', Binding("thread-1"))
        >>> ring.decrypt(token, Binding("thread-1"))
        b'{"v": 1}'
    """

    __slots__ = ("__weakref__", "_derived", "_header", "_keys", "_now", "_primary", "_stand_in")

    def __init__(
        self,
        keys: Mapping[str, bytes] | Callable[[str], bytes | Awaitable[bytes | None] | None],
        *,
        primary: str | None = None,
        kids: Collection[str] | None = None,
        max_age_s: float = MAX_AGE_S,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Create a ring.

        Args:
            keys: Keys of 32 bytes by ID, or a callable that fetches a key, for example from a key management
                service. If it is asynchronous, only the runs of `agui_reasoning.aio` and of the gateway can
                use it. The callable raises ``LookupError`` or returns ``None`` for unknown IDs. Its other
                exceptions reach the caller, so that an outage does not look like a forged token; they end a
                run with the code ``key_unavailable``. The last 32 keys are cached, see ``max_age_s``.
                Clients choose the IDs that are requested, within ``kids``.
            primary: The ID of the key that encrypts: by default, the first one of a mapping; required for a
                callable.
            kids: The IDs that the callable is called with, including the primary one. By default, all IDs of
                letters, digits, ``.``, ``_`` and ``-`` that do not begin with ``.`` or ``-``. Unknown IDs are
                not requested again for 5 seconds, and at most 8 unknown IDs are requested per input.
            max_age_s: The seconds for which fetched keys, and keys derived for a thread, are used without
                another call. After that a key that the callable no longer returns stops working. 0 caches
                nothing; see also `forget`.
            now: Returns the Unix time in seconds.

        Raises:
            ConfigurationError: A key is not 32 bytes (``bad_key``), an ID is invalid (``bad_kid``), there are
                no keys (``no_keys``), the primary key is missing (``unknown_key``), ``kids`` is combined
                with a mapping (``wrong_option``), or ``max_age_s`` is negative (``bad_limit``).
        """
        given: Secret[Any] = Secret(keys)
        del keys  # tracebacks can show local variables
        held: HeldKeys | FetchedKeys
        if not isinstance(given.reveal(), Mapping):
            held = FetchedKeys(given, kids, primary, max_age_s, now)
        elif kids is None:
            held = keys_in_mapping(given)
        else:
            raise ConfigurationError(
                "kids= is only for keys that a callable fetches.",
                code="wrong_option",
                hint="Omit kids= for a mapping, which contains the IDs.",
            )
        self._set(held, primary, now, max_age_s)

    _keys: HeldKeys | FetchedKeys | RunKeys

    def _set(
        self,
        held: HeldKeys | FetchedKeys,
        primary: str | None,
        now: Callable[[], float],
        max_age_s: float = MAX_AGE_S,
    ) -> None:
        self._keys = held
        self._primary = _chosen(held, primary)
        self._now = now
        self._derived = DerivedKeys(_checked_age(max_age_s), now)
        self._header = write_header(Header(self._primary))
        self._stand_in = Secret(random_bytes(KEY_BYTES))

    @classmethod
    def _of(cls, held: HeldKeys, now: Callable[[], float]) -> Self:
        ring = cls.__new__(cls)
        ring._set(held, None, now)
        return ring

    @classmethod
    def generate(cls, kid: str | None = None, *, now: Callable[[], float] = time.time) -> Self:
        """Create a ring with a new random key.

        Args:
            kid: The key ID; random by default.
            now: Returns the Unix time in seconds.

        Raises:
            ConfigurationError: The ID is invalid (``bad_kid``).
        """
        name = f"key-{random_bytes(4).hex()}" if kid is None else kid
        return cls._of(keys_in_mapping(Secret({name: random_bytes(KEY_BYTES)})), now)

    @classmethod
    def from_env(cls, name: str = DEFAULT_VARIABLE, *, now: Callable[[], float] = time.time) -> Self:
        """Read ``kid:base64url,kid:base64url`` from the environment; the first key is the primary one.

        Raises:
            ConfigurationError: The variable has no keys (``no_keys``), or one that is not 32 bytes in
                base64url (``bad_key``).
        """
        return cls._of(keys_in_env(name), now)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        now: Callable[[], float] = time.time,
        on_warning: Callable[[str], None] | None = None,
    ) -> Self:
        """Read keys from a file in the format of `from_env`, or with one key per line.

        Args:
            path: The file. A warning is issued if every user can read it.
            now: Returns the Unix time in seconds.
            on_warning: Called with each warning; default is Python's ``warnings``.

        Raises:
            ConfigurationError: The file cannot be read (``unreadable_keys``), has no keys (``no_keys``), or
                one that is not 32 bytes in base64url (``bad_key``).
        """
        ring = cls._of(keys_in_file(path), now)
        if readable(path):
            (on_warning or _warn)(f"Every user of this machine can read the keys in {os.fspath(path)}.")
        return ring

    @property
    def primary(self) -> str:
        """The ID of the key that encrypts."""
        return self._primary

    @property
    def kids(self) -> tuple[str, ...]:
        """The IDs of all keys; empty if a callable fetches them."""
        return self._keys.kids()

    def to_env(self) -> str:
        """Return the keys in the format of `from_env`, the primary one first. Contains secret key material.

        Raises:
            ConfigurationError: A callable fetches the keys, so they cannot be listed (``keys_elsewhere``).
        """
        if not self.kids:
            raise ConfigurationError(
                "The keys of this ring cannot be listed, because a callable fetches them.",
                code="keys_elsewhere",
                hint="Export them from the service that stores them.",
            )
        kids = sorted(self.kids, key=lambda kid: kid != self._primary)
        return ",".join(f"{kid}:{base64url(self._key(kid).reveal())}" for kid in kids)

    def encrypt(
        self, plaintext: bytes, binding: Binding, *, ttl_s: int | None = None, pad_to: int = 0
    ) -> str:
        """Encrypt with the primary key.

        Args:
            plaintext: At most 12,000,000 bytes, including padding.
            binding: The binding of the token, required to decrypt it.
            ttl_s: Lifetime in whole seconds; unlimited by default. Expiry does not erase the content: other
                software can still decrypt it with the key.
            pad_to: Pads the plaintext with spaces to a multiple of this many bytes. `decrypt` does not remove
                them, because JSON parsers ignore them. 0 adds no padding.

        Returns:
            A JWE in compact serialization, in ASCII.

        Raises:
            ConfigurationError: An argument is invalid (``bad_plaintext``, ``bad_binding``, ``bad_ttl``,
                ``bad_padding``), or the primary key is not available (``unknown_key``, ``bad_key``).
        """
        secret: Secret[Any] = Secret(plaintext)
        del plaintext  # tracebacks can show local variables
        return self._seal(_padded(secret, pad_to), _bound(binding), _expiry(ttl_s, self._now))

    def decrypt(self, token: str, binding: Binding) -> bytes:
        """Decrypt a token that any key of the ring encrypted for this binding.

        Args:
            token: A token from `encrypt`, or from a JOSE library with the same header and `content_key`.
            binding: The tenant, thread and entity that the token is stored for.

        Raises:
            DecryptionError: The token cannot be decrypted, for any reason.
            ConfigurationError: ``binding`` has a wrong type (``bad_binding``), or a callable returned an
                invalid key (``bad_key``).
        """
        plaintext = self._open(token, binding)
        del token
        if plaintext is None:
            raise DecryptionError
        return plaintext.reveal()

    def needs_rekey(self, token: str) -> bool:
        """Return whether a token names another key than the primary one. The token is not verified.

        Raises:
            DecryptionError: The value is not a token of this package.
        """
        header = read_header(token.partition(".")[0]) if isinstance(token, str) else None
        del token
        if header is None:
            raise DecryptionError
        return header.kid != self._primary

    def rekey(self, token: str, binding: Binding) -> str:
        """Decrypt a token and encrypt it again with the primary key, with the same binding and expiry.

        Raises:
            DecryptionError: The token cannot be decrypted, or has expired.
            ConfigurationError: As for `decrypt` and `encrypt`.
        """
        plaintext = self._open(token, binding)
        read = None if plaintext is None else read_token(token)
        del token
        if plaintext is None or read is None:
            raise DecryptionError
        return self._seal(plaintext, binding, read.header.exp)

    def content_key(self, kid: str, thread_id: str, tenant: str = "") -> bytes:
        """Derive the key with which any JOSE library can encrypt and decrypt the tokens of one thread.

        Returns:
            32 bytes of secret key material, valid only for this tenant and thread.

        Raises:
            ConfigurationError: The ring has no such key (``unknown_key``).
        """
        return derive(self._key(kid), content_info(Binding(thread_id, tenant=tenant))).reveal()

    def blind_indexes(self, name: bytes) -> list[str]:
        """Return the HMAC of a name under every key of the ring, the primary one first, as base64url.

        A database can look up what it stores under such an index, but not tell the name. If a callable
        fetches the keys, only the primary one is used.

        Raises:
            ConfigurationError: The primary key is not available (``unknown_key``, ``bad_key``).
        """
        kids = sorted(self.kids, key=lambda kid: kid != self._primary) or [self._primary]
        return [blind_index(self._key(kid), name) for kid in kids]

    def reader(self, binding: Binding) -> TokenReader:
        """Return a reader for many tokens of one binding; it looks up and derives each key once."""
        return TokenReader(self._keys, self._stand_in, self._now, _bound(binding), self._derived)

    def forget(self) -> None:
        """Discard fetched and derived keys, for example after a key was destroyed."""
        self._keys.forget()
        self._derived.forget()

    def _for_run(self) -> KeyRing:
        """Return a ring with the keys of one run; this ring, if its keys are in memory."""
        if not isinstance(self._keys, FetchedKeys):
            return self
        ring = KeyRing.__new__(KeyRing)
        for name in ("_primary", "_now", "_derived", "_header", "_stand_in"):
            setattr(ring, name, getattr(self, name))
        ring._keys = RunKeys(self._keys)
        return ring

    def _fetching(self, kids: Iterable[str]) -> Fetching[None] | None:
        """Fetch the primary key of a run, and keys that the client's input names.

        Returns ``None`` if all keys are in memory. What goes wrong with other keys is raised when they are
        used.

        Raises:
            TransportError: The primary key cannot be fetched (``key_unavailable``).
            ConfigurationError: The primary key is invalid (``bad_key``) or unknown (``unknown_key``).
        """
        return _fetched(self._keys, self._primary, kids) if isinstance(self._keys, RunKeys) else None

    def _seal(self, plaintext: Secret[bytes], binding: Binding, exp: int | None) -> str:
        key = self._key(self._primary)
        protected = self._header
        if binding.entity_id or exp is not None:
            entity = self._derived.entity_mac(key, binding) if binding.entity_id else None
            protected = write_header(Header(self._primary, exp, entity))
        return seal(self._derived.cipher(key, binding), protected, random_bytes(NONCE_BYTES), plaintext)

    def _open(self, text: str, binding: Binding) -> Secret[bytes] | None:
        return self.reader(binding).open(text)

    def _key(self, kid: str) -> Key:
        key = self._keys.get(kid)
        if key is None:
            raise _unknown_key(self.kids)
        return key

    def __repr__(self) -> str:
        if not hasattr(self, "_primary"):  # in a traceback from `__init__`
            return "KeyRing()"
        known = f"kids={self.kids}" if self.kids else "keys fetched on demand"
        return f"KeyRing(primary={self._primary!r}, {known})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a KeyRing cannot be pickled, because the pickle would contain its keys")


def _fetched(keys: RunKeys, primary: str, kids: Iterable[str]) -> Fetching[None]:
    named = list(kids)  # takes time for long histories, so at the first step
    if (yield from keys.getting(primary)) is None:
        raise _unknown_key(())
    yield from keys.finding(named)


def _chosen(held: HeldKeys | FetchedKeys, primary: str | None) -> str:
    kids = held.kids()
    if primary is None and kids:
        return kids[0]
    if primary is None or not held.may_be_primary(primary):
        raise ConfigurationError(
            "The primary key is missing, or is not in the ring.",
            code="unknown_key",
            hint="Pass the ID of the key that encrypts as `primary=`.",
        )
    return primary


def _unknown_key(kids: Sequence[str]) -> ConfigurationError:
    # The message does not contain the argument, which could be a key passed instead of its ID.
    known = f": it has {', '.join(kids)}" if kids else ""
    return ConfigurationError(
        f"The ring has no key with this ID{known}.",
        code="unknown_key",
        hint="Add the key, or use another ID.",
    )


def _warn(message: str) -> None:
    warnings.warn(message, AGUIReasoningWarning, stacklevel=3)


# -- reading


@dataclass(frozen=True, slots=True)
class _ThreadKey:
    """A ring key, and the thread's cipher derived from it."""

    secret: Key
    cipher: AESGCM


@dataclass(slots=True, repr=False)
class TokenReader:
    """Decrypts the tokens of one request, which have the same binding.

    Attributes:
        stand_in: Used instead of an unknown key.
        now: Returns the Unix time in seconds.
    """

    keys: HeldKeys | FetchedKeys | RunKeys
    stand_in: Key
    now: Callable[[], float]
    binding: Binding
    derived: DerivedKeys
    _look_ups: LookUps = field(default_factory=LookUps)
    _ready: dict[str | None, _ThreadKey] = field(default_factory=dict)
    _failed: dict[str, Exception | None] = field(default_factory=dict)
    _header: tuple[str, Header | None] = field(default=("", None))
    """The header of the last token, which most tokens of a thread share."""

    def recognizes(self, text: str) -> bool:
        """Return whether a value looks like a token of this package; see `looks_like_token`."""
        return self._read_header(header_of(text)) is not None or claims_type(text)

    def open(self, text: str) -> Secret[bytes] | None:
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

    def _key(self, kid: str) -> _ThreadKey:
        if kid in self._ready:
            return self._ready[kid]
        secret = self._look_up(kid)
        # An unknown key is treated as a wrong one, so that the tag does not match.
        name = None if secret is None else kid
        if name not in self._ready:
            chosen = self.stand_in if secret is None else secret
            self._ready[name] = _ThreadKey(chosen, self.derived.cipher(chosen, self.binding))
        return self._ready[name]

    def _look_up(self, kid: str) -> Key | None:
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

    def _fits(self, header: Header, key: _ThreadKey) -> bool:
        """Return whether header and binding have the same entity, or none."""
        if header.entity is None or not self.binding.entity_id:
            return header.entity is None and not self.binding.entity_id
        return hmac.compare_digest(header.entity, self.derived.entity_mac(key.secret, self.binding))


# -- arguments


def _bound(binding: object) -> Binding:
    if isinstance(binding, Binding):
        return binding
    raise ConfigurationError(
        f"The binding is {type(binding).__name__}, not Binding.",
        code="bad_binding",
        hint="Pass Binding(thread_id, tenant=...).",
    )


def _checked_age(max_age_s: object) -> float:
    if isinstance(max_age_s, int | float) and not isinstance(max_age_s, bool) and max_age_s >= 0:
        return max_age_s
    raise ConfigurationError(
        "max_age_s is not a number of seconds.",
        code="bad_limit",
        hint="Pass 0 to cache nothing, or omit it for 5 minutes.",
    )


def _padded(plaintext: Secret[Any], pad_to: object) -> Secret[bytes]:
    if not isinstance(plaintext.reveal(), bytes | bytearray):
        raise ConfigurationError(
            f"The plaintext is {type(plaintext.reveal()).__name__}, not bytes.",
            code="bad_plaintext",
            hint="Encode text as UTF-8.",
        )
    if not isinstance(pad_to, int) or not _is_whole(pad_to, 0):
        raise ConfigurationError(
            "pad_to is not a non-negative integer.", code="bad_padding", hint="Pass 0 for no padding."
        )
    size = len(plaintext.reveal())
    spaces = -size % pad_to if pad_to else 0
    if size + spaces > MAX_PLAINTEXT_BYTES:
        raise ConfigurationError(
            f"The padded plaintext has {size + spaces} bytes, more than {MAX_PLAINTEXT_BYTES}.",
            code="bad_plaintext",
            hint="Store large values elsewhere, or use less padding.",
        )
    return Secret(bytes(plaintext.reveal()) + b" " * spaces)


def check_encrypt_options(ttl_s: object, pad_to: object) -> None:
    """Check options of `KeyRing.encrypt`.

    Raises:
        ConfigurationError: An option is invalid (``bad_ttl``, ``bad_padding``).
    """
    _expiry(ttl_s, lambda: 0.0)
    _padded(Secret(b""), pad_to)


def _expiry(ttl_s: object, now: Callable[[], float]) -> int | None:
    """Return the Unix time at which a token expires."""
    if ttl_s is None:
        return None
    # Rounded down, so that a token is not accepted for longer than requested.
    exp = int(now()) + ttl_s if isinstance(ttl_s, int) and _is_whole(ttl_s, 1) else -1
    if not 0 <= exp <= MAX_EXPIRY:
        raise ConfigurationError(
            "ttl_s is not a positive integer, or too large.",
            code="bad_ttl",
            hint="Pass whole seconds, or omit it for a token that does not expire.",
        )
    return exp


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
