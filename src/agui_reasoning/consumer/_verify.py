"""Verification: checks the order of events, open items and their owners. A violation ends the run.

A table has one handler per event type; the life cycle of the run is a table of states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer import _faults as faults
from agui_reasoning.consumer._faults import Notice, NoticeSink, quoted
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.protocol import PROTOCOL_VERSION

LaneOwner: TypeAlias = str | None
Owners: TypeAlias = dict[str, LaneOwner]

_VERSION = re.compile(r"(\d+)\.(\d+)")


class Phase(Enum):
    """The phase of a stream; the value is its name in errors."""

    NEW = "before any run"
    OPEN = "in a run"
    FINISHED = "after RUN_FINISHED"
    FAILED = "after the run has failed"


_RUN_EVENTS: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"})
_OTHER: Final = "any other event"
_NEXT: Final[dict[tuple[Phase, str], Phase]] = {
    (Phase.NEW, "RUN_STARTED"): Phase.OPEN,
    (Phase.NEW, "RUN_ERROR"): Phase.FAILED,
    (Phase.OPEN, _OTHER): Phase.OPEN,
    (Phase.OPEN, "RUN_FINISHED"): Phase.FINISHED,
    (Phase.OPEN, "RUN_ERROR"): Phase.FAILED,
    (Phase.FINISHED, "RUN_STARTED"): Phase.OPEN,
    (Phase.FINISHED, "RUN_ERROR"): Phase.FAILED,
    (Phase.FAILED, "RUN_STARTED"): Phase.OPEN,
}
_REFUSED: Final = {
    Phase.NEW: "came before RUN_STARTED: the first event must be RUN_STARTED or RUN_ERROR.",
    Phase.OPEN: "came while a run is still active.",
    Phase.FINISHED: "came after RUN_FINISHED.",
    Phase.FAILED: "came after the run has failed.",
}


class _Kind(Struct, frozen=True):
    """A kind of items: its name, the field with the ID, the record of owners, and the start event."""

    noun: str
    id: str
    owners: str
    opener: str


_TEXT: Final = _Kind("text message", "messageId", "text", "TEXT_MESSAGE_START")
_THOUGHT: Final = _Kind("reasoning message", "messageId", "thought", "REASONING_MESSAGE_START")
_SPAN: Final = _Kind("reasoning span", "messageId", "thought", "REASONING_START")
_CALL: Final = _Kind("tool call", "toolCallId", "call", "TOOL_CALL_START")
_SUBAGENT: Final = "subagent"
_NOUNS: Final = (_TEXT.noun, _THOUGHT.noun, _SPAN.noun, _CALL.noun, _SUBAGENT)
_RECORDS: Final = ("text", "call", "thought", "activity")


@dataclass(slots=True)
class _Run:
    """The open items of a run by kind, and the owners of all items.

    Owners are kept after the end of an item, because later events that refer to it are checked too (C30). IDs
    are unique only within a kind, so each kind has its own record of owners; spans and reasoning messages
    share one (C28).
    """

    thread_id: str = ""
    run_id: str = ""
    open: dict[str, dict[str, None]] = field(default_factory=lambda: {noun: {} for noun in _NOUNS})
    owners: dict[str, Owners] = field(default_factory=lambda: {record: {} for record in _RECORDS})
    steps: dict[tuple[LaneOwner, str], None] = field(default_factory=dict)
    ended_subagents: set[str] = field(default_factory=set)

    def open_things(self) -> Iterable[str]:
        """Yield the names of the open items."""
        for noun, names in self.open.items():
            yield from (f"{noun} {quoted(name)}" for name in names)
        yield from (f"step {quoted(name)} of {faults.owner_name(owner)}" for owner, name in self.steps)


class Verifier:
    """Verifies one stream after another.

    Source:
        AG-UI 1.1: C26 to C33, V2.
    """

    def __init__(
        self, warn: NoticeSink, thread_id: str | None = None, *, strict_identity: bool = False
    ) -> None:
        self._warn = warn
        self._strict_identity = strict_identity
        self._thread_id = thread_id
        self._run = _Run()
        self.phase = Phase.NEW

    @property
    def state(self) -> str:
        """The name of the phase in errors."""
        return self.phase.value

    def receive(self, event: JSONObject) -> None:
        """Check one expanded event.

        Raises:
            RemoteProtocolError: The event breaks the protocol.
        """
        kind: str = event["type"]
        phase = _NEXT.get((self.phase, kind if kind in _RUN_EVENTS else _OTHER))
        if phase is None:
            raise faults.run_order(event, _REFUSED[self.phase], self.state)
        check = _CHECKS.get(kind)
        if check is not None:
            check(self, event)
        self.phase = phase

    # -- the run

    def _run_started(self, event: JSONObject) -> None:
        self._check_version(event)
        if self._thread_id not in (None, event["threadId"]):
            self._identity(event, f"is on another thread, {quoted(event['threadId'])}")
        self._thread_id = event["threadId"]
        self._run = _Run(event["threadId"], event["runId"])
        self._seed(event.get("input", {}).get("messages", ()), replace=False)

    def _check_version(self, event: JSONObject) -> None:
        declared = event.get("protocolVersion")
        if declared is None:
            return
        version, supported = _VERSION.fullmatch(declared), _VERSION.fullmatch(PROTOCOL_VERSION)
        if version is None or supported is None:
            problem = f"a protocol version that this consumer cannot interpret, {declared[:40]!r}"
        elif tuple(map(int, version.groups())) > tuple(map(int, supported.groups())):
            problem = (
                f"protocol version {quoted(declared)}, newer than the {PROTOCOL_VERSION!r} of this consumer"
            )
        else:
            return
        message = f"RUN_STARTED declares {problem}; unknown material will be removed."
        remedy = "Declare the version as MAJOR.MINOR; if it is correct, use a newer consumer."
        self._warn(Notice("newer_version", message, remedy))

    def _run_finished(self, event: JSONObject) -> None:
        if event["runId"] != self._run.run_id:
            self._identity(event, f"names another run, {quoted(event['runId'])}")
        if event["threadId"] != self._run.thread_id:
            self._identity(event, f"names another thread, {quoted(event['threadId'])}")
        seen: set[str] = set()
        for interrupt in event.get("outcome", {}).get("interrupts", ()):
            if interrupt["id"] in seen:
                self._contradiction(faults.duplicate_interrupt(event, interrupt["id"], self.state))
            seen.add(interrupt["id"])
        left = list(self._run.open_things())
        if left:  # last, so that the notices about the event are not lost
            raise faults.left_open(event, left, self.state)

    def _identity(self, event: JSONObject, problem: str) -> None:
        self._contradiction(faults.run_identity(event, problem, self.state))

    def _contradiction(self, error: RemoteProtocolError) -> None:
        # Fatal in the specification, but tested only by the draft's streams, and @ag-ui/client 1.0.0 does not
        # check it (C33): a warning, unless the user asks for the draft's rule.
        if self._strict_identity:
            raise error
        self._warn(Notice(error.code, error.args[0], error.hint))

    # -- owners

    def _agree(self, event: JSONObject, owners: Owners, noun: str, name: str) -> None:
        """Reject a tag that differs from the owner's. Events without a tag are valid (C30)."""
        tag = event.get("subagentRunId")
        if tag is not None and owners.get(name, tag) != tag:
            raise faults.owner_mismatch(event, noun, name, owners[name], self.state)

    def _seed(self, messages: Iterable[JSONObject], *, replace: bool) -> None:
        """Record the owners of messages; those of a snapshot replace earlier owners (C31)."""
        for message in messages:
            owner = message.get("subagentRunId")
            record = _OWNERS_BY_ROLE.get(message["role"], "text")
            _claim(self._run.owners[record], message["id"], owner, replace=replace)
            for call in message.get("toolCalls", ()):
                _claim(self._run.owners["call"], call["id"], owner, replace=replace)

    def _snapshot(self, event: JSONObject) -> None:
        self._seed(event["messages"], replace=True)

    # -- messages and tool calls

    def _call_start(self, event: JSONObject) -> None:
        name, run = event["toolCallId"], self._run
        if name in run.open[_CALL.noun]:
            raise faults.already_open(event, _CALL.noun, name, self.state)
        owners, texts = run.owners["call"], run.owners["text"]
        owner: LaneOwner = event.get("subagentRunId")
        settled = owner is not None
        if "parentMessageId" in event and event["parentMessageId"] in texts:
            # Without a tag, the owner of a call is the owner of its message.
            self._agree(event, texts, "parent message", event["parentMessageId"])
            owner, settled = texts[event["parentMessageId"]], True
        if settled and owners.get(name, owner) != owner:
            raise faults.owner_mismatch(event, _CALL.noun, name, owners[name], self.state)
        run.open[_CALL.noun][name] = None
        _claim(owners, name, owner, replace=False)

    def _call_result(self, event: JSONObject) -> None:
        _claim(self._run.owners["text"], event["messageId"], event.get("subagentRunId"), replace=True)

    def _encrypted_value(self, event: JSONObject) -> None:
        name, owners = event["entityId"], self._run.owners
        if event["subtype"] == "tool-call":
            self._agree(event, owners["call"], "tool call", name)
        else:
            self._agree(event, owners["text" if name in owners["text"] else "thought"], "message", name)

    # -- steps, activities, subagents

    def _step_started(self, event: JSONObject) -> None:
        step = (event.get("subagentRunId"), event["stepName"])
        if step in self._run.steps:
            raise faults.already_open(event, "step", event["stepName"], self.state)
        self._run.steps[step] = None

    def _step_finished(self, event: JSONObject) -> None:
        step = (event.get("subagentRunId"), event["stepName"])
        if step not in self._run.steps:
            noun = f"step of {faults.owner_name(step[0])}"
            raise faults.not_open(event, noun, event["stepName"], "STEP_STARTED", self.state)
        del self._run.steps[step]

    def _activity_snapshot(self, event: JSONObject) -> None:
        replaces = event.get("replace", True)
        _claim(self._run.owners["activity"], event["messageId"], event.get("subagentRunId"), replace=replaces)

    def _activity_delta(self, event: JSONObject) -> None:
        self._agree(event, self._run.owners["activity"], "activity", event["messageId"])

    def _subagent_started(self, event: JSONObject) -> None:
        name, parent = event["subagentRunId"], event.get("parentSubagentRunId")
        active, ended = self._run.open[_SUBAGENT], self._run.ended_subagents
        if name in active:
            raise faults.subagent_order(event, name, "is already active", self.state)
        if name in ended:
            raise faults.subagent_order(event, name, "has already ended in this run", self.state)
        if parent is not None and parent not in active and parent not in ended:
            problem = f"has a parent that never started, {quoted(parent)}"
            raise faults.subagent_order(event, name, problem, self.state)
        active[name] = None

    def _subagent_ended(self, event: JSONObject) -> None:
        name, active = event["subagentRunId"], self._run.open[_SUBAGENT]
        if name not in active:
            raise faults.subagent_order(event, name, "is not active", self.state)
        del active[name]
        self._run.ended_subagents.add(name)


_Check: TypeAlias = Callable[[Verifier, JSONObject], None]


def _claim(owners: Owners, name: str, owner: LaneOwner, *, replace: bool) -> None:
    if replace or name not in owners:
        owners[name] = owner


_OWNERS_BY_ROLE: Final = {"reasoning": "thought", "activity": "activity"}


def _starts(kind: _Kind) -> _Check:
    def check(verifier: Verifier, event: JSONObject) -> None:
        run, name = verifier._run, event[kind.id]
        opened, owners = run.open[kind.noun], run.owners[kind.owners]
        if name in opened:
            raise faults.already_open(event, kind.noun, name, verifier.state)
        verifier._agree(event, owners, kind.noun, name)
        opened[name] = None
        _claim(owners, name, event.get("subagentRunId"), replace=False)

    return check


def _continues(kind: _Kind, *, ends: bool = False) -> _Check:
    def check(verifier: Verifier, event: JSONObject) -> None:
        run, name = verifier._run, event[kind.id]
        opened = run.open[kind.noun]
        if name not in opened:
            raise faults.not_open(event, kind.noun, name, kind.opener, verifier.state)
        verifier._agree(event, run.owners[kind.owners], kind.noun, name)
        if ends:
            del opened[name]

    return check


_CHECKS: Final[dict[str, _Check]] = {
    "RUN_STARTED": Verifier._run_started,
    "RUN_FINISHED": Verifier._run_finished,
    "TEXT_MESSAGE_START": _starts(_TEXT),
    "TEXT_MESSAGE_CONTENT": _continues(_TEXT),
    "TEXT_MESSAGE_END": _continues(_TEXT, ends=True),
    "TOOL_CALL_START": Verifier._call_start,
    "TOOL_CALL_ARGS": _continues(_CALL),
    "TOOL_CALL_END": _continues(_CALL, ends=True),
    "TOOL_CALL_RESULT": Verifier._call_result,
    "MESSAGES_SNAPSHOT": Verifier._snapshot,
    "REASONING_START": _starts(_SPAN),
    "REASONING_END": _continues(_SPAN, ends=True),
    "REASONING_MESSAGE_START": _starts(_THOUGHT),
    "REASONING_MESSAGE_CONTENT": _continues(_THOUGHT),
    "REASONING_MESSAGE_END": _continues(_THOUGHT, ends=True),
    "REASONING_ENCRYPTED_VALUE": Verifier._encrypted_value,
    "STEP_STARTED": Verifier._step_started,
    "STEP_FINISHED": Verifier._step_finished,
    "ACTIVITY_SNAPSHOT": Verifier._activity_snapshot,
    "ACTIVITY_DELTA": Verifier._activity_delta,
    "SUBAGENT_STARTED": Verifier._subagent_started,
    "SUBAGENT_FINISHED": Verifier._subagent_ended,
    "SUBAGENT_ERROR": Verifier._subagent_ended,
}
