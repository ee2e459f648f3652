"""Encodes a conversation as Anthropic's ``messages`` and ``system``.

The blocks of a response are returned in their order. For every history, thinking is never the last block,
text is never blank, the results of a response are in one user message before the user's text, and roles
alternate. Instructions inside the conversation are one message of the role ``system`` after the user's, for
models that accept it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.providers.alternating import BlockStyle, alternate, blocks_of
from agui_reasoning.providers.anthropic_messages.boundaries import (
    COMPACTION,
    draw_lines,
    is_compaction,
)
from agui_reasoning.providers.anthropic_messages.decode import FALLBACK, REDACTED, SIGNATURE
from agui_reasoning.providers.encoding import (
    PICTURES,
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
    is_accepted,
    leftovers,
    media_type,
    source_of,
    tools_of,
    type_of,
    values,
)
from agui_reasoning.providers.payload import JSONObject

__all__ = ["encode"]

THINKING = frozenset({"thinking", "redacted_thinking"})
PDF: Final = "application/pdf"

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})

Key = tuple[int, int]
"""The number of a turn, and of a part in the turn."""


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``system`` and ``tools`` if there are any."""
    pairs = _server_pairs(conversation)

    conversation, options = draw_lines(conversation, options, pairs)

    def respond(step: ResponseStep) -> tuple[list[JSONObject], list[JSONObject]]:
        return _assistant(step, options, pairs), [_result(answer, options.report) for answer in step.answers]

    messages, system = alternate(conversation, options, _STYLE, respond)
    _finish(messages)
    body: JSONObject = {"messages": messages}
    if options.previous_response_id:
        return body | _continued(system, options)
    if options.store:
        body["thread"] = {"type": "create"}
    if system:
        body["system"] = system[0] if len(system) == 1 else [_text_block(text) for text in system]
    if tools := tools_of(options.tools, _tool):
        body["tools"] = tools
    return body


def _continued(system: list[str], options: EncodingOptions) -> JSONObject:
    """Write what continues a thread, which keeps the ``system`` and ``tools`` that it was created with."""
    if len(system) > bool(options.system):
        options.report.note(
            "A system message before the next user message cannot be added to a thread; it was left out. "
            "Put it after that message, or omit `previous_response_id`."
        )
    return {"thread": {"type": "continue", "previous_message_id": options.previous_response_id}}


def _finish(messages: list[JSONObject]) -> None:
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1]
        if last["type"] == "text":
            # Text that the model continues must not end in white space.
            last["text"] = last["text"].rstrip()


# -- a response


def _assistant(step: ResponseStep, options: EncodingOptions, pairs: set[Key]) -> list[JSONObject]:
    if step.on_server:
        return []
    written = [
        (unit, block)
        for unit in step.units
        if not unit.cut and (block := _PARTS[type(unit.part)](unit, step, options, pairs)) is not None
    ]
    while written and written[-1][1]["type"] in THINKING:
        unit, _ = written.pop()
        options.report.drop(unit, "orphan", harmless=True)
    if all(block["type"] == FALLBACK for _, block in written):
        # A message must have more than the marker, which is no part of the prompt.
        for unit, _ in written:
            options.report.drop(unit, "orphan", harmless=True)
        written = []
        options.report.drop_step(step)
    for unit, block in written:
        if block["type"] in THINKING or isinstance(unit.part, NativePart):
            options.report.echo(unit)
    blocks = [block for _, block in written]
    if options.rule.joined:
        blocks = _joined(blocks)
    return _with_placeholder(step, blocks, options)


def _joined(blocks: list[JSONObject]) -> list[JSONObject]:
    """Write the thinking of a response into its first thinking block, for servers that read only one."""
    thinking = [block for block in blocks if block["type"] == "thinking"]
    if len(thinking) < 2:
        return blocks
    one = {**thinking[0], "thinking": "\n\n".join(block["thinking"] for block in thinking)}
    joined = [block for block in blocks if block["type"] != "thinking"]
    joined.insert(blocks.index(thinking[0]), one)
    return joined


def _with_placeholder(
    step: ResponseStep, blocks: list[JSONObject], options: EncodingOptions
) -> list[JSONObject]:
    """Add an empty thinking block for servers that require one in every response."""
    placeholder = options.rule.placeholder
    wanted = placeholder is not None and step.within(options.rule.placeholder_scope or options.rule.scope)
    if not blocks or not wanted or any(block["type"] in THINKING for block in blocks):
        return blocks
    options.report.stand_in(unit for unit in step.units if isinstance(unit.part, ReasoningPart))
    return [{"type": "thinking", "thinking": placeholder, "signature": ""}, *blocks]


def _reasoning(
    unit: EchoUnit, step: ResponseStep, options: EncodingOptions, pairs: set[Key]
) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ReasoningPart)
    if unit.refused:
        return None
    if redacted := values(unit, REDACTED):
        if "redacted_thinking" in options.rule.forbidden:
            options.report.drop(unit, "policy")
            return None
        return {"type": "redacted_thinking", "data": redacted[0].value}
    signed = values(unit, SIGNATURE)
    if not signed and options.rule.needs == "signature":
        options.report.drop(unit, "missing_signature")
        return None
    signature = signed[0].value if signed else ""
    text = "".join(segment.text for segment in part.segments)
    more = leftovers(unit, "cache_control")
    return {**more, "type": "thinking", "thinking": text, "signature": signature}


def _text(unit: EchoUnit, step: ResponseStep, options: EncodingOptions, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, TextPart)
    # The API sends blank text blocks, but rejects them in requests.
    return {**leftovers(unit, "id", "phase"), **_text_block(part.text)} if part.text.strip() else None


def _call(unit: EchoUnit, step: ResponseStep, options: EncodingOptions, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ToolCallPart)
    kind = "tool_use"
    if part.server:
        kind = "mcp_tool_use" if leftovers(unit).get("type") == "mcp_tool_use" else "server_tool_use"
        if not unit.at_home or not (unit.key in pairs or step.last):
            return None
    return {
        **leftovers(unit, "phase"),
        "type": kind,
        "id": part.id if part.server else unit.call_id,
        "name": part.name,
        "input": as_object(part),
    }


def _server_result(
    unit: EchoUnit, step: ResponseStep, options: EncodingOptions, pairs: set[Key]
) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ToolResultPart)
    return dict(part.native) if unit.key in pairs else None


def _native(
    unit: EchoUnit, step: ResponseStep, options: EncodingOptions, pairs: set[Key]
) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, NativePart)
    kind = type_of(part.payload)
    if not (unit.at_home and kind and part.kind == f"anthropic.{kind}"):
        return None
    if not options.rule.takes_natives:
        # Servers that copy the API need not know blocks that are not in its first version.
        options.report.drop(unit, "policy", harmless=True)
        return None
    if kind == FALLBACK and "fallback" not in options.betas:
        # What it separated is not sent, so that only those who take the block need it.
        options.report.drop(unit, "needs_beta", harmless=True)
        return None
    if kind == COMPACTION and not part.payload.get("content"):
        options.report.drop(unit, "empty", harmless=True)
        return None
    return dict(part.payload)


_Writer = Callable[[EchoUnit, ResponseStep, EncodingOptions, set[Key]], JSONObject | None]

_PARTS: dict[type[Part], _Writer] = {
    ReasoningPart: _reasoning,
    TextPart: _text,
    ToolCallPart: _call,
    ToolResultPart: _server_result,
    NativePart: _native,
}


def _server_pairs(conversation: PreparedConversation) -> set[Key]:
    """Return the provider's own calls with a result, possibly in a later response, and these results.

    The API rejects results without their call, and calls without their result unless they come last.
    """
    waiting: dict[str, Key] = {}
    paired: set[Key] = set()
    for step in conversation:
        for unit in step.units if isinstance(step, ResponseStep) else ():
            part = unit.part
            if isinstance(part, ToolCallPart) and part.server and unit.at_home and not unit.cut:
                waiting[part.id] = unit.key
            elif isinstance(part, ToolResultPart) and part.tool_call_id in waiting and _is_result(unit):
                paired |= {waiting.pop(part.tool_call_id), unit.key}
    return paired


def _is_result(unit: EchoUnit) -> bool:
    """Return whether the block is the result of this call; clients may send anything."""
    native = getattr(unit.part, "native", None)
    return (
        unit.at_home
        and isinstance(native, dict)
        and type_of(native).endswith("_tool_result")
        and native.get("tool_use_id") == getattr(unit.part, "tool_call_id", None)
    )


# -- user messages and tool results


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    content: Any = answer.content
    if not isinstance(content, str):
        content = blocks_of(content, _STYLE, report, RESULT)
    block: JSONObject = {"type": "tool_result", "tool_use_id": answer.call_id, "content": content}
    return {**block, "is_error": True} if answer.is_error else block


def _text_block(text: str) -> JSONObject:
    return {"type": "text", "text": text}


def _image(part: Any) -> JSONObject | None:
    if not is_accepted(part, "image/png", *PICTURES):
        return None
    return {"type": "image", "source": _source(part, "image/png")}


def _document(part: Any) -> JSONObject | None:
    if is_accepted(part, PDF, PDF):
        source = _source(part, PDF)
    elif is_accepted(part, PDF, "text/*") and (text := _plain_text(part)):
        source = {"type": "text", "media_type": "text/plain", "data": text}
    else:
        return None
    block: JSONObject = {"type": "document", "source": source}
    return {**block, "title": file_name(part)} if file_name(part) else block


def _plain_text(part: Any) -> str:
    """Return the text of a document; empty if it is not UTF-8."""
    try:
        return data_of(part).decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _source(part: Any, default: str) -> JSONObject:
    kind, value = source_of(part)
    if kind == "data":
        return {"type": "base64", "media_type": media_type(part, default), "data": value}
    return {"type": "url", "url": value} if kind == "url" else {"type": "file", "file_id": value}


_STYLE: Final = BlockStyle(
    model="assistant",
    field="content",
    text=_text_block,
    parts={
        "image": _image,
        "document": _document,
    },
    pauses=lambda block: block["type"] in _SERVER_CALLS,
    begins=is_compaction,
)


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    return {"name": name, "description": description, "input_schema": schema}
