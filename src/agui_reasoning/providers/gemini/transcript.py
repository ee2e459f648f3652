"""Reads requests and responses of Gemini's ``generateContent`` for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    RESULT,
    SIGNATURE,
    WORDS,
    Entry,
    JSONObject,
    Speaker,
    Transcript,
    members,
)

__all__ = ["TRANSCRIPT"]

_CALLS: Final = ("functionCall", "executableCode", "toolCall")
_SPEAKERS: Final[Mapping[Any, Speaker]] = {"user": "user", "model": "model"}
_STANDARD: Final = str.maketrans("-_", "+/")
"""google-genai writes signatures in URL-safe base64, the API in standard base64."""


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, content in members(body, "contents", ""):
        speaker = _SPEAKERS.get(content.get("role", "user"))
        for place, part in members(content, "parts", path):
            if speaker is not None:
                yield from _entries(speaker, part, place)


def _entries(speaker: Speaker, part: JSONObject, path: str) -> Iterator[Entry]:
    """Yield the entries of a part; of thoughts, only signatures and calls must be sent back."""
    result = part.get("functionResponse")
    if isinstance(result, dict):
        # Calls without an ID are answered by name.
        yield Entry("tool", *_named(result, RESULT, f"{path}/functionResponse"))
        return
    calls = [(field, part[field]) for field in _CALLS if isinstance(part.get(field), dict)]
    for field, call in calls:
        yield Entry(speaker, *_named(call, CALL_ID, f"{path}/{field}"))
    signature = part.get("thoughtSignature")
    if isinstance(signature, str) and signature:
        yield Entry(speaker, SIGNATURE, f"{path}/thoughtSignature", signature.translate(_STANDARD))
    elif not calls:
        yield Entry(speaker, WORDS, path)


def _named(holder: JSONObject, kind: str, path: str) -> tuple[str, str, str]:
    field = next((name for name in ("id", "name") if isinstance(holder.get(name), str)), None)
    return (WORDS, path, "") if field is None else (kind, f"{path}/{field}", holder[field])


def _whole(response: JSONObject) -> JSONObject:
    return _streamed(iter([response]))


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    """Collect the parts of a stream; further fragments of a call have no name and yield nothing."""
    parts = [
        part
        for payload in payloads
        for _, candidate in list(members(payload, "candidates", ""))[:1]
        if isinstance(candidate.get("content"), dict)
        for _, part in members(candidate["content"], "parts", "")
    ]
    return {"contents": [{"role": "model", "parts": parts}]}


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({SIGNATURE}),
)
