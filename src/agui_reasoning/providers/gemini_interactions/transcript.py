"""Reads requests and responses of Gemini Interactions for `transcript`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_reasoning.providers.transcript import (
    CALL_ID,
    RESULT,
    SIGNATURE,
    SUMMARY,
    WORDS,
    Entry,
    JSONObject,
    Transcript,
    members,
)

__all__ = ["TRANSCRIPT"]


def _request(body: Mapping[str, Any]) -> Iterator[Entry]:
    if isinstance(body.get("input"), str):
        yield Entry("user", WORDS, "/input")
    for path, step in members(body, "input", ""):
        if step.get("type") == "user_input":
            yield from _user(step, path)
        elif step.get("type") == "function_result":
            yield _result(step, path)
        else:
            yield from _step(step, path)


def _user(step: JSONObject, path: str) -> Iterator[Entry]:
    for place, block in members(step, "content", path):
        yield _result(block, place) if block.get("type") == "function_result" else Entry("user", WORDS, place)


def _result(block: JSONObject, path: str) -> Entry:
    call_id = block.get("call_id")
    return Entry("tool", RESULT, f"{path}/call_id", call_id if isinstance(call_id, str) else "")


def _step(step: JSONObject, path: str) -> Iterator[Entry]:
    found = [
        Entry("model", SUMMARY, f"{place}/text", entry["text"])
        for place, entry in members(step, "summary", path)
        if isinstance(entry.get("text"), str)
    ]
    for name, kind in (("signature", SIGNATURE), ("id", CALL_ID)):
        value = step.get(name)
        if isinstance(value, str) and value:
            found.append(Entry("model", kind, f"{path}/{name}", value))
    yield from found or [Entry("model", WORDS, path)]


def _whole(response: JSONObject) -> JSONObject:
    return {"input": response.get("steps")}


def _streamed(payloads: Iterator[JSONObject]) -> JSONObject:
    steps: dict[Any, JSONObject] = {}
    for payload in payloads:
        step = steps.setdefault(payload.get("index"), {})
        if isinstance(payload.get("step"), dict):
            step |= payload["step"]
        delta = payload.get("delta")
        if isinstance(delta, dict):
            _grow(step, delta)
    steps.pop(None, None)
    return _whole({"steps": list(steps.values())})


def _grow(step: JSONObject, delta: JSONObject) -> None:
    if delta.get("type") == "thought_summary":
        step["summary"] = [*step.get("summary", ()), delta.get("content")]
    if delta.get("signature"):
        step["signature"] = delta["signature"]


TRANSCRIPT: Final = Transcript(
    request=_request,
    whole=_whole,
    streamed=_streamed,
    bond=CALL_ID,
    bound=frozenset({SIGNATURE}),
)
