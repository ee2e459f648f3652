"""Writes a request's body as the messages of Pydantic AI: a function per API cuts it into entries.

Answers of the model are decoded as whole responses, so that they become the same parts as in a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import ToolMessage

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.interop._content import media_of, responses_in
from agui_reasoning.interop.pydantic_ai._spelling import REDACTED_ID, SPELLINGS, THOUGHT_SIGNATURE, Spelling
from agui_reasoning.parts import Origin, Part, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers import decode_response
from agui_reasoning.providers.payload import JSONObject

if TYPE_CHECKING:
    from agui_reasoning.request import History

__all__ = ["message_dicts", "with_marks"]


@dataclass(frozen=True, slots=True)
class _Result:
    """The result of a call."""

    call_id: str
    content: Any
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    """One place of a conversation: what the model answered (a whole response), or what it was told."""

    answer: JSONObject | None = None
    instructions: str | None = None
    user: Any = None
    result: _Result | None = None


_INCOMPLETE: Final = "incomplete"
"""A mark on messages that lack a part, until they are returned."""

_LEFT_OUT: Final = "Tools that the provider runs itself, and its own blocks, are left out for Pydantic AI."


def with_marks(history: History, call_ids: Collection[str], mark: str) -> History:
    """Answer calls of the last response with a mark, which `message_dicts` leaves out."""
    last = history.turns[-1].parts if call_ids and history.turns else ()
    calls = [part for part in last if isinstance(part, ToolCallPart)]
    deferred = [
        call.id for call in calls if call.id in call_ids or (call.ext or {}).get("native_id") in call_ids
    ]
    return history.with_items(
        ToolMessage(id=mark, tool_call_id=call_id, content=mark) for call_id in deferred
    )


def message_dicts(
    target: Origin, body: Mapping[str, Any], warn: Callable[[list[str]], None], mark: str | None = None
) -> list[JSONObject]:
    """Write the messages, in the form that ``ModelMessagesTypeAdapter`` validates.

    Args:
        target: The target of the request.
        body: Its body.
        warn: Called with a sentence if something has no place in these messages.
        mark: The result of calls that have none.

    Raises:
        ConfigurationError: Requests of this API cannot be cut (``unknown_api``).
    """
    cut = _CUTS.get(target.api or "")
    if cut is None:
        raise ConfigurationError(
            f"Conversations for {target.api!r} cannot be written as messages of Pydantic AI.",
            code="unknown_api",
            hint=f"Pass one of these to the run: {', '.join(_CUTS)}.",
        )
    names: dict[str, str] = {}
    entries = (entry for entry in cut(body) if entry.result is None or entry.result.content != mark)
    messages = [message for entry in entries for message in _messages(entry, target, names)]
    if any(message.pop(_INCOMPLETE, False) for message in messages):
        warn([_LEFT_OUT])
    return messages


def _messages(entry: _Entry, target: Origin, names: dict[str, str]) -> Iterator[JSONObject]:
    if entry.answer is not None:
        yield _response(entry.answer, target, names)
    elif entry.result is not None:
        yield _request(_return(entry.result, names, target.provider))
    elif entry.instructions is not None:
        yield _request({"part_kind": "system-prompt", "content": entry.instructions})
    else:
        yield _request({"part_kind": "user-prompt", "content": _contents(entry.user, target.provider)})


def _request(part: JSONObject) -> JSONObject:
    return {"kind": "request", "parts": [part]}


def _return(result: _Result, names: Mapping[str, str], provider: str | None) -> JSONObject:
    name, content = names.get(result.call_id, "unknown"), _contents(result.content, provider)
    told = {"tool_name": name, "content": content, "tool_call_id": result.call_id}
    return {"part_kind": "tool-return", **told, "outcome": "failed" if result.failed else "success"}


def _response(answer: JSONObject, target: Origin, names: dict[str, str]) -> JSONObject:
    parts = decode_response(target.api or "", answer, provider=target.provider, model=target.model)
    names |= {part.id: part.name for part in parts if isinstance(part, ToolCallPart)}
    spelling = SPELLINGS[target.api or ""]
    kept = [part for part in parts if _has_place(part)]
    written = [one for part in kept for one in _WRITERS[type(part)](part, spelling, target.provider)]
    origin = {"provider_name": target.provider, "model_name": target.model}
    return {"kind": "response", "parts": written, _INCOMPLETE: len(kept) < len(parts), **origin}


def _has_place(part: Part) -> bool:
    """Return whether messages have a place for a part; calls and results of server tools go in pairs."""
    return type(part) in _WRITERS and not (isinstance(part, ToolCallPart) and part.server)


def _thinking(part: ReasoningPart, spelling: Spelling, provider: str | None) -> list[JSONObject]:
    """Write one part; items of the Responses API become a part per segment, the first with the value."""
    value = part.opaque[0] if part.opaque else None
    redacted = value is not None and value.kind == spelling.redacted
    part_id = REDACTED_ID if redacted else _id_of(part, spelling)
    made = {"part_kind": "thinking", "id": part_id, "provider_name": provider}
    signature = None if value is None else value.value
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


# -- bodies


def _anthropic(body: Mapping[str, Any]) -> Iterator[_Entry]:
    if system := body.get("system"):
        yield _Entry(instructions=_joined(system))
    for message in body["messages"]:
        if message["role"] == "assistant":
            yield _Entry(answer=message)
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for is_result, group in groupby(blocks, lambda block: block["type"] == "tool_result"):
            if not is_result:
                yield _Entry(user=list(group))
                continue
            for block in group:
                failed = bool(block.get("is_error"))
                yield _Entry(result=_Result(block["tool_use_id"], block.get("content", ""), failed))


def _responses(body: Mapping[str, Any]) -> Iterator[_Entry]:
    for is_response, items in responses_in(body["input"]):
        if is_response:
            yield _Entry(answer={"output": [_item(item) for item in items], "status": "completed"})
            continue
        for item in items:
            if "output" in item:
                yield _Entry(result=_Result(item["call_id"], item["output"]))
            elif item["role"] in ("system", "developer"):
                yield _Entry(instructions=_joined(item["content"]))
            else:
                yield _Entry(user=item["content"])


def _item(item: Mapping[str, Any]) -> JSONObject:
    """Write an answer of another provider, which has the short form of input messages, as an item."""
    if "type" in item:
        return dict(item)
    text = {"type": "output_text", "text": _joined(item["content"]), "annotations": []}
    return {"type": "message", "role": "assistant", "content": [text]}


def _chat(body: Mapping[str, Any]) -> Iterator[_Entry]:
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        if role == "assistant":
            yield _Entry(answer={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        elif role == "tool":
            yield _Entry(result=_Result(message["tool_call_id"], content))
        elif role in ("system", "developer"):
            yield _Entry(instructions=_joined(content))
        else:
            yield _Entry(user=content)


def _gemini(body: Mapping[str, Any]) -> Iterator[_Entry]:
    config = body.get("config", {})
    if system := config.get("systemInstruction"):
        yield _Entry(instructions=_joined(system["parts"] if isinstance(system, Mapping) else system))
    for content in body["contents"]:
        if content["role"] == "model":
            yield _Entry(answer={"candidates": [{"content": content, "finishReason": "STOP"}]})
            continue
        for is_result, group in groupby(content["parts"], lambda part: "functionResponse" in part):
            if is_result:
                yield from (_Entry(result=_gemini_result(part["functionResponse"])) for part in group)
            else:
                yield _Entry(user=list(group))


def _gemini_result(given: Mapping[str, Any]) -> _Result:
    response = given["response"]
    text = response.get("error", response.get("result", ""))
    return _Result(given.get("id") or given["name"], text, "error" in response)


_CUTS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[_Entry]]]] = {
    "anthropic-messages": _anthropic,
    "openai-responses": _responses,
    "openai-chat": _chat,
    "gemini": _gemini,
}


# -- content


def _joined(content: Any) -> str:
    """Return the text of instructions or of a result."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if "text" in part)


def _contents(content: Any, provider: str | None) -> Any:
    """Write what a user said or a tool returned: a string, or a list if there are several parts."""
    if isinstance(content, str):
        return content
    written = [one for part in content if (one := _content(part, provider)) is not None]
    return written[0] if [type(one) for one in written] == [str] else written


def _content(part: Mapping[str, Any], provider: str | None) -> Any:
    """Write text as a string, and media as data, as a URL or as a file at the provider."""
    media = media_of(part)
    if media is None:
        return part.get("text")
    typed = {"media_type": media.media_type}
    if media.place == "data":
        return {"kind": "binary", "data": media.value, **typed}
    if media.place == "file":
        return {"kind": "uploaded-file", "file_id": media.value, "provider_name": provider, **typed}
    return {"kind": f"{media.type}-url", "url": media.value, **typed}
