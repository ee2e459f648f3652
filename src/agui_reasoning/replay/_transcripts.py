"""Reads requests and responses of providers as flat lists of entries.

A table of paths per API says where the values are that must come back. It is applied to the JSON itself,
without decoder and encoder, and can thus verify them. A response is first converted to the form in which
requests repeat it, so that the same table reads both.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from agui_reasoning._strict_json import JSONObject

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
WORDS: Final = "words"

REASONING: Final = frozenset({THINKING, SIGNATURE, REDACTED, ENCRYPTED_CONTENT, REASONING_CONTENT})
VALUE_KINDS: Final = REASONING | {SUMMARY, REASONING_ID, ITEM_ID, PHASE, CALL_ID}
"""The kinds of entry that a provider requires back, unlike the model's words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One value in a request or response.

    Attributes:
        speaker: The speaker.
        kind: One of `VALUE_KINDS`, `RESULT` (then the value is the ID of the call), or `WORDS`.
        path: The position, as a JSON pointer into the request.
        value: The value; empty for words.
    """

    speaker: Speaker
    kind: str
    path: str
    value: str = field(default="", repr=False)


EntryFields: TypeAlias = Mapping[str, str]
"""The kind of each value of a request, by its path.

A path consists of names and ``*``, the objects in a list; ``*:a`` are those of type ``a``. A name with ``!b``
counts where there is no member ``b``.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """How the conversations of one API are read.

    Attributes:
        request: The values that requests contain. The first name of all paths is the list of messages.
        response: Converts the payloads of a stream, or a whole response as the only one, to such a request.
        bond: The kind of entry that may be returned only with the adjacent entries of ``bound``.
        bound: The kinds of these adjacent entries.
        alphabet: The characters of values that are spelled in two ways, as `str.translate` takes them.
    """

    request: EntryFields
    response: Callable[[Iterator[JSONObject]], JSONObject]
    bond: str = CALL_ID
    bound: frozenset[str] = REASONING
    alphabet: Mapping[int, int] = field(default_factory=dict)


# -- reading


def entries(body: Mapping[str, Any], transcript: Transcript) -> Iterator[Entry]:
    """Yield the entries of a request in order, skipping what cannot be read.

    An object in a list in which nothing is found is words.
    """
    for name, tree in _tree(transcript.request).items():
        if isinstance(body.get(name), str):
            yield Entry("user", WORDS, f"/{name}")
        for path, item in members(body, name, ""):
            speaker = speaker_of(item)
            if speaker is not None:
                yield from _object(item, tree["*"], path, speaker, transcript.alphabet)


def speaker_of(item: Mapping[str, Any]) -> Speaker | None:
    """Return the speaker of a message or an item; ``None`` for instructions."""
    role, kind = item.get("role"), str(item.get("type"))
    if role is not None or kind == "None":
        return _SPEAKERS.get(str(role or "user"))
    return _SPEAKERS.get(kind, "tool" if kind.endswith("_output") else "model")


_SPEAKERS: Final[Mapping[str, Speaker]] = {
    **dict.fromkeys(("user", "ROLE_USER", "user_input"), "user"),
    **dict.fromkeys(("assistant", "model", "ROLE_ASSISTANT", "model_output"), "model"),
    **dict.fromkeys(("tool", "ROLE_TOOL", "function_result"), "tool"),
}
"""The speaker for a role, or for the type of an item without one."""


def members(holder: Mapping[str, Any], name: str, path: str) -> Iterator[tuple[str, JSONObject]]:
    """Yield the objects in a list, each with its JSON pointer; none if there is no list."""
    listed = holder.get(name)
    for number, member in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(member, dict):
            yield f"{path}/{name}/{number}", member


def _tree(fields: EntryFields) -> dict[str, Any]:
    """Return the paths as nested objects: names, ``*`` with types below, and kinds at the leaves."""
    root: dict[str, Any] = {}
    for path, kind in fields.items():
        at, (*names, last) = root, path.split("/")
        for name in names:
            listed, _, type_ = name.partition(":")
            at = at.setdefault(listed, {})
            if listed == "*":
                at = at.setdefault(type_, {})
        at[last] = kind
    return root


def _object(
    item: JSONObject, by_type: Mapping[str, Any], path: str, speaker: Speaker, alphabet: Mapping[int, int]
) -> Iterator[Entry]:
    """Yield the entries of an object in a list, by the paths of any type and by those of its own."""
    paths = {**by_type.get("", {}), **by_type.get(str(item.get("type", "message")), {})}
    yield from list(_found(item, paths, path, speaker, alphabet)) or [Entry(speaker, WORDS, path)]


def _found(
    holder: JSONObject, paths: Mapping[str, Any], path: str, speaker: Speaker, alphabet: Mapping[int, int]
) -> Iterator[Entry]:
    for key, below in paths.items():
        name, _, unless = key.partition("!")
        value = holder.get(name)
        if unless and holder.get(unless):
            continue
        if isinstance(below, str):
            text = b64encode(value).decode() if isinstance(value, bytes) else value  # boto3 gives bytes
            if isinstance(text, str):
                who = "tool" if below == RESULT else speaker
                yield Entry(who, below, f"{path}/{name}", text.translate(alphabet))
        elif isinstance(value, dict):
            yield from _found(value, below, f"{path}/{name}", speaker, alphabet)
        else:
            for place, member in members(holder, name, path):
                yield from _object(member, below["*"], place, speaker, alphabet)


def read_request(api: str, body: Mapping[str, Any]) -> list[Entry]:
    """List the entries of a request to one of `TRANSCRIPTS` in order, skipping what cannot be read.

    Examples:
        >>> thinking = {"type": "thinking", "thinking": "Wet?", "signature": "U0lH"}
        >>> messages = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [thinking]}]
        >>> for entry in read_request("anthropic-messages", {"messages": messages}):
        ...     print(entry.speaker, entry.kind, entry.path)
        user words /messages/0
        model thinking /messages/1/content/0/thinking
        model signature /messages/1/content/0/signature
    """
    return list(entries(body, TRANSCRIPTS[api]))


def read_response(api: str, payloads: Iterable[Any]) -> list[Entry]:
    """List the entries of a stream's payloads, or of a whole response, as they would appear in a request."""
    objects = (payload for payload in payloads if isinstance(payload, dict))
    return read_request(api, TRANSCRIPTS[api].response(objects))


# -- comparing


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one value from the provider against the last request.

    Attributes:
        kind: The kind of value; one of `VALUE_KINDS`.
        bytes: Its length in UTF-8.
        fingerprint: The first 8 hexadecimal digits of its SHA-256.
        path: Its JSON pointer in the request; ``None`` if it is missing.
        unchanged: Whether it came back byte for byte and in the same order.
    """

    kind: str
    bytes: int
    fingerprint: str
    path: str | None
    unchanged: bool


def compare(given: Iterable[Entry], returned: Iterable[Entry]) -> Iterator[Check]:
    """Search for each value in order; unexpected values count as failures too."""
    remaining = required_values(returned)
    start = 0
    for entry in required_values(given):
        try:
            start = [(one.kind, one.value) for one in remaining].index((entry.kind, entry.value), start)
        except ValueError:
            yield checked_value(entry, None, unchanged=False)
        else:
            yield checked_value(entry, remaining.pop(start).path, unchanged=True)
    for entry in remaining:
        yield checked_value(entry, entry.path, unchanged=False)


def required_values(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that a provider requires back."""
    return [entry for entry in entries if entry.kind in VALUE_KINDS and entry.value]


def checked_value(entry: Entry, path: str | None, *, unchanged: bool) -> Check:
    """Describe a value without telling it."""
    value = entry.value.encode()
    return Check(entry.kind, len(value), hashlib.sha256(value).hexdigest()[:8], path, unchanged)


# -- responses


def _grow(held: JSONObject, piece: JSONObject, *names: str) -> None:
    """Append members of a piece, which are strings or lists."""
    for name in names:
        if piece.get(name):
            held[name] = held.get(name, piece[name][:0]) + piece[name]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, dict) else []


def _message(pieces: Iterable[JSONObject], *names: str) -> JSONObject:
    message: JSONObject = {"role": "assistant"}
    for piece in pieces:
        _grow(message, piece, *names)
    return {"messages": [message]}


def _choices(payloads: Iterator[JSONObject]) -> Iterator[JSONObject]:
    """Yield the deltas of a stream, or the messages of a whole response."""
    for payload in payloads:
        for choice in payload.get("choices") or ():
            yield choice.get("delta") or choice.get("message") or {}


def _chat(payloads: Iterator[JSONObject]) -> JSONObject:
    return _message(_choices(payloads), "reasoning_content", "tool_calls")


def _ollama(payloads: Iterator[JSONObject]) -> JSONObject:
    return _message((payload.get("message") or {} for payload in payloads), "thinking", "tool_calls")


def _litellm(payloads: Iterator[JSONObject]) -> JSONObject:
    names = ("reasoning_content", "tool_calls", "reasoning_items", "thinking_blocks")
    request = _message(_choices(payloads), *names)
    (message,) = request["messages"]
    message["thinking_blocks"] = _joined(message.get("thinking_blocks", []))
    return request


def _joined(fragments: list[JSONObject]) -> list[JSONObject]:
    """Join fragments of thinking; a signature ends a block."""
    blocks: list[JSONObject] = []
    grows = False
    for fragment in fragments:
        is_thinking = fragment.get("type") == "thinking"
        if not (grows and is_thinking):
            blocks.append({"type": fragment.get("type")})
        _grow(blocks[-1], fragment, "thinking", "signature", "data")
        grows = is_thinking and not fragment.get("signature")
    return blocks


def _mistral(payloads: Iterator[JSONObject]) -> JSONObject:
    """Return all thinking as one chunk: streams have one for each piece."""
    pieces = list(_choices(payloads))
    chunks = [chunk for piece in pieces for _, chunk in members(piece, "content", "")]
    thought: JSONObject = {"type": "thinking"}
    text: JSONObject = {}
    for chunk in chunks:
        _grow(thought, chunk, "signature")
        for _, part in members(chunk, "thinking", ""):
            _grow(text, part, "text")
    request = _message(pieces, "tool_calls")
    request["messages"][0]["content"] = [{**thought, "thinking": [text]}]
    return request


def _cohere(payloads: Iterator[JSONObject]) -> JSONObject:
    blocks: dict[Any, JSONObject] = {}
    message: JSONObject = {"role": "assistant", "tool_calls": []}
    for payload in payloads:
        piece = payload.get("message") or (payload.get("delta") or {}).get("message") or {}
        _grow(message, piece, "tool_plan")
        message["tool_calls"] += _listed(piece.get("tool_calls"))
        for number, content in enumerate(_listed(piece.get("content"))):
            block = blocks.setdefault(payload.get("index", number), {"type": content.get("type")})
            _grow(block, content, "thinking")
    return {"messages": [{**message, "content": list(blocks.values())}]}


def _anthropic(payloads: Iterator[JSONObject]) -> JSONObject:
    blocks: dict[Any, JSONObject] = {}
    for payload in payloads:
        blocks |= enumerate(payload.get("content") or ())
        block = blocks.setdefault(payload.get("index"), {})
        block |= payload.get("content_block") or {}
        _grow(block, payload.get("delta") or {}, "thinking", "signature")
    return {"messages": [{"role": "assistant", "content": list(blocks.values())}]}


def _bedrock(payloads: Iterator[JSONObject]) -> JSONObject:
    blocks: dict[Any, JSONObject] = {}
    for payload in payloads:
        objects = (member for member in payload.values() if isinstance(member, dict))
        event = payload if "contentBlockIndex" in payload else next(objects, {})
        blocks |= enumerate((event.get("message") or {}).get("content") or ())
        block = blocks.setdefault(event.get("contentBlockIndex"), {})
        block |= event.get("start") or {}
        piece = (event.get("delta") or {}).get("reasoningContent") or {}
        reasoning = block.setdefault("reasoningContent", {}) if piece else {}
        _grow(reasoning, piece, "redactedContent")
        if "redactedContent" not in piece:
            _grow(reasoning.setdefault("reasoningText", {}), piece, "text", "signature")
    return {"messages": [{"role": "assistant", "content": list(blocks.values())}]}


def _gemini(payloads: Iterator[JSONObject]) -> JSONObject:
    """Collect the parts of a stream; further fragments of a call have no name and yield nothing."""
    first = (next(members(payload, "candidates", ""), ("", {}))[1] for payload in payloads)
    parts = [part for one in first for _, part in members(one.get("content") or {}, "parts", "")]
    return {"contents": [{"role": "model", "parts": parts}]}


def _interactions(payloads: Iterator[JSONObject]) -> JSONObject:
    steps: dict[Any, JSONObject] = {}
    for payload in payloads:
        steps |= enumerate(payload.get("steps") or ())
        step = steps.setdefault(payload.get("index"), {})
        step |= payload.get("step") or {}
        delta = payload.get("delta") or {}
        if delta.get("type") == "thought_summary":
            _grow(step, {"summary": [delta.get("content")]}, "summary")
        if delta.get("signature"):
            step["signature"] = delta["signature"]
    steps.pop(None, None)
    return {"input": list(steps.values())}


def _responses(payloads: Iterator[JSONObject]) -> JSONObject:
    """Return the items in their final form."""
    items: list[Any] = []
    for payload in payloads:
        items += _listed(payload.get("output"))
        if payload.get("type") == "response.output_item.done":
            items.append(payload.get("item"))
    return {"input": items}


def _xai(payloads: Iterator[JSONObject]) -> JSONObject:
    outputs: dict[Any, JSONObject] = {}
    for payload in payloads:
        for number, output in enumerate(payload.get("outputs") or ()):
            piece = output.get("delta") or output.get("message") or {}
            message = outputs.setdefault(output.get("index", number), {"role": piece.get("role")})
            _grow(message, piece, "reasoning_content", "encrypted_content", "tool_calls", "tool_call_id")
    return {"messages": [message for _, message in sorted(outputs.items())]}


# -- the tables


def chat_request(fields: EntryFields) -> EntryFields:
    """Return the paths of a request like Chat Completions, from those of the reasoning in a message."""
    shared = {"tool_call_id": RESULT, "tool_calls/*/id": CALL_ID}
    return {f"messages/*/{path}": kind for path, kind in {**fields, **shared}.items()}


_BLOCKS: Final = "messages/*/content/*"
_PARTS: Final = "contents/*/parts/*"

TRANSCRIPTS: Final[dict[str, Transcript]] = {
    "anthropic-messages": Transcript(
        request={
            f"{_BLOCKS}:thinking/thinking": THINKING,
            f"{_BLOCKS}:thinking/signature": SIGNATURE,
            f"{_BLOCKS}:redacted_thinking/data": REDACTED,
            f"{_BLOCKS}:tool_use/id": CALL_ID,
            f"{_BLOCKS}:tool_result/tool_use_id": RESULT,
        },
        response=_anthropic,
    ),
    "openai-responses": Transcript(
        request={
            "input/*:reasoning/id": REASONING_ID,
            "input/*:reasoning/encrypted_content": ENCRYPTED_CONTENT,
            "input/*:reasoning/summary/*:summary_text/text": SUMMARY,
            "input/*:message/id": ITEM_ID,
            "input/*:message/phase": PHASE,
            "input/*:function_call/id": ITEM_ID,
            "input/*:function_call/call_id": CALL_ID,
            "input/*:function_call_output/call_id": RESULT,
        },
        response=_responses,
        bond=ITEM_ID,
        bound=frozenset({REASONING_ID}),
    ),
    "openai-chat": Transcript(request=chat_request({"reasoning_content": REASONING_CONTENT}), response=_chat),
    "bedrock-converse": Transcript(
        request={
            f"{_BLOCKS}/reasoningContent/reasoningText/text": THINKING,
            f"{_BLOCKS}/reasoningContent/reasoningText/signature": SIGNATURE,
            f"{_BLOCKS}/reasoningContent/redactedContent": REDACTED,
            f"{_BLOCKS}/toolUse/toolUseId": CALL_ID,
            f"{_BLOCKS}/toolResult/toolUseId": RESULT,
        },
        response=_bedrock,
    ),
    "mistral-chat": Transcript(
        request=chat_request(
            {"content/*:thinking/thinking/*/text": THINKING, "content/*:thinking/signature": SIGNATURE}
        ),
        response=_mistral,
    ),
    "cohere-chat": Transcript(
        request=chat_request({"tool_plan": THINKING, "content/*:thinking/thinking": THINKING}),
        response=_cohere,
    ),
    "ollama": Transcript(request=chat_request({"thinking": THINKING}), response=_ollama),
    "gemini": Transcript(
        request={
            # Calls without an ID are answered by name.
            **{
                f"{_PARTS}/{call}/{name}": kind
                for call, kind in {
                    "functionResponse": RESULT,
                    **dict.fromkeys(("functionCall", "executableCode", "toolCall"), CALL_ID),
                }.items()
                for name in ("id", "name!id")
            },
            f"{_PARTS}/thoughtSignature": SIGNATURE,
        },
        response=_gemini,
        # google-genai writes signatures in URL-safe base64, the API in standard base64.
        alphabet=str.maketrans("-_", "+/"),
    ),
    "xai-grpc": Transcript(
        request=chat_request(
            {"reasoning_content": REASONING_CONTENT, "encrypted_content": ENCRYPTED_CONTENT}
        ),
        response=_xai,
    ),
    "litellm": Transcript(
        request=chat_request(
            {
                "thinking_blocks/*:thinking/thinking": THINKING,
                "thinking_blocks/*:thinking/signature": SIGNATURE,
                "thinking_blocks/*:redacted_thinking/data": REDACTED,
                "reasoning_items/*:reasoning/encrypted_content": ENCRYPTED_CONTENT,
                # If there are blocks, the string repeats them.
                "reasoning_content!thinking_blocks": REASONING_CONTENT,
            }
        ),
        response=_litellm,
    ),
    "gemini-interactions": Transcript(
        request={
            "input/*:user_input/content/*:function_result/call_id": RESULT,
            "input/*:function_result/call_id": RESULT,
            "input/*/summary/*/text": SUMMARY,
            "input/*/signature": SIGNATURE,
            "input/*/id": CALL_ID,
        },
        response=_interactions,
    ),
}
"""How the conversations of each API are read."""
