"""Encodes a conversation as ``messages`` of Mistral's chat.

Thinking and text are returned as chunks of one list, in their order. The API rejects user messages directly
after tool messages, and requests that end with the model's message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ag_ui.core import UserMessage

from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart
from agui_reasoning.providers.encoding import (
    GO_ON,
    RESULT,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    PartSpelling,
    PlainMessage,
    PreparedConversation,
    ResponseStep,
    function_call,
    function_tool,
    image_url,
    leftovers,
    source_of,
    text_of,
    text_or_parts,
    tools_of,
    type_of,
    typed_text,
    values,
)
from agui_reasoning.providers.mistral_chat.decode import SIGNATURE
from agui_reasoning.providers.payload import JSONObject

__all__ = ["encode"]

BETWEEN: Final = "OK."
"""The assistant message inserted between a tool message and a user message."""


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    messages = _Messages([{"role": "system", "content": options.system}] if options.system else [])
    for item in conversation:
        if isinstance(item, ResponseStep):
            results = (_result(answer, options.report) for answer in item.answers)
            messages.respond([*_assistant(item, options), *results])
        else:
            messages.say(_plain_message(item, options.report))
    messages.end()
    tools = tools_of(options.tools, function_tool)
    return {"messages": messages.written, **({"tools": tools} if tools else {})}


@dataclass(slots=True)
class _Messages:
    """Messages in the order of roles that the API demands.

    Attributes:
        written: The messages.
        loop: The place of the first response of the tool loop at their end.
    """

    written: list[JSONObject]
    loop: int = 0

    def respond(self, messages: Sequence[JSONObject]) -> None:
        """Append the message of a response, and the results of its calls."""
        if not self._ends_with("tool"):
            self.loop = len(self.written)
        self.written += messages

    def say(self, message: JSONObject) -> None:
        """Append a message. After results, instructions go before the loop, and the user after the model."""
        if not self._ends_with("tool"):
            self.written.append(message)
        elif message["role"] == "system":
            self.written.insert(self.loop, message)
            self.loop += 1
        else:
            self.written += [{"role": "assistant", "content": BETWEEN}, message]

    def end(self) -> None:
        """Let the user or a tool speak last; instructions at the end go before the user's message."""
        start = len(self.written)
        while start and self.written[start - 1]["role"] == "system":
            start -= 1
        instructions = self.written[start:]
        if start and self.written[start - 1]["role"] == "assistant":
            self.written.append({"role": "user", "content": GO_ON})
        elif start and instructions:
            self.written[start - 1 :] = [*instructions, self.written[start - 1]]

    def _ends_with(self, role: str) -> bool:
        return bool(self.written) and self.written[-1]["role"] == role


# -- a response


def _assistant(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    """Write the message of a response, unless it consists only of thinking."""
    written = [
        (unit, chunk)
        for unit in step.units
        if type(unit.part) in _PARTS and (chunk := _PARTS[type(unit.part)](unit)) is not None
    ]
    if not step.answers and all(isinstance(unit.part, ReasoningPart) for unit, _ in written):
        options.report.drop_step(step)
        return []
    for unit, _ in written:
        if not isinstance(unit.part, TextPart):
            options.report.echo(unit)
    message: JSONObject = {"role": "assistant", "content": _content([chunk for _, chunk in written])}
    if step.answers:
        message["tool_calls"] = [function_call(answer.unit) for answer in step.answers]
    return [message]


def _content(chunks: list[JSONObject]) -> str | list[JSONObject]:
    """Return content as a string if possible, as the API does."""
    if all(chunk.get("type") == "text" for chunk in chunks):
        return "".join(chunk["text"] for chunk in chunks)
    return chunks


def _reasoning(unit: EchoUnit) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, ReasoningPart)
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


def _text(unit: EchoUnit) -> JSONObject | None:
    part = unit.part
    assert isinstance(part, TextPart)
    return {"type": "text", "text": part.text} if part.text else None


def _native(unit: EchoUnit) -> JSONObject | None:
    """Return the original chunk."""
    part = unit.part
    assert isinstance(part, NativePart)
    kind = type_of(part.payload)
    return dict(part.payload) if unit.at_home and kind and part.kind == f"mistral.{kind}" else None


_PARTS: dict[type[Part], Callable[[EchoUnit], JSONObject | None]] = {
    ReasoningPart: _reasoning,
    TextPart: _text,
    NativePart: _native,
}


# -- other messages


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    part = answer.unit.part
    assert isinstance(part, ToolCallPart)
    text = text_of(answer.content, report, RESULT)
    return {"role": "tool", "tool_call_id": answer.call_id, "name": part.name, "content": text}


def _plain_message(message: PlainMessage, report: EchoReport) -> JSONObject:
    if isinstance(message, UserMessage):
        return {"role": "user", "content": text_or_parts(message.content, _CONTENT, report)}
    return {"role": "system", "content": message.content}


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
