"""How the page is loaded: each file once, and none of them again."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Page

from tests.browser.chat import Chat

_LOADED = "() => performance.getEntriesByType('resource').map(({ name }) => name)"
_PRELOADED = "() => [...document.querySelectorAll('link[rel=modulepreload]')].map(({ href }) => href)"
_FETCHED = """() => performance.getEntriesByType("resource").filter(({ transferSize }) => transferSize > 0)
    .map(({ name }) => name)"""


def names(addresses: list[str]) -> list[str]:
    return [urlsplit(address).path.rpartition("/_page/")[2] for address in addresses]


def test_all_modules_are_asked_for_at_once_and_none_in_vain(replayed: str, tab: Page) -> None:
    """The console would warn about modules that are preloaded and not used."""
    chat = Chat(tab, replayed)
    chat.page.wait_for_load_state("networkidle")
    loaded = chat.page.evaluate(_LOADED)
    assert len(loaded) == len(set(loaded))
    modules = {name for name in loaded if name.endswith(".js") and not name.endswith("/theme.js")}
    assert modules == set(chat.page.evaluate(_PRELOADED))


def test_a_second_visit_asks_for_the_settings_alone(replayed: str, tab: Page) -> None:
    chat = Chat(tab, replayed)
    chat.page.wait_for_load_state("networkidle")
    chat.page.goto(replayed)
    chat.page.wait_for_load_state("networkidle")
    assert set(names(chat.page.evaluate(_FETCHED))) <= {"/favicon.ico", "config.json", "losses"}
