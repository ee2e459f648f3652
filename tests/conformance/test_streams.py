from __future__ import annotations

import pytest

from tests.conformance.corpus import STREAMS, divergences, names, parameters, stream, version_of
from tests.conformance.driver import differences, play

RELAXED = {
    "gap": {"unknown-enum-value-role-fatal", "1.0__truncated-run-reported-as-completed"},
    "peer": {"era-0-0-39-flattens-content", "era-0-0-57-subagent-dropped-with-warning"}
    | {"era-pinned-peer-omits-protocol-version"},
}


@pytest.mark.parametrize("name", parameters(names(), STREAMS))
def test_stream(name: str) -> None:
    wanted = stream(name)
    assert differences(wanted, play(wanted)) == []


def test_nothing_is_relaxed_but_what_the_corpus_itself_calls_a_gap_and_old_peers() -> None:
    table = divergences()["streams"]
    for kind, allowed in RELAXED.items():
        assert {name for name, entry in table.items() if entry["kind"] == kind} == allowed
    assert {entry["kind"] for entry in table.values()} == set(RELAXED)
    assert all(entry["reason"] and entry["rule"] for entry in table.values())


@pytest.mark.skipif(not names(), reason=f"nothing at {STREAMS}; set AGUI_REASONING_SHARED")
def test_the_tables_name_streams_that_exist_and_differ() -> None:
    table = divergences()
    assert set(table["streams"]) | set(table["codes"]) <= set(names())
    assert {version_of(name) for name in names()} == {"1.1", "1.0", "draft"}
    assert sum(version_of(name) == "1.1" for name in names()) == 68
