"""Conversations as turns and the messages between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

from ag_ui.core import DeveloperMessage, Interrupt, Message, SystemMessage, UserMessage
from msgspec import structs

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import (
    Effort,
    EffortChange,
    NativePart,
    Origin,
    Part,
    PartlyCompared,
    ReasoningPart,
    ToolResultPart,
    Turn,
)

HistoryItem: TypeAlias = Turn | EffortChange | Message
"""An item of a conversation."""


def role_of(item: HistoryItem) -> str:
    """Return the role of a message; empty for turns and changes. To test for models takes longer."""
    return getattr(item, "role", "")


Outcome: TypeAlias = Literal["restored", "echoed", "placeholder", "dropped"]
"""The outcome for a unit: restored by `restore`; echoed, replaced or dropped by `build_request`."""


class ReportEntry(PartlyCompared, frozen=True, repr_omit_defaults=False):
    """The outcome for one reasoning unit.

    Attributes:
        unit: The ID of the message or call under which the client sees the unit.
        outcome: The outcome.
        reason: The code of the reason; empty if nothing was lost.
        answer: The number of the model's turn in the history, from 1; ``None`` in the report of `restore`.
        origin: The producer of the unit, if known. Comparisons ignore these two.
    """

    unit: str
    outcome: Outcome
    reason: str = ""
    answer: int | None = None
    origin: Origin | None = None

    _not_compared: ClassVar[frozenset[str]] = frozenset({"answer", "origin"})


@dataclass(frozen=True, slots=True)
class History:
    """A conversation, in order.

    Attributes:
        items: The model's turns, all other messages (user, system, developer, and the results of the
            client's and the agent's tools), and changes of the effort.
        report: The outcome of restoring each reasoning unit.
        trimmed: Whether the oldest items were removed by `trim`.
        vouched: The names of objects stored at the provider in values that were encrypted.
        interrupts: What earlier runs asked about calls, as far as values tell.
    """

    items: tuple[HistoryItem, ...] = ()
    report: tuple[ReportEntry, ...] = ()
    trimmed: bool = False
    vouched: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    interrupts: tuple[Interrupt, ...] = field(default=(), repr=False, compare=False)

    @property
    def turns(self) -> list[Turn]:
        """The model's turns."""
        return [item for item in self.items if isinstance(item, Turn)]

    @property
    def messages(self) -> list[Message]:
        """The messages that are not the model's."""
        return [item for item in self.items if not isinstance(item, Turn | EffortChange)]

    @property
    def effort(self) -> Effort | None:
        """The effort after the last change; ``None`` if it never changed."""
        changes = (item.effort for item in reversed(self.items) if isinstance(item, EffortChange))
        return next(changes, None)

    def trim(self, *, keep_turns: int) -> History:
        """Remove the oldest items, without separating items that belong together.

        A user message and everything up to the next one form a group, which keeps calls with their results
        and reasoning with what followed it. Whole groups are removed as long as enough turns remain. System
        and developer messages stay, and so does the last group. The effort stays as it was.

        Args:
            keep_turns: The minimum number of the model's turns to keep.

        Raises:
            ConfigurationError: ``keep_turns`` is negative (``bad_limit``).
        """
        if keep_turns < 0:
            raise ConfigurationError(
                f"`keep_turns` must be at least 0, got {keep_turns}.",
                code="bad_limit",
                hint="Pass the number of the model's turns to keep.",
            )
        start = _start_of_kept(self.items, keep_turns)
        removed = replace(self, items=self.items[:start])
        kept: list[HistoryItem] = [item for item in removed.items if isinstance(item, _INSTRUCTIONS)]
        if removed.effort is not None:
            kept.append(EffortChange(removed.effort))
        return replace(self, items=(*kept, *self.items[start:]), trimmed=self.trimmed or start > 0)

    def strip_opaque(self) -> History:
        """Return the conversation without data that only a provider can read.

        This removes signatures, encrypted and redacted content, native blocks, the results of server tools,
        the IDs of items that the provider stored, and reasoning without text. Text and calls stay. Providers
        that require the removed data may reject the next request, or answer it worse.
        """
        return replace(self, items=tuple(_without(_stripped, item) for item in self.items))

    def strip_reasoning(self) -> History:
        """Return the conversation without reasoning, and without data that only a provider can read.

        Use it for providers that accept no reasoning; see also `strip_opaque`.
        """
        return replace(self, items=tuple(_without(_said, item) for item in self.items))

    def with_items(self, items: Iterable[HistoryItem]) -> History:
        """Return the history with more items at its end."""
        return replace(self, items=(*self.items, *items))


_INSTRUCTIONS = (SystemMessage, DeveloperMessage)


def _start_of_kept(items: Sequence[HistoryItem], keep_turns: int) -> int:
    """Return the index of the first group to keep."""
    kept = 0
    for start in range(len(items) - 1, -1, -1):
        kept += isinstance(items[start], Turn)
        if isinstance(items[start], UserMessage) and kept >= keep_turns:
            return start
    return 0


def _without(change: Callable[[Part], Part | None], item: HistoryItem) -> HistoryItem:
    """Change the parts of a turn; parts that become ``None`` are left out."""
    if not isinstance(item, Turn):
        return item
    return structs.replace(
        item, parts=tuple(part for whole in item.parts if (part := change(whole)) is not None)
    )


def _said(part: Part) -> Part | None:
    return None if isinstance(part, ReasoningPart) else _stripped(part)


def _stripped(part: Part) -> Part | None:
    if isinstance(part, NativePart):
        return None
    if isinstance(part, ToolResultPart):
        return structs.replace(part, native=None)
    if isinstance(part, ReasoningPart):
        return structs.replace(part, opaque=(), item_id=None) if part.segments else None
    return structs.replace(part, opaque=(), ext=_without_id(part.ext))


def _without_id(ext: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return {name: value for name, value in ext.items() if name != "id"} if ext else ext
