"""Where things are: beside each other, aligned, in the direction of the text, and on small screens."""

from __future__ import annotations

import pytest
from playwright.sync_api import FloatRect, Locator, expect

from agui_reasoning.gateway import ReplayUpstream
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import Told, answered, called, thought

HEBREW = "קח את מעיל הגשם."
LIST = f"{HEBREW}\n\n- אחד\n- שניים\n\nAnd *English*.\n\n```py\nx = 1\n```"


def box(locator: Locator) -> FloatRect:
    found = locator.bounding_box()
    assert found is not None
    return found


def test_the_actions_of_a_question_take_no_room_below_it(open_chat: OpenChat) -> None:
    chat = open_chat(Told([*thought("Hm."), *answered("Yes.")]))
    chat.ask("Umbrella?")
    chat.expect_rest()
    bubble, copy = box(chat.questions.locator(".bubble")), box(chat.button("Copy", chat.questions))
    assert copy["x"] + copy["width"] <= bubble["x"]
    assert bubble["y"] <= copy["y"] < bubble["y"] + bubble["height"]
    gap = box(chat.thoughts)["y"] - bubble["y"] - bubble["height"]
    assert gap <= 24


def test_the_toggle_is_aligned_with_the_text(open_chat: OpenChat) -> None:
    """Its hover box reaches as far to the right as to the left."""
    chat = open_chat(Told([*thought("Hm."), *answered("Yes.")]))
    chat.ask("Umbrella?")
    chat.expect_rest()
    toggle, text = box(chat.thoughts.locator("button.thought-toggle")), box(chat.answers)
    icon = box(chat.thoughts.locator(".icon-spark"))
    assert icon["x"] == pytest.approx(text["x"], abs=1)
    right = toggle["x"] + toggle["width"] - text["x"] - text["width"]
    assert right == pytest.approx(text["x"] - toggle["x"], abs=1)


def test_nothing_can_be_sent_while_there_is_nothing(open_chat: OpenChat) -> None:
    chat = open_chat(Told(answered()))
    expect(chat.button("Send")).to_be_disabled()
    chat.field.fill("  ")
    expect(chat.button("Send")).to_be_disabled()
    chat.field.fill("Umbrella?")
    expect(chat.button("Send")).to_be_enabled()
    chat.button("Send").click()
    chat.expect_rest()
    expect(chat.button("Send")).to_be_disabled()


_DIRECTIONS = """(root) => [...root.children].map(
    (element) => [element.localName, getComputedStyle(element).direction]
)"""


def test_each_block_has_the_direction_of_its_text(open_chat: OpenChat) -> None:
    chat = open_chat(Told([*thought(LIST), *answered(LIST)]))
    chat.field.fill(HEBREW)
    assert chat.field.evaluate("(field) => getComputedStyle(field).direction") == "rtl"
    chat.ask(HEBREW)
    chat.expect_rest()
    directions = [["p", "rtl"], ["ul", "rtl"], ["p", "ltr"], ["figure", "ltr"]]
    assert chat.answers.evaluate(_DIRECTIONS) == directions
    chat.thoughts.locator("button.thought-toggle").click()
    assert chat.thoughts.locator(".markdown").evaluate(_DIRECTIONS) == directions
    bubble = chat.questions.locator(".bubble")
    assert bubble.evaluate("(bubble) => getComputedStyle(bubble).direction") == "rtl"
    item = box(chat.answers.locator("li").first)
    assert (
        item["x"] + item["width"] < box(chat.answers)["x"] + box(chat.answers)["width"]
    )  # its marker is right


def test_previews_have_a_line_of_their_own_on_a_phone(open_chat: OpenChat) -> None:
    chat = open_chat(
        Told([*thought("The wind decides."), *called("c1")]), tab={"viewport": {"width": 390, "height": 844}}
    )
    chat.ask("Umbrella?")
    expect(chat.button("Send the result")).to_be_visible()
    for row, preview in ((".thought-label", ".thought-preview"), (".tool-name", ".tool-summary")):
        name, line = box(chat.turns.locator(row)), box(chat.turns.locator(preview))
        assert line["y"] >= name["y"] + name["height"] - 2
        assert line["width"] > 150


def test_most_of_the_height_is_the_thread_at_twice_the_size(open_chat: OpenChat) -> None:
    """A window of 1280 by 800 pixels at 200 %."""
    chat = open_chat(ReplayUpstream(), tab={"viewport": {"width": 640, "height": 400}})
    assert box(chat.page.locator(".scroller"))["height"] >= 300
    chat.field.fill("Umbrella?")
    expect(chat.button("Send")).to_be_in_viewport()
