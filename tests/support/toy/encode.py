"""Encode a conversation as the toy's turns."""

from __future__ import annotations

from agui_reasoning.parts import ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers.encoding import (
    EchoUnit,
    EncodingOptions,
    PreparedConversation,
    ResponseStep,
    text_of,
    tools_of,
    values,
)
from agui_reasoning.providers.payload import JSONObject


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``turns``, and ``tools`` where there are any."""
    turns: list[JSONObject] = []
    for item in conversation:
        if isinstance(item, ResponseStep):
            turns += _step(item, options)
        else:
            turns.append({"by": "user", "text": text_of(item.content, options.report, "user message")})
    tools = tools_of(options.tools, lambda name, text, schema: {"name": name, "about": text, "takes": schema})
    return {"turns": turns, **({"tools": tools} if tools else {})}


def _step(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    said = [turn for unit in step.units for turn in _unit(unit, options)]
    results = [
        {
            "by": "tool",
            "answers": answer.call_id,
            "text": text_of(answer.content, options.report, "tool result"),
        }
        for answer in step.answers
    ]
    return [*said, *results]


def _unit(unit: EchoUnit, options: EncodingOptions) -> list[JSONObject]:
    part = unit.part
    if isinstance(part, TextPart):
        return [{"by": "toy", "t": "say", "text": part.text}]
    if isinstance(part, ToolCallPart) and not unit.cut:
        return [{"by": "toy", "t": "call", "id": unit.call_id, "name": part.name, "args": part.arguments}]
    if isinstance(part, ReasoningPart) and (seals := values(unit, "toy.seal")):
        options.report.echo(unit)
        return [{"by": "toy", "t": "think", "text": part.text, "seal": seals[0].value}]
    return []
