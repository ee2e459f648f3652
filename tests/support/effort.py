"""Choose how much is tried: ``make test`` takes samples and few examples, ``make test-all`` everything.

Both ask the same laws. The Hypothesis profile, chosen in ``tests/conftest.py``, is the one switch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

T = TypeVar("T")

SEED = b"2026"
QUICK = "quick"


def is_quick() -> bool:
    """Only samples are asked for."""
    return settings.get_current_profile_name() == QUICK


def examples(count: int) -> int:
    """The number of examples for a test that wants ``count`` of them where the profile gives 100."""
    return max(1, count * settings().max_examples // 100)


def thinned(values: Iterable[T], step: int) -> list[T]:
    """Return the values; a quick run takes one in so many, which had better divide no factor of a product."""
    return list(values)[:: step if is_quick() else 1]


def mostly_slow(values: Iterable[str], *, quick: Collection[str]) -> list[ParameterSet]:
    """Return pytest parameters of which a quick run takes only those named in ``quick``."""
    return [pytest.param(value, marks=() if value in quick else pytest.mark.slow) for value in values]


def sample(files: Sequence[Path]) -> list[Path]:
    """Every file, or the same few each time: which ones depends on their names only."""
    if not is_quick():
        return list(files)
    by_chance = sorted(files, key=lambda file: crc32(SEED + file.name.encode()))
    return sorted(by_chance[: max(12, len(files) // 8)])
