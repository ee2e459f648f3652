"""Encodes a conversation as ``contents`` and ``config`` for ``generate_content`` of google-genai.

Signatures are written only on their original parts. Thoughts are not sent, roles alternate, and only
signed texts may be empty.
"""

from __future__ import annotations

from collections.abc import Callable
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
    PreparedConversation,
    ResponseStep,
    as_object,
    from_base64,
    is_accepted,
    leftovers,
    media_type,
    native_id,
    source_of,
    text_of,
    tools_of,
    values,
)
from agui_reasoning.providers.gemini.parts import SIGNATURE
from agui_reasoning.providers.payload import JSONObject

__all__ = ["encode"]

Key = tuple[int, int]
"""The number of a turn, and of a part in it."""


_STANDARD: Final = str.maketrans("-_", "+/")
_RESULTS: Final = {"executableCode": "codeExecutionResult", "toolCall": "toolResponse"}
_SPELLED: Final = frozenset(
    {"text", "thought", "functionCall", "functionResponse", *_RESULTS, *_RESULTS.values()}
)
"""Fields that do not occur in native parts."""


IMAGES: Final = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
"""The media types of images that Gemini accepts."""


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``contents``, and ``config`` if there are instructions or tools."""
    pairs = _server_pairs(conversation)

    def respond(step: ResponseStep) -> tuple[list[JSONObject], list[JSONObject]]:
        return _model(step, options, pairs), [_result(answer, options.report) for answer in step.answers]

    contents, system = alternate(conversation, options, _STYLE, respond)
    return {"contents": contents, **_config(system, options)}


def _config(system: list[str], options: EncodingOptions) -> JSONObject:
    config: JSONObject = {"systemInstruction": "\n\n".join(system)} if system else {}
    written = tools_of(options.tools, _tool)
    declared = [tool for tool in written if "name" in tool]
    others = [tool for tool in written if "name" not in tool]
    if written:
        config["tools"] = [*([{"functionDeclarations": declared}] if declared else []), *others]
    return {"config": config} if config else {}


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    return {"name": name, "description": description, "parametersJsonSchema": schema}


# -- a response


def _model(step: ResponseStep, options: EncodingOptions, pairs: set[Key]) -> list[JSONObject]:
    written: list[tuple[EchoUnit, JSONObject]] = []
    for unit in step.units:
        part = None if unit.cut else _PARTS[type(unit.part)](unit, step, pairs)
        if part is not None:
            written.append((unit, part))
        elif isinstance(unit.part, ReasoningPart):
            options.report.drop(unit, unit.refused or "policy", harmless=True)
    if not written:
        options.report.drop_step(step)
    for unit, part in written:
        # A server tool's result contains its signature and has no entry in the report.
        if unit.key in options.report.verdicts and (
            "thoughtSignature" in part or isinstance(unit.part, NativePart)
        ):
            options.report.echo(unit)
    _stand_in(step, written, options)
    return [part for _, part in written]


def _stand_in(
    step: ResponseStep, written: list[tuple[EchoUnit, JSONObject]], options: EncodingOptions
) -> None:
    """Sign the first call with the placeholder, if it has no signature and the provider requires one."""
    placeholder = options.rule.placeholder
    first = next(((unit, part) for unit, part in written if "functionCall" in part), None)
    if first is None or placeholder is None or "thoughtSignature" in first[1]:
        return
    if step.within(options.rule.placeholder_scope or options.rule.scope):
        first[1]["thoughtSignature"] = placeholder
        options.report.stand_in([first[0]])


def _signed(unit: EchoUnit, part: JSONObject) -> JSONObject:
    """Return the part with its original signature, which google-genai accepts only in base64."""
    signature = [one.value for one in values(unit, SIGNATURE) if from_base64(one.value.translate(_STANDARD))]
    return {**part, "thoughtSignature": signature[0]} if signature else part


def _thought(unit: EchoUnit, step: ResponseStep, pairs: set[Key]) -> JSONObject | None:
    return None


def _text(unit: EchoUnit, step: ResponseStep, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, TextPart)
    written = _signed(unit, {**leftovers(unit, "phase", "id"), "text": part.text})
    return written if part.text or "thoughtSignature" in written else None


def _call(unit: EchoUnit, step: ResponseStep, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ToolCallPart)
    if part.server:
        return _server_call(unit, part) if unit.key in pairs or (step.last and unit.at_home) else None
    named = {"id": unit.call_id} if _has_id(unit, part) else {}
    call = {**named, "name": part.name, "args": as_object(part)}
    return _signed(unit, {**leftovers(unit, "type", "id", "phase"), "functionCall": call})


def _has_id(unit: EchoUnit, part: ToolCallPart) -> bool:
    """Return whether a call has an ID; Gemini's own calls and their results may have none."""
    native = (part.ext or {}).get("native_id")
    return not unit.at_home or bool(part.id if native is None else native)


def _server_call(unit: EchoUnit, part: ToolCallPart) -> JSONObject:
    named = {"id": native_id(part)} if native_id(part) else {}
    if leftovers(unit).get("type") == "executableCode":
        return _signed(unit, {"executableCode": {**named, **as_object(part)}})
    arguments = as_object(part)
    args = {"args": arguments} if arguments else {}
    call = {**named, "toolType": part.name.upper(), **args, **leftovers(unit, "type")}
    return _signed(unit, {"toolCall": call})


def _server_result(unit: EchoUnit, step: ResponseStep, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ToolResultPart)
    return dict(part.native) if unit.key in pairs else None


def _native(unit: EchoUnit, step: ResponseStep, pairs: set[Key]) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, NativePart)
    field = part.kind.removeprefix("gemini.")
    payload = part.payload
    known = part.kind != field and isinstance(payload, dict) and isinstance(payload.get(field), dict)
    return dict(payload) if known and unit.at_home and not _SPELLED & set(payload) else None


_PARTS: Final[dict[type[Part], Callable[[EchoUnit, ResponseStep, set[Key]], JSONObject | None]]] = {
    ReasoningPart: _thought,
    TextPart: _text,
    ToolCallPart: _call,
    ToolResultPart: _server_result,
    NativePart: _native,
}


def _server_pairs(conversation: PreparedConversation) -> set[Key]:
    """Return the keys of answered server tool calls and of their results."""
    waiting: dict[str, tuple[Key, str]] = {}
    paired: set[Key] = set()
    for step in conversation:
        for unit in step.units if isinstance(step, ResponseStep) else ():
            part = unit.part
            if isinstance(part, ToolCallPart) and part.server and unit.at_home and not unit.cut:
                waiting[part.id] = unit.key, str(leftovers(unit).get("type"))
            elif isinstance(part, ToolResultPart) and unit.at_home and part.tool_call_id in waiting:
                key, kind = waiting[part.tool_call_id]
                if _is_result(part, kind):
                    del waiting[part.tool_call_id]
                    paired |= {key, unit.key}
    return paired


def _is_result(part: ToolResultPart, kind: str) -> bool:
    """Return whether a result has the format for this type of call; clients may send anything."""
    native, field = part.native, _RESULTS.get(kind)
    return isinstance(native, dict) and set(native) - {"thoughtSignature"} == {field}


# -- what is not the model's


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    call = answer.unit.part
    assert isinstance(call, ToolCallPart)
    named = {"id": answer.call_id} if _has_id(answer.unit, call) else {}
    text = text_of(answer.content, report, RESULT)
    response = {"error" if answer.is_error else "result": text}
    return {"functionResponse": {**named, "name": call.name, "response": response}}


def _media(part: Any, default: str, accepted: tuple[str, ...]) -> JSONObject | None:
    if not is_accepted(part, default, *accepted):
        return None
    kind, value = source_of(part)
    typed = {"mimeType": media_type(part, default)}
    if kind == "data":
        return {"inlineData": {**typed, "data": value}}
    return {"fileData": {**typed, "fileUri": value}}


def _text_block(text: str) -> JSONObject:
    return {"text": text}


_STYLE: Final = BlockStyle(
    model="model",
    field="parts",
    text=_text_block,
    parts={
        "image": partial(_media, default="image/png", accepted=IMAGES),
        "audio": partial(_media, default="audio/wav", accepted=("audio/*",)),
        "video": partial(_media, default="video/mp4", accepted=("video/*",)),
        "document": partial(_media, default="application/pdf", accepted=("application/pdf", "text/*")),
    },
)
