"""Compare the page of refusals with the table.

``python -m tests.docs.test_refusals_page`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from agui_reasoning.providers.refusals import Refusal, ThinkingOff, refusals, thinking_off_rows
from scripts.tables import code, line
from tests.docs.markdown import ROOT

PAGE = ROOT / "docs" / "reference" / "refusals.md"


def names(patterns: Iterable[str]) -> str:
    return "any" if tuple(patterns) == ("*",) else ", ".join(map(code, patterns))


def refusal(row: Refusal) -> str:
    where = names(row.api) if row.provider == ("*",) else f"{names(row.api)}; {names(row.provider)}"
    error = ", ".join(code(pattern) for pattern in (row.code, row.message) if pattern)
    status = ", ".join(map(str, row.status))
    return line(code(row.id), where, status, error, row.means, code(row.remedy), row.evidence, row.checked)


def switch(row: ThinkingOff) -> str:
    field = f"extra_body.{row.name}" if row.extra_body else row.name
    what = ["none: it always thinks", ""] if row.never else [code(field), code(repr(row.value))]
    cells = [names(row.api), names(row.provider), names(row.model), *what]
    return line(*cells, row.evidence, row.checked)


def table(head: str, rows: Iterable[str]) -> str:
    cells = head.split(", ")
    return "\n".join([line(*cells), "|" + "---|" * len(cells), *rows])


def tables() -> dict[str, str]:
    return {
        "refusals": table(
            "name, APIs and providers, status, error, meaning, remedy, evidence, checked",
            map(refusal, refusals()),
        ),
        "thinking_off": table(
            "API, provider, model, field, value, evidence, checked", map(switch, thinking_off_rows())
        ),
    }


def written(page: str) -> str:
    """The page with its tables as they should be."""
    for name, rows in tables().items():
        start, end = f"<!-- table {name} -->\n", "<!-- end -->"
        before, _, rest = page.partition(start)
        page = f"{before}{start}\n{rows}\n\n{end}{rest.partition(end)[2]}"
    return page


def test_the_tables_are_those_of_the_package() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
