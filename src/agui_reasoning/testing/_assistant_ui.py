"""A model of assistant-ui: what it keeps of the events of a run, and sends back.

It groups events into bubbles. A new bubble opens when TEXT_MESSAGE_START has another ID than the text message
or the first call before it. The reasoning messages of earlier bubbles are closed then: values that name them
afterwards are ignored. Read in `run-aggregator.ts` and `conversions.ts` of `@assistant-ui/react-ag-ui`
0.0.58.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["AssistantUI"]

Message: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class _Part:
    """A part of a bubble: ``text``, ``reasoning`` or ``call``. A result belongs to its call."""

    kind: str
    id: str
    text: str = ""
    name: str = ""
    value: str | None = None
    result: Message | None = None

    @property
    def is_shown(self) -> bool:
        """Whether it has something to show."""
        return self.kind == "call" or bool(self.text if self.kind == "reasoning" else self.text.strip())


@dataclass(slots=True)
class _Bubble:
    id: str | None = None
    parts: list[_Part] = field(default_factory=list)

    def part(self, kind: str, name: str) -> _Part | None:
        return next((part for part in self.parts if (part.kind, part.id) == (kind, name)), None)

    def messages(self) -> Iterator[Message]:
        """Yield what is sent: reasoning, then one message with the text and all calls, then results."""
        before, after = self._empty()
        yield from before
        for part in self.parts:
            if part.kind == "reasoning" and part.text.strip():
                value = {} if part.value is None else {"encryptedValue": part.value}
                yield {"id": part.id, "role": "reasoning", "content": part.text, **value}
        yield from self._answer()
        yield from (part.result for part in self.parts if part.result is not None)
        yield from after

    def _empty(self) -> tuple[list[Message], list[Message]]:
        """Return the messages without text that have a value: those before the last part shown, and after."""
        last = max((place for place, part in enumerate(self.parts) if part.is_shown), default=-1)
        taken = {self.id, *(part.id for part in self.parts if part.kind == "text")}
        sides: tuple[list[Message], list[Message]] = ([], [])
        for place, part in enumerate(self.parts):
            if part.kind == "reasoning" and not part.text and part.value and part.id not in taken:
                message = {"id": part.id, "role": "reasoning", "content": "", "encryptedValue": part.value}
                sides[place > last].append(message)
        return sides

    def _answer(self) -> Iterator[Message]:
        texts = [part.text for part in self.parts if part.kind == "text" and part.is_shown]
        calls = [_call(part) for part in self.parts if part.kind == "call"]
        if texts or calls:
            made = {"toolCalls": calls} if calls else {}
            yield {"id": self._name(), "role": "assistant", "content": "\n".join(texts), **made}

    def _name(self) -> str:
        """Return the message's ID: one of assistant-ui's own if no event had one (an orphaned result)."""
        return self.id or f"optimistic-{self.parts[0].id}"


class AssistantUI:
    """Reads the events of a run, without those of subagents, which it does not send back."""

    def __init__(self) -> None:
        self._bubbles = [_Bubble()]
        self._last_text: str | None = None
        self._speaking: _Part | None = None

    def receive(self, event: Mapping[str, Any]) -> None:
        """Apply one event, as JSON."""
        handler = _HANDLERS.get(event["type"])
        if handler is not None and "subagentRunId" not in event:
            handler(self, event)

    def messages(self) -> list[Message]:
        """Return the messages of the run that go into the next request."""
        return [message for bubble in self._bubbles for message in bubble.messages()]

    def _text(self, event: Mapping[str, Any]) -> None:
        name = event["messageId"]
        if self._last_text not in (None, name):
            self._bubbles.append(_Bubble(name))
            self._speaking = None
        self._name(name)
        self._last_text = name
        bubble = self._bubbles[-1]
        part = bubble.part("text", name)
        if part is None:
            part = _Part("text", name)
            bubble.parts.append(part)
        part.text += event.get("delta", "")

    def _name(self, name: str | None) -> None:
        if name is not None:
            self._bubbles[-1].id = self._bubbles[-1].id or name
            self._last_text = self._last_text or name

    def _reasoning(self, event: Mapping[str, Any]) -> None:
        bubble, name = self._bubbles[-1], event["messageId"]
        part = bubble.part("reasoning", name)
        if part is None:
            part = _Part("reasoning", name)
            bubble.parts.append(part)
        self._speaking = part

    def _reasoning_grew(self, event: Mapping[str, Any]) -> None:
        if event["delta"]:
            if self._speaking is None:
                self._reasoning(event)
            assert self._speaking is not None
            self._speaking.text += event["delta"]  # whichever message the event names

    def _reasoning_ended(self, event: Mapping[str, Any]) -> None:
        self._speaking = None

    def _value(self, event: Mapping[str, Any]) -> None:
        part = self._bubbles[-1].part("reasoning", event["entityId"])
        if event["subtype"] == "message" and part is not None:
            part.value = event["encryptedValue"]

    def _call_started(self, event: Mapping[str, Any]) -> None:
        parent = event.get("parentMessageId")
        self._name(parent)
        bubble = self._bubbles[-1]
        part = bubble.part("call", event["toolCallId"])
        if part is None:
            part = _Part("call", event["toolCallId"])
            bubble.parts.append(part)
        part.name, part.text, part.result = event["toolCallName"], "", None

    def _call_grew(self, event: Mapping[str, Any]) -> None:
        if (part := self._bubbles[-1].part("call", event["toolCallId"])) is not None:
            part.text += event["delta"]

    def _result(self, event: Mapping[str, Any]) -> None:
        name = event["toolCallId"]
        part = next((part for bubble in self._bubbles if (part := bubble.part("call", name))), None)
        if part is None:
            part = _Part("call", name, name="tool")
            self._bubbles[-1].parts.append(part)
        kept = {key: event[key] for key in ("toolCallId", "content", "error") if key in event}
        part.result = {"id": event.get("messageId") or f"{name}:tool", "role": "tool", **kept}


def _call(part: _Part) -> Message:
    function = {"name": part.name, "arguments": part.text}
    return {"id": part.id, "type": "function", "function": function}


_HANDLERS: dict[str, Callable[[AssistantUI, Mapping[str, Any]], None]] = {
    "TEXT_MESSAGE_START": AssistantUI._text,
    "TEXT_MESSAGE_CONTENT": AssistantUI._text,
    "REASONING_START": AssistantUI._reasoning,
    "REASONING_END": AssistantUI._reasoning_ended,
    "REASONING_MESSAGE_START": AssistantUI._reasoning,
    "REASONING_MESSAGE_CONTENT": AssistantUI._reasoning_grew,
    "REASONING_MESSAGE_END": AssistantUI._reasoning_ended,
    "REASONING_ENCRYPTED_VALUE": AssistantUI._value,
    "TOOL_CALL_START": AssistantUI._call_started,
    "TOOL_CALL_ARGS": AssistantUI._call_grew,
    "TOOL_CALL_RESULT": AssistantUI._result,
}
