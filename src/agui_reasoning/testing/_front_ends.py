"""Models of how real front ends change a history before sending it back.

Observed in browsers with CopilotKit 1.74, assistant-ui 0.15 and TanStack AI 0.27, and read in their sources:
which messages and members each one keeps, moves, merges and drops. assistant-ui and TanStack keep no messages
of the protocol but parts of their own, so their models read events: those of a stream, or those that lead to
a history. They need no browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import count
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel

from agui_reasoning.testing._assistant_ui import AssistantUI
from agui_reasoning.testing._tanstack import TanStack

__all__ = ["FRONT_ENDS", "FrontEnd", "assistant_ui", "copilotkit", "events_of", "tanstack", "unused_names"]

Messages: TypeAlias = list[dict[str, Any]]
MessagesInput: TypeAlias = Iterable[BaseModel | Mapping[str, Any]]


class FrontEnd(Protocol):
    """A front end that keeps parts of its own of one run."""

    def receive(self, event: Mapping[str, Any]) -> None:
        """Apply one event, as JSON."""

    def messages(self) -> Messages:
        """Return the messages of the run that go into the next request."""


def copilotkit(messages: MessagesInput) -> Messages:
    """Return messages as CopilotKit does: unchanged, with results after their calls."""
    return _client_order(_plain(messages))


def assistant_ui(messages: MessagesInput) -> Messages:
    """Return messages as assistant-ui does.

    Every text after the first text or call starts a new bubble, to which the messages up to the next one
    belong. In each bubble, reasoning comes first, and messages with only tool calls are merged into the first
    one. Metadata, values on calls and text, and all messages of subagents are dropped.
    """
    return _returned(_plain(messages), AssistantUI)


def tanstack(messages: MessagesInput) -> Messages:
    """Return messages as TanStack AI does without STEP events.

    The reasoning of an answer is merged into one message with another ID and the last value. The value of an
    answer becomes that of reasoning without text. Messages with only tool calls are merged into the message
    before them, else into the next one with text. Metadata of calls moves to their message. Subagent IDs are
    dropped.
    """
    held = _plain(messages)
    names = unused_names(held)
    return _returned(held, lambda: TanStack(next(names)))


FRONT_ENDS: dict[str, Callable[[MessagesInput], Messages]] = {
    "copilotkit": copilotkit,
    "assistant-ui": assistant_ui,
    "tanstack": tanstack,
}
"""The front ends by name."""


def _plain(messages: MessagesInput) -> Messages:
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
        yield {
            "type": "REASONING_ENCRYPTED_VALUE",
            **named,
            "encryptedValue": entity["encryptedValue"],
        }


def _metadata(entity: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entity.items() if key == "metadata"}


_EVENTS: dict[str, Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]] = {
    "reasoning": _reasoning,
    "assistant": _answer,
    "tool": _result,
}


def _client_order(messages: Messages) -> Messages:
    """Move results after the assistant message with their call."""
    ordered = [message for message in messages if message["role"] != "tool"]
    for result in (message for message in messages if message["role"] == "tool"):
        at = next((n + 1 for n, m in enumerate(ordered) if _owns(m, result["toolCallId"])), len(ordered))
        while at < len(ordered) and ordered[at]["role"] == "tool":
            at += 1
        ordered.insert(at, result)
    return ordered


def _owns(message: Mapping[str, Any], call_id: str) -> bool:
    return any(call["id"] == call_id for call in message.get("toolCalls", ()))
