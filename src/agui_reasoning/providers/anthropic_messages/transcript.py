"""Reads requests and responses of Anthropic Messages for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    REDACTED,
    RESULT,
    SIGNATURE,
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

_BLOCKS: Final[EntryFields] = {
    "thinking": {"thinking": THINKING, "signature": SIGNATURE},
    "redacted_thinking": {"data": REDACTED},
    "tool_use": {"id": CALL_ID},
    "tool_result": {"tool_use_id": RESULT},
}


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, message in members(body, "messages", ""):
        if message.get("role") == "system":
            continue  # instructions
        speaker = speaker_of(message.get("role")) or "user"
        if isinstance(message.get("content"), str):
            yield Entry(speaker, WORDS, path)
        for place, block in members(message, "content", path):
            is_result = block.get("type") == "tool_result"
            yield from entries("tool" if is_result else speaker, block, block.get("type"), place, _BLOCKS)


def _whole(response: JSONObject) -> JSONObject:
    return {"messages": [{"role": "assistant", "content": response.get("content")}]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    blocks: dict[Any, JSONObject] = {}
    for payload in payloads:
        block = blocks.setdefault(payload.get("index"), {})
        block |= payload.get("content_block") or {}
        delta = payload.get("delta") or {}
        for name in {"thinking", "signature"} & set(delta):
            block[name] = block.get(name, "") + delta[name]
    return _whole({"content": list(blocks.values())})


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({THINKING, SIGNATURE, REDACTED}),
)
