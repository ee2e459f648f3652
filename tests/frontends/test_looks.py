"""How the pages look: whether everybody can read them, and the documentation's pictures of them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from agui_reasoning.gateway import ReplayUpstream, create_app, local_server
from tests.browser.axe import violations
from tests.frontends.front_ends import FRONT_ENDS
from tests.frontends.harness import FrontEnd, address
from tests.support.browser import Faults, OpenTab, screenshot

SIZE = {"width": 900, "height": 700}
NARROW = {"width": 390, "height": 780}
PICTURE_BYTES = 150_000
WITH_A_LOOK_OF_ITS_OWN = frozenset({"copilotkit"})


@pytest.mark.parametrize("front_end", FRONT_ENDS, ids=repr)
def test_a_conversation_can_be_read_in_every_scheme_and_width(
    front_end: FrontEnd, open_tab: OpenTab, pages: str, faults: Faults
) -> None:
    for pattern in front_end.faults:
        faults.expect(pattern)
    upstream = ReplayUpstream(delay_s=0.02)
    app = create_app(upstream, allowed_origins=[pages], stages=front_end.stages)
    page = open_tab(viewport=SIZE)
    with local_server(app) as gateway:
        page.goto(address(pages, front_end, f"{gateway}/agent", "thread-1"))
        front_end.ask(page, upstream.questions[0])
        expect(page.get_by_text("underneath.")).to_be_visible()
        front_end.wait_until_idle(page)
    open_reasoning(page)
    assert screenshot(page, f"frontend-{front_end.name}").stat().st_size < PICTURE_BYTES
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for size in (SIZE, NARROW):
            page.set_viewport_size(size)
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        if front_end.name not in WITH_A_LOOK_OF_ITS_OWN:
            assert violations(page) == []


def open_reasoning(page: Page) -> None:
    """Unfold all reasoning and results, and leave the page without focus."""
    rows = page.get_by_text(re.compile(r"^(Thought|Result)")).and_(page.locator(":visible"))
    for row in rows.all():
        row.click()
    expect(page.get_by_text("gusts decide it")).to_be_visible()
    expect(page.get_by_text("an umbrella turns inside out")).to_be_visible()
    page.mouse.move(0, 0)
    page.evaluate("() => document.activeElement.blur()")
