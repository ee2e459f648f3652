"""Encodes a conversation as ``messages`` of Ollama's chat.

One message per response, with its thinking in one string, and a message per result: servers match results to
calls by name and order, newer ones also by ID.
"""

from __future__ import annotations

from typing import Any

from ag_ui.core import UserMessage

from agui_reasoning.parts import ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers.encoding import (
    PICTURES,
    RESULT,
    UNREADABLE,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    MessageContent,
    PlainMessage,
    PreparedConversation,
    ResponseStep,
    as_object,
    data_of,
    function_tool,
    is_accepted,
    reasoning_units,
    source_of,
    text_of,
    tools_of,
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
    text = "".join(unit.part.text for unit in step.units if isinstance(unit.part, TextPart))
    if not (text or step.answers):
        options.report.drop_step(step)
        return []
    message: JSONObject = {"role": "assistant", "content": text, **_thinking(step, options.report)}
    if step.answers:
        message["tool_calls"] = [_call(answer.unit) for answer in step.answers]
    return [message]


def _thinking(step: ResponseStep, report: EchoReport) -> JSONObject:
    thoughts: list[str] = []
    for unit in reasoning_units(step):
        if isinstance(unit.part, ReasoningPart) and unit.part.segments:
            thoughts.append(unit.part.text)
            report.echo(unit)
    return {"thinking": PARAGRAPH.join(thoughts)} if thoughts else {}


def _call(unit: EchoUnit) -> JSONObject:
    part = unit.part
    assert isinstance(part, ToolCallPart)
    return {"id": unit.call_id, "function": {"name": part.name, "arguments": as_object(part)}}


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    part = answer.unit.part
    assert isinstance(part, ToolCallPart)
    text = text_of(answer.content, report, RESULT)
    return {"role": "tool", "tool_name": part.name, "tool_call_id": answer.call_id, "content": text}


def _plain_message(message: PlainMessage, report: EchoReport) -> JSONObject:
    if isinstance(message, UserMessage):
        return {"role": "user", **_user(message.content, report)}
    return {"role": "system", "content": message.content}


def _user(content: MessageContent, report: EchoReport) -> JSONObject:
    """Write text and images; servers accept only the data of images."""
    if isinstance(content, str):
        return {"content": content}
    images = [source_of(part)[1] for part in content if _is_image(part)]
    others = [part for part in content if not _is_image(part)]
    text = text_of(others, report, "user message")
    if not images and all(part.type != "text" for part in others):
        return {"content": UNREADABLE}
    return {"content": text, **({"images": images} if images else {})}


def _is_image(part: Any) -> bool:
    return part.type == "image" and bool(data_of(part)) and is_accepted(part, "image/png", *PICTURES)
