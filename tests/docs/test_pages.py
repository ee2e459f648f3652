"""Compare the pages with the package: links, tables and lists."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

from agui_reasoning.parts import Origin
from agui_reasoning.providers import API_IDS
from scripts.api_pages import public_names
from scripts.check_site import addresses
from scripts.tables import tables
from tests.docs.markdown import PAGES, ROOT, name_of
from tests.internals.envelopes import (
    CallRecord,
    Envelope,
    Fragment,
    NativeRecord,
    OpaqueRecord,
    ReasoningRecord,
    ResponsePlace,
    ResultRecord,
    SegmentRecord,
    Span,
    TextRecord,
    UnitRecord,
)

RECORDS = (
    *(CallRecord, Envelope, Fragment, NativeRecord, OpaqueRecord, Origin, ResponsePlace),
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
        path.read_text(encoding="utf-8")
        for room in ("policy", "providers")
        for path in (ROOT / "src/agui_reasoning" / room).rglob("*.py")
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


def test_every_link_leads_somewhere() -> None:
    pages = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    assert [(name_of(page), link) for page in pages for link in _broken(page)] == []


def _broken(page: Path) -> Iterator[str]:
    for link in LINK.findall(_without_code(page)):
        file, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in _anchors_or_schemes(target)):
            yield link


def test_every_included_file_exists() -> None:
    texts = {name_of(page): page.read_text(encoding="utf-8") for page in PAGES}
    included = {name: re.findall(r'^--8<-- "([^":]+)', text, re.MULTILINE) for name, text in texts.items()}
    assert [(n, file) for n, files in included.items() for file in files if not exists(file)] == []


def exists(file: str) -> bool:
    """Whether the repository has a file, or the build of the documentation writes it."""
    return (ROOT / file).is_file() or file.removeprefix("build/tables/") in tables()


DOCS = ROOT / "docs"
MOST_ENTRIES = 70


def pages() -> set[str]:
    """The pages of the site, with those that its build writes."""
    own = {path.relative_to(DOCS).as_posix() for path in PAGES if path.is_relative_to(DOCS)}
    return own | {f"reference/api/{module}.md" for module in (*public_names(), "modules")}


def navigation() -> tuple[list[str], list[str]]:
    """The pages in the navigation, and the patterns of those that are reached from others."""
    before, _, listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    outside = before.partition("\nnot_in_nav: |\n")[2].split()
    return re.findall(r"(\S+\.md)$", listed, re.MULTILINE), outside


def test_the_navigation_lists_every_page_once_or_leaves_it_to_others() -> None:
    listed, outside = navigation()
    left = {page for page in pages() if any(fnmatchcase(f"/{page}", pattern) for pattern in outside)}
    assert sorted(listed) == sorted(pages() - left)
    assert left.isdisjoint(listed)


def test_the_navigation_is_short() -> None:
    assert len(navigation()[0]) <= MOST_ENTRIES


MOVED = {"how-to/zero-data-retention.md"}
"""They only say where their subject is now, for those who kept the address."""


def test_a_page_outside_the_navigation_is_linked_from_one_in_it() -> None:
    listed, _ = navigation()
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        if page.is_relative_to(DOCS) and page.relative_to(DOCS).as_posix() in listed
        for link in LINK.findall(_without_code(page))
    }
    written = {page for page in pages() if not page.startswith("reference/api/")}
    outside = sorted(written - {*listed} - MOVED)
    assert [page for page in outside if (DOCS / page).resolve() not in linked] == []


def test_every_published_address_still_has_a_page() -> None:
    """Readers, answers and search engines keep them."""
    now = {re.sub(r"(^|/)index\.md$|\.md$", r"\1", page).rstrip("/") for page in pages()}
    assert [address for address in addresses() if address.rstrip("./") not in now] == []


def test_the_overview_of_frameworks_links_every_page() -> None:
    folder = ROOT / "docs" / "how-to" / "frameworks"
    overview = (folder / "index.md").read_text(encoding="utf-8")
    assert [path.name for path in folder.glob("*.md") if f"]({path.name}" not in overview] == ["index.md"]


def adapter_rows(page: Path) -> list[list[str]]:
    """The rows of a page's table of adapters, each with the adapter's name."""
    table = re.search(
        r"^\| adapter \|.*\n\|[-|]+\n((?:\|.*\n)+)", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert table is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]
    for before, row in pairwise(rows):
        row[0] = row[0] or before[0]
    return rows


def test_the_readme_shows_rows_of_what_was_measured() -> None:
    measured = [
        [adapter, api, came_back, lost]
        for adapter, api, _, came_back, _, lost, _ in adapter_rows(ROOT / "docs/reference/adapters.md")
    ]
    shown = adapter_rows(ROOT / "README.md")
    assert len(shown) >= 6
    assert [row for row in shown if row not in measured] == []


def test_the_home_page_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    install = (
        (DOCS / "index.md").read_text(encoding="utf-8").partition("## Install\n")[2].partition("\n## ")[0]
    )
    rows = [line.split("|")[1] for line in install.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`([\w-]+)`", "".join(rows))) == sorted(extras)
