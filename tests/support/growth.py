"""Assert linear growth: four times the input takes about four times as long, not 16."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["assert_linear"]

Input = TypeVar("Input")

MOST = 9.0
"""Allowed for four times the input: between 4, which is linear, and 16, which is quadratic."""


def assert_linear(
    make: Callable[[int], Input], work: Callable[[Input], object], size: int, attempts: int = 4
) -> None:
    """Compare the processor time of ``size`` and four times ``size``, the best of some attempts each.

    Other threads and other processes do not count, and one good attempt is enough: noise only adds.
    """
    small, large = make(size), make(4 * size)
    work(make(8))  # what is done once, such as imports and caches
    quick, slow = float("inf"), float("inf")
    for _ in range(attempts):
        quick, slow = min(quick, _seconds(work, small)), min(slow, _seconds(work, large))
        if slow <= MOST * quick:
            return
    raise AssertionError(
        f"4 times the input takes {slow / quick:.1f} times as long ({quick:.3f} s, {slow:.3f} s)"
    )


def _seconds(work: Callable[[Input], object], given: Input) -> float:
    gc.disable()
    try:
        before = time.thread_time()
        work(given)
        return time.thread_time() - before
    finally:
        gc.enable()
