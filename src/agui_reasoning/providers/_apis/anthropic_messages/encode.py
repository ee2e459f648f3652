"""Encodes a conversation as Anthropic's ``messages`` and ``system``.

The blocks of a response are returned in their order. For every history, thinking is never the last block,
text is never blank, the results of a response are in one user message before the user's text, and roles
alternate. For models that accept it, instructions inside are one ``system`` message after the user's.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import takewhile
from typing import Any, Final

from ag_ui.core import DeveloperMessage, SystemMessage, UserMessage
from msgspec import structs

from agui_reasoning.parts import NativePart, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers._apis.anthropic_messages.decode import FALLBACK, REDACTED, SIGNATURE
from agui_reasoning.providers.alternating import (
    BlockStyle,
    Writing,
    alternate,
    blocks_of,
    has_parts,
    part_writers,
    server_pairs,
    written_units,
)
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

THINKING = frozenset({"thinking", "redacted_thinking"})
PDF: Final = "application/pdf"

_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})

COMPACTION: Final = "compaction"
CONTINUE: Final = "(The conversation was summarized here. Please continue.)"
"""The user's message after a compaction that ends a history."""

_INSTRUCTIONS: Final = (SystemMessage, DeveloperMessage)
_OF_THE_MODEL: Final = "connector_text"
"""A block that, like thinking, only its model continues."""


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``system`` and ``tools`` if there are any."""
    # The API rejects results without their call, and calls without their result unless they come last.
    pairs = server_pairs(conversation, _answers)
    conversation, options = _draw_lines(conversation, options, pairs)
    messages, system = alternate(conversation, options, _STYLE, pairs)
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


# -- a response


def _assistant(writing: Writing) -> list[JSONObject]:
    step, options, _ = writing
    written = written_units(writing, _PARTS)
    while written and written[-1][1]["type"] in THINKING:
        unit, _ = written.pop()
        options.report.drop(unit, "orphan", harmless=True)
    blocks: list[JSONObject] = []
    speaks = False
    for _, block in written:
        blocks.append(block)
        speaks = speaks or block["type"] != FALLBACK
    if not speaks:
        # A message must have more than the marker, which is no part of the prompt.
        for unit, _ in written:
            options.report.drop(unit, "orphan", harmless=True)
        options.report.drop_step(step)
        return []
    for unit, block in written:
        if block["type"] in THINKING or type(unit.part) is NativePart:
            options.report.echo(unit)
    if options.rule.joined:
        blocks = _joined(blocks)
    placeholder = options.rule.placeholder
    return blocks if placeholder is None else _with_placeholder(step, blocks, options, placeholder)


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
    step: ResponseStep, blocks: list[JSONObject], options: EncodingOptions, placeholder: str
) -> list[JSONObject]:
    """Add an empty thinking block for servers that require one in every response."""
    if not blocks or any(block["type"] in THINKING for block in blocks):
        return blocks
    if not step.within(options.rule.placeholder_scope or options.rule.scope):
        return blocks
    options.report.stand_in(unit for unit in step.units if isinstance(unit.part, ReasoningPart))
    return [{"type": "thinking", "thinking": placeholder, "signature": ""}, *blocks]


def _reasoning(part: ReasoningPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    if unit.refused:
        return None
    first: dict[str, str] = {}
    for one in values(unit, REDACTED, SIGNATURE):
        first.setdefault(one.kind, one.value)
    if REDACTED in first:
        if "redacted_thinking" in writing.options.rule.forbidden:
            writing.options.report.drop(unit, "policy")
            return None
        return {"type": "redacted_thinking", "data": first[REDACTED]}
    signature = first.get(SIGNATURE, "")
    if not signature and writing.options.rule.needs == "signature":
        writing.options.report.drop(unit, "missing_signature")
        return None
    texts = part.segments
    text = texts[0].text if len(texts) == 1 else "".join([segment.text for segment in texts])
    block: JSONObject = {"type": "thinking", "thinking": text, "signature": signature}
    return {**leftovers(unit, "cache_control"), **block} if part.ext else block


def _text(part: TextPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    # The API sends blank text blocks, but rejects them in requests.
    if not part.text.strip():
        return None
    block = _text_block(part.text)
    return {**leftovers(unit, "id", "phase"), **block} if part.ext else block


def _call(part: ToolCallPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    kind = "tool_use"
    if part.server:
        kind = "mcp_tool_use" if leftovers(unit).get("type") == "mcp_tool_use" else "server_tool_use"
        if not unit.same_format or not (unit.key in writing.pairs or writing.step.last):
            return None
    call_id = part.id if part.server else unit.call_id
    block: JSONObject = {"type": kind, "id": call_id, "name": part.name, "input": as_object(part)}
    return {**leftovers(unit, "phase"), **block} if part.ext else block


def _native(part: NativePart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    kind = type_of(part.payload)
    if not (unit.same_format and kind and part.kind == f"anthropic.{kind}"):
        return None
    if not writing.options.rule.takes_natives:
        # Servers that copy the API need not know blocks that are not in its first version.
        writing.options.report.drop(unit, "policy", harmless=True)
        return None
    if kind == FALLBACK and "fallback" not in writing.options.betas:
        # What it separated is not sent, so that only those who take the block need it.
        writing.options.report.drop(unit, "needs_beta", harmless=True)
        return None
    if kind == COMPACTION and not part.payload.get("content"):
        writing.options.report.drop(unit, "empty", harmless=True)
        return None
    return dict(part.payload)


_PARTS: Final = part_writers(_reasoning, _text, _call, _native)


def _answers(call: EchoUnit, result: EchoUnit) -> bool:
    native: Any = getattr(result.part, "native", None)
    call_id = getattr(call.part, "id", None)
    return type_of(native).endswith("_tool_result") and native.get("tool_use_id") == call_id


# -- blocks that draw a line through a conversation
#
# A compaction stands for everything before it, which is no longer sent; signed ones must come first
# (anthropic SDK, ``CompactionBlockMisplacedError``). A fallback stands where a model declined and another one
# went on. What only the first could continue is left out before the last such block: its thinking, and calls
# without a result (Anthropic, refusals and fallback#continuing-the-conversation).


def _draw_lines(
    conversation: PreparedConversation, options: EncodingOptions, pairs: Set[tuple[int, int]]
) -> tuple[PreparedConversation, EncodingOptions]:
    """Leave out what compactions stand for, and what a model wrote that declined."""
    if not has_parts(conversation, NativePart):
        return conversation, options
    if options.rule.takes_natives:
        conversation, options = _after_compaction(conversation, options)
    written = [
        _after_fallback(item, options.report, pairs) if isinstance(item, ResponseStep) else item
        for item in conversation
    ]
    return written, options


def _after_compaction(
    conversation: PreparedConversation, options: EncodingOptions
) -> tuple[PreparedConversation, EncodingOptions]:
    """Leave out what precedes the last compaction; one without content has failed, and stands for nothing."""
    places = [
        (number, line, item)
        for number, item in enumerate(conversation)
        if isinstance(item, ResponseStep) and not item.on_server
        for line, unit in enumerate(item.units)
        if (block := _block(unit, COMPACTION)) is not None and block.get("content")
    ]
    if not places:
        return conversation, options
    number, line, step = places[-1]
    before, after = conversation[:number], list(conversation[number + 1 :])
    steps = [item for item in before if isinstance(item, ResponseStep)]
    for unit in (*(unit for item in steps for unit in item.units), *step.units[:line]):
        if unit.key in options.report.verdicts:
            options.report.drop(unit, "compacted", harmless=True)
    if not after and line + 1 == len(step.units):
        after.append(UserMessage(id="", content=CONTINUE))
    # What applies to the whole request stays the same; what changed later was summed up, and is given again.
    instructions = [item for item in before if isinstance(item, _INSTRUCTIONS)]
    whole = list(takewhile(lambda item: isinstance(item, _INSTRUCTIONS), before))
    efforts = [item.effort for item in (*steps, step) if item.effort]
    effort = next(reversed(efforts), "")
    for at, item in enumerate(after):
        if isinstance(item, ResponseStep):
            after[at] = structs.replace(item, effort=item.effort or effort)
            break
    else:
        options = structs.replace(options, effort=options.effort or effort)
    kept = structs.replace(_without(step, step.units[:line]), effort="")
    return [*whole, kept, *instructions[len(whole) :], *after], options


def _after_fallback(step: ResponseStep, report: EchoReport, pairs: Set[tuple[int, int]]) -> ResponseStep:
    lines = [line for line, unit in enumerate(step.units) if _block(unit, FALLBACK) is not None]
    declined = [unit for unit in step.units[: max(lines, default=0)] if _is_unfinished(unit, pairs)]
    for unit in declined:
        report.drop(unit, "declined", harmless=True)
    return _without(step, declined) if declined else step


def _is_unfinished(unit: EchoUnit, pairs: Set[tuple[int, int]]) -> bool:
    part = unit.part
    if isinstance(part, ToolCallPart):
        return not part.server or unit.key not in pairs
    return isinstance(part, ReasoningPart) or _block(unit, _OF_THE_MODEL) is not None


def _without(step: ResponseStep, left_out: Sequence[EchoUnit]) -> ResponseStep:
    """Return a step without some units and the results of their calls."""
    keys = {unit.key for unit in left_out}
    units = tuple(unit for unit in step.units if unit.key not in keys)
    answers = tuple(answer for answer in step.answers if answer.unit.key not in keys)
    return structs.replace(step, units=units, answers=answers)


def _block(unit: EchoUnit, kind: str) -> JSONObject | None:
    """Return the block of a unit if it is one of this kind, and the target's own."""
    part = unit.part
    if not isinstance(part, NativePart) or not unit.same_format or part.kind != f"anthropic.{kind}":
        return None
    return part.payload if type_of(part.payload) == kind else None


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
    parts={"image": _image, "document": _document},
    response=_assistant,
    result=_result,
    pauses=lambda block: block["type"] in _SERVER_CALLS,
    begins=lambda block: type_of(block) == COMPACTION,
    trims_end=True,
)


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    return {"name": name, "description": description, "input_schema": schema}
