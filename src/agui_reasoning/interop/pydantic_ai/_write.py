"""Writes the conversation of a request as the messages of Pydantic AI."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from ag_ui.core import UserMessage

from agui_reasoning._media import media_type, source_of
from agui_reasoning.interop._content import MEDIA_TYPES
from agui_reasoning.interop.pydantic_ai._spelling import (
    SPELLINGS,
    THOUGHT_SIGNATURE,
    Spelling,
)
from agui_reasoning.parts import Origin, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.providers.encoding import MessageContent
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.request import PreparedConversation, PreparedResponse

__all__ = ["message_dicts"]

_LEFT_OUT: Final = "Tools that the provider runs itself, and its own blocks, are left out for Pydantic AI."


def message_dicts(
    conversation: PreparedConversation, warn: Callable[[list[str]], None], deferred: Collection[str] = ()
) -> list[JSONObject]:
    """Write the messages, in the form that ``ModelMessagesTypeAdapter`` validates.

    Args:
        conversation: The conversation of a request.
        warn: Called with a sentence if something has no place in these messages.
        deferred: The IDs of calls that the last response leaves without a result.
    """
    items, provider = conversation.items, conversation.target.provider
    written: list[JSONObject] = []
    for number, item in enumerate(items):
        if isinstance(item, PreparedResponse):
            is_last = not any(isinstance(later, PreparedResponse) for later in items[number + 1 :])
            written += _exchange(item, conversation.target, deferred if is_last else ())
            if not all(map(_has_place, item.parts)):
                warn([_LEFT_OUT])
        elif isinstance(item, UserMessage):
            content = _contents(item.content, provider)
            written.append(_request({"part_kind": "user-prompt", "content": content}))
        else:
            written.append(_request({"part_kind": "system-prompt", "content": item.content}))
    return written


def _exchange(item: PreparedResponse, target: Origin, deferred: Collection[str]) -> Iterator[JSONObject]:
    """Write a response, and the results of its calls."""
    spelling = SPELLINGS.get(target.api or "", Spelling())
    parts = [
        one
        for part in item.parts
        if _has_place(part)
        for one in _WRITERS[type(part)](part, spelling, target.provider)
    ]
    if parts:
        origin = {"provider_name": target.provider, "model_name": target.model}
        yield {"kind": "response", "parts": parts, **origin}
    names = {part.id: part.name for part in item.parts if isinstance(part, ToolCallPart)}
    for result in item.results:
        if result.tool_call_id not in deferred:
            told = _return(result, names.get(result.tool_call_id, "unknown"), target.provider)
            failed = spelling.marks_errors and result.error is not None
            yield _request({**told, "outcome": "failed" if failed else "success"})


def _request(part: JSONObject) -> JSONObject:
    return {"kind": "request", "parts": [part]}


def _return(result: ToolResultPart, name: str, provider: str | None) -> JSONObject:
    told = {"content": _contents(result.content, provider), "tool_call_id": result.tool_call_id}
    return {"part_kind": "tool-return", "tool_name": name, **told}


def _has_place(part: Part) -> bool:
    """Return whether messages have a place for a part; calls and results of server tools go in pairs."""
    return type(part) in _WRITERS and not (isinstance(part, ToolCallPart) and part.server)


def _thinking(part: ReasoningPart, spelling: Spelling, provider: str | None) -> list[JSONObject]:
    """Write one part; items of the Responses API become a part per segment, the first with the value."""
    redacted_id, signature = spelling.written(part.opaque)
    made = {"part_kind": "thinking", "id": redacted_id or _id_of(part, spelling), "provider_name": provider}
    if not spelling.id_is_item:
        return [{**made, "content": part.text, "signature": signature}]
    summary = [one.text for one in part.segments if one.channel == spelling.channel] or [""]
    raw = [one.text for one in part.segments if one.channel == "text"]
    details = {"provider_details": {"raw_content": raw}} if raw else {}
    first = {**made, "content": summary[0], "signature": signature, **details}
    return [first, *({**made, "content": text} for text in summary[1:])]


def _id_of(part: ReasoningPart, spelling: Spelling) -> str | None:
    if spelling.id_is_field:
        field: str | None = (part.ext or {}).get("field")
        return field
    return part.item_id


def _text(part: TextPart, spelling: Spelling, provider: str | None) -> list[JSONObject]:
    ext = part.ext or {}
    details = _details(part) | ({"phase": ext["phase"]} if "phase" in ext else {})
    made = {"part_kind": "text", "content": part.text, "id": ext.get("id")}
    return [made | _named(provider, details, ext.get("id"))]


def _call(part: ToolCallPart, spelling: Spelling, provider: str | None) -> list[JSONObject]:
    native_id = (part.ext or {}).get("id")
    made = {"tool_name": part.name, "args": part.arguments, "tool_call_id": part.id, "id": native_id}
    return [{"part_kind": "tool-call", **made} | _named(provider, _details(part), native_id)]


def _details(part: TextPart | ToolCallPart) -> JSONObject:
    return {THOUGHT_SIGNATURE: part.opaque[0].value} if part.opaque else {}


def _named(provider: str | None, details: JSONObject, native_id: Any) -> JSONObject:
    """Name the provider, as IDs and details require."""
    if not details and native_id is None:
        return {}
    return {"provider_name": provider, "provider_details": details or None}


_WRITERS: Final[Mapping[type, Callable[[Any, Spelling, str | None], list[JSONObject]]]] = {
    ReasoningPart: _thinking,
    TextPart: _text,
    ToolCallPart: _call,
}


# -- content


def _contents(content: MessageContent, provider: str | None) -> Any:
    """Write what a user said or a tool returned: a string, or a list if there are several parts."""
    if isinstance(content, str):
        return content
    written = [one for part in content if (one := _content(part, provider)) != ""]
    return written[0] if [type(one) for one in written] == [str] else written


def _content(part: Any, provider: str | None) -> Any:
    """Write text as a string, and media as data, as a URL or as a file at the provider."""
    if part.type == "text":
        return part.text
    place, value = source_of(part)
    typed = {"media_type": media_type(part, MEDIA_TYPES[part.type])}
    if place == "data":
        return {"kind": "binary", "data": value, **typed}
    if place == "file":
        return {"kind": "uploaded-file", "file_id": value, "provider_name": provider, **typed}
    return {"kind": f"{part.type}-url", "url": value, **typed}
