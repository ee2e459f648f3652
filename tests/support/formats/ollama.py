"""Read Ollama in tests: a recording's contents, a stream joined, a whole cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.expected import Expected, payloads

API = "ollama"


def message(recording: dict[str, Any]) -> dict[str, Any]:
    """The message, the strings of a streamed one joined."""
    if not recording["stream"]:
        found: dict[str, Any] = recording["response"]["message"]
        return found
    said = [data["message"] for data in payloads(recording)]
    return {
        "thinking": "".join(one.get("thinking", "") for one in said),
        "content": "".join(one["content"] for one in said),
        "tool_calls": [call for one in said for call in one.get("tool_calls", ())],
    }


def expect(recording: dict[str, Any]) -> Expected:
    """What a recording holds."""
    said = message(recording)
    calls = [
        (call.get("id", ""), call["function"]["name"], call["function"]["arguments"])
        for call in said.get("tool_calls") or ()
    ]
    return Expected(said.get("thinking", ""), said["content"], calls)


def whole(recording: dict[str, Any]) -> dict[str, Any]:
    """The response that a streamed recording amounts to."""
    return {**payloads(recording)[-1], "message": message(recording)}


def stream(response: dict[str, Any], cut: Callable[[str], list[str]]) -> list[Any]:
    """The lines of a response."""
    said = response["message"]
    pieces: list[dict[str, Any]] = [{"thinking": piece} for piece in cut(said.get("thinking", ""))]
    pieces += [{"content": piece} for piece in cut(said["content"])]
    pieces += [{"tool_calls": [call]} for call in said.get("tool_calls") or ()]
    lines = [{"model": response["model"], "message": {"content": "", **p}, "done": False} for p in pieces]
    return [*lines, {**response, "message": {"role": "assistant", "content": ""}}]
