"""Test that everything that the package claims of a provider names its source, and when it was checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "src").rglob("*.toml"))


def rows(table: dict[str, Any], place: str, source: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each row of a table with what it says of its source, or what the row around it says."""
    for name, value in table.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for number, row in enumerate(value):
                said = {**source, **{key: row[key] for key in ("evidence", "checked") if key in row}}
                # What a vendor's row says of its stream is no evidence of what it accepts back.
                yield from rows(row, f"{place} {name} {number}", {} if name == "vendor" else said)
                yield f"{place} {name} {number}", said


def names_a_source(said: dict[str, Any]) -> bool:
    day = said.get("checked", "")
    dated = re.fullmatch(r"\d{4}-\d\d-\d\d", day) and date.fromisoformat(day)
    return bool(dated and re.search(r"\w{3}", said.get("evidence", "")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_row_has_evidence_and_the_date_of_its_check(path: Path) -> None:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    assert [place for place, said in rows(table, path.parent.name, {}) if not names_a_source(said)] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('[[refusal]]\nid = "x"', ["x refusal 0"]),
        ('[[refusal]]\nevidence = "a report"\nchecked = "2026-11"', ["x refusal 0"]),
        ('[[refusal]]\nevidence = "?"\nchecked = "2026-11-22"', ["x refusal 0"]),
        (
            '[[vendor]]\nevidence = "a report"\nchecked = "2026-11-22"\n'
            '[[vendor.rule]]\nstatus = "required"\n[[vendor.rule.flags]]\nname = "store"',
            ["x vendor 0 rule 0 flags 0", "x vendor 0 rule 0"],
        ),
        ('[[rule]]\nevidence = "a report"\nchecked = "2026-11-22"\n[[rule.flags]]\nname = "store"', []),
    ],
)
def test_a_row_without_either_is_found(text: str, wrong: list[str]) -> None:
    found = rows(tomllib.loads(text), "x", {})
    assert [place for place, said in found if not names_a_source(said)] == wrong
