"""A conversation as the toy's turns."""

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


def encode(conversation: PreparedConversation, how: EncodingOptions) -> JSONObject:
    """Write ``turns``, and ``tools`` where there are any."""
    turns: list[JSONObject] = []
    for item in conversation:
        if isinstance(item, ResponseStep):
            turns += _step(item, how)
        else:
            turns.append({"by": "user", "text": text_of(item.content, how.ledger, "user message")})
    tools = tools_of(how.tools, lambda name, text, schema: {"name": name, "about": text, "takes": schema})
    return {"turns": turns, **({"tools": tools} if tools else {})}


def _step(step: ResponseStep, how: EncodingOptions) -> list[JSONObject]:
    said = [turn for unit in step.units for turn in _unit(unit, how)]
    results = [
        {"by": "tool", "answers": answer.call_id, "text": text_of(answer.content, how.ledger, "tool result")}
        for answer in step.answers
    ]
    return [*said, *results]


def _unit(unit: EchoUnit, how: EncodingOptions) -> list[JSONObject]:
    part = unit.part
    if isinstance(part, TextPart):
        return [{"by": "toy", "t": "say", "text": part.text}]
    if isinstance(part, ToolCallPart) and not unit.cut:
        return [{"by": "toy", "t": "call", "id": unit.call_id, "name": part.name, "args": part.arguments}]
    if isinstance(part, ReasoningPart) and (seals := values(unit, "toy.seal")):
        how.ledger.echo(unit)
        return [{"by": "toy", "t": "think", "text": part.text, "seal": seals[0].value}]
    return []
