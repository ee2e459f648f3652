"""The sources of a ring's keys: a mapping, an environment variable, a file or a callable.

Tracebacks can show the local variables of every frame. Functions that take keys or read them therefore raise
their errors without their own frames: see `_without_frames`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from inspect import isawaitable
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from agui_reasoning.crypto._jwe import KEY_BYTES, Secret, TimedCache, from_base64url, is_kid
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, TransportError

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
_P = ParamSpec("_P")

Key: TypeAlias = Secret[bytes]
"""32 bytes."""

Fetching: TypeAlias = Generator[Awaitable[Any], Secret[Any], _Result]
"""Yields what must be awaited, and takes its result in a `Secret`, because tracebacks show variables."""


def _without_frames(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Raise the errors of a function without the frames inside it, whose variables can contain keys."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except ConfigurationError as error:
            raise error.with_traceback(None) from None

    return call


# -- keys in memory


class HeldKeys:
    """Keys in memory, in order."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Mapping[str, Key]) -> None:
        self._keys = dict(keys)

    def get(self, kid: str) -> Key | None:
        """Return a key by ID, or ``None``."""
        return self._keys.get(kid)

    def find(self, kid: str, look_ups: LookUps) -> Key | None:
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


@_without_frames
def keys_in_mapping(keys: Secret[Mapping[str, bytes]]) -> HeldKeys:
    """Return the keys of a mapping.

    Raises:
        ConfigurationError: There is none (``no_keys``), or an invalid one (``bad_key``) or ID (``bad_kid``).
    """
    return _held((kid, _checked(kid, key)) for kid, key in keys.reveal().items())


@_without_frames
def keys_in_env(name: str) -> HeldKeys:
    """Read keys from an environment variable.

    Raises:
        ConfigurationError: It has no keys (``no_keys``), or an invalid one (``bad_key``).
    """
    if not os.environ.get(name, "").strip():
        raise _no_keys(f"The environment variable {name} is not set, or empty.", _UNSET)
    return _keys_in(os.environ[name], name)


@_without_frames
def keys_in_file(path: str | os.PathLike[str]) -> HeldKeys:
    """Read keys from a file.

    Raises:
        ConfigurationError: It cannot be read (``unreadable_keys``), or as for `keys_in_env`.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig", "replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is invalid"
        raise ConfigurationError(
            f"The keys in {os.fspath(path)} cannot be read: {reason}.",
            code="unreadable_keys",
            hint="Pass the path of a file that this process may read.",
        ) from None
    return _keys_in(text, os.fspath(path))


def readable(path: str | os.PathLike[str]) -> bool:
    """Return whether every user of this machine can read a file."""
    return os.name == "posix" and bool(Path(path).stat().st_mode & stat.S_IROTH)


def _keys_in(text: str, where: str) -> HeldKeys:
    entries = [entry.strip() for entry in re.split(r"[,\n]", text)]
    numbered = enumerate(filter(None, entries), start=1)
    return _held((_entry(entry, number, where) for number, entry in numbered), where)


def _entry(entry: str, number: int, where: str) -> tuple[str, Key]:
    kid, _, text = entry.partition(":")
    key = from_base64url(text)
    # The message does not contain the ID: if it is missing, the key is in its place.
    if not is_kid(kid) or key is None or len(key) != KEY_BYTES:
        raise ConfigurationError(
            f"Key {number} in {where} is not `kid:key` with {KEY_BYTES} bytes in base64url, unpadded.",
            code="bad_key",
            hint=_HINT,
        )
    return kid, Secret(key)


def _held(pairs: Iterable[tuple[str, Key | None]], where: str = "the ring") -> HeldKeys:
    keys: dict[str, Key] = {}
    for kid, key in pairs:
        if kid in keys:
            raise _bad_key(kid, "it occurs twice", "Remove one of the two.")
        if key is None:
            raise _bad_key(kid, "it is None")
        keys[kid] = key
    if not keys:
        raise _no_keys(f"There is no key in {where}.")
    return HeldKeys(keys)


def _checked(kid: Any, key: Any) -> Key | None:
    if not is_kid(kid):
        raise _bad_kid("A key ID")
    if key is None:
        return None
    if not isinstance(key, bytes | bytearray):
        raise _bad_key(kid, f"it is {type(key).__name__}, not bytes")
    if len(key) != KEY_BYTES:
        raise _bad_key(kid, f"it has {len(key)} bytes, not {KEY_BYTES}")
    return Secret(bytes(key))


@_without_frames
def _checked_fetched(kid: str, key: Secret[Any]) -> Key | None:
    return _checked(kid, key.reveal())


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


# -- keys that a callable fetches


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
        fetch: Secret[Any],
        kids: Collection[str] | None,
        primary: str | None,
        max_age_s: float,
        now: Callable[[], float],
    ) -> None:
        """Take a callable, and optionally the IDs that it is limited to.

        Raises:
            ConfigurationError: It is not callable (``bad_keys``), or an ID is invalid (``bad_kid``).
        """
        if not callable(fetch.reveal()):
            raise ConfigurationError(
                f"The keys are {type(fetch.reveal()).__name__}, neither a mapping nor a callable.",
                code="bad_keys",
                hint="Pass {kid: 32 bytes}, or a callable that returns the key for a kid.",
            )
        if isinstance(kids, str) or not all(map(is_kid, kids or ())):
            raise _bad_kid("An ID in kids=")
        self._fetch: Callable[[str], Any] = fetch.reveal()
        self._allowed = None if kids is None else frozenset(kids)
        self._primary = primary
        self._keys: TimedCache[str, Key] = TimedCache(_FETCHED, max_age_s, now)
        self._unknown: TimedCache[str, bool] = TimedCache(_UNKNOWN, UNKNOWN_FOR_S, now)

    def get(self, kid: str) -> Key | None:
        """Return a key by ID, or ``None`` if the callable does not know it.

        Raises:
            ConfigurationError: The callable returned an invalid key (``bad_key``), or is asynchronous
                (``async_keys``).
        """
        return at_once(self.getting(kid))

    def find(self, kid: str, look_ups: LookUps) -> Key | None:
        """Like `get`, for a key ID from a client; also ``None`` if it is not allowed."""
        return at_once(self.finding(kid, look_ups))

    def getting(self, kid: str) -> Fetching[Key | None]:
        """Like `get`, as a generator that also takes asynchronous callables."""
        if key := self._keys.get(kid):
            return key
        try:
            fetched: Secret[Any] = Secret(self._fetch(kid))
            if isawaitable(fetched.reveal()):
                fetched = yield fetched.reveal()
        except LookupError:
            return None
        key = _checked_fetched(kid, fetched)
        if key is not None:
            self._keys.put(kid, key)
        return key

    def finding(self, kid: str, look_ups: LookUps) -> Fetching[Key | None]:
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

    def _remembering(self, kid: str) -> Fetching[Key | None]:
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


# -- the keys of a run

_Outcome: TypeAlias = Key | Callable[[], AGUIReasoningError] | None
"""A key, what makes the error that fetching it raised, or ``None`` for an unknown key."""


class RunKeys:
    """Fetched keys as one run has them: rotation, expiry and `KeyRing.forget` do not change them.

    The callable can be called before the keys are used, and asynchronously: see `getting` and `finding`.
    """

    __slots__ = ("_keys", "_outcomes")

    def __init__(self, keys: FetchedKeys) -> None:
        self._keys = keys
        self._outcomes: dict[str, _Outcome] = {}

    def get(self, kid: str) -> Key | None:
        """Return a key by ID, or ``None`` if the callable does not know it.

        Raises:
            TransportError: The callable failed (``key_unavailable``).
            ConfigurationError: The callable returned an invalid key (``bad_key``), or is asynchronous
                (``async_keys``) and was not called before.
        """
        if kid in self._outcomes:
            return self._told(kid)
        with _service(kid):
            return self._kept(kid, self._keys.get(kid))

    def find(self, kid: str, look_ups: LookUps) -> Key | None:
        """Like `get`, for a key ID from a client; also ``None`` if it is not allowed."""
        if kid in self._outcomes:
            return self._told(kid)
        with _service(kid):
            return self._kept(kid, self._keys.find(kid, look_ups))

    def getting(self, kid: str) -> Fetching[Key | None]:
        """Like `get`, as a generator that also takes asynchronous callables."""
        if kid in self._outcomes:
            return self._told(kid)
        with _service(kid):
            return self._kept(kid, (yield from self._keys.getting(kid)))

    def finding(self, kids: Iterable[str]) -> Fetching[None]:
        """Look up all key IDs of one request from a client, as a generator; `find` returns the outcomes."""
        look_ups = LookUps()
        for kid in kids:
            if kid in self._outcomes:
                continue
            try:
                with _service(kid):
                    self._outcomes.setdefault(kid, (yield from self._keys.finding(kid, look_ups)))
            except (ConfigurationError, TransportError) as error:
                # Not the error itself: its traceback would keep this frame, and with it the keys, in a cycle.
                made = partial(type(error), str(error.args[0]), code=error.code, hint=error.hint)
                self._outcomes.setdefault(kid, made)

    def kids(self) -> tuple[str, ...]:
        """Return no IDs, because they cannot be listed."""
        return self._keys.kids()

    def forget(self) -> None:
        """Discard the keys that rings cache; the run keeps its own."""
        self._keys.forget()

    def _kept(self, kid: str, key: Key | None) -> Key | None:
        if key is not None:
            self._outcomes.setdefault(kid, key)
        return key

    def _told(self, kid: str) -> Key | None:
        outcome = self._outcomes[kid]
        if outcome is None or isinstance(outcome, Secret):
            return outcome
        raise outcome()


@contextmanager
def _service(kid: str) -> Iterator[None]:
    """Give errors of the callable a code. They are outages: it raises ``LookupError`` for unknown keys."""
    try:
        yield
    except AGUIReasoningError:
        raise
    except Exception as error:
        raise TransportError(
            f"The key {kid} could not be fetched ({type(error).__name__}).",
            code="key_unavailable",
            hint="Check the service that the callable of the key ring asks. Its error is `__cause__`.",
        ) from error
