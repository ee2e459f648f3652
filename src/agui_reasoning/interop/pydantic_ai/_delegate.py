"""The event that carries those of a delegate through the run that called it; needs Pydantic AI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai import CustomEvent

__all__ = ["DelegateEvent"]


@dataclass(kw_only=True)
class DelegateEvent(CustomEvent, name="agui_reasoning_delegate", ui=False):  # type: ignore[call-arg, misc]
    """An event of an agent that a tool of another agent runs.

    Attributes:
        delegate: The agent's name.
        event: The event.
    """

    delegate: str
    event: Any
