"""A long answer in the stream of each API, with the members that change from payload to payload in reality.

A stream has an opening, reasoning, the text of an answer and a closing. Counters, times and padding differ in
every payload, as in recorded streams.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias

from benchmarks.harness import fresh

__all__ = ["STREAMS", "Payload", "ProviderStream", "parsed", "sse_frames"]

JSON: TypeAlias = dict[str, Any]
Payload: TypeAlias = JSON | str
Piece: TypeAlias = Callable[[str, int], JSON]

_PADDING: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True)
class ProviderStream:
    """The payloads of an API.

    Attributes:
        provider: The provider that streams them.
        model: The model that it names.
        reasoning: Makes a payload of a piece of reasoning and the payload's number.
        answer: Makes a payload of a piece of text.
        opening: The payloads before the reasoning.
        between: The payloads between reasoning and text.
        closing: The payloads after the text.
        named: The member that SSE frames repeat as ``event:``.
    """

    provider: str
    model: str
    reasoning: Piece
    answer: Piece
    opening: Sequence[Payload] = ()
    between: Sequence[Payload] = ()
    closing: Sequence[Payload] = ()
    named: str | None = None

    def payloads(self, texts: Sequence[str]) -> list[Payload]:
        """Return a stream whose first half is reasoning and whose second half is the answer."""
        half = len(texts) // 2
        numbers = count(4)
        reasoning = [self.reasoning(text, next(numbers)) for text in texts[:half]]
        answer = [self.answer(text, next(numbers)) for text in texts[half:]]
        return [*self.opening, *reasoning, *self.between, *answer, *self.closing]


def parsed(payloads: Sequence[Payload]) -> Callable[[], Iterator[Payload]]:
    """Return a source of payloads that have just been parsed, as often as it is called."""
    texts = [json.dumps(payload, ensure_ascii=False) for payload in payloads]
    return lambda: fresh(texts, json.loads)


def sse_frames(stream: ProviderStream, payloads: Sequence[Payload]) -> list[bytes]:
    """Return the frames in which an API sends payloads."""
    return [_frame(stream.named, payload) for payload in payloads]


def _frame(named: str | None, payload: Payload) -> bytes:
    if isinstance(payload, str):
        return f"data: {payload}\n\n".encode()
    event = f"event: {payload[named]}\n" if named else ""
    data = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return f"{event}data: {data}\n\n".encode()


# -- Anthropic Messages


def _block(index: int, delta: JSON) -> JSON:
    return {"type": "content_block_delta", "index": index, "delta": delta}


_ANTHROPIC = ProviderStream(
    "anthropic",
    "claude-sonnet-4-6",
    lambda text, number: _block(0, {"type": "thinking_delta", "thinking": text}),
    lambda text, number: _block(1, {"type": "text_delta", "text": text}),
    opening=(
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-4-6",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {"input_tokens": 431, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
    ),
    between=(
        _block(0, {"type": "signature_delta", "signature": "c2lnbmF0dXJl" * 20}),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    ),
    closing=(
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 148},
        },
        {"type": "message_stop"},
    ),
    named="type",
)

# -- OpenAI Responses


def _padding(number: int) -> str:
    return _PADDING[number % 20 : number % 20 + 3 + number % 13]


def _summary_piece(text: str, number: int) -> JSON:
    return {
        "type": "response.reasoning_summary_text.delta",
        "sequence_number": number,
        "item_id": "rs_1",
        "output_index": 0,
        "summary_index": 0,
        "delta": text,
        "obfuscation": _padding(number),
    }


def _output_piece(text: str, number: int) -> JSON:
    return {
        "type": "response.output_text.delta",
        "sequence_number": number,
        "item_id": "msg_1",
        "output_index": 1,
        "content_index": 0,
        "delta": text,
        "logprobs": [],
        "obfuscation": _padding(number),
    }


def _response(status: str) -> JSON:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1795183200,
        "status": status,
        "model": "gpt-5.6-sol",
        "output": [],
    }


_RESPONSES = ProviderStream(
    "openai",
    "gpt-5.6-sol",
    _summary_piece,
    _output_piece,
    opening=(
        {"type": "response.created", "sequence_number": 0, "response": _response("in_progress")},
        {
            "type": "response.output_item.added",
            "sequence_number": 1,
            "output_index": 0,
            "item": {"id": "rs_1", "type": "reasoning", "summary": []},
        },
        {
            "type": "response.reasoning_summary_part.added",
            "sequence_number": 2,
            "item_id": "rs_1",
            "output_index": 0,
            "summary_index": 0,
            "part": {"type": "summary_text", "text": ""},
        },
    ),
    between=(
        {
            "type": "response.output_item.added",
            "sequence_number": 3,
            "output_index": 1,
            "item": {"id": "msg_1", "type": "message", "role": "assistant", "content": []},
        },
    ),
    closing=({"type": "response.completed", "sequence_number": 9, "response": _response("completed")},),
    named="type",
)

# -- Chat Completions and the formats that resemble it


def _chat_chunk(delta: JSON, finish: str | None = None) -> JSON:
    return {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": 1795183200,
        "model": "deepseek-v4-flash",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        "usage": None,
    }


def _chat(provider: str, model: str) -> ProviderStream:
    return ProviderStream(
        provider,
        model,
        lambda text, number: _chat_chunk({"content": None, "reasoning_content": text}),
        lambda text, number: _chat_chunk({"content": text, "reasoning_content": None}),
        opening=(_chat_chunk({"role": "assistant", "content": None, "reasoning_content": ""}),),
        closing=(_chat_chunk({"content": "", "reasoning_content": None}, "stop"), "[DONE]"),
    )


def _mistral_chunk(delta: JSON, number: int, finish: str | None = None) -> JSON:
    return {
        "id": "mistral-1",
        "object": "chat.completion.chunk",
        "created": 1795183200,
        "model": "mistral-small-latest",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        "p": _padding(number),
    }


def _mistral_thought(text: str, number: int) -> JSON:
    block = {"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": True}
    return _mistral_chunk({"content": [block]}, number)


_MISTRAL = ProviderStream(
    "mistral",
    "mistral-small-latest",
    _mistral_thought,
    lambda text, number: _mistral_chunk({"content": text}, number),
    opening=(_mistral_chunk({"role": "assistant", "content": ""}, 0),),
    closing=(_mistral_chunk({"content": ""}, 1, "stop"), "[DONE]"),
)


def _ollama_chunk(message: JSON, number: int, *, done: bool = False) -> JSON:
    more = {"done_reason": "stop"} if done else {}
    created = f"2026-11-20T14:00:{number % 60:02}.{number:06}Z"
    return {"model": "qwen3:4b", "created_at": created, "message": message, "done": done, **more}


_OLLAMA = ProviderStream(
    "ollama",
    "qwen3:4b",
    lambda text, number: _ollama_chunk({"role": "assistant", "content": "", "thinking": text}, number),
    lambda text, number: _ollama_chunk({"role": "assistant", "content": text}, number),
    closing=(_ollama_chunk({"role": "assistant", "content": ""}, 0, done=True),),
)

# -- Gemini, and its Interactions API


def _gemini_chunk(text: str, tokens: int, **more: object) -> JSON:
    return {
        "candidates": [{"content": {"parts": [{"text": text, **more}], "role": "model"}, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 214,
            "candidatesTokenCount": tokens,
            "totalTokenCount": 253 + tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 214}],
            "thoughtsTokenCount": 39,
        },
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "gemini-1",
    }


_GEMINI_END: JSON = _gemini_chunk("", 9)
_GEMINI_END["candidates"][0]["finishReason"] = "STOP"

_GEMINI = ProviderStream(
    "google",
    "gemini-3-flash-preview",
    lambda text, number: _gemini_chunk(text, 0, thought=True),
    _gemini_chunk,
    closing=(_GEMINI_END,),
)


def _step(index: int, delta: JSON) -> JSON:
    return {"event_type": "step.delta", "index": index, "delta": delta}


_THOUGHT = (
    "**Comparing the forecasts**\n\nI have two forecasts for the afternoon. The first gives 4.2 mm of rain "
    "from two o'clock, the second only light showers. At 14 m/s an umbrella breaks: the wind decides."
)

# The API sends each thought whole, as an entry of some hundred characters: only the answer has short pieces.
_INTERACTIONS = ProviderStream(
    "google",
    "gemini-3-flash-preview",
    lambda text, number: _step(1, {"type": "text", "text": text}),
    lambda text, number: _step(1, {"type": "text", "text": text}),
    opening=(
        {
            "event_type": "interaction.created",
            "interaction": {
                "id": "",
                "status": "in_progress",
                "object": "interaction",
                "model": "gemini-3-flash-preview",
            },
        },
        {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
        _step(0, {"type": "thought_summary", "content": {"type": "text", "text": _THOUGHT}}),
        _step(0, {"type": "thought_signature", "signature": "c2lnbmF0dXJl" * 20}),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "step.start", "index": 1, "step": {"type": "model_output"}},
    ),
    closing=(
        {"event_type": "step.stop", "index": 1},
        {
            "event_type": "interaction.completed",
            "interaction": {
                "id": "",
                "status": "completed",
                "object": "interaction",
                "model": "gemini-3-flash-preview",
            },
        },
        "[DONE]",
    ),
    named="event_type",
)

# -- Bedrock Converse, Cohere, xAI


def _converse(index: int, delta: JSON) -> JSON:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


_BEDROCK = ProviderStream(
    "bedrock",
    "anthropic.claude-sonnet-4-6-v1:0",
    lambda text, number: _converse(0, {"reasoningContent": {"text": text}}),
    lambda text, number: _converse(1, {"text": text}),
    opening=({"messageStart": {"role": "assistant"}},),
    between=(
        _converse(0, {"reasoningContent": {"signature": "c2lnbmF0dXJl" * 20}}),
        {"contentBlockStop": {"contentBlockIndex": 0}},
    ),
    closing=(
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 430, "outputTokens": 140, "totalTokens": 570}}},
    ),
)


def _cohere(kind: str, index: int, content: JSON) -> JSON:
    return {"type": kind, "index": index, "delta": {"message": {"content": content}}}


_COHERE = ProviderStream(
    "cohere",
    "command-a-reasoning-08-2025",
    lambda text, number: _cohere("content-delta", 0, {"thinking": text}),
    lambda text, number: _cohere("content-delta", 1, {"text": text}),
    opening=(
        {
            "type": "message-start",
            "id": "cohere-1",
            "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}},
        },
        _cohere("content-start", 0, {"type": "thinking", "thinking": ""}),
    ),
    between=(
        {"type": "content-end", "index": 0},
        _cohere("content-start", 1, {"type": "text", "text": ""}),
    ),
    closing=(
        {"type": "content-end", "index": 1},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": {}}},
        "[DONE]",
    ),
    named="type",
)


def _xai_chunk(delta: JSON, number: int, **more: object) -> JSON:
    return {
        "id": "xai-1",
        "outputs": [{"delta": {**delta, "role": "ROLE_ASSISTANT"}, **more}],
        "created": f"2026-11-20T14:01:{number % 60:02}.{number:09}Z",
        "model": "grok-4-fast-reasoning",
        "system_fingerprint": "fp_1",
        "usage": {"prompt_tokens": 489, "completion_tokens": number, "total_tokens": 489 + number},
    }


_XAI = ProviderStream(
    "xai",
    "grok-4-fast-reasoning",
    lambda text, number: _xai_chunk({"reasoning_content": text}, number),
    lambda text, number: _xai_chunk({"content": text}, number),
    closing=(_xai_chunk({}, 1, finish_reason="REASON_STOP"),),
)

STREAMS: Final[dict[str, ProviderStream]] = {
    "anthropic-messages": _ANTHROPIC,
    "openai-responses": _RESPONSES,
    "openai-chat": _chat("deepseek", "deepseek-v4-flash"),
    "bedrock-converse": _BEDROCK,
    "mistral-chat": _MISTRAL,
    "cohere-chat": _COHERE,
    "ollama": _OLLAMA,
    "gemini": _GEMINI,
    "xai-grpc": _XAI,
    "litellm": _chat("deepseek", "deepseek/deepseek-v4-flash"),
    "gemini-interactions": _INTERACTIONS,
}
"""The stream of each API, by its ID."""
