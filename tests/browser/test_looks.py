"""How the page looks, to eyes and to screen readers: in each state, light, dark and narrow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta
from agui_reasoning.errors import ProviderError
from agui_reasoning.gateway import ReplayUpstream
from tests.browser.axe import violations
from tests.browser.chat import Chat
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import Told, answered, called, thought
from tests.support.browser import SCREENSHOTS, Faults, OpenTab, screenshot

SCHEMES = ["light", "dark"]
RESULT = '{"place": "Bergen", "from": "14:00", "temperature_c": 9, "rain_mm": 4.2, "gusts_ms": 14}'
TABS = ["Events", "History", "Request", "Check", "Gateway"]
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmütze" * 5

schemes = pytest.mark.parametrize("scheme", SCHEMES)


def colors(scheme: str) -> dict[str, str]:
    """Without motion: what fades in has little contrast on its way."""
    return {"color_scheme": scheme, "reduced_motion": "reduce"}


def converse(chat: Chat) -> None:
    """Two turns of the scripted conversation."""
    chat.button("I am walking along Bergen harbour this afternoon. Umbrella or raincoat?").click()
    chat.answer_call(RESULT)
    chat.expect_rest()
    chat.ask("And if I go by bicycle instead?")
    chat.expect_rest()
    expect(chat.turns).to_have_count(2)


def expect_fits(page: Page) -> None:
    """Nothing is wider than the screen: the page does not scroll sideways."""
    wide = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]


# -- accessible in each state


@schemes
def test_an_empty_thread(open_chat: OpenChat, scheme: str) -> None:
    chat = open_chat(tab=colors(scheme))
    expect(chat.page.get_by_role("heading", name="What would you like to ask?")).to_be_visible()
    assert violations(chat.page) == []


@schemes
def test_the_choice_of_effort_and_display(open_chat: OpenChat, scheme: str) -> None:
    chat = open_chat(tab=colors(scheme), allow_reasoning_request=True, keys=KeyRing.generate("k1"))
    expect(chat.page.get_by_role("combobox")).to_have_count(2)
    assert violations(chat.page) == []


@schemes
def test_a_run_that_is_going_on(open_chat: OpenChat, faults: Faults, scheme: str) -> None:
    faults.expect("ERR_ABORTED")  # the page is closed meanwhile
    chat = open_chat(Told([ReasoningDelta("Hm. " * 50, key="0"), ...]), tab=colors(scheme))
    chat.ask("Umbrella?")
    chat.thoughts.get_by_role("button").click()
    expect(chat.thoughts).to_contain_text(["Thinking…"])
    assert violations(chat.page) == []


@schemes
def test_a_finished_conversation(open_chat: OpenChat, scheme: str) -> None:
    chat = open_chat(tab=colors(scheme))
    converse(chat)
    assert violations(chat.page) == []
    closed = chat.page.locator("#chat [aria-expanded=false]")
    while closed.count():
        closed.first.click()
    chat.button("Edit").first.click()
    assert violations(chat.page) == []


@schemes
def test_a_call_that_waits(open_chat: OpenChat, scheme: str) -> None:
    chat = open_chat(Told([*thought("Hm."), *called("c1")]), tab=colors(scheme))
    chat.ask("Umbrella?")
    expect(chat.button("Send the result")).to_be_visible()
    assert violations(chat.page) == []


@schemes
def test_a_failure(open_chat: OpenChat, scheme: str) -> None:
    chat = open_chat(Told([*thought("Hm."), ProviderError()]), tab=colors(scheme))
    chat.ask("Umbrella?")
    expect(chat.failure).to_be_visible()
    assert violations(chat.page) == []


@schemes
def test_the_inspector(open_chat: OpenChat, scheme: str) -> None:
    chat = open_chat(tab=colors(scheme))
    converse(chat)
    for name in TABS:
        chat.page.get_by_role("tab", name=name).click()
        expect(chat.page.get_by_role("tabpanel", name=name)).to_be_visible()
        chat.page.wait_for_load_state("networkidle")
        assert {name: violations(chat.page)} == {name: []}


# -- narrow screens


@pytest.mark.parametrize("width", [320, 360, 768])
def test_a_narrow_screen_does_not_scroll_sideways(open_chat: OpenChat, width: int) -> None:
    words = f"{LONG} {LONG}"
    items = [*thought(words), *called("c1", f'{{"place": "{LONG}"}}')]
    chat = open_chat(
        Told(items, [*thought(words), *answered(words)]), tab={"viewport": {"width": width, "height": 700}}
    )
    expect_fits(chat.page)
    chat.ask(words)
    expect(chat.button("Send the result")).to_be_visible()
    expect_fits(chat.page)
    chat.answer_call(words)
    chat.expect_rest()
    closed = chat.page.locator("#chat [aria-expanded=false]")
    while closed.count():
        closed.first.click()
    expect_fits(chat.page)
    chat.button("Inspector").click()
    for name in TABS:
        chat.page.get_by_role("tab", name=name).click()
        expect(chat.page.get_by_role("tabpanel", name=name)).to_be_visible()
        expect_fits(chat.page)
    assert violations(chat.page) == []


def test_everything_is_there_at_four_times_the_size(open_chat: OpenChat) -> None:
    """1280 pixels at 400 % are 320: WCAG 2.2, 1.4.10."""
    chat = open_chat(tab={"viewport": {"width": 320, "height": 256}})
    expect(chat.field).to_be_in_viewport()
    converse(chat)
    expect(chat.button("Send")).to_be_in_viewport()
    expect_fits(chat.page)


# -- colors


def test_the_theme_is_that_of_the_system_until_another_is_chosen(open_chat: OpenChat) -> None:
    chat = open_chat(tab=colors("dark"))
    background = "() => getComputedStyle(document.body).backgroundColor"
    dark = chat.page.evaluate(background)
    chat.button("Theme: as the system").click()
    light = chat.page.evaluate(background)
    assert light != dark
    chat.page.reload()
    expect(chat.button("Theme: light")).to_be_visible()
    assert chat.page.evaluate(background) == light
    chat.button("Theme: light").click()
    assert chat.page.evaluate(background) == dark


# -- pictures


WIDE = {"width": 1200, "height": 760}
NARROW = {"width": 360, "height": 740}


def test_pictures_of_the_page(open_chat: OpenChat, open_tab: OpenTab) -> None:
    """For the documentation, and to be looked at: of a conversation whose answers take their time."""
    chat = open_chat(ReplayUpstream(delay_s=0.08), tab={"viewport": WIDE})
    converse(chat)
    take(chat, "page-light")
    chat.page.emulate_media(color_scheme="dark")
    take(chat, "page-dark")
    chat.page.emulate_media(color_scheme="light")
    phone = open_tab(viewport=NARROW, device_scale_factor=2, is_mobile=True)
    stored = chat.page.evaluate("() => JSON.stringify(sessionStorage)")
    phone.add_init_script(f"Object.assign(sessionStorage, {stored});")
    take(Chat(phone, chat.page.url), "page-narrow")


def test_pictures_of_the_inspector(open_chat: OpenChat) -> None:
    chat = open_chat(ReplayUpstream(delay_s=0.03), tab={"viewport": {"width": 1440, "height": 760}})
    page = chat.page
    converse(chat)
    page.get_by_role("treeitem").filter(has_text="Take the raincoat").hover()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        take_inspector(page, f"inspector-{scheme}")
    page.emulate_media(color_scheme="light")
    page.get_by_role("tab", name="Request").click()
    expect(page.get_by_text("came back unchanged, byte for byte")).to_be_visible()
    page.locator(".insp-request").get_by_text("redacted thinking").first.scroll_into_view_if_needed()
    take_inspector(page, "inspector-request")
    page.set_viewport_size(NARROW)
    chat.button("Inspector").click()
    page.get_by_role("tab", name="Events").click()
    expect(page.locator(".insp-run-facts").last).to_be_in_viewport()
    take_inspector(page, "inspector-narrow")


def take_inspector(page: Page, name: str) -> None:
    """A picture of the inspector alone, which shows nothing of the chat."""
    picture = page.locator("#inspector").screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled")
    assert len(picture) < 200_000


def take(chat: Chat, name: str) -> None:
    """A picture of the last answer, with its reasoning."""
    toggle = chat.thoughts.last.get_by_role("button")
    if toggle.get_attribute("aria-expanded") == "false":
        toggle.click()
    chat.field.hover()
    chat.page.locator(".scroller").evaluate("(scroller) => scroller.scrollTo(0, scroller.scrollHeight)")
    assert screenshot(chat.page, name).stat().st_size < 200_000
