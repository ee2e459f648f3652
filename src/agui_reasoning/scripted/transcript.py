"""Who said what in a provider's request, and in an answer, as a flat list.

Read from the JSON itself, without the package's decoders and encoders: what is found here can judge them. An
answer is first written as a later request has to repeat it, so that both are read by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from agui_reasoning.scripted.exchange import Exchange, is_whole, payloads

__all__ = [
    "APIS",
    "ARTEFACTS",
    "CALL_ID",
    "ENCRYPTED_CONTENT",
    "ITEM_ID",
    "REASONING_CONTENT",
    "REASONING_ID",
    "REDACTED",
    "RESULT",
    "SIGNATURE",
    "THINKING",
    "Entry",
    "Speaker",
    "read_answer",
    "read_request",
]

JSONObject: TypeAlias = dict[str, Any]

Speaker: TypeAlias = Literal["user", "model", "tool"]

THINKING: Final = "thinking"
SIGNATURE: Final = "signature"
REDACTED: Final = "redacted thinking"
SUMMARY: Final = "reasoning summary"
ENCRYPTED_CONTENT: Final = "encrypted content"
REASONING_CONTENT: Final = "reasoning content"
REASONING_ID: Final = "reasoning id"
ITEM_ID: Final = "item id"
PHASE: Final = "phase"
CALL_ID: Final = "call id"
RESULT: Final = "result"
_WORDS: Final = "words"

ARTEFACTS: Final = frozenset(
    {
        *(THINKING, SIGNATURE, REDACTED, SUMMARY, ENCRYPTED_CONTENT, REASONING_CONTENT),
        *(REASONING_ID, ITEM_ID, PHASE, CALL_ID),
    }
)
"""The kinds of what a model says for its provider to see again. Its words are for people."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that somebody said.

    Attributes:
        speaker: Who.
        kind: One of `ARTEFACTS`, `RESULT` (then the value is the id of the call), or words.
        path: Where it stands, as a JSON pointer into the request.
        value: The value; words are not repeated.
    """

    speaker: Speaker
    kind: str
    path: str
    value: str = field(default="", repr=False)


def read_request(api: str, body: Mapping[str, Any]) -> list[Entry]:
    """What is said in a request, in order; what cannot be read is left out.

    Args:
        api: One of `APIS`.
        body: The request.

    Examples:
        >>> thinking = {"type": "thinking", "thinking": "Wet?", "signature": "U0lH"}
        >>> messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [thinking]}]
        >>> for entry in read_request("anthropic-messages", {"messages": messages}):
        ...     print(entry.speaker, entry.kind, entry.path)
        user words /messages/0
        model thinking /messages/1/content/0/thinking
        model signature /messages/1/content/0/signature
    """
    return list(_REQUESTS[api](body))


def read_answer(exchange: Exchange) -> list[Entry]:
    """What the provider said in an exchange of one of `APIS`, as a request that holds nothing else."""
    whole, streamed = _ANSWERS[exchange["api"]]
    found = _objects([exchange["response"]] if is_whole(exchange) else payloads(exchange))
    repeated = whole(next(found, {})) if is_whole(exchange) else streamed(found)
    return read_request(exchange["api"], repeated)


# -- requests

_Fields: TypeAlias = Mapping[str, Mapping[str, str]]
"""For each type of object, the kinds of its fields."""

_ROLES: dict[Any, Speaker] = {"user": "user", "assistant": "model", "tool": "tool"}

_BLOCKS: _Fields = {
    "thinking": {"thinking": THINKING, "signature": SIGNATURE},
    "redacted_thinking": {"data": REDACTED},
    "tool_use": {"id": CALL_ID},
    "tool_result": {"tool_use_id": RESULT},
}
_ITEMS: _Fields = {
    "reasoning": {"id": REASONING_ID, "encrypted_content": ENCRYPTED_CONTENT},
    "summary_text": {"text": SUMMARY},
    "message": {"id": ITEM_ID, "phase": PHASE},
    "function_call": {"id": ITEM_ID, "call_id": CALL_ID},
    "function_call_output": {"call_id": RESULT},
}
_MESSAGES: _Fields = {
    "assistant": {"reasoning_content": REASONING_CONTENT},
    "function": {"id": CALL_ID},
    "tool": {"tool_call_id": RESULT},
}


def _anthropic_request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, message in _members(body, "messages", ""):
        speaker = _ROLES.get(message.get("role"), "user")
        if isinstance(message.get("content"), str):
            yield Entry(speaker, _WORDS, path)
        for place, block in _members(message, "content", path):
            is_result = block.get("type") == "tool_result"
            yield from _entries("tool" if is_result else speaker, block, block.get("type"), place, _BLOCKS)


def _openai_request(body: Mapping[str, Any]) -> Iterator[Entry]:
    if isinstance(body.get("input"), str):
        yield Entry("user", _WORDS, "/input")
    for path, item in _members(body, "input", ""):
        kind = item.get("type", "message")
        is_result = str(kind).endswith("_output")
        speaker = "tool" if is_result else _ROLES.get(item.get("role", "assistant"))
        if speaker is None:
            continue  # instructions
        yield from _entries(speaker, item, kind, path, _ITEMS)
        for place, part in _members(item, "summary", path):
            yield from _entries(speaker, part, part.get("type"), place, _ITEMS)


def _chat_request(body: Mapping[str, Any]) -> Iterator[Entry]:
    for path, message in _members(body, "messages", ""):
        speaker = _ROLES.get(message.get("role"))
        if speaker is None:
            continue  # instructions
        yield from _entries(speaker, message, message["role"], path, _MESSAGES)
        for place, call in _members(message, "tool_calls", path):
            yield from _entries(speaker, call, "function", place, _MESSAGES)


def _entries(
    speaker: Speaker, holder: Mapping[str, Any], kind: Any, path: str, fields: _Fields
) -> Iterator[Entry]:
    """The fields of an object that count; an object without any is words."""
    counting = fields.get(kind, {}) if isinstance(kind, str) else {}
    found = [(name, holder[name]) for name in counting if isinstance(holder.get(name), str)]
    yield from (Entry(speaker, counting[name], f"{path}/{name}", value) for name, value in found)
    if not found:
        yield Entry(speaker, _WORDS, path)


def _members(holder: Mapping[str, Any], name: str, path: str) -> Iterator[tuple[str, JSONObject]]:
    """The objects in a list, each with its JSON pointer; none where there is no list."""
    members = holder.get(name)
    for number, member in enumerate(members if isinstance(members, list) else ()):
        if isinstance(member, dict):
            yield f"{path}/{name}/{number}", member


_REQUESTS: dict[str, Callable[[Mapping[str, Any]], Iterator[Entry]]] = {
    "anthropic-messages": _anthropic_request,
    "openai-responses": _openai_request,
    "openai-chat": _chat_request,
}

APIS: Final = tuple(sorted(_REQUESTS))
"""The ids of the APIs that can be read."""


# -- answers, as a later request repeats them


def _objects(found: Iterable[Any]) -> Iterator[JSONObject]:
    return (payload for payload in found if isinstance(payload, dict))


def _anthropic_answer(found: Iterator[JSONObject]) -> JSONObject:
    blocks: dict[Any, JSONObject] = {}
    for payload in found:
        block = blocks.setdefault(payload.get("index"), {})
        block |= payload.get("content_block") or {}
        delta = payload.get("delta") or {}
        for name in {"thinking", "signature"} & set(delta):
            block[name] = block.get(name, "") + delta[name]
    return _said_by_anthropic({"content": list(blocks.values())})


def _said_by_anthropic(response: JSONObject) -> JSONObject:
    return {"messages": [{"role": "assistant", "content": response.get("content")}]}


def _openai_answer(found: Iterator[JSONObject]) -> JSONObject:
    """Only an item's final form counts."""
    return {"input": [one.get("item") for one in found if one.get("type") == "response.output_item.done"]}


def _chat_answer(found: Iterator[JSONObject]) -> JSONObject:
    deltas = [choice.get("delta") or {} for one in found for choice in one.get("choices") or ()]
    reasoning = [delta.get("reasoning_content") for delta in deltas]
    calls = [call for delta in deltas for call in delta.get("tool_calls") or () if call.get("id")]
    message: JSONObject = {"role": "assistant", "tool_calls": calls}
    if any(isinstance(piece, str) for piece in reasoning):
        message["reasoning_content"] = "".join(piece or "" for piece in reasoning)
    return {"messages": [message]}


def _said_in_chat(response: JSONObject) -> JSONObject:
    return {"messages": [choice.get("message") for choice in response.get("choices") or ()]}


_ANSWERS: dict[
    str, tuple[Callable[[JSONObject], JSONObject], Callable[[Iterator[JSONObject]], JSONObject]]
] = {
    "anthropic-messages": (_said_by_anthropic, _anthropic_answer),
    "openai-responses": (lambda response: {"input": response.get("output")}, _openai_answer),
    "openai-chat": (_said_in_chat, _chat_answer),
}
