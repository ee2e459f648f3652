"""Runs the tests of the rows of ``tests/reliability.toml``, and writes docs/reliability.md.

    .venv/bin/python scripts/reliability.py            # every section of the table
    .venv/bin/python scripts/reliability.py Faults     # one of them

A row counts the cases of its tests that passed; where a test records the property ``times``, its case counts
as so many. Nothing is written if a case fails. Other sections are written by what measures them, with
`replace_section`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from benchmarks.report import machine

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.md"
TABLE = ROOT / "tests" / "reliability.toml"
HEADINGS = ("Faults", "Load", "Attacks", "Fuzzing", "Mutation testing", "Versions")
HEAD = "| what happens | what was done | how often | outcome |\n|---|---|---:|---|"
_SECTION = re.compile(r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_PACKAGES = (
    "ag-ui-protocol",
    "pydantic",
    "msgspec",
    "cryptography",
    "anyio",
    "httpx2",
    "starlette",
    "uvicorn",
)


@dataclass(frozen=True)
class Row:
    """A row of the table: what happens, what was done about it in tests, and what the other side sees.

    A test is a node ID of pytest, or its beginning: `path::name`, or `path::name[first` for some cases.
    """

    section: str
    what: str
    done: str
    outcome: str
    tests: tuple[str, ...]

    def has(self, case: str) -> bool:
        """Whether a case of pytest is one of its tests."""
        return any(re.match(rf"{re.escape(test)}([\[\]-]|$)", case) for test in self.tests)

    def line(self, times: int) -> str:
        """Return the row of the page."""
        return f"| {self.what} | {self.done} | {times:,} | {self.outcome} |"


def rows() -> list[Row]:
    """Return the rows of the table, in order."""
    tables = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [
        Row(section, row["what"], row["done"], row["outcome"], tuple(row["tests"]))
        for section, found in tables.items()
        for row in found
    ]


def sections(text: str) -> dict[str, str]:
    """Return the sections of a page by their headings."""
    return {found[1]: found[2] for found in _SECTION.finditer(text)}


def replace_section(heading: str, body: str) -> None:
    """Replace what the page says below a heading, which is added at its place where it is not there yet."""
    text = PAGE.read_text(encoding="utf-8")
    found = sections(text) | {heading: f"{body.strip()}\n\n"}
    introduction = text.partition("\n## ")[0].rstrip()
    written = [f"## {one}\n\n{found[one].rstrip()}" for one in HEADINGS if one in found]
    PAGE.write_text("\n\n".join([introduction, *written]) + "\n", encoding="utf-8")


def measured(command: str) -> str:
    """Return the line that says with what a section was written, and on which machine."""
    return machine(command, _PACKAGES)


class Tally:
    """How often each case passed, and which failed."""

    def __init__(self) -> None:
        self.passed: dict[str, int] = {}
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the result of a case."""
        if report.failed:
            self.failed.append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed[report.nodeid] = int(dict(report.user_properties).get("times", 1))

    def times(self, row: Row) -> int:
        """Return how often the tests of a row passed."""
        return sum(times for case, times in self.passed.items() if row.has(case))


def run(asked: Iterable[Row]) -> Tally:
    """Run the tests of rows, all cases of each."""
    tests = dict.fromkeys(test.partition("[")[0] for row in asked for test in row.tests)
    tally = Tally()
    pytest.main(["--all", "-q", "-n3", "--dist=worksteal", "-p", "no:cacheprovider", *tests], plugins=[tally])
    return tally


def written(asked: Sequence[Row], tally: Tally) -> Iterator[str]:
    """Yield the lines of a section."""
    yield from ("", HEAD)
    yield from (row.line(tally.times(row)) for row in asked)


def main(names: Sequence[str]) -> int:
    """Run the tests of some sections, or of all, and write these."""
    chosen = [row for row in rows() if not names or row.section in names]
    tally = run(chosen)
    silent = [row.what for row in chosen if not tally.times(row)]
    if tally.failed or silent:
        lines = ["Nothing is written. Failed:", *tally.failed, "Without a case:", *silent]
        sys.stderr.write("\n  ".join(lines) + "\n")
        return 1
    command = " ".join(["make reliability", *(f'SECTIONS="{" ".join(names)}"' for _ in names[:1])])
    for section in dict.fromkeys(row.section for row in chosen):
        asked = [row for row in chosen if row.section == section]
        replace_section(section, "\n".join([measured(command), *written(asked, tally)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
