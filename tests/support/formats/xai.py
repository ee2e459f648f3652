"""Read xAI's gRPC chat in tests: a recording's contents, a stream joined, a whole cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.expected import Expected, arguments, payloads

API = "xai-grpc"
_GROWING = ("content", "reasoning_content", "encrypted_content", "tool_calls", "citations")


def outputs(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs, streamed ones put together by index."""
    if not recording["stream"]:
        listed: list[dict[str, Any]] = recording["response"]["outputs"]
        return listed
    found: dict[int, dict[str, Any]] = {}
    for payload in payloads(recording):
        for piece in payload.get("outputs", ()):
            index = piece.get("index", 0)
            output = found.setdefault(index, {"index": index, "message": {}})
            if "finish_reason" in piece:
                output["finish_reason"] = piece["finish_reason"]
            for name, value in piece["delta"].items():
                before = output["message"].get(name)
                output["message"][name] = before + value if before and name in _GROWING else value
    return [output for _, output in sorted(found.items())]


def expect(recording: dict[str, Any]) -> Expected:
    """What a recording holds; a tool's output repeats the calls that it answers."""
    expected = Expected()
    for output in outputs(recording):
        message = output["message"]
        if message.get("encrypted_content"):
            expected.opaque.append(message["encrypted_content"])
        if message["role"] == "ROLE_TOOL":
            continue
        expected.reasoning += message.get("reasoning_content", "")
        expected.answer += message.get("content", "")
        for call in message.get("tool_calls", ()):
            function = call["function"]
            expected.calls.append((call["id"], function["name"], arguments(function.get("arguments", ""))))
    return expected


def whole(recording: dict[str, Any]) -> dict[str, Any]:
    """The response that a streamed recording amounts to."""
    head = next(payload for payload in payloads(recording) if "model" in payload)
    return {"id": head["id"], "model": head["model"], "outputs": outputs(recording)}


def stream(response: dict[str, Any], cut: Callable[[str], list[str]]) -> list[Any]:
    """The chunks of a response: what is encrypted comes with the first of an output."""
    head = {name: value for name, value in response.items() if name != "outputs"}
    chunks: list[Any] = []
    for place, output in enumerate(response["outputs"]):
        index = {"index": place} if place else {}
        chunks += [
            {**head, "outputs": [{**index, "delta": delta}]} for delta in _deltas(output["message"], cut)
        ]
        if "finish_reason" in output:
            last = {**index, "delta": {}, "finish_reason": output["finish_reason"]}
            chunks.append({**head, "outputs": [last]})
    return chunks


def _deltas(message: dict[str, Any], cut: Callable[[str], list[str]]) -> list[dict[str, Any]]:
    role = {"role": message["role"]}
    if message["role"] == "ROLE_TOOL":
        return [message]
    deltas = [{**role, "reasoning_content": piece} for piece in cut(message.get("reasoning_content", ""))]
    if message.get("encrypted_content"):
        deltas += [{**role, "encrypted_content": piece} for piece in cut(message["encrypted_content"])]
    deltas += [{**role, "content": piece} for piece in cut(message.get("content", ""))]
    deltas += [{**role, "tool_calls": [call]} for call in message.get("tool_calls", ())]
    return [*deltas, role]
