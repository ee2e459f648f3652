"""Reads requests and responses of Chat Completions for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    REASONING_CONTENT,
    RESULT,
    EntryFields,
    JSONObject,
    Transcript,
    chat_request,
)

__all__ = ["TRANSCRIPT"]

_MESSAGES: Final[EntryFields] = {
    "assistant": {"reasoning_content": REASONING_CONTENT},
    "function": {"id": CALL_ID},
    "tool": {"tool_call_id": RESULT},
}


def _whole(response: JSONObject) -> JSONObject:
    return {"messages": [choice.get("message") for choice in response.get("choices") or ()]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    deltas = [choice.get("delta") or {} for one in payloads for choice in one.get("choices") or ()]
    reasoning = [delta.get("reasoning_content") for delta in deltas]
    calls = [call for delta in deltas for call in delta.get("tool_calls") or () if call.get("id")]
    message: JSONObject = {"role": "assistant", "tool_calls": calls}
    if any(isinstance(piece, str) for piece in reasoning):
        message["reasoning_content"] = "".join(piece or "" for piece in reasoning)
    return {"messages": [message]}


TRANSCRIPT: Final = Transcript(
    request=partial(chat_request, fields=_MESSAGES),
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({REASONING_CONTENT}),
)
