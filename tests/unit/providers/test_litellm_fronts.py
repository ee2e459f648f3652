"""LiteLLM's Responses bridge and the three fronts of its proxy: what arrived goes back, all of it, in order.

Fixtures of our own, after what LiteLLM 1.106.2 gave and what its source writes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from agui_reasoning import Run, reduce_events
from agui_reasoning.deltas import Delta, fold
from agui_reasoning.parts import Part, ReasoningPart
from agui_reasoning.providers import decode_response, decoder
from agui_reasoning.request import build_request
from agui_reasoning.testing import FRONT_ENDS
from tests.support.vendor_shapes import ARGUMENTS, CALL_ID, chat_call, chat_stream, chat_whole

JSON = dict[str, Any]

ASKED = {"id": "u1", "role": "user", "content": "Rain?"}
ANSWERED = {"id": "t1", "role": "tool", "toolCallId": CALL_ID, "content": "Yes."}
INPUT = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
SEALED = "litellm_encrypted_reasoning:"
"""What the proxy puts before the encrypted content of another API."""


@dataclass(frozen=True)
class Front:
    """A response with a call, as one way into LiteLLM gives it.

    Attributes:
        name: The way, and the model behind it.
        api: The API it speaks.
        provider: LiteLLM's proxy, or the upstream where the SDK is used.
        model: The model's name.
        stream: The payloads.
        whole: The same response, whole.
        artefacts: What must stand in the next request, in this order.
    """

    name: str
    api: str
    provider: str
    model: str
    stream: list[Any]
    whole: JSON
    artefacts: tuple[str, ...]


def chat(upstream: str, model: str, deltas: list[JSON], message: JSON, *artefacts: str) -> list[Front]:
    """The same response over the proxy's ``/v1/chat/completions`` and in the SDK."""
    stream = chat_stream(*deltas, finish="tool_calls", model=model)
    whole = chat_whole(message, finish="tool_calls", model=model)
    return [
        Front(f"{api} {model}", api, provider, model, stream, whole, artefacts)
        for api, provider in (("openai-chat", "litellm"), ("litellm", upstream))
    ]


def claude_over_chat() -> list[Front]:
    def block(text: str, signature: str = "") -> JSON:
        return {"type": "thinking", "thinking": text, "signature": signature}

    redacted = {"type": "redacted_thinking", "data": "REDACTED=="}
    return chat(
        "anthropic",
        "anthropic/claude-opus-5",
        [
            {"reasoning_content": "Rain ", "thinking_blocks": [block("Rain ")]},
            {"reasoning_content": "is likely.", "thinking_blocks": [block("is likely.")]},
            {"reasoning_content": "", "thinking_blocks": [block("", "SIGNED==")]},
            {"reasoning_content": "", "thinking_blocks": [redacted]},
            {"content": "I look."},
            # The number is that of Anthropic's block.
            {"tool_calls": [chat_call(index=3)]},
        ],
        {
            "content": "I look.",
            "reasoning_content": "Rain is likely.",
            "thinking_blocks": [block("Rain is likely.", "SIGNED=="), redacted],
            "provider_specific_fields": {"thinking_blocks": [block("Rain is likely.", "SIGNED=="), redacted]},
            "tool_calls": [chat_call(index=3)],
        },
        "Rain is likely.",
        "SIGNED==",
        "REDACTED==",
        CALL_ID,
    )


def deepseek_over_chat() -> list[Front]:
    return chat(
        "deepseek",
        "deepseek/deepseek-v4-pro",
        [
            {"reasoning_content": "Rain "},
            {"reasoning_content": "is likely."},
            {"tool_calls": [chat_call(index=0)]},
        ],
        {"content": None, "reasoning_content": "Rain is likely.", "tool_calls": [chat_call()]},
        "Rain is likely.",
        CALL_ID,
    )


def gemini_over_chat() -> list[Front]:
    signed = chat_call(id=f"{CALL_ID}__thought__U0lH", provider_specific_fields={"thought_signature": "U0lH"})
    listed = {"provider_specific_fields": {"thought_signatures": ["U0lH"]}}
    return chat(
        "gemini",
        "gemini/gemini-3-pro",
        [{"reasoning_content": "Rain is likely."}, {"tool_calls": [{**signed, "index": 0}], **listed}],
        {"content": None, "reasoning_content": "Rain is likely.", "tool_calls": [signed], **listed},
        CALL_ID,
        "U0lH",
    )


ITEMS = [
    {
        "type": "reasoning",
        "id": f"rs_{number}",
        "encrypted_content": f"gAAAA{number}",
        "summary": [{"type": "summary_text", "text": text}],
    }
    for number, text in enumerate(("Rain is likely.", "Check it."))
]


def bridge() -> list[Front]:
    """GPT over the bridge to Responses: the last chunk repeats the items, behind the call."""
    model, texts = "openai/responses/gpt-5.6", ("Rain is likely.", "Check it.")
    made = chat(
        "openai",
        model,
        [*({"reasoning_content": text} for text in texts), {"tool_calls": [chat_call(index=0)]}],
        {"content": None, "reasoning_items": ITEMS, "tool_calls": [chat_call()]},
        *("rs_0", "gAAAA0", "rs_1", "gAAAA1", CALL_ID),
    )
    made[0].stream[-2]["choices"][0]["delta"] = {"content": "", "reasoning_items": ITEMS}
    return made


def claude_over_responses() -> Front:
    """Claude over ``/v1/responses``: the encrypted content stands in the last event only."""
    item = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Rain is likely."}],
    }
    bare = {**item, "summary": [], "encrypted_content": None}
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": CALL_ID,
        "name": "forecast",
        "arguments": ARGUMENTS,
        "status": "completed",
    }
    full = {**item, "encrypted_content": "SIGNED=="}
    response = {
        "id": "resp_1",
        "object": "response",
        "model": "m",
        "status": "completed",
        "output": [full, call],
    }
    kinds: list[JSON] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": bare},
        {
            "type": "response.reasoning_summary_text.delta",
            "output_index": 0,
            "summary_index": 0,
            "item_id": "rs_1",
            "delta": "Rain is likely.",
        },
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "encrypted_content": None}},
        {"type": "response.output_item.added", "output_index": 1, "item": {**call, "arguments": ""}},
        {
            "type": "response.function_call_arguments.delta",
            "output_index": 1,
            "item_id": "fc_1",
            "delta": ARGUMENTS,
        },
        {"type": "response.output_item.done", "output_index": 1, "item": call},
        {"type": "response.completed", "response": response},
    ]
    model = "anthropic/claude-opus-5"
    wanted = ("rs_1", "Rain is likely.", "SIGNED==", CALL_ID)
    return Front("responses claude", "openai-responses", "litellm", model, kinds, response, wanted)


def messages(name: str, model: str, blocks: list[JSON], *artefacts: str) -> Front:
    """A response over ``/v1/messages``."""
    call = {"type": "tool_use", "id": CALL_ID, "name": "forecast", "input": json.loads(ARGUMENTS)}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    usage = {"input_tokens": 1, "output_tokens": 2}
    started = {**head, "content": [], "stop_reason": None, "usage": usage}
    stream: list[JSON] = [{"type": "message_start", "message": started}]
    for index, block in enumerate([*blocks, call]):
        stream += _block(index, block)
    stream += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]
    whole = {**head, "content": [*blocks, call], "stop_reason": "tool_use", "usage": usage}
    return Front(name, "anthropic-messages", "litellm", model, stream, whole, (*artefacts, CALL_ID))


def _block(index: int, block: JSON) -> list[JSON]:
    deltas: list[JSON] = []
    start = dict(block)
    if block["type"] == "thinking":
        start |= {"thinking": "", "signature": ""}
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    elif block["type"] == "tool_use":
        start["input"] = {}
        deltas = [{"type": "input_json_delta", "partial_json": ARGUMENTS}]
    at = {"index": index}
    return [
        {"type": "content_block_start", **at, "content_block": start},
        *({"type": "content_block_delta", **at, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", **at},
    ]


def over_messages() -> list[Front]:
    """GPT's items lose id and order of summaries on this way; their encrypted content stays."""
    thinking = {"type": "thinking", "thinking": "Rain is likely.", "signature": "SIGNED=="}
    redacted = {"type": "redacted_thinking", "data": "REDACTED=="}
    sealed = {**thinking, "signature": f"{SEALED}gAAAA0"}
    silent = {"type": "redacted_thinking", "data": f"{SEALED}gAAAA1"}
    both = ("Rain is likely.", "SIGNED==", "REDACTED==")
    gpt = ("Rain is likely.", f"{SEALED}gAAAA0", f"{SEALED}gAAAA1")
    return [
        messages("messages claude", "anthropic/claude-opus-5", [thinking, redacted], *both),
        messages("messages gpt", "openai/gpt-5.6", [sealed, silent], *gpt),
    ]


FRONTS = [
    *claude_over_chat(),
    *deepseek_over_chat(),
    *gemini_over_chat(),
    *bridge(),
    claude_over_responses(),
    *over_messages(),
]
params = pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.name)


def streamed(front: Front) -> list[Delta]:
    made = decoder(front.api, provider=front.provider, model=front.model)
    return [delta for payload in front.stream for delta in made.receive(payload)] + made.close()


def whole(front: Front) -> list[Part]:
    return decode_response(front.api, front.whole, provider=front.provider, model=front.model)


def values(parts: list[Part]) -> list[Any]:
    return [value for part in parts for value in getattr(part, "opaque", ())]


@params
def test_a_stream_and_a_whole_response_hold_the_same_values(front: Front) -> None:
    parts = fold(streamed(front))
    assert sorted(map(repr, values(parts))) == sorted(map(repr, values(whole(front))))
    said = ["".join(p.text for p in found if isinstance(p, ReasoningPart)) for found in (parts, whole(front))]
    assert said[0].split() == said[1].split()


@params
@pytest.mark.parametrize("front_end", ["copilotkit", "assistant-ui"])
def test_all_that_arrived_goes_back_in_order(front: Front, front_end: str) -> None:
    numbers = count(1)
    run = Run(
        {**INPUT, "messages": [ASKED]},
        api=front.api,
        provider=front.provider,
        model=front.model,
        new_id=lambda: f"id-{next(numbers)}",
    )
    events = run.start()
    for delta in streamed(front):
        events += run.receive(delta)
    history = FRONT_ENDS[front_end]([ASKED, *reduce_events([*events, *run.finish()]), ANSWERED])
    request = build_request(front.api, history, provider=front.provider, model=front.model)
    assert request.lost == ()
    assert in_order(front.artefacts, strings(request.body)), list(strings(request.body))


def strings(value: Any) -> list[str]:
    """Every string of a body, in order."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in strings(one)]


def in_order(wanted: tuple[str, ...], found: list[str]) -> bool:
    rest = iter(found)
    return all(any(one == text for text in rest) for one in wanted)


@pytest.mark.parametrize("front", [f for f in FRONTS if f.provider == "litellm"], ids=lambda f: f.name)
def test_the_proxys_values_go_to_no_one_else(front: Front) -> None:
    run = Run({**INPUT, "messages": [ASKED]}, api=front.api, provider="litellm", model=front.model)
    events = run.start()
    for delta in streamed(front):
        events += run.receive(delta)
    history = [ASKED, *reduce_events([*events, *run.finish()]), ANSWERED]
    for api, provider in (("anthropic-messages", "anthropic"), ("openai-responses", "openai")):
        request = build_request(
            api, history, provider=provider, model=front.model, on_warning=lambda sentence: None
        )
        sent = json.dumps(request.body)
        assert [value.value for value in values(whole(front)) if value.value in sent] == []
