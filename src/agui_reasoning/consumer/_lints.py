"""Find valid constructs that lose data in real clients, with one check per event type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._history import HeldMessage, kind_of
from agui_reasoning.consumer._notices import Notice, quoted
from agui_reasoning.consumer._reduce import Reducer
from agui_reasoning.consumer._run_lints import RunLints

__all__ = ["Lints"]

ReportNotice: TypeAlias = Callable[[int, Notice], None]

_NAMED: Final = 10
_OWN_VERSION: Final = "Set `protocolVersion` to the version you emit."


@dataclass(slots=True)
class _Run:
    """Facts about the current run."""

    thought: bool = False
    hid: bool = False
    raw_at: int | None = None
    started: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Lints:
    """Checks delivered events before the reducer applies them.

    Attributes:
        reducer: The messages of a client.
        report: Called with the index of an event and the notice.
    """

    reducer: Reducer
    report: ReportNotice
    _run: _Run = field(default_factory=_Run)
    _whole: RunLints = field(init=False)
    _chunk: bool = False
    _spans: set[str] = field(default_factory=set)
    _homeless: dict[tuple[str, str], int] = field(default_factory=dict)
    _results: dict[str, str] = field(default_factory=dict)
    _opened: tuple[str, int] | None = None
    _empty: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._renew()

    def look(self, event: JSONObject, index: int, *, chunk: bool = False) -> None:
        """Check one event.

        Args:
            event: The delivered event.
            index: Its index in the stream.
            chunk: Whether it was expanded from a chunk.
        """
        self._chunk = chunk
        if self._run.raw_at is None and (event["type"] == "RAW" or "rawEvent" in event):
            self._run.raw_at = index
        self._whole.look(event, index)
        self._look_at_item(event, index)
        lint = _LINTS.get(event["type"])
        if lint is not None:
            lint(self, event, index)

    def close(self) -> None:
        """Signal the end of the stream; report the values whose entity never came."""
        self._end_run()
        for (subtype, name), index in self._homeless.items():
            noun = "tool call" if subtype == "tool-call" else "message"
            what = f"{noun} {quoted(name)}"
            message = f"The stream has no {what} for this value, so the value is lost."
            remedy = (
                "Open the message or tool call that it names first; an empty reasoning message is enough."
            )
            self.report(index, Notice("unknown_entity", message, remedy))
        self._homeless.clear()

    # -- chunks

    def _look_at_item(self, event: JSONObject, index: int) -> None:
        """Report an empty chunk that comes last: before 1.0, it ended its item."""
        name, verb = event.get("messageId") or event.get("toolCallId"), event["type"].rpartition("_")[2]
        if not isinstance(name, str):
            return
        if verb == "START":
            self._opened = name, index
        elif verb in ("CONTENT", "ARGS"):
            self._empty.pop(name, None)
            bare = not event["delta"] and "metadata" not in event and "rawEvent" not in event
            if self._chunk and bare and self._opened != (name, index):
                self._empty[name] = index
        elif verb == "END" and name in self._empty:
            message = f"An empty chunk comes last for {quoted(name)}, and does not end it."
            remedy = (
                "Omit it: the next item or the end of the run ends a chunk's item; or send START and END."
            )
            self.report(self._empty.pop(name), Notice("empty_chunk", message, remedy))

    # -- the run

    def _run_started(self, event: JSONObject, index: int) -> None:
        self._end_run()
        if "protocolVersion" not in event:
            message = "RUN_STARTED does not declare a protocol version."
            self.report(index, Notice("missing_version", message, _OWN_VERSION))
        for message in event.get("input", {}).get("messages", ()):
            self._arrived_message(message)

    def _run_finished(self, event: JSONObject, index: int) -> None:
        self._end_run(event)

    def _run_failed(self, event: JSONObject, index: int) -> None:
        self._end_run()

    def _end_run(self, finished: JSONObject | None = None) -> None:
        self._whole.finish(finished)
        if self._run.hid and self._run.raw_at is not None:
            message = (
                "A run with hidden reasoning contains raw provider data, which may contain the reasoning."
            )
            remedy = "Do not send RAW events or rawEvent in a run that hides reasoning."
            self.report(self._run.raw_at, Notice("raw_beside_hidden", message, remedy))
        self._renew()

    def _renew(self) -> None:
        self._run, self._whole = _Run(), RunLints(self.reducer.history, self.report)

    # -- spans and messages

    def _span(self, event: JSONObject, index: int) -> None:
        self._spans.add(event["messageId"])
        if "metadata" in event:
            message = (
                f"{event['type']} has metadata, which clients do not keep, because spans are not stored."
            )
            self.report(index, Notice("stored_on_span", message, "Put it on the reasoning message."))

    def _message_start(self, event: JSONObject, index: int) -> None:
        name = event["messageId"]
        thought = event["type"] == "REASONING_MESSAGE_START"
        self._run.thought = self._run.thought or thought
        held = self.reducer.history.get(name)
        # Interleaved chunks have to return to an earlier ID (C24).
        takes_turns = self._chunk and name in self._run.started
        self._run.started.add(name)
        is_alike = held is not None and held.text is not None and (held.role == "reasoning") == thought
        if is_alike and not takes_turns:
            message = f"The message {quoted(name)} is opened again, so new content is appended to the old."
            remedy = "Use a new ID for each message; to restate the history, send a snapshot."
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
            message = f"The call {name} has no parentMessageId, so clients create a message for it."
            remedy = "Send the ID of the response's assistant message; parallel calls share it."
            self.report(index, Notice("missing_parent", message, remedy))
        self._arrived("tool-call", event["toolCallId"])
        self._arrived("message", event["parentMessageId" if "parentMessageId" in event else "toolCallId"])

    def _call_result(self, event: JSONObject, index: int) -> None:
        self._results[event["toolCallId"]] = event["messageId"]
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
            quoted_id = quoted(name)
            message = (
                f"A second value for {quoted_id} replaces the first, because clients keep only the last one."
            )
            remedy = "Send a single value with all contents per message or tool call."
            self.report(index, Notice("replaced_value", message, remedy))

    def _holder(self, subtype: str, name: str) -> JSONObject | None:
        if subtype == "tool-call":
            call = self.reducer.history.call(name)
            return None if call is None else call.members
        record = self.reducer.history.get(name)
        return None if record is None or record.role == "activity" else record.members

    def _homeless_value(self, subtype: str, name: str, index: int) -> None:
        if subtype == "message" and name in self._spans and self.reducer.history.get(name) is None:
            quoted_id = quoted(name)
            message = f"The value names the span {quoted_id}; spans are not stored, so the value is lost."
            remedy = "Name the reasoning message in the span; open an empty one if there is no text."
            self.report(index, Notice("stored_on_span", message, remedy))
        else:
            self._homeless.setdefault((subtype, name), index)

    def _arrived(self, subtype: str, name: str) -> None:
        """Report an earlier value for an entity that only now exists."""
        index = self._homeless.pop((subtype, name), None)
        if index is not None:
            message = (
                f"The value for {quoted(name)} comes before the start of its entity, so clients drop it."
            )
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
                "A snapshot follows streamed reasoning, which some clients then lose and others show twice."
            )
            remedy = "Send snapshots at the start of a run, before streaming messages."
            self.report(index, Notice("snapshot_after_reasoning", message, remedy))
        snapshot = {message["id"]: message for message in event["messages"]}
        kinds = {"other", *(kind_of(message["role"]) for message in event["messages"])}
        held = self.reducer.history.of_kinds(kinds)
        lost = sorted({name for record in held for name in _lost(record, snapshot)})
        if lost:
            message = f"The snapshot removes the encrypted value of {_listed(lost)}."
            remedy = "Repeat encryptedValue and encryptedValueType of every message and call that has them."
            self.report(index, Notice("snapshot_drops_value", message, remedy))
        self._find_renamed(snapshot, index)
        for one in event["messages"]:
            self._arrived_message(one)

    def _find_renamed(self, snapshot: dict[str, JSONObject], index: int) -> None:
        answered = {one["toolCallId"]: name for name, one in snapshot.items() if one["role"] == "tool"}
        renamed = [call for call, name in answered.items() if self._is_renamed(call, name, snapshot)]
        if renamed:
            message = f"The snapshot gives the result of {_listed(renamed)} another message ID."
            remedy = "Use the messageId of TOOL_CALL_RESULT for the tool message in snapshots."
            self.report(index, Notice("result_renamed", message, remedy))

    def _is_renamed(self, call_id: str, name: str, snapshot: dict[str, JSONObject]) -> bool:
        streamed = self._results.get(call_id, name)
        return streamed != name and streamed not in snapshot


def _listed(names: list[str]) -> str:
    """Name the first few."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(map(quoted, names[:_NAMED]))}{more}"


def _lost(record: HeldMessage, snapshot: dict[str, JSONObject]) -> list[str]:
    """Return the IDs of a message and its calls whose values a snapshot removes."""
    restated = snapshot.get(record.id, {})
    kept = {call["id"] for call in restated.get("toolCalls", ()) if "encryptedValue" in call}
    lost = [
        call.id for call in record.calls or () if "encryptedValue" in call.members and call.id not in kept
    ]
    if "encryptedValue" in record.members and "encryptedValue" not in restated:
        lost.append(record.id)
    return lost


def _grows(held: str, value: str) -> bool:
    """Return whether both are envelopes of this package, which only grow when they are sent again."""
    from agui_reasoning._envelope import is_envelope  # imported here, because it loads the crypto library

    return is_envelope(held) and is_envelope(value)


_LINTS: Final[dict[str, Callable[[Lints, JSONObject, int], None]]] = {
    "RUN_STARTED": Lints._run_started,
    "RUN_FINISHED": Lints._run_finished,
    "RUN_ERROR": Lints._run_failed,
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
