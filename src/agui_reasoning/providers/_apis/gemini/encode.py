"""Encodes a conversation as ``contents`` and ``config`` for ``generate_content`` of google-genai.

Only original parts have signatures. Thoughts are not sent, roles alternate, only signed texts may be empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agui_reasoning.parts import NativePart, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers._apis.gemini.decode import SIGNATURE, STANDARD
from agui_reasoning.providers.alternating import (
    BlockStyle,
    Writing,
    alternate,
    part_writers,
    server_pairs,
    written_units,
)
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
from agui_reasoning.providers.payload import JSONObject

_RESULTS: Final = {"executableCode": "codeExecutionResult", "toolCall": "toolResponse"}
_SPELLED: Final = frozenset(
    {"text", "thought", "functionCall", "functionResponse", *_RESULTS, *_RESULTS.values()}
)
"""Fields that do not occur in native parts."""


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``contents``, and ``config`` if there are instructions or tools."""
    contents, system = alternate(conversation, options, _STYLE, server_pairs(conversation, _answers))
    config: JSONObject = {"systemInstruction": "\n\n".join(system)} if system else {}
    written = tools_of(options.tools, _tool)
    declared = [tool for tool in written if "name" in tool]
    others = [tool for tool in written if "name" not in tool]
    if written:
        config["tools"] = [*([{"functionDeclarations": declared}] if declared else []), *others]
    return {"contents": contents, **({"config": config} if config else {})}


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    return {"name": name, "description": description, "parametersJsonSchema": schema}


# -- a response


def _model(writing: Writing) -> list[JSONObject]:
    step, options, _ = writing
    written = written_units(writing, _PARTS)
    if not written:
        options.report.drop_step(step)
    for unit, part in written:
        # A server tool's result contains its signature and has no entry in the report.
        has_value = "thoughtSignature" in part or isinstance(unit.part, NativePart)
        if has_value and unit.key in options.report.verdicts:
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
    signature = [one.value for one in values(unit, SIGNATURE) if from_base64(one.value.translate(STANDARD))]
    return {**part, "thoughtSignature": signature[0]} if signature else part


def _thought(part: ReasoningPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    writing.options.report.drop(unit, unit.refused or "policy", harmless=True)
    return None


def _text(part: TextPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    written = _signed(unit, {**leftovers(unit, "phase", "id"), "text": part.text})
    return written if part.text or "thoughtSignature" in written else None


def _call(part: ToolCallPart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    if part.server:
        sent = unit.key in writing.pairs or (writing.step.last and unit.same_format)
        return _server_call(unit, part) if sent else None
    named = {"id": unit.call_id} if _has_id(unit, part) else {}
    call = {**named, "name": part.name, "args": as_object(part)}
    return _signed(unit, {**leftovers(unit, "type", "id", "phase"), "functionCall": call})


def _has_id(unit: EchoUnit, part: ToolCallPart) -> bool:
    """Return whether a call has an ID; Gemini's own calls and their results may have none."""
    native = (part.ext or {}).get("native_id")
    return not unit.same_format or bool(part.id if native is None else native)


def _server_call(unit: EchoUnit, part: ToolCallPart) -> JSONObject:
    named = {"id": native_id(part)} if native_id(part) else {}
    if leftovers(unit).get("type") == "executableCode":
        return _signed(unit, {"executableCode": {**named, **as_object(part)}})
    arguments = as_object(part)
    args = {"args": arguments} if arguments else {}
    call = {**named, "toolType": part.name.upper(), **args, **leftovers(unit, "type")}
    return _signed(unit, {"toolCall": call})


def _native(part: NativePart, unit: EchoUnit, writing: Writing) -> JSONObject | None:
    field = part.kind.removeprefix("gemini.")
    payload = part.payload
    known = part.kind != field and isinstance(payload, dict) and isinstance(payload.get(field), dict)
    return dict(payload) if known and unit.same_format and not _SPELLED & set(payload) else None


_PARTS: Final = part_writers(_thought, _text, _call, _native)


def _answers(call: EchoUnit, result: EchoUnit) -> bool:
    """Return whether a result has the format for this type of call."""
    native, field = getattr(result.part, "native", None), _RESULTS.get(str(leftovers(call).get("type")))
    return isinstance(native, dict) and set(native) - {"thoughtSignature"} == {field}


# -- what is not the model's


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    named = {"id": answer.call_id} if _has_id(answer.unit, answer.call) else {}
    text = text_of(answer.content, report, RESULT)
    response = {"error" if answer.is_error else "result": text}
    return {"functionResponse": {**named, "name": answer.call.name, "response": response}}


def google_media(write: Callable[[Any, str], JSONObject]) -> PartSpelling:
    """Spell the media that Google's models read; ``write`` is given a part and its media type."""

    def spell(part: Any) -> JSONObject | None:
        default, *others = _MEDIA[part.type]
        accepted = is_accepted(part, default, default, *others)
        return write(part, media_type(part, default)) if accepted else None

    return dict.fromkeys(_MEDIA, spell)


_MEDIA: Final = {
    "image": ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    "audio": ("audio/wav", "audio/*"),
    "video": ("video/mp4", "video/*"),
    "document": ("application/pdf", "text/*"),
}
"""The accepted media types by type of part, first the one of parts that name none."""


def _media(part: Any, media: str) -> JSONObject:
    kind, value = source_of(part)
    if kind == "data":
        return {"inlineData": {"mimeType": media, "data": value}}
    return {"fileData": {"mimeType": media, "fileUri": value}}


_STYLE: Final = BlockStyle(
    model="model",
    field="parts",
    text=lambda text: {"text": text},
    parts=google_media(_media),
    response=_model,
    result=_result,
)


# -- google-genai's arguments and the REST API

_BESIDE: Final = frozenset(
    {
        *("systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent", "labels"),
        *("serviceTier", "modelArmorConfig", "continuationToken", "outputConfig", "store"),
    }
)
"""Fields of ``config`` that google-genai writes at the top level of a REST body."""


def rest_body(body: JSONObject) -> JSONObject:
    """Move the fields of ``config`` to ``generationConfig`` or to the top level of the body.

    Examples:
        >>> rest_body({"contents": [], "config": {"labels": {"team": "sky"}, "temperature": 0}})
        {'contents': [], 'labels': {'team': 'sky'}, 'generationConfig': {'temperature': 0}}
    """
    config = body.get("config", {})
    beside = {name: value for name, value in config.items() if name in _BESIDE}
    generation = {name: value for name, value in config.items() if name not in _BESIDE}
    if isinstance(beside.get("systemInstruction"), str):
        beside["systemInstruction"] = {"parts": [{"text": beside["systemInstruction"]}]}
    others = {name: value for name, value in body.items() if name != "config"}
    return {**others, **beside, **({"generationConfig": generation} if generation else {})}
