"""Find valid constructs that lose data in real clients, with one check per event type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._history import HeldMessage, kind_of
from agui_reasoning.consumer._notices import Notice, quoted
from agui_reasoning.consumer._reduce import Reducer

__all__ = ["Lints"]

ReportNotice: TypeAlias = Callable[[int, Notice], None]

_NAMED: Final = 10
_OWN_VERSION: Final = "Set `protocolVersion` to the version you emit."


@dataclass(slots=True)
class _Run:
    """What the run under way has shown."""

    thought: bool = False
    hid: bool = False
    raw_at: int | None = None
    started: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Lints:
    """Looks at delivered events; `reducer` is as it was before each of them.

    Attributes:
        reducer: What a client holds.
        report: Told the index and what was found.
    """

    reducer: Reducer
    report: ReportNotice
    _run: _Run = field(default_factory=_Run)
    _chunk: bool = False
    _spans: set[str] = field(default_factory=set)
    _homeless: dict[tuple[str, str], int] = field(default_factory=dict)

    def look(self, event: JSONObject, index: int, *, chunk: bool = False) -> None:
        """Look at one event.

        Args:
            event: As it is delivered.
            index: Where it came.
            chunk: It was made from a chunk.
        """
        self._chunk = chunk
        if self._run.raw_at is None and (event["type"] == "RAW" or "rawEvent" in event):
            self._run.raw_at = index
        lint = _LINTS.get(event["type"])
        if lint is not None:
            lint(self, event, index)

    def close(self) -> None:
        """Say that the stream ended: values whose entity never came are lost."""
        self._end_run()
        for (subtype, name), index in self._homeless.items():
            noun = "tool call" if subtype == "tool-call" else "message"
            what = f"{noun} {quoted(name)}"
            message = f"There is no {what} for this value, in all of the stream: it is lost."
            remedy = "Open the message or tool call it names first; an empty reasoning message will do."
            self.report(index, Notice("unknown_entity", message, remedy))
        self._homeless.clear()

    # -- the run

    def _run_started(self, event: JSONObject, index: int) -> None:
        self._end_run()
        if "protocolVersion" not in event:
            message = "RUN_STARTED does not say which protocol version the producer speaks."
            self.report(index, Notice("missing_version", message, _OWN_VERSION))
        for message in event.get("input", {}).get("messages", ()):
            self._arrived_message(message)

    def _run_ended(self, event: JSONObject, index: int) -> None:
        self._end_run()

    def _end_run(self) -> None:
        if self._run.hid and self._run.raw_at is not None:
            message = "Raw provider data travels beside reasoning whose text is hidden, and may hold it."
            remedy = "Send no RAW and no rawEvent in a run that hides reasoning."
            self.report(self._run.raw_at, Notice("raw_beside_hidden", message, remedy))
        self._run = _Run()

    # -- spans and messages

    def _span(self, event: JSONObject, index: int) -> None:
        self._spans.add(event["messageId"])
        if "metadata" in event:
            message = f"{event['type']} has metadata: spans leave nothing behind, so it is not kept."
            self.report(index, Notice("stored_on_span", message, "Put it on the reasoning message."))

    def _message_start(self, event: JSONObject, index: int) -> None:
        name = event["messageId"]
        thought = event["type"] == "REASONING_MESSAGE_START"
        self._run.thought = self._run.thought or thought
        held = self.reducer.history.get(name)
        # Chunks have no other way to take turns: coming back to an id is how they interleave (C24).
        takes_turns = self._chunk and name in self._run.started
        self._run.started.add(name)
        is_alike = held is not None and held.text is not None and (held.role == "reasoning") == thought
        if is_alike and not takes_turns:
            message = f"The message {quoted(name)} is opened again: what comes is appended to what it has."
            remedy = "Use a new id for each message; history is restated by a snapshot, not streamed again."
            self.report(index, Notice("reopened_id", message, remedy))
        self._arrived("message", name)

    def _thought_end(self, event: JSONObject, index: int) -> None:
        held = self.reducer.history.get(event["messageId"])
        if held is not None and held.text is not None and not held.text.read():
            self._run.hid = True

    # -- tool calls

    def _call_start(self, event: JSONObject, index: int) -> None:
        if "parentMessageId" not in event and self.reducer.history.call(event["toolCallId"]) is None:
            name = quoted(event["toolCallId"])
            message = f"The call {name} names no parentMessageId: clients make up a message."
            remedy = "Name the assistant message of the model's response; parallel calls share it."
            self.report(index, Notice("missing_parent", message, remedy))
        self._arrived("tool-call", event["toolCallId"])
        self._arrived("message", event["parentMessageId" if "parentMessageId" in event else "toolCallId"])

    def _call_result(self, event: JSONObject, index: int) -> None:
        self._arrived("message", event["messageId"])

    # -- values

    def _value(self, event: JSONObject, index: int) -> None:
        name, subtype = event["entityId"], event["subtype"]
        members = self._holder(subtype, name)
        if members is None:
            self._homeless_value(subtype, name, index)
            return
        held = members.get("encryptedValue")
        if held not in (None, event["encryptedValue"]) and not _grows(held, event["encryptedValue"]):
            shown = quoted(name)
            message = f"A second value for {shown} replaces the first: clients keep the last one only."
            remedy = "Send one value per message or tool call, with everything in it."
            self.report(index, Notice("replaced_value", message, remedy))

    def _holder(self, subtype: str, name: str) -> JSONObject | None:
        if subtype == "tool-call":
            call = self.reducer.history.call(name)
            return None if call is None else call.members
        record = self.reducer.history.get(name)
        return None if record is None or record.role == "activity" else record.members

    def _homeless_value(self, subtype: str, name: str, index: int) -> None:
        if subtype == "message" and name in self._spans and self.reducer.history.get(name) is None:
            shown = quoted(name)
            message = f"The value names {shown}, which is a span: spans hold nothing, so it is lost."
            remedy = "Name the reasoning message inside; open an empty one where there is no text."
            self.report(index, Notice("stored_on_span", message, remedy))
        else:
            self._homeless.setdefault((subtype, name), index)

    def _arrived(self, subtype: str, name: str) -> None:
        """Something now exists; a value that came before it was dropped."""
        index = self._homeless.pop((subtype, name), None)
        if index is not None:
            message = f"The value for {quoted(name)} comes before what it belongs to: clients drop it."
            remedy = "Send it after the start of the message or tool call."
            self.report(index, Notice("value_before_entity", message, remedy))

    def _arrived_message(self, message: JSONObject) -> None:
        self._arrived("message", message["id"])
        for call in message.get("toolCalls", ()):
            self._arrived("tool-call", call["id"])

    # -- snapshots

    def _snapshot(self, event: JSONObject, index: int) -> None:
        if self._run.thought:
            message = (
                "A snapshot follows streamed reasoning: some clients then lose it, others show it twice."
            )
            remedy = "Send snapshots at the start of a run, before anything is streamed."
            self.report(index, Notice("snapshot_after_reasoning", message, remedy))
        snapshot = {message["id"]: message for message in event["messages"]}
        kinds = {"other", *(kind_of(message["role"]) for message in event["messages"])}
        held = self.reducer.history.of_kinds(kinds)
        lost = sorted({name for record in held for name in _lost(record, snapshot)})
        if lost:
            more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
            names = ", ".join(map(quoted, lost[:_NAMED]))
            message = f"The snapshot withdraws the encrypted value of {names}{more}."
            remedy = "Restate encryptedValue, and encryptedValueType, of every message and call that has one."
            self.report(index, Notice("snapshot_drops_value", message, remedy))
        for one in event["messages"]:
            self._arrived_message(one)


def _lost(record: HeldMessage, snapshot: dict[str, JSONObject]) -> list[str]:
    """The ids of a held message and its calls whose values a snapshot does away with."""
    restated = snapshot.get(record.id, {})
    kept = {call["id"] for call in restated.get("toolCalls", ()) if "encryptedValue" in call}
    lost = [
        call.id for call in record.calls or () if "encryptedValue" in call.members and call.id not in kept
    ]
    if "encryptedValue" in record.members and "encryptedValue" not in restated:
        lost.append(record.id)
    return lost


def _grows(held: str, value: str) -> bool:
    """Whether both are envelopes of this package, which say more, and never less, when they are resent."""
    from agui_reasoning._envelope import is_envelope  # loads the library that encrypts; hardly a stream asks

    return is_envelope(held) and is_envelope(value)


_LINTS: Final[dict[str, Callable[[Lints, JSONObject, int], None]]] = {
    "RUN_STARTED": Lints._run_started,
    "RUN_FINISHED": Lints._run_ended,
    "RUN_ERROR": Lints._run_ended,
    "REASONING_START": Lints._span,
    "REASONING_END": Lints._span,
    "REASONING_MESSAGE_START": Lints._message_start,
    "REASONING_MESSAGE_END": Lints._thought_end,
    "TEXT_MESSAGE_START": Lints._message_start,
    "TOOL_CALL_START": Lints._call_start,
    "TOOL_CALL_RESULT": Lints._call_result,
    "REASONING_ENCRYPTED_VALUE": Lints._value,
    "MESSAGES_SNAPSHOT": Lints._snapshot,
}
