"""Models of how real front ends change a history before sending it back.

Observed in browsers with CopilotKit 1.74, assistant-ui 0.15 and TanStack AI 0.27, and read in their sources:
which messages and members each one keeps, moves, merges and drops. assistant-ui and TanStack keep no messages
of the protocol but parts of their own, so their models read events: those of a stream, or those that lead to
a history. They need no browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel

Message: TypeAlias = dict[str, Any]
Messages: TypeAlias = list[Message]
MessagesInput: TypeAlias = Iterable[BaseModel | Mapping[str, Any]]


class FrontEnd(Protocol):
    """A front end that keeps parts of its own of one run."""

    def receive(self, event: Mapping[str, Any]) -> None:
        """Apply one event, as JSON."""

    def messages(self) -> Messages:
        """Return the messages of the run that go into the next request."""


# -- assistant-ui
#
# It groups events into bubbles. A new bubble opens when TEXT_MESSAGE_START has another ID than the text
# message or the first call before it. The reasoning messages of earlier bubbles are closed then: values that
# name them afterwards are ignored. Read in `run-aggregator.ts` and `conversions.ts` of
# `@assistant-ui/react-ag-ui` 0.0.58.


@dataclass(slots=True)
class _BubblePart:
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
    parts: list[_BubblePart] = field(default_factory=list)

    def part(self, kind: str, name: str) -> _BubblePart | None:
        return next((part for part in self.parts if (part.kind, part.id) == (kind, name)), None)

    def opened(self, kind: str, name: str) -> _BubblePart:
        """Return a part, which is added if it is new."""
        if (part := self.part(kind, name)) is None:
            part = _BubblePart(kind, name)
            self.parts.append(part)
        return part

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
        calls = [
            {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.text}}
            for part in self.parts
            if part.kind == "call"
        ]
        if texts or calls:
            made = {"toolCalls": calls} if calls else {}
            # The ID is one of assistant-ui's own if no event had one (an orphaned result).
            name = self.id or f"optimistic-{self.parts[0].id}"
            yield {"id": name, "role": "assistant", "content": "\n".join(texts), **made}


class AssistantUI:
    """Reads the events of a run, without those of subagents, which it does not send back."""

    def __init__(self) -> None:
        self._bubbles = [_Bubble()]
        self._last_text: str | None = None
        self._speaking: _BubblePart | None = None

    def receive(self, event: Mapping[str, Any]) -> None:
        """Apply one event, as JSON."""
        handler = _ASSISTANT_UI.get(event["type"])
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
        self._bubbles[-1].opened("text", name).text += event.get("delta", "")

    def _name(self, name: str | None) -> None:
        if name is not None:
            self._bubbles[-1].id = self._bubbles[-1].id or name
            self._last_text = self._last_text or name

    def _reasoning(self, event: Mapping[str, Any]) -> None:
        self._speaking = self._bubbles[-1].opened("reasoning", event["messageId"])

    def _reasoning_grew(self, event: Mapping[str, Any]) -> None:
        if event["delta"]:
            part = self._speaking or self._bubbles[-1].opened("reasoning", event["messageId"])
            part.text += event["delta"]  # whichever message the event names
            self._speaking = part

    def _reasoning_ended(self, event: Mapping[str, Any]) -> None:
        self._speaking = None

    def _value(self, event: Mapping[str, Any]) -> None:
        part = self._bubbles[-1].part("reasoning", event["entityId"])
        if event["subtype"] == "message" and part is not None:
            part.value = event["encryptedValue"]

    def _call_started(self, event: Mapping[str, Any]) -> None:
        self._name(event.get("parentMessageId"))
        part = self._bubbles[-1].opened("call", event["toolCallId"])
        part.name, part.text, part.result = event["toolCallName"], "", None

    def _call_grew(self, event: Mapping[str, Any]) -> None:
        if (part := self._bubbles[-1].part("call", event["toolCallId"])) is not None:
            part.text += event["delta"]

    def _result(self, event: Mapping[str, Any]) -> None:
        name = event["toolCallId"]
        part = next((part for bubble in self._bubbles if (part := bubble.part("call", name))), None)
        if part is None:
            part = self._bubbles[-1].opened("call", name)
            part.name = "tool"
        kept = {key: event[key] for key in ("toolCallId", "content", "error") if key in event}
        part.result = {"id": event.get("messageId") or f"{name}:tool", "role": "tool", **kept}


_ASSISTANT_UI: dict[str, Callable[[AssistantUI, Mapping[str, Any]], None]] = {
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


# -- TanStack AI
#
# It adds reasoning and calls to the newest message. If there is none, it opens one that takes the ID of the
# next text message. Reasoning and values belong to the current step, whatever message they name; without
# steps, the first reasoning of a message is its only step. Read in `processor.ts` and `ag-ui-wire.ts` of
# `@tanstack/ai` 0.58.0.


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
        handler = _TANSTACK.get(event["type"])
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
        answer, self._unnamed = self._unnamed or self._named(name), None
        if answer is None:
            answer = _Answer(name)
            self._answers.append(answer)
        answer.id = name
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


_TANSTACK: dict[str, Callable[[TanStack, Mapping[str, Any]], None]] = {
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


# -- histories


def copilotkit(messages: MessagesInput) -> Messages:
    """Return messages as CopilotKit does: unchanged, with results after their calls."""
    held = as_dicts(messages)
    ordered = [message for message in held if message["role"] != "tool"]
    for result in (message for message in held if message["role"] == "tool"):
        at = next((n + 1 for n, m in enumerate(ordered) if _owns(m, result["toolCallId"])), len(ordered))
        while at < len(ordered) and ordered[at]["role"] == "tool":
            at += 1
        ordered.insert(at, result)
    return ordered


def assistant_ui(messages: MessagesInput) -> Messages:
    """Return messages as assistant-ui does.

    Every text after the first text or call starts a new bubble, to which the messages up to the next one
    belong. In each bubble, reasoning comes first, and messages with only tool calls are merged into the first
    one. Metadata, values on calls and text, and all messages of subagents are dropped.
    """
    return _returned(as_dicts(messages), AssistantUI)


def tanstack(messages: MessagesInput) -> Messages:
    """Return messages as TanStack AI does without STEP events.

    The reasoning of an answer is merged into one message with another ID and the last value. The value of an
    answer becomes that of reasoning without text. Messages with only tool calls are merged into the message
    before them, else into the next one with text. Metadata of calls moves to their message. Subagent IDs are
    dropped.
    """
    held = as_dicts(messages)
    names = unused_names(held)
    return _returned(held, lambda: TanStack(next(names)))


FRONT_ENDS: dict[str, Callable[[MessagesInput], Messages]] = {
    "copilotkit": copilotkit,
    "assistant-ui": assistant_ui,
    "tanstack": tanstack,
}
"""The front ends by name."""


def as_dicts(messages: MessagesInput) -> Messages:
    """Return messages as JSON of their own."""
    return [
        message.model_dump(mode="json", by_alias=True, exclude_none=True)
        if isinstance(message, BaseModel)
        else deepcopy(dict(message))
        for message in messages
    ]


def unused_names(*held: Messages) -> Iterator[str]:
    """Yield IDs for messages that have none; TanStack's own are as unique."""
    taken = {message["id"] for messages in held for message in messages}
    return (name for number in count() if (name := f"msg-{number}") not in taken)


def _returned(messages: Messages, front_end: Callable[[], FrontEnd]) -> Messages:
    """Return messages as a front end does that got what is between two messages of the user in one run."""
    returned: Messages = []
    run, again = front_end(), list[dict[str, Any]]()
    for message in messages:
        if message["role"] not in _EVENTS:
            returned += [*run.messages(), message]
            run, again = front_end(), []
            continue
        if message["role"] == "reasoning":
            again = list(_value(message, "message"))
        # The value of reasoning is sent again after those of the text and the calls that follow it.
        for event in (*events_of(message), *(again if message["role"] == "assistant" else ())):
            run.receive(event)
    return returned + run.messages()


def events_of(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events that lead to a message of the model, or to a result."""
    tag = {key: value for key, value in message.items() if key == "subagentRunId"}
    for event in _EVENTS[message["role"]](message):
        yield event | tag


def _reasoning(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _text(message, "REASONING_MESSAGE", str(message.get("content") or ""))
    yield from _value(message, "message")


def _answer(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str) and content:
        yield from _text(message, "TEXT_MESSAGE", content)
    yield from _value(message, "message")
    for call in message.get("toolCalls", ()):
        name, function = call["id"], call["function"]
        parent = {"parentMessageId": message["id"], "toolCallName": function["name"]}
        yield {"type": "TOOL_CALL_START", "toolCallId": name, **parent, **_metadata(call)}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": name, "delta": function["arguments"]}
        yield {"type": "TOOL_CALL_END", "toolCallId": name}
        yield from _value(call, "tool-call")


def _result(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kept = {key: value for key, value in message.items() if key in ("toolCallId", "content", "error")}
    yield {"type": "TOOL_CALL_RESULT", "messageId": message["id"], **kept}


def _text(message: Mapping[str, Any], kind: str, content: str) -> Iterator[dict[str, Any]]:
    name = {"messageId": message["id"]}
    yield {"type": f"{kind}_START", **name, **_metadata(message)}
    yield {"type": f"{kind}_CONTENT", **name, "delta": content}
    yield {"type": f"{kind}_END", **name}


def _value(entity: Mapping[str, Any], subtype: str) -> Iterator[dict[str, Any]]:
    if "encryptedValue" in entity:
        named = {"subtype": subtype, "entityId": entity["id"]}
        yield {"type": "REASONING_ENCRYPTED_VALUE", **named, "encryptedValue": entity["encryptedValue"]}


def _metadata(entity: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entity.items() if key == "metadata"}


_EVENTS: dict[str, Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]] = {
    "reasoning": _reasoning,
    "assistant": _answer,
    "tool": _result,
}


def _owns(message: Mapping[str, Any], call_id: str) -> bool:
    return any(call["id"] == call_id for call in message.get("toolCalls", ()))
