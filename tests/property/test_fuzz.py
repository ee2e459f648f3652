"""Whatever comes in, only the library's own errors come out; `scripts/mutate.py` tries a million cases."""

from __future__ import annotations

import pytest

from tests.support.effort import examples, mostly_slow
from tests.support.fuzz import run_case
from tests.support.recordings import FOLDER

BLOCK = 500
BLOCKS = 20


@pytest.mark.parametrize("block", mostly_slow(map(str, range(BLOCKS)), quick=("0",)))
def test_nothing_escapes(block: str) -> None:
    recordings = FOLDER if FOLDER.is_dir() else None
    first = int(block) * BLOCK
    for number in range(first, first + examples(BLOCK)):
        escape = run_case(number, recordings=recordings)
        assert escape is None, f"case {number} ({escape.kind}: {escape.what})\n{escape.trace}"
