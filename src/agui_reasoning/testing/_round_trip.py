"""Checks which units of a stream come back from a client and reach the next request."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from ag_ui.core import Event, MessagesSnapshotEvent, ReasoningMessageStartEvent, RunAgentInput, ToolMessage
from msgspec.structs import replace
from pydantic import BaseModel

from agui_reasoning._wire_events import hint_of
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.emitter.stages import Stage, Steps
from agui_reasoning.errors import RemoteProtocolError, did_you_mean
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
from agui_reasoning.policy import EchoRule
from agui_reasoning.providers.echo import groups, rule_for
from agui_reasoning.providers.encoding import is_readable
from agui_reasoning.request import History, ReportEntry, build_request, restore
from agui_reasoning.run import Run
from agui_reasoning.testing._front_ends import (
    AssistantUI,
    FrontEnd,
    Messages,
    TanStack,
    as_dicts,
    assistant_ui,
    copilotkit,
    events_of,
    tanstack,
    unused_names,
)

_Piece: TypeAlias = tuple[str, ReasoningPart]
"""A reasoning message ID, and a unit restored from that message alone."""

_PART_MISSING = "part_missing"
_REASONS = {
    "no_value": "it has no encryptedValue (none was sent, or before the message existed)",
    "unknown_value": "its encryptedValue is not an envelope of agui-reasoning",
    "application_value": "its encryptedValue was encrypted by the application: open it with KeyRing.decrypt",
    "undecryptable": "its encryptedValue cannot be decrypted: other keys, thread or tenant, or expired",
    "unauthenticated": "its encryptedValue is not encrypted, and with keys unencrypted values are ignored",
    "too_large": "its encryptedValue is too long to be restored",
    "text_modified": "its text differs from the text its encryptedValue was created for",
    "spans_overlap": "its encryptedValue covers text that another one covers too",
    _PART_MISSING: "one of the messages that show it is missing",
    "misplaced": "its encryptedValue was written for another subagent",
    "incomplete": "it is incomplete, so it is shown but never sent back",
    "foreign_origin": "its encryptedValue names a producer whose values this provider cannot read",
    "native_foreign": "its encryptedValue names a producer whose blocks this provider cannot read",
    "unknown_origin": "its encryptedValue does not name its producer: pass api=, provider=, model= to Run",
    "missing_signature": "its encryptedValue has no signature, which this provider requires",
    "missing_encrypted": "its encryptedValue has no encrypted content, which this provider requires",
    "orphan": "its encryptedValue does not name the message or call that followed it",
    "unpaired": "its encryptedValue does not name the provider's item that follows it",
    "duplicate_id": "the request already contains a unit with its provider ID",
}
"""Explanations of report reasons for authors of adapters."""


_SETTLED = frozenset({"policy", "out_of_scope", "no_place", "empty", "incomplete"})
"""Reasons to omit a unit that are due to the provider, not to the stream."""


class Client:
    """A client after a stream.

    Attributes:
        thoughts: The IDs of the stream's reasoning messages, mapped to their subagent.
        before: The messages of the run's input.
        known: The IDs of messages and calls in the run's input.
        after: The messages after the stream, followed by the client's next message or tool results.
    """

    def __init__(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        events: Iterable[Event | BaseModel | Mapping[str, Any]],
        *,
        keys: KeyRing | None,
        tenant: str,
    ) -> None:
        parsed_input = Run(run_input).input
        self._thread_id, self._keys, self._tenant = parsed_input.thread_id, keys, tenant
        self.thoughts: dict[str, str | None] = {}
        self.before = as_dicts(parsed_input.messages)
        self.known = {entity["id"] for m in self.before for entity in (m, *m.get("toolCalls", ()))}
        self._delivered: list[Event] = []
        conversation = Conversation(parsed_input.thread_id, messages=parsed_input.messages, on_warning=ignore)
        try:
            for event in events:
                self._delivered += conversation.receive(event)
            conversation.end_of_stream()
        except RemoteProtocolError as error:
            raise AssertionError(f"The stream breaks the protocol ({error.code}): {error}") from None
        for delivered in self._delivered:
            if isinstance(delivered, ReasoningMessageStartEvent):
                self.thoughts[delivered.message_id] = delivered.subagent_run_id
        held = as_dicts(conversation.messages)
        for message in held:  # reasoning of snapshots counts as if it had been streamed
            if message["role"] == "reasoning" and message["id"] not in self.known:
                self.thoughts.setdefault(message["id"], message.get("subagentRunId"))
        owners = {call["id"]: message for message in held for call in message.get("toolCalls", ())}
        # The client answers its calls, or else the user does.
        self._next = [
            {"id": f"result of {call.id}", "role": "tool", "toolCallId": call.id, "content": "Done."}
            | {key: value for key, value in owners[call.id].items() if key == "subagentRunId"}
            for call in conversation.pending_calls
        ] or [{"id": "next message", "role": "user", "content": "Go on."}]
        self.after = [*held, *self._next]

    @property
    def lanes(self) -> list[str | None]:
        """The client's conversations: ``None`` for the run's own, and the ID of each subagent."""
        tags = (message.get("subagentRunId") for message in self.after)
        return list(dict.fromkeys([None, *tags]))

    @property
    def has_snapshot(self) -> bool:
        """Whether the stream contains a MESSAGES_SNAPSHOT, which the models do not read."""
        return any(isinstance(event, MessagesSnapshotEvent) for event in self._delivered)

    def through(self, before: Messages, front_end: FrontEnd, stage: Stage | None = None) -> Messages:
        """Return the messages of a front end that received the stream, after those it had ``before``.

        Its users must add the stage to the stream.
        """
        events = self._delivered
        if stage is not None:
            events = [staged for event in events for staged in stage.receive(event)] + stage.close()
        for event in events:
            front_end.receive(event.model_dump(mode="json", by_alias=True, exclude_none=True))
        for message in self._next:
            for answer in events_of(message) if message["role"] == "tool" else ():
                front_end.receive(answer)
        later = [message for message in self._next if message["role"] != "tool"]
        return [*before, *front_end.messages(), *later]

    def restore(self, messages: Messages, lane: str | None) -> History:
        """Restore one conversation from the client's messages."""
        return restore(
            messages, keys=self._keys, thread_id=self._thread_id, tenant=self._tenant, subagent=lane
        )


def ignore(warning: str) -> None:
    """Ignore a warning: its effect shows in the restored history."""


@dataclass(frozen=True, slots=True)
class ExpectedUnit:
    """A unit of a response that must come back.

    Attributes:
        part: The restored part.
        turn: The response it belongs to.
        messages: The reasoning messages that show it; several if it resumed.
        vital: Whether it must survive front ends that drop values on calls and text.
    """

    part: Part
    turn: Turn
    messages: tuple[str, ...]
    vital: bool

    @property
    def name(self) -> str:
        """The name of the unit in error messages."""
        if isinstance(self.part, ToolCallPart):
            return f"call {self.part.id!r}"
        if isinstance(self.part, ToolResultPart):
            return f"the result of call {self.part.tool_call_id!r}"
        return " and ".join(f"message {name!r}" for name in self.messages) or "a block"


class Lane:
    """One conversation of a client: the run's own, or a subagent's.

    Attributes:
        units: The units of the stream that must come back, in order.
    """

    def __init__(
        self, client: Client, name: str | None, target: Origin, own: Sequence[EchoRule] = ()
    ) -> None:
        self._client, self._name, self._target = client, name, target
        self._own = own
        self._rule = rule_for(self._target, own)
        self._thoughts = [thought for thought, owner in client.thoughts.items() if owner == name]
        held = {message["id"]: message for message in client.after}
        self._alone = {
            thought: client.restore([held[thought]], name) for thought in self._thoughts if thought in held
        }
        self._responses = {thought: _response_of(held[thought]) for thought in self._alone}
        self._pieces = [
            (thought, piece)
            for thought, history in self._alone.items()
            for piece in _parts(history)
            if isinstance(piece, ReasoningPart)
        ]
        self._units_per_message = Counter(thought for thought, _ in self._pieces)
        self._whole = client.restore(client.after, name)
        self._turns = turns = _without(self._whole.turns, client.restore(client.before, name).turns)
        remaining = list(self._pieces)
        restored = [unit for turn in turns for unit in self._units(turn, remaining)]
        claimed = {name for unit in restored for name in unit.messages}
        self._unclaimed = [thought for thought in self._units_per_message if thought not in claimed]
        # A unit without text may travel in the value of any message of its response.
        self._order = [
            self._thoughts.index(name)
            for unit in restored
            if getattr(unit.part, "segments", ())
            for name in unit.messages[:1]
        ]
        self.units = [unit for unit in restored if getattr(unit.part, "status", "complete") == "complete"]
        # What one front end gets into the next request must be in that of every other. Units may be equal.
        self._sent: set[int] = set()

    def faults(self) -> list[str]:
        """Return all faults, without those that only follow from others."""
        return self._unrestorable() or self._misplaced() or self._changed() or self._unexpected()

    def _units(self, turn: Turn, remaining: list[_Piece]) -> Iterator[ExpectedUnit]:
        thought = any(isinstance(part, ReasoningPart) for part in turn.parts)
        vital = thought or self._rule.status == "required"
        for part in turn.parts:
            if isinstance(part, ReasoningPart):
                yield ExpectedUnit(part, turn, _claim(part, remaining, self._responses), vital)
            elif getattr(part, "native", None) is not None or _is_reported(part):
                yield ExpectedUnit(part, turn, (), vital)

    def _unrestorable(self) -> list[str]:
        """Return faults of reasoning and values that cannot be restored in any front end."""
        faults = [
            f"message {thought!r}: the client no longer holds it: a snapshot omitted it"
            for thought in self._thoughts
            if thought not in self._alone
        ]
        for thought, history in self._alone.items():
            dropped = [entry for entry in history.report if entry.outcome == "dropped"]
            # A unit that resumed spans several messages and cannot be restored from one alone.
            dropped = [entry for entry in dropped if entry.reason != _PART_MISSING]
            faults += [f"message {thought!r}: {_explain(entry.reason)}" for entry in dropped]
        reported_elsewhere = {*self._alone, *self._client.known}
        return faults + [
            f"{entry.unit!r}: {_explain(entry.reason)}"
            for entry in self._whole.report
            if entry.outcome == "dropped"
            and (entry.unit not in reported_elsewhere or entry.reason == _PART_MISSING)
        ]

    def _misplaced(self) -> list[str]:
        """Return faults of reasoning messages that come back in another place."""
        faults = [
            f"message {thought!r}: its encryptedValue gives it the position of another message"
            for thought in self._unclaimed
        ]
        return faults or [
            f"message {self._thoughts[one]!r}: its encryptedValue puts it before message "
            f"{self._thoughts[other]!r}, which the stream sent first"
            for one, other in pairwise(self._order)
            if one > other
        ]

    def _changed(self) -> list[str]:
        """Return faults of units that do not survive a front end or do not reach the next request."""
        faults = []
        for name, returned in _front_ends(self._client, self._name).items():
            before, after = (self._client.restore(held, self._name) for held in returned(self._client))
            turns = _without(after.turns, before.turns)
            found = self._lost(turns, every=returned is _as_is) or self._unsent(after, turns)
            faults += [f"{name}: {fault}" for fault in found]
        return faults

    def _lost(self, turns: Sequence[Turn], *, every: bool) -> list[str]:
        """Return faults of units that are not in the stream's turns, or in another order.

        Earlier turns do not count: a front end may have lost something of them, and units may be equal.
        """
        returned = [part for turn in turns for part in turn.parts]
        expected = [unit for unit in self.units if unit.vital or every]
        lost = [unit for unit in expected if unit.part not in returned]
        if lost:
            return [f"{unit.name}: it does not come back unchanged" for unit in lost]
        parts = [unit.part for unit in expected]
        same = _placed(self._turns, parts) == _placed(turns, parts)
        return [] if same else ["the units come back in another order"]

    def _unsent(self, history: History, turns: Sequence[Turn]) -> list[str]:
        """Return faults of units that are missing from the next request, or out of order.

        Units are matched by equality and in order, within the stream's turns: front ends rename messages.
        """
        request = build_request(None, history, origin=self._target, policy=self._own, on_warning=ignore)
        answered = {m.tool_call_id for m in history.messages if isinstance(m, ToolMessage)}
        reported = [
            (part, any(turn is one for one in turns))
            for turn in history.turns
            for part in turn.parts
            if _is_reported(part) or _is_cut(part, answered)
        ]
        missing = dict(enumerate(self.units))
        sent: list[str] = []
        faults: list[str] = []
        for (part, is_ours), entry in zip(reported, request.report, strict=True):
            number = next((number for number, unit in missing.items() if is_ours and unit.part == part), None)
            if number is None:
                continue
            unit = missing.pop(number)
            if entry.outcome == "echoed":
                self._sent.add(number)
                sent += [value.value for value in getattr(part, "opaque", ()) if value.value]
            elif number in self._sent or not self._is_settled(unit, entry):
                faults.append(f"{unit.name}: {_explain(entry.reason)}{_kind_suggestion(part, entry.reason)}")
        found = _strings(request.body)
        if not faults and not all(value in found for value in dict.fromkeys(sent)):  # a subsequence
            faults.append("the values in the request differ from those of the stream, or their order does")
        return faults

    def _is_settled(self, unit: ExpectedUnit, entry: ReportEntry) -> bool:
        """Return whether a unit is omitted because of the provider's rules and not the stream."""
        if entry.reason == "orphan":
            return not self._is_followed(unit)
        # A gateway that needs no signatures itself omits text that its upstream did not sign.
        unsigned = entry.reason == "missing_signature" and self._rule.needs != "signature"
        return unsigned or entry.reason in _SETTLED

    def _is_followed(self, unit: ExpectedUnit) -> bool:
        """Return whether the client shows model output after a unit that its turn does not include."""
        behind_it = unit.turn.parts[unit.turn.parts.index(unit.part) :]
        if not unit.messages or not all(isinstance(part, ReasoningPart) for part in behind_it):
            return False
        if self._units_per_message[unit.messages[-1]] > 1:
            return False  # it may be carried by a much earlier message
        messages = [m for m in self._client.after if m.get("subagentRunId") == self._name]
        place = next(number for number, message in enumerate(messages) if message["id"] == unit.messages[-1])
        follower = next((message for message in messages[place:] if message["role"] != "reasoning"), None)
        if follower is None or follower["role"] != "assistant":
            return False
        return _response_of(follower) in (None, _response_of(messages[place]))

    def _unexpected(self) -> list[str]:
        """Return a fault if merged reasoning restores units that no model produced."""
        if self._name is not None:
            return []
        known = [part for lane in self._client.lanes for part in self._reasoning(self._client.after, lane)]
        restored = self._reasoning(tanstack(self._client.after), None)
        wrong = [part for part in restored if part not in known]
        return [f"TanStack: {len(wrong)} unit(s) come back that no model produced"] if wrong else []

    def _reasoning(self, messages: Messages, lane: str | None) -> list[ReasoningPart]:
        parts = _parts(self._client.restore(messages, lane))
        return [
            replace(part, ext=None)
            for part in parts
            if isinstance(part, ReasoningPart) and part.status == "complete"
        ]


_Returned: TypeAlias = Callable[[Client], tuple[Messages, Messages]]
"""Returns the messages that a front end held before the stream, and those after it."""


def _as_is(client: Client) -> tuple[Messages, Messages]:
    return client.before, client.after


def _assistant_ui(client: Client) -> tuple[Messages, Messages]:
    before = assistant_ui(client.before)
    if client.has_snapshot:
        return before, assistant_ui(client.after)
    return before, client.through(before, AssistantUI())


def _tanstack(client: Client) -> tuple[Messages, Messages]:
    before = tanstack(client.before)
    name = next(unused_names(before, client.after))
    return before, client.through(before, TanStack(name), Steps())


_KEEP_SUBAGENTS: dict[str, _Returned] = {
    "as it is": _as_is,
    "CopilotKit": lambda client: (copilotkit(client.before), copilotkit(client.after)),
}
_OWN_MESSAGES: dict[str, _Returned] = {**_KEEP_SUBAGENTS, "assistant-ui": _assistant_ui}


def _front_ends(client: Client, lane: str | None) -> dict[str, _Returned]:
    """Return the front ends that lose nothing of a conversation.

    TanStack does not tell subagents apart, and a snapshot replaces the messages that it keeps.
    """
    if lane is not None:
        return _KEEP_SUBAGENTS
    if client.has_snapshot or len(client.lanes) > 1:
        return _OWN_MESSAGES
    return {**_OWN_MESSAGES, "TanStack": _tanstack}


def _placed(turns: Sequence[Turn], parts: Sequence[Part]) -> list[Part]:
    """Return the given parts in order, skipping responses that show nothing and thus have no position."""
    placed = [turn for turn in turns if any(_is_visible(part) for part in turn.parts)]
    return [part for turn in placed for part in turn.parts if part in parts]


def _is_visible(part: Part) -> bool:
    return isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and not part.text.isspace())


def _is_reported(part: Part) -> bool:
    """Return whether the report of a request always has an entry for a part."""
    return isinstance(part, ReasoningPart | NativePart) or bool(getattr(part, "opaque", ()))


def _is_cut(part: Part, answered: set[str]) -> bool:
    """Return whether a part is a call that is never sent back."""
    if not isinstance(part, ToolCallPart):
        return False
    return part.status == "incomplete" or not (part.server or part.id in answered or is_readable(part))


def _holds(part: ReasoningPart, piece: ReasoningPart) -> bool:
    """Return whether a unit equals, or as a resumed unit contains, the unit of a single message."""
    size = len(piece.segments)
    starts = range(len(part.segments) - size + 1)
    return (
        piece.item_id in (None, part.item_id)
        and all(opaque in part.opaque for opaque in piece.opaque)
        and any(part.segments[start : start + size] == piece.segments for start in starts)
    )


def _claim(
    part: ReasoningPart, remaining: list[_Piece], responses: Mapping[str, str | None]
) -> tuple[str, ...]:
    """Remove and return the messages that show or carry a unit, in order."""
    names: list[str] = []
    missing = max(1, len(part.segments))
    for name, piece in list(remaining):
        if (
            missing > 0
            and responses[name] == responses.get(part.seen, responses[name])
            and _holds(part, piece)
        ):
            missing -= max(1, len(piece.segments))
            names.append(name)
            remaining.remove((name, piece))
    return tuple(names)


def _parts(history: History) -> Iterator[Part]:
    return (part for turn in history.turns for part in turn.parts)


def _without(turns: Iterable[Turn], known: Iterable[Turn]) -> list[Turn]:
    """Return the new turns."""
    remaining = list(turns)
    for turn in known:
        if turn in remaining:
            remaining.remove(turn)
    return remaining


def _explain(reason: str) -> str:
    return _REASONS.get(reason, f"it was dropped ({reason})")


def _kind_suggestion(part: Part, reason: str) -> str:
    """Suggest a known kind if the required value is missing and a value has an unknown kind."""
    if reason not in ("missing_signature", "missing_encrypted"):
        return ""
    known = sorted({kind for group in groups() for kind in group.kinds})
    kinds = [value.kind for value in getattr(part, "opaque", ()) if value.kind not in known]
    return "".join(
        f"; it has a value of the kind {kind!r}. {did_you_mean(kind, known)}".rstrip() for kind in kinds
    )


def _response_of(message: Mapping[str, Any]) -> str | None:
    """Return the response ID that a message names in its hint."""
    entities = (message, *message.get("toolCalls", ()))
    return next((hint["response"] for entity in entities if "response" in (hint := hint_of(entity))), None)


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings of a body in order; bytes as base64, as values keep them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield b64encode(value).decode("ascii")
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _strings(inner)
