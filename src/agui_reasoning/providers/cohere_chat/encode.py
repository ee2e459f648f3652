"""Encodes a conversation as ``messages`` of Cohere's chat, version 2.

The API rejects text in messages with calls: these have the model's text in ``tool_plan``, and its thinking,
if the policy sends any, in ``content``.
"""

from __future__ import annotations

from typing import Final

from ag_ui.core import UserMessage

from agui_reasoning.parts import ReasoningPart, TextPart
from agui_reasoning.providers.cohere_chat.decode import PLAN
from agui_reasoning.providers.encoding import (
    RESULT,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    PartSpelling,
    PlainMessage,
    PreparedConversation,
    ResponseStep,
    function_call,
    function_tool,
    image_url,
    text_of,
    text_or_parts,
    tools_of,
    typed_text,
)
from agui_reasoning.providers.payload import JSONObject

__all__ = ["encode"]

PARAGRAPH = "\n\n"


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    messages: list[JSONObject] = [{"role": "system", "content": options.system}] if options.system else []
    for item in conversation:
        if isinstance(item, ResponseStep):
            messages += _assistant(item, options)
            messages += [_result(answer, options.report) for answer in item.answers]
        else:
            messages.append(_plain_message(item, options.report))
    tools = tools_of(options.tools, function_tool)
    return {"messages": messages, **({"tools": tools} if tools else {})}


def _assistant(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    """Write the message of a response, unless it consists only of thinking."""
    texts = [unit.part.text for unit in step.units if isinstance(unit.part, TextPart) and unit.part.text]
    if not (texts or step.answers):
        options.report.drop_step(step)
        return []
    if step.answers:
        return [_calling(step, texts, options)]
    blocks = _thinking(step, options)
    if not blocks:
        return [{"role": "assistant", "content": "".join(texts)}]
    return [{"role": "assistant", "content": [*blocks, {"type": "text", "text": "".join(texts)}]}]


def _calling(step: ResponseStep, texts: list[str], options: EncodingOptions) -> JSONObject:
    message: JSONObject = {"role": "assistant"}
    if blocks := _thinking(step, options):
        message["content"] = blocks
    if planned := [*_plans(step, options), *texts]:
        message[PLAN] = PARAGRAPH.join(planned)
    message["tool_calls"] = [function_call(answer.unit) for answer in step.answers]
    return message


def _thinking(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    blocks: list[JSONObject] = []
    for unit in _thoughts(step):
        if not _is_plan(unit) and "blocks" in options.rule.field:
            blocks.append({"type": "thinking", "thinking": _text(unit)})
            options.report.echo(unit)
    return blocks


def _plans(step: ResponseStep, options: EncodingOptions) -> list[str]:
    if PLAN not in options.rule.field:
        return []
    plans = [unit for unit in _thoughts(step) if _is_plan(unit)]
    for unit in plans:
        options.report.echo(unit)
    return [_text(unit) for unit in plans]


def _thoughts(step: ResponseStep) -> list[EchoUnit]:
    return [unit for unit in step.units if not unit.refused and _text(unit)]


def _text(unit: EchoUnit) -> str:
    return unit.part.text if isinstance(unit.part, ReasoningPart) else ""


def _is_plan(unit: EchoUnit) -> bool:
    return isinstance(unit.part, ReasoningPart) and (unit.part.ext or {}).get("field") == PLAN


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    text = text_of(answer.content, report, RESULT)
    return {"role": "tool", "tool_call_id": answer.call_id, "content": text}


def _plain_message(message: PlainMessage, report: EchoReport) -> JSONObject:
    if isinstance(message, UserMessage):
        return {"role": "user", "content": text_or_parts(message.content, _CONTENT, report)}
    return {"role": "system", "content": message.content}


_CONTENT: Final[PartSpelling] = {"text": typed_text, "image": image_url}
