"""Mistral's Chat Completions.

Content is a list of thinking and text chunks, or text as plain strings. Consecutive chunks of one kind are
one unit, because ``closed`` is set on nearly every fragment of a thought. A unit ends when content of another
kind follows, and a thought also at its signature, so units need no keys.

Requests return thinking and text as chunks of one list, in their order. The API rejects user messages
directly after tool messages, and requests that end with the model's message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, Literal

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    NativeDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.parts import NativePart, Opaque, Part, ReasoningPart, Status, TextPart
from agui_reasoning.providers._apis.openai_chat.read import UNCOUNTED, Chunk, shape_of_chunks, usage_delta
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.encoding import (
    GO_ON,
    CallAnswer,
    EchoUnit,
    EncodingOptions,
    PartSpelling,
    PreparedConversation,
    ResponseStep,
    chat_body,
    function_call,
    image_url,
    leftovers,
    source_of,
    tool_message,
    type_of,
    typed_text,
    values,
)
from agui_reasoning.providers.inline import InlineThought
from agui_reasoning.providers.payload import (
    BLANK,
    NO_ITEMS,
    TEXT,
    Call,
    JSONObject,
    Members,
    Only,
    Shape,
    other_fields,
    prose,
    read,
    read_call,
    spelled,
    string,
)

SIGNATURE: Final = "mistral.signature"
CUT_REASONS: Final = frozenset({"length", "model_length"})

_NO_ID: Final = "null"
"""The SDK's ID for calls without one."""


class _MistralMessage(Members):
    """A message, or in a stream a fragment of one."""

    content: str | list[JSONObject] | None = None
    tool_calls: list[JSONObject] | None = None


class MistralChatDecoder(Decoder):
    """Decodes choice 0 of streams and responses of Mistral's chat completions."""

    api: ClassVar[str] = "mistral-chat"
    vendor: ClassVar[str | None] = "mistral"
    splits_tags = True
    payload = response = Chunk
    _reason: str | None = None
    _call: str | None = None
    _asides: Sequence[JSONObject] = ()
    _inline: InlineThought | None = None

    def _unwrapped(self, payload: Any) -> Any:
        # The events of the SDK contain it in `data`.
        inner = getattr(payload, "data", None)
        return payload if inner is None else inner

    def _decode(self, payload: Chunk, raw: JSONObject) -> list[Delta]:
        deltas = self._chunk(payload, raw, "delta")
        more = _MORE.get(type(deltas[0])) if deltas else None
        if more is not None and (self._inline is None or self._inline.answers):
            self._continue(*more, raw, deltas)
        return deltas

    def _whole(self, response: Chunk, raw: JSONObject) -> list[Delta]:
        return [*self._chunk(response, raw, "message"), *self._done()]

    def _done(self) -> list[Delta]:
        if not self._running or self._reason is None:
            return []
        self._running = False
        held = self._flush()
        cut = [CloseDelta(key=self._call, status="incomplete")] if self._reason in CUT_REASONS else []
        return [*held, *cut, FinishDelta(self._reason)]

    def _end(self) -> list[Delta]:
        return super()._end() if self._reason is None else self._done()

    def _held_back(self) -> list[Delta]:
        return self._flush("incomplete")

    def _chunk(self, chunk: Chunk, raw: JSONObject, name: str) -> list[Delta]:
        if chunk.error or chunk.object == "error":
            raise self._refusal(raw)
        pieces = [
            (choice, _read_message(getattr(choice, name), f"/choices/{place}/{name}"))
            for place, choice in enumerate(chunk.choices or ())
            if not choice.index
        ]
        deltas = [] if self._running or chunk.choices is None else self._start(chunk)
        for choice, (chunks, calls) in pieces:
            deltas += self._message(chunks, calls)
            self._reason = choice.finish_reason or self._reason
        if chunk.usage is None or chunk.usage in UNCOUNTED:
            return deltas
        counts = usage_delta(chunk.usage, self.provider, chunk.model or self.model, outside=False)
        return [*deltas, counts]

    def _start(self, chunk: Chunk) -> list[Delta]:
        self._running, self._reason, self._call, self._asides = True, None, None, ()
        # Before the API had thinking chunks, Magistral wrote its thinking between tags.
        self._inline = InlineThought(
            tags=self.tagging.tags, starts_in_reasoning=self.tagging.starts_in_reasoning
        )
        return [ResponseStart(self._origin_of(chunk.model or self.model), id=chunk.id or None)]

    def _flush(self, status: Status = "complete") -> list[Delta]:
        """Return the text held back as a possible tag; further tags are text."""
        inline, self._inline = self._inline, None
        return inline.close(status) if inline else []

    # -- a message or a delta

    def _message(self, message: _MistralMessage, calls: list[Call]) -> list[Delta]:
        content = message.content
        if isinstance(content, list):
            deltas = [delta for chunk in content for delta in self._piece(chunk)]
        else:
            deltas = self._say(content or "")
        for call in calls:
            deltas += self._call_piece(call)
        return deltas

    def _piece(self, chunk: JSONObject) -> list[Delta]:
        return _CHUNKS.get(string(chunk, "type", "/content"), MistralChatDecoder._native)(self, chunk)

    def _native(self, chunk: JSONObject) -> list[Delta]:
        self._call = None
        return [*self._flush(), NativeDelta(f"mistral.{chunk.get('type') or 'chunk'}", chunk)]

    def _think(self, chunk: JSONObject) -> list[Delta]:
        """Decode a fragment of a thought; its references are in ``ext``."""
        name = spelled(chunk) or "thinking"
        thinking: Any = chunk.get(name)
        listed = isinstance(thinking, list)
        fragments = [(one, prose(one)) for one in (thinking if listed else [thinking])]
        others: list[Any] = [one for one, words in fragments if words is None]
        if not _is_thought(chunk, others, listed=listed):
            self._warn_unread(name)
            return self._native(chunk)
        signature = chunk.get("signature")
        ext = other_fields(chunk, "type", name, "closed", "signature")
        if others:
            self._asides = [*self._asides, *others]
            ext["references"] = self._asides
        text = "".join(words or "" for _, words in fragments)
        deltas: list[Delta] = [ReasoningDelta(text, ext=ext or None)] if text or ext else []
        if signature:
            deltas.append(OpaqueDelta(Opaque(SIGNATURE, signature)))
        if signature or deltas:
            self._call = None
        if signature:
            self._asides = ()
        return [*self._flush(), *deltas] if deltas else []

    def _say(self, text: str) -> list[Delta]:
        if not text:
            return []
        self._call, self._asides = None, ()
        return self._inline.feed(text) if self._inline else [TextDelta(text)]

    def _call_piece(self, call: Call) -> list[Delta]:
        """Decode a call; one without a name, or with the same ID, continues the last one."""
        call_id = "" if call.id == _NO_ID else call.id
        if self._call is not None and (not call.name or call_id == self._call != ""):
            return [ToolCallDelta(self._call, "", call.arguments)]
        ended: list[Delta] = [] if self._call is None else [CloseDelta(key=self._call)]
        self._call, self._asides = call_id, ()
        return [*self._flush(), *ended, ToolCallDelta(call_id, call.name, call.arguments, ext=call.ext)]


def _read_message(value: Any, path: str) -> tuple[_MistralMessage, list[Call]]:
    """Read a message, with its calls, before anything changes."""
    message: _MistralMessage = read(value or {}, _MistralMessage, path)
    calls = message.tool_calls or ()
    return message, [read_call(call, f"{path}/tool_calls/{place}") for place, call in enumerate(calls)]


def _is_thought(chunk: JSONObject, others: list[Any], *, listed: bool) -> bool:
    """Return whether a chunk has a thought, or a value of one, in a form that can be read."""
    signature = chunk.get("signature") or ""
    if not isinstance(signature, str) or not all(listed and isinstance(one, dict) for one in others):
        return False
    return bool(signature or spelled(chunk) or not other_fields(chunk, "type", "closed"))


_CHUNKS: Final[dict[str, Callable[[MistralChatDecoder, JSONObject], list[Delta]]]] = {
    "thinking": MistralChatDecoder._think,
    "reasoning": MistralChatDecoder._think,
    "text": lambda decoder, chunk: decoder._say(string(chunk, "text", "/content")),
}


_WORDS: Final = Only({"type": Literal["text"] | None, "text": str})
_THOUGHT: Final = Only(
    {"type": Literal["thinking"], "thinking": [_WORDS], "closed": Any | None, "signature": BLANK}
)
_MORE: Final[dict[type, tuple[Shape, Callable[[Any], str]]]] = {
    ReasoningDelta: (
        shape_of_chunks({"content": [_THOUGHT], "tool_calls": NO_ITEMS}),
        lambda chunk: chunk.choices[0].delta.content[0].thinking[0].text,
    ),
    TextDelta: (
        shape_of_chunks({"content": TEXT, "tool_calls": NO_ITEMS}),
        lambda chunk: chunk.choices[0].delta.text,
    ),
}
"""What is read of chunks that only add text, and where the text is."""


# -- requests

FILLER_REPLY: Final = "OK."
"""The assistant message inserted between a tool message and a user message."""


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    body = chat_body(conversation, options, _assistant, _CONTENT, _result)
    return {**body, "messages": _in_order(body["messages"])}


def _in_order(messages: Iterable[JSONObject]) -> list[JSONObject]:
    """Return messages in the order of roles that the API demands.

    After results, instructions go before the tool loop, and the user after the model.
    """
    written: list[JSONObject] = []
    loop = 0  # the place of the first response of the tool loop at the end
    for message in messages:
        role, after_results = message["role"], bool(written) and written[-1]["role"] == "tool"
        if role == "system" and after_results:
            written.insert(loop, message)
            loop += 1
            continue
        if role == "assistant" and not after_results:
            loop = len(written)
        elif role == "user" and after_results:
            written.append({"role": "assistant", "content": FILLER_REPLY})
        written.append(message)
    return _ended(written)


def _ended(messages: list[JSONObject]) -> list[JSONObject]:
    """Let the user or a tool speak last; instructions at the end go before the user's message."""
    start = len(messages)
    while start and messages[start - 1]["role"] == "system":
        start -= 1
    spoken, instructions = messages[:start], messages[start:]
    if spoken and spoken[-1]["role"] == "assistant":
        return [*messages, {"role": "user", "content": GO_ON}]
    return [*spoken[:-1], *instructions, *spoken[-1:]]


# -- a response


def _assistant(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    """Write the message of a response, unless it consists only of thinking."""
    written = [
        (unit, chunk)
        for unit in step.units
        if type(unit.part) in _PARTS and (chunk := _PARTS[type(unit.part)](unit, unit.part)) is not None
    ]
    if not step.answers and all(isinstance(unit.part, ReasoningPart) for unit, _ in written):
        options.report.drop_step(step)
        return []
    for unit, _ in written:
        if not isinstance(unit.part, TextPart):
            options.report.echo(unit)
    message: JSONObject = {"role": "assistant", "content": [chunk for _, chunk in written]}
    if all(chunk.get("type") == "text" for _, chunk in written):
        # As the API does.
        message["content"] = "".join(chunk["text"] for _, chunk in written)
    if step.answers:
        message["tool_calls"] = [function_call(answer.unit) for answer in step.answers]
    return [message]


def _reasoning(unit: EchoUnit, part: ReasoningPart) -> JSONObject | None:
    signed = values(unit, SIGNATURE)
    if unit.refused or not (part.segments or signed):
        return None
    text = "".join(segment.text for segment in part.segments)
    chunk: JSONObject = {
        **leftovers(unit, "references"),
        "type": "thinking",
        "thinking": [{"type": "text", "text": text}],
        "closed": True,
    }
    return {**chunk, "signature": signed[0].value} if signed else chunk


def _text(unit: EchoUnit, part: TextPart) -> JSONObject | None:
    return {"type": "text", "text": part.text} if part.text else None


def _native(unit: EchoUnit, part: NativePart) -> JSONObject | None:
    """Return the original chunk."""
    kind = type_of(part.payload)
    return dict(part.payload) if unit.same_format and kind and part.kind == f"mistral.{kind}" else None


_PARTS: dict[type[Part], Callable[[EchoUnit, Any], JSONObject | None]] = {
    ReasoningPart: _reasoning,
    TextPart: _text,
    NativePart: _native,
}


# -- content of users and results


def _result(answer: CallAnswer, options: EncodingOptions) -> JSONObject:
    return {**tool_message(answer, options), "name": answer.call.name}


def _document(part: Any) -> JSONObject | None:
    kind, value = source_of(part)
    return {"type": "document_url", "document_url": value} if kind == "url" else None


def _audio(part: Any) -> JSONObject | None:
    kind, value = source_of(part)
    return None if kind == "file" else {"type": "input_audio", "input_audio": value}


_CONTENT: Final[PartSpelling] = {
    "text": typed_text,
    "image": image_url,
    "document": _document,
    "audio": _audio,
}
