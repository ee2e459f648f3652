"""Decodes xAI's gRPC chat: a sequence of outputs of the model and of the tools that the provider runs.

Payloads are the JSON form of the protocol buffers, with the declared names of the fields. A response ends
with its stream: every output of the model has a finish reason, and another output follows the result of a
server tool.
"""

from __future__ import annotations

from typing import Any, ClassVar

from agui_reasoning.deltas import CloseDelta, Delta, ResponseStart, UsageDelta
from agui_reasoning.errors import ProviderError
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.payload import JSONObject, as_text, integer, obj, string
from agui_reasoning.providers.xai_grpc.outputs import Output, read_outputs
from agui_reasoning.providers.xai_grpc.response import XAIResponse
from agui_reasoning.providers.xai_grpc.sdk import wire_json

__all__ = ["XAIDecoder"]


class XAIDecoder(Decoder):
    """Decodes streams and responses of xAI's gRPC chat, as JSON or as objects of xai-sdk."""

    api: ClassVar[str] = "xai-grpc"
    vendor: ClassVar[str | None] = "xai"
    repeatable = Repeatable(
        texts=frozenset({"content", "reasoning_content"}), unread=frozenset({"created"}), counts="usage"
    )

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._response: XAIResponse | None = None
        self._usage: UsageDelta | None = None

    def _plain(self, payload: Any) -> Any:
        return wire_json(payload)

    def _decode(self, data: JSONObject) -> list[Delta]:
        if data.get("error"):
            raise self._refused(data["error"])
        outputs, response_id = read_outputs(data, "delta"), string(data, "id")
        usage, start = self._read_usage(data), self._start(data)
        deltas = self._open(response_id, start) if outputs else []
        if self._response is None:
            return deltas
        deltas += self._apply(self._response, outputs)
        return deltas + self._counted(usage)

    def _whole(self, data: JSONObject) -> list[Delta]:
        if data.get("error"):
            raise self._refused(data["error"])
        outputs, response = read_outputs(data, "message"), XAIResponse(string(data, "id"))
        start, usage = self._start(data), self._read_usage(data)
        return [start, *self._apply(response, outputs), *([usage] if usage else []), *response.end()]

    def _end(self) -> list[Delta]:
        response = self._response
        if response is None or response.finished:
            return self._settle()
        self._response = None
        raise self._truncated([*response.flush(), *self._held_usage(), CloseDelta(status="incomplete")])

    def _open(self, response_id: str, start: ResponseStart) -> list[Delta]:
        """Start a response, if the ID is not that of the open one."""
        running = self._response
        if running is not None and (not response_id or response_id == running.id):
            return []
        deltas = self._settle()
        self._response = XAIResponse(response_id)
        return [*deltas, start]

    def _apply(self, response: XAIResponse, outputs: list[Output]) -> list[Delta]:
        return [delta for output in outputs for delta in response.receive(output)]

    def _settle(self) -> list[Delta]:
        response, self._response = self._response, None
        return [*self._held_usage(), *response.end()] if response is not None else []

    def _start(self, data: JSONObject) -> ResponseStart:
        return ResponseStart(self._origin(data), id=string(data, "id") or None)

    # -- counts and errors

    def _counted(self, usage: UsageDelta | None) -> list[Delta]:
        """Keep the token counts until the response ends: the newest include the others."""
        self._usage = usage or self._usage
        return []

    def _held_usage(self) -> list[Delta]:
        usage, self._usage = self._usage, None
        return [usage] if usage else []

    def _read_usage(self, data: JSONObject) -> UsageDelta | None:
        """Read the token counts: zeros are omitted, and completion tokens exclude reasoning."""
        usage, path = obj(data, "usage"), "/usage"
        if not usage:
            return None
        thought = integer(usage, "reasoning_tokens", path) or 0
        return UsageDelta(
            provider=self.provider,
            model=string(data, "model") or self.model,
            input_tokens=integer(usage, "prompt_tokens", path) or 0,
            output_tokens=(integer(usage, "completion_tokens", path) or 0) + thought,
            total_tokens=integer(usage, "total_tokens", path) or 0,
            reasoning_tokens=thought,
            cached_input_tokens=integer(usage, "cached_prompt_text_tokens", path) or 0,
        )

    def _refused(self, error: Any) -> ProviderError:
        """Build the error for a gRPC status in JSON form, which the SDK would raise."""
        response, self._response = self._response, None
        status = error if isinstance(error, dict) else {"message": error}
        code = status.get("code")
        held = response.flush() if response else []
        return ProviderError(
            provider_code=None if code is None else as_text(code),
            provider_message=as_text(status.get("message")),
            deltas=(*held, CloseDelta(status="incomplete")),
        )
