"""`KeyRing`: several keys, one of which encrypts while all of them decrypt."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NoReturn, Self, final

from agui_reasoning.crypto import _base64url as base64url
from agui_reasoning.crypto._arguments import bound, expiry, padded
from agui_reasoning.crypto._binding import Binding
from agui_reasoning.crypto._derive import KEY_BYTES, content_info, derive, random_bytes
from agui_reasoning.crypto._derived import DerivedKeys
from agui_reasoning.crypto._held import (
    FetchedKeys,
    HeldKeys,
    keys_fetched_by,
    keys_in_env,
    keys_in_file,
    keys_in_mapping,
    readable,
)
from agui_reasoning.crypto._jwe import (
    NONCE_BYTES,
    Header,
    claims_type,
    header_of,
    read_header,
    read_token,
    seal,
    write_header,
)
from agui_reasoning.crypto._reader import TokenReader
from agui_reasoning.crypto._secret import Secret
from agui_reasoning.errors import AGUIReasoningWarning, ConfigurationError, DecryptionError

__all__ = ["DEFAULT_VARIABLE", "KeyRing", "looks_like_token", "token_key_id"]

DEFAULT_VARIABLE: Final = "AGUI_REASONING_KEYS"


def looks_like_token(value: str) -> bool:
    """Whether a value says of itself that it is one of our tokens.

    Only the protected header is read, and no key is needed: a forged, cut or expired token says so too.

    Examples:
        >>> ring = KeyRing.generate()
        >>> looks_like_token(ring.encrypt(b"{}", Binding("thread-1"))), looks_like_token("gAAAAAB...")
        (True, False)
    """
    return isinstance(value, str) and claims_type(value)


def token_key_id(value: str) -> str | None:
    """Read the key id in a token's header, unverified; ``None`` if it is not one of our tokens."""
    header = read_header(header_of(value))
    return header.kid if header else None


@final
class KeyRing:
    """Keys by id: the primary one encrypts, all of them decrypt.

    A ring does not change. Its ``repr`` shows the ids alone, a copy of it is the ring itself, and it refuses
    to be pickled. It may be shared between threads.

    Examples:
        >>> ring = KeyRing({"2026-10": bytes(32), "2026-04": b"k" * 32})
        >>> ring
        KeyRing(primary='2026-10', kids=('2026-10', '2026-04'))
        >>> token = ring.encrypt(b'{"v": 1}', Binding("thread-1"))
        >>> ring.decrypt(token, Binding("thread-1"))
        b'{"v": 1}'
    """

    __slots__ = ("__weakref__", "_derived", "_keys", "_now", "_primary", "_stand_in")

    def __init__(
        self,
        keys: Mapping[str, bytes] | Callable[[str], bytes],
        *,
        primary: str | None = None,
        kids: Collection[str] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Make a ring.

        Args:
            keys: Keys of 32 bytes by id; or a callable that fetches one, which is how a key management
                service is used. It raises ``LookupError`` (or returns ``None``) for an id it does not know,
                and whatever else it raises reaches the caller: an outage is not a forged token. The last 32
                keys it gave are remembered, see `forget`. Which ids it is asked for is the choice of
                clients, within ``kids``.
            primary: The id of the key that encrypts. The first one of a mapping by default; a callable
                needs it.
            kids: The ids that a callable may be asked for, the primary one among them. By default every id
                of letters, digits, ``.``, ``_`` and ``-`` that begins with neither ``.`` nor ``-``. One that
                turns out to be unknown is not asked for again within 5 seconds, and after 8 of them in one
                request no more are.
            now: Seconds since 1970.

        Raises:
            ConfigurationError: A key is not 32 bytes (``bad_key``), an id cannot be one (``bad_kid``), there
                is no key (``no_keys``), the primary one is not among them (``unknown_key``), or ``kids`` are
                given beside a mapping (``wrong_option``).
        """
        held: HeldKeys | FetchedKeys | ConfigurationError
        if isinstance(keys, Mapping):
            held = keys_in_mapping(keys) if kids is None else _needless()
        else:
            held = keys_fetched_by(keys, kids, primary, now)
        del keys  # a traceback that shows local variables would show them
        self._set(held, primary, now)

    def _set(
        self, held: HeldKeys | FetchedKeys | ConfigurationError, primary: str | None, now: Callable[[], float]
    ) -> None:
        if isinstance(held, ConfigurationError):
            raise held
        self._keys = held
        self._primary = _chosen(held, primary)
        self._now = now
        self._derived = DerivedKeys()
        self._stand_in = Secret(random_bytes(KEY_BYTES))

    @classmethod
    def _of(cls, held: HeldKeys | ConfigurationError, now: Callable[[], float]) -> Self:
        ring = cls.__new__(cls)
        ring._set(held, None, now)
        return ring

    @classmethod
    def generate(cls, kid: str | None = None, *, now: Callable[[], float] = time.time) -> Self:
        """Make a ring with one new key.

        Args:
            kid: The key's id; a random one by default.
            now: Seconds since 1970.

        Raises:
            ConfigurationError: The id cannot be one (``bad_kid``).
        """
        name = f"key-{random_bytes(4).hex()}" if kid is None else kid
        return cls._of(keys_in_mapping({name: random_bytes(KEY_BYTES)}), now)

    @classmethod
    def from_env(cls, name: str = DEFAULT_VARIABLE, *, now: Callable[[], float] = time.time) -> Self:
        """Read ``kid:base64url,kid:base64url`` from the environment; the first key is the primary one.

        Raises:
            ConfigurationError: There is no key (``no_keys``), or one is not 32 bytes in base64url
                (``bad_key``).
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
        """Read keys from a file: as in the environment, or one on each line.

        Args:
            path: The file. It warns where everybody may read it.
            now: Seconds since 1970.
            on_warning: Called with each warning; default is Python's ``warnings``.

        Raises:
            ConfigurationError: The file cannot be read (``unreadable_keys``), has no key (``no_keys``), or
                one that is not 32 bytes in base64url (``bad_key``).
        """
        ring = cls._of(keys_in_file(path), now)
        if readable(path):
            (on_warning or _warn)(f"Everybody on this machine may read the keys in {os.fspath(path)}.")
        return ring

    @property
    def primary(self) -> str:
        """The id of the key that encrypts."""
        return self._primary

    @property
    def kids(self) -> tuple[str, ...]:
        """The ids of all keys; empty where a callable fetches them."""
        return self._keys.kids()

    def to_env(self) -> str:
        """Write the keys as `from_env` reads them, the primary one first. This is the key material itself.

        Raises:
            ConfigurationError: A callable fetches the keys, so they cannot be listed (``keys_elsewhere``).
        """
        if not self.kids:
            raise ConfigurationError(
                "The keys of this ring cannot be listed: a callable fetches them.",
                code="keys_elsewhere",
                hint="Export them where they are kept.",
            )
        kids = sorted(self.kids, key=lambda kid: kid != self._primary)
        return ",".join(f"{kid}:{base64url.encode(self._key(kid).reveal())}" for kid in kids)

    def encrypt(
        self, plaintext: bytes, binding: Binding, *, ttl_s: int | None = None, pad_to: int = 0
    ) -> str:
        """Encrypt with the primary key.

        Args:
            plaintext: At most 12,000,000 bytes, padding included.
            binding: Where the token belongs; it opens nowhere else.
            ttl_s: Whole seconds after which it is no longer accepted; never by default. That is not
                erasure: anyone with the key can still read it.
            pad_to: Length is made a multiple of this by spaces at the end, which `decrypt` leaves there: for
                JSON, whose readers skip them. 0 adds none.

        Returns:
            A JWE in compact serialization, in ASCII.

        Raises:
            ConfigurationError: An argument cannot be used (``bad_plaintext``, ``bad_binding``, ``bad_ttl``,
                ``bad_padding``), or the primary key cannot be had (``unknown_key``, ``bad_key``).
        """
        secret = padded(plaintext, pad_to)
        del plaintext  # a traceback that shows local variables would show it
        if isinstance(secret, ConfigurationError):
            raise secret
        return self._seal(secret, bound(binding), expiry(ttl_s, self._now))

    def decrypt(self, token: str, binding: Binding) -> bytes:
        """Decrypt what any key of the ring encrypted for this binding.

        Args:
            token: What `encrypt` gave, or another JOSE library with our header and `content_key`.
            binding: Where the token was found.

        Raises:
            DecryptionError: It does not open, for whatever reason.
            ConfigurationError: ``binding`` is none (``bad_binding``), or a callable gave something that is
                not a key (``bad_key``).
        """
        plaintext = self._open(token, binding)
        del token
        if plaintext is None:
            raise DecryptionError
        return plaintext.reveal()

    def needs_rekey(self, token: str) -> bool:
        """Whether a token names another key than the primary one. Its header is believed, no key is used.

        Raises:
            DecryptionError: It is none of our tokens.
        """
        header = read_header(token.partition(".")[0]) if isinstance(token, str) else None
        del token
        if header is None:
            raise DecryptionError
        return header.kid != self._primary

    def rekey(self, token: str, binding: Binding) -> str:
        """Decrypt a token and encrypt it again with the primary key: same binding, same expiry.

        Raises:
            DecryptionError: It does not open; an expired one is not made young again.
            ConfigurationError: As for `decrypt` and `encrypt`.
        """
        plaintext = self._open(token, binding)
        read = None if plaintext is None else read_token(token)
        del token
        if plaintext is None or read is None:
            raise DecryptionError
        return self._seal(plaintext, binding, read.header.exp)

    def content_key(self, kid: str, thread_id: str, tenant: str = "") -> bytes:
        """Derive the key that any JOSE library needs to open, or to make, the tokens of one thread.

        Returns:
            32 bytes: key material. It opens this thread for this tenant and no other.

        Raises:
            ConfigurationError: The ring has no such key (``unknown_key``).
        """
        return derive(self._key(kid), content_info(Binding(thread_id, tenant=tenant))).reveal()

    def reader(self, binding: Binding) -> TokenReader:
        """Open many tokens of one place: each key is looked up and derived once."""
        return TokenReader(self._keys, self._stand_in, self._now, bound(binding), self._derived)

    def forget(self) -> None:
        """Drop what a callable has fetched and what was derived, for example after a key was destroyed."""
        self._keys.forget()
        self._derived.forget()

    def _seal(self, plaintext: Secret, binding: Binding, exp: int | None) -> str:
        key = self._key(self._primary)
        entity = self._derived.entity_mac(key, binding) if binding.entity_id else None
        protected = write_header(Header(self._primary, exp, entity))
        return seal(self._derived.cipher(key, binding), protected, random_bytes(NONCE_BYTES), plaintext)

    def _open(self, text: str, binding: Binding) -> Secret | None:
        return self.reader(binding).open(text)

    def _key(self, kid: str) -> Secret:
        key = self._keys.get(kid)
        if key is None:
            raise _unknown_key(self.kids)
        return key

    def __repr__(self) -> str:
        if not hasattr(self, "_primary"):  # in a traceback from inside `__init__`
            return "KeyRing()"
        known = f"kids={self.kids}" if self.kids else "keys fetched on demand"
        return f"KeyRing(primary={self._primary!r}, {known})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a KeyRing is not pickled: the pickle would hold its keys")


def _needless() -> ConfigurationError:
    return ConfigurationError(
        "kids= is for keys that a callable fetches; a mapping has its ids.",
        code="wrong_option",
        hint="Leave kids= out.",
    )


def _chosen(held: HeldKeys | FetchedKeys, primary: str | None) -> str:
    kids = held.kids()
    if primary is None and kids:
        return kids[0]
    if primary is None or not held.may_be_primary(primary):
        raise ConfigurationError(
            "The ring has no primary key: none is named, or not one of its keys.",
            code="unknown_key",
            hint="Name with `primary=` the key that encrypts.",
        )
    return primary


def _unknown_key(kids: Sequence[str]) -> ConfigurationError:
    # What was asked for is not told: it may be a key, where its id was meant.
    known = f": it has {', '.join(kids)}" if kids else ""
    return ConfigurationError(
        f"The ring has no key of that id{known}.",
        code="unknown_key",
        hint="Add the key, or name another one.",
    )


def _warn(message: str) -> None:
    warnings.warn(message, AGUIReasoningWarning, stacklevel=3)
