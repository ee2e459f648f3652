"""Cohere's Chat API, version 2.

Content blocks, calls and citations each have their own numbers. Every content block is a unit whose key is
its index; the key of a call is its ID. Models that do not reason write a plan before they call tools, which
is a reasoning unit with ``ext["field"]``.

The API rejects text in messages with calls: these have the model's text in ``tool_plan``, and its thinking,
if the policy sends any, in ``content``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.parts import ReasoningPart, TextPart
from agui_reasoning.providers.base import Decoder, is_error
from agui_reasoning.providers.encoding import (
    PARAGRAPH,
    EncodingOptions,
    PartSpelling,
    PreparedConversation,
    ResponseStep,
    chat_body,
    function_call,
    image_url,
    reasoning_units,
    typed_text,
)
from agui_reasoning.providers.payload import BLANK, JSONObject, Members, Shape, Whole, read, read_call, shape

PLAN: Final = "tool_plan"
CUT_REASONS: Final = frozenset({"MAX_TOKENS", "TIMEOUT"})

_FAILED: Final = "ERROR"
_THOUGHT: Final = "THINKING_CONTENT"
_OF_PLAN: Final = "PLAN"


class _CohereBlock(Members):
    """A block of content, or the text that a delta adds to one."""

    type: str | None = None
    thinking: Any = None
    text: str | None = None


class _Citation(Members):
    type: str | None = None
    content_index: int | None = None


class _CohereTokens(Members):
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


class _CohereUsage(Members):
    tokens: _CohereTokens | None = None
    cached_tokens: int | None = None


class _CohereMessage(Members):
    """A message; the events of its parts have one object in place of each list."""

    content: JSONObject | list[JSONObject] | None = None
    tool_plan: Any = None
    tool_calls: JSONObject | list[JSONObject] | None = None
    citations: JSONObject | list[JSONObject] | None = None


class _CohereResponse(Members):
    """A response, or what an event adds to it."""

    id: str | None = None
    message: _CohereMessage | None = None
    finish_reason: str | None = None
    usage: _CohereUsage | None = None
    type: str | None = None
    error: Any = None


class _CohereEvent(Members):
    type: str | None = None
    id: str | None = None
    index: Whole | None = None
    delta: _CohereResponse | None = None
    error: Any = None


class CohereChatDecoder(Decoder):
    """Decodes Cohere's chat streams and responses."""

    api: ClassVar[str] = "cohere-chat"
    vendor: ClassVar[str | None] = "cohere"
    payload = _CohereEvent
    response = _CohereResponse

    def _clear(self) -> None:
        self._last: str | None = None
        self._kinds: dict[int, str] = {}
        self._natives: dict[int, JSONObject] = {}
        self._calls: dict[int, str] = {}
        self._citations: dict[tuple[str, str], list[JSONObject]] = {}

    def _decode(self, payload: _CohereEvent, raw: JSONObject) -> list[Delta]:
        member, handler = _EVENTS.get(payload.type or "", ("", None))
        if payload.error or handler is None:
            return self._refuse(raw)
        if payload.type == _START:
            self._clear()
        begun = [] if self._running and payload.type != _START else self._start(payload.id)
        index = payload.index or 0
        delta = payload.delta or _CohereResponse()
        deltas = handler(self, index, getattr(delta.message, member, None) if member else delta)
        self._running = payload.type != _END
        if payload.type == "content-delta" and deltas and not begun:
            name = "thinking" if isinstance(deltas[0], ReasoningDelta) else "text"
            self._continue(_more(name, index), _TEXTS[name], raw, deltas)
        return [*begun, *deltas]

    def _whole(self, response: _CohereResponse, raw: JSONObject) -> list[Delta]:
        self._refuse(raw)
        self._clear()
        message = response.message or _CohereMessage()
        deltas = [*self._start(response.id), *self._plan(0, message.tool_plan)]
        for index, block in enumerate(_listed(message.content)):
            deltas += [*self._open(index, block), *self._content_end(index, block)]
        for index, call in enumerate(_listed(message.tool_calls)):
            deltas += [*self._begin_call(index, call), *self._call_end(index, call)]
        for citation in _listed(message.citations):
            self._cite(0, citation)
        return [*deltas, *self._finish(0, response)]

    def _refuse(self, data: JSONObject) -> list[Delta]:
        """Raise what is an error; other events are ignored."""
        if is_error(data):
            raise self._refusal(data)
        return []

    def _start(self, response_id: str | None) -> list[Delta]:
        return [ResponseStart(self._origin_of(self.model), id=response_id or None)]

    # -- events, of which each method takes the member that it is about

    def _open(self, index: int, value: Any) -> list[Delta]:
        block = _one(value)
        piece: _CohereBlock = read(block, _CohereBlock, f"{_MESSAGE}/content")
        kind = piece.type or next((name for name in _BLOCKS if name in block), "")
        self._kinds[index] = kind
        if kind not in _BLOCKS:
            self._natives[index] = block
            return []
        return self._grow(index, piece)

    def _content_delta(self, index: int, value: Any) -> list[Delta]:
        return self._grow(index, read(_one(value), _CohereBlock, f"{_MESSAGE}/content"))

    def _grow(self, index: int, piece: _CohereBlock) -> list[Delta]:
        """Add the text of a delta; the name of its field tells its kind, unless the block is a thought."""
        key = str(index)
        deltas: list[Delta] = []
        if thinking := self._prose(piece.thinking, "thinking"):
            deltas.append(ReasoningDelta(thinking, key=key))
        if text := piece.text:
            # Gateways spell the text of a thought in either way.
            in_thought = self._kinds.get(index) == "thinking"
            deltas.append(ReasoningDelta(text, key=key) if in_thought else TextDelta(text, key=key))
        if deltas:
            self._last = key
        return deltas

    def _content_end(self, index: int, value: Any) -> list[Delta]:
        native = self._natives.pop(index, None)
        if native is not None:
            self._last = None
            return [NativeDelta(f"cohere.{self._kinds[index] or 'content'}", native)]
        return [CloseDelta(key=str(index))]

    def _plan(self, index: int, value: Any) -> list[Delta]:
        text = self._prose(value, PLAN)
        if not text:
            return []
        ext = None if self._last == PLAN else {"field": PLAN}
        self._last = PLAN
        return [ReasoningDelta(text, key=PLAN, ext=ext)]

    def _begin_call(self, index: int, value: Any) -> list[Delta]:
        call = read_call(_one(value), f"{_MESSAGE}/tool_calls", default="")
        self._calls[index] = self._last = call.id
        # The plan ends before the calls.
        return [CloseDelta(key=PLAN), ToolCallDelta(call.id, call.name, call.arguments, ext=call.ext)]

    def _call_delta(self, index: int, value: Any) -> list[Delta]:
        call = read_call(_one(value), f"{_MESSAGE}/tool_calls", default="")
        call_id = self._calls.get(index)
        return [ToolCallDelta(call_id, "", call.arguments)] if call_id is not None and call.arguments else []

    def _call_end(self, index: int, value: Any) -> list[Delta]:
        call_id = self._calls.get(index)
        return [] if call_id is None else [CloseDelta(key=call_id)]

    def _cite(self, index: int, value: Any) -> list[Delta]:
        """Store a citation; the citations of each block are returned when the message ends."""
        citation = _one(value)
        cited: _Citation = read(citation, _Citation, f"{_MESSAGE}/citations")
        texts = [number for number, held in self._kinds.items() if held == "text"]
        place = cited.content_index if cited.content_index is not None else max(texts, default=0)
        kind = "thought" if cited.type == _THOUGHT else "text"
        slot = ("plan", PLAN) if cited.type == _OF_PLAN else (kind, str(place))
        self._citations.setdefault(slot, []).append(citation)
        return []

    # -- the end

    def _finish(self, index: int, response: _CohereResponse) -> list[Delta]:
        reason = response.finish_reason or None
        deltas: list[Delta] = []
        for (kind, key), cited in self._citations.items():
            ext = {"citations": cited}
            of_text = TextDelta("", key=key, ext=ext)
            deltas.append(of_text if kind == "text" else ReasoningDelta(key=key, ext=ext))
        deltas += self._count(response.usage or _CohereUsage())
        self._running, last = False, self._last
        self._clear()
        if reason == _FAILED or response.error:
            error = self._refusal({"type": response.type or _FAILED, "error": response.error})
            error.deltas = (*deltas, *error.deltas)
            raise error
        if reason in CUT_REASONS and last is not None:
            deltas.append(CloseDelta(key=last, status="incomplete"))
        return [*deltas, FinishDelta(reason)]

    def _count(self, usage: _CohereUsage) -> list[Delta]:
        """Read the token counts, which exceed the billed ones."""
        tokens = usage.tokens or _CohereTokens()
        asked, written, reasoning = tokens.input_tokens, tokens.output_tokens, tokens.reasoning_tokens
        return self._counts_of(asked, written, reasoning=reasoning, cached=usage.cached_tokens)


def _one(value: Any) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _listed(value: JSONObject | list[JSONObject] | None) -> list[JSONObject]:
    return value if isinstance(value, list) else []


_START: Final = "message-start"
_END: Final = "message-end"
_MESSAGE: Final = "/delta/message"
_BLOCKS: Final = ("thinking", "text")

_EVENTS: Final[dict[str, tuple[str, Callable[[CohereChatDecoder, int, Any], list[Delta]]]]] = {
    _START: ("", lambda decoder, index, delta: []),
    "content-start": ("content", CohereChatDecoder._open),
    "content-delta": ("content", CohereChatDecoder._content_delta),
    "content-end": ("content", CohereChatDecoder._content_end),
    "tool-plan-delta": (PLAN, CohereChatDecoder._plan),
    "tool-call-start": ("tool_calls", CohereChatDecoder._begin_call),
    "tool-call-delta": ("tool_calls", CohereChatDecoder._call_delta),
    "tool-call-end": ("tool_calls", CohereChatDecoder._call_end),
    "citation-start": ("citations", CohereChatDecoder._cite),
    _END: ("", CohereChatDecoder._finish),
}
"""Each event's member of the message, and its method; without a member, it is given the whole delta."""


@cache
def _more(name: str, index: int) -> Shape:
    """Return the shape of events that only add text to a block."""
    content = {"type": str | None, "thinking": BLANK, "text": BLANK, name: str}
    place: Any = Literal[index] if index else Literal[0] | None
    delta = {"message": {"content": content}}
    members = {"type": Literal["content-delta"], "index": place, "delta": delta}
    return shape({**members, "error": None, "object": None}, _CohereEvent)


_TEXTS: Final = {name: attrgetter(f"delta.message.content.{name}") for name in _BLOCKS}


# -- requests


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    return chat_body(conversation, options, _assistant, _CONTENT)


def _assistant(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    """Write the message of a response, unless it consists only of thinking."""
    texts = [unit.part.text for unit in step.units if isinstance(unit.part, TextPart) and unit.part.text]
    if not (texts or step.answers):
        options.report.drop_step(step)
        return []
    message: JSONObject = {"role": "assistant"}
    blocks: list[JSONObject] = [
        {"type": "thinking", "thinking": text} for text in _thoughts(step, options, "blocks")
    ]
    if not step.answers:
        text = "".join(texts)
        message["content"] = [*blocks, {"type": "text", "text": text}] if blocks else text
        return [message]
    if blocks:
        message["content"] = blocks
    if planned := [*_thoughts(step, options, PLAN), *texts]:
        message[PLAN] = PARAGRAPH.join(planned)
    message["tool_calls"] = [function_call(answer.unit) for answer in step.answers]
    return [message]


def _thoughts(step: ResponseStep, options: EncodingOptions, field: str) -> list[str]:
    """Return the texts of the plans, or of the other reasoning, if they are sent in a field."""
    texts: list[str] = []
    for unit in reasoning_units(step) if field in options.rule.field else ():
        part = unit.part
        if isinstance(part, ReasoningPart) and part.text:
            is_plan = (part.ext or {}).get("field") == PLAN
            if is_plan == (field == PLAN):
                options.report.echo(unit)
                texts.append(part.text)
    return texts


_CONTENT: Final[PartSpelling] = {"text": typed_text, "image": image_url}
