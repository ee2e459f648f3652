"""Who answers the requests of a gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from agui_reasoning.driver import Item
from agui_reasoning.run import Run

__all__ = ["Upstream"]


class Upstream(Protocol):
    """A source of answers: an agent, and a name to show.

    One upstream answers all requests of a gateway, several at the same time.
    """

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    def agent(self, run: Run) -> AsyncIterator[Item]:
        """Answer one run, as `agui_reasoning.aio.run_agent` expects it."""
        ...
