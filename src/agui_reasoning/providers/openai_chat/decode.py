"""Decodes OpenAI Chat Completions and the many compatible APIs.

A stream's ``delta`` and a response's ``message`` have the same fields and are read by the same code
(`fields`), so that both give the same parts in the normal form: reasoning, text, calls, with reasoning that
resumes joined. Reasoning may be in any of a dozen fields, often in two at once. The text is taken from the
preferred field as long as that has text; values that must be sent back (signatures, encrypted data) are
taken from every field.

Only the choice with index 0 is decoded. Of audio, the transcript is; images and log probabilities are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    ResponseStart,
    UsageDelta,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.parts import Origin
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.openai_chat.fields import MessagePiece, read_message
from agui_reasoning.providers.openai_chat.response import ChatResponse
from agui_reasoning.providers.openai_chat.usage import read_usage
from agui_reasoning.providers.payload import JSONObject, array, compact_json, integer, obj, reject, string
from agui_reasoning.providers.vendors import vendor_traits

__all__ = ["OpenAIChatDecoder"]


@dataclass(frozen=True, slots=True)
class _Error:
    """An error that the provider sent."""

    code: str | None
    type: str | None
    message: str

    def exception(self, deltas: list[Delta]) -> ProviderError:
        return ProviderError(
            provider_code=self.code,
            provider_type=self.type,
            provider_message=self.message,
            deltas=(*deltas, CloseDelta(status="incomplete")),
        )


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A payload that was read without errors."""

    id: str
    start: ResponseStart
    piece: MessagePiece | None
    reason: str
    declined: bool
    usage: UsageDelta | None
    error: _Error | None


DECLINED: Final = "refusal"
"""Claude's stop reason for a refusal, which OpenRouter passes on as ``native_finish_reason``."""


class OpenAIChatDecoder(Decoder):
    """Decodes streams and responses of OpenAI Chat Completions and compatible APIs."""

    api: ClassVar[str] = "openai-chat"
    splits_tags = True
    repeatable = Repeatable(
        texts=frozenset(
            {
                *("content", "reasoning_content", "reasoning", "reasoning_text", "thinking"),
                *("text", "summary", "arguments", "transcript"),
            }
        ),
        unread=frozenset({"created", "obfuscation", "choices/logprobs"}),
        counts="usage",
    )

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._response: ChatResponse | None = None
        self._usage: UsageDelta | None = None

    def _unwrapped(self, payload: Any) -> Any:
        """Return the chunk of an event of the openai SDK's ``chat.completions.stream()``.

        Its other events, which repeat the chunk, are ignored, without serializing their snapshots.
        """
        if isinstance(payload, str | Mapping) or not isinstance(getattr(payload, "type", None), str):
            return payload
        if payload.type == "chunk":
            return getattr(payload, "chunk", payload)
        return payload if hasattr(payload, "choices") else {}

    def _whole(self, data: JSONObject) -> list[Delta]:
        chunk = self._parse(data, "message")
        if chunk.error is None and data.get("choices") is None:
            raise reject("an array", None, "/choices")
        return self._apply(chunk) + self._settle()

    def _decode(self, data: JSONObject) -> list[Delta]:
        if data.get("type") == "chunk" and "choices" not in data:
            data = obj(data, "chunk")
        return self._apply(self._parse(data, "delta"))

    def _done(self) -> list[Delta]:
        return self._settle()

    def _end(self) -> list[Delta]:
        response = self._response
        if response is None or response.reason is not None or response.counted:
            return self._settle()
        self._response = None
        raise self._truncated([*response.flush(), CloseDelta(status="incomplete")])

    def _reader_of(self, delta: Delta) -> Callable[[str], bool]:
        return bool if self._response is None else self._response.reader_of(delta)

    # -- reading: the decoder changes only after the whole payload was read

    def _read_usage(self, data: JSONObject) -> UsageDelta | None:
        return read_usage(data, self.provider, self.model, self._traits)

    def _parse(self, data: JSONObject, field: str) -> _Chunk:
        choice = self._choice(array(data, "choices"), field)
        piece = None if choice is None else self._read_piece(choice, field)
        response_id = string(data, "id")
        start = ResponseStart(self._origin(data), id=response_id or None)
        return _Chunk(
            response_id,
            start,
            piece,
            string(choice or {}, "finish_reason", "/choices/0"),
            (choice or {}).get("native_finish_reason") == DECLINED,
            self._read_usage(data),
            _read_error(data, choice or {}),
        )

    def _origin(self, source: JSONObject) -> Origin:
        """Return the origin, with the upstream if a gateway names it."""
        origin, named = super()._origin(source), source.get("provider")
        known = self._traits.upstreams.get(named) if isinstance(named, str) else None
        return origin if known is None else replace(origin, upstream=known)

    def _choice(self, choices: list[JSONObject], field: str) -> JSONObject | None:
        """Return the first choice; LiteLLM's Responses bridge uses its index as the number of a summary."""
        first = next((choice for choice in choices if choice.get("index") in (0, None)), None)
        if first is None and self._traits.summary_in_choice_index and field == "delta" and len(choices) == 1:
            delta = obj(choices[0], field, "/choices/0")
            first = choices[0] if delta.get("reasoning_content") and not delta.get("content") else None
        return first

    def _read_piece(self, choice: JSONObject, field: str) -> MessagePiece:
        whole = field == "message"
        if not whole and choice.get(field) is None and self._response is None:
            # Some gateways answer a streaming request with one chunk that contains a message.
            field, whole = "message", choice.get("message") is not None
        piece = read_message(obj(choice, field, "/choices/0"), f"/choices/0/{field}", whole=whole)
        piece.part = integer(choice, "index", "/choices/0") or 0
        for name in piece.unread:
            self._warn_unread(name)
        return piece

    # -- applying

    def _apply(self, chunk: _Chunk) -> list[Delta]:
        deltas: list[Delta] = []
        if chunk.piece is not None:
            deltas += self._open(chunk, chunk.piece)
        response = self._response
        if response is not None and chunk.piece is not None:
            deltas += response.receive(chunk.piece)
            response.reason = chunk.reason or response.reason
            response.declined = chunk.declined or response.declined
            response.counted = False
        elif response is not None and chunk.usage is not None:
            response.counted = True
        deltas += self._counted(chunk.usage)
        if chunk.error is not None:
            self._response = None
            raise chunk.error.exception(deltas + (response.flush() if response else []))
        return deltas

    def _open(self, chunk: _Chunk, piece: MessagePiece) -> list[Delta]:
        """Start a response, if the chunk belongs to a new one.

        IDs may change with every chunk of one response (Groq's agents), and chunks after the finish reason
        may repeat it: only content with a new ID after the finish reason starts another response.
        """
        response = self._response
        if response is not None:
            another = response.reason is not None and chunk.id not in ("", response.id) and piece.carries
            if not another:
                return []
        deltas = self._settle()
        # Traits also depend on the model, which the payload may name.
        self._response = ChatResponse(chunk.id, vendor_traits(chunk.start.origin or Origin()), self.tagging)
        self._usage = None
        return [*deltas, chunk.start]

    def _counted(self, usage: UsageDelta | None) -> list[Delta]:
        """Pass on token counts when they change; they may arrive with every chunk."""
        if usage is None or usage == self._usage:
            return []
        self._usage = usage
        return [usage]

    def _settle(self) -> list[Delta]:
        """End the response, which stays open after its finish reason because more chunks may follow."""
        response, self._response = self._response, None
        if response is None:
            return []
        return [*response.end(), FinishDelta(response.reason, refused=response.refused)]


def _read_error(data: JSONObject, choice: JSONObject) -> _Error | None:
    """Find an error: OpenRouter puts it beside the choices or in a choice; vLLM's is the whole payload."""
    error = data.get("error") or choice.get("error")
    if error is None and data.get("object") == "error":
        error = data
    if not error:
        return None
    if not isinstance(error, dict):
        return _Error(None, None, error if isinstance(error, str) else compact_json(error))
    code, kind, message = (error.get(name) for name in ("code", "type", "message"))
    return _Error(
        None if code is None else str(code),
        kind if isinstance(kind, str) else None,
        message if isinstance(message, str) else "",
    )
