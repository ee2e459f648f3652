"""What is particular to TanStack AI: it merges the reasoning of a run, unless there are steps."""

from __future__ import annotations

from itertools import chain

import pytest
from playwright.sync_api import Page, expect

from agui_reasoning.emitter.stages import Stage, Steps
from agui_reasoning.replay import (
    REDACTED,
    SIGNATURE,
    THINKING,
    compare,
    load_script,
    read_answer,
    read_request,
)
from tests.frontends.agent import agent_with_a_tool
from tests.frontends.conftest import Start
from tests.frontends.front_ends import FRONT_ENDS

(TANSTACK,) = (front_end for front_end in FRONT_ENDS if front_end.name == "tanstack")
API, SCRIPTS = "anthropic-messages", ("anthropic-weather", "anthropic-weather-2")
REASONING = {THINKING, SIGNATURE, REDACTED}


@pytest.mark.parametrize("stages", [(Steps(),), ()], ids=["steps", "plain"])
def test_reasoning_of_several_responses_in_one_run_needs_steps(
    tab: Page, pages: str, stages: tuple[Stage, ...]
) -> None:
    with agent_with_a_tool(SCRIPTS, stages) as (url, requests):
        tab.goto(f"{pages}/tanstack/?agent={url}&thread=thread-1")
        for number, question in enumerate(["Umbrella or raincoat?", "And if I go by bicycle?"], start=1):
            TANSTACK.ask(tab, question)
            expect(tab.get_by_text("underneath.")).to_have_count(number)
            TANSTACK.wait_until_idle(tab)
    given = chain.from_iterable(read_answer(load_script(name)) for name in SCRIPTS)
    lost = [check.kind for check in compare(given, read_request(API, requests[2])) if not check.unchanged]
    assert (lost == []) is (stages != ())
    assert set(lost) <= REASONING


def test_a_call_is_made_once_with_its_arguments(start: Start) -> None:
    thread = start(TANSTACK, "anthropic-weather")
    thread.ask("Umbrella or raincoat?", requests=2)
    (call,) = (call for message in thread.runs[1].input["messages"] for call in message.get("toolCalls", ()))
    results = [message for message in thread.runs[1].input["messages"] if message["role"] == "tool"]
    assert [result["toolCallId"] for result in results] == [call["id"]]
    assert results[0]["content"].startswith("Bergen: 9 °C")
