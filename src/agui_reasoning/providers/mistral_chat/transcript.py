"""Reads requests and responses of Mistral's chat for `transcript`."""

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
    Speaker,
    Transcript,
    entries,
    members,
    speaker_of,
)

__all__ = ["TRANSCRIPT"]

_FIELDS: Final[EntryFields] = {
    "thinking": {"signature": SIGNATURE},
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
            yield from _chunk(speaker, chunk, place)
        for place, call in members(message, "tool_calls", path):
            yield from entries(speaker, call, "function", place, _FIELDS)


def _chunk(speaker: Speaker, chunk: JSONObject, path: str) -> Iterator[Entry]:
    """Yield the text of a thought, which is in a nested list, and its signature."""
    texts = [(place, part["text"]) for place, part in members(chunk, "thinking", path) if _speaks(part)]
    if texts:
        yield Entry(speaker, THINKING, f"{texts[0][0]}/text", "".join(text for _, text in texts))
    signed = isinstance(chunk.get("signature"), str)
    if signed or not texts:
        yield from entries(speaker, chunk, chunk.get("type"), path, _FIELDS)


def _speaks(part: JSONObject) -> bool:
    return isinstance(part.get("text"), str)


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
