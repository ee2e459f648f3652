"""Assert linear growth: four times the input is about four times the work, not 16.

The work is counted, in lines of Python that run: the count is the same on a machine that is busy. Work that
C does in one line (a hash, a search in a list) is not in it, so `make bench` asks the same laws of the
processor's time, with ``--cpu-time`` and larger inputs.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar

import agui_reasoning

__all__ = ["assert_linear", "measure_cpu_time", "steps"]

Input = TypeVar("Input")

_MOST_STEPS: Final = 4.5
"""Times the steps for four times the input: 4 is linear, and what n log n adds is below a half."""

_MOST_TIME: Final = 9.0
"""Times the seconds for four times the input: between 4, which is linear, and 16, which is quadratic."""

_ATTEMPTS: Final = 4

_SMALLER: Final = 8
"""How much smaller an input is enough to count steps, which are the same each time."""

_COUNTED: Final = (str(Path(agui_reasoning.__file__).parent), "<string>")
"""Where the code is whose lines count: the package, and what its dataclasses generate."""

_in_seconds = False


def measure_cpu_time() -> None:
    """Measure processor time in this process, instead of counting steps."""
    global _in_seconds
    _in_seconds = True


def assert_linear(make: Callable[[int], Input], work: Callable[[Input], object], size: int) -> None:
    """Compare the work on an input with the work on one of four times its size.

    Args:
        make: Returns the input of a size.
        work: What is measured.
        size: The size of the small input when time is measured.
    """
    work(make(8))  # what is done once, such as imports and caches
    if _in_seconds:
        _assert_linear_in_time(work, make(size), make(4 * size))
        return
    few = max(20, size // _SMALLER)
    small, large = make(few), make(4 * few)
    quick, slow = steps(lambda: work(small)), steps(lambda: work(large))
    assert slow <= _MOST_STEPS * quick, f"4 times the input takes {slow / quick:.2f} times the steps"


def steps(work: Callable[[], object]) -> int:
    """Call something, and count the lines of the package that run."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(_COUNTED):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def _assert_linear_in_time(work: Callable[[Input], object], small: Input, large: Input) -> None:
    """Compare the best of some attempts each: one good attempt is enough, because noise only adds."""
    quick, slow = float("inf"), float("inf")
    for _ in range(_ATTEMPTS):
        quick, slow = min(quick, _seconds(work, small)), min(slow, _seconds(work, large))
        if slow <= _MOST_TIME * quick:
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
