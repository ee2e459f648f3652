"""What `examples/web` shows, and what it stores."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from playwright.sync_api import Page, expect

from agui_reasoning.deltas import ReasoningDelta
from tests.frontends.conftest import Start
from tests.frontends.front_ends import FRONT_ENDS
from tests.frontends.provider import Break

if TYPE_CHECKING:
    from tests.support.browser import Faults

(CLIENT,) = (front_end for front_end in FRONT_ENDS if front_end.name == "typescript-client")
QUESTION = "Umbrella or raincoat?"


def test_thinking_is_collapsed_and_stays_open_once_it_is_opened(start: Start, faults: Faults) -> None:
    faults.expect("ERR_ABORTED")
    thread = start(CLIENT, "anthropic-weather")
    thread.provider.break_next(Break(ReasoningDelta, after=3, stays=True))
    CLIENT.ask(thread.page, QUESTION)
    summary, words = thread.page.get_by_text("Thinking…"), thread.page.get_by_text("that depends on")
    expect(summary).to_be_visible()
    expect(words).to_have_count(1)
    expect(words).to_be_hidden()
    summary.click()
    expect(words).to_be_visible()
    thread.stop()
    expect(thread.page.get_by_text("Thought", exact=True)).to_be_visible()
    expect(words).to_be_visible()
    expect(thread.page.get_by_role("alert")).to_be_empty()


def test_hidden_reasoning_leaves_no_row_and_is_stored(start: Start) -> None:
    thread = start(CLIENT, "anthropic-weather", visibility="hidden")
    thread.ask(QUESTION, requests=2)
    reasoning = [message for message in stored(thread.page)["messages"] if message["role"] == "reasoning"]
    assert [message["content"] for message in reasoning] == ["", ""]
    assert all(message["encryptedValue"] for message in reasoning)
    expect(thread.page.get_by_text(re.compile("Thinking|Thought"))).to_have_count(2)
    expect(
        thread.page.get_by_text(re.compile("Thinking|Thought")).and_(thread.page.locator(":visible"))
    ).to_have_count(0)


def test_a_new_thread_is_empty_and_has_another_id(start: Start) -> None:
    thread = start(CLIENT, "chat-weather")
    thread.ask(QUESTION, requests=2)
    before = stored(thread.page)
    thread.page.get_by_role("button", name="New thread").click()
    expect(thread.page.get_by_role("article")).to_have_count(0)
    after = stored(thread.page)
    assert (len(before["messages"]), after["messages"]) == (6, [])
    assert before["threadId"] != after["threadId"]


def test_a_refused_request_is_explained(start: Start, faults: Faults) -> None:
    faults.expect("422|Agent execution failed")
    thread = start(CLIENT, "chat-weather")
    error = {"error": {"code": "bad_input", "message": "The body is not a RunAgentInput."}}
    answer(thread.page, 422, "application/json", json.dumps(error))
    CLIENT.ask(thread.page, QUESTION)
    expect(thread.page.get_by_role("alert")).to_have_text("The body is not a RunAgentInput.")


def test_a_stream_that_is_cut_is_reported(start: Start) -> None:
    thread = start(CLIENT, "chat-weather")
    begun = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    answer(thread.page, 200, "text/event-stream", f"data: {json.dumps(begun)}\n\n")
    CLIENT.ask(thread.page, QUESTION)
    expect(thread.page.get_by_role("alert")).to_contain_text("the connection was lost")


def answer(page: Page, status: int, content_type: str, body: str) -> None:
    """Answer requests to the gateway in its stead."""
    headers = {"access-control-allow-origin": "*", "access-control-allow-headers": "*"}
    page.route(
        "**/agent",
        lambda route: route.fulfill(status=status, content_type=content_type, body=body, headers=headers),
    )


def stored(page: Page) -> dict:
    """The thread that the page stores for its agent."""
    (thread,) = page.evaluate("() => Object.values(localStorage)")
    return json.loads(thread)
