"""Compare the page of what changed at providers with the rows.

``python -m tests.docs.test_what_changed_page`` writes its generated table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agui_reasoning.policy import EchoRule
from agui_reasoning.providers.echo import rules
from agui_reasoning.providers.refusals import Refusal, refusals
from scripts.tables import SCOPES, code, line
from tests.docs.markdown import ROOT
from tests.docs.test_refusals_page import names, table

PAGE = ROOT / "docs" / "reference" / "what-changed.md"
DATE = re.compile(r"\b2026(?:-\d\d){1,2}\b")


def latest(evidence: str) -> str:
    """The latest date of 2026 that the evidence of a row names, or nothing."""
    return max(DATE.findall(evidence), default="")


def rule(row: EchoRule) -> list[str]:
    where = f", {SCOPES[row.scope]}" if row.echoes else ""
    says = f"[{row.status}{where}](echo-policy.md#{row.api})"
    return [code(row.api), names(row.provider), names(row.model), says]


def refusal(row: Refusal) -> list[str]:
    return [names(row.api), names(row.provider), "any", f"refusal [{code(row.id)}](refusals.md#known-errors)"]


def dated() -> str:
    """The rows with evidence of 2026, the latest first."""
    rows: Iterable[tuple[str, list[str]]] = [
        *((latest(row.evidence), rule(row)) for row in rules()),
        *((latest(row.evidence), refusal(row)) for row in refusals()),
    ]
    lines = [line(date, *cells) for date, cells in sorted(rows, reverse=True) if date]
    return table("date, API, provider, model, the row says", lines)


def written(page: str) -> str:
    """The page with its generated table as it should be."""
    start, end = "<!-- table dated -->\n", "<!-- end -->"
    before, _, rest = page.partition(start)
    return f"{before}{start}\n{dated()}\n\n{end}{rest.partition(end)[2]}"


def changes(page: str) -> list[list[str]]:
    """The cells of the table that people write."""
    section = page.partition("\n## Changes\n")[2].partition("\n## ")[0]
    return [row.strip("| ").split(" | ") for row in section.splitlines() if row.startswith("| 2")]


def test_the_generated_table_is_that_of_the_rows() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page


def test_the_changes_are_dated_complete_and_the_newest_comes_first() -> None:
    rows = changes(PAGE.read_text(encoding="utf-8"))
    assert [row for row in rows if len(row) != 5 or not all(row) or "](" not in row[4]] == []
    assert [row[0] for row in rows if not re.fullmatch(r"2026(-\d\d){0,2}", row[0])] == []
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), reverse=True)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
