"""Reads requests and responses of OpenAI Responses for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    ENCRYPTED_CONTENT,
    ITEM_ID,
    PHASE,
    REASONING_ID,
    RESULT,
    SUMMARY,
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

_ITEMS: Final[EntryFields] = {
    "reasoning": {"id": REASONING_ID, "encrypted_content": ENCRYPTED_CONTENT},
    "summary_text": {"text": SUMMARY},
    "message": {"id": ITEM_ID, "phase": PHASE},
    "function_call": {"id": ITEM_ID, "call_id": CALL_ID},
    "function_call_output": {"call_id": RESULT},
}


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    if isinstance(body.get("input"), str):
        yield Entry("user", WORDS, "/input")
    for path, item in members(body, "input", ""):
        kind = item.get("type", "message")
        is_result = str(kind).endswith("_output")
        speaker = "tool" if is_result else speaker_of(item.get("role", "assistant"))
        if speaker is None:
            continue  # instructions
        yield from entries(speaker, item, kind, path, _ITEMS)
        for place, part in members(item, "summary", path):
            yield from entries(speaker, part, part.get("type"), place, _ITEMS)


def _whole(response: JSONObject) -> JSONObject:
    return {"input": response.get("output")}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    """Return the items in their final form."""
    return {"input": [one.get("item") for one in payloads if one.get("type") == "response.output_item.done"]}


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=ITEM_ID,
    bound=frozenset({REASONING_ID}),
)
