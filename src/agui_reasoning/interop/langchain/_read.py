"""Reads LangChain's messages and message chunks.

The content blocks of a chunk continue those with the same index. Every version of the output has its own
blocks, which are told apart by their types and fields: a handler for each type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from agui_reasoning._shells.driver import AgentItem
from agui_reasoning.deltas import (
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from agui_reasoning.interop._content import result_part
from agui_reasoning.parts import Channel, Opaque, Origin, Part, ToolResultPart
from agui_reasoning.providers.payload import compact_json
from agui_reasoning.run import Run

__all__ = ["MessageReader"]

_VALUES: Final = {
    "signature": "anthropic.signature",
    "data": "anthropic.redacted_thinking",
    "encrypted_content": "openai.encrypted_content",
}
"""The kinds of values, by the field of a block that contains them."""

_CALL_IDS: Final = "__openai_function_call_ids__"
_MESSAGE_ID: Final = "msg_"


class MessageReader:
    """Reads the messages of a graph: those of the graph itself, and those of subgraphs as subagents."""

    def __init__(self, run: Run) -> None:
        """Start before the first message."""
        self._run = run
        self._origin = Origin(run.provider, run.api, run.model)
        self._graph = _Responses(self._origin)
        self._subgraphs: dict[str, tuple[Run, _Responses]] = {}

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read a message or chunk, alone or as a pair with its metadata."""
        message, metadata = _opened(payload)
        namespace = str(metadata.get("langgraph_checkpoint_ns", ""))
        parent = namespace.rpartition("|")[0]
        return self._in_subgraph(parent, message) if parent else list(self._graph.read(message))

    def whole(self, response: Any) -> Sequence[AgentItem]:
        """Read a source that is not a stream: one message."""
        return self.receive(response)

    def close(self) -> Sequence[AgentItem]:
        """End the subagents."""
        return [event for run, _ in self._subgraphs.values() for event in run.finish()]

    def _in_subgraph(self, namespace: str, message: Any) -> Sequence[AgentItem]:
        events: list[AgentItem] = []
        if namespace not in self._subgraphs:
            node = namespace.rpartition("|")[2].partition(":")[0]
            run = self._run.subagent(node)
            self._subgraphs[namespace] = run, _Responses(self._origin)
            events += run.start()
        run, responses = self._subgraphs[namespace]
        return [*events, *(event for item in responses.read(message) for event in run.receive(item))]


def _opened(payload: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return the message and its metadata; with subgraphs the pair is inside another one."""
    while isinstance(payload, tuple):
        first, second = payload
        if isinstance(second, Mapping):
            return first, second
        payload = second
    return payload, {}


class _Responses:
    """Reads the messages of one conversation, a response after the other."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._number = 0
        self._begin()
        self._open = False

    def _begin(self) -> None:
        self._open = True
        self._number += 1
        self._items: dict[Any, str] = {}
        self._segments: dict[str, list[Any]] = {}
        self._calls: dict[Any, str] = {}

    def read(self, message: Any) -> Iterator[Delta | Part]:
        """Read a message or chunk; those of people give nothing."""
        kind = getattr(message, "type", None)
        if kind == "tool":
            self._open = False
            yield _result(message)
        elif kind in ("ai", "AIMessageChunk"):
            yield from self._answer(message, whole=kind == "ai")

    def _answer(self, message: Any, *, whole: bool) -> Iterator[Delta]:
        if not self._open:
            self._begin()
            yield ResponseStart(self._origin)
        for block in _blocks(message):
            if (read := _BLOCKS.get(block.get("type", ""))) is not None:
                yield from read(self, block)
        yield from self._tool_calls(message, whole=whole)
        yield from _usage(message)
        if whole or getattr(message, "chunk_position", None) == "last":
            self._open = False
            metadata = message.response_metadata
            reason = metadata.get("stop_reason") or metadata.get("finish_reason") or metadata.get("status")
            yield FinishDelta(reason or "")

    # -- blocks

    def _thinking(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        """Read reasoning of Anthropic, or of any provider in version 1."""
        key = self._key(block)
        text = block.get("thinking") or block.get("reasoning") or ""
        extras = {**block, **(block.get("extras") or {})}
        summarized = "id" in block or key in self._segments
        if summarized:
            yield from self._summary(key, block, [{"index": self._segment(key, block), "text": text}])
        elif text:
            yield ReasoningDelta(text, key=key)
        yield from _values(key, extras)

    def _item(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        """Read an item of the Responses API."""
        if "reasoning" in block or "extras" in block or "summary" not in block:
            yield from self._thinking(block)
            return
        key = self._key(block)
        yield from self._summary(key, block, block["summary"])
        yield from _values(key, block)

    def _summary(
        self, key: str, block: Mapping[str, Any], segments: Sequence[Mapping[str, Any]]
    ) -> Iterator[Delta]:
        channel: Channel = "summary"
        if block.get("id"):
            yield ReasoningDelta(key=key, item_id=block["id"])
        for segment in segments:
            if segment["text"]:
                yield ReasoningDelta(segment["text"], key=key, channel=channel, index=segment["index"])

    def _redacted(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        yield from _values(self._key(block), {"data": block["data"]})

    def _foreign(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        """Read a block that version 1 has no type for."""
        inner = {**block["value"], "index": block.get("index")}
        if inner.get("type") == "redacted_thinking":
            yield from self._redacted(inner)

    def _reasoning_content(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        text = block["reasoning_content"]
        yield ReasoningDelta(text, key=self._key(block), ext={"field": "reasoning_content"})

    def _text(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        ext = {name: block[name] for name in ("id", "phase") if block.get(name)}
        if block["text"] or ext:
            yield TextDelta(block["text"], key=self._key(block), ext=ext or None)

    # -- calls

    def _tool_calls(self, message: Any, *, whole: bool) -> Iterator[Delta]:
        native = _native_ids(message)
        for call in message.tool_calls if whole else message.tool_call_chunks:
            index, call_id = call.get("index"), call.get("id")
            if call_id:
                self._calls[index] = call_id
            args = call.get("args") or ""
            arguments = args if isinstance(args, str) else compact_json(args)
            ext = {"id": native[call_id]} if call_id in native else None
            known = self._calls.get(index, "")
            yield ToolCallDelta(known, call.get("name") or "", arguments, ext=ext)

    # -- units

    def _key(self, block: Mapping[str, Any]) -> str:
        """Return the key of a block's unit: its item, if it is reasoning with an ID, or its index."""
        index = block.get("index", block.get("type"))
        if block.get("type") == "reasoning" and block.get("id"):
            self._items[index] = block["id"]
        return f"{self._number}:{self._items.get(index, index)}"

    def _segment(self, key: str, block: Mapping[str, Any]) -> int:
        segments = self._segments.setdefault(key, [])
        index = block.get("index")
        if index not in segments:
            segments.append(index)
        return segments.index(index)


def _blocks(message: Any) -> Iterator[Mapping[str, Any]]:
    """Return the blocks of a message; older versions have reasoning and text outside of them."""
    more = message.additional_kwargs
    if isinstance(more.get("reasoning"), Mapping):
        yield {"type": "reasoning", "index": "reasoning", "summary": (), **more["reasoning"]}
    if more.get("reasoning_content"):
        yield {"type": "reasoning_content", "reasoning_content": more["reasoning_content"]}
    content = message.content
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    for block in content:
        found = {"type": "text", "text": block} if isinstance(block, str) else block
        is_text = found.get("type") == "text" and (message.id or "").startswith(_MESSAGE_ID)
        yield {"id": message.id, **found} if is_text else found


def _native_ids(message: Any) -> dict[str, str]:
    """Return the item IDs of calls, by the IDs of the calls."""
    found: dict[str, str] = dict(message.additional_kwargs.get(_CALL_IDS) or {})
    for block in message.content if isinstance(message.content, list) else ():
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "function_call" and block.get("call_id") and block.get("id"):
            found[block["call_id"]] = block["id"]
        elif item_id := (block.get("extras") or {}).get("item_id"):
            found[block.get("id", "")] = item_id
    return found


def _values(key: str, block: Mapping[str, Any]) -> Iterator[Delta]:
    for field, kind in _VALUES.items():
        if block.get(field):
            yield OpaqueDelta(Opaque(kind, block[field]), key=key)


def _result(message: Any) -> ToolResultPart:
    return result_part(message.tool_call_id, message.content, failed=message.status == "error")


def _usage(message: Any) -> Iterator[Delta]:
    usage = message.usage_metadata
    if not usage:
        return
    taken, made = usage.get("input_token_details") or {}, usage.get("output_token_details") or {}
    yield UsageDelta(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        total_tokens=usage.get("total_tokens"),
        reasoning_tokens=made.get("reasoning") or None,
        cached_input_tokens=taken.get("cache_read") or None,
        cache_write_input_tokens=taken.get("cache_creation") or None,
    )


_BLOCKS: Final[Mapping[str, Callable[[_Responses, Mapping[str, Any]], Iterator[Delta]]]] = {
    "thinking": _Responses._thinking,
    "reasoning": _Responses._item,
    "reasoning_content": _Responses._reasoning_content,
    "redacted_thinking": _Responses._redacted,
    "non_standard": _Responses._foreign,
    "text": _Responses._text,
}
"""Calls are read from ``tool_call_chunks``, which every version has."""
