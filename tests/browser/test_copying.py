"""What the copy buttons put on the clipboard."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import Told, answered, thought

ALLOWED = {"permissions": ["clipboard-read", "clipboard-write"]}


def copied(chat: Chat) -> Any:
    return chat.page.evaluate("() => navigator.clipboard.readText()")


@pytest.fixture
def chat(open_chat: OpenChat) -> Chat:
    chat = open_chat(Told([*thought("Hm."), *answered("The raincoat.")]), tab=ALLOWED)
    chat.ask("Umbrella?")
    chat.expect_rest()
    return chat


def test_a_question_and_an_answer(chat: Chat) -> None:
    chat.button("Copy", chat.questions).click()
    expect(chat.button("Copied", chat.questions)).to_be_visible()
    assert copied(chat) == "Umbrella?"
    chat.button("Copy", chat.turns).click()
    expect(chat.button("Copied", chat.turns)).to_be_visible()
    assert copied(chat) == "The raincoat."  # without the reasoning


def test_the_input_of_the_next_run(chat: Chat) -> None:
    chat.page.get_by_role("tab", name="History").click()
    chat.button("Copy the RunAgentInput").click()
    expect(chat.button("Copied")).to_be_visible()
    assert json.loads(copied(chat))["messages"] == chat.thread()["messages"]


WITHOUT_CLIPBOARD = """() => Object.defineProperty(navigator, "clipboard", { value: undefined })"""
WITHOUT_COPYING = """() => { document.execCommand = () => false; }"""


def test_a_page_without_clipboard_copies_what_it_selects(open_chat: OpenChat) -> None:
    """Pages that are served over plain HTTP from another machine have none."""
    chat = open_chat(Told(answered("The raincoat.")))
    chat.ask("Umbrella?")
    chat.expect_rest()
    chat.page.evaluate(WITHOUT_CLIPBOARD)
    chat.button("Copy", chat.turns).click()
    expect(chat.button("Copied", chat.turns)).to_be_focused()
    chat.field.press("Control+v")
    expect(chat.field).to_have_value("The raincoat.")
    chat.page.evaluate(WITHOUT_COPYING)
    chat.button("Copy", chat.questions).click()
    expect(chat.button("Not copied", chat.questions)).to_be_visible()
