"""Reads reasoning in lists of blocks, in the formats of various gateways.

``content`` lists (Mistral, Cohere, LiteLLM's upstreams), ``thinking_blocks`` and ``reasoning_items``
(LiteLLM), ``content_blocks`` (Portkey), and ``reasoning_steps`` (Perplexity) all become `ChatBlock`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from agui_reasoning.errors import DecodeError
from agui_reasoning.parts import Ext, Opaque, Segment
from agui_reasoning.providers._prose import prose, spelled
from agui_reasoning.providers.payload import (
    JSONObject,
    array,
    integer,
    obj,
    other_fields,
    reject,
    string,
)

__all__ = [
    "ChatBlock",
    "read_block",
    "read_indexed_block",
    "read_loose_block",
    "read_step",
    "unread_block",
]

ANTHROPIC_SIGNATURE = "anthropic.signature"
MISTRAL_SIGNATURE = "mistral.signature"
LITELLM_FILLER = "mistral"
"""LiteLLM's signature on every fragment of Mistral's thinking."""
REDACTED = "anthropic.redacted_thinking"
ENCRYPTED = "openai.encrypted_content"


@dataclass(frozen=True, slots=True)
class ChatBlock:
    """A block, or in a stream a fragment of one.

    Attributes:
        kind: The kind of block; ``"native"`` has only a payload.
        segments: Its text.
        values: Its opaque values.
        key: The provider's number of the block; ``None`` if it sends none.
        item_id: The provider's ID of the block.
        ext: Other fields.
        ends: Whether it is complete.
        begins: Whether it starts a new block in any case.
        payload: The verbatim block, if it is native.
        unread: Whether it is native only because it cannot be read.
    """

    kind: Literal["reasoning", "text", "native"]
    segments: tuple[Segment, ...] = ()
    values: tuple[Opaque, ...] = ()
    key: str | None = None
    item_id: str | None = None
    ext: Ext | None = None
    ends: bool = False
    begins: bool = False
    payload: Any = None
    unread: bool = False

    @property
    def text(self) -> str:
        """The joined text."""
        return "".join(segment.text for segment in self.segments)


def read_block(source: JSONObject, path: str, key: str | None = None) -> list[ChatBlock]:
    """Read one block of a list; reasoning that cannot be read becomes an unread block.

    Raises:
        DecodeError: Another block has a field of the wrong type.
    """
    kind = string(source, "type", path)
    if kind not in _REASONING:
        return _BLOCKS.get(kind, _native)(source, path, key)
    try:
        return _BLOCKS[kind](source, path, key)
    except DecodeError:
        return [unread_block(source)]


def read_loose_block(source: Any, path: str, kind: str) -> list[ChatBlock]:
    """Read one entry of a list that no standard defines: a block, or only its text.

    Args:
        source: The entry.
        path: Its path.
        kind: The type of an entry without one.
    """
    if isinstance(source, str):
        source = {"text": source}
    if not isinstance(source, dict):
        return [unread_block(source)]
    try:
        return read_block(source if source.get("type") else {**source, "type": kind}, path)
    except DecodeError:
        return [unread_block(source)]


def unread_block(source: Any) -> ChatBlock:
    """Return a block that is kept as it is, because it cannot be read."""
    return ChatBlock("native", payload=source, unread=True)


def read_indexed_block(source: JSONObject, path: str, position: int) -> list[ChatBlock]:
    """Read a block of Portkey: whole, or its ``delta``; both are numbered."""
    index = integer(source, "index", path)
    key = str(position if index is None else index)
    if "delta" not in source:
        return read_block(source, path, key)
    delta = obj(source, "delta", path)
    kind = next((kind for field, kind in _FRAGMENTS.items() if field in delta), None)
    return _BLOCKS[kind](delta, f"{path}/delta", key) if kind else []


def read_step(source: JSONObject, path: str) -> list[ChatBlock]:
    """Read a step of Perplexity: a thought, and the action that followed."""
    text = string(source, "thought", path)
    ext = other_fields(source, "thought") or None
    return [ChatBlock("reasoning", _text_segments(text), ext=ext, ends=True, begins=True)]


def _thinking(source: JSONObject, path: str, key: str | None) -> list[ChatBlock]:
    """Read thinking: a string, in Mistral's format a list of chunks, under the name of any gateway."""
    name = spelled(source)
    value: Any = source.get(name) if name else None
    listed = isinstance(value, list)
    chunks = [(chunk, prose(chunk)) for chunk in (value if listed else [value])]
    if any(text is None and not (listed and isinstance(chunk, dict)) for chunk, text in chunks):
        raise reject("text", value, f"{path}/{name}")
    signature = string(source, "signature", path)
    if signature == LITELLM_FILLER:
        signature = ""
    if name is None and not signature and other_fields(source, "type", "index", "closed", "signature"):
        raise reject("text", None, f"{path}/thinking")
    kind = MISTRAL_SIGNATURE if listed else ANTHROPIC_SIGNATURE
    block = ChatBlock(
        "reasoning",
        _text_segments("".join(text or "" for _, text in chunks)),
        (Opaque(kind, signature),) if signature else (),
        key,
        ext=other_fields(source, "type", "index", name or "thinking", "signature") or None,
        # A signature ends a block; Mistral sets `closed` on every fragment.
        ends=bool(signature),
    )
    others = [chunk for chunk, text in chunks if text is None]
    return [block, *chain.from_iterable(_native(chunk, path, None) for chunk in others)]


def _redacted(source: JSONObject, path: str, key: str | None) -> list[ChatBlock]:
    value = Opaque(REDACTED, string(source, "data", path))
    return [ChatBlock("reasoning", values=(value,), key=key, ends=True, begins=True)]


def _reasoning(source: JSONObject, path: str, key: str | None) -> list[ChatBlock]:
    """Read a plain ``{"type": "reasoning", "text": …}``, or an item of the Responses API."""
    if not _is_item(source):
        return _thinking(source, path, key)
    parts = array(source, "summary", path)
    texts = [string(part, "text", f"{path}/summary/{number}") for number, part in enumerate(parts)]
    segments = tuple(Segment("summary", number, text) for number, text in enumerate(texts) if text)
    encrypted = string(source, "encrypted_content", path)
    values = (Opaque(ENCRYPTED, encrypted),) if encrypted else ()
    item_id = string(source, "id", path) or None
    ext = other_fields(source, "type", "id", "index", "summary", "encrypted_content")
    if not (segments or values) and (text := prose(ext.get("content"))):
        segments = _text_segments(text)
        del ext["content"]
    return [
        ChatBlock("reasoning", segments, values, item_id or key, item_id, ext or None, ends=True, begins=True)
    ]


def _is_item(source: JSONObject) -> bool:
    """Return whether a block is an item of the Responses API, whose text is in its summary."""
    if any(source.get(name) is not None for name in ("text", "reasoning", "thinking")):
        return False
    return any(source.get(name) for name in ("summary", "encrypted_content", "id"))


def _text(source: JSONObject, path: str, key: str | None) -> list[ChatBlock]:
    ext = other_fields(source, "type", "index", "text") or None
    # Gemini's sign of a thought, in the spelling of its own API.
    kind: Literal["reasoning", "text"] = "reasoning" if source.get("thought") is True else "text"
    return [ChatBlock(kind, _text_segments(string(source, "text", path)), key=key, ext=ext)]


def _native(source: JSONObject, path: str, key: str | None) -> list[ChatBlock]:
    # Calls are in `tool_calls` as well.
    return [] if source.get("type") == "tool_use" else [ChatBlock("native", payload=source)]


def _text_segments(text: str) -> tuple[Segment, ...]:
    return (Segment("text", 0, text),) if text else ()


_BLOCKS: dict[str, Callable[[JSONObject, str, str | None], list[ChatBlock]]] = {
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "reasoning": _reasoning,
    "text": _text,
}

_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""The types of blocks that no standard of Chat Completions defines."""

_FRAGMENTS = {
    "thinking": "thinking",
    "signature": "thinking",
    "data": "redacted_thinking",
    "text": "text",
}
"""The type of a fragment without one, by its field."""
