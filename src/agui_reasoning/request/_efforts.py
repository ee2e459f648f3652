"""Changes of the effort: where they stand in a request, and the field that says it where they cannot."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

from msgspec import Struct, field

from agui_reasoning.parts import EFFORTS, EffortChange, Origin, Turn
from agui_reasoning.policy import EchoFlag, Inside
from agui_reasoning.providers.encoding import EchoReport
from agui_reasoning.request._history import HistoryItem

__all__ = ["Efforts", "efforts_of"]


class Efforts(Struct):
    """The changes in a history. A change stands directly before the next response.

    Of several before one response only the last counts, because APIs reject two in a row.

    Attributes:
        row: What the target accepts; ``None`` if nothing is known.
        before: The effort that changes with a response, by the index of its turn.
        pending: The effort that changes with the next response; empty if it does not.
        current: The effort after the last change; empty if there is none.
        wanted: The same, as the history has it.
    """

    row: Inside | None
    before: dict[int, str] = field(default_factory=dict)
    pending: str = ""
    current: str = ""
    wanted: str = ""

    @property
    def inside(self) -> bool:
        """Whether the changes are sent as items of the conversation."""
        return self.row is not None and not self.row.field

    def field_flags(self) -> tuple[EchoFlag, ...]:
        """Return the fields that a request with changes must have."""
        row = self.row
        if not self.current or row is None:
            return ()
        if row.field:
            reason = "the effort changed in the conversation"
            return (EchoFlag(name=row.field, value=self.current, reason=reason, extra_body=row.extra_body),)
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


def efforts_of(items: Iterable[HistoryItem], row: Inside | None, left_out: Set[int] = frozenset()) -> Efforts:
    """Return the changes of the effort in a history, in levels that the target accepts.

    Args:
        items: The history.
        row: What the target accepts.
        left_out: The indexes of turns that are not sent.
    """
    found = Efforts(row)
    for index, item in enumerate(items):
        if isinstance(item, EffortChange):
            found.wanted = item.effort
            found.pending = found.current = _accepted(item.effort, EFFORTS if row is None else row.levels)
        elif isinstance(item, Turn) and found.pending and index not in left_out:
            found.before[index], found.pending = found.pending, ""
    return found


def _accepted(effort: str, levels: tuple[Any, ...]) -> str:
    """Return the nearest level that is accepted; of two, the lower one."""
    wanted = EFFORTS.index(effort)
    return str(min(levels, key=lambda level: (abs(EFFORTS.index(level) - wanted), EFFORTS.index(level))))
