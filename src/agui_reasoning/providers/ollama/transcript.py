"""Reads requests and responses of Ollama's chat for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    RESULT,
    THINKING,
    EntryFields,
    JSONObject,
    Transcript,
    chat_request,
)

__all__ = ["TRANSCRIPT"]

_MESSAGES: Final[EntryFields] = {
    "assistant": {"thinking": THINKING},
    "function": {"id": CALL_ID},
    "tool": {"tool_call_id": RESULT},
}


def _whole(response: JSONObject) -> JSONObject:
    return {"messages": [response.get("message")]}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    messages = [payload.get("message") or {} for payload in payloads]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    whole: JSONObject = {"role": "assistant", "tool_calls": calls}
    if thinking := "".join(message.get("thinking") or "" for message in messages):
        whole["thinking"] = thinking
    return {"messages": [whole]}


TRANSCRIPT: Final = Transcript(
    request=partial(chat_request, fields=_MESSAGES),
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({THINKING}),
)
