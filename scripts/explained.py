"""Write what ``agui-reasoning explain`` prints, from the pages of findings and errors.

The pages are the source; the package has their text, because a wheel has no pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
FINDINGS = REFERENCE / "findings"
ERRORS = REFERENCE / "errors.md"
TARGET = ROOT / "src" / "agui_reasoning" / "_explained.json"

_BACK = "\n[All findings](index.md)\n"
"""The last line of each page of a finding."""

Piece = tuple[str, str]
"""A kind (``title``, ``heading``, ``text`` or ``code``) and a text."""

_PIECE = re.compile(
    r"^(?P<heading>#+) (?P<title>[^\n]+)$"
    r"|^```\w*\n(?P<code>.*?)^```$"
    r"|^(?P<note><!-- [^\n]+ -->)$"
    r"|(?P<text>(?:^(?!#|```|<!--)[^\n]+\n?)+)",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_ROW = re.compile(r"^\| `?(\w+)`? \| (.+?) \| (.+?) \|$")
_OF_A_FINDING = re.compile(r"\(findings/\w+\.md\)")


def explained() -> dict[str, list[Piece]]:
    """Return what is said of each code, in alphabetical order; several pages may say something."""
    found: dict[str, list[Piece]] = {}
    for code, pieces in (*_findings(), *_errors()):
        found.setdefault(code, []).extend(pieces)
    return dict(sorted(found.items()))


def written() -> str:
    """Return the file of the package."""
    entries = (
        f"{json.dumps(code)}: [\n"
        + ",\n".join(f"  {json.dumps(piece, ensure_ascii=False)}" for piece in pieces)
        + "]"
        for code, pieces in explained().items()
    )
    return "{" + ",\n".join(entries) + "}\n"


def _plain(text: str) -> str:
    """Return a text without links and emphasis, its line breaks joined."""
    return " ".join(_LINK.sub(r"\1", text).replace("**", "").split())


def _findings() -> Iterator[tuple[str, list[Piece]]]:
    for page in sorted(FINDINGS.glob("*.md")):
        if page.stem != "index":
            text = page.read_text(encoding="utf-8").removesuffix(_BACK)
            yield page.stem, list(_pieces(text))


def _pieces(page: str) -> Iterator[Piece]:
    for found in _PIECE.finditer(page):
        if found["heading"] == "#":
            yield "title", f"{found['title'].strip('`')}: a finding of check"
        elif found["heading"]:
            yield "heading", _plain(found["title"]).replace("`", "")
        elif found["code"] is not None:
            yield "code", found["code"].rstrip("\n")
        elif found["note"] is not None:
            yield "text", "This prints:"
        else:
            yield "text", _plain(found["text"])


def _errors() -> Iterator[tuple[str, list[Piece]]]:
    """Yield the rows of the tables of errors; those that only name a finding say nothing new."""
    page = ERRORS.read_text(encoding="utf-8")
    for section in re.split(r"^(?=###? )", page, flags=re.MULTILINE):
        title, _, body = section.partition("\n")
        head: tuple[str, str] = ("", "")
        for line in body.splitlines():
            row = _ROW.match(line)
            if row is None or row[1] == "code":
                head = (row[2], row[3]) if row else head
            elif not _OF_A_FINDING.search(line):
                yield row[1], list(_row(row[1], _kind(title), zip(head, row.groups()[1:], strict=True)))


def _kind(title: str) -> str:
    """Return what a code is, by the title of the section of its table."""
    name = title.lstrip("# ").replace("`", "")
    return f"a code of {name}" if title.startswith("### ") else name.replace("Codes", "a code", 1)


def _row(code: str, kind: str, cells: Iterator[tuple[str, str]]) -> Iterator[Piece]:
    yield "title", f"{code}: {kind}"
    for head, cell in cells:
        yield "heading", _sentence(head)
        text = _sentence(_plain(cell))
        yield "text", text if text.endswith((".", "?")) else f"{text}."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
