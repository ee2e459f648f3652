"""Decodes OpenAI Responses: output items and their events.

Every output item is a unit identified by its output index, because proxies rotate item IDs between the events
of one item. ``encrypted_content`` is read only from the item's final form: the announcement of the item has a
different, shorter string, and ``response.completed`` a third one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal

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
from agui_reasoning.providers._apis.openai_responses.items import (
    MESSAGE,
    RAW_TEXT,
    REASONING,
    ROOT,
    SUMMARY_TEXT,
    OutputItem,
    announce,
    grow,
    late_values,
    settle,
)
from agui_reasoning.providers.base import Decoder, OfAgent, provider_error
from agui_reasoning.providers.payload import (
    Events,
    Handler,
    JSONObject,
    Members,
    Shape,
    Whole,
    as_text,
    obj,
    openai_transformations,
    shape,
    string,
)


class _ResponsesDetails(Members):
    reasoning_tokens: Whole | None = None
    cached_tokens: Whole | None = None
    cache_write_tokens: Whole | None = None


class _ResponsesUsage(Members):
    input_tokens: Whole | None = None
    output_tokens: Whole | None = None
    total_tokens: Whole | None = None
    input_tokens_details: _ResponsesDetails | None = None
    output_tokens_details: _ResponsesDetails | None = None


class _Incomplete(Members):
    reason: str | None = None


class _ResponseBody(Members):
    id: str | None = None
    type: str | None = None
    model: str | None = None
    status: str | None = None
    output: list[dict[str, Any]] | None = None
    usage: _ResponsesUsage | None = None
    incomplete_details: _Incomplete | None = None
    error: dict[str, Any] | None = None
    conversation: Any = None
    input_transformations: Any = None


class _ResponsesEvent(Members):
    output_index: Whole | None = None
    item_id: str | None = None
    delta: str | None = None
    summary_index: Whole | None = None
    content_index: Whole | None = None
    text: str | None = None
    refusal: str | None = None
    arguments: str | None = None
    input: str | None = None
    thought: str | None = None
    item: dict[str, Any] | None = None
    part: dict[str, Any] | None = None
    response: _ResponseBody | None = None
    stream_id: str | None = None


class _Fault(Members):
    error: Any = None
    stream_id: str | None = None


# The type of item that events belong to, what they add, and the members of the part's number and whole text.
_GROWN: Final = {
    "reasoning_summary_text": ("reasoning", "summary", "summary_index", "text"),
    "reasoning_text": ("reasoning", "raw", "content_index", "text"),
    # As Open Responses names them, and as a comment in its schema does.
    "reasoning": ("reasoning", "raw", "content_index", "text"),
    "reasoning_summary": ("reasoning", "summary", "summary_index", "text"),
    "output_text": ("message", "text", "content_index", "text"),
    "refusal": ("message", "refusal", "content_index", "refusal"),
    "function_call_arguments": ("function_call", "arguments", "", "arguments"),
    "mcp_call_arguments": ("mcp_call", "arguments", "", "arguments"),
    "custom_tool_call_input": ("custom_tool_call", "input", "", "input"),
}
# The same by event. A text that is not called "delta" is the whole of its part.
_GROWTH: Final = {
    f"response.{name}.{end}": (*growth, "delta" if end == "delta" else whole)
    for name, (*growth, whole) in _GROWN.items()
    for end in ("delta", "done")
}

_THOUGHT_FORMS = {RAW_TEXT: "raw", SUMMARY_TEXT: "summary"}

_THOUGHTS = tuple(
    f"response.reasoning.{name}"
    for name in ("started", "search_queries", "search_results", "fetch_url_queries", "fetch_url_results")
)

_ENDS = ("completed", "incomplete", "failed", "cancelled")

_STEADY = frozenset({"summary", "raw", "text", "arguments"})
"""What is added as it is, so that the next fragments can be read in a shape."""


def _of_stream(
    handler: Callable[..., list[Delta]], *more: str, struct: type[Members] = _ResponsesEvent
) -> tuple[type[Members], Handler]:
    """Return what is read of an event, and a method that leaves out those of other streams."""

    def handle(self: OpenAIResponsesDecoder, event: Any, raw: JSONObject) -> list[Delta]:
        given = event.stream_id
        return handler(self, event, raw, *more) if given is None or self._is_ours(given) else []

    return struct, handle


@lru_cache(64)
def _fragment(kind: str, index: int, number: str, part: int | None) -> Shape:
    """Return the shape of events that add text to a part of an item."""
    place = {number: part if part is None else Literal[part]} if number else {"content_index": Whole | None}
    item = {"type": Literal[kind], "output_index": Literal[index], "item_id": str | None}
    return shape({**item, **place, "delta": str, "stream_id": None}, _ResponsesEvent)


class OpenAIResponsesDecoder(Decoder):
    """Decodes Responses streams and responses: OpenAI, Azure, xAI, OpenRouter, Copilot, Bedrock, vLLM, …."""

    api: ClassVar[str] = "openai-responses"
    vendor: ClassVar[str | None] = "openai"
    multiplexed = True
    response = _ResponseBody
    _heard_id: str | None = None

    def _clear(self, *, running: bool = False) -> None:
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

    def _is_ours(self, given: str) -> bool:
        """Return whether an event of a multiplexed connection is of the stream that is decoded."""
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
        self._clear()
        raise self._truncated()

    def _whole(self, response: _ResponseBody, raw: JSONObject) -> list[Delta]:
        """Decode a response or a compacted conversation."""
        self._clear()
        if response.type == "error":
            return self._error(_Fault(response.error), raw)
        return self._conclude(response, "", "")

    # -- responses

    def _created(self, event: _ResponsesEvent, raw: JSONObject) -> list[Delta]:
        start = self._start(event.response or _ResponseBody())
        if self._running and self._response_id and start.id and self._response_id != start.id:
            raise self._mixed()
        self._clear(running=True)
        self._response_id = start.id
        return [start]

    def _progressed(self, event: _ResponsesEvent, raw: JSONObject) -> list[Delta]:
        """Accept streams that were joined late, and start with a later event."""
        return [] if self._running else self._created(event, raw)

    def _start(self, response: _ResponseBody) -> ResponseStart:
        stored = response.conversation
        return ResponseStart(
            self._origin_of(response.model or self.model),
            id=response.id or None,
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
        return [ResponseStart(self._origin_of(self.model)), *deltas]

    def _thought_event(self, event: _ResponsesEvent, raw: JSONObject) -> list[Delta]:
        """Decode a thought outside items (Perplexity); consecutive thoughts are one unit."""
        text = event.thought
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

    def _stopped(self, event: _ResponsesEvent, raw: JSONObject) -> list[Delta]:
        return self._thought_event(event, raw) + self._end_thought()

    def _end_thought(self) -> list[Delta]:
        key, self._thought = self._thought, None
        return [] if key is None else [CloseDelta(key=key)]

    def _ended(self, event: _ResponsesEvent, raw: JSONObject, word: str) -> list[Delta]:
        return self._conclude(event.response or _ResponseBody(), "/response", word)

    def _ended_again(self, event: _ResponsesEvent, raw: JSONObject) -> list[Delta]:
        """Handle ``response.done``, which some servers send instead of or after ``response.completed``."""
        return self._ended(event, raw, "done") if self._running else []

    def _conclude(self, response: _ResponseBody, path: str, word: str) -> list[Delta]:
        cause = response.incomplete_details and response.incomplete_details.reason
        reason = cause or response.status or word or None
        deltas: list[Delta] = [] if self._running else [self._start(response)]
        missing, last = self._missing(response, path)
        deltas += [*self._end_thought(), *missing, *self._count_tokens(response)]
        if entries := openai_transformations(response.input_transformations):
            deltas.append(InputTransformationsDelta(entries))
        self._clear()
        if response.error or reason == "failed":
            raise _failure(response.error or {}, deltas)
        if reason in self._traits.cut_reasons:
            # The limit applies to the last item, even if the API closed it normally.
            deltas.append(CloseDelta(key=last, status="incomplete"))
        return [*deltas, FinishDelta(reason)]

    def _missing(self, response: _ResponseBody, path: str) -> tuple[list[Delta], str | None]:
        """Return what only the response's own list of items contains, and the key of the last unit.

        Items of a type that was already decoded are skipped: proxies rotate IDs, and all would be duplicates.
        """
        deltas: list[Delta] = []
        last = self._newest.tail if self._newest else None
        unfinished = [item for item in self._items.values() if not item.settled]
        for index, source in enumerate(response.output or ()):
            place = f"{path}/output/{index}"
            item = self._match(unfinished, index, string(source, "type", place))
            if item is None:
                deltas += self._late_values(index, source, place)
            else:
                deltas += self._settled(item, source, place)
                last = item.tail
        return deltas, last

    def _late_values(self, index: int, source: JSONObject, place: str) -> list[Delta]:
        """Return values that only the response's own list has; a different ID may mean another item."""
        item = self._items.get((index, REASONING))
        if item is None or item.id != string(source, "id", place) or source.get("type") != REASONING:
            return []
        return [] if item.agent else late_values(item, source, place)  # a native part was complete

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

    def _count_tokens(self, response: _ResponseBody) -> list[Delta]:
        usage = response.usage
        if usage is None or usage == _ResponsesUsage():
            return []
        taken = usage.input_tokens_details or _ResponsesDetails()
        given = usage.output_tokens_details or _ResponsesDetails()
        count = UsageDelta(
            provider=self.provider,
            model=response.model or self.model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.total_tokens,
            reasoning_tokens=given.reasoning_tokens,
            cached_input_tokens=taken.cached_tokens,
            cache_write_input_tokens=taken.cache_write_tokens,
        )
        return [count]

    def _error(self, event: _Fault, raw: JSONObject) -> list[Delta]:
        nested = event.error
        self._clear()
        raise _failure(nested if isinstance(nested, dict) else {**raw, "type": None}, [])

    def _untyped(self, event: _Fault, raw: JSONObject) -> list[Delta]:
        """Refuse an error without a type; other payloads without one are ignored."""
        return self._error(event, raw) if event.error else []

    # -- items

    def _added(self, event: _ResponsesEvent, raw: JSONObject) -> list[Delta]:
        source = event.item or {}
        kind, index = string(source, "type", "/item"), event.output_index
        item = self._make(self._count if index is None else index, kind)
        self._find_agent(item, source, "/item")
        alone = all(other.settled for other in self._items.values() if other.agent == item.agent)
        deltas = _told(item, announce(item, source, "/item", alone=alone))
        self._keep(item)
        return self._during(deltas)

    def _item_done(self, event: _ResponsesEvent, raw: JSONObject) -> list[Delta]:
        source = event.item or {}
        kind, identity = string(source, "type", "/item"), string(source, "id", "/item")
        index = self._index(event, identity)
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
        if not item.agent:
            # Answered calls are complete, so a length limit does not cut them.
            item.tail = deltas[-1].key if isinstance(deltas[-1], CloseDelta) else None
            return deltas
        cut = source.get("status") == "incomplete"
        return _told(item, deltas) + ([] if cut else [NativeDelta(f"openai.{item.type}", source)])

    def _find_agent(self, item: OutputItem, source: JSONObject, path: str) -> None:
        if self.splits_agents and item.type in (REASONING, MESSAGE):
            name = string(obj(source, "agent", path), "agent_name", f"{path}/agent")
            item.agent = item.agent if name in ("", ROOT) else name

    def _grown(self, event: _ResponsesEvent, raw: JSONObject, name: str) -> list[Delta]:
        kind, form, number, member = _GROWTH[name]
        text, part = getattr(event, member), getattr(event, number) if number else None
        fragment: Shape | None = None
        if not text:
            return []
        index = self._index(event, event.item_id or "")
        if self._thinks(index, kind, event.item_id):
            kind, form = REASONING, "raw"
        elif member == "delta" and form in _STEADY and event.output_index is not None:
            # Events end the parts of raw reasoning, whatever their number.
            fragment = _fragment(name, index, "" if form == "raw" else number, part)
        item = self._items.get((index, kind)) or self._make(index, kind)
        self._keep(item)
        deltas = _told(item, grow(item, form, text, part or 0, whole=member != "delta"))
        if fragment is not None:
            self._continue(fragment, attrgetter("delta"), raw, deltas)
        return self._during(deltas)

    def _part(self, event: _ResponsesEvent, raw: JSONObject, end: str) -> list[Delta]:
        """Decode an end of a part of reasoning; texts of messages have events of their own."""
        part = event.part or {}
        kind, index = string(part, "type", "/part"), self._index(event, event.item_id or "")
        if kind not in _THOUGHT_FORMS and not self._thinks(index, MESSAGE, event.item_id):
            return []
        item = self._items.get((index, REASONING)) or self._make(index, REASONING)
        item.part = None
        text = string(part, "text", "/part")
        if not text or end == "added":
            return []
        self._keep(item)
        form = _THOUGHT_FORMS.get(kind, "raw")
        return self._during(_told(item, grow(item, form, text, event.content_index or 0, whole=True)))

    def _thinks(self, index: int, kind: str, identity: str | None) -> bool:
        """Return whether a text event belongs to an item that was announced as reasoning."""
        announced = self._items.get((index, REASONING))
        if kind != MESSAGE or announced is None or announced.settled or (index, kind) in self._items:
            return False
        return bool(identity) and announced.id == identity

    def _index(self, event: _ResponsesEvent, identity: str) -> int:
        """Return the output index of an event; if the server omits it, find it by item ID."""
        if event.output_index is not None:
            return event.output_index
        return self._ids.get(identity, self._newest.index if self._newest else 0)

    def _make(self, index: int, kind: str) -> OutputItem:
        # Some servers number every item 0, but keys must be unique.
        again = f".{self._count}" if (index, kind) in self._items else ""
        return OutputItem(kind, f"item:{index}{again}", index, self._traits)

    def _keep(self, item: OutputItem) -> None:
        if self._items.get((item.index, item.type)) is not item:
            self._items[item.index, item.type] = self._newest = item
            self._count += 1
            if item.id:
                self._ids[item.id] = item.index


def _told(item: OutputItem, deltas: list[Delta]) -> list[Any]:
    """Return the deltas of an item, as those of its agent if that is below the root."""
    return [OfAgent(item.agent, delta) for delta in deltas] if item.agent else deltas


def _failure(error: JSONObject, deltas: list[Delta]) -> ProviderError:
    code = error.get("code")
    named = {"code": None if code is None else as_text(code), "type": error.get("type")}
    return provider_error(named, as_text(error.get("message")), deltas)


OpenAIResponsesDecoder.events = Events(
    "type",
    {
        "response.created": _of_stream(OpenAIResponsesDecoder._created),
        "response.queued": _of_stream(OpenAIResponsesDecoder._progressed),
        "response.in_progress": _of_stream(OpenAIResponsesDecoder._progressed),
        "response.output_item.added": _of_stream(OpenAIResponsesDecoder._added),
        "response.output_item.done": _of_stream(OpenAIResponsesDecoder._item_done),
        **{name: _of_stream(OpenAIResponsesDecoder._grown, name) for name in _GROWTH},
        **{
            f"response.{part}.{end}": _of_stream(OpenAIResponsesDecoder._part, end)
            for part in ("content_part", "reasoning_part")
            for end in ("added", "done")
        },
        **dict.fromkeys(_THOUGHTS, _of_stream(OpenAIResponsesDecoder._thought_event)),
        "response.reasoning.stopped": _of_stream(OpenAIResponsesDecoder._stopped),
        **{f"response.{word}": _of_stream(OpenAIResponsesDecoder._ended, word) for word in _ENDS},
        "response.done": _of_stream(OpenAIResponsesDecoder._ended_again),
        "error": _of_stream(OpenAIResponsesDecoder._error, struct=_Fault),
        None: _of_stream(OpenAIResponsesDecoder._untyped, struct=_Fault),
    },
)
