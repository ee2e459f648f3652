"""Fixtures that open pages in Chromium, and watch what goes wrong in them.

One Chromium per process, and one profile per test. A test fails if a page of its own logs an error, throws
one, or loses a request, unless it says so beforehand; or if a request leaves this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.support.chromium import VARIABLE, exists_for_this_machine, find_chromium
from tests.support.environments import ROOT

SCREENSHOTS: Final = ROOT / "build" / "screenshots"
"""Where the pictures go that the tests make."""

PATIENCE_MS: Final = 60_000
"""How long a condition is waited for: long enough for a busy machine."""

_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_BY_ITSELF = re.compile(r"net::ERR_.*/_page/losses\b|/_page/losses\b.*net::ERR_|/_page/\S+ net::ERR_ABORTED")
"""The inspector asks at times of its own: maybe while the page reloads, or after the gateway ended."""

_SCHEMES = frozenset({"http", "https", "ws", "wss"})
_ARGUMENTS = (
    # Names other than these are not even looked up.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


class Faults:
    """What went wrong in the pages of a test.

    Attributes:
        seen: One line per fault that was not expected.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._expected: list[re.Pattern[str]] = []

    def expect(self, pattern: str) -> None:
        """Do not count faults in whose line this regular expression is found."""
        self._expected.append(re.compile(pattern))
        self.seen = [line for line in self.seen if not self._is_expected(line)]

    def watch(self, context: BrowserContext) -> None:
        """Note the faults of all pages of a context."""
        context.on("console", self._log)
        context.on("weberror", lambda error: self._note(f"exception: {error.error}"))
        context.on("request", self._request)
        context.on("requestfailed", lambda request: self._note(f"lost: {request.url} {request.failure}"))

    def _log(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._note(f"console: {message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in _SCHEMES and address.hostname not in _LOCAL:
            self._note(f"left this machine: {request.url}")

    def _note(self, line: str) -> None:
        if not self._is_expected(line):
            self.seen.append(line)

    def _is_expected(self, line: str) -> bool:
        return any(pattern.search(line) for pattern in [_BY_ITSELF, *self._expected])


class OpenTab(Protocol):
    """Opens a blank page in a profile of its own; the options are those of Playwright's `new_context`."""

    def __call__(self, **options: Any) -> Page: ...


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Chromium, started once."""
    if not exists_for_this_machine():
        pytest.skip("Chromium has no build for this processor")
    executable = find_chromium()
    if executable is None:
        pytest.fail(f"no Chromium here: run `make test-browser`, or set {VARIABLE}", pytrace=False)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        # Without Chromium's sandbox, which root and most containers cannot have: all pages are ours.
        browser = playwright.chromium.launch(
            executable_path=executable, chromium_sandbox=False, args=_ARGUMENTS
        )
        yield browser
        browser.close()


@pytest.fixture
def faults() -> Iterator[Faults]:
    """The faults of this test's pages: there must be none but those that it expects."""
    found = Faults()
    yield found
    assert found.seen == []


@pytest.fixture
def open_tab(chromium: Browser, faults: Faults) -> Iterator[OpenTab]:
    """Opens pages, each in a profile of its own."""
    contexts: list[BrowserContext] = []

    def opened(**options: Any) -> Page:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        faults.watch(context)
        return context.new_page()

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def tab(open_tab: OpenTab) -> Page:
    """A blank page."""
    return open_tab()


def screenshot(page: Page, name: str) -> Path:
    """Write a picture of what a page shows to `SCREENSHOTS`."""
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    return path
