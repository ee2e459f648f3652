"""Test over every recording that the emitter's lane gives what its full path gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.property.test_lanes import OPTIONS
from tests.recordings.test_recordings import ALL, decode
from tests.support import lanes
from tests.support.recordings import load


@pytest.mark.parametrize(("api", "file"), ALL)
def test_lane_and_full_path_agree(api: str, file: Path) -> None:
    deltas = decode(load(file))
    for options in OPTIONS.values():
        full = lanes.emit(deltas, options, lanes=False)
        framed = lanes.emit(deltas, options, lanes=True, frames=True)
        assert (framed.steps, framed.produced, framed.records) == (full.steps, full.produced, full.records)
