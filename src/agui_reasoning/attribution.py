"""Which reasoning belongs to which tool call, for display.

A call owns the reasoning that came before it; calls that follow without fresh reasoning share the owner's;
text neither takes reasoning nor resets it. The next request is rebuilt from order, never from this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Attribution", "Attributor", "PartKind", "Shared", "attribute"]

PartKind: TypeAlias = Literal["reasoning", "text", "call", "result", "boundary"]


@dataclass(frozen=True, slots=True)
class Shared:
    """A call without reasoning of its own refers to another's.

    Attributes:
        owner: The call that owns the reasoning.
        how: ``"parallel"``, or ``"carried"`` when the result of a server tool stands between them.
    """

    owner: str
    how: Literal["parallel", "carried"]


@dataclass(frozen=True, slots=True)
class Attribution:
    """What belongs to what, by id.

    Attributes:
        calls: The reasoning each call owns.
        shared: The calls that refer to another's reasoning.
        texts: The reasoning behind each final text.
        orphans: Reasoning that nothing followed.
    """

    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    shared: dict[str, Shared] = field(default_factory=dict)
    texts: list[tuple[str, ...]] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)


class Attributor:
    """Walks a response in wire order; ownership of a call is known as soon as the call begins."""

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._before_text = 0
        self._owner: str | None = None
        self._carried = False

    def reasoning(self, unit_id: str) -> None:
        """A reasoning unit appeared."""
        self._pending.append(unit_id)
        self._owner = None

    def text(self) -> None:
        """Text appeared."""
        self._before_text = len(self._pending)

    def result(self) -> None:
        """A server tool answered: calls after it are not parallel to those before."""
        self._carried = True

    def call(self, call_id: str) -> tuple[str, ...] | Shared | None:
        """A call began: the reasoning it owns, whose it shares, or nothing."""
        if self._pending:
            owned = tuple(self._pending)
            self._pending, self._before_text = [], 0
            self._owner, self._carried = call_id, False
            return owned
        if self._owner is None:
            return None
        return Shared(self._owner, "carried" if self._carried else "parallel")

    def boundary(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The response ended: the reasoning behind its final text, and what nothing followed."""
        text, orphans = self._pending[: self._before_text], self._pending[self._before_text :]
        self.__init__()  # type: ignore[misc]
        return tuple(text), tuple(orphans)


def attribute(items: Iterable[tuple[PartKind, str]]) -> Attribution:
    """Attribute the items of one or more responses.

    Args:
        items: ``(kind, id)`` in wire order; ``boundary`` stands between responses.

    Examples:
        >>> attribute([("reasoning", "r"), ("call", "a"), ("call", "b")]).shared
        {'b': Shared(owner='a', how='parallel')}
    """
    found = Attribution()
    walk = Attributor()
    for kind, item_id in items:
        _STEPS[kind](walk, item_id, found)
    _boundary(walk, "", found)
    return found


def _reasoning(walk: Attributor, item_id: str, found: Attribution) -> None:
    walk.reasoning(item_id)


def _text(walk: Attributor, item_id: str, found: Attribution) -> None:
    walk.text()


def _result(walk: Attributor, item_id: str, found: Attribution) -> None:
    walk.result()


def _call(walk: Attributor, item_id: str, found: Attribution) -> None:
    owned = walk.call(item_id)
    if isinstance(owned, Shared):
        found.shared[item_id] = owned
    elif owned:
        found.calls[item_id] = owned


def _boundary(walk: Attributor, item_id: str, found: Attribution) -> None:
    text, orphans = walk.boundary()
    if text:
        found.texts.append(text)
    found.orphans.extend(orphans)


_STEPS = {
    "reasoning": _reasoning,
    "text": _text,
    "result": _result,
    "call": _call,
    "boundary": _boundary,
}
