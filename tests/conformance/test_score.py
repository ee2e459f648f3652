"""Compares `docs/conformance.md` with the results of this run.

If they differ, the test rewrites the page and fails.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from agui_reasoning.protocol import PROTOCOL_VERSION
from tests.conformance.corpus import STREAMS, VERSIONS, divergences, names, stream, version_of
from tests.conformance.driver import differences, play
from tests.conformance.requirements import REQUIREMENTS
from tests.conformance.test_fixtures import fixtures
from tests.internals.schema import DROP, Boundary, inspect, kind_of
from tests.support.manifest import proofs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
DIFFERENTIAL = ROOT / "tests" / "differential" / "divergences.toml"

KINDS = {
    "gap": "a gap of the reference client, which contradicts the specification",
    "peer": "needs a setting for the version of an old peer, which the consumer does not have",
}

TEXT = """# Conformance

<!-- Written by tests/conformance/test_score.py. Do not edit. -->

The consumer (`Conversation`, `reduce_events`, `check_events`, `AgentClient`) is tested against the official
AG-UI conformance corpus, the official schema fixtures and, with generated streams, the official client.

It declares version {version} and understands 1.1. The corpus declares 1.1, so the tests lower the minor
versions in it by one. The draft's streams are read with
`strict_identity=True`. `tests/conformance/requirements.py` lists the rules, such as C11.

## Streams

| corpus | streams | as expected | deliberately different | failed |
|---|---|---|---|---|
{streams}

Deliberate differences:

| stream | kind | rule | reason |
|---|---|---|---|
{relaxed}

{kinds}

## Fixtures

{valid} of {valid_all} valid fixtures are accepted, and {invalid} of {invalid_all} invalid fixtures are
rejected. The validation table is also compared with the published schema, definition by definition.

Deliberate differences:

{forgiven}

## Rules

{tests} tests cover {rules} numbered rules of the specification.

## Comparison with the official client

Valid and invalid generated streams are read by this consumer and, over HTTP, by `@ag-ui/client` 1.0.0. Both
must accept the same streams and produce the same messages, state and events. To compare 20,000 streams, run
`pytest tests/differential/test_consumer.py --hypothesis-profile=thorough`. Only these differences are
allowed:

| difference | rule | reason |
|---|---|---|
{differential}
"""


def page() -> str:
    results = {name: differences(stream(name), play(stream(name))) for name in names()}
    table = divergences()
    valid = [path for path in fixtures("valid") if accepted(path)]
    invalid = [path for path in fixtures("invalid") if not accepted(path, compatible=False)]
    tests = {test for found in proofs("requirement").values() for test in found}
    return TEXT.format(
        version=PROTOCOL_VERSION,
        streams="\n".join(row(version, results) for version in VERSIONS),
        relaxed="\n".join(
            f"| `{name}` | {entry['kind']} | {entry['rule']} | {entry['reason']} |"
            for name, entry in table["streams"].items()
        ),
        kinds="\n".join(f"* {kind}: {meaning}." for kind, meaning in KINDS.items()),
        valid=len(valid),
        valid_all=len(fixtures("valid")),
        invalid=len(invalid),
        invalid_all=len(fixtures("invalid")),
        forgiven="\n".join(
            f"* `{name}` ({entry['rule']}): {entry['reason']}" for name, entry in table["fixtures"].items()
        ),
        rules=len(REQUIREMENTS),
        tests=len(tests),
        differential="\n".join(
            f"| {name} | {entry['rule']} | {entry['reason']} |"
            for name, entry in tomllib.loads(DIFFERENTIAL.read_text(encoding="utf-8")).items()
        ),
    )


def row(version: str, results: dict[str, list[str]]) -> str:
    counts = Counter(
        "failed" if found else "relaxed" if name in divergences()["streams"] else "passed"
        for name, found in results.items()
        if version_of(name) == version
    )
    passed, relaxed, failed = (counts[key] for key in ("passed", "relaxed", "failed"))
    return f"| {version} | {counts.total()} | {passed} | {relaxed} | {failed} |"


def accepted(path: Path, *, compatible: bool = True) -> bool:
    value = json.loads(path.read_text(encoding="utf-8"))
    known, removed, fault = inspect(
        kind_of(path.parts[-3]), Boundary(lambda notice: None).receive(value) if compatible else value
    )
    return fault is None and known is not DROP and not removed


@pytest.mark.skipif(not names(), reason=f"nothing at {STREAMS}; set AGUI_REASONING_SHARED")
def test_the_page_states_the_score_of_this_run() -> None:
    now = page()
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if now != before:
        PAGE.write_text(now, encoding="utf-8")
    assert now == before, "docs/conformance.md was out of date and has been rewritten"
