"""Decodes Anthropic Messages: content blocks and their deltas.

Every block is a unit whose key is its index, or for a tool block its ID. Signatures arrive whole, in one
delta at the end of the block, and are assigned, never appended. Unknown blocks are kept verbatim, because the
whole content of a step must be returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal, TypeAlias

from msgspec.structs import asdict, replace

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
    UsageDelta,
)
from agui_reasoning.errors import ProviderError
from agui_reasoning.parts import Opaque
from agui_reasoning.providers.base import Decoder, is_error
from agui_reasoning.providers.payload import (
    Events,
    JSONObject,
    Members,
    Shape,
    Whole,
    anthropic_transformations,
    as_text,
    compact_json,
    other_fields,
    required_index,
    shape,
    string,
    total,
)

SIGNATURE = "anthropic.signature"
REDACTED = "anthropic.redacted_thinking"
CUT_REASONS = frozenset({"max_tokens", "model_context_window_exceeded"})
CLIENT_CALL = "tool_use"
FALLBACK = "fallback"
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_CALLS = frozenset({CLIENT_CALL, *SERVER_CALLS})


class _AnthropicDetails(Members):
    thinking_tokens: Whole | None = None


class _Counts(Members):
    input_tokens: Whole | None = None
    output_tokens: Whole | None = None
    cache_read_input_tokens: Whole | None = None
    cache_creation_input_tokens: Whole | None = None
    output_tokens_details: _AnthropicDetails | None = None


class _Sampling(_Counts):
    """An entry of ``iterations``."""

    type: str | None = None
    model: str | None = None


class _AnthropicUsage(_Counts):
    """The counts of a response."""

    iterations: list[_Sampling] | None = None


class _AnthropicDelta(Members):
    """What a delta adds to a block, or how it ends the message."""

    type: str | None = None
    thinking: str | None = None
    text: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    citation: Any = None
    stop_reason: str | None = None
    stop_details: dict[str, Any] | None = None


class _AnthropicMessage(_AnthropicDelta):
    """A message, of which a stream has only the beginning."""

    id: str | None = None
    model: str | None = None
    content: list[dict[str, Any]] | None = None
    usage: _AnthropicUsage | None = None
    input_transformations: Any = None
    error: dict[str, Any] | None = None


class _AnthropicEvent(Members):
    index: Whole | None = None
    delta: _AnthropicDelta | None = None
    content_block: dict[str, Any] | None = None
    message: _AnthropicMessage | None = None
    usage: _AnthropicUsage | None = None
    input_transformations: Any = None
    error: dict[str, Any] | None = None


_NO_DELTA: Final = _AnthropicDelta()


@lru_cache(64)
def _growth(kind: str, name: str, index: int) -> Shape:
    """Return the shape of deltas that add text to a block, and no signature."""
    delta = {"type": Literal[kind], name: str, "signature": None}
    members = {"type": Literal["content_block_delta"], "index": Literal[index], "delta": delta}
    return shape(members, _AnthropicEvent)


@dataclass(slots=True)
class _AnthropicBlock:
    """The state of an open block.

    Attributes:
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
    citations: Sequence[Any] = ()
    aside: bool = False
    implied: bool = False

    @property
    def aside_key(self) -> str:
        """The key of the reasoning in a block of another type."""
        return f"{self.key}:thinking"


_Grow: TypeAlias = Callable[[_AnthropicBlock, _AnthropicDelta, JSONObject], list[Delta]]


class AnthropicMessagesDecoder(Decoder):
    """Decodes Anthropic Messages streams and responses, direct or through Vertex, Bedrock and Foundry."""

    api: ClassVar[str] = "anthropic-messages"
    vendor: ClassVar[str | None] = "anthropic"
    response = _AnthropicMessage

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._blocks: dict[int, _AnthropicBlock] = {}
        self._last: _AnthropicBlock | None = None
        self._calls: list[str] = []
        self._usage = _AnthropicUsage()
        self._named_model = model
        self._stop_reason: str | None = None
        self._stop_details: JSONObject = {}
        self._transformations: tuple[InputTransformation, ...] = ()
        self._server_model: str | None = None
        self._begun = False

    def _end(self) -> list[Delta]:
        if self._running and self._stop_reason is not None:
            self._running = False
            return [self._finish()]
        return super()._end()

    def _whole(self, response: _AnthropicMessage, raw: JSONObject) -> list[Delta]:
        if is_error(raw):
            return self._error(response, raw)
        blocks = response.content or []
        deltas = self._message_start(_AnthropicEvent(message=response), raw)
        for block in blocks:
            # The report is that of the model that finished.
            self._server_model = _heir(block) or self._server_model
        for index, block in enumerate(blocks):
            deltas += self._open(index, block, "/content")
            deltas += self._block_stop(_AnthropicEvent(index=index), raw)
        deltas += self._message_delta(_AnthropicEvent(delta=response), raw)
        return deltas + self._message_stop(response, raw)

    # -- events

    def _message_start(self, event: _AnthropicEvent, raw: JSONObject) -> list[Delta]:
        message = event.message or _AnthropicMessage()
        origin = self._origin_of(message.model or self.model)
        self._blocks, self._last, self._calls = {}, None, []
        self._stop_reason, self._stop_details, self._server_model = None, {}, None
        self._transformations = anthropic_transformations(message.input_transformations)
        self._usage, self._named_model = _AnthropicUsage(), origin.model
        self._running = self._begun = True
        return [ResponseStart(origin, id=message.id or None), *self._count(message.usage)]

    def _block_start(self, event: _AnthropicEvent, raw: JSONObject) -> list[Delta]:
        return self._open(required_index(event.index), event.content_block or {}, "/content_block")

    def _open(self, index: int, start: JSONObject, path: str) -> list[Delta]:
        kind = string(start, "type", path)
        key = string(start, "id", path) if kind in _CALLS else str(index)
        self._server_model = _heir(start) or self._server_model
        block = _AnthropicBlock(kind, key, start)
        deltas = _BLOCKS.get(kind, _open_other)(block, path)
        self._blocks[index] = self._last = block
        if kind == CLIENT_CALL:
            self._calls.append(key)
        elif kind == FALLBACK:
            # Nobody answers the calls of a model that declined, and they must not run.
            deltas += [CloseDelta(key=called, status="incomplete") for called in self._calls]
            self._calls = []
        if self._begun:
            return self._report() + deltas
        # Without the start of the message, its parts would have no origin, and would not be sent back.
        self._begun = True
        return [ResponseStart(self._origin_of(self.model)), *deltas]

    def _block_delta(self, event: _AnthropicEvent, raw: JSONObject) -> list[Delta]:
        index, delta = required_index(event.index), event.delta or _NO_DELTA
        block, implied = self._blocks.get(index), []
        if block is None or block.implied:
            implied = self._imply(index, delta.type)
            if (block := self._blocks.get(index)) is None:
                return []
        # The type of a block is more reliable than that of its deltas, which some gateways all label text.
        grow = _DELTAS.get(delta.type, _grow_other) if block.type in _BLOCKS else _grow_other
        deltas = _FIRM.get(block.type, grow)(block, delta, raw)
        name = _ADDED.get((block.type, delta.type))
        if delta.type and name and getattr(delta, name):
            growth = _growth(delta.type, name, index)
            self._continue(growth, attrgetter(f"delta.{name}"), raw, deltas)
        return [*implied, *deltas]

    def _imply(self, index: int, kind: str | None) -> list[Delta]:
        """Open the block of a delta if its start was not sent; each type of delta has a block of its own."""
        block, implied = self._blocks.get(index), _IMPLIED.get(kind)
        if implied is None or (block is not None and block.type == implied):
            return []
        deltas = self._block_stop(_AnthropicEvent(index=index), {})
        deltas += self._open(index, {"type": implied}, "/delta")
        self._blocks[index].implied = True
        return deltas

    def _block_stop(self, event: _AnthropicEvent, raw: JSONObject) -> list[Delta]:
        block = self._blocks.pop(required_index(event.index), None)
        if block is None:
            return []
        deltas = _CLOSERS.get(block.type, _stop)(block)
        return [*deltas, CloseDelta(key=block.aside_key)] if block.aside else deltas

    def _message_delta(self, event: _AnthropicEvent, raw: JSONObject) -> list[Delta]:
        ending = event.delta or _NO_DELTA
        self._stop_details = ending.stop_details or self._stop_details
        # After a change of the model, the event has the list of the model that answers.
        deltas = [*self._report(), *self._count(event.usage)]
        self._transformations = anthropic_transformations(event.input_transformations)
        deltas += self._report()
        self._stop_reason = ending.stop_reason or self._stop_reason
        if ending.stop_reason in CUT_REASONS and self._last is not None:
            # The limit applies to the last block, even if the API closed it normally.
            deltas.append(CloseDelta(key=self._last.key, status="incomplete"))
        return deltas

    def _message_stop(self, event: _AnthropicEvent | _AnthropicMessage, raw: JSONObject) -> list[Delta]:
        self._running = self._begun = False
        return [self._finish()]

    def _report(self) -> list[Delta]:
        """Return the report on the request, once it is known which model it is about."""
        entries, self._transformations = self._transformations, ()
        return [InputTransformationsDelta(entries, model=self._server_model)] if entries else []

    def _finish(self) -> FinishDelta:
        details, reason = self._stop_details or None, self._stop_reason
        return FinishDelta(reason, details=details, refused=reason == "refusal")

    def _untyped(self, event: _AnthropicEvent, raw: JSONObject) -> list[Delta]:
        """Refuse an error without a type, as gateways send it; other payloads without one are ignored."""
        return self._error(event, raw) if event.error else []

    def _error(self, event: _AnthropicEvent | _AnthropicMessage, raw: JSONObject) -> list[Delta]:
        error = event.error or {}
        self._running = False
        raise ProviderError(
            provider_type=string(error, "type", "/error") or None,
            provider_message=string(error, "message", "/error"),
            deltas=(CloseDelta(status="incomplete"),),
        )

    def _count(self, usage: _AnthropicUsage | None) -> list[Delta]:
        """Later counts replace earlier ones."""
        counts = asdict(usage or _AnthropicUsage())
        newer = {name: value for name, value in counts.items() if value is not None}
        if not newer:
            return []
        self._usage = replace(self._usage, **newer)
        return [*_usage_deltas(self._usage, self.provider, self._named_model)]

    events = Events(
        "type",
        {
            "message_start": (_AnthropicEvent, _message_start),
            "content_block_start": (_AnthropicEvent, _block_start),
            "content_block_delta": (_AnthropicEvent, _block_delta),
            "content_block_stop": (_AnthropicEvent, _block_stop),
            "message_delta": (_AnthropicEvent, _message_delta),
            "message_stop": (_AnthropicEvent, _message_stop),
            "error": (_AnthropicEvent, _error),
            None: (_AnthropicEvent, _untyped),
        },
    )


# -- how a block of each type opens


def _open_thinking(block: _AnthropicBlock, path: str) -> list[Delta]:
    text, signature = string(block.start, "thinking", path), string(block.start, "signature", path)
    block.filled = bool(text or signature)
    ext = other_fields(block.start, "type", "thinking", "signature") or None
    deltas: list[Delta] = [ReasoningDelta(text, key=block.key, ext=ext)]
    if signature:
        deltas.append(OpaqueDelta(Opaque(SIGNATURE, signature), key=block.key))
    return deltas


def _open_text(block: _AnthropicBlock, path: str) -> list[Delta]:
    ext = other_fields(block.start, "type", "text")
    block.citations = list(ext.get("citations", ()))
    return [TextDelta(string(block.start, "text", path), key=block.key, ext=ext or None)]


def _open_call(block: _AnthropicBlock, path: str) -> list[Delta]:
    start = block.start
    server = block.type in SERVER_CALLS
    ext = other_fields(start, "type", "id", "name", "input")
    if block.type == "mcp_tool_use":
        ext["type"] = block.type
    arguments = start.get("input")
    block.filled = arguments not in (None, {}, "")
    # Some gateways send JSON text already.
    text = "" if not block.filled else arguments if isinstance(arguments, str) else compact_json(arguments)
    return [ToolCallDelta(block.key, string(start, "name", path), text, server=server, ext=ext or None)]


def _open_other(block: _AnthropicBlock, path: str) -> list[Delta]:
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


def _grow_thinking(block: _AnthropicBlock, delta: _AnthropicDelta, raw: JSONObject) -> list[Delta]:
    """Treat every delta of a thinking block as thinking, regardless of its type."""
    deltas = _think(delta, raw, block.key)
    block.filled = block.filled or bool(deltas)
    return deltas or [ReasoningDelta(key=block.key)]


def _think(delta: _AnthropicDelta, raw: JSONObject, key: str) -> list[Delta]:
    """Return reasoning and a signature; whatever else has text is reasoning under another name."""
    text = delta.thinking
    if not text and delta.signature is None:
        others = raw.get("delta") or {}
        text = "".join(value for name, value in others.items() if name != "type" and isinstance(value, str))
    deltas: list[Delta] = [ReasoningDelta(text, key=key)] if text else []
    if delta.signature:
        deltas.append(OpaqueDelta(Opaque(SIGNATURE, delta.signature), key=key))
    return deltas


def _grow_aside(block: _AnthropicBlock, delta: _AnthropicDelta, raw: JSONObject) -> list[Delta]:
    """Make thinking in a block of another type a separate unit."""
    block.aside = True
    return _think(delta, raw, block.aside_key)


def _grow_citations(block: _AnthropicBlock, delta: _AnthropicDelta, raw: JSONObject) -> list[Delta]:
    block.citations = [*block.citations, delta.citation]
    return [TextDelta("", key=block.key, ext={"citations": block.citations})]


def _grow_call(block: _AnthropicBlock, delta: _AnthropicDelta, raw: JSONObject) -> list[Delta]:
    arguments = delta.partial_json or ""
    block.filled = block.filled or bool(arguments)
    return [ToolCallDelta(block.key, "", arguments)]


def _grow_other(block: _AnthropicBlock, delta: _AnthropicDelta, raw: JSONObject) -> list[Delta]:
    """Extend an unknown block by the strings of its delta."""
    if block.type not in _BLOCKS:
        for key, value in (raw.get("delta") or {}).items():
            if key != "type" and isinstance(value, str):
                held = block.start.get(key)
                block.start[key] = held + value if isinstance(held, str) else value
    return []


# -- how a block stops


def _stop(block: _AnthropicBlock) -> list[Delta]:
    known = block.type in _BLOCKS or isinstance(block.start.get("tool_use_id"), str)
    if known and block.type != FALLBACK:
        return [CloseDelta(key=block.key)]
    # A stream began with the name of the model that was asked for.
    return [NativeDelta(f"anthropic.{block.type}", block.start, model=_heir(block.start))]


def _heir(block: JSONObject) -> str | None:
    """Return the model that goes on after a block; ``None`` if it is no fallback, or names none."""
    heir = block.get("to") if block.get("type") == FALLBACK else None
    model = heir.get("model") if isinstance(heir, dict) else None
    return model if isinstance(model, str) and model else None


def _stop_thinking(block: _AnthropicBlock) -> list[Delta]:
    empty = [] if block.filled else [ReasoningDelta(key=block.key, ext={"explicit_empty": True})]
    return [*empty, CloseDelta(key=block.key)]


def _stop_call(block: _AnthropicBlock) -> list[Delta]:
    close = CloseDelta(key=block.key)
    if block.filled or not isinstance(block.start.get("input"), dict):
        return [close]
    return [ToolCallDelta(block.key, "", compact_json(block.start["input"])), close]


_BLOCKS: dict[str, Callable[[_AnthropicBlock, str], list[Delta]]] = {
    "thinking": _open_thinking,
    "redacted_thinking": lambda block, path: [
        OpaqueDelta(Opaque(REDACTED, string(block.start, "data", path)), key=block.key)
    ],
    "text": _open_text,
    **dict.fromkeys(_CALLS, _open_call),
}

_DELTAS: dict[str | None, _Grow] = {
    "thinking_delta": _grow_aside,
    "signature_delta": _grow_aside,
    "text_delta": lambda block, delta, raw: [TextDelta(delta.text or "", key=block.key)],
    "citations_delta": _grow_citations,
    "input_json_delta": _grow_call,
}

_ADDED: dict[tuple[str, str | None], str] = {
    ("thinking", "thinking_delta"): "thinking",
    ("text", "text_delta"): "text",
    **{(kind, "input_json_delta"): "partial_json" for kind in _CALLS},
}
"""The member that adds text to a block, by the types of the block and of the delta."""

_IMPLIED: dict[str | None, str] = {"thinking_delta": "thinking", "text_delta": "text"}
"""The types of blocks whose start some gateways do not send, by the types of their deltas."""

_FIRM: dict[str, _Grow] = {
    "thinking": _grow_thinking,
    "redacted_thinking": lambda block, delta, raw: [],  # it arrived whole
}
"""Block types that determine the meaning of their deltas."""

_CLOSERS: dict[str, Callable[[_AnthropicBlock], list[Delta]]] = {
    "thinking": _stop_thinking,
    **dict.fromkeys(_CALLS, _stop_call),
}


# -- token counts
#
# ``iterations`` lists every sampling of a response. The totals contain those of the model that answered. They
# leave out the summary of a compaction, advisors, and a model that declined after it had begun to answer; one
# that declined before is not charged (anthropic SDK, type ``BetaUsage``; recorded with an advisor;
# ccusage#1552, 2026-07-31, with a fallback).

_SUMMED: Final = (
    *("input_tokens", "output_tokens", "total_tokens"),
    *("cached_input_tokens", "cache_write_input_tokens"),
)


def _usage_deltas(usage: _AnthropicUsage, provider: str | None, model: str | None) -> list[UsageDelta]:
    """Return the counts of a response, which names ``model``, then those of others that worked for it."""
    entries = usage.iterations or []
    served = [entry.model for entry in entries if entry.type == "fallback_message"]
    model = next(filter(None, reversed(served)), model)
    counts = {model: _counted(usage, provider, model)}
    for entry in _left_out(entries, model if served else None):
        who = entry.model or model
        found = _counted(entry, provider, who, apart=who != model)
        counts[who] = _sum(counts[who], found) if who in counts else found
    return [*counts.values()]


def _left_out(entries: list[_Sampling], served: str | None) -> Iterator[_Sampling]:
    """Yield the samplings that the totals leave out; ``served`` is the model that another fell back to."""
    for entry in entries:
        declined = entry.type == "message" and served is not None and entry.model not in (None, "", served)
        if entry.type in ("compaction", "advisor_message") or (declined and entry.output_tokens):
            yield entry


def _counted(usage: _Counts, provider: str | None, model: str | None, *, apart: bool = False) -> UsageDelta:
    """Return one set of counts; cached tokens are part of AG-UI's input count."""
    cached, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    fresh, output, details = usage.input_tokens, usage.output_tokens, usage.output_tokens_details
    whole = None if fresh is None else fresh + (cached or 0) + (written or 0)
    return UsageDelta(
        provider=provider,
        model=model,
        input_tokens=whole,
        output_tokens=output,
        total_tokens=None if whole is None or output is None else whole + output,
        reasoning_tokens=None if details is None else details.thinking_tokens,
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
        apart=apart,
    )


def _sum(one: UsageDelta, other: UsageDelta) -> UsageDelta:
    return replace(one, **{name: total(getattr(one, name), getattr(other, name)) for name in _SUMMED})
