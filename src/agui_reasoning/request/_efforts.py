"""Changes of the effort: where they stand in a request, and the field that says it where they cannot."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final, cast

from msgspec import Struct, field

from agui_reasoning.parts import EFFORTS, Effort, EffortChange, Origin, Turn
from agui_reasoning.policy import EchoFlag, Inside
from agui_reasoning.providers._refusals import thinking_off
from agui_reasoning.providers.encoding import EchoReport
from agui_reasoning.request._history import HistoryItem

__all__ = ["Efforts", "efforts_of"]


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
    items: Iterable[HistoryItem], target: Origin, row: Inside | None, left_out: Set[int] = frozenset()
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
