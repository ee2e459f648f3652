"""Who said what in requests and answers of Mistral's chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
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

_FIELDS: Final[EntryFields] = {
    "thinking": {"thinking": THINKING, "signature": SIGNATURE},
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
        elif isinstance(message.get("content"), str):
            yield Entry(speaker, WORDS, path)
        for place, chunk in members(message, "content", path):
            yield from entries(speaker, _flat(chunk), chunk.get("type"), place, _FIELDS)
        for place, call in members(message, "tool_calls", path):
            yield from entries(speaker, call, "function", place, _FIELDS)


def _flat(chunk: JSONObject) -> JSONObject:
    """A chunk with the text of its thinking as one string."""
    texts = [part.get("text") for _, part in members(chunk, "thinking", "")]
    return {**chunk, "thinking": "".join(text for text in texts if isinstance(text, str))} if texts else chunk


def _whole(response: JSONObject) -> JSONObject:
    return {"messages": [choice.get("message") for choice in response.get("choices") or ()]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    deltas = [choice.get("delta") or {} for one in payloads for choice in one.get("choices") or ()]
    chunks = [chunk for delta in deltas for _, chunk in members(delta, "content", "")]
    thinking = [part for chunk in chunks for _, part in members(chunk, "thinking", "")]
    whole: JSONObject = {"type": "thinking", "thinking": thinking} if thinking else {}
    for chunk in chunks:
        whole |= {name: value for name, value in chunk.items() if name == "signature" and value}
    calls = [call for delta in deltas for call in delta.get("tool_calls") or ()]
    return {"messages": [{"role": "assistant", "content": [whole], "tool_calls": calls}]}


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({THINKING, SIGNATURE}),
)
