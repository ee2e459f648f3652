"""Decodes Cohere's chat, version 2: content blocks, calls and citations, each with their own numbers.

Every content block is a unit whose key is its index; the key of a call is its ID. Models that do not reason
write a plan before they call tools, which is a reasoning unit with ``ext["field"]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers._signs import is_error
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.payload import JSONObject, array, integer, obj, other_fields, string

__all__ = ["CohereChatDecoder"]

PLAN: Final = "tool_plan"
CUT_REASONS: Final = frozenset({"MAX_TOKENS", "TIMEOUT"})

_FAILED: Final = "ERROR"
_THOUGHT: Final = "THINKING_CONTENT"
_OF_PLAN: Final = "PLAN"


class CohereChatDecoder(Decoder):
    """Decodes Cohere's chat streams and responses."""

    api: ClassVar[str] = "cohere-chat"
    vendor: ClassVar[str | None] = "cohere"
    repeatable = Repeatable(
        texts=frozenset({"thinking", "text", PLAN, "arguments"}), unread=frozenset({"logprobs"})
    )

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._running = False
        self._reset()

    def _reset(self) -> None:
        self._last: str | None = None
        self._kinds: dict[int, str] = {}
        self._natives: dict[int, JSONObject] = {}
        self._calls: dict[int, str] = {}
        self._citations: dict[tuple[str, str], list[JSONObject]] = {}

    def _decode(self, data: JSONObject) -> list[Delta]:
        if is_error(data):
            raise self._refusal(data)
        handler = _EVENTS.get(string(data, "type"))
        if handler is None:
            return []
        begun = [] if self._running or handler is _EVENTS["message-start"] else self._message_start({})
        return [*begun, *handler(self, data)]

    def _end(self) -> list[Delta]:
        if not self._running:
            return []
        self._running = False
        raise self._truncated()

    def _whole(self, data: JSONObject) -> list[Delta]:
        if is_error(data):
            raise self._refusal(data)
        message = obj(data, "message")
        deltas = self._message_start(data)
        deltas += self._plan(self._prose(message, PLAN))
        for index, item in enumerate(array(message, "content", "/message")):
            deltas += [*self._open(index, item), *self._content_end({"index": index})]
        for index, call in enumerate(array(message, "tool_calls", "/message")):
            deltas += [*self._begin_call(index, call), *self._call_end({"index": index})]
        for citation in array(message, "citations", "/message"):
            self._cite(citation)
        return [*deltas, *self._finish(data)]

    # -- events

    def _message_start(self, data: JSONObject) -> list[Delta]:
        self._reset()
        self._running = True
        return [ResponseStart(self._origin({}), id=string(data, "id") or None)]

    def _content_start(self, data: JSONObject) -> list[Delta]:
        return self._open(integer(data, "index") or 0, obj(_message(data), "content", _MESSAGE))

    def _open(self, index: int, item: JSONObject) -> list[Delta]:
        kind = string(item, "type", "/content") or next((name for name in _CONTENT if name in item), "")
        self._kinds[index] = kind
        if kind not in _CONTENT:
            self._natives[index] = item
            return []
        return self._grow(index, item)

    def _content_delta(self, data: JSONObject) -> list[Delta]:
        return self._grow(integer(data, "index") or 0, obj(_message(data), "content", _MESSAGE))

    def _grow(self, index: int, item: JSONObject) -> list[Delta]:
        """Add the text of a delta; the name of its field tells its kind, unless the block is a thought."""
        key = str(index)
        in_thought = self._kinds.get(index) == "thinking"
        deltas: list[Delta] = []
        if thinking := self._prose(item, "thinking"):
            deltas.append(ReasoningDelta(thinking, key=key))
        if text := string(item, "text", _CONTENT_PATH):
            # Gateways spell the text of a thought in either way.
            deltas.append(ReasoningDelta(text, key=key) if in_thought else TextDelta(text, key=key))
        if deltas:
            self._last = key
        return deltas

    def _content_end(self, data: JSONObject) -> list[Delta]:
        index = integer(data, "index") or 0
        native = self._natives.pop(index, None)
        if native is not None:
            self._last = None
            return [NativeDelta(f"cohere.{self._kinds[index] or 'content'}", native)]
        return [CloseDelta(key=str(index))]

    def _plan_delta(self, data: JSONObject) -> list[Delta]:
        return self._plan(self._prose(_message(data), PLAN))

    def _plan(self, text: str) -> list[Delta]:
        if not text:
            return []
        ext = None if self._last == PLAN else {"field": PLAN}
        self._last = PLAN
        return [ReasoningDelta(text, key=PLAN, ext=ext)]

    def _call_start(self, data: JSONObject) -> list[Delta]:
        return self._begin_call(integer(data, "index") or 0, obj(_message(data), "tool_calls", _MESSAGE))

    def _begin_call(self, index: int, call: JSONObject) -> list[Delta]:
        function = obj(call, "function", "/tool_calls")
        call_id = self._calls[index] = self._last = string(call, "id", "/tool_calls")
        ext = other_fields(call, "id", "type", "function") or None
        name = string(function, "name", _FUNCTION)
        # The plan ends before the calls.
        return [
            CloseDelta(key=PLAN),
            ToolCallDelta(call_id, name, string(function, "arguments", _FUNCTION), ext=ext),
        ]

    def _call_delta(self, data: JSONObject) -> list[Delta]:
        call_id = self._calls.get(integer(data, "index") or 0)
        function = obj(obj(_message(data), "tool_calls", _MESSAGE), "function", "/tool_calls")
        arguments = string(function, "arguments", _FUNCTION)
        return [ToolCallDelta(call_id, "", arguments)] if call_id is not None and arguments else []

    def _call_end(self, data: JSONObject) -> list[Delta]:
        call_id = self._calls.get(integer(data, "index") or 0)
        return [] if call_id is None else [CloseDelta(key=call_id)]

    def _citation_start(self, data: JSONObject) -> list[Delta]:
        self._cite(obj(_message(data), "citations", _MESSAGE))
        return []

    def _message_end(self, data: JSONObject) -> list[Delta]:
        return self._finish(obj(data, "delta"))

    # -- the end

    def _cite(self, citation: JSONObject) -> None:
        """Store a citation; the citations of each block are returned when the message ends."""
        kind = string(citation, "type", "/citations")
        index = integer(citation, "content_index", "/citations")
        texts = [number for number, held in self._kinds.items() if held == "text"]
        place = index if index is not None else max(texts, default=0)
        slot = ("plan", PLAN) if kind == _OF_PLAN else ("thought" if kind == _THOUGHT else "text", str(place))
        self._citations.setdefault(slot, []).append(citation)

    def _finish(self, data: JSONObject) -> list[Delta]:
        reason = string(data, "finish_reason") or None
        deltas: list[Delta] = []
        for (kind, key), cited in self._citations.items():
            ext = {"citations": cited}
            of_text = TextDelta("", key=key, ext=ext)
            deltas.append(of_text if kind == "text" else ReasoningDelta(key=key, ext=ext))
        deltas += self._count(obj(data, "usage"))
        self._running = False
        if reason == _FAILED or data.get("error"):
            raise self._failed(data, deltas)
        if reason in CUT_REASONS and self._last is not None:
            deltas.append(CloseDelta(key=self._last, status="incomplete"))
        return [*deltas, FinishDelta(reason)]

    def _failed(self, data: JSONObject, deltas: list[Delta]) -> ProviderError:
        error = self._refusal({"type": _FAILED, **data})
        error.deltas = (*deltas, *error.deltas)
        return error

    def _count(self, usage: JSONObject) -> list[Delta]:
        """Read the token counts, which exceed the billed ones."""
        tokens = obj(usage, "tokens", "/usage")
        if not tokens:
            return []
        read = integer(tokens, "input_tokens", "/usage/tokens")
        written = integer(tokens, "output_tokens", "/usage/tokens")
        delta = UsageDelta(
            provider=self.provider,
            model=self.model,
            input_tokens=read,
            output_tokens=written,
            total_tokens=None if read is None or written is None else read + written,
            reasoning_tokens=integer(tokens, "reasoning_tokens", "/usage/tokens"),
            cached_input_tokens=integer(usage, "cached_tokens", "/usage"),
        )
        return [delta]


def _message(data: JSONObject) -> JSONObject:
    return obj(obj(data, "delta"), "message", "/delta")


_MESSAGE: Final = "/delta/message"
_CONTENT_PATH: Final = "/content"
_FUNCTION: Final = "/tool_calls/function"
_CONTENT: Final = ("thinking", "text")

_EVENTS: Final[dict[str, Callable[[CohereChatDecoder, JSONObject], list[Delta]]]] = {
    "message-start": CohereChatDecoder._message_start,
    "content-start": CohereChatDecoder._content_start,
    "content-delta": CohereChatDecoder._content_delta,
    "content-end": CohereChatDecoder._content_end,
    "tool-plan-delta": CohereChatDecoder._plan_delta,
    "tool-call-start": CohereChatDecoder._call_start,
    "tool-call-delta": CohereChatDecoder._call_delta,
    "tool-call-end": CohereChatDecoder._call_end,
    "citation-start": CohereChatDecoder._citation_start,
    "message-end": CohereChatDecoder._message_end,
}
