"""What the pages about front ends show compiles as it stands, under TypeScript's `strict`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.differential.node import find_node
from tests.docs.markdown import blocks
from tests.support.environments import ROOT

HOW_TO = ROOT / "docs" / "how-to"
FRONT_ENDS = ROOT / "tests" / "frontends"
EXAMPLE = ROOT / "examples" / "web"
PAGES = {
    "frontends/assistant-ui.md": FRONT_ENDS / "assistant-ui",
    "frontends/copilotkit.md": FRONT_ENDS / "copilotkit",
    "copilotkit.md": FRONT_ENDS / "copilotkit",
    "frontends/tanstack.md": FRONT_ENDS / "tanstack",
    "frontends/typescript-client.md": EXAMPLE,
    "durable-runs.md": EXAMPLE,
    "frontends/index.md": EXAMPLE,
}
"""The folder with the packages that a page needs."""

TYPED = frozenset({"ts", "tsx"})
UNTYPED = frozenset({"js", "jsx"})
TIMEOUT_S = 60
_INCLUDED = re.compile(r'^--8<-- "([^"]+)"$', re.MULTILINE)


def files(page: str) -> dict[str, str]:
    """The files that a page shows, by their names, as somebody would copy them."""
    return {"agui-reasoning.ts": (EXAMPLE / "agui-reasoning.ts").read_text("utf-8")} | {
        block.title: _INCLUDED.sub(lambda name: (ROOT / name[1]).read_text("utf-8"), block.body)
        for block in blocks(HOW_TO / page)
        if block.title is not None and block.language in TYPED | {"json"}
    }


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_compiles(page: str, tmp_path: Path) -> None:
    node, packages = find_node(), PAGES[page] / "node_modules"
    tsc = packages / "typescript" / "bin" / "tsc"
    if node is None or not tsc.is_file():
        pytest.skip(
            "Node has no build for this platform, or `make test-frontends` did not install TypeScript"
        )
    shown = {"tsconfig.json": (PAGES[page] / "tsconfig.json").read_text("utf-8")} | files(page)
    for name, text in shown.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(packages)
    command = [node, tsc, "--project", tmp_path, "--noEmit", "--strict"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_every_page_with_a_front_end_is_typed_and_compiled() -> None:
    languages = {
        str(page.relative_to(HOW_TO)): {block.language for block in blocks(page)}
        for page in HOW_TO.rglob("*.md")
    }
    assert [page for page, found in languages.items() if found & UNTYPED] == []
    assert {page for page, found in languages.items() if found & TYPED} == PAGES.keys()
