"""Test over every recording that the emitter's lane gives what its full path gives."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from tests.property.test_lanes import OPTIONS
from tests.recordings.test_recordings import ALL, decode
from tests.support import lanes
from tests.support.effort import is_quick
from tests.support.lanes import Options
from tests.support.recordings import load


def _chosen(file: Path) -> list[Options]:
    """All options, or in a quick run one that depends on the file."""
    every = list(OPTIONS.values())
    return [every[crc32(file.name.encode()) % len(every)]] if is_quick() else every


@pytest.mark.parametrize(("api", "file"), ALL)
def test_lane_and_full_path_agree(api: str, file: Path) -> None:
    deltas = decode(load(file))
    for options in _chosen(file):
        full = lanes.emit(deltas, options, lanes=False)
        framed = lanes.emit(deltas, options, lanes=True, frames=True)
        assert (framed.steps, framed.produced, framed.records) == (full.steps, full.produced, full.records)
