"""The user chooses effort and display on the page, where the gateway allows it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from playwright.sync_api import expect

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.gateway import Upstream
from agui_reasoning.run import Run
from tests.browser.conftest import OpenChat


class Asked(Upstream):
    """Notes what each run was asked for."""

    name = "asked"

    def __init__(self) -> None:
        self.requests: list[Any] = []

    async def agent(self, run: Run) -> AsyncIterator[Any]:
        self.requests.append(run.input.forwarded_props)
        yield ReasoningDelta("It may rain.")
        yield TextDelta("Take a coat.")


def test_a_choice_holds_until_it_is_taken_back(open_chat: OpenChat) -> None:
    upstream = Asked()
    chat = open_chat(upstream, allow_reasoning_request=("low", "high"), keys=KeyRing.generate())
    effort = chat.page.get_by_label("Effort")
    display = chat.page.get_by_label("Show", exact=True)
    expect(effort.get_by_role("option")).to_have_text(["as it is set", "low", "medium", "high"])
    chat.ask("Rain?")
    chat.expect_rest()
    expect(chat.thoughts).to_have_count(1)
    effort.select_option("high")
    display.select_option("none")
    chat.ask("Wind?")
    chat.expect_rest()
    expect(chat.answers).to_have_count(2)
    assert json.dumps(chat.log()).count("It may rain.") == 1
    display.select_option("")
    chat.ask("Snow?")
    chat.expect_rest()
    high = {"effort": "high"}
    assert upstream.requests == [{}, {"reasoning": high | {"display": "none"}}, {"reasoning": high}]


def test_nothing_is_offered_without_permission(open_chat: OpenChat) -> None:
    chat = open_chat(Asked())
    expect(chat.page.get_by_role("combobox")).to_have_count(0)
