"""The front ends that are tested."""

from __future__ import annotations

from typing import Final

from playwright.sync_api import Locator, Page

from agui_reasoning.emitter.stages import Steps
from tests.frontends.harness import FrontEnd
from tests.support.environments import ROOT

__all__ = ["FRONT_ENDS"]


class CopilotKit(FrontEnd):
    """Its chat has one button to send and to stop."""

    faults = (
        "selfManagedAgents",  # the terms of its license
        "agent_run_error_event",  # it logs what the gateway says
    )

    def ask(self, page: Page, text: str) -> None:
        page.get_by_test_id("copilot-chat-textarea").fill(text)
        page.get_by_test_id("copilot-send-button").click()

    def stop(self, page: Page) -> None:
        page.get_by_test_id("copilot-send-button").click()

    def regenerate(self, page: Page) -> None:
        page.get_by_test_id("copilot-regenerate-button").last.click()

    def edit(self, page: Page, number: int, text: str) -> None:
        page.once("dialog", lambda dialog: dialog.accept(text))
        page.get_by_test_id("copilot-user-message").nth(number).hover()
        # Not with the pointer: if the page scrolls, it leaves the message, and the button hides.
        page.get_by_test_id("copilot-edit-button").nth(number).dispatch_event("click")

    def busy(self, page: Page) -> Locator:
        return page.get_by_test_id("copilot-chat-textarea").and_(page.locator("main[aria-busy=true] *"))


FRONT_ENDS: Final = (
    CopilotKit("copilotkit"),
    FrontEnd("assistant-ui"),
    FrontEnd("typescript-client", ROOT / "examples" / "web" / "dist"),
    FrontEnd("tanstack", stages=(Steps(),)),
)
