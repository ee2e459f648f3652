"""Write the pages of the API reference, from the list of public names.

``make docs`` runs it before the site is built; mkdocstrings fills the pages from the docstrings.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PUBLIC_NAMES = ROOT / "docs" / "reference" / "public-api.md"
PAGES = ROOT / "docs" / "reference" / "api"

_OVERVIEW = """# Signatures

Each module has a page with its signatures, options and errors. [Public API](../public-api.md) says in a line
what each name is for.

| module | names |
|---|---|
"""
_SECTION = re.compile(r"^### `([\w.]+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_NAMES = re.compile(r"^(?P<also>Also |- )(?P<names>(?:`\w+`,?\s+)*`\w+`)", re.MULTILINE)


def public_names() -> dict[str, list[str]]:
    """Return the names that each public module documents; each name is documented once."""
    return {module: _names(body, "- ") for module, body in _sections()}


def aliases() -> dict[str, list[str]]:
    """Return the names of each public module that another one documents."""
    return {module: _names(body, "Also ") for module, body in _sections()}


def home(name: str) -> str:
    """Return the module that documents a name which several modules have."""
    return next(module for module, names in public_names().items() if name in names)


def page_of(module: str) -> str:
    """Return the page of a module in Markdown."""
    shown = "".join(f"        - {name}\n" for name in public_names()[module])
    also = [f"[`{name}`][{home(name)}.{name}]" for name in aliases()[module]]
    members = f"      members:\n{shown}" if shown else "      members: false\n"
    rest = f"\nAlso importable from here: {', '.join(also)}.\n" if also else ""
    back = "\n[All modules](modules.md)\n"
    return f"::: {module}\n    options:\n{members}{rest}{back}"


def overview() -> str:
    """Return the page that leads to those of the modules; the navigation has only this one."""
    rows = (
        f"| [`{module}`]({module}.md) | {', '.join(f'[`{name}`][{module}.{name}]' for name in names)} |\n"
        for module, names in public_names().items()
    )
    return f"{_OVERVIEW}{''.join(rows)}"


def _sections() -> list[tuple[str, str]]:
    return _SECTION.findall(PUBLIC_NAMES.read_text(encoding="utf-8"))


def _names(body: str, kind: str) -> list[str]:
    lines = [found["names"] for found in _NAMES.finditer(body) if found["also"] == kind]
    return [name for line in lines for name in re.findall(r"\w+", line)]


def main() -> None:
    """Write every page."""
    PAGES.mkdir(exist_ok=True)
    for old in PAGES.glob("*.md"):
        old.unlink()
    for module in public_names():
        (PAGES / f"{module}.md").write_text(page_of(module), encoding="utf-8")
    (PAGES / "modules.md").write_text(overview(), encoding="utf-8")


if __name__ == "__main__":
    main()
