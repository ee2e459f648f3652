"""Read Cohere's chat in tests: a recording's contents, a stream joined, a whole cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.expected import Expected, arguments, payloads

API = "cohere-chat"


def message(recording: dict[str, Any]) -> dict[str, Any]:
    """The message, a streamed one put together."""
    if not recording["stream"]:
        found: dict[str, Any] = recording["response"]["message"]
        return found
    blocks: dict[int, dict[str, Any]] = {}
    calls: dict[int, dict[str, Any]] = {}
    made: dict[str, Any] = {"tool_plan": "", "citations": []}
    for data in payloads(recording)[:-1]:
        delta = data.get("delta", {}).get("message", {})
        if data["type"].startswith("content-") and delta:
            block = blocks.setdefault(data["index"], {})
            for name, value in delta["content"].items():
                block[name] = value if name == "type" else block.get(name, "") + value
        elif data["type"] == "tool-call-start":
            calls[data["index"]] = {**delta["tool_calls"], "function": {**delta["tool_calls"]["function"]}}
        elif data["type"] == "tool-call-delta":
            calls[data["index"]]["function"]["arguments"] += delta["tool_calls"]["function"]["arguments"]
        elif data["type"] == "citation-start":
            made["citations"].append(delta["citations"])
        elif data["type"] == "tool-plan-delta":
            made["tool_plan"] += delta["tool_plan"]
    return {**made, "content": list(blocks.values()), "tool_calls": list(calls.values())}


def expect(recording: dict[str, Any]) -> Expected:
    """What a recording holds."""
    expected = Expected()
    said = message(recording)
    expected.reasoning = said.get("tool_plan") or ""
    for block in said.get("content") or ():
        expected.reasoning += block.get("thinking", "")
        expected.answer += block.get("text", "")
    for call in said.get("tool_calls") or ():
        function = call["function"]
        expected.calls.append((call["id"], function["name"], arguments(function["arguments"])))
    return expected


def whole(recording: dict[str, Any]) -> dict[str, Any]:
    """The response that a streamed recording amounts to."""
    stream = payloads(recording)
    ends = [data["delta"]["finish_reason"] for data in stream[:-1] if data["type"] == "message-end"]
    return {"id": stream[0]["id"], "message": message(recording), "finish_reason": ends[-1]}


def stream(response: dict[str, Any], cut: Callable[[str], list[str]]) -> list[Any]:
    """The events of a response."""
    said = response["message"]
    made: list[Any] = [{"type": "message-start", "id": response["id"], "delta": {"message": {}}}]
    made += [_event("tool-plan-delta", {"tool_plan": piece}) for piece in cut(said.get("tool_plan") or "")]
    for index, block in enumerate(said.get("content") or ()):
        name = block["type"]
        made.append(_event("content-start", {"content": {"type": name, name: ""}}, index))
        made += [_event("content-delta", {"content": {name: piece}}, index) for piece in cut(block[name])]
        made.append({"type": "content-end", "index": index})
    for index, call in enumerate(said.get("tool_calls") or ()):
        text = call["function"]["arguments"]
        begun = {**call, "function": {**call["function"], "arguments": ""}}
        made.append(_event("tool-call-start", {"tool_calls": begun}, index))
        made += [
            _event("tool-call-delta", {"tool_calls": {"function": {"arguments": piece}}}, index)
            for piece in cut(text)
        ]
        made.append({"type": "tool-call-end", "index": index})
    for index, citation in enumerate(said.get("citations") or ()):
        made.append(_event("citation-start", {"citations": citation}, index))
        made.append({"type": "citation-end", "index": index})
    end = {"finish_reason": response["finish_reason"], "usage": response.get("usage")}
    return [*made, {"type": "message-end", "delta": end}, "[DONE]"]


def _event(kind: str, message: dict[str, Any], index: int | None = None) -> dict[str, Any]:
    at = {} if index is None else {"index": index}
    return {"type": kind, **at, "delta": {"message": message}}
