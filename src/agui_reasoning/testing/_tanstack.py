"""A model of TanStack AI: what it keeps of the events of a run, and sends back.

It adds reasoning and calls to the newest message. If there is none, it opens one that takes the ID of the
next text message. Reasoning and values belong to the current step, whatever message they name; without steps,
the first reasoning of a message is its only step. Read in `processor.ts` and `ag-ui-wire.ts` of
`@tanstack/ai` 0.58.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["TanStack"]

Message: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class _Thought:
    text: str = ""
    value: str | None = None


@dataclass(slots=True)
class _Answer:
    """A message of the assistant."""

    id: str
    step: str | None = None
    thoughts: dict[str, _Thought] = field(default_factory=dict)
    text: str = ""
    calls: dict[str, Message] = field(default_factory=dict)
    results: dict[str, Message] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    call_metadata: dict[str, Any] = field(default_factory=dict)

    def messages(self) -> Iterator[Message]:
        """Yield what is sent: reasoning, the message with its text and all calls, results."""
        for number, thought in enumerate(self.thoughts.values()):
            value = {} if thought.value is None else {"encryptedValue": thought.value}
            name = f"{self.id}-reasoning-{number}"
            yield {"id": name, "role": "reasoning", "content": thought.text, **value}
        moved = {"tanstack": {"toolCallMetadata": self.call_metadata}} if self.call_metadata else {}
        members = {
            "content": self.text,
            "toolCalls": list(self.calls.values()),
            "metadata": {**self.metadata, **moved},
        }
        yield {"id": self.id, "role": "assistant"} | {key: kept for key, kept in members.items() if kept}
        yield from self.results.values()


class TanStack:
    """Reads the events of a run; it does not tell subagents apart.

    Args:
        name: The ID of a message that no event names. Runs of one thread need different ones.
    """

    def __init__(self, name: str = "msg-1") -> None:
        self._name = name
        self._answers: list[_Answer] = []
        self._unnamed: _Answer | None = None
        self._waiting: str | None = None
        """A step that started before there was a message."""

    def receive(self, event: Mapping[str, Any]) -> None:
        """Apply one event, as JSON."""
        handler = _HANDLERS.get(event["type"])
        if handler is not None:
            handler(self, event)

    def messages(self) -> list[Message]:
        """Return the messages of the run that go into the next request."""
        return [message for answer in self._answers for message in answer.messages()]

    def _named(self, name: str | None) -> _Answer | None:
        return next((answer for answer in self._answers if answer.id == name), None)

    def _answer(self, name: str | None = None) -> _Answer:
        """Return the message with an ID, else the newest, else a new one."""
        found = self._named(name) or (self._answers[-1] if self._answers else None)
        if found is None:
            found = self._unnamed = _Answer(name or self._name)
            self._answers.append(found)
        return found

    def _text_started(self, event: Mapping[str, Any]) -> None:
        name = event["messageId"]
        if self._unnamed is not None:
            answer, self._unnamed = self._unnamed, None
            answer.id = name
        elif (known := self._named(name)) is not None:
            answer = known
        else:
            answer = _Answer(name)
            self._answers.append(answer)
        answer.metadata |= event.get("metadata", {})

    def _text_grew(self, event: Mapping[str, Any]) -> None:
        answer = self._answer(event["messageId"])
        answer.text += event.get("delta", "")
        answer.metadata |= event.get("metadata", {})

    def _thought(self, event: Mapping[str, Any]) -> None:
        answer = self._answer()
        if self._waiting is not None:
            answer.step, self._waiting = self._waiting, None
        if answer.step is None:
            answer.step = event["messageId"]
        answer.thoughts.setdefault(answer.step, _Thought()).text += event["delta"]

    def _value(self, event: Mapping[str, Any]) -> None:
        name, value = event["entityId"], event["encryptedValue"]
        if event["subtype"] == "tool-call":
            for answer in self._answers:
                if name in answer.calls:
                    answer.calls[name]["encryptedValue"] = value
                    answer.call_metadata[name] = answer.call_metadata.get(name, {}) | {
                        "thoughtSignature": value
                    }
        else:
            answer = self._answer()
            answer.thoughts.setdefault(answer.step or name, _Thought()).value = value

    def _step_started(self, event: Mapping[str, Any]) -> None:
        if self._answers:
            self._answers[-1].step, self._waiting = event["stepName"], None
        else:
            self._waiting = event["stepName"]

    def _call_started(self, event: Mapping[str, Any]) -> None:
        answer, name = self._answer(event.get("parentMessageId")), event["toolCallId"]
        if name not in answer.calls:
            function = {"name": event["toolCallName"], "arguments": ""}
            answer.calls[name] = {"id": name, "type": "function", "function": function}
            if "metadata" in event:
                answer.call_metadata[name] = event["metadata"]

    def _call_grew(self, event: Mapping[str, Any]) -> None:
        for answer in self._answers:
            if event["toolCallId"] in answer.calls:
                answer.calls[event["toolCallId"]]["function"]["arguments"] += event["delta"]

    def _result(self, event: Mapping[str, Any]) -> None:
        name = event["toolCallId"]
        for answer in self._answers:
            if name in answer.calls:
                kept = {key: event[key] for key in ("toolCallId", "content", "error") if key in event}
                answer.results[name] = {"id": f"tool-{name}", "role": "tool", **kept}


_HANDLERS: dict[str, Callable[[TanStack, Mapping[str, Any]], None]] = {
    "TEXT_MESSAGE_START": TanStack._text_started,
    "TEXT_MESSAGE_CONTENT": TanStack._text_grew,
    "TEXT_MESSAGE_END": TanStack._text_grew,
    "REASONING_MESSAGE_CONTENT": TanStack._thought,
    "REASONING_ENCRYPTED_VALUE": TanStack._value,
    "STEP_STARTED": TanStack._step_started,
    "TOOL_CALL_START": TanStack._call_started,
    "TOOL_CALL_ARGS": TanStack._call_grew,
    "TOOL_CALL_RESULT": TanStack._result,
}
