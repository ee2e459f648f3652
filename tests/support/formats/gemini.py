"""Read Gemini in tests: a recording's contents, a stream joined, a whole cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.support.expected import Expected, payloads

API = "gemini"


def parts(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of the first candidate in a row, streamed calls put together."""
    found: list[dict[str, Any]] = []
    for data in payloads(recording) if recording["stream"] else [recording["response"]]:
        for candidate in (data.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                call = part.get("functionCall")
                if call is not None and not call.get("name"):
                    _grow_args(found[-1]["functionCall"], call)
                else:
                    found.append(json.loads(json.dumps(part)))
    for part in found:
        part.get("functionCall", {}).pop("willContinue", None)
    return found


def _grow_args(call: dict[str, Any], piece: dict[str, Any]) -> None:
    for partial in piece.get("partialArgs") or ():
        holder: Any = call
        steps: list[Any] = ["args", *re.findall(r"[\w-]+", partial["jsonPath"])]
        steps = [int(step) if step.isdigit() else step for step in steps]
        for step, following in pairwise(steps):
            holder = _inner(holder, step, [] if isinstance(following, int) else {})
        if "stringValue" in partial:
            before = _inner(holder, steps[-1], "")
            holder[steps[-1]] = before + partial["stringValue"]
        else:
            _inner(holder, steps[-1], None)
            holder[steps[-1]] = partial.get("numberValue", partial.get("boolValue"))


def _inner(holder: Any, step: Any, fresh: Any) -> Any:
    if isinstance(holder, dict):
        return holder.setdefault(step, fresh)
    holder.extend([fresh] if step == len(holder) else [])
    return holder[step]


def expect(recording: dict[str, Any]) -> Expected:
    """What a recording holds."""
    expected = Expected()
    for part in parts(recording):
        if part.get("thought"):
            expected.reasoning += part.get("text", "")
        else:
            expected.answer += part.get("text", "")
        if "functionCall" in part:
            call = part["functionCall"]
            expected.calls.append((call.get("id", ""), call["name"], call.get("args", {})))
        if part.get("thoughtSignature"):
            expected.opaque.append(part["thoughtSignature"])
    return expected


def whole(recording: dict[str, Any]) -> dict[str, Any]:
    """The response that has the parts of all payloads in a row."""
    stream = payloads(recording)
    reasons = [c["finishReason"] for d in stream for c in d.get("candidates", ())[:1] if "finishReason" in c]
    candidate = {"content": {"role": "model", "parts": parts(recording)}, "finishReason": reasons[-1]}
    return {**stream[0], "candidates": [candidate]}


def stream(response: dict[str, Any], cut: Callable[[str], list[str]]) -> list[Any]:
    """The payloads of a response: a piece of a part each."""
    head = {name: response[name] for name in ("modelVersion", "responseId")}
    (candidate,) = response["candidates"]
    made = [
        {**head, "candidates": [{"content": {"role": "model", "parts": [piece]}, "index": 0}]}
        for part in candidate["content"]["parts"]
        for piece in _pieces(part, cut)
    ]
    end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": candidate["finishReason"]}
    return [*made, {**head, "candidates": [end]}]


def _pieces(part: dict[str, Any], cut: Callable[[str], list[str]]) -> Iterator[dict[str, Any]]:
    call = part.get("functionCall")
    if part.get("text") and "thoughtSignature" not in part:
        yield from ({**part, "text": piece} for piece in cut(part["text"]))
    elif call and call["args"]:
        yield {**part, "functionCall": {**_named(call), "willContinue": True}}
        for partial in _partials("$", call["args"], cut):
            yield {"functionCall": {"partialArgs": [partial], "willContinue": True}}
        yield {"functionCall": {}}
    else:
        yield part


def _named(call: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in call.items() if name != "args"}


def _partials(path: str, value: Any, cut: Callable[[str], list[str]]) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _partials(f"{path}.{name}", inner, cut)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _partials(f"{path}[{index}]", inner, cut)
    elif isinstance(value, str):
        pieces = [{"jsonPath": path, "stringValue": piece, "willContinue": True} for piece in cut(value)]
        yield from [*pieces, {"jsonPath": path, "stringValue": ""}]
    else:
        name = "boolValue" if isinstance(value, bool) else "nullValue" if value is None else "numberValue"
        yield {"jsonPath": path, name: "NULL_VALUE" if value is None else value}
