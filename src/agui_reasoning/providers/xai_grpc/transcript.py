"""Reads requests and responses of xAI's gRPC chat for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    ENCRYPTED_CONTENT,
    REASONING_CONTENT,
    RESULT,
    WORDS,
    Entry,
    EntryFields,
    JSONObject,
    Speaker,
    Transcript,
    entries,
    members,
)

__all__ = ["TRANSCRIPT"]

_SPEAKERS: Final[Mapping[Any, Speaker]] = {
    "ROLE_USER": "user",
    "ROLE_ASSISTANT": "model",
    "ROLE_TOOL": "tool",
}
_MESSAGES: Final[EntryFields] = {
    "model": {"reasoning_content": REASONING_CONTENT, "encrypted_content": ENCRYPTED_CONTENT},
    "tool": {"tool_call_id": RESULT},
    "call": {"id": CALL_ID},
}


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, message in members(body, "messages", ""):
        role = message.get("role")
        speaker = _SPEAKERS.get(role) if isinstance(role, str) else None
        if speaker is None:
            continue  # instructions
        calls = list(members(message, "tool_calls", path))
        if speaker == "tool" and calls:
            # The result of a server tool is part of the response.
            yield Entry("model", WORDS, path)
            continue
        yield from entries(speaker, message, speaker, path, _MESSAGES)
        for place, call in calls:
            yield from entries(speaker, call, "call", place, _MESSAGES)


def _whole(response: JSONObject) -> JSONObject:
    return {"messages": [output.get("message") or {} for output in response.get("outputs") or ()]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    outputs: dict[Any, JSONObject] = {}
    for payload in payloads:
        for piece in payload.get("outputs") or ():
            _grow(outputs.setdefault(piece.get("index", 0), {}), piece.get("delta") or {})
    return {"messages": [message for _, message in sorted(outputs.items())]}


def _grow(message: JSONObject, delta: JSONObject) -> None:
    for name, value in delta.items():
        message[name] = message[name] + value if name in message and name != "role" else value


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({REASONING_CONTENT, ENCRYPTED_CONTENT}),
)
