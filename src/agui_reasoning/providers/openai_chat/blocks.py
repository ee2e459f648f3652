"""Reads reasoning in lists of blocks, in the formats of various gateways.

``content`` lists (Mistral, Cohere, LiteLLM's upstreams), ``thinking_blocks`` and ``reasoning_items``
(LiteLLM), ``content_blocks`` (Portkey), and ``reasoning_steps`` (Perplexity) all become `ChatBlock`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from agui_reasoning.parts import Ext, Opaque, Segment
from agui_reasoning.providers.payload import JSONObject, array, integer, obj, other_fields, string

__all__ = ["ChatBlock", "read_block", "read_indexed_block", "read_step"]

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

    @property
    def text(self) -> str:
        """The joined text."""
        return "".join(segment.text for segment in self.segments)


def read_block(source: JSONObject, path: str, key: str | None = None) -> list[ChatBlock]:
    """Read one block of a list."""
    return _BLOCKS.get(string(source, "type", path), _native)(source, path, key)


def read_indexed_block(source: JSONObject, path: str, position: int) -> list[ChatBlock]:
    """Read a block of Portkey: whole, or its ``delta``; both are numbered."""
    index = integer(source, "index", path)
    key = str(position if index is None else index)
    if "delta" not in source:
        return read_block(source, path, key)
    delta = obj(source, "delta", path)
    kind = next((kind for field, kind in _FRAGMENTS.items() if field in delta), None)
    return _BLOCKS[kind](delta, f"{path}/delta", key) if kind else []


def read_step(source: JSONObject, path: str) -> ChatBlock:
    """Read a step of Perplexity: a thought, and the action that followed."""
    text = string(source, "thought", path)
    ext = other_fields(source, "thought") or None
    return ChatBlock("reasoning", _text_segments(text), ext=ext, ends=True, begins=True)


def _thinking(source: JSONObject, path: str, key: str | None) -> list[ChatBlock]:
    """Read thinking: Anthropic and Cohere use a string, Mistral a list of chunks."""
    listed = isinstance(source.get("thinking"), list)
    chunks = array(source, "thinking", path) if listed else []
    text = (
        "".join(string(chunk, "text", f"{path}/thinking") for chunk in chunks)
        if listed
        else string(source, "thinking", path)
    )
    signature = string(source, "signature", path)
    if signature == LITELLM_FILLER:
        signature = ""
    kind = MISTRAL_SIGNATURE if listed else ANTHROPIC_SIGNATURE
    block = ChatBlock(
        "reasoning",
        _text_segments(text),
        (Opaque(kind, signature),) if signature else (),
        key,
        ext=other_fields(source, "type", "index", "thinking", "signature") or None,
        # A signature ends a block; Mistral sets `closed` on every fragment.
        ends=bool(signature),
    )
    others = [chunk for chunk in chunks if not isinstance(chunk.get("text"), str)]
    return [block, *(_native(chunk, path, None)[0] for chunk in others)]


def _redacted(source: JSONObject, path: str, key: str | None) -> list[ChatBlock]:
    value = Opaque(REDACTED, string(source, "data", path))
    return [ChatBlock("reasoning", values=(value,), key=key, ends=True, begins=True)]


def _reasoning(source: JSONObject, path: str, key: str | None) -> list[ChatBlock]:
    """Read a plain ``{"type": "reasoning", "text": …}``, or an item of the Responses API."""
    if "text" in source:
        ext = other_fields(source, "type", "index", "text") or None
        return [ChatBlock("reasoning", _text_segments(string(source, "text", path)), key=key, ext=ext)]
    parts = array(source, "summary", path)
    texts = [string(part, "text", f"{path}/summary/{number}") for number, part in enumerate(parts)]
    segments = tuple(Segment("summary", number, text) for number, text in enumerate(texts) if text)
    encrypted = string(source, "encrypted_content", path)
    values = (Opaque(ENCRYPTED, encrypted),) if encrypted else ()
    item_id = string(source, "id", path) or None
    ext = other_fields(source, "type", "id", "index", "summary", "encrypted_content") or None
    return [ChatBlock("reasoning", segments, values, item_id or key, item_id, ext, ends=True, begins=True)]


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

_FRAGMENTS = {
    "thinking": "thinking",
    "signature": "thinking",
    "data": "redacted_thinking",
    "text": "text",
}
"""The type of a fragment without one, by its field."""
