"""Encodes a conversation as ``input`` items of the Responses API.

A reasoning item is sent only directly before the item that followed it. If reasoning is missing, the items
that require it lose their IDs, or the server would reject them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from ag_ui.core import UserMessage

from agui_reasoning._strict_json import MAX_NESTING, load
from agui_reasoning.parts import (
    Channel,
    NativePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    join_segments,
)
from agui_reasoning.providers._apis.openai_responses.items import (
    ACTIONS,
    CUSTOM,
    FUNCTION,
    MESSAGE,
    RAW_TEXT,
    REASONING,
    SIGNATURE,
    SUMMARY_TEXT,
)
from agui_reasoning.providers.encoding import (
    PICTURES,
    RESULT,
    UNREADABLE,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    MessageContent,
    PartSpelling,
    PreparedConversation,
    ResponseStep,
    as_json,
    data_uri,
    file_name,
    is_accepted,
    is_readable,
    leftovers,
    source_of,
    spelled,
    text_of,
    tools_of,
    type_of,
    values,
)
from agui_reasoning.providers.payload import JSONObject

ENCRYPTED = ("openai.encrypted_content", "xai.encrypted_content")
THOUGHT_SIGNATURES = ("perplexity.thought_signature",)

CONFIGURATION: Final = "configuration_update"

_RAW_TYPES = frozenset({RAW_TEXT, "output_text", "text"})
_MAY_LOSE_ID = frozenset({MESSAGE, FUNCTION, CUSTOM})
_FOREIGN_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "computer_call_output"})


@dataclass(slots=True)
class _Slot:
    """An item, or the position of one that was left out.

    Attributes:
        units: The parts of the item.
        item: The item to send; ``None`` if it was left out.
        thinks: Whether it is reasoning.
    """

    units: list[EchoUnit]
    item: JSONObject | None
    thinks: bool = False


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``input``, and ``instructions`` and ``tools`` if there are any."""
    items: list[JSONObject] = []
    used: set[str] = set()
    for entry in conversation:
        if isinstance(entry, ResponseStep):
            if not entry.on_server:
                _configure(items, entry.effort)
                items += _response(entry, options, used)
            items += [_output(answer, options.report) for answer in entry.answers]
        elif isinstance(entry, UserMessage):
            items.append({"role": "user", "content": _content(entry.content, options.report, "user message")})
        else:
            items.append({"role": entry.role, "content": entry.content})
    _configure(items, options.effort)
    body: JSONObject = {"input": items}
    if options.system:
        body["instructions"] = options.system
    if tools := tools_of(options.tools, _tool):
        body["tools"] = tools
    return body


def _configure(items: list[JSONObject], effort: str) -> None:
    """Add a change of the effort, instead of one directly before it: the API rejects two in a row."""
    if not effort:
        return
    if items and items[-1].get("type") == CONFIGURATION:
        items.pop()
    items.append({"type": CONFIGURATION, "reasoning": {"effort": effort}})


# -- a response


def _response(step: ResponseStep, options: EncodingOptions, used: set[str]) -> list[JSONObject]:
    """Return the items of a response, and add their IDs to ``used``, those of the request."""
    slots = list(_slots(step, options))
    if options.rule.pairs:
        _drop_orphans(slots, options)
        _refuse_repeated(slots, options, used)
    _pair(slots, options)
    if options.rule.calls_together:
        slots = _calls_together(slots)
    sent = [slot for slot in slots if slot.item is not None]
    for slot in sent:
        for unit in slot.units:
            if slot.thinks or isinstance(unit.part, NativePart) or values(unit, *THOUGHT_SIGNATURES):
                options.report.echo(unit)
    used |= {_identity(slot) for slot in sent} - {""}
    return [slot.item for slot in sent if slot.item is not None]


def _refuse_repeated(slots: Sequence[_Slot], options: EncodingOptions, used: set[str]) -> None:
    """Remove repeated IDs, which the server rejects."""
    here: set[str] = set()
    for slot in slots:
        identity = _identity(slot)
        if identity not in used and identity not in here:
            here |= {identity} - {""}
        elif slot.thinks:
            slot.item = None
            options.report.drop(slot.units[0], "duplicate_id", harmless=True)
        else:
            _unpair(slot, options)


def _identity(slot: _Slot) -> str:
    """Return the ID of an item; empty if it has none. Clients may send anything."""
    identity = (slot.item or {}).get("id")
    return identity if isinstance(identity, str) else ""


def _slots(step: ResponseStep, options: EncodingOptions) -> Iterator[_Slot]:
    text_units: list[EchoUnit] = []
    results = {unit.part.tool_call_id for unit in step.units if isinstance(unit.part, ToolResultPart)}
    for unit in step.units:
        speaks = isinstance(unit.part, TextPart)
        if text_units and not (speaks and _continues(text_units[-1], unit)):
            yield _message(text_units, options)
            text_units = []
        if speaks:
            text_units.append(unit)
        elif (slot := _PARTS[type(unit.part)](unit.part, unit, options, results)) is not None:
            yield slot
    if text_units:
        yield _message(text_units, options)


def _calls_together(slots: Sequence[_Slot]) -> list[_Slot]:
    """Move reasoning between calls before the first of them."""
    ordered: list[_Slot] = []
    calls: list[_Slot] = []
    for slot in slots:
        if slot.item is not None and slot.item.get("type") in (FUNCTION, CUSTOM):
            calls.append(slot)
            continue
        if not slot.thinks:
            ordered += calls
            calls = []
        ordered.append(slot)
    return ordered + calls


def _pair(slots: Sequence[_Slot], options: EncodingOptions) -> None:
    """Keep reasoning only before its follower, and item IDs only after their reasoning."""
    unpaired = False
    for thinks, run, follower, orphan in _runs(slots, options):
        if thinks:
            _leave_out(run, "orphan" if orphan else _verdict(run, follower, options), options)
            unpaired = options.rule.pairs and any(slot.item is None for slot in run)
        elif unpaired:
            for slot in run:
                _unpair(slot, options)


def _drop_orphans(slots: Sequence[_Slot], options: EncodingOptions) -> None:
    """Remove reasoning without a follower, so that its ID is free."""
    for thinks, run, _, orphan in _runs(slots, options):
        if thinks and orphan:
            _leave_out(run, "orphan", options)


def _runs(
    slots: Sequence[_Slot], options: EncodingOptions
) -> Iterator[tuple[bool, list[_Slot], JSONObject | None, bool]]:
    """Yield runs of reasoning and other items, the item after each, and whether one is missing."""
    sent = False
    runs = [(thinks, list(run)) for thinks, run in groupby(slots, key=lambda slot: slot.thinks)]
    for number, (thinks, run) in enumerate(runs):
        last = number + 1 == len(runs)
        follower = None if last else runs[number + 1][1][0].item
        may_be_last = last and options.rule.trailing == "keep" and sent
        yield thinks, run, follower, follower is None and not may_be_last
        sent = sent or any(slot.item for slot in run)


def _leave_out(run: list[_Slot], reason: str, options: EncodingOptions) -> None:
    """Remove a run of reasoning items, if there is a reason."""
    for slot in run:
        if reason and slot.item is not None:
            slot.item = None
            options.report.drop(slot.units[0], reason, harmless=reason == "orphan")


def _verdict(run: list[_Slot], follower: JSONObject | None, options: EncodingOptions) -> str:
    """Return why a run of reasoning items cannot be sent; empty if it can."""
    if follower is None or not options.rule.pairs:
        return ""
    if any(slot.item is None for slot in run):
        return "unpaired"
    if follower.get("id"):
        return ""
    # The follower has no ID, so the server can only use an encrypted value.
    if any("encrypted_content" not in (slot.item or {}) for slot in run):
        return "unpaired"
    for slot in run:
        (slot.item or {}).pop("id", None)
    return ""


def _unpair(slot: _Slot, options: EncodingOptions) -> None:
    """Remove the ID of an item, so that the server does not require its reasoning."""
    if slot.item is None:
        return
    if slot.item.get("type") in _MAY_LOSE_ID:
        slot.item.pop("id", None)
        if slot.item["type"] == MESSAGE:
            slot.item = _bare_message(slot.units)
    elif slot.item.get("id") and not options.stateless and isinstance(slot.units[0].part, ToolResultPart):
        # This item requires its ID.
        slot.item = None


def _reasoning(part: ReasoningPart, unit: EchoUnit, options: EncodingOptions, results: Set[str]) -> _Slot:
    slot = _Slot([unit], None, thinks=True)
    if unit.refused:
        return slot
    if "items" not in options.rule.field:
        options.report.drop(unit, "policy", harmless=True)
        return slot
    known = bool(part.item_id) and unit.kinship == "same" and options.rule.ids
    identity: JSONObject = {"id": part.item_id} if known else {}
    if options.rule.item_text != "parts":
        return _text_item(slot, part, identity, options)
    encrypted = values(unit, *ENCRYPTED)
    stored = known and not options.stateless
    if options.rule.needs == "encrypted" and not (encrypted or stored):
        options.report.drop(unit, "missing_encrypted")
        return slot
    item: JSONObject = {"type": REASONING, **identity}
    item["summary"] = _texts(part, "summary", SUMMARY_TEXT)
    if content := _texts(part, "raw", RAW_TEXT):
        item["content"] = _typed(content, unit)
    if encrypted:
        item["encrypted_content"] = encrypted[0].value
    if signature := values(unit, SIGNATURE):
        item["signature"] = signature[0].value
    # IDs count as content where servers may know items by them.
    by_id = options.rule.pairs or options.rule.needs == "encrypted" or options.rule.status == "required"
    empty = {"type", "summary"} if by_id else {"type", "summary", "id"}
    if not item["summary"] and item.keys() <= empty:
        # Perplexity's thoughts do not arrive in items.
        options.report.drop(unit, "policy" if part.segments else "empty", harmless=True)
        return slot
    slot.item = {**leftovers(unit, "id", "phase", "status", "encrypted_content", "content"), **item}
    return slot


def _text_item(slot: _Slot, part: ReasoningPart, identity: JSONObject, options: EncodingOptions) -> _Slot:
    """Add the item for a server that reads one text of an item and nothing else."""
    raw = tuple(segment for segment in part.segments if segment.channel == "raw")
    text = join_segments(raw or part.segments)
    if not text:
        options.report.drop(slot.units[0], "empty", harmless=True)
        return slot
    parts = [{"type": RAW_TEXT, "text": text}]
    field = {"content": parts} if options.rule.item_text == "content" else {"encrypted_content": text}
    slot.item = {"type": REASONING, **identity, "summary": [], **field}
    return slot


def _typed(content: list[JSONObject], unit: EchoUnit) -> list[JSONObject]:
    """Return parts of raw reasoning with the types that they arrived with; clients may send others."""
    noted = (getattr(unit.part, "ext", None) or {}).get("content_types")
    if unit.kinship != "same" or not isinstance(noted, list):
        return content
    types = [one if type_of(one) in _RAW_TYPES else {} for one in noted]
    return [part | types[number] if number < len(types) else part for number, part in enumerate(content)]


def _texts(part: ReasoningPart, channel: Channel, kind: str) -> list[JSONObject]:
    """Return the parts of a summary or of raw reasoning by number, including empty ones."""
    found: dict[int, str] = {}
    for segment in part.segments:
        if segment.channel == channel:
            found[segment.index] = found.get(segment.index, "") + segment.text
    name = "summary_parts" if channel == "summary" else "content_parts"
    noted = (part.ext or {}).get(name)
    count = max([noted if isinstance(noted, int) else 0, *(index + 1 for index in found)])
    # Providers do not use part numbers in the thousands.
    count = min(count, len(part.segments) + 64)
    return [{"type": kind, "text": found.get(index, "")} for index in range(count)]


def _continues(before: EchoUnit, unit: EchoUnit) -> bool:
    """Return whether a text belongs to the same message; parts without an ID are one text."""
    return _message_id(before) == _message_id(unit) and before.kinship == unit.kinship


def _message_id(unit: EchoUnit) -> str | None:
    identity = leftovers(unit).get("id")
    return identity if isinstance(identity, str) else None


def _message(units: list[EchoUnit], options: EncodingOptions) -> _Slot:
    """Return the message with these texts as its parts."""
    last = units[-1]
    identity = _message_id(last)
    if identity is None or last.kinship != "same" or not options.rule.ids:
        return _Slot(units, _bare_message(units))
    agent = leftovers(last).get("agent")
    item = {
        "type": MESSAGE,
        "role": "assistant",
        "id": identity,
        "content": [_spoken(unit) for unit in units],
        "status": "completed" if getattr(last.part, "status", "") == "complete" else "incomplete",
        **_phase(last),
        **({"agent": agent} if isinstance(agent, dict) and isinstance(agent.get("agent_name"), str) else {}),
    }
    return _Slot(units, item)


def _spoken(unit: EchoUnit) -> JSONObject:
    text, ext = getattr(unit.part, "text", ""), leftovers(unit)
    if ext.get("type") == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": ext.get("annotations", [])}


def _phase(unit: EchoUnit) -> JSONObject:
    phase = leftovers(unit).get("phase")
    return {"phase": phase} if isinstance(phase, str) else {}


def _bare_message(units: Sequence[EchoUnit]) -> JSONObject | None:
    """Return a message without an ID."""
    text = "".join(getattr(unit.part, "text", "") for unit in units)
    return {"role": "assistant", "content": text, **_phase(units[0])} if text else None


def _call(part: ToolCallPart, unit: EchoUnit, options: EncodingOptions, results: Set[str]) -> _Slot | None:
    kind = type_of(leftovers(unit))
    if unit.incomplete or (part.server and not unit.same_format):
        return _Slot([unit], None)
    if part.server and not options.rule.takes_natives:
        return None
    action = kind in _ACTION_OUTPUTS and (part.server or is_readable(part))
    if part.server and not action:
        # The result's item contains both call and result.
        return None if part.id in results else _Slot([unit], None)
    if part.server or (action and unit.kinship == "same"):
        # Clients may send other fields, too.
        fields = {name: value for name, value in _arguments(part).items() if name in ACTIONS[kind]}
        return _Slot([unit], {**leftovers(unit), **fields, "call_id": unit.call_id})
    return _Slot([unit], _function(part, unit, options))


def _arguments(part: ToolCallPart) -> JSONObject:
    value = load(part.arguments, max_nesting=MAX_NESTING)
    return value if isinstance(value, dict) else {}


def _function(part: ToolCallPart, unit: EchoUnit, options: EncodingOptions) -> JSONObject:
    free = _is_custom(part)
    item: JSONObject = {"type": CUSTOM if free else FUNCTION}
    identity = leftovers(unit).get("id")
    if identity and unit.kinship == "same" and options.rule.ids:
        item["id"] = identity
    item |= {"call_id": unit.call_id, "name": part.name}
    if free:
        item["input"] = str(_arguments(part).get("input", "")) if is_readable(part) else part.arguments
    else:
        item["arguments"] = as_json(part)
    if signature := values(unit, *THOUGHT_SIGNATURES):
        item["thought_signature"] = signature[0].value
    return {**leftovers(unit, "id", "phase", "status"), **item}


def _is_custom(part: ToolCallPart) -> bool:
    """Return whether a tool takes free text, as named by this API or Chat Completions."""
    return (part.ext or {}).get("type") in (CUSTOM, "custom")


def _server_result(
    part: ToolResultPart, unit: EchoUnit, options: EncodingOptions, results: Set[str]
) -> _Slot | None:
    native = part.native
    if not unit.same_format or not isinstance(native, dict) or not options.rule.takes_natives:
        return None
    kind = type_of(native)
    # Clients may send anything, so only results of the provider's own tools are sent.
    if not kind.endswith(("_call", "_call_output")) or kind in _FOREIGN_RESULTS | {FUNCTION}:
        return None
    return _Slot([unit], dict(native))


def _native(part: NativePart, unit: EchoUnit, options: EncodingOptions, results: Set[str]) -> _Slot | None:
    if not unit.same_format:
        return None
    if not options.rule.takes_natives:
        options.report.drop(unit, "policy", harmless=True)
        return None
    payload, kind = part.payload, type_of(part.payload)
    if payload is None:  # it was left out, with the reasoning that led to it
        return _Slot([unit], None, thinks=part.kind == f"openai.{REASONING}")
    if not kind or kind == "item_reference" or part.kind != f"openai.{kind}":
        return None
    if kind == REASONING:
        return _of_subagent(unit, payload, options)
    return None if payload.get("role") in ("system", "developer") else _Slot([unit], dict(payload))


def _of_subagent(unit: EchoUnit, payload: JSONObject, options: EncodingOptions) -> _Slot:
    """Add the reasoning of an agent below the root, which is kept as it came."""
    slot = _Slot([unit], None, thinks=True)
    if not options.rule.echoes or "items" not in options.rule.field:
        options.report.drop(unit, "policy", harmless=True)
    elif options.stateless and not payload.get("encrypted_content"):
        options.report.drop(unit, "missing_encrypted", harmless=True)
    else:
        left_out = {"status"} if options.rule.ids else {"status", "id"}
        slot.item = {name: value for name, value in payload.items() if name not in left_out}
    return slot


_PARTS: Final[dict[type[Part], Callable[[Any, EchoUnit, EncodingOptions, Set[str]], _Slot | None]]] = {
    ReasoningPart: _reasoning,
    ToolCallPart: _call,
    ToolResultPart: _server_result,
    NativePart: _native,
}


# -- results of the client's and the agent's tools


def _output(answer: CallAnswer, report: EchoReport) -> JSONObject:
    part, kind = answer.call, type_of(leftovers(answer.unit))
    if answer.unit.kinship == "same" and kind in _ACTION_OUTPUTS and is_readable(part):
        name, identity, write = _ACTION_OUTPUTS[kind]
        text = text_of(answer.content, report, RESULT)
        value = load(text, max_nesting=MAX_NESTING)
        return {"type": name, identity: answer.call_id, **write(text, value, answer.is_error)}
    name = f"{CUSTOM}_output" if _is_custom(part) else f"{FUNCTION}_output"
    return {"type": name, "call_id": answer.call_id, "output": _content(answer.content, report, RESULT)}


def _computer_output(text: str, value: Any, failed: bool) -> JSONObject:
    screenshot = {"type": "computer_screenshot", "image_url": text}
    return {"output": value if isinstance(value, dict) else screenshot}


def _shell_output(text: str, value: Any, failed: bool) -> JSONObject:
    written = {"stdout": "", "stderr": text} if failed else {"stdout": text, "stderr": ""}
    entry = {**written, "outcome": {"type": "exit", "exit_code": int(failed)}}
    return {"output": value if isinstance(value, list) else [entry]}


def _patch_output(text: str, value: Any, failed: bool) -> JSONObject:
    fields = value if isinstance(value, dict) else {"output": text}
    return {"status": "failed" if failed else "completed", **fields}


def _search_output(text: str, value: Any, failed: bool) -> JSONObject:
    return value if isinstance(value, dict) else {"tools": value if isinstance(value, list) else []}


_ACTION_OUTPUTS: dict[str, tuple[str, str, Callable[[str, Any, bool], JSONObject]]] = {
    "computer_call": ("computer_call_output", "call_id", _computer_output),
    "local_shell_call": ("local_shell_call_output", "id", lambda text, value, failed: {"output": text}),
    "shell_call": ("shell_call_output", "call_id", _shell_output),
    "apply_patch_call": ("apply_patch_call_output", "call_id", _patch_output),
    "tool_search_call": ("tool_search_output", "call_id", _search_output),
}
"""Client calls other than functions: the type of the result item, the field that names the call, and what
writes the other fields of a text, and of its value as JSON, used unchanged if it has the right format."""


# -- content


def _content(content: MessageContent, report: EchoReport, where: str) -> str | list[JSONObject]:
    if isinstance(content, str):
        return content
    return spelled(content, _CONTENT, report, where) or UNREADABLE


def _text(part: Any) -> JSONObject:
    return {"type": "input_text", "text": part.text}


def _image(part: Any) -> JSONObject | None:
    if not is_accepted(part, "image/png", *PICTURES):
        return None
    place = "file_id" if source_of(part)[0] == "file" else "image_url"
    return {"type": "input_image", "detail": "auto", place: data_uri(part, "image/png")}


def _document(part: Any) -> JSONObject:
    kind, value = source_of(part)
    if kind == "data":
        name = file_name(part) or "document.pdf"
        return {"type": "input_file", "filename": name, "file_data": data_uri(part, "application/pdf")}
    return {"type": "input_file", "file_url" if kind == "url" else "file_id": value}


_CONTENT: Final[PartSpelling] = {"text": _text, "image": _image, "document": _document}


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    named = {"type": "function", "name": name, "description": description}
    return {**named, "parameters": schema, "strict": False}
