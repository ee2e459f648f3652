from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.upstreams import serving


@pytest.fixture(scope="session")
def replayed() -> Iterator[str]:
    """A gateway as `agui-reasoning serve` runs it."""
    with serving() as url:
        yield url


@pytest.fixture
def modules(replayed: str, tab: Page) -> Page:
    """The page, whose modules can be imported."""
    tab.goto(replayed)
    return tab
