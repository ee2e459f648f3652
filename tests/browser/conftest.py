from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from playwright.sync_api import Page

from agui_reasoning.gateway import Upstream
from tests.browser.chat import Chat
from tests.browser.upstreams import serving

if TYPE_CHECKING:
    from tests.support.browser import OpenTab

OpenChat: TypeAlias = Callable[..., Chat]


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


@pytest.fixture
def open_chat(open_tab: OpenTab) -> Iterator[OpenChat]:
    """Opens the page of a gateway in front of an upstream; the options are those of `create_app`."""
    with ExitStack() as stack:

        def opened(
            upstream: Upstream | None = None, *, tab: dict[str, Any] | None = None, **options: Any
        ) -> Chat:
            url = stack.enter_context(serving(upstream, **options))
            page = open_tab(**(tab or {}))
            stack.callback(page.close)  # before the gateway, which it still asks
            return Chat(page, url)

        yield opened
