"""Rewrite whole modules and run them.

``golden/NAME.before.txt`` is written for 0.1.10 and has a function ``stream``, whose events the tests take.
``python tests/internals/migrate/test_codemod_golden.py`` writes the other files: look at the difference.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from agui_reasoning import check_events
from agui_reasoning._migrate import Migration, migrate_sources
from agui_reasoning.compat import ThinkingUpgrader
from tests.support.peers import peer_python
from tests.support.play import FINISHED, STARTED

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.name.partition(".")[0] for path in GOLDEN.glob("*.before.txt"))
# They have something to decide, mostly ids that would have to cross functions: they stay, and are listed.
UNTOUCHED = {
    "asked",
    "closure",
    "helpers",
    "inline",
    "lookups",
    "models",
    "shared",
    "star",
    "taken",
    "undecided",
}
REWRITTEN = [name for name in NAMES if name not in UNTOUCHED]
# Runs the modules of 0.1.10 there: reads a JSON object of sources, prints one of lists of events.
RUNNER = """
import json, sys
def plain(event):
    if isinstance(event, str):
        return json.loads(event.removeprefix("data: "))
    if isinstance(event, dict):
        return event
    return json.loads(event.model_dump_json(by_alias=True, exclude_none=True))
found = {}
for name, source in json.load(sys.stdin).items():
    namespace = {"__name__": name}
    exec(compile(source, name, "exec", dont_inherit=True), namespace)
    found[name] = [plain(event) for event in namespace["stream"]()]
json.dump(found, sys.stdout)
"""

Json = dict[str, Any]


def before(name: str) -> bytes:
    return (GOLDEN / f"{name}.before.txt").read_bytes()


def migrated(name: str) -> Migration:
    [migration] = migrate_sources({f"{name}.py": before(name)})
    return migration


def findings(migration: Migration) -> str:
    return "".join(
        f"{found.line}:{found.column} {found.severity} {found.code}: {found.message}\n"
        for found in migration.findings
    )


def plain(event: Any) -> Json:
    if isinstance(event, str):
        event = json.loads(event.removeprefix("data: "))
    return event if isinstance(event, dict) else json.loads(event.model_dump_json(by_alias=True))


def run(source: bytes, name: str) -> list[Json]:
    namespace: Json = {"__name__": name}
    exec(compile(source, name, "exec", dont_inherit=True), namespace)
    return [plain(event) for event in namespace["stream"]()]


def numbered(events: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The events with their ids numbered in order of appearance: spans and messages apart."""
    seen: dict[tuple[bool, str], int] = {}
    found = []
    for event in events:
        key = ("MESSAGE" in event["type"], event["messageId"])
        found.append({**event, "messageId": seen.setdefault(key, len(seen))})
    return found


@pytest.fixture(scope="module")
def as_they_were() -> dict[str, list[Json]]:
    """The events of the modules as they were written, from the version they were written for."""
    sources = json.dumps({name: before(name).decode() for name in NAMES})
    done = subprocess.run(
        [peer_python("0.1.10"), "-c", RUNNER], input=sources, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_becomes_what_it_should(name: str) -> None:
    migration = migrated(name)
    after = "before" if name in UNTOUCHED else "after"
    assert migration.after.decode() == (GOLDEN / f"{name}.{after}.txt").read_text(encoding="utf-8")
    expected = GOLDEN / f"{name}.findings.txt"
    assert findings(migration) == (expected.read_text(encoding="utf-8") if expected.exists() else "")


@pytest.mark.parametrize("name", sorted(UNTOUCHED))
def test_a_module_that_cannot_be_rewritten_stays_and_is_listed_with_advice(name: str) -> None:
    migration = migrated(name)
    assert migration.after is migration.before
    assert migration.changes == 0
    assert {found.severity for found in migration.findings} == {"decide"}
    assert all("not changed" in found.advice for found in migration.findings)


@pytest.mark.parametrize("name", NAMES)
def test_a_second_time_changes_nothing(name: str) -> None:
    [again] = migrate_sources({f"{name}.py": migrated(name).after})
    assert (again.changed, again.changes) == (False, 0)


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_rewritten_module_emits_a_valid_stream(name: str) -> None:
    events = run(migrated(name).after, name)
    assert len(events) > 1
    errors = [found for found in check_events([STARTED, *events, FINISHED]) if found.severity == "error"]
    assert errors == []


@pytest.mark.parametrize("name", REWRITTEN)
def test_every_run_has_ids_of_its_own(name: str) -> None:
    first, second = ({event["messageId"] for event in run(migrated(name).after, name)} for _ in range(2))
    assert first.isdisjoint(second)


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_rewritten_module_says_what_it_said(name: str, as_they_were: dict[str, list[Json]]) -> None:
    numbers = count()
    upgrader = ThinkingUpgrader(on_warning=lambda _: None, new_id=lambda: f"id-{next(numbers)}")
    old = [event for given in as_they_were[name] for event in upgrader.receive(given)]
    new = run(migrated(name).after, name)
    if name == "ids":  # which were no ids yet
        assert [(event["type"], event.get("delta")) for event in old] == [
            (event["type"], event.get("delta")) for event in new
        ]
    else:
        assert numbered(old) == numbered(new)


def write() -> None:
    """Write what becomes of each module."""
    for name in NAMES:
        migration = migrated(name)
        if migration.changed:
            (GOLDEN / f"{name}.after.txt").write_bytes(migration.after)
        else:
            (GOLDEN / f"{name}.after.txt").unlink(missing_ok=True)
        said, file = findings(migration), GOLDEN / f"{name}.findings.txt"
        if said:
            file.write_text(said, encoding="utf-8")
        else:
            file.unlink(missing_ok=True)


if __name__ == "__main__":
    write()
