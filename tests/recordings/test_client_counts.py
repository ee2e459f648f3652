"""Count how many requests carry what the recorded client sent, for each API, and compare with the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from agui_reasoning.request import REQUEST_API_IDS
from tests.recordings.test_next_request import comparable, explained
from tests.support.recordings import FOLDER, load

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "supported-apis.md"


def row(api: str) -> str:
    """The row of an API: recorded next requests that can be compared, the same, and explained differences."""
    stems = [file.stem for file in sorted((FOLDER / api).glob("*.json")) if comparable(api, load(file))]
    different = sum(stem in explained() for stem in stems)
    return f"| `{api}` | {len(stems)} | {len(stems) - different} | {different} |"


@pytest.mark.slow  # it reads every recording
def test_the_page_counts_what_recorded_clients_sent() -> None:
    if not FOLDER.exists():
        pytest.skip(f"no recordings at {FOLDER}; set AGUI_REASONING_SHARED")
    rows = [row(api) for api in REQUEST_API_IDS if (FOLDER / api).exists()]
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in rows if line not in lines] == []
