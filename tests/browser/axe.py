"""Ask axe-core what in a page is not accessible."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.differential.node import packages_installed

_FOLDER = Path(__file__).parent / "js"
_RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map((found) => ({
    rule: found.id,
    help: found.help,
    nodes: found.nodes.map((node) => `${node.html}\n${node.failureSummary}`),
}))"""


def violations(page: Page) -> list[dict[str, Any]]:
    """The rules that a page breaks now, and where."""
    page.evaluate(_axe())  # what a script tag may not do, for the page has a content security policy
    found: list[dict[str, Any]] = page.evaluate(_RUN)
    return found


@cache
def _axe() -> str:
    assert packages_installed(_FOLDER), "axe-core is not installed: run `make test-browser`"
    return (_FOLDER / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
