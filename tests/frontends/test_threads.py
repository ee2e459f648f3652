"""Conversations through real front ends: what a provider must get back does come back, byte for byte."""

from __future__ import annotations

import pytest

from tests.frontends.conftest import Start
from tests.frontends.front_ends import FRONT_ENDS
from tests.frontends.harness import FrontEnd, Visibility

APIS = ("anthropic-weather", "openai-weather", "chat-weather")
UMBRELLA, BICYCLE = "Umbrella or raincoat?", "And if I go by bicycle?"

every = pytest.mark.parametrize("front_end", FRONT_ENDS, ids=repr)


@every
@pytest.mark.parametrize("visibility", ["full", "hidden"])
@pytest.mark.parametrize("script", APIS)
def test_two_turns_with_a_tool_call(
    start: Start, front_end: FrontEnd, script: str, visibility: Visibility
) -> None:
    thread = start(front_end, script, visibility=visibility)
    thread.ask(UMBRELLA, requests=2)
    thread.ask(BICYCLE)
    assert [thread.missing(number) for number in (1, 2, 3)] == [[], [], []]
    assert len(thread.artifacts(3)) > len(thread.artifacts(2)) > 0
    assert thread.exposed() == []
    assert (thread.revealed() == []) is (visibility == "hidden")
    assert len(thread.thread_ids) == 1
