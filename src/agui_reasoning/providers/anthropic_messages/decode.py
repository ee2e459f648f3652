"""Decodes Anthropic Messages: content blocks and their deltas.

Every block is a unit whose key is its index, or for a tool block its ID. Signatures arrive whole, in one
delta at the end of the block, and are assigned, never appended. Unknown blocks are kept verbatim, because the
whole content of a step must be returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    InputTransformation,
    InputTransformationsDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.parts import Opaque
from agui_reasoning.providers._input_transformations import of_anthropic
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers.anthropic_messages.usage import counts
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.payload import (
    JSONObject,
    array,
    as_text,
    compact_json,
    integer,
    obj,
    other_fields,
    reject,
    string,
)

__all__ = ["AnthropicMessagesDecoder"]

SIGNATURE = "anthropic.signature"
REDACTED = "anthropic.redacted_thinking"
CUT_REASONS = frozenset({"max_tokens", "model_context_window_exceeded"})
REFUSAL = "refusal"
CLIENT_CALL = "tool_use"
FALLBACK = "fallback"
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})


@dataclass(slots=True)
class _Block:
    """The state of an open block.

    Attributes:
        type: The type of the block.
        key: The key of its unit.
        start: The block in its start event; if its type is unknown, with later deltas.
        filled: Whether it has content.
        citations: The citations so far.
        aside: Whether it contains reasoning although it was opened as another type.
        implied: Whether it had no start event, so that its deltas tell its type.
    """

    type: str
    key: str
    start: JSONObject
    filled: bool = False
    citations: list[Any] = field(default_factory=list)
    aside: bool = False
    implied: bool = False

    @property
    def aside_key(self) -> str:
        """The key of the reasoning in a block of another type."""
        return f"{self.key}:thinking"


class AnthropicMessagesDecoder(Decoder):
    """Decodes Anthropic Messages streams and responses, direct or through Vertex, Bedrock and Foundry."""

    api: ClassVar[str] = "anthropic-messages"
    vendor: ClassVar[str | None] = "anthropic"
    repeatable = Repeatable(texts=frozenset({"thinking", "text", "partial_json"}), unread=frozenset({"p"}))

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._blocks: dict[int, _Block] = {}
        self._last: _Block | None = None
        self._calls: list[str] = []
        self._usage: JSONObject = {}
        self._named_model = model
        self._stop_reason: str | None = None
        self._stop_details: JSONObject = {}
        self._transformations: tuple[InputTransformation, ...] = ()
        self._server_model: str | None = None
        self._running = False
        self._begun = False

    def _decode(self, data: JSONObject) -> list[Delta]:
        handler = _EVENTS.get(string(data, "type"))
        return handler(self, data) if handler else []

    def _end(self) -> list[Delta]:
        if not self._running:
            return []
        self._running = False
        if self._stop_reason is not None:
            return [self._finish()]
        raise self._truncated()

    def _whole(self, data: JSONObject) -> list[Delta]:
        if string(data, "type") == "error":
            return self._error(data)
        deltas = self._message_start({"message": data})
        for block in array(data, "content"):
            self._note_model(block)  # the report is that of the model that finished
        for index, block in enumerate(array(data, "content")):
            deltas += self._open(index, block, "/content")
            deltas += self._block_stop({"index": index})
        deltas += self._message_delta({"delta": data})
        return deltas + self._message_stop({})

    # -- events

    def _message_start(self, data: JSONObject) -> list[Delta]:
        message = obj(data, "message")
        origin = self._origin(message)
        start = ResponseStart(origin, id=string(message, "id") or None)
        usage = obj(message, "usage", "/message")
        self._blocks, self._last, self._stop_reason = {}, None, None
        self._stop_details = {}
        self._calls = []
        self._transformations, self._server_model = of_anthropic(message), None
        self._usage, self._named_model = {}, origin.model
        self._running = self._begun = True
        return [start, *self._count(usage)]

    def _block_start(self, data: JSONObject) -> list[Delta]:
        return self._open(_index(data), obj(data, "content_block"), "/content_block")

    def _open(self, index: int, start: JSONObject, path: str) -> list[Delta]:
        kind = string(start, "type", path)
        key = string(start, "id", path) if _is_call(kind) else str(index)
        self._note_model(start)
        block = _Block(kind, key, start)
        deltas = _BLOCKS.get(kind, _open_other)(block, path)
        self._blocks[index] = self._last = block
        if kind == CLIENT_CALL:
            self._calls.append(key)
        elif kind == FALLBACK:
            deltas += self._fall_back()
        if self._begun:
            return self._report() + deltas
        # Without the start of the message, its parts would have no origin, and would not be sent back.
        self._begun = True
        return [ResponseStart(self._origin({})), *deltas]

    def _fall_back(self) -> list[Delta]:
        """Cut the calls of a model that declined: nobody answers them, and they must not run."""
        cut, self._calls = self._calls, []
        return [CloseDelta(key=key, status="incomplete") for key in cut]

    def _block_delta(self, data: JSONObject) -> list[Delta]:
        index, delta = _index(data), obj(data, "delta")
        kind = string(delta, "type", "/delta")
        block = self._blocks.get(index)
        implied: list[Delta] = []
        if block is None or block.implied:
            implied = self._imply(index, kind)
            if (block := self._blocks.get(index)) is None:
                return []
        # The type of a block is more reliable than that of its deltas: some gateways label all deltas
        # as text.
        grow = _DELTAS.get(kind, _grow_other) if block.type in _BLOCKS else _grow_other
        deltas = _FIRM.get(block.type, grow)(block, delta)
        return [*implied, *deltas] if implied else deltas

    def _imply(self, index: int, kind: str) -> list[Delta]:
        """Open the block of a delta if its start was not sent; each type of delta has a block of its own."""
        block, implied = self._blocks.get(index), _IMPLIED.get(kind)
        if implied is None or (block is not None and block.type == implied):
            return []
        deltas = self._block_stop({"index": index})
        deltas += self._open(index, {"type": implied}, "/delta")
        self._blocks[index].implied = True
        return deltas

    def _block_stop(self, data: JSONObject) -> list[Delta]:
        block = self._blocks.pop(_index(data), None)
        if block is None:
            return []
        deltas = _CLOSERS.get(block.type, _stop)(block)
        return [*deltas, CloseDelta(key=block.aside_key)] if block.aside else deltas

    def _message_delta(self, data: JSONObject) -> list[Delta]:
        delta = obj(data, "delta")
        reason = string(delta, "stop_reason", "/delta")
        self._stop_details = obj(delta, "stop_details", "/delta") or self._stop_details
        # After a change of the model, the event has the list of the model that answers.
        deltas = [*self._report(), *self._count(obj(data, "usage"))]
        self._transformations = of_anthropic(data)
        deltas += self._report()
        self._stop_reason = reason or self._stop_reason
        if reason in CUT_REASONS and self._last is not None:
            # The limit applies to the last block, even if the API closed it normally.
            deltas.append(CloseDelta(key=self._last.key, status="incomplete"))
        return deltas

    def _message_stop(self, data: JSONObject) -> list[Delta]:
        self._running = self._begun = False
        return [self._finish()]

    def _note_model(self, block: Any) -> None:
        """Note the model that goes on after another one declined."""
        self._server_model = _heir(block) or self._server_model

    def _report(self) -> list[Delta]:
        """Return the report on the request, once it is known which model it is about."""
        entries, self._transformations = self._transformations, ()
        return [InputTransformationsDelta(entries, model=self._server_model)] if entries else []

    def _finish(self) -> FinishDelta:
        details, reason = self._stop_details or None, self._stop_reason
        return FinishDelta(reason, details=details, refused=reason == REFUSAL)

    def _error(self, data: JSONObject) -> list[Delta]:
        error = obj(data, "error")
        self._running = False
        raise ProviderError(
            provider_type=string(error, "type", "/error") or None,
            provider_message=string(error, "message", "/error"),
            deltas=(CloseDelta(status="incomplete"),),
        )

    def _count(self, usage: JSONObject) -> list[Delta]:
        """Later counts replace earlier ones."""
        if not usage:
            return []
        merged = self._usage | {key: value for key, value in usage.items() if value is not None}
        deltas: list[Delta] = [*counts(merged, self.provider, self._named_model)]
        self._usage = merged
        return deltas


def _written(arguments: Any) -> str:
    """Return arguments as JSON text, which some gateways send already."""
    return arguments if isinstance(arguments, str) else compact_json(arguments)


def _index(data: JSONObject) -> int:
    index = integer(data, "index")
    if index is None:
        raise reject("a whole number", None, "/index")
    return index


def _is_call(kind: str) -> bool:
    return kind == CLIENT_CALL or kind in SERVER_CALLS


# -- how a block of each type opens


def _open_thinking(block: _Block, path: str) -> list[Delta]:
    text, signature = string(block.start, "thinking", path), string(block.start, "signature", path)
    block.filled = bool(text or signature)
    deltas: list[Delta] = [
        ReasoningDelta(text, key=block.key, ext=other_fields(block.start, *_THINKING) or None)
    ]
    if signature:
        deltas.append(OpaqueDelta(Opaque(SIGNATURE, signature), key=block.key))
    return deltas


def _open_redacted(block: _Block, path: str) -> list[Delta]:
    return [OpaqueDelta(Opaque(REDACTED, string(block.start, "data", path)), key=block.key)]


def _open_text(block: _Block, path: str) -> list[Delta]:
    ext = other_fields(block.start, "type", "text")
    block.citations = list(ext.get("citations", ()))
    return [TextDelta(string(block.start, "text", path), key=block.key, ext=ext or None)]


def _open_call(block: _Block, path: str) -> list[Delta]:
    start = block.start
    server = block.type in SERVER_CALLS
    ext = other_fields(start, "type", "id", "name", "input")
    if block.type == "mcp_tool_use":
        ext["type"] = block.type
    arguments = start.get("input")
    block.filled = arguments not in (None, {}, "")
    text = _written(arguments) if block.filled else ""
    return [ToolCallDelta(block.key, string(start, "name", path), text, server=server, ext=ext or None)]


def _open_other(block: _Block, path: str) -> list[Delta]:
    if not isinstance(block.start.get("tool_use_id"), str):
        # Unknown blocks may still grow, so they are passed on when they stop.
        block.start = dict(block.start)
        return []
    content = as_text(block.start.get("content"))
    error = _failure(block.start)
    return [ToolResultDelta(block.start["tool_use_id"], content, error=error, native=block.start)]


def _failure(result: JSONObject) -> str | None:
    """Return why a tool of the server failed; ``None`` if it did not."""
    content = result.get("content")
    if isinstance(content, dict) and str(content.get("type")).endswith("_tool_result_error"):
        said = (content.get(name) for name in ("error_message", "error_code"))
        return next((words for words in said if isinstance(words, str) and words), "")
    return "" if result.get("is_error") is True else None


# -- how each delta grows a block


def _grow_thinking(block: _Block, delta: JSONObject) -> list[Delta]:
    """Treat every delta of a thinking block as thinking, regardless of its type."""
    deltas = _think(delta, block.key)
    block.filled = block.filled or bool(deltas)
    return deltas or [ReasoningDelta(key=block.key)]


def _think(delta: JSONObject, key: str) -> list[Delta]:
    others = [value for name, value in delta.items() if name not in _NO_TEXT and isinstance(value, str)]
    text = "".join([string(delta, "thinking", "/delta"), *others])
    deltas: list[Delta] = [ReasoningDelta(text, key=key)] if text else []
    if signature := string(delta, "signature", "/delta"):
        deltas.append(OpaqueDelta(Opaque(SIGNATURE, signature), key=key))
    return deltas


def _grow_aside(block: _Block, delta: JSONObject) -> list[Delta]:
    """Make thinking in a block of another type a separate unit."""
    block.aside = True
    return _think(delta, block.aside_key)


def _grow_redacted(block: _Block, delta: JSONObject) -> list[Delta]:
    """Ignore deltas of a redacted block, which arrives whole."""
    return []


def _grow_text(block: _Block, delta: JSONObject) -> list[Delta]:
    return [TextDelta(string(delta, "text", "/delta"), key=block.key)]


def _grow_citations(block: _Block, delta: JSONObject) -> list[Delta]:
    block.citations = [*block.citations, delta.get("citation")]
    return [TextDelta("", key=block.key, ext={"citations": block.citations})]


def _grow_call(block: _Block, delta: JSONObject) -> list[Delta]:
    arguments = string(delta, "partial_json", "/delta")
    block.filled = block.filled or bool(arguments)
    return [ToolCallDelta(block.key, "", arguments)]


def _grow_other(block: _Block, delta: JSONObject) -> list[Delta]:
    """Extend an unknown block by the strings of its delta."""
    if block.type not in _BLOCKS:
        for key, value in delta.items():
            if key != "type" and isinstance(value, str):
                held = block.start.get(key)
                block.start[key] = held + value if isinstance(held, str) else value
    return []


# -- how a block stops


def _stop(block: _Block) -> list[Delta]:
    if block.type not in _BLOCKS and not isinstance(block.start.get("tool_use_id"), str):
        return [NativeDelta(f"anthropic.{block.type}", block.start)]
    return [CloseDelta(key=block.key)]


def _stop_fallback(block: _Block) -> list[Delta]:
    """Name the model that goes on: a stream began with that of the model that was asked for."""
    return [NativeDelta(f"anthropic.{FALLBACK}", block.start, model=_heir(block.start))]


def _heir(block: Any) -> str | None:
    """Return the model that goes on after a block; ``None`` if it is no fallback, or names none."""
    heir = block.get("to") if isinstance(block, dict) and block.get("type") == FALLBACK else None
    model = heir.get("model") if isinstance(heir, dict) else None
    return model if isinstance(model, str) and model else None


def _stop_thinking(block: _Block) -> list[Delta]:
    close = CloseDelta(key=block.key)
    if block.filled:
        return [close]
    return [ReasoningDelta(key=block.key, ext={"explicit_empty": True}), close]


def _stop_call(block: _Block) -> list[Delta]:
    close = CloseDelta(key=block.key)
    if block.filled or not isinstance(block.start.get("input"), dict):
        return [close]
    return [ToolCallDelta(block.key, "", compact_json(block.start["input"])), close]


_THINKING = _NO_TEXT = ("type", "thinking", "signature")

_EVENTS: dict[str, Callable[[AnthropicMessagesDecoder, JSONObject], list[Delta]]] = {
    "message_start": AnthropicMessagesDecoder._message_start,
    "content_block_start": AnthropicMessagesDecoder._block_start,
    "content_block_delta": AnthropicMessagesDecoder._block_delta,
    "content_block_stop": AnthropicMessagesDecoder._block_stop,
    "message_delta": AnthropicMessagesDecoder._message_delta,
    "message_stop": AnthropicMessagesDecoder._message_stop,
    "error": AnthropicMessagesDecoder._error,
}

_BLOCKS: dict[str, Callable[[_Block, str], list[Delta]]] = {
    "thinking": _open_thinking,
    "redacted_thinking": _open_redacted,
    "text": _open_text,
    CLIENT_CALL: _open_call,
    **dict.fromkeys(SERVER_CALLS, _open_call),
}

_DELTAS: dict[str, Callable[[_Block, JSONObject], list[Delta]]] = {
    "thinking_delta": _grow_aside,
    "signature_delta": _grow_aside,
    "text_delta": _grow_text,
    "citations_delta": _grow_citations,
    "input_json_delta": _grow_call,
}

_IMPLIED = {"thinking_delta": "thinking", "text_delta": "text"}
"""The types of blocks whose start some gateways do not send, by the types of their deltas."""

_FIRM: dict[str, Callable[[_Block, JSONObject], list[Delta]]] = {
    "thinking": _grow_thinking,
    "redacted_thinking": _grow_redacted,
}
"""Block types that determine the meaning of their deltas."""

_CLOSERS: dict[str, Callable[[_Block], list[Delta]]] = {
    "thinking": _stop_thinking,
    FALLBACK: _stop_fallback,
    CLIENT_CALL: _stop_call,
    **dict.fromkeys(SERVER_CALLS, _stop_call),
}
