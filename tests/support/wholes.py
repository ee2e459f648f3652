"""Cut a whole response into a stream, and join a stream: the two sides of *stream = whole*."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from agui_reasoning.parts import Part, ReasoningPart, Segment, TextPart, ToolCallPart
from tests.support.formats import bedrock, cohere, gemini, interactions, mistral, ollama, xai
from tests.support.recordings import anthropic_blocks, arguments, payloads, responses_items

_ORDER: dict[type, int] = {ReasoningPart: 0, TextPart: 1, ToolCallPart: 2}

Cut = Callable[[str], list[str]]
"""Cuts a text into pieces that join to it."""


def normal(parts: Iterable[Part], *, flat: bool = False) -> list[Part]:
    """Parts for comparison: calls by their arguments' value; flat APIs in the order of a whole message."""
    settled = [_settled(part) for part in parts]
    if flat:
        settled = _joined_text([_joined_segments(part) for part in settled])
        settled.sort(key=lambda part: _ORDER.get(type(part), len(_ORDER)))
    return settled


def _settled(part: Part) -> Part:
    if isinstance(part, ToolCallPart):
        return replace(part, arguments=json.dumps(arguments(part.arguments), sort_keys=True))
    return part


def _joined_segments(part: Part) -> Part:
    if not isinstance(part, ReasoningPart):
        return part
    joined: dict[tuple[Any, int], str] = {}
    for segment in part.segments:
        place = (segment.channel, segment.index)
        joined[place] = joined.get(place, "") + segment.text
    return replace(part, segments=tuple(Segment(*place, text) for place, text in joined.items()))


def _joined_text(parts: list[Part]) -> list[Part]:
    texts = [part for part in parts if isinstance(part, TextPart)]
    others = [part for part in parts if not isinstance(part, TextPart)]
    if not texts:
        return others
    merged: dict[str, Any] = {}
    for part in texts:
        merged.update(part.ext or {})
    return [*others, replace(texts[0], text="".join(p.text for p in texts), ext=merged or None)]


# -- streams put together


def whole_anthropic(recording: dict[str, Any]) -> dict[str, Any]:
    """The message a streamed recording amounts to."""
    stream = payloads(recording)
    start = next(data["message"] for data in stream if data["type"] == "message_start")
    blocks = anthropic_blocks(recording)
    citations = _citations(stream)
    for number, block in enumerate(blocks):
        if "json" in block:
            block["input"] = arguments(block.pop("json"))
        if number in citations:
            block["citations"] = citations[number]
    reasons = [data["delta"]["stop_reason"] for data in stream if data["type"] == "message_delta"]
    return {**start, "content": blocks, "stop_reason": reasons[-1] if reasons else None}


def _citations(stream: list[dict[str, Any]]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for data in stream:
        if data["type"] == "content_block_delta" and data["delta"]["type"] == "citations_delta":
            found.setdefault(data["index"], []).append(data["delta"]["citation"])
    return found


def whole_responses(recording: dict[str, Any]) -> dict[str, Any]:
    """The response whose output is the list of items that were done."""
    last = [d["response"] for d in payloads(recording) if isinstance(d, dict) and "response" in d][-1]
    return {**last, "output": responses_items(recording)}


def whole_chat(recording: dict[str, Any]) -> dict[str, Any]:
    """The completion that the deltas of the first choice add up to."""
    message: dict[str, Any] = {}
    reason = None
    head: dict[str, Any] = {}
    for data in payloads(recording):
        if not isinstance(data, dict):
            continue
        head = head or {key: data[key] for key in ("id", "model") if key in data}
        for choice in (data.get("choices") or ())[:1]:
            reason = choice.get("finish_reason") or reason
            for name, value in (choice.get("delta") or {}).items():
                _accumulate(message, name, value)
    if "tool_calls" in message:
        message["tool_calls"] = list(message["tool_calls"].values())
    if "reasoning_details" in message:
        message["reasoning_details"] = list(message["reasoning_details"].values())
    return {**head, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _accumulate(message: dict[str, Any], name: str, value: Any) -> None:
    if name == "tool_calls":
        calls = message.setdefault(name, {})
        for call in value or ():
            _merge_call(calls.setdefault(call.get("index", len(calls)), {}), call)
    elif name == "reasoning_details":
        details = message.setdefault(name, {})
        for number, detail in enumerate(value or ()):
            place = (detail["type"], detail.get("index", -1 - number))
            _merge_detail(details.setdefault(place, {}), detail)
    elif isinstance(value, str) and name != "role":
        message[name] = (message.get(name) or "") + value
    elif value is not None or name not in message:
        message[name] = value


def _merge_call(into: dict[str, Any], call: dict[str, Any]) -> None:
    function = into.setdefault("function", {"name": "", "arguments": ""})
    for name, value in call.get("function", {}).items():
        function[name] = (function.get(name) or "") + (value or "")
    into.update({name: value for name, value in call.items() if name not in ("function", "index") and value})


def _merge_detail(into: dict[str, Any], detail: dict[str, Any]) -> None:
    for name, value in detail.items():
        if name in ("text", "summary", "data"):
            into[name] = (into.get(name) or "") + (value or "")
        elif value or name not in into:
            into[name] = value


_FORMATS = (bedrock, mistral, cohere, ollama, gemini, interactions, xai)

WHOLES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    **{one.API: one.whole for one in _FORMATS},
    "anthropic-messages": whole_anthropic,
    "openai-responses": whole_responses,
    "openai-chat": whole_chat,
}


# -- wholes cut into streams


def stream_anthropic(message: dict[str, Any], cut: Cut) -> list[Any]:
    """The events of a message."""
    head = {key: value for key, value in message.items() if key not in ("content", "stop_reason")}
    stream: list[Any] = [{"type": "message_start", "message": {**head, "content": []}}]
    for index, block in enumerate(message["content"]):
        stream.append({"type": "content_block_start", "index": index, "content_block": _emptied(block)})
        stream += [
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in _anthropic_deltas(block, cut)
        ]
        stream.append({"type": "content_block_stop", "index": index})
    stream.append({"type": "message_delta", "delta": {"stop_reason": message["stop_reason"]}, "usage": {}})
    return [*stream, {"type": "message_stop"}]


def _emptied(block: dict[str, Any]) -> dict[str, Any]:
    blank: dict[str, Any] = {"thinking": "", "signature": "", "text": "", "input": {}}
    return {name: blank.get(name, value) for name, value in block.items() if name != "citations"}


def _anthropic_deltas(block: dict[str, Any], cut: Cut) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    if "thinking" in block:
        deltas += [{"type": "thinking_delta", "thinking": piece} for piece in cut(block["thinking"])]
    if block.get("signature"):
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    if block["type"] == "text":
        deltas += [{"type": "text_delta", "text": piece} for piece in cut(block["text"])]
    deltas += [{"type": "citations_delta", "citation": citation} for citation in block.get("citations", ())]
    if "input" in block:
        text = json.dumps(block["input"]) if block["input"] else ""
        deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in cut(text)]
    return deltas


def stream_responses(response: dict[str, Any], cut: Cut) -> list[Any]:
    """The events of a response."""
    head = {**response, "output": [], "status": "in_progress"}
    stream: list[Any] = [{"type": "response.created", "response": head}]
    for index, item in enumerate(response["output"]):
        at = {"output_index": index, "item_id": item.get("id")}
        added = {"output_index": index, "item": _begun(item)}
        stream.append({"type": "response.output_item.added", **added})
        stream += [{**event, **at} for event in _item_events(item, cut)]
        stream.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return [*stream, {"type": f"response.{response['status']}", "response": response}]


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    blank: dict[str, Any] = {"summary": [], "content": [], "arguments": ""}
    begun = {name: blank.get(name, value) for name, value in item.items()}
    if "encrypted_content" in begun:
        begun["encrypted_content"] = "not yet complete"
    return begun


def _item_events(item: dict[str, Any], cut: Cut) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for number, part in enumerate(item.get("summary", ())):
        name = "response.reasoning_summary_text"
        events += [
            {"type": f"{name}.delta", "summary_index": number, "delta": piece} for piece in cut(part["text"])
        ]
        events.append({"type": f"{name}.done", "summary_index": number, "text": part["text"]})
    name = "response.reasoning_text" if item["type"] == "reasoning" else "response.output_text"
    for number, part in enumerate(item.get("content") or ()):
        events += [
            {"type": f"{name}.delta", "content_index": number, "delta": piece} for piece in cut(part["text"])
        ]
        events.append({"type": f"{name}.done", "content_index": number, "text": part["text"]})
    if item["type"] == "function_call":
        name = "response.function_call_arguments"
        events += [{"type": f"{name}.delta", "delta": piece} for piece in cut(item["arguments"])]
        events.append({"type": f"{name}.done", "arguments": item["arguments"]})
    return events


def stream_chat(completion: dict[str, Any], cut: Cut) -> list[Any]:
    """The chunks of a completion."""
    head = {key: completion[key] for key in ("id", "model")}
    choice = completion["choices"][0]
    deltas = [{"role": "assistant", "content": None}, *_chat_deltas(choice["message"], cut)]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    return [*chunks, {**head, "choices": [last]}, "[DONE]"]


def _chat_deltas(message: dict[str, Any], cut: Cut) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    for name in ("reasoning_content", "reasoning"):
        deltas += [{name: piece} for piece in cut(message.get(name) or "")]
    for detail in message.get("reasoning_details", ()):
        deltas += [{"reasoning_details": [fragment]} for fragment in _detail_fragments(detail, cut)]
    deltas += [{"content": piece} for piece in cut(message.get("content") or "")]
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        opener = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        deltas.append({"tool_calls": [opener]})
        for piece in cut(function["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    return deltas


def _detail_fragments(detail: dict[str, Any], cut: Cut) -> list[dict[str, Any]]:
    name = next(name for name in ("text", "summary", "data") if name in detail)
    bare = {key: value for key, value in detail.items() if key not in (name, "signature")}
    fragments = [{**bare, name: piece} for piece in (cut(detail[name]) if name != "data" else [detail[name]])]
    if detail.get("signature"):
        fragments.append({**bare, "signature": detail["signature"]})
    return fragments


STREAMS: dict[str, Callable[[dict[str, Any], Cut], list[Any]]] = {
    **{one.API: one.stream for one in _FORMATS},
    "litellm": stream_chat,
    "anthropic-messages": stream_anthropic,
    "openai-responses": stream_responses,
    "openai-chat": stream_chat,
}


# -- written by hand

FULL: dict[tuple[str, str], dict[str, Any]] = {
    ("anthropic-messages", "anthropic"): {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "EqRk"},
            {"type": "redacted_thinking", "data": "RqRk"},
            {"type": "text", "text": "So."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": ["it"]}},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 5},
    },
    ("openai-chat", "openrouter"): {
        "id": "chatcmpl-1",
        "model": "some-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "So.",
                    "reasoning": "Hm.",
                    "reasoning_details": [
                        {
                            "type": "reasoning.text",
                            "text": "Hm.",
                            "signature": "EqRk",
                            "format": "unknown",
                        }
                    ],
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at": 1}'},
                            "extra_content": {"google": {"thought_signature": "EqRk"}},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}},
    },
    ("openai-responses", "openai"): {
        "id": "resp_1",
        "object": "response",
        "model": "gpt",
        "status": "completed",
        "output": [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "gAAA",
            },
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "So.", "annotations": []}],
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "look",
                "arguments": "{}",
            },
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "it"}},
        ],
        "usage": {"input_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}},
    },
}
"""Whole responses with parts that the scripts do not have, by API and provider."""
