"""Reduction: applies verified events to messages, state and run status.

A table has one handler per event type. Its cost depends on the size of the event only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, TypeAlias
from weakref import ref

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._faults import Notice, NoticeSink, quoted
from agui_reasoning.consumer._history import HeldCall, HeldMessage, HeldMessages, kind_of
from agui_reasoning.consumer._patch import Document, PatchError
from agui_reasoning.consumer._schema_types import copy_json

RunStatus: TypeAlias = Literal[
    "idle", "running", "finished", "interrupted", "cancelled", "failed", "truncated"
]

_UNIQUE_IDS = "Use each ID for only one message of the thread, whatever its role."
_OUTCOMES: Final[dict[str, RunStatus]] = {
    "success": "finished",
    "interrupt": "interrupted",
    "cancelled": "cancelled",
}


class Reducer:
    """Holds the messages and state of a client.

    Attributes:
        interrupts: The interrupts of the latest finished run, as JSON.
        changed: The IDs of the messages changed since this was last emptied, in order.
        growth: The deltas that the last event was appended to, if any.

    Source:
        AG-UI 1.1: C36 to C56.
    """

    def __init__(self, warn: NoticeSink, state: Any) -> None:
        self._warn = warn
        self._state = Document(state)
        self._calls: dict[str, bool] = {}
        self._named: list[str] | None = None
        self.history = HeldMessages()
        self.status: RunStatus = "idle"
        self.interrupts: list[JSONObject] = []
        self.changed: dict[str, None] = {}
        self.growth: list[str] | None = None

    def apply(self, event: JSONObject) -> None:
        """Apply one verified event."""
        self.growth = None
        handler = _HANDLERS.get(event["type"])
        if handler is not None:
            handler(self, event)

    # -- the interface for conversations

    def state(self) -> Any:
        """Return the state; later changes do not affect the returned object."""
        return self._state.value

    def pending_calls(self) -> list[HeldCall]:
        """Return the calls that wait for a result from the client (C55).

        These are the calls that the producer named, else the unanswered calls of this run; none after a run
        that failed, was cancelled, interrupted or truncated.
        """
        if self.status not in ("idle", "running", "finished"):
            return []
        names = self._calls if self._named is None else self._named
        open_names = [name for name in names if not self._calls.get(name, False)]
        return [call for name in open_names if (call := self.history.call(name)) is not None]

    def hold(self, messages: Iterable[JSONObject]) -> None:
        """Add messages; their calls without results are pending."""
        for message in messages:
            self.history.append(HeldMessage.of(message))
            for call in message.get("toolCalls", ()):
                self._calls.setdefault(call["id"], False)
            if message["role"] == "tool":
                self._calls[message["toolCallId"]] = True

    def resume(self, status: RunStatus, interrupts: list[JSONObject], pending: list[str] | None) -> None:
        """Restore the outcome of the latest run; without ``pending``, calls without results are pending."""
        self.status, self.interrupts, self._named = status, copy_json(interrupts), pending

    def add_result(self, message: JSONObject) -> None:
        """Insert a tool message after its call (C40)."""
        self._calls[message["toolCallId"]] = True
        record = HeldMessage.of(message)
        call = self.history.call(message["toolCallId"])
        if call is None:
            self.history.append(record)
        else:
            self.history.insert_result(record, call)

    def has_result(self, call_id: str) -> bool:
        return self._calls.get(call_id, False)

    # -- the run

    def _run_started(self, event: JSONObject) -> None:
        self.status = "running"
        self._calls = {}
        self._named = None
        for message in event.get("input", {}).get("messages", ()):
            if self.history.get(message["id"]) is None:  # echoed messages are added, but replace none (C49)
                self._touch(self._append(HeldMessage.of(message)))

    def _run_finished(self, event: JSONObject) -> None:
        outcome = event.get("outcome", {"type": "success"})
        self.status = _OUTCOMES[outcome["type"]]
        self.interrupts = copy_json(outcome.get("interrupts", []))
        self._named = list(outcome.get("pendingToolCallIds", ())) or None

    def _run_error(self, event: JSONObject) -> None:
        self.status = "failed"

    # -- text and reasoning

    def _start(self, event: JSONObject) -> None:
        """Append a new message, or continue the one with the same ID (C36, C37, C42)."""
        role = event.get("role", "assistant")
        record = self.history.get(event["messageId"])
        if record is None:
            record = HeldMessage(event["messageId"], role, members=_some(event, ("name", "subagentRunId")))
            record.deltas()
            self._append(record)
        elif record.role == "activity":
            self._shared(event, record)
            return
        elif record.role != role and ("role" in event or record.role in ("reasoning", "tool")):
            self._shared(event, record)
        self._touch(record, event)

    def _continue(self, event: JSONObject) -> None:
        record = self._target(event)
        if record is not None:
            if "delta" in event:
                self._grow(record.deltas(), event)
            self._touch(record, event)

    def _target(self, event: JSONObject) -> HeldMessage | None:
        """Return the message for streamed text, unless a snapshot has removed it (C48)."""
        record = self.history.get(event["messageId"])
        if record is None:
            self._lost(event, f"the message {quoted(event['messageId'])} is unknown")
            return None
        if record.role == "activity":
            self._lost(event, f"the message {quoted(event['messageId'])} is an activity")
            return None
        return record

    # -- tool calls

    def _call_start(self, event: JSONObject) -> None:
        self._calls.setdefault(event["toolCallId"], False)
        call = self.history.call(event["toolCallId"])
        if call is None:
            owner = self._call_owner(event)
            call = HeldCall(event["toolCallId"], event["toolCallName"], ref(owner))
            self.history.add_call(call)
        elif call.name != event["toolCallName"]:
            what = f"the call {quoted(call.id)} is repeated with another tool name and is renamed"
            remedy = "Repeat the name, or use another ID."
            self._warn(Notice("call_renamed", f"TOOL_CALL_START: {what}.", remedy))
            call.name = event["toolCallName"]
        self._touch_call(call, event)

    def _call_owner(self, event: JSONObject) -> HeldMessage:
        """Return the assistant message for a new call, created if necessary (C39)."""
        name: str = event["parentMessageId" if "parentMessageId" in event else "toolCallId"]
        held = self.history.get(name) if "parentMessageId" in event else None
        if held is not None and held.role == "assistant":
            return held
        if held is not None:
            what = f"is a {held.role} message, not an assistant message"
            message = f"TOOL_CALL_START: its parent {quoted(name)} {what}."
            remedy = "Send the ID of an assistant message, or a new ID, as parentMessageId."
            self._warn(Notice("parent_not_assistant", message, remedy))
            name = event["toolCallId"]
        return self._append(HeldMessage(name, "assistant", members=_some(event, ("subagentRunId",))))

    def _continue_call(self, event: JSONObject) -> None:
        call = self.history.call(event["toolCallId"])
        if call is None:
            self._lost(event, f"the tool call {quoted(event['toolCallId'])} is unknown")
            return
        if "delta" in event:
            self._grow(call.arguments.deltas, event)
        self._touch_call(call, event)

    def _call_result(self, event: JSONObject) -> None:
        message = {"id": event["messageId"], "role": "tool"}
        message |= _some(event, ("toolCallId", "content", "subagentRunId", "metadata"))
        held = self.history.get(event["messageId"])
        if held is None:
            self.add_result(message)
        elif held.role == "tool" and held.members["toolCallId"] == event["toolCallId"]:
            self._calls[event["toolCallId"]] = True
            self.history.replace(held, HeldMessage.of(message))  # the same result again
        else:
            self._shared(event, held)
            self.add_result(message)
        self.changed[event["messageId"]] = None

    def _touch_call(self, call: HeldCall, event: JSONObject) -> None:
        _merge(call.members, event)
        self._touch(call.owner)

    # -- encrypted values

    def _encrypted_value(self, event: JSONObject) -> None:
        """Store a value on the message or call it names; the last one wins (C43, C44)."""
        name = event["entityId"]
        if event["subtype"] == "tool-call":
            call = self.history.call(name)
            members, record = (None, None) if call is None else (call.members, call.owner)
        else:
            record = self.history.get(name)
            members = None if record is None or record.role == "activity" else record.members
        if members is None or record is None:
            noun = "tool call" if event["subtype"] == "tool-call" else "message"
            message = (
                f"REASONING_ENCRYPTED_VALUE is lost: there is no {noun} {quoted(name)} to store it on, so "
                "the next turn cannot return it."
            )
            remedy = "Send the value after the start of its message or tool call; spans are not stored."
            self._warn(Notice("unknown_entity", message, remedy))
            return
        members["encryptedValue"] = event["encryptedValue"]
        members.pop("encryptedValueType", None)
        members.update(_some(event, ("encryptedValueType",)))
        self._touch(record)

    # -- activities

    def _activity_snapshot(self, event: JSONObject) -> None:
        held = self.history.get(event["messageId"])
        if held is None:
            self._append(held := _activity(event, {}))
        elif event.get("replace", True):
            if held.role != "activity":
                self._shared(event, held)
            # Replaces content, type and owner, but keeps the metadata (C51).
            record = _activity(event, _some(held.members, ("metadata",)) if held.role == "activity" else {})
            self.history.replace(held, record)
            held = record
        elif held.role != "activity":
            return
        self._touch(held, event)

    def _activity_delta(self, event: JSONObject) -> None:
        record = self.history.get(event["messageId"])
        if record is None or record.document is None:
            what = "is unknown" if record is None else f"is a {record.role} message"
            self._lost(event, f"the message {quoted(event['messageId'])} {what}")
            return
        self._touch(record, event)
        try:
            record.document.patch(event["patch"], only_object=True)
        except PatchError as fault:
            self._unpatched(event, str(fault))
        else:
            record.members["activityType"] = event["activityType"]

    # -- state

    def _state_snapshot(self, event: JSONObject) -> None:
        self._state = Document(copy_json(event["snapshot"]))

    def _state_delta(self, event: JSONObject) -> None:
        try:
            self._state.patch(event["delta"])
        except PatchError as fault:
            self._unpatched(event, str(fault))

    # -- snapshots

    def _messages_snapshot(self, event: JSONObject) -> None:
        """Replace the messages by those of a snapshot, by ID (C47).

        Existing messages keep their positions. Reasoning and activities are kept if the snapshot contains
        none of the respective kind, because the producer may not track them.
        """
        snapshot = {message["id"]: message for message in event["messages"]}
        kinds = {"other", *(kind_of(message["role"]) for message in event["messages"])}
        for kind in kinds:
            for record in self.history.drop_all(kind, snapshot):
                self.changed[record.id] = None
        for name in snapshot:
            held = self.history.get(name)
            if held is not None:  # a call may have moved to an earlier message
                self.history.release_calls(held)
        for message in snapshot.values():
            record, held = HeldMessage.of(message), self.history.get(message["id"])
            if held is None:
                self.history.append(record)
            else:
                self.history.replace(held, record)
            self.changed[record.id] = None

    # -- helpers

    def _append(self, record: HeldMessage) -> HeldMessage:
        self.history.append(record)
        return record

    def _grow(self, deltas: list[str], event: JSONObject) -> None:
        deltas.append(event["delta"])
        self.growth = deltas

    def _touch(self, record: HeldMessage, event: JSONObject | None = None) -> None:
        """Mark a message as changed, and merge an event's metadata into it (C52)."""
        if event is not None:
            _merge(record.members, event)
        record.touch()
        self.changed[record.id] = None

    def _shared(self, event: JSONObject, held: HeldMessage) -> None:
        name = quoted(held.id)
        message = f"{event['type']} uses the ID {name} of a {held.role} message, so the two are mixed up."
        self._warn(Notice("shared_id", message, _UNIQUE_IDS))

    def _lost(self, event: JSONObject, why: str) -> None:
        message = f"{event['type']} has no effect: {why}."
        remedy = "Refer to an existing message or call; a snapshot removes those it omits."
        self._warn(Notice("unknown_target", message, remedy))

    def _unpatched(self, event: JSONObject, why: str) -> None:
        what = "state" if event["type"] == "STATE_DELTA" else "activity"
        message = f"Failed to apply {what} patch: {why}. The {what} is unchanged."
        remedy = f"Send patches that apply to the {what} of the client, or send a snapshot."
        self._warn(Notice("patch_failed", message, remedy))


def _some(members: JSONObject, names: Iterable[str]) -> JSONObject:
    return {name: copy_json(members[name]) for name in names if name in members}


def _merge(members: JSONObject, event: JSONObject) -> None:
    """Merge metadata: the last value of each top-level key wins (C52)."""
    if "metadata" in event:
        members.setdefault("metadata", {}).update(copy_json(event["metadata"]))


def _activity(event: JSONObject, kept: JSONObject) -> HeldMessage:
    members = kept | _some(event, ("activityType", "subagentRunId"))
    document = Document(copy_json(event["content"]))
    return HeldMessage(event["messageId"], "activity", document=document, members=members)


_HANDLERS: Final[dict[str, Callable[[Reducer, JSONObject], None]]] = {
    "RUN_STARTED": Reducer._run_started,
    "RUN_FINISHED": Reducer._run_finished,
    "RUN_ERROR": Reducer._run_error,
    "TEXT_MESSAGE_START": Reducer._start,
    "TEXT_MESSAGE_CONTENT": Reducer._continue,
    "TEXT_MESSAGE_END": Reducer._continue,
    "REASONING_MESSAGE_START": Reducer._start,
    "REASONING_MESSAGE_CONTENT": Reducer._continue,
    "REASONING_MESSAGE_END": Reducer._continue,
    "REASONING_ENCRYPTED_VALUE": Reducer._encrypted_value,
    "TOOL_CALL_START": Reducer._call_start,
    "TOOL_CALL_ARGS": Reducer._continue_call,
    "TOOL_CALL_END": Reducer._continue_call,
    "TOOL_CALL_RESULT": Reducer._call_result,
    "ACTIVITY_SNAPSHOT": Reducer._activity_snapshot,
    "ACTIVITY_DELTA": Reducer._activity_delta,
    "STATE_SNAPSHOT": Reducer._state_snapshot,
    "STATE_DELTA": Reducer._state_delta,
    "MESSAGES_SNAPSHOT": Reducer._messages_snapshot,
}
"""The handlers. Spans, steps, subagents, RAW and CUSTOM have no effect (C13, C38)."""
