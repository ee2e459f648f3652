"""Locks after a fork: one that another thread held at that moment would stay locked in the child for ever."""

from __future__ import annotations

import os
from threading import Lock
from typing import Any, Final
from weakref import WeakSet

_OWNERS: Final[WeakSet[Any]] = WeakSet()


def renew_lock_after_fork(owner: Any) -> None:
    """Give an object a new `_lock` in the child whenever this process forks."""
    _OWNERS.add(owner)


def _renew() -> None:
    for owner in tuple(_OWNERS):
        owner._lock = Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew)
