"""The fixtures notice what goes wrong in a page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from agui_reasoning.gateway import local_server
from tests.support.browser import Faults

PAGES = {
    "fine": "<p>fine</p>",
    "logs": "<script>console.error('a word')</script>",
    "throws": "<script>throw new Error('a word')</script>",
    "rejects": "<script>Promise.reject(new Error('a word'))</script>",
    "misses": "<img src='/missing.png'>",
    "loses": "<script>fetch('http://127.0.0.1:9/').catch(() => 0)</script>",
    "leaves": "<img src='http://example.com/a.png'>",
}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    async def show(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in PAGES:
            return Response("", 404 if name == "missing.png" else 204)
        return HTMLResponse(f"<!doctype html><link rel=icon href=data:,>{PAGES[name]}")

    with local_server(Starlette(routes=[Route("/{name}", show)])) as url:
        yield url


def test_a_page_without_faults_has_none(site: str, tab: Page) -> None:
    tab.goto(f"{site}/fine")
    assert tab.inner_text("p") == "fine"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("logs", "console: a word"),
        ("throws", "exception: .*a word"),
        ("rejects", "exception: .*a word"),
        ("misses", "console: .*404.*/missing.png"),
        ("loses", "lost: http://127.0.0.1:9/"),
        ("leaves", "left this machine: http://example.com/a.png"),
    ],
)
def test_a_fault_is_seen(site: str, tab: Page, faults: Faults, name: str, fault: str) -> None:
    tab.goto(f"{site}/{name}")
    tab.wait_for_load_state("networkidle")
    seen = len(faults.seen)
    faults.expect(fault)
    assert len(faults.seen) < seen
    faults.expect(r"ERR_|Failed to load")  # what Chromium says besides


def test_a_name_of_another_machine_is_not_looked_up(site: str, tab: Page, faults: Faults) -> None:
    tab.goto(f"{site}/fine")
    faults.expect("example.com|ERR_NAME_NOT_RESOLVED")
    assert tab.evaluate("() => fetch('http://example.com/').catch(error => String(error))").startswith(
        "TypeError"
    )
