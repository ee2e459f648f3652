"""Each word of the glossary is used, and words that mean the same are not."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.docs.markdown import ROOT

ROW = re.compile(r"^\| (?!word |-)(.+?) \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "glossary.md").read_text("utf-8"))
WORDS = [word.strip("`") for words, _ in ROWS for word in words.split(", ")]

INSTEAD = {
    "at_home": "same_format",
    "audience": "viewer",
    "bears_sign": "matches_api",
    "claimants": "carried",
    "concealed": "hidden",
    "half a character": "lone surrogate",
    "half character": "lone surrogate",
    "judged": "checked",
    "mused": "thought",
    "owed": "needs_user",
    "poisoned": "without reasoning",
    "rider": "carried",
    "short path": "fast path",
    "torn": "gaps",
    "veiled": "hidden",
}
"""Words that have been used for what another word says."""


@cache
def texts() -> dict[str, str]:
    """The code and the pages, without the glossary."""
    found = [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"]
    named = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in found}
    return {name: text for name, text in named.items() if name != "docs/glossary.md"}


def places(word: str) -> list[str]:
    """Return the files with a word, also in the plural or as a part of an identifier."""
    pattern = re.compile(rf"(?<![A-Za-z]){word}s?(?![A-Za-z])", re.IGNORECASE)
    return [name for name, text in texts().items() if pattern.search(text)]


def test_the_glossary_is_short_and_each_word_stands_once() -> None:
    assert len(ROWS) <= 35
    repeated = {"content"}  # the text of a message, and the stage that adds to it
    assert len(WORDS) == len(set(WORDS)) + len(repeated)


@pytest.mark.parametrize("word", sorted(set(WORDS)))
def test_a_word_of_the_glossary_is_used_in_code_and_pages(word: str) -> None:
    found = places(word.replace(" ", "[ _]?"))
    assert any(name.startswith("src/") for name in found)


@pytest.mark.parametrize("word", INSTEAD)
def test_one_word_is_used_for_one_thing(word: str) -> None:
    assert places(word) == [], f"say: {INSTEAD[word]}"
