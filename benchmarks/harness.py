"""Measurement: rounds in which both sides take turns, medians and spreads, and targets."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import median
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

__all__ = [
    "FULL",
    "QUICK",
    "TINY",
    "Effort",
    "Figure",
    "Path",
    "Samples",
    "Target",
    "UnavailableError",
    "at_least",
    "at_most",
    "cpu_seconds",
    "cpu_time",
    "faster",
    "fresh",
    "ratios",
]

Samples: TypeAlias = tuple[float, ...]
"""One value per round."""

_T = TypeVar("_T")
_Made = TypeVar("_Made")


class UnavailableError(Exception):
    """A peer is not installed, or an interface does not exist; the message is shown in the table."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work a measurement does.

    Attributes:
        rounds: How often each side runs.
        scale: The share of the full input.
    """

    rounds: int
    scale: float

    def size(self, full: int, *, least: int = 10) -> int:
        """Return the size of an input that has ``full`` elements in a full measurement."""
        return max(least, int(full * self.scale))


FULL = Effort(9, 1.0)
QUICK = Effort(3, 0.2)
TINY = Effort(1, 0.001)


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a median meets or misses."""

    relation: Literal["≥", "≤"]
    value: float

    def is_met(self, value: float) -> bool:
        """Return whether a value is on the right side of the bound."""
        return value >= self.value if self.relation == "≥" else value <= self.value

    def __str__(self) -> str:
        return f"{self.relation} {self.value:g}"


def at_least(value: float) -> Target:
    """Return a lower bound."""
    return Target("≥", value)


def at_most(value: float) -> Target:
    """Return an upper bound."""
    return Target("≤", value)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table.

    Attributes:
        name: The row's name, unique within its path.
        unit: The unit of the samples; a multiplication sign for a ratio.
        samples: The values; empty if the row is not available.
        target: The bound for the median, if there is one.
        note: The reason for a missing value.
    """

    name: str
    unit: str
    samples: Samples
    target: Target | None = None
    note: str = ""

    @property
    def median(self) -> float:
        """The median of the samples."""
        return median(self.samples)

    @property
    def is_met(self) -> bool | None:
        """Whether the median meets the target; ``None`` without a target or samples."""
        if self.target is None or not self.samples:
            return None
        return self.target.is_met(self.median)


class Measure(Protocol):
    """Measures the rows of one path."""

    def __call__(self, effort: Effort) -> Iterator[Figure]:
        """Yield the rows.

        Raises:
            UnavailableError: A peer or an interface is missing.
        """


@dataclass(frozen=True, slots=True)
class Path:
    """One path through the library, with the comparison that its rows make.

    Attributes:
        title: What is compared with what.
        measure: Measures the rows.
        headline: A sentence for the README. ``{low}`` and ``{high}`` are the lowest and the highest median.
        rows: The beginning of the names of the rows that the headline is about.
    """

    title: str
    measure: Measure
    headline: str = ""
    rows: str = ""


def _clock_seconds() -> float:
    """Return what it takes to read the clock, which is a system call."""
    read = [time.process_time() for _ in range(1_000)]
    return min(after - before for before, after in pairwise(read))


class _Making:
    CLOCK: Final = _clock_seconds()

    seconds = 0.0


def fresh(sources: Sequence[_T], make: Callable[[_T], _Made], batch: int = 50) -> Iterator[_Made]:
    """Make elements just before they are used, as a parser does: so few that they stay in the cache.

    `cpu_time` leaves the making out, and reading the clock for it, which takes as long as a small element.
    """
    return chain.from_iterable(_batches(sources, make, batch))


def _batches(sources: Sequence[_T], make: Callable[[_T], _Made], batch: int) -> Iterator[list[_Made]]:
    for start in range(0, len(sources), batch):
        began = time.process_time()
        made = [make(source) for source in sources[start : start + batch]]
        _Making.seconds += time.process_time() - began + _Making.CLOCK
        yield made


def cpu_time() -> float:
    """Return the CPU time of this process in seconds, without that of making elements in `fresh`."""
    return time.process_time() - _Making.seconds


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of this process for one call, without what is left from before it."""
    gc.collect()
    gc.freeze()
    start = cpu_time()
    work()
    spent = cpu_time() - start
    gc.unfreeze()
    return max(spent, 1e-9)


def ratios(above: Callable[[], object], below: Callable[[], object], effort: Effort) -> Samples:
    """Return the CPU time of one side divided by that of the other, once per round.

    Both run once before they are measured, and they take turns at running first.
    """
    above()
    below()
    found = []
    for number in range(effort.rounds):
        if number % 2:
            over, under = cpu_seconds(above), cpu_seconds(below)
        else:
            under, over = cpu_seconds(below), cpu_seconds(above)
        found.append(over / under)
    return tuple(found)


def faster(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    effort: Effort,
    target: Target | None = None,
) -> Figure:
    """Return how many times as fast as the other side this library is."""
    return Figure(name, "×", ratios(theirs, ours, effort), target)
