"""Who said what in requests and answers of Ollama's chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    RESULT,
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
    "assistant": {"thinking": THINKING},
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
    return {"messages": [response.get("message")]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    said = [payload.get("message") or {} for payload in payloads]
    calls = [call for message in said for call in message.get("tool_calls") or ()]
    whole: JSONObject = {"role": "assistant", "tool_calls": calls}
    if thinking := "".join(message.get("thinking") or "" for message in said):
        whole["thinking"] = thinking
    return {"messages": [whole]}


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({THINKING}),
)
