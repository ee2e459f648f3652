"""Attribution of reasoning to tool calls, for display.

A call owns the reasoning before it. Calls that follow without new reasoning share the owner's. Text neither
consumes reasoning nor resets it. Requests are rebuilt from order, never from attribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import (
    Part,
    ReasoningPart,
    RedactedRepr,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
    join_segments,
)

__all__ = [
    "Attribution",
    "Attributor",
    "HasTurns",
    "PartKind",
    "Shared",
    "TraceRecord",
    "TraceUnit",
    "attribute",
    "trace",
]

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

    _before_text = 0
    _owner: str | None = None
    _carried = False

    def __init__(self) -> None:
        self._pending: list[str] = []

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
        self._pending, self._before_text, self._owner, self._carried = [], 0, None, False
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
    for kind, item_id in (*items, ("boundary", "")):
        match kind:
            case "reasoning":
                walk.reasoning(item_id)
            case "text":
                walk.text()
            case "result":
                walk.result()
            case "call":
                owned = walk.call(item_id)
                if isinstance(owned, Shared):
                    found.shared[item_id] = owned
                elif owned:
                    found.calls[item_id] = owned
            case "boundary":
                text, orphans = walk.boundary()
                found.texts.extend([text] if text else [])
                found.orphans.extend(orphans)
    return found


# -- the trace of a conversation


_REDACTED: Final = "[REDACTED]"
"""Stands in a trace for reasoning that the provider encrypted."""


class HasTurns(Protocol):
    """What has the turns of a conversation, such as a `History`."""

    @property
    def turns(self) -> list[Turn]:
        """The turns, in order."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class TraceUnit(RedactedRepr):
    """One unit of reasoning in a trace.

    Attributes:
        type: ``"reasoning"``, ``"redacted"`` if the provider encrypted it, ``"omitted"`` if it has no text.
        content: The text that may be shown; ``[REDACTED]`` for a redacted unit.
    """

    type: Literal["reasoning", "redacted", "omitted"]
    content: str = ""

    _private: ClassVar[frozenset[str]] = frozenset({"content"})


@dataclass(frozen=True, slots=True, repr=False)
class TraceRecord(RedactedRepr):
    """The reasoning that led to a tool call, or to an answer.

    Attributes:
        call_id: The ID of the call; ``None`` in the record of an answer.
        name: The name of the tool.
        arguments: The arguments as JSON text; reasoning is never put into them.
        reasoning: The text of the units the call owns, on lines of their own; ``[REDACTED]`` if redacted.
        reasoning_ref: The call whose reasoning this one shares.
        how: ``"owned"``; ``"parallel"`` or ``"carried"`` for shared reasoning; ``None`` without reasoning.
        final_text: The text of the answer, in the record of one.
        units: The units that ``reasoning`` joins, one by one; also those without text.
    """

    call_id: str | None = None
    name: str = ""
    arguments: str = ""
    reasoning: str = ""
    reasoning_ref: str | None = None
    how: Literal["owned", "parallel", "carried"] | None = None
    final_text: str = ""
    units: tuple[TraceUnit, ...] = ()

    _private: ClassVar[frozenset[str]] = frozenset({"arguments", "reasoning", "final_text"})


def trace(
    parts_or_history: Iterable[Part | Turn] | Turn | HasTurns,
    *,
    visibility: Literal["full", "summary", "hidden"] = "full",
) -> list[TraceRecord]:
    """List which reasoning led to which tool call.

    Args:
        parts_or_history: The parts of one response, a turn, several turns, or a `History`.
        visibility: What may be shown: in ``"summary"`` only what the provider's API labels a summary, in
            ``"hidden"`` nothing. Attribution itself does not change.

    Returns:
        A record per call, in order, and per answer of a response without calls, or with reasoning after them.

    Raises:
        ConfigurationError: An item is neither a part nor a turn (``wrong_option``).

    Source:
        The rules of ``docs/explanation/attribution.md``.

    Examples:
        >>> from agui_reasoning.parts import Segment
        >>> thought = ReasoningPart((Segment("text", 0, "Two cities."),))
        >>> parts = [thought, ToolCallPart("a", "forecast", "{}"), ToolCallPart("b", "forecast", "{}")]
        >>> [(record.call_id, record.reasoning, record.reasoning_ref) for record in trace(parts)]
        [('a', 'Two cities.', None), ('b', '', 'a')]
    """
    return [record for parts in _responses(parts_or_history) for record in _traced(parts, visibility)]


def _responses(given: Any) -> Iterator[tuple[Part, ...]]:
    """Yield the parts of each response; consecutive parts outside responses are one response."""
    items = getattr(given, "turns", [given] if isinstance(given, Turn) else given)
    for are_turns, group in groupby(items, lambda item: isinstance(item, Turn)):
        if are_turns:
            yield from (turn.parts for turn in group)
        else:
            yield tuple(map(_part, group))


def _part(item: Any) -> Part:
    if isinstance(item, Part):
        return item
    raise ConfigurationError(
        f"An item to trace is {type(item).__name__}, not a part or a turn.",
        code="wrong_option",
        hint="Pass parts, turns or a `History`: restore(messages) makes one of a client's messages.",
    )


def _traced(parts: tuple[Part, ...], visibility: str) -> Iterator[TraceRecord]:
    # Numbers instead of IDs: some providers repeat the ID of a call, or send none.
    found = attribute((_KINDS[type(part)], str(n)) for n, part in enumerate(parts) if type(part) in _KINDS)
    calls = {n: part for n, part in enumerate(parts) if isinstance(part, ToolCallPart)}
    numbers = {call.id: n for n, call in calls.items()}
    for n, call in calls.items():
        owned, shared = found.calls.get(str(n), ()), found.shared.get(str(n))
        parent = numbers.get(_caller(call) or "", n)
        if parent != n:  # made by a call of the provider's own, such as code that it runs
            shared = Shared(str(parent), "carried")
        units = _units_of(parts, owned, visibility)
        yield TraceRecord(
            call.id,
            call.name,
            call.arguments,
            _text_of(units),
            calls[int(shared.owner)].id if shared else None,
            shared.how if shared else "owned" if owned else None,
            units=units,
        )
    answer = "".join(part.text for part in parts if isinstance(part, TextPart))
    behind = [n for units in found.texts for n in units]
    if answer and (behind or not calls):
        units = _units_of(parts, behind, visibility)
        yield TraceRecord(
            reasoning=_text_of(units), how="owned" if behind else None, final_text=answer, units=units
        )


def _text_of(units: Iterable[TraceUnit]) -> str:
    return "\n".join(unit.content for unit in units if unit.content)


def _units_of(parts: tuple[Part, ...], numbers: Iterable[str], visibility: str) -> tuple[TraceUnit, ...]:
    units = (parts[int(n)] for n in numbers)
    return tuple(_unit(part, visibility) for part in units if isinstance(part, ReasoningPart))


def _unit(part: ReasoningPart, visibility: str) -> TraceUnit:
    if part.redacted:
        return TraceUnit("redacted", "" if visibility == "hidden" else _REDACTED)
    # Of hidden reasoning, no channel is visible.
    visible = tuple(one for one in part.segments if visibility in ("full", one.channel))
    return TraceUnit("reasoning" if part.text else "omitted", join_segments(visible))


def _caller(call: ToolCallPart) -> str | None:
    """Return the ID of the call that made this one, in Anthropic's programmatic tool calling."""
    caller = (call.ext or {}).get("caller")
    tool_id = caller.get("tool_id") if isinstance(caller, dict) else None
    return tool_id if isinstance(tool_id, str) else None


_KINDS: Final[dict[type, PartKind]] = {
    ReasoningPart: "reasoning",
    TextPart: "text",
    ToolCallPart: "call",
    ToolResultPart: "result",
}
