"""Where a ring's keys come from: a mapping, text in the environment or a file, or a callable.

What is wrong with keys is given back as an error that is not raised yet: the frame that read them holds
them, and a traceback would keep that frame.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from agui_reasoning.crypto import base64url
from agui_reasoning.crypto.derive import KEY_BYTES
from agui_reasoning.crypto.jwe import KID
from agui_reasoning.crypto.secret import Secret
from agui_reasoning.errors import ConfigurationError

__all__ = ["FetchedKeys", "HeldKeys", "is_kid", "keys_in_env", "keys_in_file", "keys_in_mapping", "readable"]

_FETCHED: Final = 32
_UNSET: Final = "Set it, or use a file of keys (--keys-file); `agui-reasoning keygen` makes a first key."
_HINT: Final = "Make a key with `agui-reasoning keygen` or `KeyRing.generate()`."


class HeldKeys:
    """Keys in memory, in order."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Mapping[str, Secret]) -> None:
        self._keys = dict(keys)

    def get(self, kid: str) -> Secret | None:
        """The key of this id, if there is one."""
        return self._keys.get(kid)

    def kids(self) -> tuple[str, ...]:
        """The ids, in the order in which they were given."""
        return tuple(self._keys)

    def forget(self) -> None:
        """Nothing was fetched, so there is nothing to forget."""


class FetchedKeys:
    """Keys that somebody else holds; the last 32 of them are remembered."""

    __slots__ = ("_fetch", "_recent")

    def __init__(self, fetch: Callable[[str], bytes]) -> None:
        self._fetch = fetch
        # It does not remember what raised: a key that is unknown now may be there the next time.
        self._recent = lru_cache(maxsize=_FETCHED)(self._ask)

    def get(self, kid: str) -> Secret | None:
        """The key of this id, or ``None`` where the callable says that there is none.

        Raises:
            ConfigurationError: What it gave is no key (``bad_key``).
        """
        try:
            return self._recent(kid)
        except LookupError:
            return None

    def kids(self) -> tuple[str, ...]:
        """Nobody knows them all."""
        return ()

    def forget(self) -> None:
        """Ask for every key again."""
        self._recent.cache_clear()

    def _ask(self, kid: str) -> Secret:
        key = _checked(kid, self._fetch(kid))
        if key is None:
            raise LookupError
        if isinstance(key, ConfigurationError):
            raise key
        return key


def is_kid(kid: object) -> bool:
    """Whether this can be the id of a key."""
    return isinstance(kid, str) and KID.fullmatch(kid) is not None


def keys_in_mapping(keys: Mapping[str, bytes]) -> HeldKeys | ConfigurationError:
    """Take the keys out of a mapping."""
    return _held((kid, _checked(kid, key)) for kid, key in keys.items())


def keys_in_env(name: str) -> HeldKeys | ConfigurationError:
    """Read the keys in a variable of the environment."""
    if not os.environ.get(name, "").strip():
        return _no_keys(f"The environment variable {name} is not set, or empty.", _UNSET)
    return _keys_in(os.environ[name], name)


def keys_in_file(path: str | os.PathLike[str]) -> HeldKeys | ConfigurationError:
    """Read the keys in a file."""
    try:
        return _keys_in(Path(path).read_bytes().decode("utf-8-sig", "replace"), os.fspath(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not one"
    return ConfigurationError(
        f"The keys in {os.fspath(path)} cannot be read: {reason}.",
        code="unreadable_keys",
        hint="Give the path of a file that this process may read.",
    )


def readable(path: str | os.PathLike[str]) -> bool:
    """Whether everybody on this machine may read a file."""
    return os.name == "posix" and bool(Path(path).stat().st_mode & stat.S_IROTH)


def _keys_in(text: str, where: str) -> HeldKeys | ConfigurationError:
    entries = [entry.strip() for entry in re.split(r"[,\n]", text)]
    numbered = enumerate(filter(None, entries), start=1)
    return _held((_entry(entry, number, where) for number, entry in numbered), where)


def _entry(entry: str, number: int, where: str) -> tuple[str, Secret | ConfigurationError]:
    kid, _, text = entry.partition(":")
    key = base64url.decode(text)
    # Not even the id is told: whoever leaves it out has the key in its place.
    if not is_kid(kid) or key is None or len(key) != KEY_BYTES:
        return kid, ConfigurationError(
            f"Key {number} in {where} is not `kid:key` with {KEY_BYTES} bytes in base64url, unpadded.",
            code="bad_key",
            hint=_HINT,
        )
    return kid, Secret(key)


def _held(
    pairs: Iterable[tuple[str, Secret | ConfigurationError | None]], where: str = "the ring"
) -> HeldKeys | ConfigurationError:
    keys: dict[str, Secret] = {}
    for kid, key in pairs:
        if isinstance(key, ConfigurationError):
            return key
        if kid in keys:
            return _bad_key(kid, "it is there twice", "Remove one of the two.")
        if key is None:
            return _bad_key(kid, "there is none")
        keys[kid] = key
    return HeldKeys(keys) if keys else _no_keys(f"There is no key in {where}.")


def _checked(kid: Any, key: Any) -> Secret | ConfigurationError | None:
    if not is_kid(kid):
        return ConfigurationError(
            "The id of a key is not 1 to 64 visible ASCII characters without comma and colon.",
            code="bad_kid",
            hint="Use something short, such as a date.",
        )
    if key is None:
        return None
    if not isinstance(key, bytes | bytearray):
        return _bad_key(kid, f"it is {type(key).__name__}, not bytes")
    if len(key) != KEY_BYTES:
        return _bad_key(kid, f"it has {len(key)} bytes, not {KEY_BYTES}")
    return Secret(bytes(key))


def _bad_key(kid: str, problem: str, hint: str = _HINT) -> ConfigurationError:
    return ConfigurationError(f"Key {kid} cannot be used: {problem}.", code="bad_key", hint=hint)


def _no_keys(problem: str, hint: str = _HINT) -> ConfigurationError:
    return ConfigurationError(problem, code="no_keys", hint=hint)
