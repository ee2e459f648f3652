"""A provider of the Responses API whose answers a test writes. It refuses what the real one refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_reasoning import Run
from agui_reasoning.parts import Origin, Turn
from agui_reasoning.providers import decode_response
from tests.support.strict_providers import STRICT, Issued

__all__ = ["Items", "Responses", "function_call", "message", "reasoning"]

Items = list[dict[str, Any]]

_ORIGIN = Origin("openai", "openai-responses", "gpt-5.6-sol")


def reasoning(number: int) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"opaque{number}"}


def function_call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    told = {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
    return {"type": "function_call", "id": f"fc_{call_id}", **told}


def message(words: str) -> dict[str, Any]:
    text = {"type": "output_text", "text": words, "annotations": []}
    told = {"role": "assistant", "status": "completed", "content": [text]}
    return {"type": "message", "id": "msg_1", **told}


@dataclass
class Responses:
    """What it answers and was asked.

    Attributes:
        answers: The items of each response, in order.
        requests: What it was asked, in order.
        refused: Why it refused requests.
    """

    answers: list[Items]
    requests: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._issued = Issued()

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/responses", self._answer, methods=["POST"])])

    def takes(self, run: Run) -> Any:
        """The input of a run's next request, which it must not refuse."""
        body = run.request(tools=(), store=False).body
        assert STRICT["openai"].refusals(body, self._issued) == []
        return body["input"]

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        fault = STRICT["openai"].reject({"input": body["input"]}, self._issued)
        if fault is not None:
            self.refused.append(fault)
            return JSONResponse({"error": {"type": "invalid_request_error", "message": fault}}, 400)
        items = self.answers.pop(0)
        whole = {"id": f"resp_{len(self.requests)}", "object": "response", "created_at": 0, "output": items}
        whole |= {"model": "gpt-5.6-sol", "status": "completed", "parallel_tool_calls": True}
        whole |= {"tool_choice": "auto", "tools": []}
        self._issued.add(Turn(tuple(decode_response("openai-responses", whole, provider="openai")), _ORIGIN))
        if not body.get("stream"):
            return JSONResponse(whole)
        events = (f"data: {json.dumps(event)}\n\n" for event in _events(whole))
        return StreamingResponse(events, media_type="text/event-stream")


def _events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}}
    for index, item in enumerate(whole["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}
