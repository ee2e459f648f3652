"""Verification: checks the order of events, open items and their owners. A violation ends the run.

A table has one handler per event type; the life cycle of the run is a table of states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

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


@dataclass(slots=True)
class _Run:
    """The open items of a run, and the owners of all items.

    Owners are kept after the end of an item, because later events that refer to it are checked too (C30). IDs
    are unique only within a kind, so each kind has its own record of owners; spans and reasoning messages
    share one (C28).
    """

    thread_id: str = ""
    run_id: str = ""
    texts: dict[str, None] = field(default_factory=dict)
    calls: dict[str, None] = field(default_factory=dict)
    spans: dict[str, None] = field(default_factory=dict)
    thoughts: dict[str, None] = field(default_factory=dict)
    steps: dict[tuple[LaneOwner, str], None] = field(default_factory=dict)
    subagents: dict[str, None] = field(default_factory=dict)
    ended_subagents: set[str] = field(default_factory=set)
    text_owners: Owners = field(default_factory=dict)
    call_owners: Owners = field(default_factory=dict)
    thought_owners: Owners = field(default_factory=dict)
    activity_owners: Owners = field(default_factory=dict)

    def open_things(self) -> Iterable[str]:
        """Yield the names of the open items."""
        for noun, names in (
            ("text message", self.texts),
            ("reasoning message", self.thoughts),
            ("reasoning span", self.spans),
            ("tool call", self.calls),
            ("subagent", self.subagents),
        ):
            yield from (f"{noun} {quoted(name)}" for name in names)
        yield from (f"step {quoted(name)} of {faults.owner_name(owner)}" for owner, name in self.steps)


class Verifier:
    """Verifies one stream after another.

    Attributes:
        phase: The phase of the stream.

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

    def fail(self) -> None:
        """Mark the run as failed: only a new run may follow."""
        self.phase = Phase.FAILED

    def close(self) -> None:
        """Signal the end of the stream."""
        self.phase = Phase.NEW

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
        self._check_interrupts(event)
        left = list(self._run.open_things())
        if left:  # last, so that the notices about the event are not lost
            raise faults.left_open(event, left, self.state)

    def _check_interrupts(self, event: JSONObject) -> None:
        seen: set[str] = set()
        for interrupt in event.get("outcome", {}).get("interrupts", ()):
            if interrupt["id"] in seen:
                self._contradiction(faults.duplicate_interrupt(event, interrupt["id"], self.state))
            seen.add(interrupt["id"])

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
            _claim(_owners_by_role(self._run, message["role"]), message["id"], owner, replace=replace)
            for call in message.get("toolCalls", ()):
                _claim(self._run.call_owners, call["id"], owner, replace=replace)

    def _snapshot(self, event: JSONObject) -> None:
        self._seed(event["messages"], replace=True)

    # -- text

    def _text_start(self, event: JSONObject) -> None:
        self._start(event, self._run.texts, self._run.text_owners, "text message", event["messageId"])

    def _text_content(self, event: JSONObject) -> None:
        self._inside(event, self._run.texts, "text message", event["messageId"], "TEXT_MESSAGE_START")
        self._agree(event, self._run.text_owners, "text message", event["messageId"])

    def _text_end(self, event: JSONObject) -> None:
        self._text_content(event)
        del self._run.texts[event["messageId"]]

    def _start(
        self, event: JSONObject, opened: dict[str, None], owners: Owners, noun: str, name: str
    ) -> None:
        if name in opened:
            raise faults.already_open(event, noun, name, self.state)
        self._agree(event, owners, noun, name)
        opened[name] = None
        _claim(owners, name, event.get("subagentRunId"), replace=False)

    def _inside(self, event: JSONObject, opened: dict[str, None], noun: str, name: str, opener: str) -> None:
        if name not in opened:
            raise faults.not_open(event, noun, name, opener, self.state)

    # -- tool calls

    def _call_start(self, event: JSONObject) -> None:
        name, run = event["toolCallId"], self._run
        if name in run.calls:
            raise faults.already_open(event, "tool call", name, self.state)
        owner: LaneOwner = event.get("subagentRunId")
        settled = owner is not None
        if "parentMessageId" in event and event["parentMessageId"] in run.text_owners:
            # Without a tag, the owner of a call is the owner of its message.
            self._agree(event, run.text_owners, "parent message", event["parentMessageId"])
            owner, settled = run.text_owners[event["parentMessageId"]], True
        if settled and run.call_owners.get(name, owner) != owner:
            raise faults.owner_mismatch(event, "tool call", name, run.call_owners[name], self.state)
        self._run.calls[name] = None
        _claim(self._run.call_owners, name, owner, replace=False)

    def _call_args(self, event: JSONObject) -> None:
        self._inside(event, self._run.calls, "tool call", event["toolCallId"], "TOOL_CALL_START")
        self._agree(event, self._run.call_owners, "tool call", event["toolCallId"])

    def _call_end(self, event: JSONObject) -> None:
        self._call_args(event)
        del self._run.calls[event["toolCallId"]]

    def _call_result(self, event: JSONObject) -> None:
        _claim(self._run.text_owners, event["messageId"], event.get("subagentRunId"), replace=True)

    # -- reasoning

    def _span_start(self, event: JSONObject) -> None:
        self._start(event, self._run.spans, self._run.thought_owners, "reasoning span", event["messageId"])

    def _span_end(self, event: JSONObject) -> None:
        self._inside(event, self._run.spans, "reasoning span", event["messageId"], "REASONING_START")
        self._agree(event, self._run.thought_owners, "reasoning span", event["messageId"])
        del self._run.spans[event["messageId"]]

    def _thought_start(self, event: JSONObject) -> None:
        run = self._run
        self._start(event, run.thoughts, run.thought_owners, "reasoning message", event["messageId"])

    def _thought_content(self, event: JSONObject) -> None:
        opener = "REASONING_MESSAGE_START"
        self._inside(event, self._run.thoughts, "reasoning message", event["messageId"], opener)
        self._agree(event, self._run.thought_owners, "reasoning message", event["messageId"])

    def _thought_end(self, event: JSONObject) -> None:
        self._thought_content(event)
        del self._run.thoughts[event["messageId"]]

    def _encrypted_value(self, event: JSONObject) -> None:
        name, run = event["entityId"], self._run
        if event["subtype"] == "tool-call":
            self._agree(event, run.call_owners, "tool call", name)
        else:
            owners = run.text_owners if name in run.text_owners else run.thought_owners
            self._agree(event, owners, "message", name)

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
        _claim(self._run.activity_owners, event["messageId"], event.get("subagentRunId"), replace=replaces)

    def _activity_delta(self, event: JSONObject) -> None:
        self._agree(event, self._run.activity_owners, "activity", event["messageId"])

    def _subagent_started(self, event: JSONObject) -> None:
        name, parent, run = event["subagentRunId"], event.get("parentSubagentRunId"), self._run
        if name in run.subagents:
            raise faults.subagent_order(event, name, "is already active", self.state)
        if name in run.ended_subagents:
            raise faults.subagent_order(event, name, "has already ended in this run", self.state)
        if parent is not None and parent not in run.subagents and parent not in run.ended_subagents:
            problem = f"has a parent that never started, {quoted(parent)}"
            raise faults.subagent_order(event, name, problem, self.state)
        run.subagents[name] = None

    def _subagent_ended(self, event: JSONObject) -> None:
        name = event["subagentRunId"]
        if name not in self._run.subagents:
            raise faults.subagent_order(event, name, "is not active", self.state)
        del self._run.subagents[name]
        self._run.ended_subagents.add(name)


def _claim(owners: Owners, name: str, owner: LaneOwner, *, replace: bool) -> None:
    if replace or name not in owners:
        owners[name] = owner


def _owners_by_role(run: _Run, role: str) -> Owners:
    return {"reasoning": run.thought_owners, "activity": run.activity_owners}.get(role, run.text_owners)


_CHECKS: Final[dict[str, Callable[[Verifier, JSONObject], None]]] = {
    "RUN_STARTED": Verifier._run_started,
    "RUN_FINISHED": Verifier._run_finished,
    "TEXT_MESSAGE_START": Verifier._text_start,
    "TEXT_MESSAGE_CONTENT": Verifier._text_content,
    "TEXT_MESSAGE_END": Verifier._text_end,
    "TOOL_CALL_START": Verifier._call_start,
    "TOOL_CALL_ARGS": Verifier._call_args,
    "TOOL_CALL_END": Verifier._call_end,
    "TOOL_CALL_RESULT": Verifier._call_result,
    "MESSAGES_SNAPSHOT": Verifier._snapshot,
    "REASONING_START": Verifier._span_start,
    "REASONING_END": Verifier._span_end,
    "REASONING_MESSAGE_START": Verifier._thought_start,
    "REASONING_MESSAGE_CONTENT": Verifier._thought_content,
    "REASONING_MESSAGE_END": Verifier._thought_end,
    "REASONING_ENCRYPTED_VALUE": Verifier._encrypted_value,
    "STEP_STARTED": Verifier._step_started,
    "STEP_FINISHED": Verifier._step_finished,
    "ACTIVITY_SNAPSHOT": Verifier._activity_snapshot,
    "ACTIVITY_DELTA": Verifier._activity_delta,
    "SUBAGENT_STARTED": Verifier._subagent_started,
    "SUBAGENT_FINISHED": Verifier._subagent_ended,
    "SUBAGENT_ERROR": Verifier._subagent_ended,
}
