"""Each question says how it was answered: not at all, in part, or with a limit that the answer reached."""

from __future__ import annotations

from playwright.sync_api import expect

from agui_reasoning.deltas import FinishDelta
from agui_reasoning.errors import ProviderError
from agui_reasoning.gateway import ReplayUpstream
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import Told, answered, called, thought
from tests.support.browser import Faults

OVERLOADED = ProviderError(provider_type="overloaded_error")
FIRST = "I am walking along Bergen harbour this afternoon. Umbrella or raincoat?"
SECOND = "And if I go by bicycle instead?"


def test_an_answer_that_reached_its_length_limit_is_continued(open_chat: OpenChat) -> None:
    told = Told(
        [*answered("Take the"), FinishDelta("max_tokens")], [*answered("raincoat."), FinishDelta("stop")]
    )
    chat = open_chat(told)
    chat.ask("Umbrella?")
    outcome = chat.page.locator(".outcome")
    expect(outcome).to_contain_text("The answer was cut off at its length limit.")
    chat.expect_rest()
    chat.page.reload()
    expect(outcome).to_contain_text("The answer was cut off at its length limit.")
    chat.button("Continue").click()
    expect(chat.answers).to_have_text(["Take the", "raincoat."])
    chat.expect_rest()
    assert [message["role"] for message in told.inputs[1]] == ["user", "assistant", "user"]
    expect(chat.button("Continue")).to_have_count(0)
    expect(chat.page.locator(".ending")).to_contain_text(["The answer was cut off at its length limit."])


def test_an_answer_that_ended_otherwise_says_so(open_chat: OpenChat) -> None:
    """Asking for more of it would lead to the same end."""
    chat = open_chat(
        Told([*answered("I"), FinishDelta("content_filter")], [*answered("Yes."), FinishDelta("stop")])
    )
    outcome = chat.page.locator(".outcome")
    chat.ask("Umbrella?")
    expect(outcome).to_have_text("The provider's filter ended the answer.")
    chat.ask("Raincoat?")
    expect(chat.answers).to_have_count(2)
    chat.expect_rest()
    expect(outcome).to_be_empty()


def test_a_question_that_failed_says_so_and_is_asked_again(open_chat: OpenChat) -> None:
    told = Told([OVERLOADED], [*answered("Half"), OVERLOADED], answered("Yes."))
    chat = open_chat(told)
    chat.ask("Umbrella?")
    expect(chat.failure).to_be_visible()
    chat.ask("Raincoat?")
    expect(chat.answers).to_have_text(["Half"])
    chat.expect_rest()
    chat.ask("Hat?")
    expect(chat.answers).to_have_text(["Half", "Yes."])
    chat.expect_rest()
    endings = chat.page.locator(".ending")
    expect(endings).to_have_text(["Not answered · overloadedRetry", "Not finished · overloadedRetry"])
    chat.page.reload()
    expect(endings).to_have_text(["Not answered · overloadedRetry", "Not finished · overloadedRetry"])
    chat.button("Retry").last.click()
    expect(chat.answers).to_have_text(["Yes."])
    chat.expect_rest()
    expect(endings).to_have_text(["Not answered · overloadedRetry"])
    assert [message["content"] for message in told.inputs[3]] == ["Umbrella?", "Raincoat?"]


def test_editing_a_question_keeps_how_those_before_were_answered(open_chat: OpenChat, faults: Faults) -> None:
    faults.expect("ERR_ABORTED")
    chat = open_chat(Told([OVERLOADED], [*thought("Hm."), ...], answered("Yes.")))
    chat.ask("Umbrella?")
    expect(chat.failure).to_be_visible()
    chat.ask("Raincoat?")
    expect(chat.thoughts).to_have_count(1)
    chat.button("Stop").click()
    expect(chat.page.locator(".outcome")).to_contain_text("Stopped")
    expect(chat.button("Regenerate")).to_have_count(0)  # "Try again" is there
    chat.button("Edit").last.click()
    chat.page.get_by_role("textbox", name="Edit your message").press("Enter")
    expect(chat.answers).to_have_text(["Yes."])
    chat.expect_rest()
    expect(chat.page.locator(".ending")).to_have_text(["Not answered · overloadedRetry"])


def test_suggestions_come_when_they_make_sense(open_chat: OpenChat) -> None:
    chat = open_chat(ReplayUpstream())
    expect(chat.page.locator(".welcome")).to_contain_text("see how its reasoning travels")
    expect(chat.page.locator(".welcome").get_by_role("button")).to_have_text([FIRST])
    chat.button(FIRST).click()
    expect(chat.field).to_be_focused()
    expect(chat.button("Send the result")).to_be_visible()
    expect(chat.button(SECOND)).to_be_hidden()
    chat.button("Send the result").click()
    chat.expect_rest()
    chat.button(SECOND).click()
    expect(chat.turns).to_have_count(2)
    chat.expect_rest()
    expect(chat.button(SECOND)).to_be_hidden()
    expect(chat.field).to_be_focused()


def test_what_waits_for_the_user_is_not_regenerated(open_chat: OpenChat) -> None:
    chat = open_chat(Told([*answered("I look."), *called("c1")], answered("Yes.")))
    chat.ask("Umbrella?")
    expect(chat.button("Send the result")).to_be_visible()
    expect(chat.button("Regenerate")).to_have_count(0)
    chat.answer_call("rain")
    expect(chat.button("Regenerate")).to_have_count(1)
