"""Read Mistral's chat in tests: a recording's contents, a stream joined, a whole cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.support.expected import Expected, arguments, payloads

API = "mistral-chat"


def chunks(recording: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The chunks of the content, in order; strings as chunks of text."""
    for message in messages(recording):
        content = message.get("content") or ""
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


def messages(recording: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages or deltas of the first choice."""
    streamed = recording["stream"]
    for data in payloads(recording) if streamed else [recording["response"]]:
        for choice in data["choices"][:1] if isinstance(data, dict) else ():
            yield choice["delta" if streamed else "message"]


def expect(recording: dict[str, Any]) -> Expected:
    """What a recording holds."""
    expected = Expected()
    for chunk in chunks(recording):
        expected.answer += chunk.get("text", "")
        expected.reasoning += "".join(part["text"] for part in chunk.get("thinking", ()))
        expected.opaque += [chunk["signature"]] if chunk.get("signature") else []
    for message in messages(recording):
        for call in message.get("tool_calls") or ():
            function = call["function"]
            expected.calls.append((call["id"], function["name"], arguments(function["arguments"])))
    return expected


def whole(recording: dict[str, Any]) -> dict[str, Any]:
    """The completion whose content is the chunks, with neighbors of one type joined."""
    joined: list[dict[str, Any]] = []
    for chunk in chunks(recording):
        if joined and joined[-1]["type"] == chunk["type"] == "text":
            joined[-1] = {"type": "text", "text": joined[-1]["text"] + chunk["text"]}
        elif joined and joined[-1]["type"] == chunk["type"] == "thinking":
            joined[-1] = {**joined[-1], **chunk, "thinking": [*joined[-1]["thinking"], *chunk["thinking"]]}
        elif chunk.get("text") != "":
            joined.append(chunk)
    first = payloads(recording)[0]
    reasons = [choice["finish_reason"] for data in payloads(recording)[:-1] for choice in data["choices"]]
    message = {"content": joined, "tool_calls": list(_calls(recording))}
    choice = {"index": 0, "message": message, "finish_reason": reasons[-1]}
    return {"id": first["id"], "model": first["model"], "choices": [choice]}


def _calls(recording: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for message in messages(recording):
        yield from message.get("tool_calls") or ()


def stream(completion: dict[str, Any], cut: Callable[[str], list[str]]) -> list[Any]:
    """The chunks of a completion, as events of the stream."""
    head = {key: completion[key] for key in ("id", "model")}
    choice = completion["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for chunk in message["content"]:
        deltas += [{"content": one} for one in _pieces(chunk, cut)]
    deltas += [{"tool_calls": [call]} for call in message.get("tool_calls") or ()]
    made = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    last = {"index": 0, "delta": {"content": ""}, "finish_reason": choice["finish_reason"]}
    return [*made, {**head, "choices": [last]}, "[DONE]"]


def _pieces(chunk: dict[str, Any], cut: Callable[[str], list[str]]) -> list[Any]:
    if chunk["type"] == "text":
        return cut(chunk["text"])
    if chunk["type"] != "thinking":
        return [[chunk]]
    text = "".join(part["text"] for part in chunk["thinking"])
    bare = {"type": "thinking", "closed": True}
    made: list[Any] = [[{**bare, "thinking": [{"type": "text", "text": piece}]}] for piece in cut(text)]
    if "signature" in chunk:
        made.append([{**bare, "thinking": [], "signature": chunk["signature"]}])
    return made
