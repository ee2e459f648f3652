"""The source of a gateway's answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning.policy import EchoRule
from agui_reasoning.run import Run

__all__ = ["Upstream"]


class Upstream(Protocol):
    """An agent that answers the requests of a gateway, and its properties.

    One upstream answers all requests, several at the same time. Derive your own from this class; only
    ``name`` and ``agent`` are required.

    Attributes:
        name: Its name, for people.
        api: The API ID of its model, required by `Run.request`; ``None`` if each model stream names its API.
        provider: The provider ID.
        model: The model's name.
        reasons: Whether responses contain reasoning; ``None`` if unknown.
        live: Whether responses come from a model, which costs money and can call the tools of the front end.
    """

    name: str
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    reasons: bool | None = None
    live: bool = False

    def agent(self, run: Run) -> AsyncIterator[AgentItem]:
        """Answer one run, as `agui_reasoning.aio.run_agent` expects it."""
        ...

    def reasons_by(self, policy: Sequence[EchoRule]) -> bool | None:
        """Return ``reasons`` in an application with these rows of the echo policy in front."""
        return self.reasons

    async def aclose(self) -> None:
        """Release resources; called when the application ends."""
        return
