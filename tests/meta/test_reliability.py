"""The page on reliability has the rows of its table, and each row tests that exist."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from scripts.reliability import HEADINGS, PAGE, ROOT, Row, replace_section, rows, sections


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_of_a_row_exists() -> None:
    named = [test.partition("[")[0].split("::") for row in rows() for test in row.tests]
    assert [(path, name) for path, name in named if name not in functions(path)] == []


@pytest.mark.slow  # pytest collects the tests of all rows
def test_every_test_of_a_row_has_a_case() -> None:
    tests = dict.fromkeys(test.partition("[")[0] for row in rows() for test in row.tests)
    command = [sys.executable, "-m", "pytest", "--collect-only", "--all", "-q", "-n0", *tests]
    cases = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    alone = [(row.what, test) for row in rows() for test in row.tests if not _any(test, row, cases)]
    assert alone == []


def _any(test: str, row: Row, cases: list[str]) -> bool:
    one = Row(row.section, row.what, row.done, row.outcome, (test,))
    return any(one.has(case) for case in cases)


def test_a_row_names_some_cases_or_all() -> None:
    row = Row("Faults", "", "", "", ("t.py::one[first", "t.py::two"))
    cases = ["t.py::one[first]", "t.py::one[first-x]", "t.py::one[firstly]", "t.py::two[x]", "t.py::twofold"]
    assert [case for case in cases if row.has(case)] == [cases[0], cases[1], cases[3]]


def test_the_page_has_the_rows_of_the_table() -> None:
    """Without the counts, which `make reliability` writes."""
    table: dict[str, list[tuple[str, ...]]] = {}
    for row in rows():
        table.setdefault(row.section, []).append((row.what, row.done, row.outcome))
    page = sections(PAGE.read_text(encoding="utf-8"))
    shown = {heading: _cells(page.get(heading, "")) for heading in ("Faults", "Attacks")}
    assert {heading: found for heading, found in shown.items() if found} == table


def _cells(section: str) -> list[tuple[str, ...]]:
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [(what, done, outcome) for what, done, _, outcome in cells]


def test_the_sections_are_known_and_in_order() -> None:
    found = list(sections(PAGE.read_text(encoding="utf-8")))
    assert found == [heading for heading in HEADINGS if heading in found]


def test_a_section_is_replaced_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nText.\n\n## Load\n\nold\n\n## Versions\n\nkept\n", encoding="utf-8")
    monkeypatch.setattr("scripts.reliability.PAGE", page)
    replace_section("Load", "new\n")
    replace_section("Faults", "first")
    expected = "# Page\n\nText.\n\n## Faults\n\nfirst\n\n## Load\n\nnew\n\n## Versions\n\nkept\n"
    assert page.read_text(encoding="utf-8") == expected
