"""Reasoning while it comes and when it has come: collapsed, expanded, short, long, and not shown at all."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import Locator, expect

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import Told, answered, called, redacted, thought
from tests.support.browser import Faults

SECRET = "It rains in Bergen at two."
WORDS = [f"word{number} " for number in range(5_000)]


def test_reasoning_is_open_while_it_grows_and_folded_afterwards(open_chat: OpenChat) -> None:
    more, end = threading.Event(), threading.Event()
    first, second = ReasoningDelta("First the clouds. ", key="0"), ReasoningDelta("Then the wind.", key="0")
    chat = open_chat(Told([first, more, second, end, *answered()]))
    chat.ask("Umbrella?")
    toggle = chat.thoughts.get_by_role("button")
    expect(toggle).to_contain_text("Thinking…")
    expect(toggle).to_have_attribute("aria-expanded", "true")
    body = chat.thoughts.locator(".thought-body")
    expect(body).to_have_text("First the clouds. ")
    more.set()
    expect(body).to_have_text("First the clouds. Then the wind.")
    end.set()
    expect(chat.answers).to_have_text(["Take the raincoat."])
    expect(toggle).to_contain_text("Thought for less than a second")
    expect(toggle).to_contain_text("First the clouds. Then the wind.")
    expect(body).to_be_hidden()
    chat.expect_rest()


def test_what_a_person_opened_or_folded_stays_so(open_chat: OpenChat, faults: Faults) -> None:
    """Through the answer, through the next one, and through a reload."""
    faults.expect("ERR_ABORTED")
    end = threading.Event()
    thinking = [ReasoningDelta("Hm.", key="0"), end, *answered()]
    chat = open_chat(Told(thinking, [*thought("So."), *answered()], [ReasoningDelta("Well.", key="0"), ...]))
    toggles, bodies = chat.thoughts.locator("button.thought-toggle"), chat.thoughts.locator(".thought-body")
    chat.ask("Umbrella?")
    toggles.first.click()
    expect(bodies.first).to_be_hidden()
    end.set()
    chat.expect_rest()
    toggles.first.click()
    chat.ask("And now?")
    chat.expect_rest()
    expect(bodies.nth(1)).to_be_hidden()
    expect(bodies.first).to_be_visible()
    chat.page.reload()
    expect(bodies.first).to_be_visible()
    expect(bodies.nth(1)).to_be_hidden()


def test_each_response_has_its_reasoning_where_it_happened(open_chat: OpenChat) -> None:
    """What was found by a call is not above the call."""
    chat = open_chat(
        Told([*thought("I need it."), *called("c1")], [*thought("4.2 mm."), *redacted(), *answered()])
    )
    chat.ask("Umbrella?")
    chat.answer_call("4.2")
    expect(chat.answers).to_have_text(["Take the raincoat."])
    items = chat.turns.locator(".items > *:not([hidden])")
    expect(items).to_contain_text(["I need it.", "get_forecast", "4.2 mm.", "Take the raincoat."])
    expect(chat.thoughts).to_have_count(2)
    chat.calls.locator(".tool-toggle").click()
    chat.button("Show the reasoning behind this call").click()
    expect(chat.thoughts.first.locator(".segment")).to_be_focused()
    expect(chat.thoughts.last.locator(".thought-body")).to_be_hidden()


def test_long_reasoning_is_shown_in_part_and_its_toggle_stays_in_view(open_chat: OpenChat) -> None:
    paragraphs = "\n\n".join(f"Paragraph {number}" for number in range(200))
    more, end = threading.Event(), threading.Event()
    first, second = ReasoningDelta(paragraphs, key="0"), ReasoningDelta("\n\nThe last one", key="0")
    chat = open_chat(Told([first, more, second, end, *answered()]))
    chat.ask("Umbrella?")
    body, toggle = chat.thoughts.locator(".thought-body"), chat.thoughts.locator("button.thought-toggle")
    expect(body.get_by_text("Paragraph 199")).to_be_in_viewport()
    more.set()
    expect(body.get_by_text("The last one")).to_be_in_viewport()  # it follows
    expect(chat.button("Show all")).to_be_hidden()
    end.set()
    chat.expect_rest()
    toggle.click()
    assert height(body) <= 24 * 16
    chat.button("Show all").click()
    expect(chat.button("Show less")).to_be_focused()
    assert height(body) > 3000
    body.get_by_text("Paragraph 150").scroll_into_view_if_needed()
    expect(toggle).to_be_in_viewport()
    chat.button("Show less").click()
    assert height(body) <= 24 * 16
    toggle.click()
    expect(chat.button("Show less")).to_be_hidden()


def height(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box is not None
    return box["height"]


def test_an_answer_grows_below_its_reasoning_which_is_there_once(open_chat: OpenChat) -> None:
    more = threading.Event()
    chat = open_chat(Told([*thought("Hm."), TextDelta("Take "), more, TextDelta("it.")]))
    chat.ask("Umbrella?")
    expect(chat.answers).to_have_text(["Take "])
    more.set()
    expect(chat.answers).to_have_text(["Take it."])
    shown = chat.page.locator("article.answer .items > *")
    assert shown.evaluate_all("(all) => all.map(({ className }) => className.split(' ')[0])") == [
        "thought",
        "answer-text",
    ]
    toggle = chat.thoughts.get_by_role("button")
    expect(toggle).to_have_attribute("aria-expanded", "false")
    assert chat.page.locator("article.answer").inner_text().count("Hm.") == 1


def test_the_time_is_the_one_that_the_gateway_measured(open_chat: OpenChat) -> None:
    """The page is told: it need not have been there."""
    chat = open_chat(Told([*thought("Hm."), *answered()]))
    chat.ask("Umbrella?")
    chat.expect_rest()
    (held,) = [message for message in chat.thread()["messages"] if message["role"] == "reasoning"]
    assert held["metadata"]["agui-reasoning"]["durationMs"] < 1000
    expect(chat.thoughts).to_contain_text(["Thought for less than a second"])


@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_what_is_not_visible_is_nowhere_on_the_page(open_chat: OpenChat, visibility: str) -> None:
    """Collapsed or open, in the inspector or in storage."""
    upstream = Told([*thought(SECRET), *answered()])
    chat = open_chat(upstream, visibility=visibility, keys=KeyRing.generate("k1"))
    chat.ask("Umbrella?")
    chat.expect_rest()
    expect(chat.answers).to_have_text(["Take the raincoat."])
    expect(chat.thoughts).to_have_count(1)
    for toggle in chat.thoughts.get_by_role("button").all():
        toggle.click()
    for tab in chat.page.get_by_role("tab").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
    assert "Bergen" not in chat.everything()
    chat.ask("And now?")
    expect(chat.answers).to_have_count(2)
    (held,) = [message for message in upstream.inputs[1] if message["role"] == "reasoning"]
    assert held["encryptedValue"].startswith("ey")


def test_an_encrypted_unit_says_that_it_is_one(open_chat: OpenChat) -> None:
    chat = open_chat(Told([*thought(SECRET), *answered()]), visibility="hidden", keys=KeyRing.generate("k1"))
    chat.ask("Umbrella?")
    expect(chat.thoughts).to_contain_text(["Encrypted reasoning"])


def test_a_redacted_unit_says_that_it_is_one(open_chat: OpenChat) -> None:
    chat = open_chat(Told([*redacted(), *answered()]))
    chat.ask("Umbrella?")
    expect(chat.thoughts).to_contain_text(["Redacted reasoning"])
    assert "cmVkYWN0ZWQ" not in chat.thoughts.inner_text()


def test_an_answer_without_reasoning_shows_none(open_chat: OpenChat) -> None:
    chat = open_chat(Told(answered()))
    chat.ask("Umbrella?")
    chat.expect_rest()
    expect(chat.answers).to_have_text(["Take the raincoat."])
    expect(chat.thoughts).to_have_count(0)


_COUNT = """() => {
    globalThis.counted = { frames: 0, batches: 0, characters: 0 };
    const { counted } = globalThis;
    const frame = () => { counted.frames += 1; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
    const text = (node) => node.textContent.length;
    new MutationObserver((records) => {
        counted.batches += 1;
        for (const { type, target, addedNodes, oldValue } of records) {
            if (type === "characterData") counted.characters += target.data.length - oldValue.length;
            for (const node of addedNodes) counted.characters += text(node);
        }
    }).observe(document.querySelector(".turns"), {
        childList: true, subtree: true, characterData: true, characterDataOldValue: true,
    });
}"""


def test_a_long_stream_costs_a_drawing_per_frame_and_each_word_once(open_chat: OpenChat) -> None:
    deltas = [ReasoningDelta(word, key="0") for word in WORDS]
    chat = open_chat(Told([*deltas, *thought("."), *answered("".join(WORDS))]))
    chat.page.evaluate(_COUNT)
    chat.ask("Count.")
    chat.expect_rest()
    expect(chat.answers).to_contain_text(["word4999"])
    expect(chat.thoughts.locator(".segment-text")).to_contain_text(["word0 word1 "])
    text = sum(map(len, WORDS))
    counted = chat.page.evaluate("counted")
    assert counted["batches"] <= counted["frames"] + 5
    assert counted["characters"] < 3 * 2 * text


def test_reasoning_that_is_read_is_not_folded_away(open_chat: OpenChat) -> None:
    """Folding would move the text below the eyes of somebody who scrolled up."""
    paragraphs = "\n\n".join(f"Paragraph {number}" for number in range(30))
    end = threading.Event()
    chat = open_chat(
        Told(answered(paragraphs), [ReasoningDelta(paragraphs, key="0"), end, *answered(paragraphs)])
    )
    chat.ask("Umbrella?")
    chat.expect_rest()
    chat.ask("And now?")
    body = chat.thoughts.locator(".thought-body")
    expect(body).to_be_visible()
    chat.page.locator(".scroller").evaluate("(scroller) => scroller.scrollBy(0, -200)")
    expect(chat.button("Latest")).to_be_visible()
    end.set()
    chat.expect_rest()
    expect(chat.answers).to_have_count(2)
    expect(body).to_be_visible()
