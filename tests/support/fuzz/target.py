"""What is tried, on which inputs, and what counts as an escape."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from tests.support.fuzz.mutator import Mutator

__all__ = ["Case", "DifferenceError", "Target", "chosen"]


class Case(Struct, frozen=True):
    """One input, which a file of the corpus can hold.

    Attributes:
        given: What was mutated: a JSON document, or bytes.
        options: Bits that say how it is read.
        of: What it belongs to, such as the API of payloads.
    """

    given: Any
    options: int = 0
    of: Any = None

    def has(self, bit: int) -> bool:
        """Whether an option is on."""
        return bool(self.options & bit)


class Target(Struct, frozen=True):
    """One thing that reads input.

    Attributes:
        name: Its name.
        draw: Draws a case by chance.
        run: Reads a case; raises what escapes. Errors of the library may pass.
        pace: How many cases take about as long as one of a decoder; tests try so many fewer.
        is_binary: Whether the input is bytes.
    """

    name: str
    draw: Callable[[random.Random, Mutator], Case]
    run: Callable[[Case], object]
    pace: int = 1
    is_binary: bool = False


class DifferenceError(AssertionError):
    """Two ways to read the same gave something else."""


def chosen(case: Case, *works: Callable[[], object]) -> object:
    """Do one of several things, by the options."""
    return works[case.options % len(works)]()
