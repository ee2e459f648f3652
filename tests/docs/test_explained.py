"""Compare what `agui-reasoning explain` prints with the pages that it is made of."""

from __future__ import annotations

from scripts import explained
from tests.docs.test_errors_page import documented


def test_the_package_has_the_text_of_the_pages() -> None:
    current = explained.TARGET.read_text(encoding="utf-8")
    assert current == explained.written(), "run: python scripts/explained.py"


def test_every_finding_and_every_code_of_an_error_is_explained() -> None:
    pages = {page.stem for page in explained.FINDINGS.glob("*.md")} - {"index"}
    codes = {code for codes in documented().values() for code in codes}
    assert explained.explained().keys() >= pages | codes


def test_every_finding_leads_back_to_all() -> None:
    pages = [page for page in explained.FINDINGS.glob("*.md") if page.stem != "index"]
    ends = {page.read_text(encoding="utf-8").splitlines()[-1] for page in pages}
    assert ends == {"[All findings](index.md)"}
