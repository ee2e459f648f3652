"""Read the fenced blocks of a Markdown page, and the comments that configure their tests.

Python that does not stand alone says so in its first line, for readers: ``# Continues the code above.``, or
``# Part of …`` for what an example contains.

Three comments count. ``<!-- output -->`` between a Python block and the next block says that the latter is
what the former prints, ``<!-- exit 2 -->`` before a console block that its commands end with that code, and
``<!-- serves -->`` that its command runs until it is interrupted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
API = ROOT / "docs" / "reference" / "api"
"""Pages that the build of the site writes."""
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != API)]

CONTINUES = "# Continues the code above.\n"
_PART = re.compile(r"# Part of .+\.$", re.MULTILINE)

_TOKEN = re.compile(
    r"^<!-- (?P<note>output |serves |exit (?P<code>\d+) )-->$"
    r"|^```(?P<language>[a-z]*)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A block to run, or (``is_output``) what the block before it prints.

    ``title`` is the name of the file that it shows.
    """

    language: str
    body: str
    line: int
    is_output: bool = False
    exit_code: int = 0
    serves: bool = False
    title: str | None = None

    @property
    def continues(self) -> bool:
        """Whether it needs the Python before it."""
        return self.body.lstrip("\n").startswith(CONTINUES)

    @property
    def is_part(self) -> bool:
        """Whether it is a part of an example, which runs elsewhere."""
        return _PART.match(self.body.lstrip("\n")) is not None

    @property
    def unmarked(self) -> str:
        """Its body without the line that says where it belongs."""
        lines = self.body.splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(CONTINUES) and not _PART.match(line))


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    source = page.read_text(encoding="utf-8")
    found: list[Block] = []
    is_output, exit_code, serves = False, 0, False
    for token in _TOKEN.finditer(source):
        line = source.count("\n", 0, token.start()) + 1
        if token["note"] is not None:
            is_output, exit_code = token["note"] == "output ", int(token["code"] or 0)
            serves = token["note"] == "serves "
        else:
            # Padded, so that a traceback names the line of the page.
            body = "\n" * line + token["body"] if token["language"] == "python" else token["body"]
            found.append(Block(token["language"], body, line, is_output, exit_code, serves, token["title"]))
            is_output, exit_code, serves = False, 0, False
    return found


def name_of(page: Path) -> str:
    """How a page is named in test ids."""
    return str(page.relative_to(ROOT))
