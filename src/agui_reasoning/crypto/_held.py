"""The sources of a ring's keys: a mapping, an environment variable, a file or a callable.

Functions here return errors instead of raising them, because a traceback would reference the frame that
contains the keys.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from agui_reasoning.crypto import _base64url as base64url
from agui_reasoning.crypto._derive import KEY_BYTES
from agui_reasoning.crypto._jwe import KID
from agui_reasoning.crypto._recent import Recent
from agui_reasoning.crypto._secret import Secret
from agui_reasoning.errors import ConfigurationError

__all__ = [
    "FetchedKeys",
    "Fetching",
    "HeldKeys",
    "LookUps",
    "at_once",
    "is_kid",
    "keys_fetched_by",
    "keys_in_env",
    "keys_in_file",
    "keys_in_mapping",
    "readable",
]

MAX_FAILED_LOOK_UPS: Final = 8
"""The maximum number of unknown key IDs that are looked up for one request."""

UNKNOWN_FOR_S: Final = 5.0
"""The time in seconds before an unknown key ID is looked up again."""

_FETCHED: Final = 32
_UNKNOWN: Final = 1024
_PLAIN_KID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
"""The key IDs passed to a callable without a list of IDs. Excludes paths, URLs and command-line options."""

_UNSET: Final = "Set it, or pass your own keys=KeyRing(...); `agui-reasoning keygen` generates a key."
_HINT: Final = "Generate a key with `agui-reasoning keygen` or `KeyRing.generate()`."


_Result = TypeVar("_Result")

Fetching: TypeAlias = Generator[Awaitable[Any], Secret, _Result]
"""Yields what must be awaited, and takes its result in a `Secret`, because tracebacks show variables."""


class HeldKeys:
    """Keys in memory, in order."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Mapping[str, Secret]) -> None:
        self._keys = dict(keys)

    def get(self, kid: str) -> Secret | None:
        """Return a key by ID, or ``None``."""
        return self._keys.get(kid)

    def find(self, kid: str, look_ups: LookUps) -> Secret | None:
        """Return the key for a key ID from a client, or ``None``."""
        return self._keys.get(kid)

    def kids(self) -> tuple[str, ...]:
        """Return the key IDs, in their original order."""
        return tuple(self._keys)

    def may_be_primary(self, kid: str) -> bool:
        """Return whether the primary key can have this ID."""
        return kid in self._keys

    def forget(self) -> None:
        """Do nothing, because keys in memory are not cached."""


@dataclass(slots=True)
class LookUps:
    """The remaining number of look-ups that may fail in one request."""

    left: int = MAX_FAILED_LOOK_UPS


class FetchedKeys:
    """Keys fetched by a callable; the last 32 are cached for a while.

    Clients choose the key ID of a token, so look-ups are limited: to the primary key and listed IDs, or,
    without a list, to plain IDs until too many of one request are unknown. IDs that were unknown recently are
    not looked up.
    """

    __slots__ = ("_allowed", "_fetch", "_keys", "_primary", "_unknown")

    def __init__(
        self,
        fetch: Callable[[str], Any],
        allowed: frozenset[str] | None,
        primary: str | None,
        max_age_s: float,
        now: Callable[[], float],
    ) -> None:
        self._fetch = fetch
        self._allowed = allowed
        self._primary = primary
        self._keys: Recent[str, Secret] = Recent(_FETCHED, max_age_s, now)
        self._unknown: Recent[str, bool] = Recent(_UNKNOWN, UNKNOWN_FOR_S, now)

    def get(self, kid: str) -> Secret | None:
        """Return a key by ID, or ``None`` if the callable does not know it.

        Raises:
            ConfigurationError: The callable returned an invalid key (``bad_key``), or is asynchronous
                (``async_keys``).
        """
        return at_once(self.getting(kid))

    def find(self, kid: str, look_ups: LookUps) -> Secret | None:
        """Return the key for a key ID from a client, or ``None`` if it is unknown or not allowed.

        Raises:
            ConfigurationError: As for `get`.
        """
        return at_once(self.finding(kid, look_ups))

    def getting(self, kid: str) -> Fetching[Secret | None]:
        """Like `get`, as a generator that also takes asynchronous callables."""
        if key := self._keys.get(kid):
            return key
        try:
            fetched: Any = self._fetch(kid)
            if isawaitable(fetched):
                fetched = (yield fetched).reveal()
            fetched = _checked(kid, fetched)  # the same variable, because tracebacks can show it
        except LookupError:
            return None
        if isinstance(fetched, ConfigurationError):
            raise fetched
        if isinstance(fetched, Secret):
            self._keys.put(kid, fetched)
            return fetched
        return None

    def finding(self, kid: str, look_ups: LookUps) -> Fetching[Secret | None]:
        """Like `find`, as a generator that also takes asynchronous callables."""
        if key := self._keys.get(kid):
            return key
        if self._unknown.get(kid):
            return None
        if kid == self._primary or self._allowed is not None:
            return (yield from self._remembering(kid)) if self._is_listed(kid) else None
        if look_ups.left <= 0 or _PLAIN_KID.fullmatch(kid) is None:
            return None
        look_ups.left -= 1
        key = yield from self._remembering(kid)
        if key is not None:
            look_ups.left += 1
        return key

    def kids(self) -> tuple[str, ...]:
        """Return no IDs, because they cannot be listed."""
        return ()

    def may_be_primary(self, kid: str) -> bool:
        """Return whether the primary key can have this ID."""
        return is_kid(kid) and self._is_listed(kid)

    def forget(self) -> None:
        """Discard all cached keys."""
        self._keys.clear()
        self._unknown.clear()

    def _is_listed(self, kid: str) -> bool:
        return self._allowed is None or kid in self._allowed

    def _remembering(self, kid: str) -> Fetching[Secret | None]:
        key = yield from self.getting(kid)
        if key is None:
            self._unknown.put(kid, True)
        return key


def at_once(fetching: Fetching[_Result]) -> _Result:
    """Run a generator to its end in synchronous code, where nothing can be awaited."""
    try:
        awaited = next(fetching)
    except StopIteration as done:
        result: _Result = done.value
        return result
    fetching.close()
    if close := getattr(awaited, "close", None):
        close()  # a coroutine that is not awaited warns
    raise ConfigurationError(
        "The callable of the key ring is asynchronous, and this is synchronous code.",
        code="async_keys",
        hint="Run the agent with `agui_reasoning.aio`, which awaits it, or return the key from a function.",
    )


def is_kid(kid: object) -> bool:
    """Return whether a value is a valid key ID."""
    return isinstance(kid, str) and KID.fullmatch(kid) is not None


def keys_in_mapping(keys: Mapping[str, bytes]) -> HeldKeys | ConfigurationError:
    """Return the keys of a mapping."""
    return _held((kid, _checked(kid, key)) for kid, key in keys.items())


def keys_fetched_by(
    fetch: object,
    kids: Collection[str] | None,
    primary: str | None,
    max_age_s: float,
    now: Callable[[], float],
) -> FetchedKeys | ConfigurationError:
    """Return keys that a callable fetches, optionally limited to some IDs."""
    if not callable(fetch):
        return ConfigurationError(
            f"The keys are {type(fetch).__name__}, neither a mapping nor a callable.",
            code="bad_keys",
            hint="Pass {kid: 32 bytes}, or a callable that returns the key for a kid.",
        )
    if isinstance(kids, str) or not all(map(is_kid, kids or ())):
        return _bad_kid("An ID in kids=")
    return FetchedKeys(fetch, None if kids is None else frozenset(kids), primary, max_age_s, now)


def keys_in_env(name: str) -> HeldKeys | ConfigurationError:
    """Read keys from an environment variable."""
    if not os.environ.get(name, "").strip():
        return _no_keys(f"The environment variable {name} is not set, or empty.", _UNSET)
    return _keys_in(os.environ[name], name)


def keys_in_file(path: str | os.PathLike[str]) -> HeldKeys | ConfigurationError:
    """Read keys from a file."""
    try:
        return _keys_in(Path(path).read_bytes().decode("utf-8-sig", "replace"), os.fspath(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is invalid"
    return ConfigurationError(
        f"The keys in {os.fspath(path)} cannot be read: {reason}.",
        code="unreadable_keys",
        hint="Pass the path of a file that this process may read.",
    )


def readable(path: str | os.PathLike[str]) -> bool:
    """Return whether every user of this machine can read a file."""
    return os.name == "posix" and bool(Path(path).stat().st_mode & stat.S_IROTH)


def _keys_in(text: str, where: str) -> HeldKeys | ConfigurationError:
    entries = [entry.strip() for entry in re.split(r"[,\n]", text)]
    numbered = enumerate(filter(None, entries), start=1)
    return _held((_entry(entry, number, where) for number, entry in numbered), where)


def _entry(entry: str, number: int, where: str) -> tuple[str, Secret | ConfigurationError]:
    kid, _, text = entry.partition(":")
    key = base64url.decode(text)
    # The message does not contain the ID: if it is missing, the key is in its place.
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
            return _bad_key(kid, "it occurs twice", "Remove one of the two.")
        if key is None:
            return _bad_key(kid, "it is None")
        keys[kid] = key
    return HeldKeys(keys) if keys else _no_keys(f"There is no key in {where}.")


def _checked(kid: Any, key: Any) -> Secret | ConfigurationError | None:
    if not is_kid(kid):
        return _bad_kid("A key ID")
    if key is None:
        return None
    if not isinstance(key, bytes | bytearray):
        return _bad_key(kid, f"it is {type(key).__name__}, not bytes")
    if len(key) != KEY_BYTES:
        return _bad_key(kid, f"it has {len(key)} bytes, not {KEY_BYTES}")
    return Secret(bytes(key))


def _bad_kid(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what} is not 1 to 64 visible ASCII characters without comma and colon.",
        code="bad_kid",
        hint="Use a short ID, such as a date.",
    )


def _bad_key(kid: str, problem: str, hint: str = _HINT) -> ConfigurationError:
    return ConfigurationError(f"Key {kid} cannot be used: {problem}.", code="bad_key", hint=hint)


def _no_keys(problem: str, hint: str = _HINT) -> ConfigurationError:
    return ConfigurationError(problem, code="no_keys", hint=hint)
