"""Encodes a conversation as ``messages``, ``system`` and ``toolConfig`` for Converse in boto3.

The blocks of a response are returned in their order, with blobs as bytes. Thinking is never the last block,
text is never blank, the results of a response are in one user message before the user's text, roles
alternate, and requests with tool blocks have tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any, Final

from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.providers.alternating import BlockStyle, alternate, blocks_of
from agui_reasoning.providers.bedrock_converse.decode import REDACTED, SERVER_CALL, SIGNATURE
from agui_reasoning.providers.encoding import (
    RESULT,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    PreparedConversation,
    ResponseStep,
    as_object,
    data_of,
    file_name,
    from_base64,
    leftovers,
    media_type,
    tools_of,
    values,
)
from agui_reasoning.providers.payload import JSONObject

__all__ = ["encode"]


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
    """Write ``messages``, and ``system`` and ``toolConfig`` if there are any."""

    def respond(step: ResponseStep) -> tuple[list[JSONObject], list[JSONObject]]:
        return _assistant(step, options), [_result(answer, options.report) for answer in step.answers]

    messages, system = alternate(conversation, options, _STYLE, respond)
    _finish(messages)
    _name_documents(messages)
    body: JSONObject = {"messages": messages}
    if system:
        body["system"] = [{"text": text} for text in system]
    if tools := tools_of(options.tools, _tool) or list(_stand_ins(messages)):
        body["toolConfig"] = {"tools": tools}
    return body


def _finish(messages: list[JSONObject]) -> None:
    if messages and messages[-1]["role"] == "assistant" and "text" in messages[-1]["content"][-1]:
        # Text that the model continues must not end in white space.
        last = messages[-1]["content"][-1]
        last["text"] = last["text"].rstrip()


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


def _assistant(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    pairs = _server_pairs(step)
    written = [
        (unit, block)
        for unit in step.units
        if not unit.cut and (block := _PARTS[type(unit.part)](unit, options, pairs)) is not None
    ]
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
        is_tagged = isinstance(unit.part, ReasoningPart) and "text" in block
        if tagged and "text" in block:
            blocks[-1] = {"text": blocks[-1]["text"] + block["text"]}
        else:
            blocks.append(block)
        tagged = is_tagged
    return blocks


def _reasoning(unit: EchoUnit, options: EncodingOptions, pairs: set[str]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ReasoningPart)
    if unit.refused:
        return None
    if "content_tags" in options.rule.field:
        return _tagged(part)
    block = _redacted(unit)
    if block is not None:
        return {THINKING: {"redactedContent": block}}
    signed = values(unit, SIGNATURE)
    if bool(signed) != (options.rule.needs == "signature"):
        # Claude requires its signatures; other models do not sign, and cannot read Claude's reasoning.
        options.report.drop(unit, "foreign_origin" if signed else "missing_signature")
        return None
    thought: JSONObject = {"text": "".join(segment.text for segment in part.segments)}
    if not signed and not thought["text"].strip():
        return None
    return {THINKING: {"reasoningText": {**thought, **({"signature": signed[0].value} if signed else {})}}}


def _tagged(part: ReasoningPart) -> JSONObject | None:
    tag = (part.ext or {}).get("tag")
    if not isinstance(tag, Mapping):
        return None
    return {"text": f"{tag.get('open', '')}{part.text}{tag.get('close', '')}"}


def _redacted(unit: EchoUnit) -> bytes | None:
    """Return the bytes of a redacted thought; Bedrock's are the characters of Anthropic's value."""
    if found := values(unit, REDACTED):
        return from_base64(found[0].value) or None
    if found := values(unit, REDACTED_BY_ANTHROPIC):
        return found[0].value.encode() if found[0].value.isascii() else None
    return None


def _text(unit: EchoUnit, options: EncodingOptions, pairs: set[str]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, TextPart)
    return {"text": part.text} if part.text else None


def _call(unit: EchoUnit, options: EncodingOptions, pairs: set[str]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ToolCallPart)
    call: JSONObject = {"toolUseId": unit.call_id, "name": part.name, "input": as_object(part)}
    if not part.server:
        return {"toolUse": call}
    if part.id not in pairs:
        return None
    return {"toolUse": {**leftovers(unit, "phase"), **call, "toolUseId": part.id, "type": SERVER_CALL}}


def _server_result(unit: EchoUnit, options: EncodingOptions, pairs: set[str]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ToolResultPart)
    return _with_bytes(part.native) if part.tool_call_id in pairs else None


def _native(unit: EchoUnit, options: EncodingOptions, pairs: set[str]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, NativePart)
    payload = part.payload
    known = unit.kinship == "same" and isinstance(payload, dict) and len(payload) == 1
    return _with_bytes(payload) if known and part.kind == f"bedrock.{next(iter(payload))}" else None


_Writer = Callable[[EchoUnit, EncodingOptions, set[str]], JSONObject | None]

_PARTS: dict[type[Part], _Writer] = {
    ReasoningPart: _reasoning,
    TextPart: _text,
    ToolCallPart: _call,
    ToolResultPart: _server_result,
    NativePart: _native,
}


def _server_pairs(step: ResponseStep) -> set[str]:
    """Return the IDs of the provider's own calls with a result in the same response."""
    called: set[str] = set()
    paired: set[str] = set()
    for unit in step.units:
        part = unit.part
        if isinstance(part, ToolCallPart) and part.server and unit.kinship == "same" and not unit.cut:
            called.add(part.id)
        elif isinstance(part, ToolResultPart) and part.tool_call_id in called - paired and _is_result(part):
            paired.add(part.tool_call_id)
    return paired


def _is_result(part: ToolResultPart) -> bool:
    """Return whether the block is the result of this call; clients may send anything."""
    block = part.native.get("toolResult") if isinstance(part.native, dict) and len(part.native) == 1 else None
    return isinstance(block, dict) and block.get("toolUseId") == part.tool_call_id


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


def _text_block(text: str) -> JSONObject:
    return {"text": text}


_STYLE: Final = BlockStyle(
    model="assistant",
    field="content",
    text=_text_block,
    parts=dict.fromkeys(_FORMATS, _media),
)


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    described = {"description": description} if description else {}
    return {"toolSpec": {"name": name, **described, "inputSchema": {"json": schema}}}
