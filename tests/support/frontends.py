"""What real front ends do to a history before they send it back, observed in browsers."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

Messages = list[dict[str, Any]]


def copilotkit(messages: Messages) -> Messages:
    """CopilotKit returns everything as it came, in the client's order: results behind their call."""
    return _client_order(deepcopy(messages))


def assistant_ui(messages: Messages) -> Messages:
    """assistant-ui: reasoning first, tool-only answers folded, metadata and values on calls and text gone."""
    returned: Messages = []
    for bubble in _bubbles(_client_order(deepcopy(messages))):
        returned += _assistant_ui_bubble(bubble)
    return returned


def _assistant_ui_bubble(bubble: Messages) -> Messages:
    reasoning = [m for m in bubble if m["role"] == "reasoning"]
    kept = [m for m in reasoning if m["content"].strip() or m.get("encryptedValue")]
    for message in bubble:
        message.pop("metadata", None)
        if message["role"] == "assistant":
            message.pop("encryptedValue", None)
            for call in message.get("toolCalls", ()):
                call.pop("encryptedValue", None)
                call.pop("metadata", None)
    empty = [m for m in kept if not m["content"]]
    return [*empty, *(m for m in kept if m["content"]), *_folded([m for m in bubble if m not in reasoning])]


def _folded(messages: Messages) -> Messages:
    """Consecutive answers of calls alone become part of the answer before them."""
    folded: Messages = []
    results: Messages = []
    for message in messages:
        if message["role"] == "tool":
            results.append(message)
        elif message["role"] == "assistant" and not message.get("content") and folded:
            folded[-1].setdefault("toolCalls", []).extend(message.get("toolCalls", ()))
        elif message["role"] == "assistant":
            folded, results = [*folded, *results, message], []
        else:
            folded.append(message)
    return [*folded, *results]


def tanstack(messages: Messages) -> Messages:
    """TanStack: all reasoning of an answer merged into one, under another id, with the last value."""
    returned: Messages = []
    for bubble in _bubbles(_client_order(deepcopy(messages))):
        reasoning = [m for m in bubble if m["role"] == "reasoning"]
        others = [m for m in bubble if m["role"] != "reasoning"]
        if reasoning:
            merged: dict[str, Any] = {
                "id": f"{reasoning[0]['id']}-reasoning-1a2b",
                "role": "reasoning",
                "content": "".join(m["content"] for m in reasoning),
            }
            values = [m["encryptedValue"] for m in reasoning if m.get("encryptedValue")]
            returned.append({**merged, "encryptedValue": values[-1]} if values else merged)
        for message in others:
            if message["role"] == "tool":
                message["id"] = f"tool-{message['toolCallId']}"
            returned.append(message)
    return returned


def _bubbles(messages: Messages) -> list[Messages]:
    """What stands between two user messages is one answer on the screen."""
    bubbles: list[Messages] = []
    for message in messages:
        if message["role"] == "user" or not bubbles or bubbles[-1][-1]["role"] == "user":
            bubbles.append([])
        bubbles[-1].append(message)
    return bubbles


def _client_order(messages: Messages) -> Messages:
    """Results stand behind the assistant message that owns the call."""
    ordered = [m for m in messages if m["role"] != "tool"]
    for result in (m for m in messages if m["role"] == "tool"):
        owners = [
            n
            for n, m in enumerate(ordered)
            if any(c["id"] == result["toolCallId"] for c in m.get("toolCalls", ()))
        ]
        at = owners[0] + 1 if owners else len(ordered)
        while at < len(ordered) and ordered[at]["role"] == "tool":
            at += 1
        ordered.insert(at, result)
    return ordered


FRONT_ENDS: dict[str, Callable[[Messages], Messages]] = {
    "copilotkit": copilotkit,
    "assistant-ui": assistant_ui,
    "tanstack": tanstack,
}
