"""A conversation as ``messages`` of Cohere's chat, version 2.

The API refuses text beside calls: there the model's words stand in ``tool_plan``, and its thinking, if the
policy sends any, in ``content``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ag_ui.core import UserMessage

from agui_reasoning.parts import ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers.cohere_chat.decode import PLAN
from agui_reasoning.providers.encoding import (
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    MessageContent,
    PlainMessage,
    PreparedConversation,
    ResponseStep,
    as_json,
    data_uri,
    function_tool,
    source_of,
    text_of,
    tools_of,
)
from agui_reasoning.providers.payload import JSONObject

__all__ = ["encode"]

PARAGRAPH = "\n\n"


def encode(conversation: PreparedConversation, how: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` where there are any."""
    messages: list[JSONObject] = [{"role": "system", "content": how.system}] if how.system else []
    for item in conversation:
        if isinstance(item, ResponseStep):
            messages += _assistant(item, how)
            messages += [_result(answer, how.ledger) for answer in item.answers]
        else:
            messages.append(_said(item, how.ledger))
    tools = tools_of(how.tools, function_tool)
    return {"messages": messages, **({"tools": tools} if tools else {})}


def _assistant(step: ResponseStep, how: EncodingOptions) -> list[JSONObject]:
    """Write the message of a response; one of nothing but thinking is no message."""
    texts = [unit.part.text for unit in step.units if isinstance(unit.part, TextPart) and unit.part.text]
    if not (texts or step.answers):
        how.ledger.drop_step(step)
        return []
    if step.answers:
        return [_calling(step, texts, how)]
    blocks = _thinking(step, how)
    if not blocks:
        return [{"role": "assistant", "content": "".join(texts)}]
    return [{"role": "assistant", "content": [*blocks, {"type": "text", "text": "".join(texts)}]}]


def _calling(step: ResponseStep, texts: list[str], how: EncodingOptions) -> JSONObject:
    message: JSONObject = {"role": "assistant"}
    if blocks := _thinking(step, how):
        message["content"] = blocks
    if planned := [*_plans(step, how), *texts]:
        message[PLAN] = PARAGRAPH.join(planned)
    message["tool_calls"] = [_call(answer.unit) for answer in step.answers]
    return message


def _thinking(step: ResponseStep, how: EncodingOptions) -> list[JSONObject]:
    blocks: list[JSONObject] = []
    for unit in _thoughts(step):
        if not _is_plan(unit) and "blocks" in how.rule.field:
            blocks.append({"type": "thinking", "thinking": _text(unit)})
            how.ledger.echo(unit)
    return blocks


def _plans(step: ResponseStep, how: EncodingOptions) -> list[str]:
    plans = [unit for unit in _thoughts(step) if _is_plan(unit)]
    for unit in plans:
        how.ledger.echo(unit)
    return [_text(unit) for unit in plans]


def _thoughts(step: ResponseStep) -> list[EchoUnit]:
    return [unit for unit in step.units if not unit.refused and _text(unit)]


def _text(unit: EchoUnit) -> str:
    return unit.part.text if isinstance(unit.part, ReasoningPart) else ""


def _is_plan(unit: EchoUnit) -> bool:
    return isinstance(unit.part, ReasoningPart) and (unit.part.ext or {}).get("field") == PLAN


def _call(unit: EchoUnit) -> JSONObject:
    part = unit.part
    assert isinstance(part, ToolCallPart)
    function = {"name": part.name, "arguments": as_json(part)}
    return {"id": unit.call_id, "type": "function", "function": function}


def _result(answer: CallAnswer, ledger: EchoReport) -> JSONObject:
    text = text_of(answer.content, ledger, "tool result")
    return {"role": "tool", "tool_call_id": answer.call_id, "content": text}


def _said(message: PlainMessage, ledger: EchoReport) -> JSONObject:
    if isinstance(message, UserMessage):
        return {"role": "user", "content": _user(message.content, ledger)}
    return {"role": "system", "content": message.content}


def _user(content: MessageContent, ledger: EchoReport) -> str | list[JSONObject]:
    if isinstance(content, str) or all(part.type == "text" for part in content):
        return text_of(content, ledger, "user message")
    blocks: list[JSONObject] = []
    for part in content:
        block = _CONTENT[part.type](part) if part.type in _CONTENT else None
        if block is None:
            ledger.note(f"The {part.type} in a user message cannot be sent to this API; it was left out.")
        else:
            blocks.append(block)
    return blocks


def _said_text(part: Any) -> JSONObject:
    return {"type": "text", "text": part.text}


def _image(part: Any) -> JSONObject | None:
    if source_of(part)[0] == "file":
        return None
    return {"type": "image_url", "image_url": {"url": data_uri(part, "image/png")}}


_CONTENT: dict[str, Callable[[Any], JSONObject | None]] = {"text": _said_text, "image": _image}
