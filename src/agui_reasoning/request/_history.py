"""A conversation as turns of parts and the messages between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from ag_ui.core import DeveloperMessage, Message, SystemMessage, UserMessage

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import NativePart, Origin, Part, ReasoningPart, ToolResultPart, Turn

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
        answer: The number of the model's turn in the history, from 1; ``None`` in the report of ``restore``.
        origin: The producer of the unit, if known. Entries compare without these two.
    """

    unit: str
    outcome: Outcome
    reason: str = ""
    answer: int | None = field(default=None, compare=False)
    origin: Origin | None = field(default=None, compare=False)


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

    def trim(self, *, keep_turns: int) -> History:
        """Leave out the oldest part, and cut only where nothing is torn apart.

        A group is a user's message and everything up to the next one: calls stay with their results, and
        reasoning with what followed it. Whole groups go until one more would leave fewer turns than wanted;
        system and developer messages stay, and so does the last group.

        Args:
            keep_turns: How many of the model's turns must be left at least, if there are so many.

        Raises:
            ConfigurationError: It is negative (``bad_limit``).
        """
        if keep_turns < 0:
            raise ConfigurationError(
                f"keep_turns is {keep_turns}; a history cannot keep fewer than no turns.",
                code="bad_limit",
                hint="Give the number of the model's turns to keep, 0 or more.",
            )
        start = _start_of_kept(self.items, keep_turns)
        instructions = (item for item in self.items[:start] if isinstance(item, _INSTRUCTIONS))
        return replace(self, items=(*instructions, *self.items[start:]))

    def strip_opaque(self) -> History:
        """The same conversation without anything that only a provider can read.

        Signatures, encrypted and redacted content, native blocks and the provider's own results go, and so
        does reasoning that was nothing else. Text and calls stay. Providers that require what is gone will
        refuse the next request, or answer it worse.
        """
        return replace(self, items=tuple(_stripped_item(item) for item in self.items))

    def with_items(self, items: Iterable[Turn | Message]) -> History:
        """The same history, with more behind it."""
        return replace(self, items=(*self.items, *items))


_INSTRUCTIONS = (SystemMessage, DeveloperMessage)


def _start_of_kept(items: Sequence[Turn | Message], keep_turns: int) -> int:
    """Where the first group begins that is kept."""
    kept = 0
    for start in range(len(items) - 1, -1, -1):
        kept += isinstance(items[start], Turn)
        if isinstance(items[start], UserMessage) and kept >= keep_turns:
            return start
    return 0


def _stripped_item(item: Turn | Message) -> Turn | Message:
    if not isinstance(item, Turn):
        return item
    return replace(item, parts=tuple(part for whole in item.parts if (part := _stripped(whole)) is not None))


def _stripped(part: Part) -> Part | None:
    if isinstance(part, NativePart):
        return None
    if isinstance(part, ToolResultPart):
        return replace(part, native=None)
    if isinstance(part, ReasoningPart) and not part.segments:
        return None
    return replace(part, opaque=())
