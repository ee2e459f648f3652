"""Decodes OpenAI Responses: output items and their events.

Every output item is a unit identified by its output index, because proxies rotate item IDs between the events
of one item. ``encrypted_content`` is read only from the item's final form: the announcement of the item has a
different, shorter string, and ``response.completed`` a third one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    InputTransformationsDelta,
    NativeDelta,
    ReasoningDelta,
    ResponseStart,
    UsageDelta,
)
from agui_reasoning.errors import DecodeError, ProviderError
from agui_reasoning.providers._agents import OfAgent
from agui_reasoning.providers._input_transformations import of_openai
from agui_reasoning.providers._lane import Repeatable
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.openai_responses.items import (
    MESSAGE,
    RAW_TEXT,
    REASONING,
    SUMMARY_TEXT,
    OutputItem,
    announce,
    grow,
    late_values,
    settle,
    subagent_of,
)
from agui_reasoning.providers.payload import JSONObject, array, as_text, integer, obj, string

__all__ = ["OpenAIResponsesDecoder"]


class OpenAIResponsesDecoder(Decoder):
    """Decodes Responses streams and responses: OpenAI, Azure, xAI, OpenRouter, Copilot, Bedrock, vLLM, …."""

    api: ClassVar[str] = "openai-responses"
    vendor: ClassVar[str | None] = "openai"
    multiplexed = True
    repeatable = Repeatable(
        texts=frozenset({"delta"}), unread=frozenset({"sequence_number", "obfuscation", "logprobs"})
    )

    def __init__(self, *, provider: str | None = None, model: str | None = None) -> None:
        super().__init__(provider=provider, model=model)
        self._heard_id: str | None = None
        self._reset()

    def _reset(self, *, running: bool = False) -> None:
        """Reset the items: keys, IDs and indices belong to one response."""
        self._running = running
        self._response_id: str | None = None
        # By index and type: some servers give items of different types the same index.
        self._items: dict[tuple[int, str], OutputItem] = {}
        self._ids: dict[str, int] = {}
        self._newest: OutputItem | None = None
        self._count = 0
        self._done_types: set[str] = set()
        self._thoughts = 0
        self._pieces = 0
        self._thought: str | None = None

    def _decode(self, data: JSONObject) -> list[Delta]:
        if data.get("stream_id") is not None and not self._is_ours(data):
            return []
        kind = string(data, "type")
        if not kind and data.get("error"):
            kind = "error"
        handler = _EVENTS.get(kind)
        return handler(self, data) if handler else []

    def _is_ours(self, data: JSONObject) -> bool:
        """Return whether an event of a multiplexed connection is of the stream that is decoded."""
        given = string(data, "stream_id")
        if self.stream_id is not None or given == self._heard_id:
            return given == (self.stream_id or given)
        if self._running:
            raise self._mixed()
        self._heard_id = given
        return True

    def _mixed(self) -> DecodeError:
        return DecodeError(
            "A response began before the one that is being decoded ended.",
            code="mixed_streams",
            hint="Read each stream apart: decoder(…, stream_id=…), or ModelStream(…, stream_id=…).",
            provider=self.provider,
            deltas=(CloseDelta(status="incomplete"),),
        )

    def _end(self) -> list[Delta]:
        if not self._running:
            return []
        self._reset()
        raise self._truncated()

    def _whole(self, data: JSONObject) -> list[Delta]:
        """Decode a response or a compacted conversation."""
        self._reset()
        if string(data, "type") == "error":
            return self._error(data)
        return self._conclude(data, "", "")

    # -- responses

    def _created(self, data: JSONObject) -> list[Delta]:
        response = obj(data, "response")
        start = self._start(response, "/response")
        if self._running and self._response_id and start.id and self._response_id != start.id:
            raise self._mixed()
        self._reset(running=True)
        self._response_id = start.id
        return [start]

    def _progressed(self, data: JSONObject) -> list[Delta]:
        """Accept streams that were joined late, and start with a later event."""
        return [] if self._running else self._created(data)

    def _start(self, response: JSONObject, path: str) -> ResponseStart:
        stored = response.get("conversation")
        return ResponseStart(
            self._origin(response),
            id=string(response, "id", path) or None,
            conversation=string(stored, "id") or None if isinstance(stored, dict) else None,
        )

    def _during(self, deltas: list[Delta]) -> list[Delta]:
        """Return an item's deltas, opening a response that was not announced."""
        if not deltas:
            return deltas
        deltas = self._end_thought() + deltas
        if self._running:
            return deltas
        self._running = True
        return [ResponseStart(self._origin({})), *deltas]

    def _mused(self, data: JSONObject) -> list[Delta]:
        """Decode a thought outside items (Perplexity); consecutive thoughts are one unit."""
        text = string(data, "thought")
        if not text:
            return []
        if self._thought is not None:
            self._pieces += 1
            return [ReasoningDelta(text, key=self._thought, index=self._pieces)]
        self._thoughts += 1
        self._pieces = 0
        key = f"thought:{self._thoughts}"
        deltas = self._during([ReasoningDelta(text, key=key, ext={"field": "thought"})])
        self._thought = key
        return deltas

    def _stopped(self, data: JSONObject) -> list[Delta]:
        return self._mused(data) + self._end_thought()

    def _end_thought(self) -> list[Delta]:
        key, self._thought = self._thought, None
        return [] if key is None else [CloseDelta(key=key)]

    def _ended(self, data: JSONObject) -> list[Delta]:
        word = string(data, "type").removeprefix("response.")
        return self._conclude(obj(data, "response"), "/response", word)

    def _ended_again(self, data: JSONObject) -> list[Delta]:
        """Handle ``response.done``, which some servers send instead of or after ``response.completed``."""
        return self._ended(data) if self._running else []

    def _conclude(self, response: JSONObject, path: str, word: str) -> list[Delta]:
        reason = _reason(response, path) or word or None
        deltas: list[Delta] = [] if self._running else [self._start(response, path)]
        missing, last = self._missing(response, path)
        deltas += [*self._end_thought(), *missing, *self._count_tokens(response, path)]
        if entries := of_openai(response):
            deltas.append(InputTransformationsDelta(entries))
        error = obj(response, "error", path)
        self._reset()
        if error or reason == "failed":
            raise _failure(error, deltas)
        if reason in self._traits.cut_reasons:
            # The limit applies to the last item, even if the API closed it normally.
            deltas.append(CloseDelta(key=last, status="incomplete"))
        return [*deltas, FinishDelta(reason)]

    def _missing(self, response: JSONObject, path: str) -> tuple[list[Delta], str | None]:
        """Return what only the response's own list of items contains, and the key of the last unit.

        Items of a type that was already decoded are skipped: proxies rotate IDs, and all would be duplicates.
        """
        deltas: list[Delta] = []
        last = self._newest.tail if self._newest else None
        unfinished = [item for item in self._items.values() if not item.settled]
        for index, source in enumerate(array(response, "output", path)):
            place = f"{path}/output/{index}"
            kind = string(source, "type", place)
            item = self._match(unfinished, index, kind)
            if item is None:
                deltas += self._late_values(index, source, place)
                continue
            more = self._settled(item, source, place)
            deltas += more
            last = item.tail
        return deltas, last

    def _late_values(self, index: int, source: JSONObject, place: str) -> list[Delta]:
        """Return values that only the response's own list has; a different ID may mean another item."""
        item = self._items.get((index, REASONING))
        if item is None or item.id != string(source, "id", place) or source.get("type") != REASONING:
            return []
        if item.agent:  # its native part was complete
            return []
        return late_values(item, source, place)

    def _match(self, unfinished: list[OutputItem], index: int, kind: str) -> OutputItem | None:
        item = self._items.get((index, kind))
        if item not in unfinished:
            if kind in self._done_types:
                return None
            item = next((item for item in unfinished if item.type == kind), None)
        if item is None:
            return self._make(index, kind)
        unfinished.remove(item)
        return item

    def _count_tokens(self, response: JSONObject, path: str) -> list[Delta]:
        usage, path = obj(response, "usage", path), f"{path}/usage"
        if not usage:
            return []
        taken = obj(usage, "input_tokens_details", path)
        given = obj(usage, "output_tokens_details", path)
        return [
            UsageDelta(
                provider=self.provider,
                model=string(response, "model") or self.model,
                input_tokens=integer(usage, "input_tokens", path),
                output_tokens=integer(usage, "output_tokens", path),
                total_tokens=integer(usage, "total_tokens", path),
                reasoning_tokens=integer(given, "reasoning_tokens", f"{path}/output_tokens_details"),
                cached_input_tokens=integer(taken, "cached_tokens", f"{path}/input_tokens_details"),
                cache_write_input_tokens=integer(taken, "cache_write_tokens", f"{path}/input_tokens_details"),
            )
        ]

    def _error(self, data: JSONObject) -> list[Delta]:
        nested = data.get("error")
        self._reset()
        raise _failure(nested if isinstance(nested, dict) else {**data, "type": None}, [])

    # -- items

    def _added(self, data: JSONObject) -> list[Delta]:
        source = obj(data, "item")
        kind = string(source, "type", "/item")
        index = integer(data, "output_index")
        item = self._make(self._count if index is None else index, kind)
        self._find_agent(item, source, "/item")
        alone = all(other.settled for other in self._items.values() if other.agent == item.agent)
        deltas = _told(item, announce(item, source, "/item", alone=alone))
        self._keep(item)
        return self._during(deltas)

    def _item_done(self, data: JSONObject) -> list[Delta]:
        source = obj(data, "item")
        kind, identity = string(source, "type", "/item"), string(source, "id", "/item")
        index = self._index(data, identity)
        item = self._items.get((index, kind))
        if item is None or item.settled:
            if item and identity and item.id == identity:
                return []
            item = self._make(index, kind)
        deltas = self._settled(item, source, "/item")
        item.id, item.settled = identity, True
        self._keep(item)
        self._done_types.add(kind)
        return self._during(deltas)

    def _settled(self, item: OutputItem, source: JSONObject, path: str) -> list[Delta]:
        """End an item. One of an agent below the root is also kept as it is, in its place."""
        self._find_agent(item, source, path)
        deltas = settle(item, source, path)
        item.tail = None if item.agent else _tail(deltas)
        if not item.agent:
            return deltas
        cut = source.get("status") == "incomplete"
        return _told(item, deltas) + ([] if cut else [NativeDelta(f"openai.{item.type}", source)])

    def _find_agent(self, item: OutputItem, source: JSONObject, path: str) -> None:
        if self.splits_agents and item.type in (REASONING, MESSAGE):
            item.agent = subagent_of(source, path) or item.agent

    def _grown(self, data: JSONObject) -> list[Delta]:
        kind, form, number, field = _GROWTH[data["type"]]
        text, part = string(data, field), integer(data, number) or 0
        if not text:
            return []
        identity = string(data, "item_id")
        index = self._index(data, identity)
        if self._thinks(index, kind, identity):
            kind, form = REASONING, "raw"
        item = self._items.get((index, kind)) or self._make(index, kind)
        self._keep(item)
        return self._during(_told(item, grow(item, form, text, part, whole=field != "delta")))

    def _part(self, data: JSONObject) -> list[Delta]:
        """Decode an end of a part of reasoning; texts of messages have events of their own."""
        part = obj(data, "part")
        kind, identity = string(part, "type", "/part"), string(data, "item_id")
        index = self._index(data, identity)
        if kind not in _THOUGHT_FORMS and not self._thinks(index, MESSAGE, identity):
            return []
        item = self._items.get((index, REASONING)) or self._make(index, REASONING)
        item.part = None
        text = string(part, "text", "/part")
        if not text or data["type"].endswith(".added"):
            return []
        self._keep(item)
        form, number = _THOUGHT_FORMS.get(kind, "raw"), integer(data, "content_index") or 0
        return self._during(_told(item, grow(item, form, text, number, whole=True)))

    def _thinks(self, index: int, kind: str, identity: str) -> bool:
        """Return whether a text event belongs to an item that was announced as reasoning."""
        announced = self._items.get((index, REASONING))
        if kind != MESSAGE or announced is None or announced.settled or (index, kind) in self._items:
            return False
        return bool(identity) and announced.id == identity

    def _index(self, data: JSONObject, identity: str) -> int:
        """Return the output index of an event; if the server omits it, find it by item ID."""
        index = integer(data, "output_index")
        if index is not None:
            return index
        return self._ids.get(identity, self._newest.index if self._newest else 0)

    def _make(self, index: int, kind: str) -> OutputItem:
        # Some servers number every item 0, but keys must be unique.
        again = f".{self._count}" if (index, kind) in self._items else ""
        return OutputItem(kind, f"item:{index}{again}", index, self._traits)

    def _keep(self, item: OutputItem) -> None:
        if self._items.get((item.index, item.type)) is item:
            return
        self._items[item.index, item.type] = self._newest = item
        self._count += 1
        if item.id:
            self._ids[item.id] = item.index


def _told(item: OutputItem, deltas: list[Delta]) -> list[Any]:
    """Return the deltas of an item, as those of its agent if that is below the root."""
    return [OfAgent(item.agent, delta) for delta in deltas] if item.agent else deltas


def _reason(response: JSONObject, path: str) -> str | None:
    details = obj(response, "incomplete_details", path)
    reason = string(details, "reason", f"{path}/incomplete_details")
    return reason or string(response, "status", path) or None


def _tail(deltas: list[Delta]) -> str | None:
    """Return the unit of an item that a length limit cuts; answered calls are complete."""
    return deltas[-1].key if isinstance(deltas[-1], CloseDelta) else None


def _failure(error: JSONObject, deltas: list[Delta]) -> ProviderError:
    code, kind = error.get("code"), error.get("type")
    return ProviderError(
        provider_code=None if code is None else as_text(code),
        provider_type=kind if isinstance(kind, str) else None,
        provider_message=as_text(error.get("message")),
        deltas=(*deltas, CloseDelta(status="incomplete")),
    )


# Which type of item an event belongs to, what it adds, and the fields of the part's number and of the text.
# A text that is not called "delta" is the whole of its part.
_GROWTH: dict[str, tuple[str, str, str, str]] = {
    "response.reasoning_summary_text.delta": ("reasoning", "summary", "summary_index", "delta"),
    "response.reasoning_summary_text.done": ("reasoning", "summary", "summary_index", "text"),
    "response.reasoning_text.delta": ("reasoning", "raw", "content_index", "delta"),
    "response.reasoning_text.done": ("reasoning", "raw", "content_index", "text"),
    # As Open Responses names them, and as a comment in its schema does.
    "response.reasoning.delta": ("reasoning", "raw", "content_index", "delta"),
    "response.reasoning.done": ("reasoning", "raw", "content_index", "text"),
    "response.reasoning_summary.delta": ("reasoning", "summary", "summary_index", "delta"),
    "response.reasoning_summary.done": ("reasoning", "summary", "summary_index", "text"),
    "response.output_text.delta": ("message", "text", "content_index", "delta"),
    "response.output_text.done": ("message", "text", "content_index", "text"),
    "response.refusal.delta": ("message", "refusal", "content_index", "delta"),
    "response.refusal.done": ("message", "refusal", "content_index", "refusal"),
    "response.function_call_arguments.delta": ("function_call", "arguments", "", "delta"),
    "response.function_call_arguments.done": ("function_call", "arguments", "", "arguments"),
    "response.mcp_call_arguments.delta": ("mcp_call", "arguments", "", "delta"),
    "response.mcp_call_arguments.done": ("mcp_call", "arguments", "", "arguments"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "input", "", "delta"),
    "response.custom_tool_call_input.done": ("custom_tool_call", "input", "", "input"),
}

_PARTS = tuple(
    f"response.{name}.{end}" for name in ("content_part", "reasoning_part") for end in ("added", "done")
)
_THOUGHT_FORMS = {RAW_TEXT: "raw", SUMMARY_TEXT: "summary"}

_THOUGHTS = ("started", "search_queries", "search_results", "fetch_url_queries", "fetch_url_results")

_EVENTS: dict[str, Callable[[OpenAIResponsesDecoder, JSONObject], list[Delta]]] = {
    "response.created": OpenAIResponsesDecoder._created,
    "response.queued": OpenAIResponsesDecoder._progressed,
    "response.in_progress": OpenAIResponsesDecoder._progressed,
    "response.output_item.added": OpenAIResponsesDecoder._added,
    "response.output_item.done": OpenAIResponsesDecoder._item_done,
    **dict.fromkeys(_GROWTH, OpenAIResponsesDecoder._grown),
    **dict.fromkeys(_PARTS, OpenAIResponsesDecoder._part),
    **{f"response.reasoning.{name}": OpenAIResponsesDecoder._mused for name in _THOUGHTS},
    "response.reasoning.stopped": OpenAIResponsesDecoder._stopped,
    "response.completed": OpenAIResponsesDecoder._ended,
    "response.incomplete": OpenAIResponsesDecoder._ended,
    "response.failed": OpenAIResponsesDecoder._ended,
    "response.cancelled": OpenAIResponsesDecoder._ended,
    "response.done": OpenAIResponsesDecoder._ended_again,
    "error": OpenAIResponsesDecoder._error,
}
