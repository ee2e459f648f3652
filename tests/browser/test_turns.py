"""Whole conversations: what the provider is asked is complete, whatever a person does on the page."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from playwright.sync_api import expect

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta
from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import TIMEOUT_S, Loop, Told, answered, called, scripted, thought
from tests.support.browser import Faults, OpenTab

RESULT = '{"place": "Bergen", "rain_mm": 4.2}'
SCRIPTS = ["anthropic-weather", "openai-weather", "chat-weather", "gemini-weather"]


def roles(messages: list[Any]) -> list[str]:
    return [message["role"] for message in messages]


def expect_complete(loop: Loop, requests: int) -> None:
    """Every value of the provider's answers is in its last request, byte for byte."""
    assert len(loop.requests) == requests
    checks = loop.checks()
    assert checks
    assert [check for check in checks if not check.unchanged] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_two_turns_with_a_call_that_the_page_answers(open_tab: OpenTab, name: str) -> None:
    with scripted(name) as loop:
        chat = Chat(open_tab(), loop.url)
        chat.ask(loop.question)
        chat.answer_call(RESULT)
        chat.expect_rest()
        expect(chat.turns).to_have_count(1)
        expect_complete(loop, 2)
        assert RESULT in json.dumps(loop.requests[1]).replace("\\", "")
        chat.ask(loop.follow_up)
        chat.expect_rest()
        expect(chat.turns).to_have_count(2)
        expect_complete(loop, 3)


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_a_thread_survives_a_reload_at_any_time(open_tab: OpenTab, visibility: str) -> None:
    with scripted("anthropic-weather", visibility=visibility, keys=KeyRing.generate("k1")) as loop:
        chat = Chat(open_tab(), loop.url)
        chat.ask(loop.question)
        expect(chat.button("Send the result")).to_be_visible()
        reload(chat)
        chat.answer_call(RESULT)
        chat.expect_rest()
        expect(chat.turns).to_have_count(1)
        reload(chat)
        chat.ask(loop.follow_up)
        chat.expect_rest()
        expect(chat.turns).to_have_count(2)
        expect_complete(loop, 3)


def reload(chat: Chat) -> None:
    """Reload the page: what it holds and what it shows is the same as before."""
    before, shown = chat.thread(), chat.page.locator(".turns").inner_text()
    chat.page.reload()
    chat.page.wait_for_function("(text) => document.querySelector('.turns')?.innerText === text", arg=shown)
    assert chat.thread() == before


def test_an_answer_is_given_again_from_where_its_question_was_asked(open_chat: OpenChat) -> None:
    upstream = Told([*thought("One."), *answered("First.")], [*thought("Two."), *answered("Second.")])
    chat = open_chat(upstream)
    chat.ask("Umbrella?")
    expect(chat.answers).to_have_text(["First."])
    chat.ask("And now?")
    expect(chat.answers).to_have_text(["First.", "Second."])
    chat.expect_rest()
    chat.button("Regenerate").last.click()
    expect(chat.answers).to_have_text(["First.", "Second."])
    chat.expect_rest()
    assert upstream.inputs[2] == upstream.inputs[1]
    chat.button("Regenerate").first.click()
    expect(chat.answers).to_have_text(["Second."])
    chat.expect_rest()
    assert upstream.inputs[3] == upstream.inputs[0]


def test_a_question_is_edited_and_what_followed_it_is_gone(open_chat: OpenChat) -> None:
    upstream = Told([*thought("One."), *called("c1")], [*thought("Two."), *answered("Yes.")])
    chat = open_chat(upstream)
    chat.ask("Umbrella?")
    chat.answer_call(RESULT)
    expect(chat.answers).to_have_text(["Yes."])
    chat.expect_rest()
    chat.button("Edit").click()
    field = chat.page.get_by_role("textbox", name="Edit your message")
    expect(field).to_have_value("Umbrella?")
    field.fill("Raincoat?")
    field.press("Enter")
    expect(chat.answers).to_have_text(["Yes."])
    chat.expect_rest()
    expect(chat.questions.locator(".bubble")).to_have_text(["Raincoat?"])
    (message,) = upstream.inputs[2]
    assert (message["role"], message["content"]) == ("user", "Raincoat?")


def test_an_edit_is_cancelled(open_chat: OpenChat) -> None:
    upstream = Told(answered("Yes."))
    chat = open_chat(upstream)
    chat.ask("Umbrella?")
    chat.expect_rest()
    chat.button("Edit").click()
    chat.page.get_by_role("textbox", name="Edit your message").fill("Raincoat?")
    chat.page.keyboard.press("Escape")
    expect(chat.questions.locator(".bubble")).to_have_text(["Umbrella?"])
    expect(chat.answers).to_have_text(["Yes."])
    assert len(upstream.inputs) == 1


@pytest.mark.parametrize("how", ["button", "key"])
def test_a_run_is_stopped_and_what_came_stays(open_chat: OpenChat, faults: Faults, how: str) -> None:
    upstream = Told([ReasoningDelta("Half a thou", key="0"), ...], [*thought("Whole."), *answered("Yes.")])
    chat = open_chat(upstream)
    faults.expect("net::ERR_ABORTED")
    chat.ask("Umbrella?")
    expect(chat.thoughts).to_contain_text(["Half a thou"])
    if how == "button":
        chat.button("Stop").click()
    else:
        chat.page.keyboard.press("Escape")
    expect(chat.page.locator(".outcome")).to_contain_text("Stopped")
    expect(chat.thoughts).to_contain_text(["Half a thou"])
    expect(chat.field).to_be_focused()
    assert upstream.closed.wait(TIMEOUT_S)  # the provider is not paid for what nobody reads
    chat.ask("Go on.")
    expect(chat.answers).to_have_text(["Yes."])
    chat.expect_rest()
    assert roles(upstream.inputs[1]).count("user") == 2


def test_a_call_that_was_being_written_when_the_run_was_stopped_is_not_asked_for(
    open_chat: OpenChat, faults: Faults
) -> None:
    upstream = Told([*thought("Hm."), *called("c1", '{"place": "Ber')[:1], ...], answered("Yes."))
    chat = open_chat(upstream)
    faults.expect("net::ERR_ABORTED")
    chat.ask("Umbrella?")
    expect(chat.calls).to_contain_text(["get_forecast"])
    chat.button("Stop").click()
    expect(chat.calls).to_contain_text(["Not answered"])
    expect(chat.page.locator("form.tool-answer")).to_have_count(0)
    chat.ask("Go on.")
    expect(chat.answers).to_have_text(["Yes."])


def test_two_calls_are_answered_before_the_run_goes_on(open_chat: OpenChat) -> None:
    upstream = Told([*thought("Hm."), *called("c1"), *called("c2")], answered("Yes."))
    chat = open_chat(upstream)
    chat.ask("Umbrella?")
    forms = chat.page.locator("form.tool-answer")
    expect(forms).to_have_count(2)
    forms.first.get_by_role("textbox").fill("rain")
    chat.button("Send the result", forms.first).click()
    expect(forms).to_have_count(1)
    assert len(upstream.inputs) == 1
    chat.button("Report an error", forms).click()
    forms.get_by_role("textbox").fill("no network")
    chat.button("Send the error", forms).click()
    expect(chat.answers).to_have_text(["Yes."])
    results = [message for message in upstream.inputs[1] if message["role"] == "tool"]
    assert [(one["toolCallId"], one["content"], one.get("error")) for one in results] == [
        ("c1", "rain", None),
        ("c2", "no network", "no network"),
    ]


def test_nothing_is_sent_twice_while_a_run_is_going_on(open_chat: OpenChat) -> None:
    end = threading.Event()
    upstream = Told([*thought("Hm."), end, *answered("Yes.")])
    chat = open_chat(upstream)
    chat.ask("Umbrella?")
    expect(chat.button("Stop")).to_be_visible()
    chat.ask("Umbrella?")
    end.set()
    chat.expect_rest()
    expect(chat.field).to_have_value("Umbrella?")  # it waits until it can be sent
    assert len(upstream.inputs) == 1


def test_a_new_chat_is_a_new_thread(open_chat: OpenChat) -> None:
    upstream = Told(answered("Yes."))
    chat = open_chat(upstream)
    chat.ask("Umbrella?")
    chat.expect_rest()
    before = chat.thread()["threadId"]
    chat.button("New chat").click()
    expect(chat.answers).to_have_count(0)
    expect(chat.field).to_be_focused()
    chat.ask("Raincoat?")
    expect(chat.answers).to_have_text(["Yes."])
    chat.expect_rest()
    assert roles(upstream.inputs[1]) == ["user"]
    assert chat.thread()["threadId"] != before


def test_a_tab_has_its_own_thread(open_chat: OpenChat) -> None:
    """What another tab does, or the next user of the browser sees, is independent of it."""
    first = open_chat(Told(answered("Yes.")))
    other = Chat(first.page.context.new_page(), first.page.url)
    first.ask("Umbrella?")
    first.expect_rest()
    other.page.close(run_before_unload=True)
    reload(first)
    expect(first.answers).to_have_text(["Yes."])
    third = Chat(first.page.context.new_page(), first.page.url)
    expect(third.questions).to_have_count(0)
    first.button("New chat").click()
    third.page.close(run_before_unload=True)
    first.page.reload()
    expect(first.page.locator(".welcome")).to_be_visible()
    expect(first.questions).to_have_count(0)


def test_a_question_can_be_edited_only_at_rest(open_chat: OpenChat) -> None:
    end = threading.Event()
    upstream = Told(answered("Yes."), [*thought("Hm."), end, *answered("No.")])
    chat = open_chat(upstream)
    chat.ask("Umbrella?")
    chat.expect_rest()
    chat.button("Edit").click()
    chat.ask("Raincoat?")
    expect(chat.button("Stop")).to_be_visible()
    form = chat.page.locator("form.edit")
    expect(chat.button("Send", form)).to_be_disabled()
    expect(chat.button("Edit")).to_have_count(0)
    form.get_by_role("textbox").press("Enter")  # sends nothing, and keeps what is written
    expect(form.get_by_role("textbox")).to_be_focused()
    end.set()
    chat.expect_rest()
    expect(chat.button("Edit")).to_have_count(1)
    chat.button("Send", form).click()
    expect(chat.questions).to_have_count(1)
    chat.expect_rest()
    assert len(upstream.inputs) == 3
