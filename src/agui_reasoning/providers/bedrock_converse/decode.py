"""Decodes Bedrock Converse: content blocks, and in streams their deltas.

Every block is a unit whose key is its index, or for a tool block its ID. The first delta opens a block,
because only tool blocks and images have a start event. Payloads are accepted as boto3 returns them, under the
name of their event, or bare as in the frames of the wire.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
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
from agui_reasoning.parts import Opaque, Status
from agui_reasoning.providers._input_transformations import of_anthropic
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers._signs import is_error
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.inline import InlineThought
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

__all__ = ["BedrockConverseDecoder"]

SIGNATURE: Final = "anthropic.signature"
REDACTED: Final = "bedrock.redacted_content"
SERVER_CALL: Final = "server_tool_use"
CUT_REASONS: Final = frozenset(
    {"max_tokens", "model_context_window_exceeded", "guardrail_intervened", "content_filtered"}
)
TAGS: Final = {"<thinking>": "</thinking>"}
"""The tags of Nova 1's reasoning. Other tags belong to the answer: Kimi imitates those of clients."""

_UNKNOWN: Final = "SDK_UNKNOWN_MEMBER"
_EXCEPTION: Final = "Exception"


@dataclass(slots=True)
class _Block:
    """The state of an open block.

    Attributes:
        key: The key of its unit.
        inline: Splits tagged reasoning from its text.
        citations: The citations so far.
        native: The block itself, by the name of its kind, if it is returned verbatim.
    """

    key: str
    inline: InlineThought | None = None
    citations: list[Any] = field(default_factory=list)
    native: JSONObject | None = None


class BedrockConverseDecoder(Decoder):
    """Decodes ConverseStream events and Converse responses, of boto3 or of the wire."""

    api: ClassVar[str] = "bedrock-converse"
    vendor: ClassVar[str | None] = "bedrock"
    repeatable = Repeatable(
        texts=frozenset({"text", "input"}), unread=frozenset({"p", "contentBlockDelta/p"})
    )

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._blocks: dict[int, _Block] = {}
        self._last: str | None = None
        self._spoke = self._running = False

    def _decode(self, data: JSONObject) -> list[Delta]:
        if is_error(data):
            raise self._refused("", data)
        for name, payload in data.items():
            if name.endswith(_EXCEPTION):
                raise self._refused(name, payload)
            if name in _EVENTS and isinstance(payload, dict):
                return _EVENTS[name](self, payload)
        bare = next((name for key, name in _BARE.items() if key in data), None)
        return _EVENTS[bare](self, data) if bare else []

    def _end(self) -> list[Delta]:
        if not self._running:
            return []
        self._running = False
        raise self._truncated([*self._stop_all("incomplete"), CloseDelta(status="incomplete")])

    def _whole(self, data: JSONObject) -> list[Delta]:
        if is_error(data):
            raise self._refused("", data)
        message = obj(obj(data, "output"), "message", "/output")
        deltas = self._message_start({})
        for index, block in enumerate(array(message, "content", "/output/message")):
            for name, value in block.items():
                read = _WHOLES.get(name, BedrockConverseDecoder._other)
                deltas += self._note(read(self, index, name, value))
            deltas += self._block_stop({"contentBlockIndex": index})
        return [*deltas, *self._message_stop(data), *self._metadata(data)]

    # -- events

    def _message_start(self, data: JSONObject) -> list[Delta]:
        self._blocks, self._last = {}, None
        self._spoke, self._running = False, True
        return [ResponseStart(self._origin({}))]

    def _block_start(self, data: JSONObject) -> list[Delta]:
        index, start = _index(data), obj(data, "start")
        deltas = self._begun()
        for name, value in start.items():
            if isinstance(value, dict):
                read = _STARTS.get(name, BedrockConverseDecoder._other)
                deltas += self._note(read(self, index, name, value))
        return deltas

    def _block_delta(self, data: JSONObject) -> list[Delta]:
        index, delta = _index(data), obj(data, "delta")
        deltas = self._begun()
        for name, value in delta.items():
            read = _DELTAS.get(name, BedrockConverseDecoder._grow_other)
            deltas += self._note(read(self, index, name, value))
        return deltas

    def _block_stop(self, data: JSONObject) -> list[Delta]:
        return self._stop(_index(data))

    def _message_stop(self, data: JSONObject) -> list[Delta]:
        reason = string(data, "stopReason") or None
        deltas = [*self._begun(), *self._stop_all()]
        if reason in CUT_REASONS and self._last is not None:
            # The limit applies to the last block, even if the API closed it normally.
            deltas.append(CloseDelta(key=self._last, status="incomplete"))
        self._running = False
        fields = obj(data, "additionalModelResponseFields")
        # Present if the request asked for them. The API has no stop reason for a refusal.
        details = obj(fields, "stop_details", "/additionalModelResponseFields")
        entries = of_anthropic(fields)
        return [
            *([InputTransformationsDelta(entries)] if entries else []),
            *deltas,
            FinishDelta(reason, details=details or None, refused=details.get("type") == "refusal"),
        ]

    def _metadata(self, data: JSONObject) -> list[Delta]:
        """Read the token counts; AG-UI's input count includes cached tokens."""
        usage = obj(data, "usage")
        if not usage:
            return []
        cached = integer(usage, "cacheReadInputTokens", "/usage")
        written = integer(usage, "cacheWriteInputTokens", "/usage")
        fresh = integer(usage, "inputTokens", "/usage")
        output = integer(usage, "outputTokens", "/usage")
        total = None if fresh is None else fresh + (cached or 0) + (written or 0)
        delta = UsageDelta(
            provider=self.provider,
            model=self.model,
            input_tokens=total,
            output_tokens=output,
            total_tokens=None if total is None or output is None else total + output,
            cached_input_tokens=cached,
            cache_write_input_tokens=written,
        )
        return [delta]

    def _refused(self, name: str, payload: Any) -> ProviderError:
        """Build the error for an exception event, or for an error in place of an event."""
        held = self._stop_all("incomplete")
        self._running = False
        type_field = {"type": name} if name else {}
        error = self._refusal({**(payload if isinstance(payload, dict) else {}), **type_field})
        error.deltas = (*held, *error.deltas)
        return error

    def _reader_of(self, delta: Delta) -> Callable[[str], bool]:
        inlines = (block.inline for block in self._blocks.values() if block.inline is not None)
        return next((inline.passes for inline in inlines), bool)

    # -- blocks

    def _begun(self) -> list[Delta]:
        return [] if self._running else self._message_start({})

    def _block(self, index: int) -> _Block:
        return self._blocks.setdefault(index, _Block(str(index)))

    def _note(self, deltas: list[Delta]) -> list[Delta]:
        """Note which unit received the last content, which a limit cuts."""
        for delta in deltas:
            if isinstance(delta, ReasoningDelta | TextDelta | OpaqueDelta):
                self._last = delta.key
            elif isinstance(delta, ToolCallDelta):
                self._last = delta.id
        return deltas

    def _stop_all(self, status: Status = "complete") -> list[Delta]:
        return [delta for index in list(self._blocks) for delta in self._stop(index, status)]

    def _stop(self, index: int, status: Status = "complete") -> list[Delta]:
        block = self._blocks.pop(index, None)
        if block is None:
            return []
        deltas = self._note(block.inline.close(status)) if block.inline else []
        if block.citations:
            deltas.append(TextDelta("", key=block.key, ext={"citations": block.citations}))
        return [*deltas, *_native(block), CloseDelta(key=block.key, status=status)]

    def _text(self, index: int, name: str, text: Any) -> list[Delta]:
        if not isinstance(text, str):
            raise reject("a string", text, "/delta/text")
        block = self._block(index)
        if block.inline is None and self._spoke:
            return [TextDelta(text, key=block.key)]
        if block.inline is None and text:
            # Tags count only at the start of the response.
            block.inline, self._spoke = InlineThought(block.key, TAGS), True
        return block.inline.feed(text) if block.inline else []

    def _reasoning(self, index: int, name: str, value: Any) -> list[Delta]:
        """Decode a fragment of a thought or value; the fragments of a value belong together."""
        piece, key = _object(value, "/delta/reasoningContent"), self._block(index).key
        self._spoke = True
        deltas: list[Delta] = []
        if text := string(piece, "text", "/delta/reasoningContent"):
            deltas.append(ReasoningDelta(text, key=key))
        if signature := string(piece, "signature", "/delta/reasoningContent"):
            deltas.append(OpaqueDelta(Opaque(SIGNATURE, signature), key=key, append=True))
        if redacted := _blob(piece.get("redactedContent")):
            deltas.append(OpaqueDelta(Opaque(REDACTED, redacted, "base64"), key=key, append=True))
        return deltas

    def _whole_reasoning(self, index: int, name: str, value: Any) -> list[Delta]:
        block = _object(value, "/reasoningContent")
        return self._reasoning(
            index, name, {**obj(block, "reasoningText"), **other_fields(block, "reasoningText")}
        )

    def _call(self, index: int, name: str, start: Any) -> list[Delta]:
        start = _object(start, "/toolUse")
        block = self._blocks[index] = _Block(string(start, "toolUseId", "/toolUse"))
        server = start.get("type") == SERVER_CALL
        ext = other_fields(start, "toolUseId", "name", "input", "type") or None
        arguments = compact_json(start["input"]) if "input" in start else ""
        return [
            ToolCallDelta(block.key, string(start, "name", "/toolUse"), arguments, server=server, ext=ext)
        ]

    def _grow_call(self, index: int, name: str, value: Any) -> list[Delta]:
        arguments = string(_object(value, "/delta/toolUse"), "input", "/delta/toolUse")
        return [ToolCallDelta(self._block(index).key, "", arguments)]

    def _whole_citations(self, index: int, name: str, value: Any) -> list[Delta]:
        cited = _object(value, "/citationsContent")
        self._block(index).citations += array(cited, "citations", "/citationsContent")
        texts = [string(one, "text") for one in array(cited, "content", "/citationsContent")]
        return self._text(index, name, "".join(texts))

    def _citation(self, index: int, name: str, value: Any) -> list[Delta]:
        self._block(index).citations.append(value)
        return []

    def _other(self, index: int, name: str, value: Any) -> list[Delta]:
        """Keep the result of a server tool, an image or an unknown block verbatim."""
        if name != _UNKNOWN and isinstance(value, dict):
            self._block(index).native = {name: dict(value)}
        return []

    def _grow_other(self, index: int, name: str, value: Any) -> list[Delta]:
        native = self._block(index).native
        if native is None or name not in native:
            return []
        if isinstance(value, list):
            held = native[name].get("content")
            native[name]["content"] = [*held, *value] if isinstance(held, list) else value
        elif isinstance(value, dict):
            native[name] |= value
        return []


def _native(block: _Block) -> list[Delta]:
    """Return the deltas of a block that is returned verbatim."""
    if block.native is None:
        return []
    ((name, value),) = block.native.items()
    payload = {name: _plain(value)}
    if name != "toolResult":
        return [NativeDelta(f"bedrock.{name}", payload)]
    content = array(payload[name], "content", "/toolResult")
    texts = [one["text"] for one in content if isinstance(one.get("text"), str)]
    text = "\n".join(texts) if len(texts) == len(content) else as_text(content)
    return [ToolResultDelta(string(payload[name], "toolUseId", "/toolResult"), text, native=payload)]


def _plain(value: Any) -> Any:
    """Return boto3 values as JSON, with bytes as base64."""
    if isinstance(value, bytes | bytearray):
        return _blob(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _blob(value: Any) -> str:
    """Return a blob as base64: boto3 returns bytes, the wire base64."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode("ascii")
    if value is not None and not isinstance(value, str):
        raise reject("bytes or base64", value, "/redactedContent")
    return value or ""


def _object(value: Any, path: str) -> JSONObject:
    if not isinstance(value, dict):
        raise reject("an object", value, path)
    return value


def _index(data: JSONObject) -> int:
    index = integer(data, "contentBlockIndex")
    if index is None:
        raise reject("a whole number", None, "/contentBlockIndex")
    return index


_Reader = Callable[[BedrockConverseDecoder, int, str, Any], list[Delta]]

_EVENTS: Final[dict[str, Callable[[BedrockConverseDecoder, JSONObject], list[Delta]]]] = {
    "messageStart": BedrockConverseDecoder._message_start,
    "contentBlockStart": BedrockConverseDecoder._block_start,
    "contentBlockDelta": BedrockConverseDecoder._block_delta,
    "contentBlockStop": BedrockConverseDecoder._block_stop,
    "messageStop": BedrockConverseDecoder._message_stop,
    "metadata": BedrockConverseDecoder._metadata,
}

_BARE: Final = {
    "role": "messageStart",
    "start": "contentBlockStart",
    "delta": "contentBlockDelta",
    "contentBlockIndex": "contentBlockStop",
    "stopReason": "messageStop",
    "usage": "metadata",
}
"""Return the event type of a bare payload, by the first known field that it has."""

_STARTS: Final[dict[str, _Reader]] = {"toolUse": BedrockConverseDecoder._call}

_DELTAS: Final[dict[str, _Reader]] = {
    "text": BedrockConverseDecoder._text,
    "reasoningContent": BedrockConverseDecoder._reasoning,
    "toolUse": BedrockConverseDecoder._grow_call,
    "citation": BedrockConverseDecoder._citation,
}

_WHOLES: Final[dict[str, _Reader]] = {
    "text": BedrockConverseDecoder._text,
    "reasoningContent": BedrockConverseDecoder._whole_reasoning,
    "toolUse": BedrockConverseDecoder._call,
    "citationsContent": BedrockConverseDecoder._whole_citations,
}
