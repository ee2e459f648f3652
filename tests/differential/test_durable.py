"""The official clients that join a run hold what they hold when they saw it from the beginning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.gateway import create_app, local_server
from agui_reasoning.replay import script_names
from tests.differential.judge import Judge, Verdict, Version
from tests.differential.test_emitted import versions
from tests.internals.durable.test_view import HEAD, MODES, frames_of_script, joining, opened_after
from tests.support.effort import mostly_slow

Json = dict[str, Any]

RUN: Json = {"threadId": HEAD["threadId"], "runId": HEAD["runId"]}
ASKED = RUN | {"messages": HEAD["messages"], "state": HEAD["state"]}
CONSTRUCTS = ("REASONING_MESSAGE_START", "TEXT_MESSAGE_START", "TOOL_CALL_START")
SCRIPTS = mostly_slow(script_names(), quick=["anthropic-weather", "openai-weather"])


def cuts(frames: list[bytes]) -> Iterator[int]:
    """Yield the first place where each construct is open and may have grown, and the end."""
    opened = [opened_after(frames[:at]) for at in range(len(frames))]
    for construct in CONSTRUCTS:
        grown = [at for at in range(1, len(frames)) if construct in opened[at - 1] & opened[at]]
        yield from grown[:1]
    yield len(frames)


def outcome(verdict: Verdict) -> tuple[Any, ...]:
    assert (verdict.error, verdict.warnings, verdict.next_error) == (None, [], None)
    assert verdict.next_input is not None
    return verdict.messages, verdict.state, verdict.next_input["messages"], verdict.next_input["state"]


def clients(judge: Judge, seen: bytes, version: Version) -> dict[str, Json]:
    """What clients hold that join a run, of which one has seen the beginning."""
    cut = judge.run(seen, run_input=ASKED, version=version, next_turn=False)
    return {
        "a new client": RUN,
        "one that asked": ASKED,
        "one that was cut": RUN | {"messages": cut.messages, "state": cut.state},
    }


@versions
@pytest.mark.parametrize("mode", MODES, ids=["full", "hidden with keys"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_client_that_joins_holds_and_sends_what_an_uninterrupted_one_does(
    judge: Judge, version: Version, name: str, mode: Json
) -> None:
    frames = frames_of_script(name, mode, "1.0" if version == "1.0.0" else None)
    options: Json = {"version": version, "follow_up": "Go on."}
    expected = outcome(judge.run(b"".join(frames), run_input=ASKED, **options))
    for cut in cuts(frames):
        body = b"".join(joining(frames, cut))
        for client, run_input in clients(judge, b"".join(frames[:cut]), version).items():
            joined = outcome(judge.run(body, run_input=run_input, **options))
            assert joined == expected, f"{client} joined after {cut} of {len(frames)} events"


def test_clients_join_while_each_construct_is_open() -> None:
    frames = frames_of_script("anthropic-weather", {})
    assert set().union(*(opened_after(frames[:cut]) for cut in cuts(frames))) >= set(CONSTRUCTS)


@versions
def test_a_client_of_any_version_joins_a_run_with_pending_calls_that_another_version_started(
    judge: Judge, version: Version, tmp_path: Path
) -> None:
    """0.0.59, which declares no version, refuses `pendingToolCallIds`."""
    asked = ASKED | {"tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
    with local_server(create_app(runs=Runs(SQLiteRuns(tmp_path / "runs.db")))) as url:
        assert '"pendingToolCallIds":[' in httpx2.post(f"{url}/agent", json=asked).text
        verdict = judge.run_url(f"{url}/agent/connect", run_input=RUN, version=version, next_turn=False)
    assert (verdict.error, verdict.warnings) == (None, [])
    assert [message["role"] for message in verdict.messages] == ["user", "reasoning", "assistant"]
    assert ("pendingToolCallIds" in str(verdict.events[-1])) == (version == "1.0.0")
