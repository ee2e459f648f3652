"""Reads requests and responses of Bedrock Converse for `transcript`."""

from __future__ import annotations

from base64 import b64encode
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
    "reasoningText": {"text": THINKING, "signature": SIGNATURE},
    "reasoningContent": {"redactedContent": REDACTED},
    "toolUse": {"toolUseId": CALL_ID},
    "toolResult": {"toolUseId": RESULT},
}


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, message in members(body, "messages", ""):
        speaker = speaker_of(message.get("role")) or "user"
        for place, block in members(message, "content", path):
            kind, holder, place = _member(block, place)
            yield from entries("tool" if kind == "toolResult" else speaker, holder, kind, place, _BLOCKS)


def _member(block: JSONObject, path: str) -> tuple[str, JSONObject, str]:
    """Return the member of a union; text is a string and stays in its block."""
    for name in ("reasoningContent", "reasoningText", "toolUse", "toolResult"):
        inner = block.get(name)
        if isinstance(inner, dict):
            if "reasoningText" in inner:
                return _member(inner, f"{path}/{name}")
            return name, _readable(inner), f"{path}/{name}"
    return WORDS, block, path


def _readable(holder: JSONObject) -> JSONObject:
    """Return boto3's bytes as the base64 of the wire."""
    blob = holder.get("redactedContent")
    if not isinstance(blob, bytes):
        return holder
    return {**holder, "redactedContent": b64encode(blob).decode("ascii")}


def _whole(response: JSONObject) -> JSONObject:
    message = (response.get("output") or {}).get("message") or {}
    return {"messages": [{"role": "assistant", "content": message.get("content")}]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    blocks: dict[Any, JSONObject] = {}
    for payload in payloads:
        event = next((value for value in payload.values() if isinstance(value, dict)), {})
        event = payload if "contentBlockIndex" in payload else event
        block = blocks.setdefault(event.get("contentBlockIndex"), {})
        if call := (event.get("start") or {}).get("toolUse"):
            block["toolUse"] = call
        piece = (event.get("delta") or {}).get("reasoningContent") or {}
        _grow(block, piece)
    return _whole({"output": {"message": {"content": list(blocks.values())}}})


def _grow(block: JSONObject, piece: JSONObject) -> None:
    for name in {"text", "signature"} & set(piece):
        held = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {})
        held[name] = held.get(name, "") + piece[name]
    if "redactedContent" in piece:
        # Scripts contain such a value in one piece.
        block.setdefault("reasoningContent", {})["redactedContent"] = piece["redactedContent"]


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({THINKING, SIGNATURE, REDACTED}),
)
