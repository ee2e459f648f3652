"""What the agents below the root of a response say, apart from the response.

Their items are native parts of the response, so that they go back in their places.
"""

from __future__ import annotations

from msgspec import Struct

from agui_reasoning.deltas import Delta

__all__ = ["OfAgent"]


class OfAgent(Struct, frozen=True):
    """A delta of an agent below the root of a response that several agents wrote.

    Attributes:
        agent: The name of the agent, a path such as ``/root/researcher``.
        delta: What it says.
    """

    agent: str
    delta: Delta
