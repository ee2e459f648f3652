"""Reads requests and responses of Cohere's chat for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    RESULT,
    THINKING,
    WORDS,
    Entry,
    EntryFields,
    JSONObject,
    Transcript,
    entries,
    members,
    speaker_of,
)

__all__ = ["TRANSCRIPT"]

_FIELDS: Final[EntryFields] = {
    "thinking": {"thinking": THINKING},
    "plan": {"tool_plan": THINKING},
    "function": {"id": CALL_ID},
    "tool": {"tool_call_id": RESULT},
}


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, message in members(body, "messages", ""):
        speaker = speaker_of(message.get("role"))
        if speaker is None:
            continue  # instructions
        if speaker == "tool":
            yield from entries(speaker, message, "tool", path, _FIELDS)
            continue
        if isinstance(message.get("content"), str):
            yield Entry(speaker, WORDS, path)
        if message.get("tool_plan"):
            yield from entries(speaker, message, "plan", path, _FIELDS)
        for place, block in members(message, "content", path):
            yield from entries(speaker, block, block.get("type"), place, _FIELDS)
        for place, call in members(message, "tool_calls", path):
            yield from entries(speaker, call, "function", place, _FIELDS)


def _whole(response: JSONObject) -> JSONObject:
    return {"messages": [response.get("message")]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    blocks: dict[Any, JSONObject] = {}
    plan = ""
    calls: list[JSONObject] = []
    for payload in payloads:
        message = (payload.get("delta") or {}).get("message") or {}
        content = message.get("content")
        if isinstance(content, dict):
            block = blocks.setdefault(payload.get("index"), {"type": content.get("type")})
            for name in {"thinking", "text"} & set(content):
                block[name] = block.get(name, "") + content[name]
        if payload.get("type") == "tool-call-start":
            calls.append(message["tool_calls"])
        plan += message.get("tool_plan") or ""
    whole = {"role": "assistant", "content": list(blocks.values()), "tool_calls": calls, "tool_plan": plan}
    return {"messages": [whole]}


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({THINKING}),
)
