from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from agui_reasoning.gateway import local_server
from tests.differential.node import find_node
from tests.frontends.front_ends import FRONT_ENDS
from tests.frontends.harness import FrontEnd, Thread, opened

# A plugin of pytest, which is imported later.
if TYPE_CHECKING:
    from tests.support.browser import Faults

Start = Callable[..., Thread]


@pytest.fixture(scope="session")
def pages() -> Iterator[str]:
    """The pages of all front ends, by their names: the URL."""
    routes = [
        Mount(f"/{front_end.name}", StaticFiles(directory=front_end.folder, html=True, check_dir=False))
        for front_end in FRONT_ENDS
    ]
    with local_server(Starlette(routes=routes)) as url:
        yield url


@pytest.fixture
def start(tab: Page, faults: Faults, pages: str) -> Iterator[Start]:
    """Opens a front end with a script, as `opened` does."""
    with ExitStack() as stack:

        def started(front_end: FrontEnd, script: str, **options: Any) -> Thread:
            if not (front_end.folder / "index.html").is_file():
                assert find_node() is None, "run scripts/install_frontends.py"
                pytest.skip("Node has no build for this platform")
            for pattern in front_end.faults:
                faults.expect(pattern)
            return stack.enter_context(opened(front_end, tab, pages, script, **options))

        yield started
