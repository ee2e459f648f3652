"""Writes a request's body as message dicts of LangChain, whose content has the provider's own blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from agui_reasoning._strict_json import load
from agui_reasoning.interop._content import responses_in
from agui_reasoning.providers.payload import JSONObject

__all__ = ["WRITERS"]


def _anthropic(body: Mapping[str, Any]) -> Iterator[JSONObject]:
    if system := body.get("system"):
        yield {"role": "system", "content": system}
    for message in body["messages"]:
        blocks = message["content"]
        if message["role"] == "assistant":
            calls = [
                _call(block["name"], block["input"], block["id"])
                for block in blocks
                if block["type"] == "tool_use"
            ]
            yield {"role": "assistant", "content": blocks, "tool_calls": calls}
        elif isinstance(blocks, str):
            yield {"role": "user", "content": blocks}
        else:
            yield from _told(blocks)


def _told(blocks: list[JSONObject]) -> Iterator[JSONObject]:
    for is_result, group in groupby(blocks, lambda block: block["type"] == "tool_result"):
        if not is_result:
            yield {"role": "user", "content": list(group)}
            continue
        for block in group:
            status = "error" if block.get("is_error") else "success"
            yield _result(block["tool_use_id"], block.get("content", ""), status)


def _responses(body: Mapping[str, Any]) -> Iterator[JSONObject]:
    for is_response, items in responses_in(body["input"]):
        if is_response:
            yield _answer(items)
            continue
        for item in items:
            if "output" in item:
                yield _result(item["call_id"], item["output"])
            else:
                yield {"role": item["role"], "content": item["content"]}


def _answer(items: list[JSONObject]) -> JSONObject:
    """Write the items of a response as one message; texts are blocks that keep the ID of their item."""
    blocks = [block for item in items for block in _blocks(item)]
    calls = [
        _call(item["name"], load(item["arguments"] or "{}"), item["call_id"])
        for item in items
        if item.get("type") == "function_call"
    ]
    return {"role": "assistant", "content": blocks, "tool_calls": calls}


def _blocks(item: JSONObject) -> Iterator[JSONObject]:
    if item.get("role") != "assistant":
        yield item
        return
    content = item["content"]
    texts = [{"text": content}] if isinstance(content, str) else content
    kept = {name: item[name] for name in ("id", "phase") if item.get(name)}
    for text in texts:
        yield {"type": "text", "text": text.get("text", text.get("refusal", "")), **kept}


def _chat(body: Mapping[str, Any]) -> Iterator[JSONObject]:
    for message in body["messages"]:
        if message["role"] != "assistant":
            yield message
            continue
        calls = [
            _call(call["function"]["name"], load(call["function"]["arguments"] or "{}"), call["id"])
            for call in message.get("tool_calls", ())
        ]
        kept = {
            name: value for name, value in message.items() if name not in ("role", "content", "tool_calls")
        }
        yield {
            "role": "assistant",
            "content": message.get("content") or "",
            "tool_calls": calls,
            "additional_kwargs": kept,
        }


def _call(name: str, args: Any, call_id: str) -> JSONObject:
    return {"type": "tool_call", "name": name, "args": args, "id": call_id}


def _result(call_id: str, content: Any, status: str = "success") -> JSONObject:
    return {"role": "tool", "tool_call_id": call_id, "content": content, "status": status}


WRITERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[JSONObject]]]] = {
    "anthropic-messages": _anthropic,
    "openai-responses": _responses,
    "openai-chat": _chat,
}
"""Write the body of a request, by API."""
