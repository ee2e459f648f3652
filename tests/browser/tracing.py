"""How long a page is busy at a stretch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, Page

LONGEST_MS: Final = 200
"""What a task may take, so that keys and clicks are answered meanwhile."""

_TASK: Final = "ThreadControllerImpl::RunTask"


@contextmanager
def tasks_of(chromium: Browser, page: Page) -> Iterator[list[float]]:
    """Note how much of the processor's time each task takes, in ms: a machine that is busy takes no more."""
    tasks: list[float] = []
    chromium.start_tracing(page=page, categories=["toplevel"])
    yield tasks
    events = json.loads(chromium.stop_tracing())["traceEvents"]
    named = [event for event in events if event.get("name") == "thread_name"]
    main = {(one["pid"], one["tid"]) for one in named if one["args"]["name"] == "CrRendererMain"}
    timed = [event for event in events if event.get("name") == _TASK and "tdur" in event]
    tasks += [task["tdur"] / 1000 for task in timed if (task["pid"], task["tid"]) in main]
