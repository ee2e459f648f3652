"""Read Bedrock Converse in tests: a recording's contents, a stream joined, a whole cut."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from tests.support.expected import Expected, arguments, payloads

API = "bedrock-converse"
_TAGGED = re.compile(r"\s*<thinking>(.*?)</thinking>(.*)", re.DOTALL)


def events(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The payloads without the names of their events."""
    bare = [data if set(data) - NAMES else next(iter(data.values())) for data in payloads(recording)]
    return [event for event in bare if isinstance(event, dict)]


NAMES = {
    *("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
}


def blocks(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The content blocks, streamed ones put together by index."""
    if not recording["stream"]:
        content: list[dict[str, Any]] = recording["response"]["output"]["message"]["content"]
        return content
    found: dict[int, dict[str, Any]] = {}
    for event in events(recording):
        if "contentBlockIndex" in event:
            block = found.setdefault(event["contentBlockIndex"], {})
            block.update(json.loads(json.dumps(event.get("start", {}))))
            for name, piece in event.get("delta", {}).items():
                _grow(block, name, piece)
    return [_parsed(block) for _, block in sorted(found.items())]


def _grow(block: dict[str, Any], name: str, piece: Any) -> None:
    if name == "text":
        block["text"] = block.get("text", "") + piece
    elif name == "toolUse":
        block[name]["input"] = block[name].get("input", "") + piece["input"]
    elif "redactedContent" in piece:
        held = block.setdefault(name, {"redactedContent": ""})
        joined = base64.b64decode(held["redactedContent"]) + base64.b64decode(piece["redactedContent"])
        held["redactedContent"] = base64.b64encode(joined).decode()
    else:
        held = block.setdefault(name, {"reasoningText": {"text": ""}})["reasoningText"]
        for field, value in piece.items():
            held[field] = held.get(field, "") + value


def _parsed(block: dict[str, Any]) -> dict[str, Any]:
    if "toolUse" in block:
        block["toolUse"]["input"] = arguments(block["toolUse"].get("input", ""))
    return block


def expect(recording: dict[str, Any]) -> Expected:
    """What a recording holds."""
    expected = Expected()
    for block in blocks(recording):
        reasoning = block.get("reasoningContent", {})
        thought = reasoning.get("reasoningText", {})
        expected.reasoning += thought.get("text", "")
        values = (thought.get("signature"), reasoning.get("redactedContent"))
        expected.opaque += [value for value in values if value]
        tagged = None if expected.reasoning else _TAGGED.match(block.get("text", ""))
        thinking, said = tagged.groups() if tagged else ("", block.get("text", ""))
        expected.reasoning += thinking
        expected.answer += said
        if call := block.get("toolUse"):
            expected.calls.append((call["toolUseId"], call["name"], call["input"]))
    return expected


def whole(recording: dict[str, Any]) -> dict[str, Any]:
    """The response that a streamed recording amounts to."""
    reasons = [event["stopReason"] for event in events(recording) if "stopReason" in event]
    return {"output": {"message": {"content": blocks(recording)}}, "stopReason": reasons[-1]}


def stream(response: dict[str, Any], cut: Callable[[str], list[str]]) -> list[Any]:
    """The events of a response, as boto3 gives them."""
    made: list[Any] = [{"messageStart": {"role": "assistant"}}]
    for index, block in enumerate(response["output"]["message"]["content"]):
        at = {"contentBlockIndex": index}
        ((name, value),) = block.items()
        if name == "toolUse":
            start = {field: one for field, one in value.items() if field != "input"}
            made.append({"contentBlockStart": {**at, "start": {"toolUse": start}}})
        elif name not in ("text", "reasoningContent"):
            made.append({"contentBlockStart": {**at, "start": block}})
        made += [{"contentBlockDelta": {**at, "delta": delta}} for delta in _deltas(name, value, cut)]
        made.append({"contentBlockStop": at})
    return [*made, {"messageStop": {"stopReason": response["stopReason"]}}]


def _deltas(name: str, value: Any, cut: Callable[[str], list[str]]) -> list[dict[str, Any]]:
    if name == "text":
        return [{"text": piece} for piece in cut(value)]
    if name == "toolUse":
        text = json.dumps(value["input"]) if value["input"] else ""
        return [{"toolUse": {"input": piece}} for piece in cut(text)]
    if name != "reasoningContent":
        return []
    if "redactedContent" in value:
        blob = base64.b64decode(value["redactedContent"])
        sizes = [len(piece) for piece in cut("x" * len(blob))]
        chunks = [blob[sum(sizes[:n]) : sum(sizes[: n + 1])] for n in range(len(sizes))]
        return [{name: {"redactedContent": base64.b64encode(chunk).decode()}} for chunk in chunks]
    thought = value["reasoningText"]
    return [
        *({name: {"text": piece}} for piece in cut(thought.get("text", ""))),
        *({name: {"signature": piece}} for piece in cut(thought.get("signature", ""))),
    ]
