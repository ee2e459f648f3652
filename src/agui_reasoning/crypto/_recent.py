"""A cache that is bounded in size and age."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from agui_reasoning._forks import renew_lock_after_fork

__all__ = ["Recent"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A thread-safe cache of the values used last.

    Expired values are removed when the cache is next used, whichever value is asked for.
    """

    __slots__ = ("__weakref__", "_lock", "_max_age_s", "_most", "_now", "_oldest", "_values")

    def __init__(self, most: int, max_age_s: float, now: Callable[[], float]) -> None:
        """Create an empty cache.

        Args:
            most: The number of values to keep.
            max_age_s: The seconds for which a value is kept.
            now: Returns the time in seconds. Values from its future have expired: the clock was set back.
        """
        self._most = most
        self._max_age_s = max_age_s
        self._now = now
        self._values: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._oldest = 0.0
        self._lock = Lock()
        renew_lock_after_fork(self)

    def get(self, key: K) -> V | None:
        """Return a value that has not expired, or ``None``."""
        with self._lock:
            self._expire(self._now())
            held = self._values.get(key)
            if held is None:
                return None
            self._values.move_to_end(key)
            return held[1]

    def put(self, key: K, value: V) -> None:
        """Keep a value from now on."""
        with self._lock:
            now = self._now()
            self._expire(now)
            self._oldest = min(now, self._oldest) if self._values else now
            self._values[key] = now, value
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()

    def _expire(self, now: float) -> None:
        if not self._values or 0 <= now - self._oldest < self._max_age_s:
            return
        expired = [key for key, (since, _) in self._values.items() if not 0 <= now - since < self._max_age_s]
        for key in expired:
            del self._values[key]
        self._oldest = min((since for since, _ in self._values.values()), default=now)
