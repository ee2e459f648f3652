"""Models of how real front ends change a history before sending it back.

Observed in browsers with CopilotKit 1.74, assistant-ui 0.15 and TanStack AI 0.27: which messages and members
each one keeps, moves, merges and drops. They are functions on message lists, so tests need no browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from pydantic import BaseModel

__all__ = ["FRONT_ENDS", "assistant_ui", "copilotkit", "tanstack"]

Messages: TypeAlias = list[dict[str, Any]]
MessagesInput: TypeAlias = Iterable[BaseModel | Mapping[str, Any]]


def copilotkit(messages: MessagesInput) -> Messages:
    """Return messages as CopilotKit does: unchanged, with results after their calls."""
    return _client_order(_plain(messages))


def assistant_ui(messages: MessagesInput) -> Messages:
    """Return messages as assistant-ui does.

    Reasoning comes first, and messages with only tool calls are merged into the one before. Metadata, values
    on calls and text, and reasoning of subagents are dropped.
    """
    returned: Messages = []
    for bubble in _bubbles(_client_order(_plain(messages))):
        returned += _assistant_ui_bubble(bubble)
    return returned


def tanstack(messages: MessagesInput) -> Messages:
    """Return messages as TanStack AI does.

    The reasoning of an answer is merged into one message with another ID and the last value. The value of an
    answer becomes reasoning without text. Messages with only tool calls are merged into the next one with
    text. Subagent IDs are dropped.
    """
    returned: Messages = []
    for bubble in _bubbles(_client_order(_plain(messages))):
        reasoning = [message for message in bubble if message["role"] == "reasoning"]
        answers = [message for message in bubble if message["role"] not in ("reasoning", "tool")]
        if reasoning:
            returned.append(_merged(reasoning))
        returned += [_value_of(message) for message in answers if "encryptedValue" in message]
        returned += map(_without_values, _merge_calls(answers))
        returned += [_renamed(message) for message in bubble if message["role"] == "tool"]
    return returned


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


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _assistant_ui_bubble(bubble: Messages) -> Messages:
    reasoning = [message for message in bubble if message["role"] == "reasoning"]
    kept = [
        m for m in reasoning if "subagentRunId" not in m and (_text(m).strip() or m.get("encryptedValue"))
    ]
    for message in bubble:
        message.pop("metadata", None)
        if message["role"] == "assistant":
            message.pop("encryptedValue", None)
            for call in message.get("toolCalls", ()):
                call.pop("encryptedValue", None)
                call.pop("metadata", None)
    empty = [m for m in kept if not _text(m)]
    return [
        *empty,
        *(m for m in kept if _text(m)),
        *_merge_calls_backward([m for m in bubble if m["role"] != "reasoning"]),
    ]


def _merge_calls_backward(messages: Messages) -> Messages:
    """Merge messages with only tool calls into the assistant message before them."""
    folded: Messages = []
    results: Messages = []
    for message in messages:
        if message["role"] == "tool":
            results.append(message)
        elif folded and _continues(folded[-1], message):
            folded[-1].setdefault("toolCalls", []).extend(message.get("toolCalls", ()))
        elif message["role"] == "assistant":
            folded, results = [*folded, *results, message], []
        else:
            folded.append(message)
    return [*folded, *results]


def _continues(before: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Return whether a message has only tool calls and follows one of the same agent."""
    calls_only = message["role"] == "assistant" and not message.get("content")
    owners = before.get("subagentRunId"), message.get("subagentRunId")
    return calls_only and before["role"] == "assistant" and owners[0] == owners[1]


def _merged(reasoning: Messages) -> dict[str, Any]:
    merged = {
        "id": f"{reasoning[0]['id']}-reasoning-1a2b",
        "role": "reasoning",
        "content": "".join(_text(message) for message in reasoning),
    }
    values = [message["encryptedValue"] for message in reasoning if message.get("encryptedValue")]
    return {**merged, "encryptedValue": values[-1]} if values else merged


def _value_of(message: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{message['id']}-reasoning-0"
    return {"id": name, "role": "reasoning", "content": "", "encryptedValue": message["encryptedValue"]}


def _merge_calls(answers: Messages) -> Messages:
    """Merge messages with only tool calls into the next message with text."""
    merged: Messages = []
    waiting: list[Any] = []
    for message in answers:
        calls_only = message["role"] == "assistant" and not _text(message)
        waiting += message.get("toolCalls", ()) if calls_only else ()
        if not calls_only and message["role"] == "assistant":
            calls = [*waiting, *message.get("toolCalls", ())]
            waiting = []
            merged.append(message | ({"toolCalls": calls} if calls else {}))
        elif not calls_only:
            merged.append(message)
    if waiting:
        last = next(message for message in reversed(answers) if message.get("toolCalls"))
        merged.append(last | {"toolCalls": waiting})
    return merged


def _without_values(message: dict[str, Any]) -> dict[str, Any]:
    """Move the metadata of calls to their message, and drop values on answers."""
    kept = {key: value for key, value in message.items() if key not in ("encryptedValue", "subagentRunId")}
    if message["role"] != "assistant":
        return {key: value for key, value in message.items() if key != "subagentRunId"}
    calls = message.get("toolCalls", ())
    moved = {call["id"]: call.pop("metadata") for call in calls if "metadata" in call}
    own = {"tanstack": {"toolCallMetadata": moved}} if moved else {}
    metadata = {**message.get("metadata", {}), **own}
    return {**kept, "metadata": metadata} if metadata else kept


def _renamed(result: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in result.items() if key != "subagentRunId"}
    return kept | {"id": f"tool-{result['toolCallId']}"}


def _bubbles(messages: Messages) -> list[Messages]:
    """Group the messages between two user messages, which are displayed as one answer."""
    bubbles: list[Messages] = []
    for message in messages:
        if message["role"] == "user" or not bubbles or bubbles[-1][-1]["role"] == "user":
            bubbles.append([])
        bubbles[-1].append(message)
    return bubbles


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
