"""Writes a request's body as the messages of Pydantic AI: a function per API cuts it into entries.

Answers of the model are decoded as whole responses, so that they become the same parts as in a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from agui_reasoning.errors import ConfigurationError
from agui_reasoning.interop._content import responses_in
from agui_reasoning.interop.pydantic_ai._spelling import REDACTED_ID, SPELLINGS, THOUGHT_SIGNATURE, Spelling
from agui_reasoning.parts import Origin, Part, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers import decode_response
from agui_reasoning.providers.payload import JSONObject

__all__ = ["message_dicts"]


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


def message_dicts(
    target: Origin, body: Mapping[str, Any], warn: Callable[[list[str]], None]
) -> list[JSONObject]:
    """Write the messages, in the form that ``ModelMessagesTypeAdapter`` validates.

    Args:
        target: The target of the request.
        body: Its body.
        warn: Called with a sentence if something has no place in these messages.

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
    messages = [message for entry in cut(body) for message in _messages(entry, target, names)]
    if any(message.pop(_INCOMPLETE, False) for message in messages):
        warn([_LEFT_OUT])
    return messages


def _messages(entry: _Entry, target: Origin, names: dict[str, str]) -> Iterator[JSONObject]:
    if entry.answer is not None:
        yield _response(entry.answer, target, names)
    elif entry.result is not None:
        yield _request(_return(entry.result, names))
    elif entry.instructions is not None:
        yield _request({"part_kind": "system-prompt", "content": entry.instructions})
    else:
        yield _request({"part_kind": "user-prompt", "content": entry.user})


def _request(part: JSONObject) -> JSONObject:
    return {"kind": "request", "parts": [part]}


def _return(result: _Result, names: Mapping[str, str]) -> JSONObject:
    name = names.get(result.call_id, "unknown")
    told = {"tool_name": name, "content": result.content, "tool_call_id": result.call_id}
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
                yield _Entry(user=_contents(group))
                continue
            for block in group:
                failed = bool(block.get("is_error"))
                yield _Entry(result=_Result(block["tool_use_id"], _joined(block.get("content", "")), failed))


def _responses(body: Mapping[str, Any]) -> Iterator[_Entry]:
    for is_response, items in responses_in(body["input"]):
        if is_response:
            yield _Entry(answer={"output": [_item(item) for item in items], "status": "completed"})
            continue
        for item in items:
            if "output" in item:
                yield _Entry(result=_Result(item["call_id"], _joined(item["output"])))
            elif item["role"] in ("system", "developer"):
                yield _Entry(instructions=_joined(item["content"]))
            else:
                yield _Entry(user=_contents(item["content"]))


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
            yield _Entry(result=_Result(message["tool_call_id"], _joined(content)))
        elif role in ("system", "developer"):
            yield _Entry(instructions=_joined(content))
        else:
            yield _Entry(user=_contents(content))


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
                yield _Entry(user=_contents(group))


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


def _contents(content: Any) -> Any:
    """Write what a user said: a string, or a list if there is more than text."""
    if isinstance(content, str):
        return content
    written = [_content(part) for part in content]
    texts = [part for part in written if isinstance(part, str)]
    return "\n".join(texts) if len(texts) == len(written) else [part for part in written if part is not None]


def _content(part: Mapping[str, Any]) -> Any:
    """Write text as a string, and media as a URL or as base64."""
    if "text" in part and isinstance(part["text"], str):
        return part["text"]
    url, data, media_type = _media(part)
    if data is not None:
        return {"kind": "binary", "data": data, "media_type": media_type}
    return None if url is None else {"kind": _url_kind(part, media_type), "url": url}


def _media(part: Mapping[str, Any]) -> tuple[str | None, str | None, str]:
    """Return the URL or the base64 data of a part, and its media type."""
    if source := part.get("source"):
        return source.get("url"), source.get("data"), source.get("media_type", "image/*")
    if inline := part.get("inlineData"):
        return None, inline["data"], inline["mimeType"]
    if file := part.get("fileData"):
        return file["fileUri"], None, file.get("mimeType", "")
    url = part.get("image_url") or part.get("file_url") or part.get("file_data")
    url = url.get("url") if isinstance(url, Mapping) else url
    if isinstance(url, str) and url.startswith("data:"):
        head, _, data = url.partition(",")
        return None, data, head[len("data:") :].partition(";")[0]
    return url, None, ""


def _url_kind(part: Mapping[str, Any], media_type: str) -> str:
    kind = media_type.partition("/")[0] or part.get("type", "")
    known = {"image": "image-url", "audio": "audio-url", "video": "video-url"}
    images = {"input_image", "image_url"}
    return "image-url" if kind in images else known.get(kind, "document-url")
