"""The keys of one run, which uses what it fetched first until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

from agui_reasoning.crypto._held import FetchedKeys, Fetching, LookUps
from agui_reasoning.crypto._secret import Secret
from agui_reasoning.errors import AGUIReasoningError, ConfigurationError, TransportError

__all__ = ["RunKeys"]

_Outcome: TypeAlias = Secret | Callable[[], AGUIReasoningError] | None
"""A key, what makes the error that fetching it raised, or ``None`` for an unknown key."""


class RunKeys:
    """Fetched keys as one run has them: rotation, expiry and `KeyRing.forget` do not change them.

    The callable can be called before the keys are used, and asynchronously: see `getting` and `finding`.
    """

    __slots__ = ("_keys", "_outcomes")

    def __init__(self, keys: FetchedKeys) -> None:
        self._keys = keys
        self._outcomes: dict[str, _Outcome] = {}

    def get(self, kid: str) -> Secret | None:
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

    def find(self, kid: str, look_ups: LookUps) -> Secret | None:
        """Return the key for a key ID from a client, or ``None`` if it is unknown or not allowed.

        Raises:
            TransportError: As for `get`.
            ConfigurationError: As for `get`.
        """
        if kid in self._outcomes:
            return self._told(kid)
        with _service(kid):
            return self._kept(kid, self._keys.find(kid, look_ups))

    def getting(self, kid: str) -> Fetching[Secret | None]:
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

    def may_be_primary(self, kid: str) -> bool:
        """Return whether the primary key can have this ID."""
        return self._keys.may_be_primary(kid)

    def forget(self) -> None:
        """Discard the keys that rings cache; the run keeps its own."""
        self._keys.forget()

    def _kept(self, kid: str, key: Secret | None) -> Secret | None:
        if key is not None:
            self._outcomes.setdefault(kid, key)
        return key

    def _told(self, kid: str) -> Secret | None:
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
