"""`check_events` finds nothing in emitted streams, and `Conversation` agrees with the verifier."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_reasoning import DecodeError, ProviderError, Run, check_events, compact, reduce_events
from agui_reasoning.deltas import Delta
from agui_reasoning.emitter.stages import Chunks, Coalesce, Steps
from agui_reasoning.providers import decoder
from agui_reasoning.replay import load_script, script_names
from tests.laws import law
from tests.support.effort import examples
from tests.support.recordings import EXPECT, load, payloads, recordings
from tests.support.strategies import delta_lists
from tests.support.verifier import Client, plain

RUN_INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
ENDINGS = ("finish", "cancel", "fail")
STAGES: list[list[Any]] = [[], [Chunks], [Coalesce], [Steps], [Steps, Coalesce, Chunks]]


def run_events(items: Iterable[Any], ending: str = "finish", **options: Any) -> list[Any]:
    numbers = count()
    run = Run(
        {**RUN_INPUT, "protocolVersion": "1.0"},
        new_id=lambda: f"id{next(numbers)}",
        on_warning=lambda message: None,
        **options,
    )
    events = run.start()
    for item in items:
        events += run.receive(item)
    ends = {"finish": run.finish, "cancel": run.cancel, "fail": lambda: run.fail("It failed.")}
    return events + ends[ending]()


def exchanged(exchange: dict[str, Any]) -> list[Any]:
    """A provider exchange inside a run, ended as its decoder says."""
    machine = decoder(exchange["api"], provider=exchange["provider"], model=exchange["model"])
    if not exchange["stream"]:
        return run_events(machine.whole(exchange["response"]))
    deltas: list[Delta] = []
    try:
        for payload in payloads(exchange):
            deltas += machine.receive(payload)
        return run_events([*deltas, *machine.close()])
    except (DecodeError, ProviderError) as error:
        return run_events([*deltas, *error.deltas], "fail")


def held(messages: Iterable[Any]) -> dict[str, Any]:
    """Messages in the terms of both."""
    return {
        message["id"]: (
            message["role"],
            message.get("content") or "",
            message.get("encryptedValue"),
            [
                (call["id"], call["function"]["arguments"], call.get("encryptedValue"))
                for call in message.get("toolCalls") or ()
            ],
        )
        for message in messages
    }


def assert_flawless(events: list[Any], bare: list[Any] | None = None, *, closes: bool = True) -> None:
    """The verifier takes no chunks that come back to an id, so it is given the run without its stages.

    Only who writes the deltas can end reasoning before the text that follows it, and only the provider can
    send the text of what it signs.
    """
    allowed = {"reasoning_without_text", *(() if closes else ("late_reasoning_end",))}
    assert [finding for finding in check_events(events) if finding.code not in allowed] == []
    client = Client().feed(plain(events if bare is None else bare)).done()
    messages = plain(reduce_events(events))
    assert held(messages) == held(client.messages)
    assert plain(reduce_events(compact(events))) == messages


@pytest.mark.parametrize("name", script_names())
def test_a_script_has_no_finding(name: str) -> None:
    assert_flawless(exchanged(load_script(name)))


@law("pairing")
@settings(max_examples=examples(150))
@given(delta_lists, st.sampled_from(ENDINGS), st.sampled_from(STAGES))
def test_generated_runs_have_no_finding(deltas: list[Delta], ending: str, stages: list[Any]) -> None:
    staged = run_events(deltas, ending, stages=[stage() for stage in stages])
    assert_flawless(staged, run_events(deltas, ending), closes=False)


@pytest.mark.parametrize("file", [file for api in EXPECT for file in recordings(api)])
def test_a_recording_has_no_finding(file: Path) -> None:
    assert_flawless(exchanged(load(file)))
