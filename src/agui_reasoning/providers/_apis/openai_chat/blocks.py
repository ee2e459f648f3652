"""Reads reasoning in lists of blocks, in the formats of various gateways, and tracks the units of a response.

``content`` lists (Mistral, Cohere, LiteLLM's upstreams), ``thinking_blocks`` and ``reasoning_items``
(LiteLLM), ``content_blocks`` (Portkey), and ``reasoning_steps`` (Perplexity) all become `ChatBlock`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any, Literal

from msgspec import Struct

from agui_reasoning.deltas import CloseDelta, Delta, OpaqueDelta, ReasoningDelta
from agui_reasoning.errors import DecodeError
from agui_reasoning.parts import Ext, Opaque, Segment, Status
from agui_reasoning.providers.payload import (
    JSONObject,
    array,
    integer,
    obj,
    other_fields,
    prose,
    reject,
    spelled,
    string,
)

ANTHROPIC_SIGNATURE = "anthropic.signature"
MISTRAL_SIGNATURE = "mistral.signature"
LITELLM_FILLER = "mistral"
"""LiteLLM's signature on every fragment of Mistral's thinking."""
REDACTED = "anthropic.redacted_thinking"
ENCRYPTED = "openai.encrypted_content"


class ChatBlock(Struct, frozen=True, gc=False):
    """A block, or in a stream a fragment of one.

    Attributes:
        kind: The kind of block; ``"native"`` has only a payload.
        key: The provider's number of the block; ``None`` if it sends none.
        item_id: The provider's ID of the block.
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
    """Read one block of a list; reasoning, which no standard defines, is unread if it cannot be read.

    Raises:
        DecodeError: Another block has a field of the wrong type.
    """
    kind = string(source, "type", path)
    try:
        return _BLOCKS.get(kind, _native)(source, path, key)
    except DecodeError:
        if kind == "text":
            raise
        return [_unread(source)]


def read_listed(source: Any, field: str, path: str, position: int) -> list[ChatBlock]:
    """Read an entry of a list that no standard defines; one that cannot be read is kept as it is.

    It is a block, or where text is usual also only its text.
    """
    read = _LISTS.get(field)
    if isinstance(source, str) and read is None:
        source = {"text": source}
    if not isinstance(source, dict):
        return [_unread(source)]
    try:
        if read is not None:
            return read(source, path, position)
        kind = "thinking" if field in _OF_THINKING else "reasoning"
        return read_block(source if source.get("type") else {**source, "type": kind}, path)
    except DecodeError:
        return [_unread(source)]


def _unread(source: Any) -> ChatBlock:
    return ChatBlock("native", payload=source, unread=True)


def _indexed(source: JSONObject, path: str, position: int) -> list[ChatBlock]:
    """Read a block of Portkey: whole, or its ``delta``; both are numbered."""
    index = integer(source, "index", path)
    key = str(position if index is None else index)
    if "delta" not in source:
        return read_block(source, path, key)
    delta = obj(source, "delta", path)
    kind = next((kind for field, kind in _FRAGMENTS.items() if field in delta), None)
    return _BLOCKS[kind](delta, f"{path}/delta", key) if kind else []


def _step(source: JSONObject, path: str, position: int) -> list[ChatBlock]:
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
    key = item_id or key
    return [ChatBlock("reasoning", segments, values, key, item_id, ext or None, ends=True, begins=True)]


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

_FRAGMENTS = {"thinking": "thinking", "signature": "thinking", "data": "redacted_thinking", "text": "text"}
"""The type of a fragment without one, by its field."""

_LISTS: dict[str, Callable[[JSONObject, str, int], list[ChatBlock]]] = {
    "content_blocks": _indexed,
    "reasoning_steps": _step,
}
"""The lists with entries of their own; those of others are blocks, or text."""

_OF_THINKING = frozenset({"thinking", "thinking_blocks"})
"""The fields in which a block without a type is ``thinking``; elsewhere it is ``reasoning``."""


# -- the units that blocks and other content belong to

FLAT = "reasoning"
"""The key of reasoning in a plain string."""

TEXT = "text"
"""The key of the answer."""


class UnitTracker:
    """Tracks which units of one response are open, and which of them each block of a list belongs to.

    Chat Completions does not mark units: a unit ends when content of another kind follows. Blocks with the
    same number are one unit. Blocks without a number, like most fragments in streams, are one unit per run: a
    run ends at a signature, at text in the same list, and in a whole response after every block.

    Each method returns the closes that it implies.

    Attributes:
        last: The key of the unit that received the last content, which a length limit cuts.
        reasoned: Whether the response has reasoning.
        spoke: Whether the response has text.
        text_key: The key of the current stretch of the answer.
    """

    def __init__(self) -> None:
        self.last: str | None = None
        self.reasoned = False
        self.spoke = False
        self.text_key = TEXT
        self._stretches = 1
        self._open: dict[str, None] = {}
        self._open_texts: dict[str, None] = {}
        self._known: set[str] = set()
        self._runs: Counter[str] = Counter()
        self._open_runs: set[str] = set()
        self._joined: set[str] = set()

    def reasoning(self, key: str, *, grows: bool = True) -> list[Delta]:
        """Add content to a reasoning unit; without ``grows``, a known unit is not reopened."""
        self.last, self.reasoned = key, True
        if key in self._open or (key in self._known and not grows):
            return []
        # Other reasoning stays open, because the entries of one list may be interleaved.
        closes = self._close(list(self._open_texts))
        self._known.add(key)
        self._open[key] = None
        return closes

    def text(self, key: str) -> list[Delta]:
        """Add content to a text unit."""
        self.last, self.spoke = key, True
        if key in self._open and len(self._open) == 1:
            return []
        closes = self._close([name for name in self._open if name != key])
        self._known.add(key)
        self._open[key] = self._open_texts[key] = None
        return closes

    def break_text(self) -> None:
        """Start another text unit, because reasoning in the same list divides the text."""
        if self.spoke and self.text_key in self._known:
            self._stretches += 1
            self.text_key = f"{TEXT}:{self._stretches}"

    def call(self, key: str) -> list[Delta]:
        """Add content to a call, which ends all open units; calls are closed elsewhere."""
        self.last = key
        return self._close(list(self._open)) if self._open else []

    def close(self, key: str, status: Status = "complete") -> list[Delta]:
        """Close a unit that the provider ended."""
        return self._close([key], status) if key in self._open else []

    def _close(self, keys: list[str], status: Status = "complete") -> list[Delta]:
        for key in keys:
            del self._open[key]
            self._open_texts.pop(key, None)
        return [CloseDelta(key=key, status=status) for key in keys]

    # -- blocks

    def end_run(self, source: str) -> None:
        """Note text in a list: reasoning that follows it there is another unit."""
        self._open_runs.discard(source)

    def block(self, source: str, block: ChatBlock, text: str, *, flat: bool, whole: bool) -> list[Delta]:
        """Add a block of reasoning, which is in the field ``source``, and whose new part is ``text``.

        ``flat`` tells whether there is reasoning in a plain string, ``whole`` whether the block is complete.
        """
        goes_on = bool(block.ends or block.ext) and source in self._open_runs
        if not (text or block.values or block.item_id or goes_on):
            return []
        joins = flat and not text and self._joins_flat(source, block)
        key = FLAT if joins else self._key(source, block, whole)
        if source == "content":
            self.break_text()
        segments = block.segments if text == block.text else (Segment("text", 0, text),)
        if not text:
            segments = (Segment("text", 0, ""),) if block.item_id or block.ext else ()
        deltas = self.reasoning(key, grows=bool(text))
        item_id, ext = block.item_id, block.ext  # the first delta has them
        for one in segments:
            deltas.append(
                ReasoningDelta(
                    one.text, key=key, channel=one.channel, index=one.index, item_id=item_id, ext=ext
                )
            )
            item_id = ext = None
        deltas += [OpaqueDelta(value, key=key) for value in block.values]
        return [*deltas, *self.close(key)] if (block.ends or whole) and not joins else deltas

    def _joins_flat(self, source: str, block: ChatBlock) -> bool:
        """Return whether a value belongs to the plain string, which contained the text of its block."""
        kinds = {value.kind for value in block.values}
        if REDACTED in kinds or kinds & self._joined or source in self._open_runs:
            return False
        self._joined |= kinds or {"item"}
        return True

    def _key(self, source: str, block: ChatBlock, whole: bool) -> str:
        if block.key:
            return f"{source}:{block.key}"
        if block.begins or source not in self._open_runs:
            self._runs[source] += 1
        self._open_runs.add(source)
        if block.ends or whole:
            self._open_runs.remove(source)
        return f"{source}:{self._runs[source]}"
