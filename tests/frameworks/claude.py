"""A provider of Anthropic Messages whose answers a test writes. It refuses what the real one refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning import Run
from agui_reasoning.gateway import encode_chunk
from agui_reasoning.parts import Origin, Turn
from agui_reasoning.providers import decode_response
from tests.support.strict_providers import STRICT, Issued

__all__ = ["CLAUDE", "Blocks", "Claude", "call", "plain", "redacted", "text", "thinking"]

Blocks = list[dict[str, Any]]

CLAUDE: dict[str, Any] = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-5"}
"""The origin of its answers."""

_ORIGIN = Origin("anthropic", "anthropic-messages", "claude-opus-5")


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thinking(words: str) -> dict[str, Any]:
    signature = sha256(words.encode()).hexdigest()
    return {"type": "thinking", "thinking": words, "signature": f"signed{signature}=="}


def redacted(data: str) -> dict[str, Any]:
    return {"type": "redacted_thinking", "data": sha256(data.encode()).hexdigest() * 3}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


@dataclass
class Claude:
    """What it answers and was asked.

    Attributes:
        answers: The blocks of each response, by the name of the model, in order.
        in_step: How many of the first responses go on together, word by word; they must be equally long.
        requests: What it was asked, in order.
        refused: Why it refused requests.
    """

    answers: dict[str, list[Blocks]]
    in_step: int = 1
    requests: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._issued = Issued()
        self._barrier = asyncio.Barrier(self.in_step)

    @property
    def app(self) -> Starlette:
        """Anthropic's own API, and that of Bedrock's InvokeModel, which names the model in the path."""
        paths = ("/v1/messages", "/model/{model}/invoke-with-response-stream")
        return Starlette(routes=[Route(path, self._answer, methods=["POST"]) for path in paths])

    def takes(self, run: Run) -> Any:
        """The messages of a run's next request, which it must not refuse."""
        body = run.request(tools=()).body
        assert STRICT["anthropic"].refusals(body, self._issued) == []
        return body["messages"]

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        invoked = {"model": request.path_params["model"], "stream": True} if request.path_params else {}
        body |= invoked
        self.requests.append(body)
        fault = STRICT["anthropic"].reject({"messages": _as_lists(body["messages"])}, self._issued)
        if fault is not None:
            self.refused.append(fault)
            error = {"type": "invalid_request_error", "message": fault}
            return JSONResponse({"type": "error", "error": error}, 400)
        blocks = self.answers[body["model"]].pop(0)
        message = _message(blocks, body["model"], len(self.requests))
        parts = decode_response("anthropic-messages", message, provider="anthropic")
        self._issued.add(Turn(tuple(parts), _ORIGIN))
        if not body.get("stream"):
            return JSONResponse(message)
        in_step = len(self.requests) <= self.in_step
        if invoked:
            frames = map(encode_chunk, _events(message))
            return StreamingResponse(frames, media_type="application/vnd.amazon.eventstream")
        return StreamingResponse(self._streamed(message, in_step), media_type="text/event-stream")

    async def _streamed(self, message: dict[str, Any], in_step: bool) -> AsyncIterator[str]:
        for event in _events(message):
            if in_step:
                await self._barrier.wait()
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _as_lists(messages: list[Any]) -> list[Any]:
    """Messages as the shape knows them: without plain strings."""
    return [
        {**one, "content": [text(one["content"])] if isinstance(one["content"], str) else one["content"]}
        for one in messages
    ]


def plain(messages: list[Any]) -> list[Any]:
    """Messages in one spelling: content as lists of blocks, a message per turn, no marks for the cache."""
    joined: list[Any] = []
    for one in _as_lists(messages):
        blocks = [_plain(block) for block in one["content"]]
        if joined and joined[-1]["role"] == one["role"]:
            joined[-1]["content"] += blocks
        else:
            joined.append({"role": one["role"], "content": blocks})
    return joined


def _plain(block: Any) -> Any:
    kept = {
        name: block[name]
        for name in block
        if name != "cache_control" and (name not in _OPTIONAL or block[name])
    }
    if isinstance(kept.get("content"), str):
        kept["content"] = [text(kept["content"])]
    elif "content" in kept:
        kept["content"] = [_plain(inner) for inner in kept["content"]]
    return kept


_OPTIONAL = {"is_error", "citations", "caller"}


def _message(blocks: Blocks, model: str, number: int) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 20},
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        yield from ({**event, "index": index} for event in _block(block))
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _block(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = block["type"]
    empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
    yield {"type": "content_block_start", "content_block": {**block, **empty.get(kind, {})}}
    for delta in _deltas(block):
        yield {"type": "content_block_delta", "delta": delta}
    yield {"type": "content_block_stop"}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = block["type"]
    if kind == "tool_use":
        yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    elif kind in ("text", "thinking"):
        for number, word in enumerate(block[kind].split(" ")):
            yield {"type": f"{kind}_delta", kind: f" {word}" if number else word}
    if kind == "thinking":
        yield {"type": "signature_delta", "signature": block["signature"]}
