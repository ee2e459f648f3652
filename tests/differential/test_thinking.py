"""Compare THINKING_* translations with those of the official client, and judge them with both clients."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_reasoning.compat import ThinkingDowngrader, ThinkingUpgrader, Translator
from tests.conformance.requirements import requirement
from tests.differential.judge import VERSIONS, Judge
from tests.differential.node import JS_DIR, find_node, packages_installed
from tests.support.effort import examples
from tests.support.streams import valid_streams

Json = dict[str, Any]

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

KINDS = ["START", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "END", "CHUNK"]
EXTRAS: list[Json] = [
    {},
    {},
    {"title": "Plan"},
    {"messageId": "mine"},
    {"signature": "SEAL", "timestamp": 5},
    {"metadata": {"a": None}},
]
OTHERS: list[Json] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hi"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "assistant"},
    {"type": "CUSTOM", "name": "n", "value": {"type": "THINKING_START"}},
]


@st.composite
def thinking(draw: st.DrawFn) -> Json:
    kind = draw(st.sampled_from(KINDS))
    delta = {"delta": draw(st.sampled_from(["", "Hm", "\u2028", "é"]))} if kind.endswith("CONTENT") else {}
    return {"type": f"THINKING_{kind}", **delta, **draw(st.sampled_from(EXTRAS))}


thinking_streams = st.lists(st.one_of(thinking(), thinking(), st.sampled_from(OTHERS)), max_size=16)


@pytest.fixture(scope="session")
def official() -> Iterator[Callable[[list[Json]], Json]]:
    """The translation of the official client 1.0.0."""
    node = find_node()
    if node is None or not packages_installed():
        pytest.skip("the official AG-UI client cannot be run here: run `make test`, which installs it")
    command = [str(node), "thinking.mjs"]
    env = {name: value for name, value in os.environ.items() if name != "NODE_OPTIONS"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=JS_DIR, env=env, stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        assert process.stdin is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(events: list[Json]) -> Json:
            assert stdout is not None
            stdin.write(f"{json.dumps(events)}\n")
            stdin.flush()
            answer: Json = json.loads(stdout.readline())
            return answer

        yield ask
        stdin.close()
        process.wait(120)


def numbered(value: Any) -> Any:
    """Ids that were made up are numbered in order of appearance."""
    seen: dict[str, str] = {}
    text = UUID.sub(lambda match: seen.setdefault(match[0], f"made-up-{len(seen)}"), json.dumps(value))
    return json.loads(text)


def through(translator: Translator, events: list[Json]) -> list[Json]:
    return [translated for event in events for translated in translator.receive(event)]


def quiet(warning: str) -> None:
    pass


@requirement("V6", "V7", "V8", "V9", "V10")
@many
@given(thinking_streams)
def test_the_upgrader_gives_what_the_official_client_gives(
    official: Callable[[list[Json]], Json], events: list[Json]
) -> None:
    warnings: list[str] = []
    theirs = official(events)
    ours = through(ThinkingUpgrader(warnings.append), events)
    assert numbered(ours) == numbered(theirs["events"])
    assert len(warnings) == len(theirs["warnings"])


@settings(many, max_examples=examples(60))
@given(valid_streams())
def test_clients_of_both_times_accept_what_the_downgrader_writes(judge: Judge, stream: list[Json]) -> None:
    """0.0.59 verifies THINKING_* as its time did; 1.0.0 reads it as REASONING_*."""
    today = [event for event in stream if not event["type"].startswith(("THINKING", "FUTURE"))]
    old = through(ThinkingDowngrader(on_warning=quiet), today)
    body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in old)
    run_input = {"threadId": "t", "runId": "r1"}
    for version in VERSIONS:
        verdict = judge.run(body, version=version, run_input=run_input, next_turn=False)
        assert verdict.accepted, (version, verdict.error)


@settings(many, max_examples=examples(60))
@given(thinking_streams)
def test_what_is_repaired_is_accepted(judge: Judge, events: list[Json]) -> None:
    frame = {"threadId": "t", "runId": "r1"}
    inside = [
        event
        for event in events
        if not event["type"].startswith(("RUN_", "REASONING", "TEXT")) and "metadata" not in event
    ]
    run = [{"type": "RUN_STARTED", **frame}, *inside, {"type": "RUN_FINISHED", **frame}]
    repaired = through(ThinkingUpgrader(quiet, repair=True), run)
    body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in repaired)
    verdict = judge.run(body, run_input=frame, next_turn=False)
    assert (verdict.accepted, verdict.finished) == (True, True), verdict.error
