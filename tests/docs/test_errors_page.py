"""Compare the error catalog with the error classes and the codes they are raised with.

``python -m tests.docs.test_errors_page`` writes the table of causes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from agui_reasoning import errors
from tests.docs.markdown import ROOT
from tests.internals.sources import causes

PAGE = ROOT / "docs" / "reference" / "errors.md"
SOURCES = sorted((ROOT / "src").rglob("*.py"))
START, END = "<!-- table causes -->\n", "<!-- end -->"
CONNECTION = {"unreachable": "none: no connection"}
HEADING = re.compile(r"^### `(\w+)`$")
ROW = re.compile(r"^\| `(\w+)` \|")


class Codes(ast.NodeVisitor):
    """Collects ``(class, code)`` of every call that has ``code="…"``."""

    def __init__(self) -> None:
        self.found: set[tuple[str, str]] = set()
        self._classes: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._classes.append(node.name)
        self.generic_visit(node)
        self._classes.pop()

    def visit_Call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if keyword.arg == "code":
                self.found |= {(self._raised(node), code) for code in literals(keyword.value)}
        self.generic_visit(node)

    def _raised(self, node: ast.Call) -> str:
        called = ast.unparse(node.func)
        return self._classes[-1] if called == "super().__init__" else called.rpartition(".")[2]


def literals(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.IfExp):
        yield from literals(value.body)
        yield from literals(value.orelse)
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value


def raised() -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for source in SOURCES:
        codes = Codes()
        codes.visit(ast.parse(source.read_text(encoding="utf-8"), str(source)))
        found |= codes.found
    # Codes of RUN_ERROR events (`fail`, `RunErrorEvent`) are not codes of exceptions.
    return {(name, code) for name, code in found if name in errors.__all__}


def documented() -> dict[str, set[str]]:
    classes: dict[str, set[str]] = {}
    current: set[str] = set()
    for line in lines(PAGE):
        if heading := HEADING.match(line):
            current = classes.setdefault(heading[1], set())
        elif line.startswith("## "):
            current = set()  # codes of no class
        elif row := ROW.match(line):
            current.add(row[1])
    return classes


def lines(page: Path) -> list[str]:
    return page.read_text(encoding="utf-8").splitlines()


def test_every_class_has_a_section_and_every_section_a_class() -> None:
    assert sorted(documented()) == sorted(errors.__all__)


def test_every_code_has_a_row_and_every_row_a_code() -> None:
    pairs = {(name, code) for name, codes in documented().items() for code in codes}
    assert pairs == raised()


def cause_table() -> str:
    """The causes of failures of the provider, as the page shows them."""
    rows = ["| code | status | message |", "|---|---|---|"]
    for cause in causes():
        statuses = ", ".join(map(str, cause.statuses)) or CONNECTION.get(cause.code, "any other")
        rows.append(f"| {cause.code} | {statuses} | {cause.sentence.format(when='shortly')} |")
    return "\n".join(rows)


def written(page: str) -> str:
    """The page with its table as it should be."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{cause_table()}\n\n{END}{rest.partition(END)[2]}"


def test_the_causes_are_those_of_the_driver() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page


def test_codes_are_written_where_this_test_can_see_them() -> None:
    """Find computed codes, which the comparison with the page would miss."""
    hidden = []
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if (
                not isinstance(node, ast.Call)
                or ast.unparse(node.func).rpartition(".")[2] not in errors.__all__
            ):
                continue
            values = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            hidden += [f"{source.name}:{node.lineno}" for value in values if not list(literals(value))]
    assert hidden == []


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
