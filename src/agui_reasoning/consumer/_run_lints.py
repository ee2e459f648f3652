"""Find what shows only in a whole run: missing values, late ends, and reasoning that is sent twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agui_reasoning._hint import hint_of
from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._history import HeldMessages
from agui_reasoning.consumer._leaks import unchecked_parts
from agui_reasoning.consumer._notices import Notice, quoted
from agui_reasoning.parts import SHOWN_ON_REQUEST

__all__ = ["RunLints"]

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
    """Checks one run, whose events are collected and judged at its end.

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

    def look(self, event: JSONObject, index: int) -> None:
        """Collect what an event contains."""
        for part in unchecked_parts(event):
            for text in _long_strings(part):
                self._copies.setdefault(text, index)
        collect = _COLLECT.get(event["type"])
        if collect is not None:
            collect(self, event, index)

    def finish(self, event: JSONObject | None) -> None:
        """Judge the run.

        Args:
            event: Its ``RUN_FINISHED``; ``None`` if it ended otherwise.
        """
        texts = {name: text for name in self._thoughts if (text := self._text(name))}
        self._find_repeats(texts)
        self._find_copies(texts)
        if event is not None and texts and not self._values and self._wants_values(event):
            self._report_missing(self._thoughts[next(iter(texts))])
        if self._thoughts and not texts and any(map(_is_signed, self._values)):
            self._report_omitted(self._thoughts[next(iter(self._thoughts))])

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
        for message in event["messages"]:
            holders = [message, *message.get("toolCalls", ())]
            self._values.update(one["encryptedValue"] for one in holders if "encryptedValue" in one)

    # -- judging

    def _text(self, name: str) -> str:
        held = self.history.get(name)
        return "" if held is None or held.text is None else held.text.read().strip()

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

    def _report_missing(self, index: int) -> None:
        message = "The run has reasoning, but no encrypted value to return to the provider."
        remedy = "Send the provider's signature or encrypted content as REASONING_ENCRYPTED_VALUE."
        self.report(index, Notice("missing_value", message, remedy))

    def _report_omitted(self, index: int) -> None:
        message = "The run has signed reasoning, but no text of it to show."
        remedy = 'Ask the provider for it: for Claude, set `display` of `thinking` to "summarized".'
        self.report(index, Notice("reasoning_without_text", message, remedy))


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
    from agui_reasoning.parts import Origin  # imported here, because few streams need the policy
    from agui_reasoning.providers.echo import rule_for
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
