"""Repeats requests that a provider could not take for a moment, before the first byte of its answer."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

import anyio

from agui_reasoning.errors import ConfigurationError, ProviderError, TransportError

__all__ = ["ATTEMPTS", "MAX_WAIT_S", "Retries"]

ATTEMPTS: Final = 3
"""The default limit for requests per answer."""

MAX_WAIT_S: Final = 30.0
"""The default limit for the time from the first request to the start of the last, in seconds."""

_TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
_LASTING: Final = frozenset({"insufficient_quota", "exceeded_current_quota_error", "billing_error"})
"""Names of errors with a transient status that waiting does not end."""

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 8.0

_log = logging.getLogger("agui_reasoning")
_T = TypeVar("_T")
_Failure: TypeAlias = ProviderError | TransportError


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long to try.

    Pauses double from half a second, with jitter, and are never shorter than the provider asks for.

    Attributes:
        attempts: The maximum number of requests.
        max_wait_s: The maximum time from the first request to the start of the last, in seconds.
        sleep: Waits for a number of seconds.
        clock: Returns the time in seconds.
        jitter: Returns a number from 0 to 1.
    """

    attempts: int = ATTEMPTS
    max_wait_s: float = MAX_WAIT_S
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = anyio.current_time
    jitter: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.max_wait_s < 0:
            raise ConfigurationError(
                f"attempts is {self.attempts} and max_wait_s is {self.max_wait_s}.",
                code="bad_limit",
                hint="Pass at least 1 attempt, and a number of seconds of at least 0.",
            )

    async def call(self, send: Callable[[], Awaitable[_T]]) -> _T:
        """Send a request until it is answered, fails for good, or the limits are reached.

        Raises:
            ProviderError: The provider returned an error.
            TransportError: The provider cannot be reached.
        """
        start, sent = self.clock(), 1
        while True:
            try:
                return await send()
            except (ProviderError, TransportError) as error:
                pause = self._pause(error, sent)
                if pause is None or self.clock() - start + pause > self.max_wait_s:
                    raise
                _log.info(
                    "%s Request %d of %d follows in %.1f s.", error.args[0], sent + 1, self.attempts, pause
                )
            await self.sleep(pause)
            sent += 1

    def _pause(self, error: _Failure, sent: int) -> float | None:
        """Return the seconds to wait after the failure of a request; ``None`` if it is the last."""
        if sent >= self.attempts or not _is_transient(error):
            return None
        longest: float = min(_FIRST_PAUSE_S * 2 ** (sent - 1), _LONGEST_PAUSE_S)
        backoff = longest * (1 + self.jitter()) / 2
        asked = error.retry_after if isinstance(error, ProviderError) else None
        return max(backoff, asked or 0.0)


def _is_transient(error: _Failure) -> bool:
    if isinstance(error, TransportError):
        return error.code == "unreachable"
    names = {error.provider_code, error.provider_type}
    return error.status_code in _TRANSIENT and not names & _LASTING
