"""Compare the page about leaving THINKING_* with what the rewriter does."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from ag_ui import core

from agui_reasoning import check_events
from agui_reasoning._migrate import ADVICE, KINDS, migrate_sources
from tests.docs.markdown import ROOT, blocks
from tests.support.peers import peer_python
from tests.support.play import FINISHED, STARTED

PAGE = ROOT / "docs" / "migrate-from-thinking.md"
BEFORE, AFTER = (block.body for block in blocks(PAGE) if block.language == "py")
RUNNER = """
import json, sys
namespace = {}
exec(sys.stdin.read(), namespace)
plain = lambda event: event if isinstance(event, dict) else event.model_dump(mode="json")
events = list(map(plain, namespace["stream"]()))
json.dump([[event["type"], event.get("delta")] for event in events], sys.stdout)
"""


def rows(heading: str) -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if "| `" in line
    ]


def test_what_is_shown_before_becomes_what_is_shown_after() -> None:
    [migration] = migrate_sources({"agent.py": BEFORE.encode()})
    assert migration.after.decode() == AFTER
    assert migration.findings == ()


def test_what_is_shown_before_ran_with_0_1_10_and_what_is_shown_after_says_the_same() -> None:
    done = subprocess.run(
        [peer_python("0.1.10"), "-c", RUNNER], input=BEFORE, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    namespace: dict[str, Any] = {"__name__": "page"}
    exec(compile(AFTER, "page", "exec", dont_inherit=True), namespace)
    events = [
        event if isinstance(event, dict) else event.model_dump(mode="json", by_alias=True)
        for event in namespace["stream"]()
    ]
    assert [found for found in check_events([STARTED, *events, FINISHED]) if found.severity == "error"] == []
    renamed = {kind.old_type: kind.new_type for kind in KINDS}
    said = [[renamed[kind], delta] for kind, delta in json.loads(done.stdout)]
    assert said == [[event["type"], event.get("delta")] for event in events]


def test_the_codes_of_the_page_are_those_of_the_rewriter_with_their_weight() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| `(\w+)` \| (decide|note|error) \|", page, re.MULTILINE))
    assert shown == {code: severity for code, (severity, _) in ADVICE.items()}


@pytest.mark.parametrize(
    ("heading", "old", "new"),
    [
        ("Migrate Python", lambda kind: kind.old_class, lambda kind: kind.new_class),
        ("Migrate TypeScript and JavaScript", lambda kind: kind.old_type, lambda kind: kind.new_type),
    ],
)
def test_the_tables_have_every_event(
    heading: str, old: Callable[[Any], str], new: Callable[[Any], str]
) -> None:
    shown = {re.split(r"\W", before.strip("`"))[0]: after.strip("`") for before, after, *_ in rows(heading)}
    assert {old(kind): new(kind) for kind in KINDS}.items() <= shown.items()


def test_the_new_names_are_those_of_ag_ui() -> None:
    assert [kind for kind in KINDS if not hasattr(core, kind.new_class)] == []
    assert [kind for kind in KINDS if core.EventType[kind.new_type].value != kind.new_type] == []
