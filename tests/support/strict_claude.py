"""A server of Anthropic's that refuses and withholds as the documentation says.

A request that contains what its classifier watches for ends in a refusal, whoever wrote it, however late in
the conversation: "you must reset the conversation context". Thinking blocks that a model may not read are
left out of the prompt, and listed by their place in the request. The strict fake of the API checks the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agui_reasoning.parts import ReasoningPart, Turn
from agui_reasoning.providers import decode_response
from tests.support.strict_providers import STRICT, Issued

__all__ = ["EXPLANATION", "StrictClaude"]

Json = dict[str, Any]

EXPLANATION = "This request was declined because it could enable cyber harm."
BETA = "thinking-binding-controls-2026-08-01"
SHAPE = ("messages", "system", "tools")


@dataclass
class StrictClaude:
    """An ASGI application.

    Attributes:
        forbidden: What its classifier watches for.
        partial: What a refused response says before the classifier intervenes; nothing if empty.
        unreadable: The signatures that the model may not read, and why.
        asked: The bodies of the requests.
        outcomes: What became of each: an answer, a refusal, or the text of the status 400.
        withheld: The entries of ``input_transformations`` of each answer.
    """

    forbidden: str = "exploit"
    partial: str = "First, "
    unreadable: dict[str, str] = field(default_factory=dict)
    asked: list[Json] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    withheld: list[list[Json]] = field(default_factory=list)
    issued: Issued = field(default_factory=Issued)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        request = Request(scope, receive)
        body = await request.json()
        betas = (request.headers.get("anthropic-beta") or "").split(",")
        await self.answer(body, reports=BETA in betas)(scope, receive, send)

    def answer(self, body: Json, *, reports: bool) -> Response:
        """Answer one request."""
        self.asked.append(body)
        shaped = {name: body[name] for name in SHAPE if name in body}
        fault = STRICT["anthropic"].reject(shaped, self.issued)
        if fault is not None:
            self.outcomes.append(fault)
            error = {"type": "invalid_request_error", "message": fault}
            return JSONResponse({"type": "error", "error": error}, 400)
        message = self._message(body, reports=reports)
        self._issue(message)
        if not body.get("stream"):
            return JSONResponse(message)
        frames = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events(message))
        return Response(frames, media_type="text/event-stream")

    def _message(self, body: Json, *, reports: bool) -> Json:
        number = len(self.asked)
        refuses = self.forbidden in json.dumps(body["messages"])
        self.outcomes.append("refusal" if refuses else "answer")
        said = self.partial if refuses else f"Answer {number}."
        content: list[Json] = []
        if said:
            signature = f"U2lnbmF0dXJl{number:04d}"
            content.append({"type": "thinking", "thinking": f"Thought {number}.", "signature": signature})
            content.append({"type": "text", "text": said})
        details = {
            "type": "refusal",
            "category": "cyber",
            "explanation": EXPLANATION,
            "fallback_credit_token": "TOKEN",
        }
        entries = list(self._entries(body))
        self.withheld.append(entries)
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "refusal" if refuses else "end_turn",
            "stop_details": details if refuses else None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
            **({"input_transformations": entries} if reports else {}),
        }

    def _entries(self, body: Json) -> Iterator[Json]:
        for i, message in enumerate(body["messages"]):
            for j, block in enumerate(message["content"]):
                reason = self.unreadable.get(block.get("signature") or block.get("data") or "")
                if reason:
                    yield {"type": "thinking_dropped", "path": f"messages.{i}.content.{j}", "reason": reason}

    def _issue(self, message: Json) -> None:
        parts = decode_response("anthropic-messages", message)
        self.issued.add(Turn(tuple(part for part in parts if isinstance(part, ReasoningPart))))


def events(message: Json) -> Iterator[Json]:
    """The stream of a message."""
    ended = {name: message[name] for name in ("stop_reason", "stop_details")}
    start = {**message, "content": [], "stop_reason": None, "stop_details": None}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty, deltas = _BLOCKS[block["type"]](block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {**ended, "stop_sequence": None}, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _thinking(block: Json) -> tuple[Json, list[Json]]:
    return {"type": "thinking", "thinking": "", "signature": ""}, [
        {"type": "thinking_delta", "thinking": block["thinking"]},
        {"type": "signature_delta", "signature": block["signature"]},
    ]


def _text(block: Json) -> tuple[Json, list[Json]]:
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]


_BLOCKS = {"thinking": _thinking, "text": _text}
