"""Ollama's own API.

``/api/chat`` and ``/api/generate`` send a string of thinking, a string of text, and whole calls. Each line of
a stream is JSON with a fragment of the message. Thinking that resumes after text or a call continues the same
unit.

A request has one message per response, with its thinking in one string, and a message per result: servers
match results to calls by name and order, newer ones also by ID.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from ag_ui.core import UserMessage

from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
)
from agui_reasoning.parts import ReasoningPart, Status, TextPart
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.encoding import (
    PARAGRAPH,
    PICTURES,
    UNREADABLE,
    CallAnswer,
    EncodingOptions,
    PlainMessage,
    PreparedConversation,
    ResponseStep,
    as_object,
    chat_body,
    data_of,
    is_accepted,
    reasoning_units,
    source_of,
    text_of,
    tool_message,
)
from agui_reasoning.providers.inline import InlineThought
from agui_reasoning.providers.payload import (
    BLANK,
    NO_ITEMS,
    Call,
    JSONObject,
    Members,
    Shape,
    read_call,
    shape,
)

THINKING: Final = "thinking"
TEXT: Final = "text"
CUT_REASONS: Final = frozenset({"length"})


class _OllamaMessage(Members):
    """What is in ``message`` of a chat, and beside ``response`` of a completion."""

    thinking: Any = None
    content: str | None = None
    tool_calls: list[JSONObject] | None = None


class _OllamaLine(_OllamaMessage):
    """A line of a stream, or a response."""

    message: _OllamaMessage | None = None
    response: str | None = None
    done: Any = None
    done_reason: str | None = None
    model: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    error: Any = None


class OllamaDecoder(Decoder):
    """Decodes the chat and generate responses of Ollama, local or in the cloud."""

    api: ClassVar[str] = "ollama"
    vendor: ClassVar[str | None] = "ollama"
    splits_tags = True
    payload = response = _OllamaLine

    def _clear(self) -> None:
        self._open: str | None = None
        self._last: str | None = None
        # Models whose template Ollama does not know have their thinking between tags.
        self._inline: InlineThought | None = InlineThought(
            TEXT, self.tagging.tags, starts_in_reasoning=self.tagging.starts_in_reasoning
        )

    def _decode(self, payload: _OllamaLine, raw: JSONObject) -> list[Delta]:
        if payload.error:
            raise self._refusal(raw)
        message = payload.message
        if message is not None:
            text = message.content
        elif payload.response is None and payload.done is None:
            return []
        else:
            message, text = payload, payload.response
        path = "/tool_calls" if message is payload else "/message/tool_calls"
        calls = [read_call(one, f"{path}/{at}") for at, one in enumerate(message.tool_calls or ())]
        deltas = [] if self._running else self._start(payload.model)
        if message.thinking:
            deltas += self._think(self._prose(message.thinking, "thinking"))
        if text:
            deltas += self._say(text)
        for call in calls:
            deltas += self._call(call)
        if payload.done:
            return deltas + self._finish(payload)
        more = _MORE.get(type(deltas[0])) if deltas else None
        if more is not None and (self._inline is None or self._inline.answers):
            self._continue(*more, raw, deltas)
        return deltas

    def _whole(self, response: _OllamaLine, raw: JSONObject) -> list[Delta]:
        response.done = True if response.done is None else response.done
        return self._decode(response, raw)

    def _held_back(self) -> list[Delta]:
        return self._flush("incomplete")

    def _start(self, model: str | None) -> list[Delta]:
        self._running = True
        self._clear()
        return [ResponseStart(self._origin_of(model or self.model))]

    # -- the message

    def _think(self, text: str) -> list[Delta]:
        if not text:
            return []
        # With thinking in its own field, tags in the content are part of the answer.
        held, self._inline = self._flush(), None
        return [*held, *self._turn_to(THINKING), ReasoningDelta(text, key=THINKING)]

    def _say(self, text: str) -> list[Delta]:
        return self._answered(self._inline.feed(text) if self._inline else [TextDelta(text, key=TEXT)])

    def _answered(self, deltas: list[Delta]) -> list[Delta]:
        """Return deltas of the content, after the close of another open unit."""
        named = [delta.key for delta in deltas if isinstance(delta, ReasoningDelta | TextDelta)]
        turned = self._turn_to(named[0]) if named else []
        if named:
            self._open = self._last = named[-1]
        return [*turned, *deltas]

    def _flush(self, status: Status = "complete") -> list[Delta]:
        inline, self._inline = self._inline, None
        return self._answered(inline.close(status)) if inline else []

    def _call(self, call: Call) -> list[Delta]:
        turned = [*self._flush(), *self._turn_to(None)]
        self._last = call.id
        started = ToolCallDelta(call.id, call.name, call.arguments, ext=call.ext)
        return [*turned, started, CloseDelta(key=call.id)]

    def _turn_to(self, key: str | None) -> list[Delta]:
        """Close the open unit when content of another kind follows."""
        before, self._open = self._open, key
        if key is not None:
            self._last = key
        return [] if before in (None, key) else [CloseDelta(key=before)]

    # -- the end

    def _finish(self, payload: _OllamaLine) -> list[Delta]:
        reason = payload.done_reason or None
        counts = self._counts_of(payload.prompt_eval_count, payload.eval_count, model=payload.model)
        deltas = [*self._flush(), *counts]
        if reason in CUT_REASONS and self._last is not None:
            deltas.append(CloseDelta(key=self._last, status="incomplete"))
        self._running = False
        return [*deltas, FinishDelta(reason)]


def _line(**message: Any) -> Shape:
    """Return the shape of lines that only add text to their message."""
    return shape(
        {
            "message": {"thinking": BLANK, "content": BLANK, "tool_calls": NO_ITEMS, **message},
            **{"model": str | None, "done": bool | None, "error": None},
        },
        _OllamaLine,
    )


_MORE: Final[dict[type, tuple[Shape, Callable[[Any], str]]]] = {
    ReasoningDelta: (_line(thinking=str), lambda line: "" if line.done else line.message.thinking),
    TextDelta: (_line(content=str), lambda line: "" if line.done else line.message.content),
}


# -- requests


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    return chat_body(conversation, options, _assistant, _plain_message, _result)


def _assistant(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    """Write the message of a response, unless it consists only of thinking."""
    text = "".join(unit.part.text for unit in step.units if isinstance(unit.part, TextPart))
    if not (text or step.answers):
        options.report.drop_step(step)
        return []
    message: JSONObject = {"role": "assistant", "content": text}
    thoughts: list[str] = []
    for unit in reasoning_units(step):
        if isinstance(unit.part, ReasoningPart) and unit.part.segments:
            thoughts.append(unit.part.text)
            options.report.echo(unit)
    if thoughts:
        message["thinking"] = PARAGRAPH.join(thoughts)
    if step.answers:
        message["tool_calls"] = [
            {"id": one.call_id, "function": {"name": one.call.name, "arguments": as_object(one.call)}}
            for one in step.answers
        ]
    return [message]


def _result(answer: CallAnswer, options: EncodingOptions) -> JSONObject:
    return {**tool_message(answer, options), "tool_name": answer.call.name}


def _plain_message(message: PlainMessage, options: EncodingOptions) -> JSONObject:
    """Write text and images; servers accept only the data of images."""
    content = message.content
    if not isinstance(message, UserMessage) or isinstance(content, str):
        role = "user" if isinstance(message, UserMessage) else "system"
        return {"role": role, "content": content}
    images = [source_of(part)[1] for part in content if _is_image(part)]
    others = [part for part in content if not _is_image(part)]
    text = text_of(others, options.report, "user message")
    if images:
        return {"role": "user", "content": text, "images": images}
    return {"role": "user", "content": text if any(part.type == "text" for part in others) else UNREADABLE}


def _is_image(part: Any) -> bool:
    return part.type == "image" and bool(data_of(part)) and is_accepted(part, "image/png", *PICTURES)
