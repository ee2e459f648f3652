"""What people do in the inspector, the right side of the gateway's page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Locator, Page, expect

from agui_reasoning import Run
from agui_reasoning.deltas import ReasoningDelta, TextDelta
from agui_reasoning.gateway import Upstream, create_app, local_server

QUESTION = "Umbrella or raincoat?"
RUN = {"threadId": "t1", "runId": "r1"}
LOG = [
    {"type": "RUN_STARTED", "protocolVersion": "1.0", **RUN},
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "It is "},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "stored."},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
    {"type": "RUN_FINISHED", **RUN},
]


class Long(Upstream):
    """Thinks in many deltas."""

    name = "long"

    def __init__(self, padding: str = "", count: int = 5_000) -> None:
        self.padding = padding
        self.count = count

    async def agent(self, run: Run) -> AsyncIterator[Any]:
        for number in range(self.count):
            yield ReasoningDelta(f"word{number} {self.padding}")
        yield TextDelta("Yes.")


@contextmanager
def opened(tab: Page, upstream: Upstream | None = None, **options: Any) -> Iterator[Page]:
    with local_server(create_app(upstream, **options)) as url:
        tab.goto(url)
        yield tab
        tab.close()  # before the gateway, which the page still asks


def ask(page: Page, question: str = QUESTION) -> None:
    """Ask, and wait for the end of the run."""
    page.locator("#composer-input").fill(question)
    page.get_by_role("button", name="Send").click()
    expect(rows(page, "RUN_FINISHED")).to_have_count(1)


def rows(page: Page, kind: str) -> Locator:
    return page.get_by_role("treeitem").filter(has_text=kind)


def show(page: Page, tab: str) -> Locator:
    """Select a tab by its name; return its panel."""
    page.get_by_role("tab", name=tab).click()
    return page.get_by_role("tabpanel")


def load(page: Page, content: str, name: str = "run.json") -> None:
    file = {"name": name, "mimeType": "application/json", "buffer": content.encode()}
    page.locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]
