"""Encodes a conversation as ``messages`` for ``client.chat.create`` of xai-sdk.

Each output is one message, as when xai-sdk appends a response: reasoning with its ciphertext, then text, then
calls. The results of server tools are tool messages between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import UserMessage

from agui_reasoning._strict_json import dump
from agui_reasoning.parts import NativePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from agui_reasoning.providers.encoding import (
    PICTURES,
    RESULT,
    UNREADABLE,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
    MessageContent,
    PartSpelling,
    PlainMessage,
    PreparedConversation,
    ResponseStep,
    as_json,
    data_of,
    data_uri,
    file_name,
    is_accepted,
    leftovers,
    media_type,
    source_of,
    spelled,
    text_of,
    tools_of,
    values,
)
from agui_reasoning.providers.payload import JSONObject
from agui_reasoning.providers.xai_grpc.outputs import CLIENT_CALL, TOOL
from agui_reasoning.providers.xai_grpc.response import ENCRYPTED, TOOL_OUTPUT

__all__ = ["encode"]

ASSISTANT = "ROLE_ASSISTANT"
COMPLETED = "TOOL_CALL_STATUS_COMPLETED"


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages``, and ``tools`` if there are any."""
    messages = [_message("ROLE_SYSTEM", [_text(options.system)])] if options.system else []
    for item in conversation:
        if isinstance(item, ResponseStep):
            messages += _response(item, options)
            messages += [_result(answer, options.report) for answer in item.answers]
        else:
            messages.append(_plain_message(item, options.report))
    tools = tools_of(options.tools, _tool)
    return {"messages": messages, **({"tools": tools} if tools else {})}


def _message(role: str, content: list[JSONObject], **fields: Any) -> JSONObject:
    """Write a message, which always has content."""
    return {"role": role, "content": content or [_text("")], **fields}


def _text(text: str) -> JSONObject:
    return {"text": text}


# -- a response


@dataclass(slots=True)
class _Draft:
    """A message of the model under construction.

    Attributes:
        thought: The unit of its reasoning.
        fields: Its reasoning.
        content: Its text.
        calls: Its calls.
    """

    thought: EchoUnit | None = None
    fields: JSONObject = field(default_factory=dict)
    content: list[JSONObject] = field(default_factory=list)
    calls: list[JSONObject] = field(default_factory=list)

    @property
    def speaks(self) -> bool:
        """Whether it contains more than reasoning."""
        return bool(self.content or self.calls)

    def write(self) -> JSONObject:
        calls = {"tool_calls": self.calls} if self.calls else {}
        return _message(ASSISTANT, self.content, **self.fields, **calls)


@dataclass(slots=True)
class _Outputs:
    """The messages of one response.

    Attributes:
        options: How to write the request.
        server: The calls of the provider's own tools so far, by ID.
        written: The finished messages, each with its draft.
    """

    options: EncodingOptions
    draft: _Draft = field(default_factory=_Draft)
    server: dict[str, JSONObject] = field(default_factory=dict)
    written: list[tuple[JSONObject, _Draft | None]] = field(default_factory=list)

    def close(self) -> None:
        """Finish the current message."""
        draft, self.draft = self.draft, _Draft()
        if draft.thought is not None or draft.speaks:
            self.written.append((draft.write(), draft))

    def think(self, unit: EchoUnit) -> None:
        part = unit.part
        assert isinstance(part, ReasoningPart)
        found = {
            "reasoning_content": part.text,
            "encrypted_content": "".join(value.value for value in values(unit, ENCRYPTED)),
        }
        fields = {name: value for name, value in found.items() if value}
        if unit.refused or not fields:
            return
        self.close()
        self.draft.thought, self.draft.fields = unit, fields

    def say(self, unit: EchoUnit) -> None:
        part = unit.part
        assert isinstance(part, TextPart)
        if self.draft.calls:
            self.close()
        if part.text:
            self.draft.content.append(_text(part.text))

    def call(self, unit: EchoUnit) -> None:
        part = unit.part
        assert isinstance(part, ToolCallPart)
        if unit.cut or (part.server and not unit.at_home):
            return
        kind = leftovers(unit).get("type") if part.server else CLIENT_CALL
        call = {
            "id": part.id if part.server else unit.call_id,
            "type": kind,
            "status": COMPLETED,
            "function": {"name": part.name, "arguments": as_json(part)},
        }
        if part.server:
            if not isinstance(kind, str) or not kind.startswith("TOOL_CALL_TYPE_"):
                return
            self.server[part.id] = call
        self.draft.calls.append(call)

    def answer(self, unit: EchoUnit) -> None:
        """Write the result of a server call that this API sent, with the calls as written in this request."""
        part = unit.part
        assert isinstance(part, ToolResultPart)
        call = self.server.get(part.tool_call_id)
        if call is not None and unit.at_home and _is_output(part.native):
            listed = part.native.get("tool_calls")
            ids = (
                [one.get("id") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
            )
            calls = [self.server[name] for name in ids if isinstance(name, str) and name in self.server]
            self.close()
            self._append(part.native, tool_calls=calls or [call], tool_call_id=part.tool_call_id)

    def keep(self, unit: EchoUnit) -> None:
        part = unit.part
        assert isinstance(part, NativePart)
        if unit.at_home and part.kind == TOOL_OUTPUT and _is_output(part.payload):
            self.close()
            self._append(part.payload)
            self.options.report.echo(unit)

    def _append(self, output: JSONObject, **fields: Any) -> None:
        content, encrypted = (output.get(name) for name in ("content", "encrypted_content"))
        opaque = {"encrypted_content": encrypted} if isinstance(encrypted, str) and encrypted else {}
        texts = [_text(content)] if isinstance(content, str) else []
        self.written.append((_message(TOOL, texts, **opaque, **fields), None))


def _is_output(native: Any) -> bool:
    """Return whether this is the output of a tool; clients may send anything."""
    return isinstance(native, dict) and native.get("role") == TOOL


_PARTS: dict[type[Part], Callable[[_Outputs, EchoUnit], None]] = {
    ReasoningPart: _Outputs.think,
    TextPart: _Outputs.say,
    ToolCallPart: _Outputs.call,
    ToolResultPart: _Outputs.answer,
    NativePart: _Outputs.keep,
}


def _response(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    """Write the messages of a response, without reasoning that nothing follows."""
    outputs = _Outputs(options)
    for unit in step.units:
        _PARTS[type(unit.part)](outputs, unit)
    outputs.close()
    written = outputs.written
    while written and (last := written[-1][1]) is not None and not last.speaks:
        if last.thought is not None:
            options.report.drop(last.thought, "orphan", harmless=True)
        written.pop()
    if not written:
        options.report.drop_step(step)
    for _, draft in written:
        if draft is not None and draft.thought is not None:
            options.report.echo(draft.thought)
    return [message for message, _ in written]


# -- other messages


def _result(answer: CallAnswer, report: EchoReport) -> JSONObject:
    content = [_text(text_of(answer.content, report, RESULT))]
    return _message(TOOL, content, tool_call_id=answer.call_id)


def _plain_message(message: PlainMessage, report: EchoReport) -> JSONObject:
    if isinstance(message, UserMessage):
        return _message("ROLE_USER", _user(message.content, report))
    return _message("ROLE_SYSTEM", [_text(message.content)])


def _user(content: MessageContent, report: EchoReport) -> list[JSONObject]:
    if isinstance(content, str):
        return [_text(content)]
    return spelled(content, _CONTENT, report) or [_text(UNREADABLE)]


def _image(part: Any) -> JSONObject | None:
    if not is_accepted(part, "image/png", *PICTURES):
        return None
    kind, value = source_of(part)
    if kind == "file":
        return {"image_url": {"file_id": value}}
    return {"image_url": {"image_url": data_uri(part, "image/png")}}


def _document(part: Any) -> JSONObject:
    kind, value = source_of(part)
    if kind == "file":
        return {"file": {"file_id": value}}
    name = {"filename": file_name(part)} if file_name(part) else {}
    given = {"url": value} if kind == "url" else {"data": data_of(part)}
    return {"file": {**given, **name, "mime_type": media_type(part, "application/pdf")}}


_CONTENT: Final[PartSpelling] = {
    "text": lambda part: _text(part.text),
    "image": _image,
    "document": _document,
}


def _tool(name: str, description: str, schema: JSONObject) -> JSONObject:
    return {"function": {"name": name, "description": description, "parameters": dump(schema)}}
