"""Who said what in requests and answers of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    REASONING_CONTENT,
    RESULT,
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
}


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, message in members(body, "messages", ""):
        speaker = speaker_of(message.get("role"))
        if speaker is None:
            continue  # instructions
        yield from entries(speaker, message, message["role"], path, _MESSAGES)
        for place, call in members(message, "tool_calls", path):
            yield from entries(speaker, call, "function", place, _MESSAGES)


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
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({REASONING_CONTENT}),
)
