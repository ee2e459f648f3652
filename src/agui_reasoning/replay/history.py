"""A conversation as turns of parts and the messages between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ag_ui.core import Message

from agui_reasoning.parts import Turn

__all__ = ["History", "Outcome", "ReportEntry"]

Outcome: TypeAlias = Literal["restored", "echoed", "placeholder", "dropped"]
"""What became of a unit: given back by ``restore``; sent, replaced or left out by ``build_request``."""


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """What became of one reasoning unit.

    Attributes:
        unit: The id of the message or call it was seen under.
        outcome: What became of it.
        reason: Why, as a stable word; empty when nothing was lost.
    """

    unit: str
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """A conversation, in order.

    Attributes:
        items: Turns of the model, and the messages that are not the model's (user, system, developer, and
            the results of the client's and the agent's tools).
        report: What became of each reasoning unit when it was restored.
    """

    items: tuple[Turn | Message, ...] = ()
    report: tuple[ReportEntry, ...] = ()

    @property
    def turns(self) -> list[Turn]:
        """The model's turns."""
        return [item for item in self.items if isinstance(item, Turn)]

    @property
    def messages(self) -> list[Message]:
        """Everything that is not the model's."""
        return [item for item in self.items if not isinstance(item, Turn)]

    def with_items(self, items: Iterable[Turn | Message]) -> History:
        """The same history, with more behind it."""
        return replace(self, items=(*self.items, *items))
