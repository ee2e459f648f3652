"""Read recorded provider exchanges in place, and what a plain reader expects of them.

The expectations are taken from the payloads by code of their own, as plainly as possible: no decoder of the
package is involved.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.effort import sample
from tests.support.expected import Expected as Expected
from tests.support.expected import arguments as arguments
from tests.support.expected import payloads as payloads
from tests.support.formats import bedrock, cohere, gemini, interactions, mistral, ollama, xai

SHARED = Path(os.environ.get("AGUI_REASONING_SHARED", Path(__file__).parents[3] / "shared"))
FOLDER = SHARED / "recordings"


def recordings(api: str) -> list[Any]:
    """The recordings of an API as pytest parameters; one skipped parameter where the folder is absent.

    Without ``--all`` a sample of them, the same each time.
    """
    files = sample(sorted((FOLDER / api).glob("*.json")))
    if not files:
        skip = pytest.mark.skip(reason=f"no recordings at {FOLDER}; set AGUI_REASONING_SHARED")
        return [pytest.param(None, id="absent", marks=skip)]
    return [pytest.param(file, id=file.stem) for file in files]


@cache
def load(file: Path) -> dict[str, Any]:
    """One recording; its API is the name of its folder."""
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return {**loaded, "api": file.parent.name}


def dense(text: str) -> str:
    """Text without white space."""
    return "".join(text.split())


# -- Anthropic Messages


def anthropic_blocks(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The content blocks, streamed ones put together."""
    if not recording["stream"]:
        content: list[dict[str, Any]] = recording["response"].get("content", [])
        return content
    blocks: list[dict[str, Any]] = []
    for data in payloads(recording):
        if data["type"] == "content_block_start":
            blocks.append(dict(data["content_block"]))
        elif data["type"] == "content_block_delta":
            _grow(blocks[-1], data["delta"])
    return blocks


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    for name in ("thinking", "text", "signature"):
        if name in delta:
            block[name] = (block.get(name) or "") + delta[name]
    if "partial_json" in delta:
        block["json"] = block.get("json", "") + delta["partial_json"]


def expect_anthropic(recording: dict[str, Any]) -> Expected:
    """What an Anthropic recording holds."""
    expected = Expected()
    for block in anthropic_blocks(recording):
        expected.reasoning += block.get("thinking", "")
        expected.answer += block["text"] if block["type"] == "text" else ""
        expected.opaque += [block[name] for name in ("signature", "data") if block.get(name)]
        expected.opaque += list(strings_named(block.get("content"), "encrypted_content"))
        if "name" in block and "input" in block:
            args = arguments(block["json"]) if block.get("json") else block["input"]
            expected.calls.append((block["id"], block["name"], args))
    return expected


# -- OpenAI Responses


def responses_items(recording: dict[str, Any]) -> list[dict[str, Any]]:
    """The output items: those of ``output_item.done``, or of the whole response."""
    if not recording["stream"]:
        output: list[dict[str, Any]] = recording["response"]["output"]
        return output
    return [
        data["item"]
        for data in payloads(recording)
        if isinstance(data, dict) and data.get("type") == "response.output_item.done"
    ]


def expect_responses(recording: dict[str, Any]) -> Expected:
    """What an OpenAI Responses recording holds."""
    expected = Expected()
    for item in responses_items(recording):
        if item["type"] == "reasoning":
            parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
            expected.reasoning += "".join(part["text"] for part in parts)
        elif item["type"] == "message" and item["role"] == "assistant":
            expected.answer += "".join(
                part.get("text", part.get("refusal", "")) for part in item.get("content") or ()
            )
        elif item["type"] == "function_call":
            expected.calls.append((item["call_id"], item["name"], arguments(item["arguments"])))
        if item.get("encrypted_content"):
            expected.opaque.append(item["encrypted_content"])
    return expected


# -- Chat completions

_TEXT_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_TAGS = re.compile(r"\s*<think>(.*?)(?:</think>|\Z)(.*)", re.DOTALL)


def expect_chat(recording: dict[str, Any]) -> Expected:
    """What a chat completions recording holds."""
    expected = Expected()
    by_field: dict[str, str] = {}
    calls: dict[Any, list[str]] = {}
    for message in chat_messages(recording):
        for name in _TEXT_FIELDS:
            if isinstance(message.get(name), str):
                by_field[name] = by_field.get(name, "") + message[name]
        for detail in message.get("reasoning_details") or ():
            text = detail.get("text") or detail.get("summary") or ""
            by_field["details"] = by_field.get("details", "") + text
            expected.opaque += [detail[name] for name in ("signature", "data") if detail.get(name)]
        expected.answer += message.get("content") or ""
        _chat_calls(message, calls)
        expected.opaque += _thought_signatures(message)
    expected.reasoning = max(by_field.values(), key=len, default="")
    tagged = _TAGS.match(expected.answer)
    if tagged and not expected.reasoning:
        expected.reasoning, expected.answer = tagged.groups()
    expected.calls = [(call[0], call[1], arguments(call[2])) for call in calls.values()]
    return expected


def chat_messages(recording: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages or deltas of the first choice."""
    streamed = recording["stream"]
    for data in payloads(recording) if streamed else [recording["response"]]:
        if isinstance(data, dict):
            for choice in (data.get("choices") or ())[:1]:
                yield choice["delta" if streamed else "message"] or {}


def _chat_calls(message: dict[str, Any], calls: dict[Any, list[str]]) -> None:
    for number, call in enumerate(message.get("tool_calls") or ()):
        entry = calls.setdefault(call.get("index", number), ["", "", ""])
        entry[0] = entry[0] or call.get("id") or ""
        entry[1] = entry[1] or call["function"].get("name") or ""
        entry[2] += call["function"].get("arguments") or ""


def _thought_signatures(message: dict[str, Any]) -> list[str]:
    found = list(strings_named(message.get("extra_content"), "thought_signature"))
    found += strings_named(message.get("tool_calls"), "thought_signature")
    return found


def strings_named(value: Any, name: str) -> Iterator[str]:
    """Every string under a key, anywhere inside."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == name and isinstance(inner, str):
                yield inner
            yield from strings_named(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_named(inner, name)


EXPECT: dict[str, Callable[[dict[str, Any]], Expected]] = {
    **{one.API: one.expect for one in (bedrock, mistral, cohere, ollama, gemini, interactions, xai)},
    "anthropic-messages": expect_anthropic,
    "openai-responses": expect_responses,
    "openai-chat": expect_chat,
}
