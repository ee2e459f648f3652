"""Attribution of reasoning to tool calls, for display.

A call owns the reasoning before it. Calls that follow without new reasoning share the owner's. Text neither
consumes reasoning nor resets it. Requests are rebuilt from order, never from attribution.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Attribution", "Attributor", "PartKind", "Shared", "attribute"]

PartKind: TypeAlias = Literal["reasoning", "text", "call", "result", "boundary"]


@dataclass(frozen=True, slots=True)
class Shared:
    """A reference from a call without its own reasoning to the call that owns it.

    Attributes:
        owner: The call that owns the reasoning.
        how: ``"parallel"``, or ``"carried"`` if a server tool result comes between them.
    """

    owner: str
    how: Literal["parallel", "carried"]


@dataclass(frozen=True, slots=True)
class Attribution:
    """The attribution of reasoning, by ID.

    Attributes:
        calls: The reasoning that each call owns.
        shared: The calls that share the reasoning of another call.
        texts: The reasoning before each final text.
        orphans: The reasoning that nothing follows.
    """

    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    shared: dict[str, Shared] = field(default_factory=dict)
    texts: list[tuple[str, ...]] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)


class Attributor:
    """Attributes reasoning incrementally, in wire order; ownership is known when a call starts."""

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._before_text = 0
        self._owner: str | None = None
        self._carried = False

    def reasoning(self, unit_id: str) -> None:
        """Record a reasoning unit."""
        self._pending.append(unit_id)
        self._owner = None

    def text(self) -> None:
        """Record text."""
        self._before_text = len(self._pending)

    def result(self) -> None:
        """Record a server tool result: later calls are not parallel to earlier ones."""
        self._carried = True

    def call(self, call_id: str) -> tuple[str, ...] | Shared | None:
        """Record a call and return the reasoning it owns, the call it shares with, or ``None``."""
        if self._pending:
            owned = tuple(self._pending)
            self._pending, self._before_text = [], 0
            self._owner, self._carried = call_id, False
            return owned
        if self._owner is None:
            return None
        return Shared(self._owner, "carried" if self._carried else "parallel")

    def boundary(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """End the response, and return the reasoning before its final text and the orphans."""
        text, orphans = self._pending[: self._before_text], self._pending[self._before_text :]
        self.__init__()  # type: ignore[misc]
        return tuple(text), tuple(orphans)


def attribute(items: Iterable[tuple[PartKind, str]]) -> Attribution:
    """Attribute the items of one or more responses.

    Args:
        items: Pairs of kind and ID in wire order, with ``boundary`` between responses.

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
