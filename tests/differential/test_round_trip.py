"""Test the law *round trip* through both versions of the official client, over real HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from agui_reasoning.deltas import unfold
from agui_reasoning.parts import Part
from agui_reasoning.request import restore
from tests.differential.judge import VERSIONS, Judge, Version
from tests.differential.test_emitted import encoded, recorded_run, run_events, versions
from tests.laws import law
from tests.property.test_round_trip import has_envelope
from tests.recordings.test_recordings import decode
from tests.recordings.test_round_trip import has_envelope as recording_has_envelope
from tests.recordings.test_round_trip import names_objects, responses, same, wire
from tests.support.effort import examples
from tests.support.recordings import EXPECT, load, recordings
from tests.support.strategies import turns, with_results


@law("round trip")
@versions
@pytest.mark.parametrize("api", EXPECT)
def test_every_recording_comes_back_in_the_clients_next_request(
    judge: Judge, version: Version, api: str
) -> None:
    files = [param.values[0] for param in recordings(api)]
    if files == [None]:
        pytest.skip("the recordings are absent; set AGUI_REASONING_SHARED")
    bodies = [encoded(recorded_run(file)) for file in files]
    verdicts = judge.run_many(bodies, version=version, follow_up="Go on.")
    for file, verdict in zip(files, verdicts, strict=True):
        assert verdict.next_input is not None, (file, verdict.next_error)
        expected = [parts for parts in responses(decode(load(file))) if recording_has_envelope(parts)]
        restored = [
            list(turn.parts)
            for turn in restore(verdict.next_input, allow_file_ids=names_objects(file)).turns
            if recording_has_envelope(list(turn.parts))
        ]
        assert [list(map(same, parts)) for parts in restored] == [
            list(map(wire, parts)) for parts in expected
        ]


@law("round trip")
@versions
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns())
def test_generated_turns_come_back_in_the_clients_next_request(
    judge: Judge, version: Version, parts: list[Part]
) -> None:
    parts = with_results(parts)
    body = encoded(run_events(unfold(parts), modern=version != "0.0.59"))
    verdict = judge.run(body, version=version, follow_up="Go on.")
    assert verdict.next_input is not None, verdict.next_error
    restored: list[Any] = [list(turn.parts) for turn in restore(verdict.next_input).turns]
    if has_envelope(parts):
        assert restored == [parts]


def test_both_versions_are_judged() -> None:
    assert set(VERSIONS) == {"1.0.0", "0.0.59"}
