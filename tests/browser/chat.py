"""What people do on the page, and what they see of it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

_THREAD = "JSON.parse(sessionStorage.getItem(`agui-reasoning:thread:${location.pathname}`))"
_LOG = "JSON.parse(sessionStorage.getItem(`agui-reasoning:thread:${location.pathname}:log`))"
_EVERYTHING = """() => [
    document.documentElement.outerHTML,
    JSON.stringify({ ...localStorage, ...sessionStorage }),
    ...[...document.querySelectorAll("textarea, input")].map((field) => field.value),
].join("\\n")"""


class Chat:
    """The page of a gateway.

    Attributes:
        page: The tab.
        field: The field for messages.
        thoughts: The groups of reasoning, collapsed or not.
        calls: The tool calls.
        answers: The texts of the answers.
        turns: The answers with their reasoning and calls.
        questions: The messages of the user.
        failure: The sentence that says why a run failed.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        page.goto(url)
        self.field = page.get_by_role("textbox", name="Message", exact=True)
        self.thoughts = page.locator("section.thought:not([hidden])")
        self.calls = page.locator("section.tool")
        self.answers = page.locator(".answer-text")
        self.turns = page.locator("article.answer")
        self.questions = page.locator("article.question")
        self.failure = page.get_by_role("alert")
        expect(self.field).to_be_visible()

    def button(self, name: str, inside: Locator | None = None) -> Locator:
        return (inside or self.page).get_by_role("button", name=name, exact=True)

    def ask(self, text: str) -> None:
        """Send a message."""
        self.field.fill(text)
        self.field.press("Enter")

    def answer_call(self, result: str) -> None:
        """Answer the call that waits."""
        form = self.page.locator("form.tool-answer")
        form.get_by_role("textbox").fill(result)
        self.button("Send the result", form).click()

    def expect_rest(self) -> None:
        """Wait until no run is going on: the page stores a run when it starts and when it ends."""
        self.page.wait_for_function(f"() => ({_THREAD})?.status !== 'running'")
        expect(self.button("Stop")).to_be_hidden()
        expect(self.button("Send").first).to_be_visible()

    def thread(self) -> Any:
        """What the page has stored."""
        return self.page.evaluate(_THREAD)

    def log(self) -> Any:
        """The events that the page has stored: when each came, and its JSON."""
        return self.page.evaluate(_LOG)

    def everything(self) -> str:
        """All that a page holds: the document, what it stored, and what is written in its fields."""
        held: str = self.page.evaluate(_EVERYTHING)
        return held
