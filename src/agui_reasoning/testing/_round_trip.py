"""What of a stream comes back from a client, and what of that is in the next request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

from ag_ui.core import ToolMessage

from agui_reasoning._hint import hint_of
from agui_reasoning.errors import did_you_mean
from agui_reasoning.parts import (
    NativePart,
    Origin,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Turn,
)
from agui_reasoning.providers.echo import groups, rule_for
from agui_reasoning.providers.encoding import is_readable
from agui_reasoning.providers.registry import vendor_of
from agui_reasoning.request import History, ReportEntry, build_request
from agui_reasoning.testing._front_ends import assistant_ui, copilotkit, tanstack
from agui_reasoning.testing._held import Client, MessageDicts, ignore

__all__ = ["Lane"]

_Piece: TypeAlias = tuple[str, ReasoningPart]
"""A reasoning message, and a unit that it alone gives back."""

_PART_MISSING = "part_missing"
_REASONS = {
    "no_value": "it has no encryptedValue (none was sent, or before the message existed)",
    "unknown_value": "its encryptedValue is no envelope of agui-reasoning",
    "undecryptable": "its encryptedValue does not open: other keys, another thread or tenant, or expired",
    "unauthenticated": "its encryptedValue is not encrypted, and with keys only what they open is read",
    "too_large": "its encryptedValue is longer than restoring accepts",
    "text_modified": "its text is not the text that its encryptedValue was made for",
    "spans_overlap": "its encryptedValue says it is shown where another text is shown",
    _PART_MISSING: "one of the messages it was shown in is gone",
    "misplaced": "its encryptedValue was written for another subagent",
    "incomplete": "it was cut, so it is shown and never sent back",
    "foreign_origin": "its encryptedValue names a producer whose values this provider cannot read",
    "unknown_origin": "its encryptedValue does not name its producer: pass api=, provider=, model= to Run",
    "missing_signature": "its encryptedValue holds no signature, and this provider refuses it without",
    "missing_encrypted": "its encryptedValue holds no encrypted content, and this provider needs it",
    "orphan": "its encryptedValue does not name the message or call that followed it",
    "unpaired": "its encryptedValue does not tell which item of the provider follows it",
    "duplicate_id": "the request holds a unit with its provider id already",
}
"""What the stable words of the reports mean to whoever wrote the adapter."""


_SETTLED = frozenset({"policy", "out_of_scope", "no_place", "empty", "incomplete"})
"""Reasons why a unit stays out of a request that are the provider's, not the stream's."""


@dataclass(frozen=True, slots=True)
class ExpectedUnit:
    """Something of a response that must come back.

    Attributes:
        part: What was restored.
        turn: The response it is part of.
        seen: The message or call that the report of a request names it by.
        messages: The reasoning messages that show it: several, if it resumed.
        vital: Front ends that drop values on calls and on text must return it all the same.
    """

    part: Part
    turn: Turn
    seen: str
    messages: tuple[str, ...]
    vital: bool

    @property
    def name(self) -> str:
        """How a fault calls it."""
        if isinstance(self.part, ToolCallPart):
            return f"call {self.part.id!r}"
        if isinstance(self.part, ToolResultPart):
            return f"the result of call {self.part.tool_call_id!r}"
        return " and ".join(f"message {name!r}" for name in self.messages) or "a block"


class Lane:
    """One conversation of what a client holds: the run's own, or a subagent's.

    Attributes:
        units: What the stream added that must come back, in order.
    """

    def __init__(
        self, client: Client, name: str | None, *, api: str, provider: str | None, model: str | None
    ) -> None:
        self._client, self._name = client, name
        self._target = Origin(provider or vendor_of(api), api, model)
        self._rule = rule_for(self._target)
        self._thoughts = [thought for thought, owner in client.thoughts.items() if owner == name]
        held = {message["id"]: message for message in client.after}
        self._alone = {
            thought: client.restore([held[thought]], name) for thought in self._thoughts if thought in held
        }
        self._pieces = [
            (thought, piece)
            for thought, history in self._alone.items()
            for piece in _parts(history)
            if isinstance(piece, ReasoningPart)
        ]
        self._carried = Counter(thought for thought, _ in self._pieces)
        self._whole = client.restore(client.after, name)
        turns = _without(self._whole.turns, client.restore(client.before, name).turns)
        left = list(self._pieces)
        restored = [unit for turn in turns for unit in self._units(turn, left)]
        claimed = {name for unit in restored for name in unit.messages}
        self._unclaimed = [thought for thought in self._carried if thought not in claimed]
        self._order = [self._thoughts.index(name) for unit in restored for name in unit.messages[:1]]
        self.units = [unit for unit in restored if getattr(unit.part, "status", "complete") == "complete"]

    def faults(self) -> list[str]:
        """Everything that is wrong; what would only follow from it is left out."""
        return self._unsealed() or self._misplaced() or self._changed() or self._mistaken()

    def _units(self, turn: Turn, left: list[_Piece]) -> Iterator[ExpectedUnit]:
        thought = any(isinstance(part, ReasoningPart) for part in turn.parts)
        vital = thought or self._rule.status == "required"
        for part, seen in _seen(turn):
            if isinstance(part, ReasoningPart):
                yield ExpectedUnit(part, turn, seen, _claim(part, left), vital)
            elif _is_native(part) or _is_reported(part):
                yield ExpectedUnit(part, turn, seen, (), vital)

    # -- the stream itself

    def _unsealed(self) -> list[str]:
        """What cannot be restored, whatever a front end does: reasoning, and values on text and calls."""
        faults = [
            f"message {thought!r}: the client no longer holds it: a snapshot left it out"
            for thought in self._thoughts
            if thought not in self._alone
        ]
        for thought, history in self._alone.items():
            dropped = [entry for entry in history.report if entry.outcome == "dropped"]
            # Alone, a message of a unit that resumed lacks the others: only all together tell.
            dropped = [entry for entry in dropped if entry.reason != _PART_MISSING]
            faults += [f"message {thought!r}: {_why(entry.reason)}" for entry in dropped]
        told = {*self._alone, *self._client.known}
        return faults + [
            f"{entry.unit!r}: {_why(entry.reason)}"
            for entry in self._whole.report
            if entry.outcome == "dropped" and (entry.unit not in told or entry.reason == _PART_MISSING)
        ]

    def _misplaced(self) -> list[str]:
        """Reasoning messages that do not come back where the stream had them."""
        faults = [
            f"message {thought!r}: its encryptedValue gives it the place of another message"
            for thought in self._unclaimed
        ]
        return faults or [
            f"message {self._thoughts[one]!r}: its encryptedValue puts it before message "
            f"{self._thoughts[other]!r}, which the stream sent first"
            for one, other in pairwise(self._order)
            if one > other
        ]

    # -- front ends

    def _changed(self) -> list[str]:
        """What does not survive a front end, or does not reach the next request."""
        faults = []
        for name, transform in (_FRONT_ENDS if self._name is None else _KEEP_SUBAGENTS).items():
            history = self._client.restore(transform(self._client.after), self._name)
            found = self._lost(history, every=transform is _as_is) or self._unsent(history)
            faults += [f"{name}: {fault}" for fault in found]
        return faults

    def _lost(self, history: History, *, every: bool) -> list[str]:
        returned = list(_parts(history))
        expected = [unit for unit in self.units if unit.vital or every]
        lost = [unit for unit in expected if unit.part not in returned]
        if lost:
            return [f"{unit.name}: it does not come back as it was" for unit in lost]
        parts = [unit.part for unit in expected]
        before, after = (_placed(history, parts) for history in (self._whole, history))
        return [] if before == after else ["the units come back in another order"]

    def _unsent(self, history: History) -> list[str]:
        """What the policy wants in the next request and is not in it, and the other way round."""
        origin = self._target
        request = build_request(
            origin.api or "", history, provider=origin.provider, model=origin.model, on_warning=ignore
        )
        answered = {m.tool_call_id for m in history.messages if isinstance(m, ToolMessage)}
        reported = [
            entry
            for turn in history.turns
            for entry in _seen(turn)
            if _is_reported(entry[0]) or _is_cut(entry[0], answered)
        ]
        sent: list[str] = []
        faults: list[str] = []
        for (part, seen), entry in zip(reported, request.report, strict=True):
            unit = next((unit for unit in self.units if (unit.part, unit.seen) == (part, seen)), None)
            if unit is None:
                continue
            if entry.outcome == "echoed":
                sent += [value.value for value in getattr(part, "opaque", ()) if value.value]
            elif not self._is_settled(unit, entry):
                faults.append(f"{unit.name}: {_why(entry.reason)}{_misnamed(part, entry.reason)}")
        if not faults and not _is_subsequence(dict.fromkeys(sent), _strings(request.body)):
            faults.append("the values in the request are not those of the stream, in the order of the stream")
        return faults

    def _is_settled(self, unit: ExpectedUnit, entry: ReportEntry) -> bool:
        """Whether it is the provider's rules, and no fault of the stream, that keep a unit out."""
        if entry.reason == "orphan":
            return not self._is_followed(unit)
        # A gateway that needs no signatures itself leaves text out that its upstream did not sign.
        unsigned = entry.reason == "missing_signature" and self._rule.needs != "signature"
        return unsigned or entry.reason in _SETTLED

    def _is_followed(self, unit: ExpectedUnit) -> bool:
        """Whether the client shows something of the model's behind a unit that its turn does not know of."""
        behind_it = unit.turn.parts[unit.turn.parts.index(unit.part) :]
        if not unit.messages or not all(isinstance(part, ReasoningPart) for part in behind_it):
            return False
        if self._carried[unit.messages[-1]] > 1:
            return False  # it may ride along with what came long before it
        messages = [m for m in self._client.after if m.get("subagentRunId") == self._name]
        place = next(number for number, message in enumerate(messages) if message["id"] == unit.messages[-1])
        behind = next((message for message in messages[place:] if message["role"] != "reasoning"), None)
        if behind is None or behind["role"] != "assistant":
            return False
        return _response_of(behind) in (None, _response_of(messages[place]))

    def _mistaken(self) -> list[str]:
        """What is restored of merged reasoning although no model produced it."""
        if self._name is not None:
            return []
        known = [part for lane in self._client.lanes for part in self._reasoning(self._client.after, lane)]
        restored = self._reasoning(tanstack(self._client.after), None)
        wrong = [part for part in restored if part not in known]
        return [f"TanStack: {len(wrong)} unit(s) come back that no model produced"] if wrong else []

    def _reasoning(self, messages: MessageDicts, lane: str | None) -> list[ReasoningPart]:
        parts = _parts(self._client.restore(messages, lane))
        return [
            replace(part, ext=None)
            for part in parts
            if isinstance(part, ReasoningPart) and part.status == "complete"
        ]


def _as_is(messages: MessageDicts) -> MessageDicts:
    return messages


_KEEP_SUBAGENTS: dict[str, Callable[[MessageDicts], MessageDicts]] = {
    "as it is": _as_is,
    "CopilotKit": copilotkit,
}
_FRONT_ENDS: dict[str, Callable[[MessageDicts], MessageDicts]] = {
    **_KEEP_SUBAGENTS,
    "assistant-ui": assistant_ui,
}


def _placed(history: History, parts: Sequence[Part]) -> list[Part]:
    """The parts that are there, in order; a response of which nothing is shown has no place of its own."""
    placed = [turn for turn in history.turns if any(_is_shown(part) for part in turn.parts)]
    return [part for turn in placed for part in turn.parts if part in parts]


def _is_shown(part: Part) -> bool:
    return isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and not part.text.isspace())


def _is_native(part: Part) -> bool:
    """Whether it holds a block of the provider's."""
    return isinstance(part, NativePart) or getattr(part, "native", None) is not None


def _is_reported(part: Part) -> bool:
    """Whether the report of a request has an entry for it, even if it is complete."""
    return isinstance(part, ReasoningPart | NativePart) or bool(getattr(part, "opaque", ()))


def _is_cut(part: Part, answered: set[str]) -> bool:
    """Whether it is a call that does not go back."""
    if not isinstance(part, ToolCallPart):
        return False
    return part.status == "incomplete" or not (part.server or part.id in answered or is_readable(part))


def _holds(part: ReasoningPart, piece: ReasoningPart) -> bool:
    """Whether a unit is what a message alone gives back, or (it resumed) holds it as a stretch."""
    size = len(piece.segments)
    starts = range(len(part.segments) - size + 1)
    return (
        piece.item_id in (None, part.item_id)
        and all(opaque in part.opaque for opaque in piece.opaque)
        and any(part.segments[start : start + size] == piece.segments for start in starts)
    )


def _claim(part: ReasoningPart, left: list[_Piece]) -> tuple[str, ...]:
    """Take the messages that show or carry a unit, first come, first served."""
    names: list[str] = []
    missing = max(1, len(part.segments))
    for name, piece in list(left):
        if missing > 0 and _holds(part, piece):
            missing -= max(1, len(piece.segments))
            names.append(name)
            left.remove((name, piece))
    return tuple(names)


def _seen(turn: Turn) -> Iterator[tuple[Part, str]]:
    """The parts of a turn, each with the message or call it is seen under."""
    return zip(turn.parts, turn.seen or [""] * len(turn.parts), strict=True)


def _parts(history: History) -> Iterator[Part]:
    return (part for turn in history.turns for part in turn.parts)


def _without(turns: Iterable[Turn], known: Iterable[Turn]) -> list[Turn]:
    """The turns that are new."""
    left = list(turns)
    for turn in known:
        if turn in left:
            left.remove(turn)
    return left


def _why(reason: str) -> str:
    return _REASONS.get(reason, f"it was dropped ({reason})")


def _misnamed(part: Part, reason: str) -> str:
    """The kinds of its values that should perhaps be another, where the value that is needed is missing."""
    if reason not in ("missing_signature", "missing_encrypted"):
        return ""
    known = sorted({kind for group in groups() for kind in group.kinds})
    kinds = [value.kind for value in getattr(part, "opaque", ()) if value.kind not in known]
    return "".join(
        f"; it holds one of the kind {kind!r}. {did_you_mean(kind, known)}".rstrip() for kind in kinds
    )


def _response_of(message: Mapping[str, Any]) -> str | None:
    """The response a message says that it belongs to."""
    entities = (message, *message.get("toolCalls", ()))
    return next((hint["response"] for entity in entities if "response" in (hint := hint_of(entity))), None)


def _strings(value: Any) -> Iterator[str]:
    """Every string of a body, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _strings(inner)


def _is_subsequence(wanted: Iterable[str], found: Iterable[str]) -> bool:
    rest = iter(found)
    return all(value in rest for value in wanted)
