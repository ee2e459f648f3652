"""Who answers the requests of a gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from agui_reasoning._shells.driver import Item
from agui_reasoning.run import Run

__all__ = ["Upstream"]


class Upstream(Protocol):
    """A source of answers: an agent, and what the gateway has to know of it.

    One upstream answers all requests of a gateway, several at the same time. Derive yours from this class:
    ``name`` and ``agent`` are enough, the rest has a default.

    Attributes:
        name: What people call it.
        api: The API id of its model, which lets `Run.request` work; ``None``: each model stream names it.
        provider: Who serves that API.
        model: The model's name.
        reasons: Whether responses contain reasoning; ``None`` if unknown.
        live: Whether responses come from a model, which costs money and can use the tools of the front end.
    """

    name: str
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    reasons: bool | None = None
    live: bool = False

    def agent(self, run: Run) -> AsyncIterator[Item]:
        """Answer one run, as `agui_reasoning.aio.run_agent` expects it."""
        ...

    async def aclose(self) -> None:
        """Let go of what it holds; called when the application ends."""
        return
