"""Read downgraded streams with the models of the versions they are made for.

Each runs in an environment of its own, made with pip the first time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from agui_reasoning.compat import ThinkingDowngrader
from tests.differential.peers import VERSIONS, Peer, UnavailableError
from tests.differential.test_thinking import Json, quiet, through
from tests.support.play import FINISHED, STARTED, ev, text, thought, value
from tests.support.streams import valid_streams

many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
THINKING = [
    STARTED,
    ev("REASONING_START", messageId="s"),
    *thought("r", "Hm", ""),
    value("r"),
    ev("REASONING_END", messageId="s"),
    *text("m", "", "Yes"),
    {**FINISHED, "outcome": {"type": "cancelled"}},
]


@pytest.fixture(scope="session", params=VERSIONS)
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    try:
        opened = Peer(request.param)
    except UnavailableError as error:
        pytest.skip(f"pip cannot install ag-ui-protocol {request.param} here: {error}")
    with opened:
        yield opened


def test_the_environment_has_the_version_it_is_named_after(peer: Peer) -> None:
    assert peer.installed == peer.version


def test_it_refuses_what_is_not_downgraded(peer: Peer) -> None:
    """Prove that the next test can fail."""
    assert peer.refusals(THINKING) != []
    assert peer.refusals([ev("NOVELTY")]) == ["0: there is no NOVELTY"]


@many
@given(valid_streams())
def test_it_reads_every_event_that_is_downgraded_for_it(peer: Peer, stream: list[Json]) -> None:
    # What nobody describes goes on as it is, for whoever reads it to drop.
    described = [event for event in stream if event["type"] != "FUTURE_EVENT"]
    downgraded = through(ThinkingDowngrader(peer.version, quiet), [*described, *THINKING])
    assert peer.refusals(downgraded) == []


def test_each_gets_reasoning_as_it_knows_it(peer: Peer) -> None:
    downgraded = through(ThinkingDowngrader(peer.version, quiet), THINKING)
    told = [event for event in downgraded if event["type"].startswith(("THINKING", "REASONING"))]
    assert told == {"0.1.10": OF_0_1_10, "0.1.13": OF_0_1_13, "0.1.22": THINKING[1:8]}[peer.version]


OF_0_1_10 = [
    ev("THINKING_START"),
    ev("THINKING_TEXT_MESSAGE_START"),
    ev("THINKING_TEXT_MESSAGE_CONTENT", delta="Hm"),
    ev("THINKING_TEXT_MESSAGE_END"),
    ev("THINKING_END"),
]
OF_0_1_13 = [
    ev("REASONING_START", messageId="s"),
    ev("REASONING_MESSAGE_START", messageId="r", role="assistant"),
    ev("REASONING_MESSAGE_CONTENT", messageId="r", delta="Hm"),
    ev("REASONING_MESSAGE_END", messageId="r"),
    value("r"),
    ev("REASONING_END", messageId="s"),
]
