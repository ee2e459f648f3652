"""Encodes a conversation as ``input`` steps of the Interactions API.

The steps of a response keep their order and their signatures; a response of only thoughts is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.providers.alternating import BlockStyle, alternate
from agui_reasoning.providers.encoding import (
    RESULT,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    PartSpelling,
    PreparedConversation,
    ResponseStep,
    as_object,
    is_accepted,
    leftovers,
    media_type,
    native_id,
    source_of,
    spelled,
    tools_of,
    type_of,
    values,
)
from agui_reasoning.providers.gemini.encode import IMAGES
from agui_reasoning.providers.gemini_interactions.decode import SIGNATURE
from agui_reasoning.providers.payload import JSONObject

__all__ = ["encode"]

Key = tuple[int, int]
"""The number of a turn, and of a part in it."""

INPUT: Final = "user_input"
OUTPUT: Final = "model_output"

_CONTENT_TYPES: Final = frozenset({"image", "audio", "video", "document"})
"""Types of native parts in the content of a step; all others are steps."""
_SPELLED: Final = frozenset({INPUT, OUTPUT, "thought", "text", "function_call", "function_result"})


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``input``, and ``system_instruction`` and ``tools`` if there are any."""
    pairs = _server_pairs(conversation)

    def respond(step: ResponseStep) -> tuple[list[JSONObject], list[JSONObject]]:
        steps = [] if step.on_server else _response(step, options, pairs)
        return steps, [_result(answer, options.report) for answer in step.answers]

    messages, system = alternate(conversation, options, _STYLE, respond)
    body: JSONObject = {"input": [step for message in messages for step in _steps(message)]}
    if system:
        body["system_instruction"] = "\n\n".join(system)
    if tools := tools_of(options.tools, _tool):
        body["tools"] = tools
    return body


def _steps(message: JSONObject) -> list[JSONObject]:
    """Return the steps of a message; a user message is a single step."""
    content: list[JSONObject] = message["content"]
    return content if message["role"] == "model" else [{"type": INPUT, "content": content}]


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    return {"type": "function", "name": name, "description": description, "parameters": schema}


# -- a response


def _response(step: ResponseStep, options: EncodingOptions, pairs: set[Key]) -> list[JSONObject]:
    written: list[tuple[EchoUnit, JSONObject]] = []
    for unit in step.units:
        made = None if unit.cut else _PARTS[type(unit.part)](unit, options, pairs)
        if made is not None:
            written.append((unit, made))
    if all(isinstance(unit.part, ReasoningPart) for unit, _ in written):
        options.report.drop_step(step)
        return []
    for unit, made in written:
        # A server tool's result contains its signature and has no entry in the report.
        if unit.key in options.report.verdicts and (_carries(made) or isinstance(unit.part, NativePart)):
            options.report.echo(unit)
    return list(_joined(made for _, made in written))


def _carries(step: JSONObject) -> bool:
    return step["type"] == "thought" or "signature" in step


def _joined(steps: Iterable[JSONObject]) -> list[JSONObject]:
    """Join consecutive output steps of the model."""
    joined: list[JSONObject] = []
    for step in steps:
        if step["type"] == OUTPUT and joined and joined[-1]["type"] == OUTPUT:
            joined[-1]["content"] += step["content"]
        else:
            joined.append(step)
    return joined


def _signed(unit: EchoUnit, step: JSONObject) -> JSONObject:
    """Return the step with its original signature."""
    signature = values(unit, SIGNATURE)
    return {**step, "signature": signature[0].value} if signature else step


def _thought(unit: EchoUnit, options: EncodingOptions, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ReasoningPart)
    if unit.refused:
        return None
    if options.rule.needs == "signature" and not values(unit, SIGNATURE):
        options.report.drop(unit, "missing_signature")
        return None
    entries: dict[int, str] = {}
    for segment in part.segments:
        entries[segment.index] = entries.get(segment.index, "") + segment.text
    summary = [{"type": "text", "text": entries[index]} for index in sorted(entries)]
    summary_field = {"summary": summary} if summary else {}
    return _signed(unit, {**leftovers(unit, "phase", "id"), "type": "thought", **summary_field})


def _text(unit: EchoUnit, options: EncodingOptions, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, TextPart)
    annotations = leftovers(unit).get("annotations")
    cited = {"annotations": annotations} if isinstance(annotations, list) and annotations else {}
    return _output({"type": "text", "text": part.text, **cited}) if part.text else None


def _output(content: JSONObject) -> JSONObject:
    return {"type": OUTPUT, "content": [content]}


def _call(unit: EchoUnit, options: EncodingOptions, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ToolCallPart)
    if part.server:
        return _server_call(unit, part) if unit.key in pairs else None
    call = {"id": unit.call_id, "name": part.name, "arguments": as_object(part)}
    return _signed(unit, {**leftovers(unit, "type", "id", "phase"), "type": "function_call", **call})


def _server_call(unit: EchoUnit, part: ToolCallPart) -> JSONObject:
    call = {"id": native_id(part), "arguments": as_object(part)}
    return _signed(unit, {**leftovers(unit, "phase"), **call})


def _server_result(unit: EchoUnit, options: EncodingOptions, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ToolResultPart)
    return dict(part.native) if unit.key in pairs else None


def _native(unit: EchoUnit, options: EncodingOptions, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, NativePart)
    kind = type_of(part.payload)
    if not unit.at_home or not kind or kind in _SPELLED or part.kind != f"gemini.{kind}":
        return None
    return _output(dict(part.payload)) if kind in _CONTENT_TYPES else dict(part.payload)


_PARTS: Final[dict[type[Part], Callable[[EchoUnit, EncodingOptions, set[Key]], JSONObject | None]]] = {
    ReasoningPart: _thought,
    TextPart: _text,
    ToolCallPart: _call,
    ToolResultPart: _server_result,
    NativePart: _native,
}


def _server_pairs(conversation: PreparedConversation) -> set[Key]:
    """Return the keys of answered server tool calls and their results, matched by ID, else by order."""
    waiting: dict[str, deque[EchoUnit]] = {}
    paired: set[Key] = set()
    for step in conversation:
        for unit in step.units if isinstance(step, ResponseStep) else ():
            part = unit.part
            if isinstance(part, ToolCallPart) and part.server and unit.at_home and not unit.cut:
                waiting.setdefault(str(leftovers(unit).get("type")), deque()).append(unit)
            elif isinstance(part, ToolResultPart) and unit.at_home and (kind := _called(part)):
                call = _take(waiting.get(kind, deque()), part.tool_call_id)
                paired |= {call.key, unit.key} if call is not None else set()
    return paired


def _called(part: ToolResultPart) -> str:
    """Return the type of the call that a result answers, or ``""`` if it has another format."""
    kind = type_of(part.native)
    known = kind.endswith("_result") and kind not in _SPELLED
    return f"{kind.removesuffix('_result')}_call" if known else ""


def _take(calls: deque[EchoUnit], call_id: str) -> EchoUnit | None:
    for call in calls:
        if isinstance(call.part, ToolCallPart) and call.part.id == call_id:
            calls.remove(call)
            return call
    return calls.popleft() if calls else None


# -- what is not the model's


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    call = answer.unit.part
    assert isinstance(call, ToolCallPart)
    content = answer.content
    result = content if isinstance(content, str) else spelled(content, _OF_RESULTS, report, RESULT)
    failed = {"is_error": True} if answer.is_error else {}
    named = {"call_id": answer.call_id, "name": call.name}
    return {"type": "function_result", **named, "result": result, **failed}


def _media(part: Any, default: str, accepted: tuple[str, ...]) -> JSONObject | None:
    if not is_accepted(part, default, *accepted):
        return None
    kind, value = source_of(part)
    place = "data" if kind == "data" else "uri"
    return {"type": part.type, "mime_type": media_type(part, default), place: value}


def _text_block(text: str) -> JSONObject:
    return {"type": "text", "text": text}


_STYLE: Final = BlockStyle(
    model="model",
    field="content",
    text=_text_block,
    parts={
        "image": partial(_media, default="image/png", accepted=IMAGES),
        "audio": partial(_media, default="audio/wav", accepted=("audio/*",)),
        "video": partial(_media, default="video/mp4", accepted=("video/*",)),
        "document": partial(_media, default="application/pdf", accepted=("application/pdf", "text/*")),
    },
)
_OF_RESULTS: Final[PartSpelling] = {"text": _STYLE.text_part, "image": _STYLE.parts["image"]}
