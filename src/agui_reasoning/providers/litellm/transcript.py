"""Reads requests and responses of LiteLLM for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    ENCRYPTED_CONTENT,
    REASONING_CONTENT,
    REDACTED,
    RESULT,
    SIGNATURE,
    THINKING,
    Entry,
    EntryFields,
    JSONObject,
    Transcript,
    entries,
    members,
    speaker_of,
)

__all__ = ["TRANSCRIPT"]

_MESSAGES: Final[EntryFields] = {
    "assistant": {"reasoning_content": REASONING_CONTENT},
    "function": {"id": CALL_ID},
    "tool": {"tool_call_id": RESULT},
    "thinking": {"thinking": THINKING, "signature": SIGNATURE},
    "redacted_thinking": {"data": REDACTED},
    "reasoning": {"encrypted_content": ENCRYPTED_CONTENT},
}


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, message in members(body, "messages", ""):
        speaker = speaker_of(message.get("role"))
        if speaker is None:
            continue  # instructions
        for name in ("thinking_blocks", "reasoning_items"):
            for place, block in members(message, name, path):
                yield from entries(speaker, block, block.get("type"), place, _MESSAGES)
        # If there are blocks, the string repeats them.
        fields = {**message, "reasoning_content": None} if message.get("thinking_blocks") else message
        yield from entries(speaker, fields, message["role"], path, _MESSAGES)
        for place, call in members(message, "tool_calls", path):
            yield from entries(speaker, call, "function", place, _MESSAGES)


def _whole(response: JSONObject) -> JSONObject:
    return {"messages": [choice.get("message") for choice in response.get("choices") or ()]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    deltas = [choice.get("delta") or {} for one in payloads for choice in one.get("choices") or ()]
    message: JSONObject = {"role": "assistant"}
    message["tool_calls"] = [
        call for delta in deltas for call in delta.get("tool_calls") or () if call.get("id")
    ]
    message["reasoning_items"] = [item for delta in deltas for item in delta.get("reasoning_items") or ()]
    message["thinking_blocks"] = _joined([b for delta in deltas for b in delta.get("thinking_blocks") or ()])
    if reasoning := "".join(delta.get("reasoning_content") or "" for delta in deltas):
        message["reasoning_content"] = reasoning
    return {"messages": [message]}


def _joined(fragments: list[JSONObject]) -> list[JSONObject]:
    """Join fragments of thinking; a signature ends a block."""
    blocks: list[JSONObject] = []
    ended = True
    for fragment in fragments:
        thinking = fragment.get("type") == "thinking"
        if ended or not thinking:
            blocks.append(dict(fragment))
        else:
            blocks[-1]["thinking"] += fragment.get("thinking") or ""
            blocks[-1] |= {"signature": fragment["signature"]} if fragment.get("signature") else {}
        ended = not thinking or bool(fragment.get("signature"))
    return blocks


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({REASONING_CONTENT, THINKING, SIGNATURE, REDACTED, ENCRYPTED_CONTENT}),
)
