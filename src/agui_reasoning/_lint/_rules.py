"""What valid streams do that makes real clients lose data: checks of each event, and of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agui_reasoning._lint._leaks import unchecked_parts
from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import hint_of
from agui_reasoning.consumer import HeldMessage, HeldMessages, Notice, Reducer, faults, kind_of, quoted
from agui_reasoning.parts import SHOWN_ON_REQUEST, Origin

_SHORTEST: Final = 24
"""Shorter texts repeat by chance."""

# Where reasoning goes back as plain text, its message is enough.
_TEXT_FIELDS: Final = frozenset(
    {
        *("reasoning_content", "reasoning", "reasoning_text", "received", "content_tags"),
        *("thinking", "tool_plan", "messages"),
    }
)


@dataclass(slots=True)
class RunLints:
    """Checks one run, whose events are collected, and checked at its end.

    Every text is read once per run, so the cost does not depend on how often a message is reopened.

    Attributes:
        history: The messages of a client.
        report: Called with the index of an event and the notice.
    """

    history: HeldMessages
    report: Callable[[int, Notice], None]
    _thoughts: dict[str, int] = field(default_factory=dict)
    _answers: int = 0
    _answer_of: dict[str, int] = field(default_factory=dict)
    _after_text: set[str] = field(default_factory=set)
    _has_text: bool = False
    _values: set[str] = field(default_factory=set)
    _copies: dict[str, int] = field(default_factory=dict)
    _calls: bool = False
    _open: dict[tuple[Any, Any], set[str]] = field(default_factory=dict)
    _overtaken: set[str] = field(default_factory=set)
    _hid: bool = False
    _raw_at: int | None = None

    def look(self, event: JSONObject, index: int) -> None:
        """Collect what an event contains."""
        if self._raw_at is None and (event["type"] == "RAW" or "rawEvent" in event):
            self._raw_at = index
        for part in unchecked_parts(event):
            for text in _long_strings(part):
                self._copies.setdefault(text, index)
        collect = _COLLECT.get(event["type"])
        if collect is not None:
            collect(self, event, index)

    def finish(self, event: JSONObject | None) -> None:
        """Judge the run that ended with this ``RUN_FINISHED``, or otherwise (``None``)."""
        texts = {name: text for name in self._thoughts if (text := self._text(name))}
        self._find_repeats(texts)
        self._find_copies(texts)
        if event is not None and texts and not self._values and self._wants_values(event):
            message = "The run has reasoning, but no encrypted value to return to the provider."
            remedy = "Send the provider's signature or encrypted content as REASONING_ENCRYPTED_VALUE."
            self.report(self._thoughts[next(iter(texts))], Notice("missing_value", message, remedy))
        if self._thoughts and not texts and any(map(_is_signed, self._values)):
            message = "The run has signed reasoning, but no text of it to show."
            remedy = 'Ask the provider for it: for Claude, set `display` of `thinking` to "summarized".'
            index = next(iter(self._thoughts.values()))
            self.report(index, Notice("reasoning_without_text", message, remedy))
        if self._hid and self._raw_at is not None:
            message = (
                "A run with hidden reasoning contains raw provider data, which may contain the reasoning."
            )
            remedy = "Do not send RAW events or rawEvent in a run that hides reasoning."
            self.report(self._raw_at, Notice("raw_beside_hidden", message, remedy))

    # -- collecting

    def _thought(self, event: JSONObject, index: int) -> None:
        self._thoughts.setdefault(event["messageId"], index)
        self._answer_of.setdefault(event["messageId"], self._answers)
        if self._has_text:
            self._after_text.add(event["messageId"])
        response = _response_of(event)
        self._open.setdefault((event.get("subagentRunId"), response), set()).add(event["messageId"])

    def _text_grew(self, event: JSONObject, index: int) -> None:
        if not self._open or not event["delta"]:
            return
        held = self.history.get(event["messageId"])
        # Our hints tell parallel responses apart.
        for response in (_response_of(held.members if held else {}), None):
            self._overtaken |= self._open.pop((event.get("subagentRunId"), response), set())

    def _thought_end(self, event: JSONObject, index: int) -> None:
        name = event["messageId"]
        held = self.history.get(name)
        self._hid |= held is not None and held.read_text() == ""
        response = _response_of(held.members if held else {})
        self._open.get((event.get("subagentRunId"), response), set()).discard(name)
        if name in self._overtaken:
            self._overtaken.remove(name)
            message = f"The reasoning message {quoted(name)} ends after text of its response has begun."
            remedy = "End it when the next block begins; a value that comes later can still follow."
            self.report(index, Notice("late_reasoning_end", message, remedy))

    def _answer_text(self, event: JSONObject, index: int) -> None:
        self._has_text = True

    def _next_answer(self, event: JSONObject, index: int) -> None:
        self._answers += 1
        self._has_text = False

    def _value(self, event: JSONObject, index: int) -> None:
        self._values.add(event["encryptedValue"])

    def _call(self, event: JSONObject, index: int) -> None:
        self._calls = True

    def _snapshot(self, event: JSONObject, index: int) -> None:
        if self._thoughts:
            text = (
                "A snapshot follows streamed reasoning, which some clients then lose and others show twice."
            )
            remedy = "Send snapshots at the start of a run, before streaming messages."
            self.report(index, Notice("snapshot_after_reasoning", text, remedy))
        for message in event["messages"]:
            holders = [message, *message.get("toolCalls", ())]
            self._values.update(one["encryptedValue"] for one in holders if "encryptedValue" in one)

    # -- judging

    def _text(self, name: str) -> str:
        held = self.history.get(name)
        return "" if held is None else (held.read_text() or "").strip()

    def _find_repeats(self, texts: Mapping[str, str]) -> None:
        first: dict[tuple[Any, int, str], str] = {}
        for name, text in texts.items():
            members = held.members if (held := self.history.get(name)) is not None else {}
            earlier = first.setdefault((members.get("subagentRunId"), self._answer_of[name], text), name)
            # A repetition has no value of its own; a thought that the model had twice may have one.
            is_copy = name in self._after_text and "encryptedValue" not in members
            if earlier != name and is_copy and len(text) >= _SHORTEST:
                message = f"The reasoning message {quoted(name)} repeats the text of {quoted(earlier)}."
                remedy = "Send each reasoning text once: either its deltas or the aggregated message."
                self.report(self._thoughts[name], Notice("repeated_reasoning", message, remedy))

    def _find_copies(self, texts: Mapping[str, str]) -> None:
        indexes = [self._copies[text] for text in {*texts.values(), *self._values} if text in self._copies]
        if indexes:
            message = (
                "The event repeats reasoning or an encrypted value of the run, unhidden and unencrypted."
            )
            remedy = "Remove reasoning and the provider's values from raw events, custom events and state."
            self.report(min(indexes), Notice("copied_reasoning", message, remedy))

    def _wants_values(self, event: JSONObject) -> bool:
        named = [usage for usage in event.get("usage", ()) if usage.get("provider")]
        if not named:
            return self._calls
        return any(_wants_values(usage["provider"], usage.get("model")) for usage in named)


def _is_signed(value: str) -> bool:
    """Return whether a value has a signature of reasoning that the provider would have shown."""
    from agui_reasoning._envelope import ReasoningRecord, read_envelope  # few streams need it

    envelope = read_envelope(value)
    records = (unit.part for unit in envelope.units) if envelope else ()
    return any(
        opaque.kind in SHOWN_ON_REQUEST
        for record in records
        if isinstance(record, ReasoningRecord)
        for opaque in record.opaque
    )


def _long_strings(value: Any) -> Iterator[str]:
    """Iterate over the strings in a value that are long enough to be compared. Does not recurse."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            text = value.strip()
            if len(text) >= _SHORTEST:
                yield text
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value


def _wants_values(provider: str, model: str | None) -> bool:
    """Return whether a provider wants values back, whichever of its APIs was used."""
    from agui_reasoning.providers.echo import rule_for  # imported here, because few streams need the policy
    from agui_reasoning.providers.registry import provider_apis

    found = [rule_for(Origin(provider, api.id, model)) for api in provider_apis()]
    wanting = [rule for rule in found if rule.echoes]
    return bool(wanting) and all(
        rule.status in ("required", "recommended") and not _TEXT_FIELDS.intersection(rule.field)
        for rule in wanting
    )


_COLLECT: Final[dict[str, Callable[[RunLints, JSONObject, int], None]]] = {
    "REASONING_MESSAGE_START": RunLints._thought,
    "REASONING_MESSAGE_END": RunLints._thought_end,
    "REASONING_ENCRYPTED_VALUE": RunLints._value,
    "MESSAGES_SNAPSHOT": RunLints._snapshot,
    "TOOL_CALL_START": RunLints._call,
    "TEXT_MESSAGE_START": RunLints._answer_text,
    "TEXT_MESSAGE_CONTENT": RunLints._text_grew,
    "TOOL_CALL_RESULT": RunLints._next_answer,
    "STEP_STARTED": RunLints._next_answer,
}


def _response_of(entity: Mapping[str, Any]) -> str | None:
    """Return the response that the hint of an event or message names; clients control it."""
    response = hint_of(entity).get("response")
    return response if isinstance(response, str) else None


@dataclass(slots=True)
class Lints:
    """Checks delivered events before the reducer applies them, and reports as `RunLints` does."""

    reducer: Reducer
    report: Callable[[int, Notice], None]
    _run: RunLints = field(init=False)
    _started: set[str] = field(init=False)
    _chunk: bool = False
    _spans: set[str] = field(default_factory=set)
    _homeless: dict[tuple[str, str], int] = field(default_factory=dict)
    _results: dict[str, str] = field(default_factory=dict)
    _opened: tuple[str, int] | None = None
    _empty: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._renew()

    def look(self, event: JSONObject, index: int, *, chunk: bool = False) -> None:
        """Check a delivered event, which may have been expanded from a chunk."""
        self._chunk = chunk
        self._run.look(event, index)
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
            remedy = "Set `protocolVersion` to the version you emit."
            self.report(index, Notice("missing_version", message, remedy))
        for message in event.get("input", {}).get("messages", ()):
            self._arrived_message(message)

    def _run_ended(self, event: JSONObject, index: int) -> None:
        self._end_run(event if event["type"] == "RUN_FINISHED" else None)

    def _end_run(self, finished: JSONObject | None = None) -> None:
        self._run.finish(finished)
        self._renew()

    def _renew(self) -> None:
        self._run, self._started = RunLints(self.reducer.history, self.report), set()

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
        held = self.reducer.history.get(name)
        # Interleaved chunks have to return to an earlier ID (C24).
        takes_turns = self._chunk and name in self._started
        self._started.add(name)
        is_alike = held is not None and held.text is not None and (held.role == "reasoning") == thought
        if is_alike and not takes_turns:
            message = f"The message {quoted(name)} is opened again, so new content is appended to the old."
            remedy = "Use a new ID for each message; to restate the history, send a snapshot."
            self.report(index, Notice("reopened_id", message, remedy))
        self._arrived("message", name)

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
            if subtype == "message" and name in self._spans and self.reducer.history.get(name) is None:
                quoted_id = quoted(name)
                message = f"The value names the span {quoted_id}; spans are not stored, so the value is lost."
                remedy = "Name the reasoning message in the span; open an empty one if there is no text."
                self.report(index, Notice("stored_on_span", message, remedy))
            else:
                self._homeless.setdefault((subtype, name), index)
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
        snapshot = {message["id"]: message for message in event["messages"]}
        kinds = {"other", *(kind_of(message["role"]) for message in event["messages"])}
        held = self.reducer.history.of_kinds(kinds)
        lost = sorted({name for record in held for name in _lost(record, snapshot)})
        if lost:
            message = f"The snapshot removes the encrypted value of {faults.listed([*map(quoted, lost)])}."
            remedy = "Repeat encryptedValue and encryptedValueType of every message and call that has them."
            self.report(index, Notice("snapshot_drops_value", message, remedy))
        answered = {one["toolCallId"]: name for name, one in snapshot.items() if one["role"] == "tool"}
        renamed = [
            call
            for call, name in answered.items()
            if (streamed := self._results.get(call, name)) != name and streamed not in snapshot
        ]
        if renamed:
            calls = faults.listed([*map(quoted, renamed)])
            message = f"The snapshot gives the result of {calls} another message ID."
            remedy = "Use the messageId of TOOL_CALL_RESULT for the tool message in snapshots."
            self.report(index, Notice("result_renamed", message, remedy))
        for one in event["messages"]:
            self._arrived_message(one)


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
    from agui_reasoning._envelope import is_envelope  # it loads the crypto library

    return is_envelope(held) and is_envelope(value)


_LINTS: Final[dict[str, Callable[[Lints, JSONObject, int], None]]] = {
    "RUN_STARTED": Lints._run_started,
    "RUN_FINISHED": Lints._run_ended,
    "RUN_ERROR": Lints._run_ended,
    "REASONING_START": Lints._span,
    "REASONING_END": Lints._span,
    "REASONING_MESSAGE_START": Lints._message_start,
    "TEXT_MESSAGE_START": Lints._message_start,
    "TOOL_CALL_START": Lints._call_start,
    "TOOL_CALL_RESULT": Lints._call_result,
    "REASONING_ENCRYPTED_VALUE": Lints._value,
    "MESSAGES_SNAPSHOT": Lints._snapshot,
}
