"""Read Gemini Interactions in tests: a recording's contents, a stream joined, a whole cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.expected import Expected, arguments, payloads

API = "gemini-interactions"


def steps(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps, streamed ones put together."""
    if not recording["stream"]:
        found: list[dict[str, Any]] = recording["response"]["steps"]
        return found
    made: dict[int, dict[str, Any]] = {}
    for data in payloads(recording):
        if isinstance(data, dict) and data["event_type"] == "step.start":
            made[data["index"]] = dict(data["step"])
        elif isinstance(data, dict) and data["event_type"] == "step.delta":
            _grow(made[data["index"]], data["delta"])
    for step in made.values():
        if step["type"] == "function_call" and "json" in step:
            step["arguments"] = arguments(step.pop("json"))
    return list(made.values())


def _grow(step: dict[str, Any], delta: dict[str, Any]) -> None:
    if delta["type"] == "thought_summary":
        step["summary"] = [*step.get("summary", ()), delta["content"]]
    elif delta["type"] == "arguments_delta":
        step["json"] = step.get("json", "") + delta["arguments"]
    elif delta["type"] == "text":
        content = step.setdefault("content", [{"type": "text", "text": ""}])
        content[-1]["text"] += delta["text"]
    elif delta["type"] == "text_annotation_delta":
        content = step.setdefault("content", [{"type": "text", "text": ""}])
        content[-1]["annotations"] = [*content[-1].get("annotations", ()), *delta["annotations"]]
    else:
        fresh = {name: value for name, value in delta.items() if name != "type"}
        step.update({name: value for name, value in fresh.items() if value or name != "signature"})


def expect(recording: dict[str, Any]) -> Expected:
    """What a recording holds."""
    expected = Expected()
    for step in steps(recording):
        expected.reasoning += "".join(entry["text"] for entry in step.get("summary", ()))
        expected.answer += "".join(c.get("text", "") for c in step.get("content", ()))
        if step["type"] == "function_call":
            expected.calls.append((step["id"], step["name"], step["arguments"]))
        if step.get("signature"):
            expected.opaque.append(step["signature"])
    return expected


def whole(recording: dict[str, Any]) -> dict[str, Any]:
    """The interaction whose steps are those of a stream."""
    ends = [
        d for d in payloads(recording) if isinstance(d, dict) and d["event_type"] == "interaction.completed"
    ]
    return {**ends[-1]["interaction"], "steps": steps(recording)}


def stream(response: dict[str, Any], cut: Callable[[str], list[str]]) -> list[Any]:
    """The events of an interaction."""
    head = {name: value for name, value in response.items() if name != "steps"}
    made: list[Any] = [{"event_type": "interaction.created", "interaction": head}]
    for index, step in enumerate(response["steps"]):
        made.append({"event_type": "step.start", "index": index, "step": _begun(step)})
        made += [{"event_type": "step.delta", "index": index, "delta": delta} for delta in _deltas(step, cut)]
        made.append({"event_type": "step.stop", "index": index})
    return [*made, {"event_type": "interaction.completed", "interaction": head}, "[DONE]"]


def _begun(step: dict[str, Any]) -> dict[str, Any]:
    blank: dict[str, Any] = {"signature": "", "arguments": {}}
    left_out = ("summary", "content", "result")
    return {name: blank.get(name, value) for name, value in step.items() if name not in left_out}


def _deltas(step: dict[str, Any], cut: Callable[[str], list[str]]) -> list[dict[str, Any]]:
    if step["type"] == "thought":
        made: list[dict[str, Any]] = []
        for entry in step.get("summary", ()):
            made += [
                {"type": "thought_signature", "signature": ""},
                {"type": "thought_summary", "content": entry},
            ]
        return [*made, {"type": "thought_signature", "signature": step.get("signature", "")}]
    if step["type"] == "model_output":
        return [
            {"type": "text", "text": piece} for content in step["content"] for piece in cut(content["text"])
        ]
    if step["type"] == "function_call":
        text = json.dumps(step["arguments"]) if step["arguments"] else ""
        return [{"type": "arguments_delta", "arguments": piece} for piece in cut(text)]
    carried = ("arguments", "result", "signature")
    return [{"type": step["type"], **{name: step[name] for name in carried if name in step}}]
