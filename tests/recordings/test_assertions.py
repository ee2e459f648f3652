"""Run our own assertions over every recording: no false alarms, and missing reasoning is noticed."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event

from agui_reasoning import Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import Delta
from agui_reasoning.parts import ReasoningPart
from agui_reasoning.providers.registry import provider_api
from agui_reasoning.testing import assert_round_trip, assert_valid
from tests.recordings.test_recordings import ALL, decode
from tests.recordings.test_round_trip import names_objects, responses
from tests.support.recordings import load

INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "protocolVersion": "1.0",
    "messages": [{"id": "u", "role": "user", "content": "Go on."}],
}

ALARMS = {
    # The request did not ask for encrypted content, and the provider stores nothing: this reasoning is lost.
    "ai--openai-src-responses-__fixtures__-github-copilot-id-rotation.1-chunks-0": "no encrypted content",
    # The recording has another ID in the result than in the call, and TanStack drops results without a call.
    "rig--gemini-interactions_api-google_search_tool_interaction-0": "TanStack: the result of call",
}
"""Recordings of which something is lost, and what the error says of it."""


def emitted(deltas: list[Delta], keys: KeyRing | None = None) -> list[Event]:
    numbers = count()
    run = Run(INPUT, keys=keys, new_id=lambda: f"id{next(numbers)}", on_warning=lambda message: None)
    events = run.start()
    for delta in deltas:
        events += run.receive(delta)
    return events + run.finish()


@pytest.mark.parametrize(("api", "file"), ALL)
def test_a_recording_passes_the_assertions_of_a_framework_author(api: str, file: Path) -> None:
    recording = load(file)
    deltas = decode(recording)
    # Without keys, a call that names a container or a file is left out: anybody could have written it.
    keys = KeyRing.generate() if names_objects(file) else None
    events = emitted(deltas, keys)
    assert_valid(events)
    if provider_api(api).encoder is None:
        return  # there is no next request to look at
    target = {"api": api, "provider": recording["provider"], "model": recording["model"], "keys": keys}
    if file.stem in ALARMS:
        with pytest.raises(AssertionError, match=ALARMS[file.stem]):
            assert_round_trip(INPUT, events, **target)
        return
    fault = fault_of(events, target)
    # Values on calls and blocks count as reasoning; a response without any has nothing to test.
    thought = any(_thought(list(parts)) for parts in responses(deltas))
    assert fault == "" or (not thought and fault.startswith("Nothing was tested"))


def _thought(parts: list[Any]) -> bool:
    return any(isinstance(part, ReasoningPart) and part.status == "complete" for part in parts)


def fault_of(events: list[Event], target: dict[str, Any]) -> str:
    try:
        assert_round_trip(INPUT, events, **target)
    except AssertionError as error:
        return str(error)
    return ""
