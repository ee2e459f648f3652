"""Reasoning while it comes and when it has come: collapsed, expanded, short, long, and not shown at all."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import expect

from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import Told, answered, called, redacted, thought

SECRET = "It rains in Bergen at two."
WORDS = [f"word{number} " for number in range(5_000)]


def test_reasoning_grows_while_the_model_thinks_and_is_collapsed_until_it_is_opened(
    open_chat: OpenChat,
) -> None:
    more, end = threading.Event(), threading.Event()
    first, second = ReasoningDelta("First the clouds. ", key="0"), ReasoningDelta("Then the wind.", key="0")
    chat = open_chat(Told([first, more, second, end, *answered()]))
    chat.ask("Umbrella?")
    toggle = chat.thoughts.get_by_role("button")
    expect(toggle).to_contain_text("Thinking…First the clouds.")
    expect(toggle).to_have_attribute("aria-expanded", "false")
    body = chat.thoughts.locator(".thought-body")
    expect(body).to_be_hidden()
    toggle.click()
    expect(body).to_have_text("First the clouds. ")
    more.set()
    expect(body).to_have_text("First the clouds. Then the wind.")
    expect(toggle).to_contain_text("Thinking…")
    end.set()
    expect(toggle).to_contain_text("Thought for less than a second")
    expect(body).to_be_visible()  # what a person opened stays open
    expect(chat.answers).to_have_text("Take the raincoat.")
    toggle.click()
    expect(body).to_be_hidden()
    chat.expect_rest()


def test_an_answer_grows_below_its_reasoning_which_is_there_once(open_chat: OpenChat) -> None:
    more = threading.Event()
    chat = open_chat(Told([*thought("Hm."), TextDelta("Take "), more, TextDelta("it.")]))
    chat.ask("Umbrella?")
    expect(chat.answers).to_have_text("Take ")
    more.set()
    expect(chat.answers).to_have_text("Take it.")
    shown = chat.page.locator("article.answer .items > *")
    assert shown.evaluate_all("(all) => all.map(({ className }) => className.split(' ')[0])") == [
        "thought",
        "answer-text",
    ]
    assert chat.page.locator("article.answer").inner_text().count("Hm.") == 1


def test_the_time_is_the_one_that_the_gateway_measured(open_chat: OpenChat) -> None:
    """The page is told: it need not have been there."""
    chat = open_chat(Told([*thought("Hm."), *answered()]))
    chat.ask("Umbrella?")
    chat.expect_rest()
    (held,) = [message for message in chat.thread()["messages"] if message["role"] == "reasoning"]
    assert held["metadata"]["agui-reasoning"]["durationMs"] < 1000
    expect(chat.thoughts).to_contain_text("Thought for less than a second")


def test_reasoning_before_a_call_stands_alone_and_joins_the_answer(open_chat: OpenChat) -> None:
    go_on = threading.Event()
    second = [*thought("Then the raincoat."), go_on, *answered()]
    chat = open_chat(Told([*thought("I need the forecast."), *called("c1")], second))
    chat.ask("Umbrella?")
    expect(chat.thoughts).to_have_count(1)
    chat.answer_call("rain")
    expect(chat.page.get_by_text("Then the raincoat.").first).to_be_visible()
    go_on.set()
    expect(chat.answers).to_have_text("Take the raincoat.")
    expect(chat.thoughts).to_have_count(1)
    chat.thoughts.get_by_role("button").click()
    expect(chat.thoughts.locator(".segment-text")).to_have_text(
        ["I need the forecast.", "Then the raincoat."]
    )


@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_what_is_not_visible_is_nowhere_on_the_page(open_chat: OpenChat, visibility: str) -> None:
    """Collapsed or open, in the inspector or in storage."""
    upstream = Told([*thought(SECRET), *answered()])
    chat = open_chat(upstream, visibility=visibility, keys=KeyRing.generate("k1"))
    chat.ask("Umbrella?")
    chat.expect_rest()
    expect(chat.answers).to_have_text("Take the raincoat.")
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
    expect(chat.thoughts).to_contain_text("Encrypted reasoning")


def test_a_redacted_unit_says_that_it_is_one(open_chat: OpenChat) -> None:
    chat = open_chat(Told([*redacted(), *answered()]))
    chat.ask("Umbrella?")
    expect(chat.thoughts).to_contain_text("Redacted reasoning")
    assert "cmVkYWN0ZWQ" not in chat.thoughts.inner_text()


def test_an_answer_without_reasoning_shows_none(open_chat: OpenChat) -> None:
    chat = open_chat(Told(answered()))
    chat.ask("Umbrella?")
    chat.expect_rest()
    expect(chat.answers).to_have_text("Take the raincoat.")
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
    chat.thoughts.get_by_role("button").click()
    chat.expect_rest()
    expect(chat.answers).to_contain_text("word4999")
    expect(chat.thoughts.locator(".segment-text")).to_contain_text("word0 word1 ")
    text = sum(map(len, WORDS))
    counted = chat.page.evaluate("counted")
    assert counted["batches"] <= counted["frames"] + 5
    assert counted["characters"] < 3 * 2 * text
