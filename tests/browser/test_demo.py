"""`make web`: every scripted provider, on the page that a newcomer sees first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from agui_reasoning.gateway import local_server
from tests.browser.chat import Chat
from tests.internals.demo import Exhibit, exhibits, web_app

if TYPE_CHECKING:
    from tests.support.browser import OpenTab

QUESTION = "I am walking along Bergen harbour this afternoon. Umbrella or raincoat?"
RETURNED = re.compile(r"(\d+) of \1 values? that the provider requires back came back unchanged, byte")


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with local_server(web_app("anthropic-weather", delay_s=0)) as url:
        yield url


def test_the_providers_are_in_groups_and_a_phone_shows_their_first_word(demo: str, open_tab: OpenTab) -> None:
    page = open_tab(viewport={"width": 390, "height": 800})
    page.goto(demo)
    expect(page.locator(".menu-current")).to_have_text("Anthropic Messages", use_inner_text=False)
    expect(page.locator(".menu-current")).to_have_text("Anthropic", use_inner_text=True)
    page.locator(".menu summary").click()
    menu = page.get_by_role("navigation", name="Providers")
    groups = list(dict.fromkeys(exhibit.group for exhibit in exhibits()))
    assert len(groups) == 3
    expect(menu.get_by_role("heading")).to_have_text(groups)
    expect(menu.get_by_role("link")).to_have_text([exhibit.label for exhibit in exhibits()])


@pytest.mark.parametrize("exhibit", exhibits(), ids=lambda exhibit: exhibit.name)
def test_a_conversation_with_each_provider(demo: str, open_tab: OpenTab, exhibit: Exhibit) -> None:
    chat = Chat(open_tab(), demo)
    chat.page.locator(".menu summary").click()
    chat.page.get_by_role("link", name=exhibit.label, exact=True).click()
    chat.page.wait_for_url(f"{demo}/{exhibit.name}/")
    chat.button(QUESTION).click()
    chat.button("Send the result").click()  # the one that is suggested
    chat.expect_rest()
    chat.ask("And if I go by bicycle instead?")
    chat.expect_rest()
    expect(chat.turns).to_have_count(2)
    expect(chat.failure).to_have_count(0)
    expect(chat.thoughts).to_have_count(3)  # one for each response
    chat.page.get_by_role("tab", name="Request").click()
    expect(chat.page.get_by_text(RETURNED)).to_be_visible()
    chat.page.get_by_role("tab", name="Check").click()
    expect(chat.page.get_by_text("no problems found")).to_be_visible()
