"""Every row of the manifest has a test or a reason, and every row that a test names is in the manifest."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from tests.seeds import MARK
from tests.support.recordings import SHARED

HERE = Path(__file__).parent
MANIFEST = tomllib.loads((HERE / "manifest.toml").read_text(encoding="utf-8"))
LISTED = SHARED / "seed-statements.md"


def named() -> dict[str, list[str]]:
    """The tests of each row."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("test_0*.py")):
        module = importlib.import_module(f"tests.seeds.{path.stem}")
        for name, test in vars(module).items():
            for row in getattr(test, MARK, ()) if name.startswith("test_") else ():
                found.setdefault(row, []).append(f"{path.stem}::{name}")
    return found


def test_every_row_has_a_test_or_a_reason() -> None:
    assert [
        row for row in MANIFEST["statements"] if row not in named() and row not in MANIFEST["overruled"]
    ] == []


def test_every_row_of_a_test_or_a_reason_is_in_the_manifest() -> None:
    assert {row for row in (*named(), *MANIFEST["overruled"]) if row not in MANIFEST["statements"]} == set()


def test_tests_are_in_the_file_of_their_document() -> None:
    misplaced = [
        (row, test)
        for row, tests in named().items()
        for test in tests
        if not test.startswith(f"test_{row[:3]}_")
    ]
    assert misplaced == []


@pytest.mark.skipif(not LISTED.is_file(), reason=f"{LISTED} is not on this machine")
def test_the_rows_are_those_of_the_documents() -> None:
    listed = re.findall(r"^\| (\d{3}-\S+) \|", LISTED.read_text(encoding="utf-8"), re.MULTILINE)
    assert list(MANIFEST["statements"]) == listed
