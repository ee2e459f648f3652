"""Check the built site: published addresses are there, and no page of the API shows a private name.

``make docs`` runs it after the build.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "site"
ADDRESSES = ROOT / "tests" / "docs" / "addresses.txt"

_TAG = re.compile(r"<[^>]+>")
_PRIVATE = re.compile(r"(?<![\w.*])_[A-Za-z]\w*|(?<=\w)\._[A-Za-z]\w*")


def addresses() -> list[str]:
    """Return the addresses of pages that were published, relative to that of the site."""
    return ADDRESSES.read_text(encoding="utf-8").split()


def private_names(page: str) -> list[str]:
    """Return the private names that the article of a page shows."""
    article = re.search(r"<article.*?</article>", page, re.DOTALL)
    return _PRIVATE.findall(html.unescape(_TAG.sub("", article[0]))) if article else []


def faults(site: Path) -> Iterator[str]:
    """Yield what is wrong with a site."""
    for address in addresses():
        if not (site / address / "index.html").is_file():
            yield f"/{address}: this page was published, and is gone"
    for page in sorted((site / "reference" / "api").rglob("index.html")):
        for name in private_names(page.read_text(encoding="utf-8")):
            yield f"/{page.parent.relative_to(site)}/: shows the private name {name}"


if __name__ == "__main__":
    found = list(faults(SITE))
    sys.stderr.writelines(f"{fault}\n" for fault in found)
    sys.exit(bool(found))
