"""A client may join the run of any recording anywhere."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agui_reasoning import Conversation, Run, TruncatedRunError
from agui_reasoning.deltas import Delta
from agui_reasoning.wire import SSEEncoder
from tests.internals.durable.test_view import HEAD, client, feed, held, joining
from tests.recordings.test_recordings import ALL, decode
from tests.support.effort import SEED, thinned
from tests.support.recordings import load

CUTS = 10


def frames_of(deltas: list[Delta]) -> list[bytes]:
    """The run that a recording is, as Server-Sent Events."""
    run_input = HEAD | {"tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
    run = Run(run_input, on_warning=lambda warning: None)
    events: list[Any] = run.start()
    for delta in deltas:
        events += run.receive(delta)
    return [SSEEncoder().encode(event) for event in [*events, *run.finish()]]


def interrupted(frames: list[bytes]) -> Conversation:
    """A client whose connection was cut."""
    conversation = client(*frames)
    with suppress(TruncatedRunError):
        conversation.end_of_stream()
    return conversation


@pytest.mark.parametrize(("api", "file"), thinned(ALL, 4))
def test_a_client_that_joins_a_recorded_run_holds_all_of_it(api: str, file: Path) -> None:
    frames = frames_of(decode(load(file)))
    expected = held(client(*frames))
    places = range(1, len(frames) + 1)
    for cut in Random(SEED + file.name.encode()).sample(places, min(CUTS, len(places))):
        stream = joining(frames, cut)
        for joins in (client(messages=()), client(), interrupted(frames[:cut])):
            feed(joins, *stream)
            assert held(joins) == expected, f"joined after {cut} of {len(frames)} events"
