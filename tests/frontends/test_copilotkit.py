"""What CopilotKit's chat shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from agui_reasoning.deltas import ReasoningDelta
from tests.frontends.conftest import Start
from tests.frontends.front_ends import FRONT_ENDS
from tests.frontends.provider import Break

if TYPE_CHECKING:
    from tests.support.browser import Faults

(COPILOTKIT,) = (front_end for front_end in FRONT_ENDS if front_end.name == "copilotkit")
QUESTION = "Umbrella or raincoat?"


def test_thinking_is_shown_while_it_streams_and_then_collapsed(start: Start, faults: Faults) -> None:
    faults.expect("ERR_ABORTED")
    thread = start(COPILOTKIT, "anthropic-weather")
    thread.provider.break_next(Break(ReasoningDelta, after=3, stays=True))
    COPILOTKIT.ask(thread.page, QUESTION)
    expect(thread.page.get_by_text("Thinking…")).to_be_visible()
    expect(thread.page.get_by_text("that depends on")).to_be_visible()
    thread.stop()
    expect(thread.page.get_by_text("Thought for")).to_be_visible()
    expect(thread.page.get_by_role("alert")).to_have_count(0)


def test_hidden_reasoning_leaves_no_row(start: Start) -> None:
    thread = start(COPILOTKIT, "anthropic-weather", visibility="hidden")
    thread.ask(QUESTION, requests=2)
    expect(thread.page.get_by_text("Thought for")).to_have_count(0)


def test_an_error_goes_away_with_the_next_run(start: Start) -> None:
    thread = start(COPILOTKIT, "chat-weather")
    thread.provider.break_next(Break(ReasoningDelta))
    thread.ask(QUESTION)
    expect(thread.page.get_by_role("alert")).to_have_text(
        "The agent could not finish its answer. Please try again."
    )
    thread.ask(QUESTION, requests=2)
    expect(thread.page.get_by_role("alert")).to_have_count(0)
