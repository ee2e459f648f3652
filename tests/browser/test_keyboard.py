"""A whole conversation without a mouse."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from agui_reasoning.deltas import ReasoningDelta
from tests.browser.conftest import OpenChat
from tests.browser.upstreams import Told, answered, called, thought
from tests.support.browser import Faults

_FAR = 60


def press_until_focused(page: Page, key: str, target: Locator) -> None:
    """Move the focus with a key until it is there."""
    for _ in range(_FAR):
        page.keyboard.press(key)
        if target.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError(f"{key} does not lead to {target}")


def test_a_conversation(open_chat: OpenChat, faults: Faults) -> None:
    faults.expect("ERR_ABORTED")
    chat = open_chat(
        Told(
            [*thought("I need it."), *called("c1")],
            [*thought("Then the raincoat."), *answered("The raincoat.")],
            [ReasoningDelta("Hm.", key="0"), ...],
            [*thought("Again."), *answered("Yes.")],
        )
    )
    page, keys = chat.page, chat.page.keyboard
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the message field")).to_be_focused()
    keys.press("Enter")
    expect(chat.field).to_be_focused()
    keys.type("Umbrella")
    keys.press("Shift+Enter")
    keys.type("or raincoat?")
    keys.press("Enter")
    chat.expect_rest()
    expect(chat.questions.locator(".bubble")).to_have_text(["Umbrella\nor raincoat?"])

    form = page.locator("form.tool-answer").get_by_role("textbox")
    press_until_focused(page, "Shift+Tab", form)
    keys.press("Control+a")
    keys.type("rain")
    press_until_focused(page, "Tab", chat.button("Send the result"))
    keys.press("Enter")
    expect(chat.answers).to_have_text(["The raincoat."])
    chat.expect_rest()
    expect(page.locator("body")).not_to_be_focused()  # the focus was not lost

    toggle = chat.thoughts.last.locator("button.thought-toggle")
    press_until_focused(page, "Shift+Tab", toggle)
    keys.press("Enter")
    expect(chat.thoughts.last.locator(".thought-body")).to_be_visible()
    keys.press("Space")
    expect(chat.thoughts.last.locator(".thought-body")).to_be_hidden()

    press_until_focused(page, "Tab", chat.field)
    keys.type("And now?")
    keys.press("Enter")
    expect(chat.thoughts).to_have_count(3)
    keys.press("Escape")
    expect(page.locator(".outcome")).to_contain_text("Stopped")
    expect(chat.field).to_be_focused()

    press_until_focused(page, "Shift+Tab", chat.button("Edit").last)
    keys.press("Enter")
    expect(page.get_by_role("textbox", name="Edit your message")).to_be_focused()
    keys.press("Control+a")
    keys.type("And later?")
    keys.press("Enter")
    expect(chat.answers).to_have_text(["The raincoat.", "Yes."])
    chat.expect_rest()
    expect(chat.questions.last.locator(".bubble")).to_have_text("And later?")


def test_what_happens_is_announced_in_few_words(open_chat: OpenChat) -> None:
    chat = open_chat(Told([*thought("Hm."), *answered("The raincoat.")]))
    status = chat.page.locator("#chat [role=status]").last
    chat.ask("Umbrella?")
    expect(status).to_have_text("Thought for less than a second. The raincoat.")


COMPOSED_ESCAPE = """(element) => {
    const options = { key: "Escape", isComposing: true, bubbles: true, cancelable: true };
    element.dispatchEvent(new KeyboardEvent("keydown", options));
}"""


def test_escape_stops_the_run_only_if_nothing_else_takes_it(open_chat: OpenChat, faults: Faults) -> None:
    faults.expect("ERR_ABORTED")
    chat = open_chat(Told([*thought("Hm."), ...]))
    chat.ask("Umbrella?")
    chat.page.get_by_role("tree", name="Events").press("Home")
    chat.page.keyboard.press("Enter")
    detail = chat.page.get_by_role("region", name="Selected event")
    expect(detail).to_be_focused()
    detail.evaluate(COMPOSED_ESCAPE)
    chat.field.evaluate(COMPOSED_ESCAPE)  # it ends the input of a character
    expect(detail).to_be_visible()
    chat.page.keyboard.press("Escape")
    expect(detail).to_be_hidden()
    expect(chat.button("Stop")).to_be_visible()
    assert chat.thread()["status"] == "running"
    chat.field.press("Escape")
    expect(chat.page.locator(".outcome")).to_contain_text("Stopped")
