"""Conversations as turns and the messages between them, and what of them is sent.

That is turns, reasoning of others, withheld reasoning, and the effort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, cast

from ag_ui.core import DeveloperMessage, Interrupt, Message, SystemMessage, TextInputContent, UserMessage
from msgspec import Struct, structs

from agui_reasoning._envelope import unit_digest
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import (
    EFFORTS,
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
from agui_reasoning.policy import EchoFlag, EchoRule, Inside
from agui_reasoning.providers.echo import kinship, reads
from agui_reasoning.providers.refusals import thinking_off

if TYPE_CHECKING:  # imported when a request is built
    from agui_reasoning.providers.encoding import EchoReport

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
        return [item for item in self.items if type(item) is Turn]

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
    ext = {name: value for name, value in part.ext.items() if name != "id"} if part.ext else part.ext
    return structs.replace(part, opaque=(), ext=ext)


# -- turns that the provider refused

RefusedTurns: TypeAlias = Literal["drop", "keep"]
"""What to do with turns that the provider refused."""


def left_out(items: Sequence[HistoryItem], chosen: RefusedTurns) -> frozenset[int]:
    """Return the indexes of the items that are not sent because the provider refused them.

    A user's message and everything up to the next one form a group. A group that ended with a refusal is left
    out, except for instructions. If another model answered after the refusal, or if the user has not written
    since, only the refused response is left out: the rest of the group is still to be answered, or was.
    """
    refused = {index for index, item in enumerate(items) if type(item) is Turn and item.refused}
    if chosen == "keep" or not refused:
        return frozenset()
    users = [index for index, item in enumerate(items) if role_of(item) == "user"]
    for start, end in pairwise(users):
        turns = [index for index in range(start, end) if isinstance(items[index], Turn)]
        if turns and turns[-1] in refused:
            refused |= {index for index in range(start, end) if not isinstance(items[index], _INSTRUCTIONS)}
    return frozenset(refused)


# -- accounts

OTHER_ACCOUNT: Final = "other_account"
"""The reason of units that another account of the provider made."""


def is_of_other_account(turn: Turn, target: Origin) -> bool:
    """Return whether a response has values or IDs that the target's account cannot use.

    It then goes back as that of another provider: IDs of stored items belong to the account, too. A response
    without any, such as plain reasoning, belongs to no account.
    """
    if target.account is None:
        return False
    origins = (part.origin or turn.origin for part in turn.parts if _is_bound(part))
    others = (one for one in origins if one is not None and one.account not in (None, target.account))
    return any(kinship(one, target) == "same" for one in others)


def _is_bound(part: Part) -> bool:
    if isinstance(part, ToolResultPart):
        return part.native is not None
    bound = isinstance(part, NativePart) or bool(part.opaque)
    return bound or (isinstance(part, ReasoningPart) and part.item_id is not None)


# -- reasoning of other providers and models

ForeignReasoning: TypeAlias = Literal["drop", "context"]
"""What to do with reasoning that the target cannot read."""

_HEAD: Final = "(For context, the reasoning of another model in an earlier answer:)"


def as_context(
    items: Sequence[HistoryItem], target: Origin, left_out: Set[int] = frozenset()
) -> Iterator[HistoryItem]:
    """Put the text of foreign reasoning in front of the next message of the user.

    That of items that are left out stays away, too.

    It is never written as the model's own words, because models imitate what they seem to have said.
    """
    waiting: list[str] = []
    for index, item in enumerate(items):
        if index in left_out:
            pass
        elif isinstance(item, Turn):
            waiting += _foreign_texts(item, target)
        elif isinstance(item, UserMessage) and waiting:
            item, waiting = _with_context(item, "\n\n".join([_HEAD, *waiting])), []
        yield item


def _foreign_texts(turn: Turn, target: Origin) -> Iterator[str]:
    other_account = is_of_other_account(turn, target)
    for part in turn.parts:
        if isinstance(part, ReasoningPart) and part.status == "complete" and part.text.strip():
            kinds = [value.kind for value in part.opaque]
            if other_account or _is_hidden(part.origin or turn.origin, target, kinds):
                yield part.text


def _is_hidden(origin: Origin | None, target: Origin, kinds: Sequence[str]) -> bool:
    """Return whether a model sees nothing of a unit; one that it cannot read is sent, but not shown to it."""
    return kinship(origin, target, kinds) == "foreign" or not reads(origin, target, kinds)


def _with_context(message: UserMessage, context: str) -> UserMessage:
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{context}\n\n{content}"})
    return message.model_copy(update={"content": [TextInputContent(type="text", text=context), *content]})


# -- reasoning that the model was not shown


class Withheld(Struct):
    """Decides about the units of a request, in their order.

    Attributes:
        digests: The units that the model was not shown.
        bound: Whether a model accepts thinking only in the order in which it came: a unit between others
            stays, because those after it might be dropped too if it was missing. It is dropped again instead,
            which costs nothing.
        follows: Whether a unit is sent already.
    """

    digests: frozenset[str]
    bound: bool
    follows: bool = False

    def hides(self, part: ReasoningPart, *, required: bool) -> bool:
        """Return whether to leave out a unit that may be sent. One that is required here is not left out."""
        known = unit_digest(part) in self.digests
        hidden = known and not required and not (self.bound and self.follows)
        self.follows = self.follows or not hidden
        return hidden


def withheld_from(turns: Iterable[Turn], target: Origin, rule: EchoRule) -> Withheld:
    """Return what a model was not shown, by the reports in its responses.

    Another model may be able to read it, so it counts only for the model that was asked, at this provider.
    """
    return Withheld(
        frozenset(
            unit.digest
            for turn in turns
            if turn.withheld and turn.origin is not None and turn.origin.provider == target.provider
            for unit in turn.withheld
            if unit.model == target.model
        ),
        rule.prefix_bound,
    )


# -- the effort

_OFF: Final = "the effort of the conversation is none"


class Efforts(Struct):
    """The changes in a history. A change stands directly before the next response.

    Of several before one response only the last counts, because APIs reject two in a row.

    Attributes:
        row: What the target accepts; ``None`` if nothing is known.
        before: The effort that changes with a response, by the index of its turn.
        pending: The effort that changes with the next response; empty if it does not.
        current: The effort after the last change; empty if there is none.
        wanted: The same, as the history has it.
        off: The field that turns thinking off, if that is how the target takes ``none``.
    """

    row: Inside | None
    before: dict[int, str] = {}
    pending: str = ""
    current: str = ""
    wanted: str = ""
    off: EchoFlag | None = None

    @property
    def levels(self) -> tuple[Effort, ...]:
        """The levels that the target accepts; all, if nothing is known."""
        if self.row is None:
            return EFFORTS
        return self.row.levels if self.off is None else ("none", *self.row.levels)

    @property
    def inside(self) -> bool:
        """Whether the changes are sent as items of the conversation."""
        return self.row is not None and not self.row.field

    def field_flags(self) -> tuple[EchoFlag, ...]:
        """Return the fields that a request with changes must have."""
        row = self.row
        if not self.current or row is None:
            return ()
        if self.off is not None and self.current == "none":
            return (self.off,)
        if row.field:
            return (row.flag(cast(Effort, self.current)),)
        headers = {"anthropic-beta": row.beta}
        reason = "changes of the effort are in beta"
        return (EchoFlag(name="extra_headers", value=headers, reason=reason),) if row.beta else ()

    def note(self, target: Origin, report: EchoReport) -> None:
        """Warn if the last change cannot be sent as it is."""
        if self.current != self.wanted:
            report.note(
                f"The effort {self.wanted!r} of the conversation is sent as {self.current!r}: "
                f"{target.model!r} is not known to accept it."
            )
        if self.current and self.row is None:
            report.note(
                f"The effort {self.current!r} of the conversation is not sent: no field for it is known for "
                f"{target.provider!r} of {target.api} and the model {target.model!r}. Set it yourself."
            )


def efforts_of(
    items: Sequence[HistoryItem], target: Origin, row: Inside | None, left_out: Set[int] = frozenset()
) -> Efforts:
    """Return the changes of the effort in a history, in levels that the target accepts.

    The turns with the indexes in ``left_out`` are not sent.
    """
    if EffortChange not in set(map(type, items)):
        return Efforts(row)
    off = thinking_off(target) if row is not None and row.off else None
    found = Efforts(row, off=off and off.model_copy(update={"reason": _OFF}))
    for index, item in enumerate(items):
        if isinstance(item, EffortChange):
            found.wanted = item.effort
            found.pending = found.current = _accepted(item.effort, found.levels)
        elif isinstance(item, Turn) and found.pending and index not in left_out:
            found.before[index], found.pending = found.pending, ""
    return found


def _accepted(effort: str, levels: tuple[Effort, ...]) -> str:
    """Return the nearest level that is accepted; of two, the lower one."""
    wanted = EFFORTS.index(effort)
    return min(levels, key=lambda level: (abs(EFFORTS.index(level) - wanted), EFFORTS.index(level)))
