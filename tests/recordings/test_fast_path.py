"""Test over every recording that fast paths give what the full paths give."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from tests.internals import fast_path
from tests.internals.fast_path import Options
from tests.laws import law
from tests.property.test_fast import OPTIONS
from tests.recordings.test_recordings import ALL, STREAMED, decode
from tests.support.effort import is_quick
from tests.support.recordings import load, payloads
from tests.support.served import as_events, as_frames


def _chosen(file: Path) -> list[Options]:
    """All options, or in a quick run one that depends on the file."""
    every = list(OPTIONS.values())
    return [every[crc32(file.name.encode()) % len(every)]] if is_quick() else every


@law("E16")
@pytest.mark.parametrize(("api", "file"), ALL)
def test_fast_and_full_path_agree(api: str, file: Path) -> None:
    deltas = decode(load(file))
    for options in _chosen(file):
        full = fast_path.emit(deltas, options, fast=False)
        framed = fast_path.emit(deltas, options, fast=True, frames=True)
        assert (framed.steps, framed.produced, framed.records) == (full.steps, full.produced, full.records)


@law("E16")
@pytest.mark.parametrize(("api", "file"), STREAMED)
def test_payloads_that_become_frames_at_once_agree(api: str, file: Path) -> None:
    recording = load(file)
    named = {name: recording[name] for name in ("api", "provider", "model")}
    sent = payloads(recording)
    assert as_frames(sent, **named) == as_events(sent, **named)
