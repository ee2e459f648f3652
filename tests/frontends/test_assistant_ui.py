"""What the page on assistant-ui shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from agui_reasoning.deltas import ReasoningDelta
from tests.frontends.conftest import Start
from tests.frontends.front_ends import FRONT_ENDS
from tests.frontends.provider import Break

if TYPE_CHECKING:
    from tests.support.browser import Faults

(ASSISTANT_UI,) = (front_end for front_end in FRONT_ENDS if front_end.name == "assistant-ui")
QUESTION = "Umbrella or raincoat?"


def test_thinking_is_collapsed_and_a_stop_is_no_error(start: Start, faults: Faults) -> None:
    faults.expect("ERR_ABORTED")
    thread = start(ASSISTANT_UI, "anthropic-weather")
    thread.provider.break_next(Break(ReasoningDelta, after=3, stays=True))
    ASSISTANT_UI.ask(thread.page, QUESTION)
    summary, words = thread.page.get_by_text("Thinking…"), thread.page.get_by_text("that depends on")
    expect(words).to_have_count(1)
    expect(words).to_be_hidden()
    summary.click()
    expect(words).to_be_visible()
    thread.stop()
    expect(thread.page.get_by_text("Thought")).to_be_visible()
    expect(thread.page.get_by_text("aborted")).to_have_count(0)


def test_hidden_reasoning_leaves_no_row(start: Start) -> None:
    thread = start(ASSISTANT_UI, "anthropic-weather", visibility="hidden")
    thread.ask(QUESTION, requests=2)
    expect(thread.page.get_by_text("Thought")).to_have_count(0)
