"""Encodes a conversation as ``messages`` of Chat Completions and compatible APIs.

The policy decides where reasoning is written: a string field, the entries of ``reasoning_details``, blocks,
the original tags, or nowhere. Each response is one assistant message, followed by a tool message per call, in
the order of the calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from ag_ui.core import UserMessage

from agui_reasoning._strict_json import MAX_NESTING, load
from agui_reasoning.parts import Origin, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.policy import VendorTraits
from agui_reasoning.providers._apis.openai_chat.blocks import ANTHROPIC_SIGNATURE, REDACTED
from agui_reasoning.providers._apis.openai_chat.blocks import ENCRYPTED as ITEM
from agui_reasoning.providers._apis.openai_chat.calls import SIGNATURE_FIELD, SIGNATURE_FIELDS
from agui_reasoning.providers._apis.openai_chat.details import (
    CHANNELS,
    DATA,
    ENCRYPTED,
    SIGNATURE,
    SUMMARY,
    TEXT,
)
from agui_reasoning.providers.echo import format_of
from agui_reasoning.providers.encoding import (
    PARAGRAPH,
    RESULT,
    CallAnswer,
    EchoUnit,
    EncodingOptions,
    PartSpelling,
    PlainMessage,
    PreparedConversation,
    ResponseStep,
    chat_body,
    data_uri,
    file_name,
    function_call,
    image_url,
    is_accepted,
    media_type,
    reasoning_units,
    source_of,
    spelled,
    text_or_parts,
    tool_message,
    typed_text,
    values,
)
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.providers.vendors import vendor_traits

DETAILS = "reasoning_details"
COPILOT = "copilot.reasoning_opaque"
STRINGS = ("reasoning_content", "reasoning", "reasoning_text")
PDF: Final = "application/pdf"


@dataclass(slots=True)
class _ChatDraft:
    """An assistant message under construction.

    Attributes:
        sent: The entries of encrypted details in earlier messages.
        fields: The reasoning fields of the message.
        placed: The keys of the units in the message.
        tagged: The keys of the units in its content, between tags.
        refused: The keys of the units that the upstream would reject in any field.
    """

    step: ResponseStep
    options: EncodingOptions
    traits: VendorTraits
    sent: set[str]
    fields: JSONObject = field(default_factory=dict)
    placed: set[tuple[int, int]] = field(default_factory=set)
    tagged: set[tuple[int, int]] = field(default_factory=set)
    refused: set[tuple[int, int]] = field(default_factory=set)


def encode(
    conversation: PreparedConversation, options: EncodingOptions, api: str = "openai-chat"
) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    traits = vendor_traits(Origin(options.provider, api, options.model))
    sent: set[str] = set()

    def respond(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
        return _assistant(_ChatDraft(step, options, traits, sent))

    return chat_body(conversation, options, respond, _plain_message, partial(_result, traits=traits))


encode_litellm = partial(encode, api="litellm")
"""Writes the same for LiteLLM's SDK, with the traits of the upstream, which is the provider."""


# -- a response


def _assistant(draft: _ChatDraft) -> list[JSONObject]:
    """Write the message of a response, unless it consists only of reasoning."""
    if not draft.step.answers and not _answer(draft, tags=False):
        draft.options.report.drop_step(draft.step)
        return []
    for name in draft.options.rule.field:
        _WRITERS[name](draft, name)
        if draft.placed and not draft.options.rule.every:
            break
    calls = [_call(draft, answer) for answer in draft.step.answers]
    _write_placeholder(draft, calls)
    message: JSONObject = {"role": "assistant", **_content(draft, bool(calls)), **draft.fields}
    if calls:
        message["tool_calls"] = calls
    for unit in draft.step.units:
        if unit.key in draft.placed:
            draft.options.report.echo(unit)
    return [message]


def _content(draft: _ChatDraft, calls: bool) -> JSONObject:
    """Return the content field, unless blocks contain the text."""
    if "content_blocks" in draft.fields:
        return {"content": None} if calls else {}
    text = _answer(draft, tags=True)
    if text or not calls:
        return {"content": text}
    empty: dict[str, JSONObject] = {"null": {"content": None}, "empty": {"content": ""}, "omit": {}}
    return empty[draft.options.rule.empty_content]


def _answer(draft: _ChatDraft, *, tags: bool) -> str:
    """Return the text of the response, with the reasoning that was in it."""
    pieces: list[str] = []
    for unit in draft.step.units:
        if isinstance(unit.part, TextPart):
            pieces.append(unit.part.text)
        elif tags and unit.key in draft.tagged:
            tag = _tag(unit) or {}
            pieces.append(f"{tag.get('open', '')}{_plain(unit)}{tag.get('close', '')}")
    return "".join(pieces)


def _call(draft: _ChatDraft, answer: CallAnswer) -> JSONObject:
    part = answer.call
    if (part.ext or {}).get("type") in ("custom", "custom_tool_call"):
        arguments = load(part.arguments, max_nesting=MAX_NESTING)
        free = arguments.get("input", "") if isinstance(arguments, dict) else part.arguments
        custom = {"name": part.name, "input": free}
        call: JSONObject = {"id": answer.call_id, "type": "custom", "custom": custom}
    else:
        call = function_call(answer.unit)  # servers parse its arguments
    if "tool_calls" in draft.options.rule.field:
        _sign(call, draft, answer.unit)
    return call


# -- reasoning: one writer per place the policy names


def _write_string(draft: _ChatDraft, name: str) -> None:
    """Write one string for the whole message, from the units with text; Copilot also has a value."""
    thoughts = reasoning_units(draft.step)
    units = [unit for unit in thoughts if unit.key not in draft.refused and _has_text(unit)]
    if units:
        draft.fields[name] = PARAGRAPH.join(map(_plain, units))
    draft.placed.update(unit.key for unit in units)
    for unit in thoughts if name == "reasoning_text" else ():
        if found := values(unit, COPILOT):
            draft.fields["reasoning_opaque"] = found[0].value
            draft.placed.add(unit.key)


def _write_received(draft: _ChatDraft, name: str) -> None:
    """Return the field in which the text arrived, because a host's models read different fields."""
    noted = (_ext(unit).get("field") for unit in reasoning_units(draft.step))
    _write_string(draft, next((field for field in noted if field in STRINGS), STRINGS[0]))


def _write_tags(draft: _ChatDraft, name: str) -> None:
    for unit in reasoning_units(draft.step):
        if _tag(unit) is not None:
            draft.tagged.add(unit.key)
            draft.placed.add(unit.key)


def _write_details(draft: _ChatDraft, name: str) -> None:
    """Write the original entries in order, except those that the upstream would reject."""
    entries: list[JSONObject] = []
    empty = False
    for unit in draft.step.units:
        if unit.refused or not isinstance(unit.part, ReasoningPart | ToolCallPart) or unit.incomplete:
            continue
        ext = _ext(unit)
        found = [(entry, _refusal(entry, draft)) for entry in _entries(unit)]
        kept = [entry for entry, refusal in found if not refusal]
        if found and not kept:
            draft.refused.add(unit.key)
            # An upstream that sent no signature does not require one.
            reason = found[-1][1]
            draft.options.report.drop(unit, reason, harmless=reason == "missing_signature")
        elif kept:
            draft.placed.add(unit.key)
        elif ext.get("field") == DETAILS and "explicit_empty" in ext:
            empty = True
            draft.placed.add(unit.key)
        entries += kept
    if entries or empty:
        draft.fields[DETAILS] = entries


def _entries(unit: EchoUnit) -> list[JSONObject]:
    """Rebuild the entries of a unit from the decoder's skeletons, with values in their original places."""
    skeletons = _ext(unit).get("details")
    entries: list[JSONObject] = []
    numbers: Counter[str] = Counter()
    texts: dict[tuple[str, int], list[str]] = {}
    for segment in getattr(unit.part, "segments", ()):
        texts.setdefault((segment.channel, segment.index), []).append(segment.text)
    for skeleton in skeletons if isinstance(skeletons, list) else ():
        if isinstance(skeleton, dict):
            kind = str(skeleton.get("type"))
            name = CHANNELS.get(kind, "")
            found = texts.get((name, numbers[kind]), ())
            entries.append({**skeleton, name: "".join(found)} if found or kind == SUMMARY else dict(skeleton))
            numbers[kind] += 1
    _fill(entries, unit, SIGNATURE, "signature", TEXT)
    _fill(entries, unit, ENCRYPTED, "data", DATA)
    return entries


def _fill(entries: list[JSONObject], unit: EchoUnit, kind: str, name: str, preferred: str) -> None:
    """Add a value to the entry of its type, else to the first one."""
    found = values(unit, kind)
    if found and entries:
        entry = next((entry for entry in entries if entry.get("type") == preferred), entries[0])
        entry[name] = found[0].value


def _refusal(entry: JSONObject, draft: _ChatDraft) -> str:
    """Return why an entry may not be sent; empty if it may."""
    kind = entry.get("type")
    form = entry.get("format")
    known = format_of(form) if isinstance(form, str) else None
    model = (draft.options.model or "").removeprefix("openrouter/")
    if known is not None and "/" in model and not known.fits(model):
        return "foreign_origin"
    if kind == TEXT and known is not None and known.signed and not entry.get("signature"):
        return "missing_signature"
    if kind == DATA:
        if not entry.get("data"):
            return "missing_encrypted"
        identity = entry.get("id")
        if isinstance(identity, str) and identity:
            if identity in draft.sent:
                return "duplicate_id"
            draft.sent.add(identity)
    return ""


def _write_list(draft: _ChatDraft, name: str, block_of: Callable[[EchoUnit], JSONObject | None]) -> None:
    written = [(unit, block) for unit in reasoning_units(draft.step) if (block := block_of(unit)) is not None]
    draft.placed.update(unit.key for unit, _ in written)
    if written:
        draft.fields[name] = [block for _, block in written]


def _write_signed_blocks(draft: _ChatDraft, name: str) -> None:
    """Write thinking blocks for an upstream that does not accept redacted ones."""
    for unit in reasoning_units(draft.step):
        if values(unit, REDACTED):
            draft.options.report.drop(unit, "policy")
    _write_list(draft, "thinking_blocks", _signed_block)


def _item(unit: EchoUnit) -> JSONObject | None:
    """Return the item of the Responses API, which LiteLLM puts before the message."""
    part, encrypted = unit.part, values(unit, ITEM)
    if not isinstance(part, ReasoningPart) or not encrypted:
        return None
    named = {"id": part.item_id} if part.item_id else {}
    summary = [{"type": "summary_text", "text": segment.text} for segment in part.segments]
    return {"type": "reasoning", **named, "summary": summary, "encrypted_content": encrypted[0].value}


def _write_content_blocks(draft: _ChatDraft, name: str) -> None:
    """Write thinking and text as blocks, in order; they are needed only for signed thinking."""
    blocks: list[JSONObject] = []
    for unit in draft.step.units:
        block = _thinking_block(unit) if not unit.refused else None
        if block is not None:
            draft.placed.add(unit.key)
        elif isinstance(unit.part, TextPart) and unit.part.text.strip():
            block = {"type": "text", "text": unit.part.text}
        blocks += [block] if block else []
    if any(block["type"] != "text" for block in blocks):
        draft.fields[name] = blocks


def _thinking_block(unit: EchoUnit) -> JSONObject | None:
    if redacted := values(unit, REDACTED):
        return {"type": "redacted_thinking", "data": redacted[0].value}
    return _signed_block(unit)


def _signed_block(unit: EchoUnit) -> JSONObject | None:
    signed = values(unit, ANTHROPIC_SIGNATURE)
    if not signed or values(unit, REDACTED):
        return None
    return {"type": "thinking", "thinking": _plain(unit), "signature": signed[0].value}


def _write_calls(draft: _ChatDraft, name: str) -> None:
    """Write the signature of a text on the message; those of calls are written with the calls.

    Reasoning text is left out: upstreams that use signatures do not read it.
    """
    kind = draft.traits.thought_signature_kind
    for unit in reasoning_units(draft.step):
        if not values(unit, kind):
            draft.options.report.drop(unit, "policy", harmless=True)
    for unit in draft.step.units:
        if isinstance(unit.part, TextPart) and unit.part.opaque and unit.part.text:
            _sign(draft.fields, draft, unit)


_WRITERS: dict[str, Callable[[_ChatDraft, str], None]] = {
    **dict.fromkeys(STRINGS, _write_string),
    "received": _write_received,
    DETAILS: _write_details,
    "content_tags": _write_tags,
    "content_blocks": _write_content_blocks,
    "thinking_blocks": partial(_write_list, block_of=_thinking_block),
    "signed_blocks": _write_signed_blocks,
    "reasoning_items": partial(_write_list, block_of=_item),
    "tool_calls": _write_calls,
}


# -- signatures on calls and texts

_SIGNATURES: Final = f"{SIGNATURE_FIELD}s"
"""A list of them, which LiteLLM has for texts."""


def _sign(target: JSONObject, draft: _ChatDraft, unit: EchoUnit) -> None:
    """Write a thought signature where it was found."""
    found = values(unit, draft.traits.thought_signature_kind)
    if found:
        path = _signature_path(unit, draft.traits)
        _put(target, path, [found[0].value] if path[-1] == _SIGNATURES else found[0].value)
        draft.placed.add(unit.key)


def _signature_path(unit: EchoUnit, traits: VendorTraits) -> Sequence[str]:
    ext = _ext(unit) if traits.signature_as_received else {}
    place, namespace = ext.get("signature_field"), ext.get("extra_content")
    if isinstance(namespace, str):
        return "extra_content", namespace, SIGNATURE_FIELD
    if place in SIGNATURE_FIELDS:
        return str(place).split(".")
    home = traits.signature_home.split(".")
    listed = home == ["provider_specific_fields"] and isinstance(unit.part, TextPart)
    return *home, _SIGNATURES if listed else SIGNATURE_FIELD


def _put(target: JSONObject, path: Sequence[str], value: str | list[str]) -> None:
    for name in path[:-1]:
        target = target.setdefault(name, {})
    target[path[-1]] = value


# -- placeholders


def _write_placeholder(draft: _ChatDraft, calls: list[JSONObject]) -> None:
    """Write a placeholder where the provider requires missing reasoning."""
    rule = draft.options.rule
    if rule.placeholder is None or not draft.step.within(rule.placeholder_scope or rule.scope):
        return
    if "tool_calls" in rule.field:
        written = _stand_in_on_call(draft, calls, rule.placeholder)
    else:
        written = _stand_in_as_string(draft, rule.placeholder)
    if written:
        draft.options.report.stand_in(draft.step.units)


def _stand_in_on_call(draft: _ChatDraft, calls: list[JSONObject], placeholder: str) -> bool:
    """Sign the first call with the placeholder, unless any call of the response has a signature."""
    if not calls or any(answer.unit.key in draft.placed for answer in draft.step.answers):
        return False
    _put(calls[0], (*draft.traits.signature_home.split("."), SIGNATURE_FIELD), placeholder)
    return True


def _stand_in_as_string(draft: _ChatDraft, placeholder: str) -> bool:
    name = next((name for name in draft.options.rule.field if name in STRINGS), STRINGS[0])
    held = draft.fields.get(name)
    if DETAILS in draft.fields or (held is not None and (held or not placeholder)):
        return False
    for unit in reasoning_units(draft.step):
        # An empty string that the model sent counts as missing here.
        draft.placed.discard(unit.key)
        draft.options.report.drop(unit, "empty")
    draft.fields[name] = placeholder
    return True


# -- of a unit


def _has_text(unit: EchoUnit) -> bool:
    part = unit.part
    return isinstance(part, ReasoningPart) and (bool(part.segments) or "explicit_empty" in (part.ext or {}))


def _ext(unit: EchoUnit) -> Mapping[str, Any]:
    return getattr(unit.part, "ext", None) or {}


def _plain(unit: EchoUnit) -> str:
    """Return the original text: stretches of one part are joined, parts are separated."""
    return unit.part.text if isinstance(unit.part, ReasoningPart) else ""


def _tag(unit: EchoUnit) -> Mapping[str, Any] | None:
    tag = _ext(unit).get("tag")
    return tag if isinstance(tag, Mapping) else None


# -- other messages


def _result(answer: CallAnswer, options: EncodingOptions, traits: VendorTraits) -> JSONObject:
    content, media = answer.content, traits.result_media
    if isinstance(content, str) or not any(part.type in media for part in content):
        return tool_message(answer, options)
    spelling = {name: _CONTENT[name] for name in ("text", *media)}
    parts = spelled(content, spelling, options.report, RESULT)
    return {"role": "tool", "tool_call_id": answer.call_id, "content": parts}


def _plain_message(message: PlainMessage, options: EncodingOptions) -> JSONObject:
    if isinstance(message, UserMessage):
        return {"role": "user", "content": text_or_parts(message.content, _CONTENT, options.report)}
    # Most servers do not know the role `developer`.
    role = message.role if options.rule.developer else "system"
    return {"role": role, "content": message.content}


_AUDIO_FORMATS: Final = {
    **dict.fromkeys(("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"), "wav"),
    **dict.fromkeys(("audio/mpeg", "audio/mp3", "audio/x-mp3"), "mp3"),
}
"""The formats of audio that the API accepts, by media type."""


def _audio(part: Any) -> JSONObject | None:
    kind, value = source_of(part)
    if kind != "data":
        return None
    form = _AUDIO_FORMATS.get(media_type(part, "audio/wav"))
    return {"type": "input_audio", "input_audio": {"data": value, "format": form}} if form else None


def _document(part: Any) -> JSONObject | None:
    kind, value = source_of(part)
    if kind == "url" or not is_accepted(part, PDF, PDF):
        return None
    if kind == "file":
        return {"type": "file", "file": {"file_id": value}}
    name = file_name(part) or "document.pdf"
    return {"type": "file", "file": {"filename": name, "file_data": data_uri(part, PDF)}}


_CONTENT: Final[PartSpelling] = {
    "text": typed_text,
    "image": image_url,
    "audio": _audio,
    "document": _document,
}
