"""xAI's gRPC chat: a sequence of outputs of the model and of the tools that the provider runs.

Payloads are the JSON form of the protocol buffers, with the declared names of the fields. It omits zeros and
empty values. A response ends with its stream: every output of the model has a finish reason, and another
output follows the result of a server tool.

In a request, each output is one message, as when xai-sdk appends a response: reasoning with its ciphertext,
then text, then calls. The results of server tools are tool messages between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any, ClassVar, Final, Literal

from ag_ui.core import UserMessage
from msgspec import field as member

from agui_reasoning._strict_json import dump
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
    ToolResultDelta,
    UsageDelta,
    counted,
)
from agui_reasoning.errors import MissingExtraError, ProviderError
from agui_reasoning.parts import (
    NativePart,
    Opaque,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.providers.base import Decoder
from agui_reasoning.providers.encoding import (
    PICTURES,
    RESULT,
    UNREADABLE,
    CallAnswer,
    EchoReport,
    EchoUnit,
    EncodingOptions,
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
from agui_reasoning.providers.payload import (
    BLANK,
    NO_ITEMS,
    TEXT,
    JSONObject,
    Members,
    Shape,
    TextOf,
    Whole,
    as_text,
    plain,
    shape,
)

ENCRYPTED: Final = "xai.encrypted_content"
TOOL_OUTPUT: Final = "xai.tool_output"
TOOL: Final = "ROLE_TOOL"
CLIENT_CALL: Final = "TOOL_CALL_TYPE_CLIENT_SIDE_TOOL"
CUT_REASONS: Final = frozenset({"REASON_MAX_LEN", "REASON_MAX_CONTEXT", "REASON_TIME_LIMIT"})


class _XAIFunction(Members):
    name: str | None = None
    arguments: str | None = None


class _XAICall(Members):
    """A tool call, which is complete in streams as well. The type tells who runs it."""

    id: str | None = None
    type: str | None = None
    function: _XAIFunction | None = None
    error_message: str | None = None


class _XAIMessage(Members):
    reasoning_content: str | None = None
    content: str | None = None
    role: str | None = None
    encrypted_content: str | None = None
    tool_calls: list[_XAICall] | None = None
    citations: list[dict[str, Any]] | None = None


class _XAIOutput(Members):
    """An output. In a response, outputs of the model and of tools alternate."""

    message: _XAIMessage | None = None
    index: Whole | None = 0
    finish_reason: str | None = None


class _XAIFragment(_XAIOutput):
    """A fragment of an output."""

    message: _XAIMessage | None = member(default=None, name="delta")


class _XAIUsage(Members):
    prompt_tokens: Whole | None = None
    completion_tokens: Whole | None = None
    total_tokens: Whole | None = None
    reasoning_tokens: Whole | None = None
    cached_prompt_text_tokens: Whole | None = None


class _XAIResponse(Members):
    id: str | None = None
    outputs: Sequence[_XAIOutput] | None = None
    model: str | None = None
    usage: _XAIUsage | None = None
    error: Any = None


class _XAIChunk(_XAIResponse):
    outputs: Sequence[_XAIFragment] | None = None


class _XAITotal(_XAIUsage, kw_only=True):
    total_tokens: Whole


@lru_cache(64)
def _growth(name: str, index: int) -> Shape:
    """Return the shape of chunks that only add text to an output of the model."""
    texts = {"reasoning_content": BLANK, "content": BLANK, name: TEXT}
    others = {"encrypted_content": BLANK, "tool_calls": NO_ITEMS, "citations": NO_ITEMS}
    delta = {**texts, "role": Literal["ROLE_ASSISTANT"] | None, **others}
    place = Literal[index] if index else Literal[0] | None
    output = {"delta": delta, "index": place, "finish_reason": BLANK}
    beside = {"id": str | None, "model": str | None, "usage": _XAITotal | None, "error": None}
    return shape({"outputs": [output], **beside}, _XAIChunk)


_ADDED: Final[dict[type, str]] = {ReasoningDelta: "reasoning_content", TextDelta: "content"}
_NO_FUNCTION: Final = _XAIFunction()
_NO_MESSAGE: Final = _XAIMessage()
_NO_USAGE: Final = _XAIUsage()


class XAIDecoder(Decoder):
    """Decodes streams and responses of xAI's gRPC chat, as JSON or as objects of xai-sdk."""

    api: ClassVar[str] = "xai-grpc"
    vendor: ClassVar[str | None] = "xai"
    payload = _XAIChunk
    response = _XAIResponse
    _response: _OutputReader | None = None

    def _plain(self, payload: Any) -> Any:
        return wire_json(payload)

    def _decode(self, payload: _XAIResponse, raw: JSONObject) -> list[Delta]:
        response = self._response
        if response is None or payload.error or (payload.id and payload.id != response.id):
            return self._begin(payload, raw)
        deltas = response.receive(payload, raw)
        name = _ADDED.get(type(deltas[0])) if deltas else None
        if name is not None:
            self._continue(*response.growth(name), raw, deltas)
        return deltas

    def _begin(self, payload: _XAIResponse, raw: JSONObject) -> list[Delta]:
        """Start a response, unless the payload has no output."""
        if payload.error:
            raise self._refused(payload.error)
        if not payload.outputs:
            return [] if self._response is None else self._response.receive(payload, raw)
        deltas = self._settle()
        self._response = _OutputReader(payload.id, self.provider, self.model)
        return [*deltas, self._start(payload, self._response), *self._response.receive(payload, raw)]

    def _whole(self, payload: _XAIResponse, raw: JSONObject) -> list[Delta]:
        if payload.error:
            raise self._refused(payload.error)
        response = _OutputReader(payload.id, self.provider, self.model)
        return [self._start(payload, response), *response.receive(payload, raw), *response.end()]

    def _end(self) -> list[Delta]:
        response = self._response
        if response is None or response.finished:
            return self._settle()
        self._response = None
        raise self._truncated([*response.flush(), CloseDelta(status="incomplete")])

    def _settle(self) -> list[Delta]:
        response, self._response = self._response, None
        return response.end() if response is not None else []

    def _start(self, payload: _XAIResponse, response: _OutputReader) -> ResponseStart:
        origin = self._origin_of(payload.model or self.model)
        return counted(ResponseStart(origin, id=payload.id or None), response.counts)

    def _refused(self, error: Any) -> ProviderError:
        """Build the error for a gRPC status in JSON form, which the SDK would raise."""
        response, self._response = self._response, None
        status = error if isinstance(error, dict) else {"message": error}
        code = status.get("code")
        held = response.flush() if response else []
        return ProviderError(
            provider_code=None if code is None else as_text(code),
            provider_message=as_text(status.get("message")),
            deltas=(*held, CloseDelta(status="incomplete")),
        )


def _original(output: _XAIOutput, outputs: Sequence[_XAIOutput], raw: JSONObject) -> JSONObject:
    """Return the message of an output with all of its members."""
    place = next(number for number, one in enumerate(outputs) if one is output)
    original: JSONObject = raw["outputs"][place][type(output).__struct_encode_fields__[0]]
    return original


class _OutputReader:
    """Turns the outputs of one response into deltas.

    Every output of the model has a reasoning unit and a text unit, named after its index. The outputs of
    server tools repeat the calls that they answer.

    Attributes:
        id: The provider's ID of the response.
        finished: Whether the newest output of the model has ended.
    """

    def __init__(self, response_id: str | None, provider: str | None, model: str | None) -> None:
        self.id = response_id
        self.finished = False
        self._provider = provider
        self._model = model
        self._usage: _XAIUsage | None = None
        self._reason: str | None = None
        self._index = -1
        self._thought, self._text = "", ""
        self._open: str | None = None
        self._last: str | None = None
        self._calls: set[str] = set()
        self._results: dict[int, JSONObject] = {}
        self._failures: dict[str, str] = {}
        self._citations: dict[str, list[Any]] = {}

    def counts(self) -> UsageDelta | None:
        """Return the token counts so far. Completion tokens exclude reasoning."""
        usage = self._usage
        if usage is None:
            return None
        thought = usage.reasoning_tokens or 0
        return UsageDelta(
            provider=self._provider,
            model=self._model,
            input_tokens=usage.prompt_tokens or 0,
            output_tokens=(usage.completion_tokens or 0) + thought,
            total_tokens=usage.total_tokens or 0,
            reasoning_tokens=thought,
            cached_input_tokens=usage.cached_prompt_text_tokens or 0,
        )

    def receive(self, payload: _XAIResponse, raw: JSONObject) -> list[Delta]:
        """Decode the outputs of a payload, or the next fragments of them, and keep its token counts."""
        usage, outputs = payload.usage, payload.outputs or ()
        self._model = payload.model or self._model
        if usage is not None and usage != _NO_USAGE:
            self._usage = usage
        deltas: list[Delta] = []
        for output in outputs if len(outputs) == 1 else sorted(outputs, key=lambda one: one.index or 0):
            message = output.message or _NO_MESSAGE
            if message.role == TOOL:
                self._hold(output, message, _original(output, outputs, raw), deltas)
                continue
            if self._results or output.index != self._index:
                self._turn_from(output.index or 0, deltas)
            if message.reasoning_content or message.encrypted_content:
                self._think(message, deltas)
            if message.content:
                if self._open != self._text:
                    self._turn_to(self._text, deltas)
                deltas.append(TextDelta(message.content, key=self._text))
            if message.citations or message.tool_calls or output.finish_reason:
                self._end_output(output, message, deltas)
        return deltas

    def growth(self, name: str) -> tuple[Shape, TextOf]:
        """Return the shape of chunks that only add text to a member, and what keeps their token counts."""
        model = self._model

        def text_of(payload: Any) -> str:
            text: str = payload.outputs[0].delta.text
            if not text or payload.id != self.id or payload.model != model:
                return ""
            self._usage = payload.usage or self._usage
            return text

        return _growth(name, self._index), text_of

    def flush(self) -> list[Delta]:
        """Return what was held back."""
        counts = self.counts()
        deltas: list[Delta] = [] if counts is None else [counts]
        self._answer(deltas)
        cited, self._citations = self._citations, {}
        deltas += [TextDelta("", key=key, ext={"citations": found}) for key, found in cited.items()]
        return deltas

    def end(self) -> list[Delta]:
        """End a response that was received completely."""
        deltas = self.flush()
        if self._reason in CUT_REASONS and self._last is not None:
            deltas.append(CloseDelta(key=self._last, status="incomplete"))
        return [*deltas, FinishDelta(self._reason)]

    def _think(self, message: _XAIMessage, deltas: list[Delta]) -> None:
        key = self._thought
        if message.reasoning_content:
            if self._open != key:
                self._turn_to(key, deltas)
            deltas.append(ReasoningDelta(message.reasoning_content, key=key))
        if message.encrypted_content:
            if self._open is None:
                self._turn_to(key, deltas)
            value = Opaque(ENCRYPTED, message.encrypted_content)
            deltas.append(OpaqueDelta(value, key=key, append=True))

    def _end_output(self, output: _XAIOutput, message: _XAIMessage, deltas: list[Delta]) -> None:
        """Decode what follows the text of an output."""
        if message.citations:
            self._citations.setdefault(self._text, []).extend(message.citations)
        if message.tool_calls:
            self._call(message.tool_calls, deltas)
        if output.finish_reason:
            self._reason, self.finished = output.finish_reason, True
            if self._reason not in CUT_REASONS:  # a cut unit stays open, because more may follow
                self._turn_to(None, deltas)

    def _call(self, calls: list[_XAICall], deltas: list[Delta]) -> None:
        for call in calls:
            call_id, kind, function = call.id or "", call.type or "", call.function or _NO_FUNCTION
            if call_id and call_id in self._calls:
                continue
            self._calls.add(call_id)
            self._turn_to(None, deltas)
            self._last = call_id
            server = kind not in ("", CLIENT_CALL)
            name, arguments = function.name or "", function.arguments or ""
            ext = {"type": kind} if server else None
            made = ToolCallDelta(call_id, name, arguments, server=server, ext=ext)
            deltas += [made, CloseDelta(key=call_id)]

    def _turn_from(self, index: int, deltas: list[Delta]) -> None:
        """Go on from the results of tools, or from another output of the model."""
        self._answer(deltas)
        if index != self._index:
            self._index, self.finished = index, False
            self._thought, self._text = f"reasoning:{index}", f"text:{index}"

    def _turn_to(self, key: str | None, deltas: list[Delta]) -> None:
        """Close the open unit when another one follows."""
        before = self._open
        if before == key:
            return
        self._open, self._last = key, self._last if key is None else key
        if before is not None:
            deltas.append(CloseDelta(key=before))

    # -- outputs of the provider's tools

    def _hold(
        self, output: _XAIOutput, message: _XAIMessage, original: JSONObject, deltas: list[Delta]
    ) -> None:
        """Hold a result, which may be fragmented, until the next output of the model."""
        calls = message.tool_calls or []
        self._failures |= {call.id or "": call.error_message or "" for call in calls}
        self._call(calls, deltas)
        held = self._results.setdefault(output.index or 0, {})
        for name, value in original.items():
            grows = name != "role" and isinstance(value, str | list) and type(held.get(name)) is type(value)
            held[name] = held[name] + value if grows else value

    def _answer(self, deltas: list[Delta]) -> None:
        """Add the complete results; the first of several calls keeps the original of a shared result."""
        held, self._results = self._results, {}
        if held:
            self._turn_to(None, deltas)
        for _, message in sorted(held.items()):
            ids = list(dict.fromkeys(call.get("id") or "" for call in message.get("tool_calls") or ()))
            if not ids:
                deltas.append(NativeDelta(TOOL_OUTPUT, message))
            for number, call_id in enumerate(ids):
                content = message.get("content") or self._failures[call_id]
                deltas.append(ToolResultDelta(call_id, content, native=None if number else message))


# -- xai-sdk


def wire_json(payload: Any) -> Any:
    """Return the JSON form of an SDK object; convert other values with `plain`.

    ``chat.stream()`` yields pairs of the response so far and the new chunk; only the chunk is converted.

    Raises:
        MissingExtraError: The value is a message of protocol buffers, and their library is not installed.

    Examples:
        >>> wire_json({"outputs": []})
        {'outputs': []}
    """
    if isinstance(payload, tuple) and payload:
        payload = payload[-1]
    message = getattr(payload, "proto", payload)
    if not hasattr(message, "DESCRIPTOR"):
        return plain(payload)
    try:
        json_format = import_module("google.protobuf.json_format")
    except ImportError:
        if hasattr(message.DESCRIPTOR, "full_name"):  # made by another copy of the library
            raise MissingExtraError("Reading messages of xAI", "xai") from None
        return plain(payload)
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


# -- requests


def encode(conversation: PreparedConversation, options: EncodingOptions) -> JSONObject:
    """Write ``messages`` for ``client.chat.create`` of xai-sdk, and ``tools`` if there are any."""
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
class _XAIDraft:
    """A message of the model under construction; ``fields`` has the reasoning of the unit ``thought``."""

    thought: EchoUnit | None = None
    fields: JSONObject = field(default_factory=dict)
    content: list[JSONObject] = field(default_factory=list)
    calls: list[JSONObject] = field(default_factory=list)

    @property
    def speaks(self) -> bool:
        """Whether it contains more than reasoning."""
        return bool(self.content or self.calls)


@dataclass(slots=True)
class _OutputWriter:
    """The messages of one response.

    Attributes:
        server: The calls of the provider's own tools so far, by ID.
        written: The finished messages, each with its draft.
    """

    options: EncodingOptions
    draft: _XAIDraft = field(default_factory=_XAIDraft)
    server: dict[str, JSONObject] = field(default_factory=dict)
    written: list[tuple[JSONObject, _XAIDraft | None]] = field(default_factory=list)

    def close(self) -> None:
        """Finish the current message."""
        draft, self.draft = self.draft, _XAIDraft()
        if draft.thought is not None or draft.speaks:
            calls = {"tool_calls": draft.calls} if draft.calls else {}
            self.written.append((_message("ROLE_ASSISTANT", draft.content, **draft.fields, **calls), draft))

    def think(self, part: ReasoningPart, unit: EchoUnit) -> None:
        encrypted = "".join(value.value for value in values(unit, ENCRYPTED))
        found = {"reasoning_content": part.text, "encrypted_content": encrypted}
        fields = {name: value for name, value in found.items() if value}
        if unit.refused or not fields:
            return
        self.close()
        self.draft.thought, self.draft.fields = unit, fields

    def say(self, part: TextPart, unit: EchoUnit) -> None:
        if self.draft.calls:
            self.close()
        if part.text:
            self.draft.content.append(_text(part.text))

    def call(self, part: ToolCallPart, unit: EchoUnit) -> None:
        if unit.incomplete or (part.server and not unit.same_format):
            return
        kind = leftovers(unit).get("type") if part.server else CLIENT_CALL
        call_id = part.id if part.server else unit.call_id
        function = {"name": part.name, "arguments": as_json(part)}
        call = {"id": call_id, "type": kind, "status": "TOOL_CALL_STATUS_COMPLETED", "function": function}
        if part.server:
            if not isinstance(kind, str) or not kind.startswith("TOOL_CALL_TYPE_"):
                return
            self.server[part.id] = call
        self.draft.calls.append(call)

    def answer(self, part: ToolResultPart, unit: EchoUnit) -> None:
        """Write the result of a server call that this API sent, with the calls as written in this request."""
        call = self.server.get(part.tool_call_id)
        if call is not None and unit.same_format and _is_output(part.native):
            given = part.native.get("tool_calls")
            listed = given if isinstance(given, list) else []
            ids = [one.get("id") for one in listed if isinstance(one, dict)]
            calls = [self.server[name] for name in ids if isinstance(name, str) and name in self.server]
            self._append(part.native, tool_calls=calls or [call], tool_call_id=part.tool_call_id)

    def keep(self, part: NativePart, unit: EchoUnit) -> None:
        if unit.same_format and part.kind == TOOL_OUTPUT and _is_output(part.payload):
            self._append(part.payload)
            self.options.report.echo(unit)

    def _append(self, output: JSONObject, **fields: Any) -> None:
        self.close()
        content, encrypted = (output.get(name) for name in ("content", "encrypted_content"))
        opaque = {"encrypted_content": encrypted} if isinstance(encrypted, str) and encrypted else {}
        texts = [_text(content)] if isinstance(content, str) else []
        self.written.append((_message(TOOL, texts, **opaque, **fields), None))


def _is_output(native: Any) -> bool:
    """Return whether this is the output of a tool; clients may send anything."""
    return isinstance(native, dict) and native.get("role") == TOOL


_PARTS: Final[dict[type[Part], Callable[[_OutputWriter, Any, EchoUnit], None]]] = {
    ReasoningPart: _OutputWriter.think,
    TextPart: _OutputWriter.say,
    ToolCallPart: _OutputWriter.call,
    ToolResultPart: _OutputWriter.answer,
    NativePart: _OutputWriter.keep,
}


def _response(step: ResponseStep, options: EncodingOptions) -> list[JSONObject]:
    """Write the messages of a response, without reasoning that nothing follows."""
    outputs = _OutputWriter(options)
    for unit in step.units:
        _PARTS[type(unit.part)](outputs, unit.part, unit)
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
    role, content = "ROLE_USER" if isinstance(message, UserMessage) else "ROLE_SYSTEM", message.content
    if isinstance(content, str):
        return _message(role, [_text(content)])
    return _message(role, spelled(content, _CONTENT, report) or [_text(UNREADABLE)])


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
