"""Reads LangChain's messages and message chunks.

The content blocks of a chunk continue those with the same index. Every version of the output has its own
blocks, which are told apart by their types and fields: a handler for each type.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from agui_reasoning._driver import AgentItem
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from agui_reasoning.interop._client import client_results
from agui_reasoning.interop._messages import result_part
from agui_reasoning.interop._stream import FrameworkReader, OpenResponse, Subagents, gemini_signature
from agui_reasoning.interop.langchain._write import CALL_SIGNATURES, asked
from agui_reasoning.parts import Opaque, Origin
from agui_reasoning.providers.payload import compact_json
from agui_reasoning.run import Run

_VALUES: Final = {
    "signature": "anthropic.signature",
    "data": "anthropic.redacted_thinking",
    "encrypted_content": "openai.encrypted_content",
    "redacted_content": "bedrock.redacted_content",
}
"""The kinds of values, by the field of a block that contains them; a signature of Gemini is another."""

_COUNTS: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "total_tokens": "total_tokens",
    "reasoning_tokens": "reasoning",
    "cached_input_tokens": "cache_read",
    "cache_write_input_tokens": "cache_creation",
}
"""LangChain's names of token counts, by ours."""

_CALL_IDS: Final = "__openai_function_call_ids__"
_MESSAGE_ID: Final = "msg_"
_REASONS: Final = ("stop_reason", "finish_reason", "stopReason", "status")
"""The names of the finish reason in the metadata of responses."""

_TOOLS: Final = "tools"
"""The name that LangChain's agents give the node that runs tools."""

_CALLED: Final = "__pregel_push"
_RUN_IDS: Final = ("lc_run", "run-")
"""How the IDs of runs of a model begin. Chunks may have the IDs of the provider's items instead."""


class MessageReader(FrameworkReader):
    """Reads the messages of a graph. Those of subgraphs, and of models inside tools, are of subagents."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._graph = _Graph(run)
        self._subagents: Subagents[str, _Graph] = Subagents(_Graph)
        self._runs_tools = {_TOOLS: True}
        self._unanswered: set[str] = set()
        self._asked: set[str] = set()
        self._known = client_results(run).keys()

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        """Read a message or chunk, alone or as the stream modes wrap it, and what `_MODES` reads."""
        mode, message, metadata = _opened(payload)
        if mode in _MODES:
            return _MODES[mode](self, message)
        kind = getattr(message, "type", None)
        if kind not in ("tool", "ai", "AIMessageChunk"):
            return []
        if kind == "tool" and message.tool_call_id in self._known:
            return []
        *graph, task = _tasks(metadata)
        ended = []
        if kind == "tool":
            ended = self._answered(message, task, "|".join([*graph, task]))
        elif self._is_in_tool(message, task):
            graph = [*graph, task]
        step = metadata.get("langgraph_step")
        return [*ended, *self._read(graph, lambda reader: reader.read(message, task, step))]

    def _custom(self, data: Any) -> Sequence[AgentItem]:
        """Return the AG-UI events that a node or tool wrote into the stream."""
        events = self._events_in(data)
        if not events:
            self._ignored("Custom data that are no AG-UI events")
        return events

    def _updates(self, data: Any) -> Sequence[AgentItem]:
        """Return the interrupts of a graph, which streams those of subgraphs several times."""
        found = data.get("__interrupt__", ()) if isinstance(data, Mapping) else ()
        new = {one.id: one for one in found if one.id not in self._asked}
        self._asked |= new.keys()
        return [interrupt for one in new.values() for interrupt in asked(self._run, one)]

    def close(self) -> Sequence[AgentItem]:
        return [*self._subagents.end(), *self._graph.close()]

    def _answered(self, message: Any, task: str, place: str) -> list[AgentItem]:
        """End what was said inside a tool; a node that has not spoken for itself is known to run tools."""
        self._unanswered.discard(message.tool_call_id)
        if task:
            self._runs_tools.setdefault(_node(task), True)
        return self._subagents.end(lambda graph: f"{graph}|".startswith(f"{place}|"))

    def _is_in_tool(self, message: Any, task: str) -> bool:
        """Return whether a model speaks inside a tool; nothing but the name of its node tells so."""
        node = _node(task)
        runs_tools = self._runs_tools.setdefault(node, "tool" in node and bool(self._unanswered))
        if not runs_tools:
            self._unanswered |= {call["id"] for call in _calls(message) if call.get("id")}
        return runs_tools

    def _read(self, graph: Sequence[str], read: Callable[[_Graph], list[AgentItem]]) -> list[AgentItem]:
        if not graph:
            return read(self._graph)
        around = ("|".join(graph[:size]) for size in range(len(graph) - 1, 0, -1))
        parent = next(filter(None, map(self._subagents.run, around)), self._run)
        return self._subagents.read("|".join(graph), parent, _node(graph[-1]), read)


def _node(task: str) -> str:
    return task.partition(":")[0]


def _opened(payload: Any) -> tuple[str, Any, Mapping[str, Any]]:
    """Return the mode, the message or other data, and its metadata, from what the stream modes put around.

    These are, from the outside: the namespace of a subgraph, the mode if there are several, and the metadata;
    in version 2 a dict with the first two.
    """
    if isinstance(payload, Mapping):
        payload = payload.get("type"), payload.get("data")
    if not isinstance(payload, tuple):
        return "messages", payload, {}
    *around, last = payload
    if isinstance(last, Mapping) and hasattr(around[-1], "type"):
        return "messages", around[-1], last
    mode = next((given for given in around if isinstance(given, str)), "messages")
    return _opened(last) if mode == "messages" else (mode, last if mode in _MODES else None, {})


_MODES: Final[Mapping[str, Callable[[MessageReader, Any], Sequence[AgentItem]]]] = {
    "custom": MessageReader._custom,
    "updates": MessageReader._updates,
}
"""The stream modes beside ``messages`` that are read."""


def _tasks(metadata: Mapping[str, Any]) -> list[str]:
    """Return the tasks that a message comes from: those whose subgraphs are around it, and its own last.

    A function with ``@task`` belongs to the graph of its caller, though its name stands behind the caller's.
    """
    tasks = str(metadata.get("langgraph_checkpoint_ns", "")).split("|")
    path: Sequence[Any] = metadata.get("langgraph_path") or ()
    while len(tasks) > 1 and len(path) == 4 and path[0] == _CALLED and path[-1] is True:
        del tasks[-2]
        path = path[1]
    return tasks


class _Graph:
    """Reads the messages of one graph. Nodes, and models inside a node, may speak at the same time."""

    def __init__(self, run: Run) -> None:
        self._origin = run.origin
        self._queue = _Queue()
        self._open: list[_ModelResponse] = []

    def read(self, message: Any, task: str, step: int | None) -> list[AgentItem]:
        """Read a message or chunk of a task. A step begins when all tasks of the last one are over."""
        if message.type == "tool":
            call_id, failed = message.tool_call_id, message.status == "error"
            over = [one for one in self._open if one.step != step or call_id in one.call_ids]
            result = result_part(call_id, message.content, failed=failed)
            return [*self._end(over), *self._queue.put(None, [result])]
        ended = self._end([one for one in self._open if one.step != step], broken=True)
        response = self._response(message, task, step)
        items = list(response.read(message))
        if response.open:
            self._open.append(response)
        return [*ended, *self._queue.put(response, items)]

    def close(self) -> list[AgentItem]:
        """End the responses whose end was not streamed."""
        return self._end(self._open)

    def _end(self, over: Sequence[_ModelResponse], *, broken: bool = False) -> list[AgentItem]:
        """End responses; those that broke off had no last chunk, because another model was asked instead."""
        self._open = [one for one in self._open if one not in over]
        cut = [CloseDelta(status="incomplete")] if broken else []
        return [item for one in over for item in self._queue.put(one, [*cut, *one.end()])]

    def _response(self, message: Any, task: str, step: int | None) -> _ModelResponse:
        """Take the response of a chunk from the open ones: that of its run, or the task's newest."""
        run = message.id if (message.id or "").startswith(_RUN_IDS) else None
        for response in reversed(self._open if message.type != "ai" else ()):
            if response.task == task and (run is None or response.run in (None, run)):
                response.run = response.run or run
                self._open.remove(response)
                return response
        return _ModelResponse(self._origin, task, step, run)


class _Queue:
    """Puts responses that a framework streams at the same time one after the other, as a run needs them.

    The first one is shown as it arrives; the next ones are kept until it ends.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[_ModelResponse | None, list[AgentItem]]] = []

    def put(self, response: _ModelResponse | None, items: Sequence[AgentItem]) -> list[AgentItem]:
        """Return what can be shown now that a response, or something between responses, has these items."""
        mine = next((kept for one, kept in self._kept if one is response is not None), None)
        if mine is None:
            self._kept.append((response, mine := []))
        mine += items
        shown: list[AgentItem] = []
        while self._kept:
            first, kept = self._kept[0]
            shown += kept
            kept.clear()
            if first is not None and first.open:
                break
            del self._kept[0]
        return shown


class _ModelResponse(OpenResponse):
    """Reads the chunks of one response of a task. The ID of its run may become known with a later chunk."""

    def __init__(self, origin: Origin, task: str, step: int | None, run: str | None) -> None:
        super().__init__(origin)
        self.task, self.step, self.run = task, step, run
        self._items: dict[Any, str] = {}
        self._calls: dict[Any, str] = {}
        self._counts: Counter[str] = Counter()
        self._reason: str | None = None
        self.call_ids: set[str] = set()

    def read(self, message: Any) -> Iterator[Delta]:
        yield from self.begin()
        native = _native_ids(message)
        signed: Mapping[str, str] = message.additional_kwargs.get(CALL_SIGNATURES) or {}
        calls = {call.get("id") or number: call for number, call in enumerate(_calls(message))}
        for block in _blocks(message):
            if (call := calls.pop(block.get("call_id") or block.get("id"), None)) is not None:
                yield from self._call(call, native, signed)
            if (read := _BLOCKS.get(block.get("type", ""))) is not None:
                yield from read(self, block)
        for call in calls.values():
            yield from self._call(call, native, signed)
        yield from self._usage(message.usage_metadata or {})
        metadata = message.response_metadata
        self._reason = next((metadata[name] for name in _REASONS if metadata.get(name)), self._reason)
        if message.type == "ai" or getattr(message, "chunk_position", None) == "last":
            details = metadata.get("stop_details")
            yield from self.end(self._reason, details if isinstance(details, Mapping) else None)

    # -- blocks

    def _reasoning(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        """Read reasoning of Anthropic, an item of the Responses API, or that of any provider in version 1."""
        key, text = self._key(block), block.get("thinking") or block.get("reasoning") or ""
        if "summary" in block and "reasoning" not in block and "extras" not in block:
            yield from self._summary(key, block, block["summary"])
        elif "id" in block or self.has_segments(key):
            segment = {"index": self.segment(key, block["index"]), "text": text}
            yield from self._summary(key, block, [segment])
        elif text:
            yield from self.unit(key, text)
            yield ReasoningDelta(text, key=key)
        yield from self._values_of(key, {**block, **(block.get("extras") or {})})

    def _summary(
        self, key: str, block: Mapping[str, Any], segments: Sequence[Mapping[str, Any]]
    ) -> Iterator[Delta]:
        yield from self.unit(key, "".join(segment["text"] for segment in segments))
        if block.get("id"):
            yield ReasoningDelta(key=key, item_id=block["id"])
        for number, segment in enumerate(segments):
            if segment["text"]:
                index = segment.get("index", number)
                yield ReasoningDelta(segment["text"], key=key, channel="summary", index=index)

    def _foreign(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        """Read a block that version 1 has no type for."""
        inner = {**block["value"], "index": block["index"]}
        if inner.get("type") == "redacted_thinking":
            yield from self._reasoning(inner)

    def _reasoning_content(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        """Read the field of Chat Completions, or a block of Bedrock, which has an object of this name."""
        text, key = block["reasoning_content"], self._key(block)
        if isinstance(text, Mapping):
            yield from self._reasoning({"index": block["index"], "thinking": text.get("text"), **text})
            return
        yield from self.unit(key, text)
        yield ReasoningDelta(text, key=key, ext={"field": "reasoning_content"})

    def _text(self, block: Mapping[str, Any]) -> Iterator[Delta]:
        ext = {name: block[name] for name in ("id", "phase") if block.get(name)}
        key, signature = self._key(block), (block.get("extras") or {}).get("signature")
        if signature and not block["text"] and not self.has(key):
            ext["explicit_empty"] = True
        if block["text"] or ext:
            yield from self.unit(key, block["text"])
            yield TextDelta(block["text"], key=key, ext=ext or None)
        if signature:
            yield OpaqueDelta(self._signature(signature, "text"), key=key)
            self._items[block["index"]] = f"{key}+"  # it signs this text only

    def _values_of(self, key: str, block: Mapping[str, Any]) -> Iterator[Delta]:
        """Read the values of a block, which may come when the next one has begun."""
        for field, kind in _VALUES.items():
            if value := block.get(field):
                yield from self.unit(key)
                yield OpaqueDelta(self._value(kind, value), key=key)

    def _value(self, kind: str, value: Any) -> Opaque:
        if isinstance(value, bytes):
            return Opaque(kind, b64encode(value).decode("ascii"), "base64")
        return self._signature(value, "self") if kind == "anthropic.signature" else Opaque(kind, value)

    def _signature(self, value: str, attach: str) -> Opaque:
        if self._origin.api == "gemini":
            return gemini_signature(value, attach)
        return Opaque("anthropic.signature", value)

    # -- calls

    def _call(
        self, call: Mapping[str, Any], native: Mapping[str, str], signed: Mapping[str, str]
    ) -> Iterator[Delta]:
        yield from self.end_unit()
        index, call_id = call.get("index"), call.get("id")
        if call_id:
            self._calls[index] = call_id
            self.call_ids.add(call_id)
        args = call.get("args")
        arguments = compact_json(args) if isinstance(args, dict) else args or ""
        ext = {"id": native[call_id]} if call_id and call_id in native else None
        yield ToolCallDelta(self._calls.get(index, ""), call.get("name") or "", arguments, ext=ext)
        if call_id and call_id in signed:
            yield OpaqueDelta(self._signature(signed[call_id], f"tool_call:{call_id}"))

    def _usage(self, usage: Mapping[str, Any]) -> Iterator[Delta]:
        """Read token counts; those of chunks add up."""
        if not usage:
            return
        details = {**(usage.get("input_token_details") or {}), **(usage.get("output_token_details") or {})}
        for field, name in _COUNTS.items():
            self._counts[field] += usage.get(name) or details.get(name) or 0
        counts: dict[str, Any] = {field: count or None for field, count in self._counts.items()}
        yield UsageDelta(**counts)

    # -- units

    def _key(self, block: Mapping[str, Any]) -> str:
        """Return the key of a block's unit: its item, if it is reasoning with an ID, or its index."""
        index = block["index"]
        if block.get("type") == "reasoning" and block.get("id"):
            self._items[index] = block["id"]
        return self._items.get(index, str(index))


def _blocks(message: Any) -> Iterator[Mapping[str, Any]]:
    """Return the blocks of a message, each with an index. Those of whole messages have none."""
    met: Counter[str] = Counter()
    for block in _found(message):
        kind = block.get("type", "")
        yield {**block, "index": f"{kind}:{met[kind]}"} if block.get("index") is None else block
        met[kind] += 1


def _found(message: Any) -> Iterator[Mapping[str, Any]]:
    """Return the blocks of a message; older versions have reasoning and text outside of them."""
    more = message.additional_kwargs
    if isinstance(more.get("reasoning"), Mapping):
        yield {"type": "reasoning", "summary": (), **more["reasoning"]}
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


def _calls(message: Any) -> list[Mapping[str, Any]]:
    calls: list[Mapping[str, Any]] = message.tool_calls if message.type == "ai" else message.tool_call_chunks
    return calls


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


_BLOCKS: Final[Mapping[str, Callable[[_ModelResponse, Mapping[str, Any]], Iterator[Delta]]]] = {
    **dict.fromkeys(("thinking", "reasoning", "redacted_thinking"), _ModelResponse._reasoning),
    "reasoning_content": _ModelResponse._reasoning_content,
    "non_standard": _ModelResponse._foreign,
    "text": _ModelResponse._text,
}
"""Calls are read from the lists of calls, which every version has; the blocks tell their places."""
