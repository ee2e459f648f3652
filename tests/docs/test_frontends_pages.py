"""The pages about front ends name the versions that the tests run."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.environments import ROOT

FOLDER = ROOT / "docs" / "how-to" / "frontends"
PACKAGES = {
    "assistant-ui.md": "tests/frontends/assistant-ui",
    "copilotkit.md": "tests/frontends/copilotkit",
    "tanstack.md": "tests/frontends/tanstack",
    "typescript-client.md": "examples/web",
}
_ROW = re.compile(r"^\| `([^`]+)` \| ([\d.]+) \|$", re.MULTILINE)
_ROW_OF_INDEX = re.compile(r"^\| \[[^]]+\]\(([^)]+)\) \| `([^`]+)` ([\d.]+) \|", re.MULTILINE)


def installed(page: str) -> dict[str, str]:
    """The packages of a front end, with their versions."""
    lock = json.loads((ROOT / PACKAGES[page] / "package-lock.json").read_text(encoding="utf-8"))
    return {
        path.removeprefix("node_modules/"): package["version"]
        for path, package in lock["packages"].items()
        if "version" in package
    }


@pytest.mark.parametrize("page", PACKAGES)
def test_a_page_names_the_tested_versions(page: str) -> None:
    named = dict(_ROW.findall((FOLDER / page).read_text(encoding="utf-8")))
    assert named
    assert named.items() <= installed(page).items()


def test_the_index_names_each_front_end_with_its_version() -> None:
    rows = _ROW_OF_INDEX.findall((FOLDER / "index.md").read_text(encoding="utf-8"))
    assert (
        {page for page, _, _ in rows}
        == set(PACKAGES)
        == {page.name for page in FOLDER.glob("*.md")} - {"index.md"}
    )
    assert [(name, version) for page, name, version in rows if installed(page)[name] != version] == []
