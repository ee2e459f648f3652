"""Compare the pages with the package: links, tables and lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agui_reasoning._envelope import (
    CallRecord,
    Envelope,
    Fragment,
    NativeRecord,
    OpaqueRecord,
    OriginRecord,
    ReasoningRecord,
    ResponsePlace,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    UnitRecord,
)
from agui_reasoning.providers import API_IDS
from tests.docs.markdown import PAGES, ROOT, name_of

RECORDS = (
    *(CallRecord, Envelope, Fragment, NativeRecord, OpaqueRecord, OriginRecord, ResponsePlace),
    *(ReasoningRecord, ResultRecord, SegmentRecord, Span, TextRecord, UnitRecord),
)
HEADING = re.compile(r"^## `([a-z-]+)`", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
LINK = re.compile(r"(?:\]\(|^\[[^\]]+\]: )([^)\s]+)", re.MULTILINE)
KIND = re.compile(r"`((?:[a-z]+)\.[a-z_]+)`")


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")


def test_every_api_that_can_be_decoded_has_a_section() -> None:
    assert sorted(HEADING.findall(page("supported-apis.md"))) == sorted(API_IDS)


def test_every_field_of_the_envelope_has_a_row_and_every_row_a_field() -> None:
    fields = {name for record in RECORDS for name in record.__struct_fields__}
    assert set(ROW.findall(page("envelope.md"))) == fields


def test_every_kind_of_opaque_value_in_the_table_is_one_that_a_decoder_makes() -> None:
    table = page("supported-apis.md").partition("## Kinds of opaque values")[2].partition("\n## ")[0]
    source = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/agui_reasoning/providers").rglob("*.py")
    )
    families = "anthropic|bedrock|copilot|gemini|mistral|openrouter|perplexity"
    made = set(re.findall(rf'(?<!NativePart\()"((?:{families})\.[a-z_]+)"', source))
    made |= {f"{family}.encrypted_content" for family in re.findall(r'"(openai|xai)"', source)}
    assert set(KIND.findall(table)) == made


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    headings = re.findall(r"^#+ (.+)$", _without_code(page), re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower() for heading in headings)
    return {re.sub(r"[\s-]+", "-", word) for word in words}


def _without_code(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def _anchors_or_schemes(target: Path) -> set[str]:
    """The anchors of a page; the site shows a picture only in the color scheme that its address names."""
    return anchors(target) if target.suffix == ".md" else {"only-light", "only-dark"}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(_without_code(page)):
        file, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in _anchors_or_schemes(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_included_file_exists(page: Path) -> None:
    included = re.findall(r'^--8<-- "([^":]+)', page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [file for file in included if not (ROOT / file).is_file()] == []


def test_the_navigation_lists_every_page_once() -> None:
    """`mkdocs build --strict` refuses a page that it does not list."""
    docs = ROOT / "docs"
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))


def test_the_overview_of_frameworks_links_every_page() -> None:
    folder = ROOT / "docs" / "how-to" / "frameworks"
    overview = (folder / "index.md").read_text(encoding="utf-8")
    assert [path.name for path in folder.glob("*.md") if f"]({path.name}" not in overview] == ["index.md"]
