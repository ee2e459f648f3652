"""Decides what of a history is sent: turns, reasoning of others, withheld reasoning, and the effort."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise
from typing import Final, Literal, TypeAlias, cast

from ag_ui.core import DeveloperMessage, SystemMessage, TextInputContent, UserMessage
from msgspec import Struct, field

from agui_reasoning._envelope import unit_digest
from agui_reasoning.parts import (
    EFFORTS,
    Effort,
    EffortChange,
    NativePart,
    Origin,
    Part,
    ReasoningPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.policy import EchoFlag, EchoRule, Inside
from agui_reasoning.providers.echo import kinship, reads
from agui_reasoning.providers.encoding import EchoReport
from agui_reasoning.providers.refusals import thinking_off
from agui_reasoning.request._history import HistoryItem, role_of

# -- turns that the provider refused

RefusedTurns: TypeAlias = Literal["drop", "keep"]
"""What to do with turns that the provider refused."""

_INSTRUCTIONS = (SystemMessage, DeveloperMessage)


def left_out(items: Sequence[HistoryItem], chosen: RefusedTurns) -> frozenset[int]:
    """Return the indexes of the items that are not sent because the provider refused them.

    A user's message and everything up to the next one form a group. A group that ended with a refusal is left
    out, except for instructions. If another model answered after the refusal, or if the user has not written
    since, only the refused response is left out: the rest of the group is still to be answered, or was.
    """
    refused = {index for index, item in enumerate(items) if isinstance(item, Turn) and item.refused}
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
    return any(origin is not None and _differ(origin, target) for origin in origins)


def _is_bound(part: Part) -> bool:
    if isinstance(part, ToolResultPart):
        return part.native is not None
    bound = isinstance(part, NativePart) or bool(part.opaque)
    return bound or (isinstance(part, ReasoningPart) and part.item_id is not None)


def _differ(origin: Origin, target: Origin) -> bool:
    if origin.account is None or target.account is None or origin.account == target.account:
        return False
    return kinship(origin, target) == "same"


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
        known = bool(self.digests) and unit_digest(part) in self.digests
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
    before: dict[int, str] = field(default_factory=dict)
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

    Args:
        items: The history.
        target: The target.
        row: What it accepts.
        left_out: The indexes of turns that are not sent.
    """
    off = thinking_off(target) if row is not None and row.off else None
    found = Efforts(row, off=off and off.model_copy(update={"reason": _OFF}))
    if EffortChange not in set(map(type, items)):
        return found
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
