"""Amazon Bedrock Converse: content blocks, and in streams their deltas.

Every block is a unit whose key is its index, or for a tool block its ID. The first delta opens a block,
because only tool blocks and images have a start event. Payloads are accepted as boto3 returns them, under the
name of their event, or bare as in the frames of the wire.

The blocks of a response are returned in their order, with blobs as bytes. In a request, thinking is never the
last block, text is never blank, the results of a response are in one user message before the user's text,
roles alternate, and tool blocks come with tools.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal

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
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    ReasoningPart,
    Status,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.providers.alternating import (
    BlockStyle,
    Writing,
    alternate,
    blocks_of,
    part_writers,
    server_pairs,
    written_units,
)
from agui_reasoning.providers.base import Decoder, is_error
from agui_reasoning.providers.encoding import (
    RESULT,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    PreparedConversation,
    as_object,
    data_of,
    file_name,
    from_base64,
    leftovers,
    media_type,
    tools_of,
    values,
)
from agui_reasoning.providers.inline import InlineThought
from agui_reasoning.providers.payload import (
    JSONObject,
    Members,
    Only,
    Shape,
    Whole,
    anthropic_transformations,
    array,
    as_text,
    compact_json,
    obj,
    other_fields,
    reject,
    required_index,
    shape,
    string,
)

SIGNATURE: Final = "anthropic.signature"
REDACTED: Final = "bedrock.redacted_content"
SERVER_CALL: Final = "server_tool_use"
CUT_REASONS: Final = frozenset(
    {"max_tokens", "model_context_window_exceeded", "guardrail_intervened", "content_filtered"}
)
TAGS: Final = {"<thinking>": "</thinking>"}
"""The tags of Nova 1's reasoning. Other tags belong to the answer: Kimi imitates those of clients."""

_UNKNOWN: Final = "SDK_UNKNOWN_MEMBER"


class _ConverseUsage(Members, rename="camel"):
    input_tokens: Whole | None = None
    output_tokens: Whole | None = None
    cache_read_input_tokens: Whole | None = None
    cache_write_input_tokens: Whole | None = None


class _Additional(Members):
    """Fields that the request asked for."""

    stop_details: dict[str, Any] | None = None
    input_transformations: Any = None


class _ConverseEvent(Members, rename="camel"):
    """The members of all events; the first that is present tells the type of a bare one."""

    role: Any = None
    start: dict[str, Any] | None = None
    delta: dict[str, Any] | None = None
    content_block_index: Whole | None = None
    stop_reason: str | None = None
    additional_model_response_fields: _Additional | None = None
    usage: _ConverseUsage | None = None


class _ConversePayload(_ConverseEvent):
    content_block_delta: _ConverseEvent | None = None
    content_block_stop: _ConverseEvent | None = None
    content_block_start: _ConverseEvent | None = None
    message_start: _ConverseEvent | None = None
    message_stop: _ConverseEvent | None = None
    metadata: _ConverseEvent | None = None


_TEXTS: Final = {
    "text": ("delta.text", str),
    "reasoningContent": (
        "delta.reasoningContent.text",
        {"text": str, "signature": None, "redactedContent": None},
    ),
    "toolUse": ("delta.toolUse.input", {"input": str}),
}
"""Where text is that a delta adds, and what is beside it, by the name of the delta's member."""


@lru_cache(64)
def _growth(name: str, index: int, *, bare: bool) -> Shape:
    """Return the shape of deltas that only add text to a block. Bedrock pads events to hide their length."""
    event = {"contentBlockIndex": Literal[index], "delta": Only({name: _TEXTS[name][1]}), "p": str | None}
    return shape(Only(event if bare else {"contentBlockDelta": event}), _ConversePayload)


@dataclass(slots=True)
class _ConverseBlock:
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

    @property
    def grows_steadily(self) -> bool:
        """Whether further text of the same kind only adds to its unit."""
        return self.native is None and (self.inline is None or self.inline.answers)


class BedrockConverseDecoder(Decoder):
    """Decodes ConverseStream events and Converse responses, of boto3 or of the wire."""

    api: ClassVar[str] = "bedrock-converse"
    vendor: ClassVar[str | None] = "bedrock"
    payload = _ConversePayload
    response = _ConverseEvent

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._blocks: dict[int, _ConverseBlock] = {}
        self._last: str | None = None
        self._spoke = False

    def _decode(self, payload: _ConversePayload, raw: JSONObject) -> list[Delta]:
        for name, handle in _WRAPPED.items():
            if (event := getattr(payload, name)) is not None:
                return handle(self, event, raw)
        self._check_refusal(raw)
        bare = next((member for member in _BARE if member in raw), None)
        return _BARE[bare](self, payload, raw) if bare else []

    def _held_back(self) -> list[Delta]:
        return self._stop_all("incomplete")

    def _whole(self, response: _ConverseEvent, raw: JSONObject) -> list[Delta]:
        self._check_refusal(raw)
        message = obj(obj(raw, "output"), "message", "/output")
        deltas = self._message_start(response, raw)
        for index, block in enumerate(array(message, "content", "/output/message")):
            for name, value in block.items():
                read = _WHOLES.get(name, BedrockConverseDecoder._other)
                deltas += self._note(read(self, index, name, value))
            deltas += self._stop(index)
        return [*deltas, *self._message_stop(response, raw), *self._metadata(response, raw)]

    # -- events

    def _message_start(self, event: _ConverseEvent, raw: JSONObject) -> list[Delta]:
        self._blocks, self._last = {}, None
        self._spoke, self._running = False, True
        return [ResponseStart(self._origin_of(self.model))]

    def _block_start(self, event: _ConverseEvent, raw: JSONObject) -> list[Delta]:
        index = required_index(event.content_block_index, "/contentBlockIndex")
        deltas = self._begun()
        for name, value in (event.start or {}).items():
            if isinstance(value, dict):
                read = self._call if name == "toolUse" else self._other
                deltas += self._note(read(index, name, value))
        return deltas

    def _block_delta(self, event: _ConverseEvent, raw: JSONObject) -> list[Delta]:
        index = required_index(event.content_block_index, "/contentBlockIndex")
        deltas, delta = self._begun(), event.delta or {}
        for name, value in delta.items():
            read = _DELTAS.get(name, BedrockConverseDecoder._grow_other)
            deltas += self._note(read(self, index, name, value))
        block, name = self._blocks.get(index), next(iter(delta), "")
        if name in _TEXTS and block is not None and block.grows_steadily:
            bare = isinstance(event, _ConversePayload)
            path = _TEXTS[name][0] if bare else f"contentBlockDelta.{_TEXTS[name][0]}"
            self._continue(_growth(name, index, bare=bare), attrgetter(path), raw, deltas)
        return deltas

    def _block_stop(self, event: _ConverseEvent, raw: JSONObject) -> list[Delta]:
        return self._stop(required_index(event.content_block_index, "/contentBlockIndex"))

    def _message_stop(self, event: _ConverseEvent, raw: JSONObject) -> list[Delta]:
        reason = event.stop_reason or None
        deltas = [*self._begun(), *self._stop_all()]
        if reason in CUT_REASONS and self._last is not None:
            # The limit applies to the last block, even if the API closed it normally.
            deltas.append(CloseDelta(key=self._last, status="incomplete"))
        self._running = False
        fields = event.additional_model_response_fields or _Additional()
        # Present if the request asked for them. The API has no stop reason for a refusal.
        details = fields.stop_details or {}
        entries = anthropic_transformations(fields.input_transformations)
        return [
            *([InputTransformationsDelta(entries)] if entries else []),
            *deltas,
            FinishDelta(reason, details=details or None, refused=details.get("type") == "refusal"),
        ]

    def _metadata(self, event: _ConverseEvent, raw: JSONObject) -> list[Delta]:
        """Read the token counts; AG-UI's input count includes cached tokens."""
        usage = event.usage
        if usage is None or usage == _ConverseUsage():
            return []
        cached, written = usage.cache_read_input_tokens, usage.cache_write_input_tokens
        fresh, output = usage.input_tokens, usage.output_tokens
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

    def _check_refusal(self, raw: JSONObject) -> None:
        """Raise what a payload says that is an exception, or an error of a gateway."""
        if is_error(raw):
            raise self._refused("", raw)
        if exception := next((name for name in raw if name.endswith("Exception")), None):
            raise self._refused(exception, raw[exception])

    def _refused(self, name: str, payload: Any) -> ProviderError:
        """Build the error for an exception event, or for an error in place of an event."""
        type_field = {"type": name} if name else {}
        return self._refusal({**(payload if isinstance(payload, dict) else {}), **type_field})

    # -- blocks

    def _begun(self) -> list[Delta]:
        return [] if self._running else self._message_start(_ConverseEvent(), {})

    def _block(self, index: int) -> _ConverseBlock:
        return self._blocks.setdefault(index, _ConverseBlock(str(index)))

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
        return [*deltas, *_verbatim(block), CloseDelta(key=block.key, status=status)]

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
        piece = {**obj(block, "reasoningText"), **other_fields(block, "reasoningText")}
        return self._reasoning(index, name, piece)

    def _call(self, index: int, name: str, start: Any) -> list[Delta]:
        start = _object(start, "/toolUse")
        block = self._blocks[index] = _ConverseBlock(string(start, "toolUseId", "/toolUse"))
        server = start.get("type") == SERVER_CALL
        ext = other_fields(start, "toolUseId", "name", "input", "type") or None
        arguments = compact_json(start["input"]) if "input" in start else ""
        tool = string(start, "name", "/toolUse")
        return [ToolCallDelta(block.key, tool, arguments, server=server, ext=ext)]

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


def _verbatim(block: _ConverseBlock) -> list[Delta]:
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


_Reader = Callable[[BedrockConverseDecoder, int, str, Any], list[Delta]]

_Handler = Callable[[BedrockConverseDecoder, _ConverseEvent, JSONObject], list[Delta]]

_BARE: Final[dict[str, _Handler]] = {
    "role": BedrockConverseDecoder._message_start,
    "start": BedrockConverseDecoder._block_start,
    "delta": BedrockConverseDecoder._block_delta,
    "contentBlockIndex": BedrockConverseDecoder._block_stop,
    "stopReason": BedrockConverseDecoder._message_stop,
    "usage": BedrockConverseDecoder._metadata,
}
"""What reads an event that is not under its name, by the first known member that it has."""

_WRAPPED: Final[dict[str, _Handler]] = {
    "content_block_delta": BedrockConverseDecoder._block_delta,
    "content_block_stop": BedrockConverseDecoder._block_stop,
    "content_block_start": BedrockConverseDecoder._block_start,
    "message_start": BedrockConverseDecoder._message_start,
    "message_stop": BedrockConverseDecoder._message_stop,
    "metadata": BedrockConverseDecoder._metadata,
}
"""What reads an event under its name."""

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


# -- requests

NOTHING: Final = "(No output.)"
"""Replaces blank tool results, which the API rejects."""

THINKING: Final = "reasoningContent"
REDACTED_BY_ANTHROPIC: Final = "anthropic.redacted_thinking"

_BLOBS: Final = frozenset({"bytes", "redactedContent"})
BESIDE: Final = "(A document without words of the user.)"
"""The text beside a document, which the API does not accept alone."""

_FORMATS: Final = {
    "image": {f"image/{form}": form for form in ("png", "jpeg", "gif", "webp")},
    "document": {
        "application/pdf": "pdf",
        "application/msword": "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.ms-excel": "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "text/csv": "csv",
        "text/html": "html",
        "text/plain": "txt",
        **dict.fromkeys(("text/markdown", "text/x-markdown"), "md"),
    },
    "video": {
        **{f"video/{form}": form for form in ("mp4", "webm", "mpeg")},
        "video/quicktime": "mov",
        "video/x-matroska": "mkv",
        "video/x-flv": "flv",
        "video/x-ms-wmv": "wmv",
        "video/3gpp": "three_gp",
    },
}
"""The formats that the API accepts, by type of part and media type."""
_DEFAULTS: Final = {"image": "image/png", "document": "application/pdf", "video": "video/mp4"}
_NAME: Final = re.compile(r"[^A-Za-z0-9()\[\]-]+")
_LONGEST_NAME: Final = 190


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``system`` and ``toolConfig`` if there are any, for boto3."""
    messages, system = alternate(conversation, options, _STYLE, server_pairs(conversation, _answers))
    _name_documents(messages)
    body: JSONObject = {"messages": messages}
    if system:
        body["system"] = [{"text": text} for text in system]
    if tools := tools_of(options.tools, _tool) or list(_stand_ins(messages)):
        body["toolConfig"] = {"tools": tools}
    return body


def _name_documents(messages: list[JSONObject]) -> None:
    """Give each document a name of its own, and each message with documents a text: the API requires both."""
    taken: set[str] = set()
    for message in messages:
        fields = {name for block in message["content"] for name in block}
        if "document" in fields and "text" not in fields:
            message["content"].append({"text": BESIDE})
        for block in message["content"]:
            told = block.get("toolResult", {}).get("content", ())
            for document in (one["document"] for one in (block, *told) if "document" in one):
                document["name"] = _free(document["name"], taken)


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no earlier document has, compared without case."""
    numbers = count(2)
    free = name
    while free.lower() in taken:
        free = f"{name} {next(numbers)}"
    taken.add(free.lower())
    return free


def _stand_ins(messages: list[JSONObject]) -> Iterator[JSONObject]:
    """Yield tools for the called names if the caller passes none: the API rejects calls without tools."""
    blocks = [block for message in messages for block in message["content"]]
    for name in dict.fromkeys(block["toolUse"]["name"] for block in blocks if "toolUse" in block):
        yield _tool(name, "", {"type": "object", "properties": {}})


# -- a response


def _assistant(writing: Writing) -> list[JSONObject]:
    step, options, _ = writing
    written = written_units(writing, _PARTS)
    while written and THINKING in written[-1][1]:
        unit, _ = written.pop()
        options.report.drop(unit, "orphan", harmless=True)
    if all(isinstance(unit.part, ReasoningPart) for unit, _ in written):
        options.report.drop_step(step)
        return []
    for unit, _ in written:
        if isinstance(unit.part, ReasoningPart | NativePart):
            options.report.echo(unit)
    return [block for block in _joined(written) if block.get("text", " x").strip()]


def _joined(written: list[tuple[EchoUnit, JSONObject]]) -> list[JSONObject]:
    """Merge the text after a tagged thought into the block of the thought."""
    blocks: list[JSONObject] = []
    tagged = False
    for unit, block in written:
        if tagged and "text" in block:
            blocks[-1] = {"text": blocks[-1]["text"] + block["text"]}
        else:
            blocks.append(block)
        tagged = isinstance(unit.part, ReasoningPart) and "text" in block
    return blocks


def _reasoning(part: ReasoningPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    if unit.refused:
        return None
    if "content_tags" in writing.options.rule.field:
        tag = (part.ext or {}).get("tag")
        if not isinstance(tag, Mapping):
            return None
        return {"text": f"{tag.get('open', '')}{part.text}{tag.get('close', '')}"}
    block = _redacted(unit)
    if block is not None:
        return {THINKING: {"redactedContent": block}}
    signed = values(unit, SIGNATURE)
    if bool(signed) != (writing.options.rule.needs == "signature"):
        # Claude requires its signatures; other models do not sign, and cannot read Claude's reasoning.
        writing.options.report.drop(unit, "foreign_origin" if signed else "missing_signature")
        return None
    thought: JSONObject = {"text": "".join(segment.text for segment in part.segments)}
    if not signed and not thought["text"].strip():
        return None
    return {THINKING: {"reasoningText": {**thought, **({"signature": signed[0].value} if signed else {})}}}


def _redacted(unit: EchoUnit) -> bytes | None:
    """Return the bytes of a redacted thought; Bedrock's are the characters of Anthropic's value."""
    if found := values(unit, REDACTED):
        return from_base64(found[0].value) or None
    if found := values(unit, REDACTED_BY_ANTHROPIC):
        return found[0].value.encode() if found[0].value.isascii() else None
    return None


def _text(part: TextPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    return {"text": part.text} if part.text else None


def _call(part: ToolCallPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    call: JSONObject = {"toolUseId": unit.call_id, "name": part.name, "input": as_object(part)}
    if not part.server:
        return {"toolUse": call}
    if unit.key not in writing.pairs:
        return None
    return {"toolUse": {**leftovers(unit, "phase"), **call, "toolUseId": part.id, "type": SERVER_CALL}}


def _server_result(part: ToolResultPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    return _with_bytes(part.native) if unit.key in writing.pairs else None


def _native(part: NativePart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    payload = part.payload
    known = unit.kinship == "same" and isinstance(payload, dict) and len(payload) == 1
    return _with_bytes(payload) if known and part.kind == f"bedrock.{next(iter(payload))}" else None


_PARTS: Final = part_writers(_reasoning, _text, _call, _native, _server_result)


def _answers(call: EchoUnit, result: EchoUnit) -> bool:
    native = getattr(result.part, "native", None)
    block = native.get("toolResult") if isinstance(native, dict) and len(native) == 1 else None
    named = isinstance(block, dict) and block.get("toolUseId") == getattr(call.part, "id", None)
    return named and call.kinship == "same" and call.key[0] == result.key[0]


def _with_bytes(value: Any, name: str = "") -> Any:
    """Return a block with its blobs as bytes, as boto3 expects them."""
    if isinstance(value, dict):
        return {key: _with_bytes(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_bytes(inner) for inner in value]
    return (from_base64(value) or value) if name in _BLOBS and isinstance(value, str) else value


# -- user messages and tool results


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    blocks = blocks_of(answer.content, _STYLE, report, RESULT) or [{"text": NOTHING}]
    status = "error" if answer.is_error else "success"
    return {"toolResult": {"toolUseId": answer.call_id, "content": blocks, "status": status}}


def _media(part: Any) -> JSONObject | None:
    form = _FORMATS[part.type].get(media_type(part, _DEFAULTS[part.type]))
    blob = data_of(part)
    if form is None or not blob:
        return None
    name = {"name": _document_name(part)} if part.type == "document" else {}
    return {part.type: {"format": form, **name, "source": {"bytes": blob}}}


def _document_name(part: Any) -> str:
    """Return the name without its extension, of the characters that the API accepts."""
    name = _NAME.sub(" ", file_name(part).rpartition(".")[0]).strip()
    return name[:_LONGEST_NAME].rstrip() or "document"


_STYLE: Final = BlockStyle(
    model="assistant",
    field="content",
    text=lambda text: {"text": text},
    parts=dict.fromkeys(_FORMATS, _media),
    response=_assistant,
    result=_result,
    trims_end=True,
)


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    described = {"description": description} if description else {}
    return {"toolSpec": {"name": name, **described, "inputSchema": {"json": schema}}}
