"""Decodes the output items of OpenAI Responses, by type.

An item is announced when it is added, grows by its events, and is settled by its final form. `settle` returns
everything that has not arrived before, so that a whole response decodes to the same parts as its stream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
)
from agui_reasoning.parts import Channel, Opaque, Status
from agui_reasoning.policy import VendorTraits
from agui_reasoning.providers.payload import (
    JSONObject,
    array,
    as_text,
    compact_json,
    obj,
    other_fields,
    string,
)

REASONING, MESSAGE, FUNCTION, CUSTOM = "reasoning", "message", "function_call", "custom_tool_call"
SIGNATURE = "openrouter.signature"
ROOT = "/root"
"""The agent that answers the user. Others are below it, and named by their paths."""

RAW_TEXT, SUMMARY_TEXT = "reasoning_text", "summary_text"

# Calls that the client answers, with their argument fields. The other fields are in `ext`, so that
# `ext | args | {"call_id": id}` is the item again.
ACTIONS: dict[str, tuple[str, ...]] = {
    "computer_call": ("action", "actions"),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "tool_search_call": ("arguments",),
}

# Calls that the provider answers itself. The second row is xAI's.
_SERVER_CALLS = (
    *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"),
    *("x_search_call", "code_execution_call", "view_image_call", "view_x_video_call"),
)
_SERVER_ARGUMENTS = ("queries", "code", "revised_prompt")
_SERVER_RESULTS = ("output", "outputs", "results", "result", "error")

_SPOKEN = {"output_text": "text", "refusal": "refusal"}
_CHANNELS: dict[str, Channel] = {"summary": "summary", "content": "raw"}


@dataclass(slots=True, eq=False)
class OutputItem:
    """The state of an output item.

    Attributes:
        key: The key of its unit; each content part of a message has its own key.
        index: Its position in the response.
        id: The ID in its announcement; final IDs differ if a proxy rotates them.
        call: The ID of the call that it was announced as.
        streamed: Whether a fragment of it arrived.
        heard: The numbers of its parts whose text arrived, in fragments or whole.
        part: The number of the raw part that is growing; ``None`` between parts.
        settled: Whether its final form arrived.
        encrypted: Whether its values arrived.
        tail: The key of the unit that a length limit cuts if this item is the last.
        agent: The name of the agent below the root that wrote it, if what it says is kept apart.
    """

    type: str
    key: str
    index: int
    traits: VendorTraits
    id: str = ""
    call: str = ""
    streamed: bool = False
    heard: set[int] = field(default_factory=set)
    part: int | None = None
    settled: bool = False
    encrypted: bool = False
    tail: str | None = None
    agent: str = ""


# -- how an item begins


def announce(item: OutputItem, source: JSONObject, path: str, *, alone: bool) -> list[Delta]:
    """Return what can be shown of an item before its content arrives.

    Unless it is ``alone``, so that no other item is open, only client calls are announced: the parts must
    have the order of the items, and the other item's text or result may still arrive.
    """
    item.id = string(source, "id", path)
    if item.type == REASONING and alone and item.id:
        return [ReasoningDelta(key=item.key, item_id=item.id)]
    server = _is_server(item, source, path)
    if item.type not in _ANNOUNCED or (server and not alone):
        return []
    call, name = _call_id(item, source, path), _name(item, source, path)
    if not (call and name):
        return []
    item.call = call
    return [ToolCallDelta(call, name, server=server)]


def _call_id(item: OutputItem, source: JSONObject, path: str) -> str:
    return item.call or string(source, "call_id", path) or string(source, "id", path)


def _name(item: OutputItem, source: JSONObject, path: str) -> str:
    named = string(source, "name", path)
    return named if named or item.type in (FUNCTION, CUSTOM) else item.type.removesuffix("_call")


def _is_server(item: OutputItem, source: JSONObject, path: str) -> bool:
    if item.type == CUSTOM:
        return item.traits.custom_calls_on_server
    if item.type == "shell_call":
        return string(obj(source, "environment", path), "type", path) not in ("", "local")
    if item.type == "tool_search_call":
        return source.get("execution") != "client"
    return item.type in _SERVER_CALLS


# -- how an item grows


def grow(item: OutputItem, form: str, text: str, index: int, *, whole: bool) -> list[Delta]:
    """Decode a fragment of an open item's text: its form, a key of ``_GROWERS``, and the number of its part.

    The ``whole`` text of a part counts only if the item had no fragments, because Bedrock numbers a part
    differently in its fragments and at its end.
    """
    if whole:
        item.part = None
    unnamed = form in _CALL_FORMS and not item.call
    if not text or item.settled or unnamed or (whole and item.streamed):
        return []
    deltas = _GROWERS[form](item, text, index, whole)
    item.streamed = item.streamed or not whole
    item.heard.add(index)
    return deltas


def _grow_raw(item: OutputItem, text: str, index: int, whole: bool) -> list[Delta]:
    if item.part is None:
        # The final form of an item counts from 0. Some servers number every fragment, so events end parts.
        number = max(index - item.traits.first_raw_part, 0)
        item.part = None if whole else number
    else:
        number = item.part
    return [ReasoningDelta(text, key=item.key, channel="raw", index=number)]


def _grow_input(item: OutputItem, text: str, index: int, whole: bool) -> list[Delta]:
    """Write free text as the string of ``{"input": …}``, which `settle` ends.

    Fragments are escaped separately; halves of a surrogate pair become two escapes, which JSON joins.
    """
    if whole:
        return [ToolCallDelta(item.call, "", compact_json({"input": text}))]
    opening = "" if item.streamed else '{"input":"'
    return [ToolCallDelta(item.call, "", opening + compact_json(text)[1:-1])]


_GROWERS: dict[str, Callable[[OutputItem, str, int, bool], list[Delta]]] = {
    "summary": lambda item, text, index, whole: [
        ReasoningDelta(text, key=item.key, channel="summary", index=index)
    ],
    "raw": _grow_raw,
    "text": lambda item, text, index, whole: [TextDelta(text, key=f"{item.key}:{index}")],
    "refusal": lambda item, text, index, whole: [
        TextDelta(text, key=f"{item.key}:{index}", ext={"type": "refusal"})
    ],
    "arguments": lambda item, text, index, whole: [ToolCallDelta(item.call, "", text)],
    "input": _grow_input,
}
_CALL_FORMS = frozenset({"arguments", "input"})


# -- how an item ends


def settle(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    """Return what the final form of an item adds, and end its units.

    Unknown items are kept verbatim, because they may have to be returned.
    """
    return _SETTLERS.get(item.type, _settle_native)(item, source, path)


def _settle_native(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    return [NativeDelta(f"openai.{item.type}", source)]


def _settle_reasoning(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    segments = [
        ReasoningDelta(text, key=item.key, channel=channel, index=index)
        for name, channel in _CHANNELS.items()
        for index, part in enumerate(array(source, name, path))
        if (text := string(part, "text", f"{path}/{name}/{index}"))
    ]
    ext = other_fields(source, *_REASONING_FIELDS) | _notes(source)
    identity = string(source, "id", path)
    deltas: list[Delta] = []
    if identity or ext:
        deltas.append(ReasoningDelta(key=item.key, item_id=identity or None, ext=ext or None))
    deltas += [] if item.heard else segments
    deltas += late_values(item, source, path)
    return [*deltas, CloseDelta(key=item.key, status=_status(source))]


def _notes(source: JSONObject) -> JSONObject:
    """Note an empty part at the end, which leaves no gap between numbers, and other types of raw parts."""
    listed = {name: source.get(name) or [] for name in _CHANNELS}
    notes: JSONObject = {
        f"{name}_parts": len(parts) for name, parts in listed.items() if parts and not parts[-1].get("text")
    }
    if any(part.get("type") != RAW_TEXT for part in listed["content"]):  # Open Responses
        textless = ({key: part[key] for key in part if key != "text"} for part in listed["content"])
        notes["content_types"] = list(textless)
    return notes


def late_values(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    """Return the values of a reasoning item, if none arrived yet."""
    kinds = {"encrypted_content": item.traits.encrypted_kind, "signature": SIGNATURE}
    found: list[Delta] = [
        OpaqueDelta(Opaque(kind, value), key=item.key)
        for name, kind in kinds.items()
        if kind and not item.encrypted and (value := string(source, name, path))
    ]
    item.encrypted = item.encrypted or bool(found)
    return found


def _settle_message(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    if string(source, "role", path) not in ("", "assistant"):
        return _settle_native(item, source, path)
    content = array(source, "content", path)
    texts = [_spoken_text(part, f"{path}/content/{number}") for number, part in enumerate(content)]
    if content and not item.heard and all(text is None for text in texts):
        return _settle_native(item, source, path)
    parts = [(n, text, _part_ext(source, content[n])) for n, text in enumerate(texts) if text]
    if not parts:
        empty = {} if item.heard else {"explicit_empty": True}
        parts = [(0, "", _part_ext(source, {}) | empty)]
    return _end_message(item, parts, _status(source))


def _spoken_text(part: JSONObject, path: str) -> str | None:
    """Return the text of a content part; ``None`` for parts of other kinds."""
    field = _SPOKEN.get(string(part, "type", path))
    return None if field is None else string(part, field, path)


def _end_message(item: OutputItem, parts: list[tuple[int, str, JSONObject]], status: Status) -> list[Delta]:
    heard = sorted(item.heard)
    numbers = heard if len(heard) == len(parts) else [number for number, _, _ in parts]
    deltas: list[Delta] = []
    for number, (_, text, ext) in zip(numbers, parts, strict=True):
        key = f"{item.key}:{number}"
        deltas += [TextDelta("" if heard else text, key=key, ext=ext or None), CloseDelta(key=key)]
    # A message is cut at its end, so the parts before the last one are complete.
    return [*deltas[:-1], CloseDelta(key=f"{item.key}:{numbers[-1]}", status=status)]


def _part_ext(source: JSONObject, part: JSONObject) -> JSONObject:
    ext = {name: source[name] for name in ("id", "phase", "agent") if source.get(name)}
    if part.get("annotations"):
        ext["annotations"] = part["annotations"]
    if part.get("type") == "refusal":
        ext["type"] = "refusal"
    return ext


def _settle_function(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    call = _call_id(item, source, path)
    ext = other_fields(source, "type", "call_id", "name", "arguments", "status", "thought_signature")
    deltas = _end_call(item, source, path, as_text(source.get("arguments")), ext=ext)
    if signature := string(source, "thought_signature", path):
        opaque = Opaque(item.traits.thought_signature_kind, signature, attach=f"tool_call:{call}")
        deltas.insert(1, OpaqueDelta(opaque, key=call))
    return deltas


def _settle_custom(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    whole = compact_json({"input": string(source, "input", path)})
    if _is_server(item, source, path):
        return _settle_server(item, source, path, whole)
    ext = {"type": CUSTOM} | other_fields(source, "type", "call_id", "name", "input", "status")
    return _end_call(item, source, path, whole, ext=ext)


def _settle_action(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    server = _is_server(item, source, path)
    if server and item.type == "tool_search_call":
        return _settle_server(item, source, path)
    fields = ACTIONS[item.type]
    arguments = as_text({name: source[name] for name in fields if source.get(name) is not None})
    apart = ("call_id", *fields)
    ext = {name: value for name, value in source.items() if value is not None and name not in apart}
    return _end_call(item, source, path, arguments, ext=ext, server=server)


def _settle_server(
    item: OutputItem, source: JSONObject, path: str, arguments: str | None = None
) -> list[Delta]:
    """End a call of the provider's own; the item, which has both call and result, goes with the result."""
    given = _server_arguments(source) if arguments is None else arguments
    call = _call_id(item, source, path)
    result = ToolResultDelta(call, _server_result(source), error=_failure(source), native=source)
    return [*_end_call(item, source, path, given, server=True), result]


def _end_call(
    item: OutputItem,
    source: JSONObject,
    path: str,
    arguments: str,
    *,
    ext: JSONObject | None = None,
    server: bool = False,
) -> list[Delta]:
    call = _call_id(item, source, path)
    name = "" if item.call else _name(item, source, path)
    ending = '"}' if item.type == CUSTOM and item.streamed else ""
    text = ending if item.heard else arguments
    ended = CloseDelta(key=call, status=_status(source))
    return [ToolCallDelta(call, name, text, server=server, ext=ext or None), ended]


def _server_arguments(source: JSONObject) -> str:
    if source.get("arguments") is not None:
        return as_text(source["arguments"])
    action = source.get("action")
    fields = {name: source[name] for name in _SERVER_ARGUMENTS if source.get(name)}
    if isinstance(action, dict):
        fields |= {name: value for name, value in action.items() if name != "sources"}
    return as_text(fields or None)


def _server_result(source: JSONObject) -> str:
    action = source.get("action")
    found: list[Any] = [source.get(name) for name in _SERVER_RESULTS]
    found.append(action.get("sources") if isinstance(action, dict) else None)
    return next((as_text(value) for value in found if value), "")


def _failure(source: JSONObject) -> str | None:
    """Return why a call of the provider's own failed; ``None`` if it did not."""
    error = source.get("error")
    words = error.get("message") if isinstance(error, dict) else error
    return None if not error else words if isinstance(words, str) else ""


def _settle_output(item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
    """Return the result of a hosted shell, which is a separate item."""
    return [ToolResultDelta(string(source, "call_id", path), as_text(source.get("output")), native=source)]


def _status(source: JSONObject) -> Status:
    return "incomplete" if source.get("status") == "incomplete" else "complete"


_REASONING_FIELDS = ("type", "id", "summary", "content", "encrypted_content", "signature", "status")
_ANNOUNCED = frozenset({FUNCTION, CUSTOM, *_SERVER_CALLS})

_SETTLERS: dict[str, Callable[[OutputItem, JSONObject, str], list[Delta]]] = {
    REASONING: _settle_reasoning,
    MESSAGE: _settle_message,
    FUNCTION: _settle_function,
    CUSTOM: _settle_custom,
    "shell_call_output": _settle_output,
    **dict.fromkeys(ACTIONS, _settle_action),
    **dict.fromkeys(_SERVER_CALLS, _settle_server),
}
