"""Converts OpenHands event dicts to AG-UI events and back.

Reads both generations of event dicts: those of the app, with ``action`` and ``observation``, and those of the
SDK, with ``kind``. Only `messages`, which builds objects of the SDK, imports OpenHands.

Three forms of messages are stored: the fields of the ``Message`` of the SDK, the dicts for Chat Completions
(``to_chat_dict``), and the items for Responses (``to_responses_dict``). Older logs have messages of LiteLLM
with the predecessors of tool calls: ``function_call`` and the role ``function``, without IDs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

from ag_ui.core import Event, Message, RunAgentInput, SystemMessage, ToolMessage, UserMessage
from pydantic import BaseModel

from agui_reasoning._driver import ModelStream
from agui_reasoning._wire_events import new_uuid
from agui_reasoning.consumer import Conversation
from agui_reasoning.errors import AGUIReasoningWarning
from agui_reasoning.interop._client import imported
from agui_reasoning.interop._messages import media_of, with_names
from agui_reasoning.interop.openhands._read import (
    EventReader,
    in_responses,
    item_part,
    model_parts,
    plain_event,
)
from agui_reasoning.interop.openhands._write import EventWriter
from agui_reasoning.parts import NativePart, Origin, Part, ToolCallPart, Turn
from agui_reasoning.providers.payload import JSONObject, array, obj, reject, string
from agui_reasoning.request import History
from agui_reasoning.run import Run, RunOptions, RunSettings, shows_options

__all__ = ["messages", "read_events", "read_messages", "stream", "write_events"]


def stream(source: Any) -> ModelStream:
    """Read the events of an OpenHands conversation inside a run, as they arrive.

    An action is a tool call, an observation its result, a message is text. Everything else (state,
    condensation) becomes a CUSTOM event named ``openhands.<kind>`` with the event dict as its value.

    Args:
        source: An iterable of event dicts or of the SDK's event objects, synchronous or asynchronous, or
            anything else that `ModelStream` accepts.

    Returns:
        A model stream to yield from an agent. The API, provider and model are those of the run; without an
        API it is ``litellm``.
    """
    return ModelStream(source, reader=EventReader)


def messages(run: Run, *, system: str | None = None, history: History | None = None) -> list[Any]:
    """Write the conversation of a run as messages of the OpenHands SDK.

    The SDK decides which of their fields are sent to a model, and in which form.

    Args:
        run: The run. Its provider is the upstream of LiteLLM.
        system: System instructions.
        history: The conversation to write; default is `Run.history`.

    Returns:
        Objects of ``openhands.sdk.llm.Message``.

    Raises:
        ConfigurationError: The OpenHands SDK is not installed (``missing_framework``).

    Warns:
        ReasoningLostWarning: The upstream requires reasoning that cannot be sent.
    """
    framework = "The OpenHands SDK", "openhands-sdk, which needs Python 3.12"
    message = imported("openhands.sdk.llm", *framework).Message
    return [message.model_validate(fields) for fields in message_fields(run, system, history)]


def read_messages(
    stored: Iterable[Any],
    *,
    provider: str | None = None,
    model: str | None = None,
    new_id: Callable[[], str] | None = None,
) -> History:
    """Read stored messages, for a request or for `messages`.

    Reads the fields of the SDK's ``Message`` and the dicts that its ``to_chat_dict`` and
    ``to_responses_dict`` return, mixed as they come. A call without an ID (``function_call``) gets one.

    Args:
        stored: The messages: dicts, or the SDK's objects.
        provider: The upstream that produced the reasoning.
        model: The model that produced it.
        new_id: Creates the IDs of messages; by default, random UUIDs.

    Returns:
        The conversation: pass it to `Run.request` as ``history``.

    Raises:
        DecodeError: A message does not have one of these forms (``bad_payload``).

    Warns:
        AGUIReasoningWarning: Something of a message was left out, or no request includes it.

    Examples:
        >>> answer = {"role": "assistant", "content": "Noon.", "reasoning_content": "Look at the clock."}
        >>> [type(part).__name__ for part in read_messages([answer]).turns[0].parts]
        ['ReasoningPart', 'TextPart']
    """
    reader = _StoredReader(Origin(provider, "litellm", model), new_id or new_uuid)
    for message in stored:
        reader.read(plain_event(message))
    for sentence in reader.warnings:
        warnings.warn(sentence, AGUIReasoningWarning, stacklevel=2)
    return History(tuple(reader.close()))


@shows_options(RunOptions, RunSettings)
def read_events(
    events: Iterable[Any],
    *,
    run_input: RunAgentInput | Mapping[str, Any] | None = None,
    **options: Unpack[RunOptions],
) -> list[Event]:
    """Turn a stored OpenHands event stream into the AG-UI events of one run.

    With full visibility and without keys, a RAW event before the events of each dict contains the data that
    AG-UI cannot represent, and `write_events` returns the same dicts.

    Args:
        events: Event dicts, or the SDK's event objects.
        run_input: The input of the run; default is a new thread.
        **options: The options of `agui_reasoning.Run`.

    Raises:
        DecodeError: An event does not have the format of OpenHands events (``bad_payload``).

    Examples:
        >>> args = {"command": "ls", "thought": "Look.", "reasoning_content": "Where am I?"}
        >>> action = {"action": "run", "args": args}
        >>> events = read_events([action])
        >>> write_events(events) == [action]
        True
    """
    make_id = options.get("new_id") or new_uuid
    empty: dict[str, Any] = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
    run = Run(run_input or {"threadId": make_id(), "runId": make_id(), **empty}, **options)
    records = options.get("visibility", "full") == "full" and options.get("keys") is None
    reader = EventReader(run, records=records, new_id=make_id)
    written = run.start()
    for placed in in_responses(events):
        for item in reader.read(placed):
            written += run.receive(item)
    return [*written, *run.finish()]


def write_events(events: Iterable[BaseModel | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write AG-UI events as OpenHands event dicts.

    Events from `read_events` give the original dicts. Those of other runs give dicts in the app's format:
    ``args.thought`` is the text before a call, ``args.reasoning_content`` the reasoning.

    Args:
        events: The events of whole runs, as models or JSON.

    Raises:
        RemoteProtocolError: The events violate the protocol.
        TruncatedRunError: The events end inside a run.
    """
    conversation, writer = Conversation(on_warning=lambda sentence: None), EventWriter()
    for event in events:
        for delivered in conversation.receive(event):
            writer.receive(delivered)
    conversation.end_of_stream()
    return writer.close()


# -- reading messages

_TEXTS: Final = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})
_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_MODELS_ITEMS: Final = frozenset({"reasoning", "function_call"})
"""The items of a response that are not messages."""


@dataclass(slots=True)
class _StoredReader:
    """Reads messages in order; consecutive items of the model are one response."""

    origin: Origin
    new_id: Callable[[], str]
    items: list[Turn | Message] = field(default_factory=list)
    open: list[Part] = field(default_factory=list)  # of a response whose items may go on
    waiting: dict[str, str] = field(default_factory=dict)  # the IDs of calls without, by name, until a result
    warnings: dict[str, None] = field(default_factory=dict)  # each sentence once

    def read(self, message: JSONObject) -> None:
        kind = string(message, "type")
        self.warnings |= dict.fromkeys(_left_out(message))
        if kind in _MODELS_ITEMS:
            self.open.append(_of_item(message, kind))
        elif kind == "function_call_output":
            self._add(self._result(string(message, "call_id"), message.get("output"), "output"))
        elif kind == "message" and message.get("role") == "assistant":
            self.open += model_parts(_text(message, "content"))
        else:
            self._add(self._of_role(message))

    def close(self) -> list[Turn | Message]:
        self._end_response()
        return self.items

    def _add(self, item: Turn | Message) -> None:
        self._end_response()
        self.items.append(item)

    def _end_response(self) -> None:
        if self.open:
            self.items.append(Turn(tuple(self.open), self.origin))
            self.open = []

    def _of_role(self, message: JSONObject) -> Turn | Message:
        role = message.get("role")
        if role == "assistant":
            return Turn((*_parts(message), *self._legacy_call(message)), self.origin)
        if role == "tool":
            return self._result(string(message, "tool_call_id"), message.get("content"), "content")
        if role == "function":
            call_id = self.waiting.pop(string(message, "name"), "")
            return self._result(call_id or self.new_id(), message.get("content"), "content")
        if role == "user":
            return UserMessage.model_validate({"id": self.new_id(), "content": _content(message, "content")})
        if role == "system":
            return SystemMessage(id=self.new_id(), content=_text(message, "content"))
        raise reject("a role or a type of OpenHands messages", role, "/role")

    def _legacy_call(self, message: JSONObject) -> Iterator[ToolCallPart]:
        call = obj(message, "function_call")
        if call:
            name, arguments = (string(call, field, "/function_call") for field in ("name", "arguments"))
            self.waiting[name] = self.new_id()
            yield ToolCallPart(self.waiting[name], name, arguments)

    def _result(self, call_id: str, content: Any, name: str) -> ToolMessage:
        told = _content({name: content}, name)
        return ToolMessage.model_validate({"id": self.new_id(), "toolCallId": call_id, "content": told})


def _parts(message: JSONObject) -> list[Part]:
    """Return the parts of an assistant message: reasoning, text, images, calls."""
    inside = _listed(message, "content")
    parts = model_parts(
        _text(message, "content") or string(obj(message, "audio"), "transcript", "/audio"),
        string(message, "reasoning_content"),
        array(message, "thinking_blocks", "") or [part for part in inside if _kind(part) in _THOUGHTS],
        obj(message, "responses_reasoning_item"),
    )
    images = (NativePart("openai_chat.image_url", part) for part in inside if _images(part))
    return [*parts, *images, *map(_call, array(message, "tool_calls", ""))]


def _left_out(message: JSONObject) -> Iterator[str]:
    """Tell what of a message is not read, or not sent again."""
    parts = [part for name in ("content", "output") for part in _listed(message, name)]
    of_assistant = message.get("role") == "assistant"
    if any(part.get("cache_prompt") or part.get("cache_control") for part in (message, *parts)):
        yield "Marks for prompt caching were left out: mark the messages of the next request."
    if of_assistant and any(map(_images, parts)):
        yield "Images of the model are kept in the history, but no request includes them."
    if obj(message, "audio"):
        yield "Audio of the model was left out; its transcript is read as text."
    read = _TEXTS | _THOUGHTS if of_assistant else _TEXTS
    if any(_kind(part) not in read and not _images(part) for part in parts):
        yield "Content that is neither text nor an image was left out."


def _call(call: JSONObject) -> ToolCallPart:
    """Read a call of a stored message, or of Chat Completions, which has name and arguments inside."""
    inside = obj(call, "function", "/tool_calls") if "function" in call else call
    name, arguments = (string(inside, field, "/tool_calls") for field in ("name", "arguments"))
    return ToolCallPart(string(call, "id", "/tool_calls"), name, arguments)


def _of_item(item: JSONObject, kind: str) -> Part:
    if kind == "function_call":
        return ToolCallPart(string(item, "call_id"), string(item, "name"), string(item, "arguments"))
    plain = {
        name: [string(part, "text", f"/{name}") for part in array(item, name, "")]
        for name in ("summary", "content")
    }
    return item_part({**item, **plain})


def _text(message: JSONObject, name: str) -> str:
    """Return the text of a string or of content parts, joined as OpenHands joins them."""
    value = message.get(name)
    if value is None or isinstance(value, str):
        return value or ""
    parts = array(message, name, "")
    return "\n".join(string(part, "text", f"/{name}") for part in parts if _kind(part) in _TEXTS)


def _content(message: JSONObject, name: str) -> str | list[JSONObject]:
    """Return what a user said or a tool returned as AG-UI writes it: a string unless there are images."""
    parts = _listed(message, name)
    if not any(_images(part) for part in parts):
        return _text(message, name)
    return [read for part in parts for read in _content_part(part)]


def _listed(message: JSONObject, name: str) -> list[JSONObject]:
    return array(message, name, "") if isinstance(message.get(name), list) else []


def _kind(part: JSONObject) -> str:
    return string(part, "type", "/content")


def _content_part(part: JSONObject) -> Iterator[JSONObject]:
    if _kind(part) in _TEXTS:
        yield {"type": "text", "text": string(part, "text", "/content")}
    media = (media_of({"type": "image_url", "image_url": url}) for url in _images(part))
    yield from (image.part for image in media if image is not None)


def _images(part: JSONObject) -> list[str]:
    """Return the URLs of a part: of the SDK's, of Chat Completions' or of Responses'."""
    found = part.get("image_urls") or [part.get("image_url")]
    urls = [one.get("url") if isinstance(one, Mapping) else one for one in found]
    return [url for url in urls if isinstance(url, str)]


# -- writing messages

_RESPONSES: Final = frozenset({"azure", "openai"})
"""Upstreams that OpenHands may call with the Responses API; for other calls it omits the items."""


def message_fields(run: Run, system: str | None = None, history: History | None = None) -> list[JSONObject]:
    """Write the messages of a run in the SDK's storage format, one dict per message."""
    model = run.model
    if run.provider in _RESPONSES and model is not None and "responses/" not in model:
        model = f"responses/{model}"
    request = run.request(api="litellm", model=model, system=system, tools=(), history=history)
    return [_fields(message, run) for message in with_names(request.body["messages"])]


def _fields(message: JSONObject, run: Run) -> JSONObject:
    items = message.get("reasoning_items") or []
    fields: JSONObject = {"role": message["role"], "content": _fields_of_content(message.get("content"))}
    if calls := [call for call in message.get("tool_calls") or () if call["type"] == "function"]:
        origin = "responses" if items else "completion"
        fields["tool_calls"] = [{"id": call["id"], **call["function"], "origin": origin} for call in calls]
    if call_id := message.get("tool_call_id"):
        fields |= {"tool_call_id": call_id, "name": message.get("name", "unknown")}
    for name in ("reasoning_content", "thinking_blocks"):
        fields |= {name: message[name]} if message.get(name) else {}
    if items:
        item, summary = items[-1], [part["text"] for part in items[-1]["summary"]]
        kept = {"id": item.get("id"), "summary": summary, "encrypted_content": item["encrypted_content"]}
        fields["responses_reasoning_item"] = kept
    if len(items) > 1:
        run.warn_once(["An OpenHands message holds one reasoning item; those before the last are left out."])
    return fields


def _fields_of_content(content: Any) -> list[JSONObject]:
    """Write text and images as content parts of the SDK."""
    parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    written: list[JSONObject] = []
    for part in parts:
        if part["type"] == "image_url":
            written.append({"type": "image", "image_urls": [part["image_url"]["url"]]})
        elif part["type"] == "text" and part["text"]:
            written.append(part)
    return written
