"""Reads OpenHands events as the items of a run.

Two generations of event dicts are read: the app of 2025 wrote ``action`` or ``observation`` with ``args`` and
``extras``; today's SDK writes a ``kind`` per class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    EventType,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from msgspec import structs

from agui_reasoning._strict_json import MAX_NESTING, JSONObject, Malformed, load, well_formed
from agui_reasoning._wire_events import new_uuid
from agui_reasoning.deltas import Delta, FinishDelta, ResponseStart
from agui_reasoning.interop._messages import result_part
from agui_reasoning.interop._stream import FrameworkReader
from agui_reasoning.interop.openhands._write import SOURCE, record_event
from agui_reasoning.parts import (
    Channel,
    Opaque,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from agui_reasoning.providers import decode_response
from agui_reasoning.providers.payload import array, compact_json, obj, other_fields, reject, string
from agui_reasoning.run import Run

# -- what events mean


@dataclass(frozen=True, slots=True, repr=False)
class ModelOutput:
    """The model output in one event: reasoning, text and call. A call without an ID has an empty one."""

    parts: list[Part]
    response_id: str = ""  # which the events of the response share


@dataclass(frozen=True, slots=True, repr=False)
class ModelInput:
    """A message to the model."""

    role: Literal["user", "system"]
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class ActionResult:
    """The result of an action, with the ID of the call if the event has it, and that of the action event."""

    part: ToolResultPart
    action_id: object
    text: str


Meaning: TypeAlias = ModelOutput | ModelInput | ActionResult


def meaning_of(event: JSONObject) -> Meaning | None:
    """Read an event dict; return ``None`` for other events, such as state changes and condensation.

    Raises:
        DecodeError: A field has the wrong type (``bad_payload``).
    """
    if isinstance(event.get("kind"), str):
        read = _SDK.get(event["kind"])
        return read(event) if read else None
    if isinstance(event.get("action"), str):
        return _action(event)
    return _observation(event) if isinstance(event.get("observation"), str) else None


def model_parts(
    text: str, reasoning: str = "", blocks: Iterable[JSONObject] = (), item: JSONObject | None = None
) -> list[Part]:
    """Decode what the model said like a LiteLLM message, which prefers blocks to the string.

    The reasoning is one string, Anthropic's blocks or an item of the Responses API; the text is that before a
    call, or the answer.
    """
    message: JSONObject = {"role": "assistant", "content": text or None}
    first = [item_part(item)] if item else []
    if blocks := list(blocks):
        message["thinking_blocks"] = blocks
    if reasoning and not any(part.segments for part in first):
        message["reasoning_content"] = reasoning
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    parts = decode_response("litellm", {"choices": [choice]})
    said = (part for part in parts if not isinstance(part, TextPart) or part.text.strip())
    return [*first, *(structs.replace(part, origin=None) for part in said)]


def item_part(item: JSONObject) -> ReasoningPart:
    """Decode an item of the Responses API, whose texts OpenHands stores as plain strings."""
    path = "/responses_reasoning_item"
    segments = [
        Segment(channel, number, text)
        for channel, name in _CHANNELS.items()
        for number, text in enumerate(_strings(item, name, path))
        if text
    ]
    encrypted, item_id = string(item, "encrypted_content", path), string(item, "id", path)
    values = (Opaque("openai.encrypted_content", encrypted),) if encrypted else ()
    return ReasoningPart(tuple(segments), values, item_id or None)


_CHANNELS: Final[Mapping[Channel, str]] = {"summary": "summary", "raw": "content"}
"""The members of an item, by the channel of their texts."""


def _strings(source: JSONObject, name: str, path: str) -> list[str]:
    values = source.get(name)
    if values is None:
        return []
    if not isinstance(values, list) or any(not isinstance(value, str) for value in values):
        raise reject("a list of strings", values, f"{path}/{name}")
    return values


# -- the app's events

_CONTROL: Final = frozenset(
    {
        "change_agent_state",
        "condensation",
        "condensation_request",
        "loop_recovery",
        "null",
        "pause",
        "push",
        "recall",
        "resume",
        "send_pr",
        "start",
        "stop",
        "system",
    }
)
"""Actions that are not tool calls of the model."""

_METADATA: Final = "/tool_call_metadata"


def _action(event: JSONObject) -> Meaning | None:
    source, kind = string(event, "source") or "agent", event["action"]
    if kind == "message":
        return _message(event, source)
    return None if kind in _CONTROL or source != "agent" else _call(event)


def _message(event: JSONObject, source: str) -> Meaning:
    args = obj(event, "args")
    text = string(args, "content", "/args")
    if source != "agent":
        return ModelInput("user" if source == "user" else "system", text)
    _, reasoning = _thought(args)
    return ModelOutput(model_parts(text, reasoning), _response_id(event))


def _call(event: JSONObject) -> ModelOutput:
    args, metadata = obj(event, "args"), obj(event, "tool_call_metadata")
    text, reasoning = _thought(args)
    arguments = {name: value for name, value in args.items() if name not in ("thought", "reasoning_content")}
    if event["action"] == "think":
        # The thought is the argument of this tool.
        arguments, text = arguments | ({"thought": text} if "thought" in args else {}), ""
    call = ToolCallPart(
        string(metadata, "tool_call_id", _METADATA) or string(event, "tool_call_id"),
        string(metadata, "function_name", _METADATA) or event["action"],
        compact_json(arguments),
    )
    return ModelOutput([*model_parts(text, reasoning, _blocks_of(metadata)), call], _response_id(event))


def _thought(args: JSONObject) -> tuple[str, str]:
    """Return the text and the reasoning of ``args``; the thought is the text, or an object with both."""
    thought = args.get("thought")
    beside = string(args, "reasoning_content", "/args")
    if isinstance(thought, dict):
        text, inside = (string(thought, name, "/args/thought") for name in ("text", "reasoning_content"))
        return text, beside or inside
    if thought is None or isinstance(thought, str):
        return thought or "", beside
    raise reject("a string or an object", thought, "/args/thought")


def _response_id(event: JSONObject) -> str:
    response = obj(obj(event, "tool_call_metadata"), "model_response", _METADATA)
    return string(event, "llm_response_id") or string(response, "id", f"{_METADATA}/model_response")


def _blocks_of(metadata: JSONObject) -> list[JSONObject]:
    """Return the signed blocks in the copy of LiteLLM's response in an action."""
    path = f"{_METADATA}/model_response"
    for choice in array(obj(metadata, "model_response", _METADATA), "choices", path):
        message = obj(choice, "message", f"{path}/choices/0")
        return array(message, "thinking_blocks", f"{path}/choices/0/message")
    return []


def _observation(event: JSONObject) -> ActionResult:
    call_id = string(obj(event, "tool_call_metadata"), "tool_call_id", _METADATA)
    return _result(call_id, event.get("cause"), string(event, "content"))


# -- the SDK's events


def _action_event(event: JSONObject) -> ModelOutput:
    called = obj(event, "tool_call")
    arguments = called.get("arguments")
    if not isinstance(arguments, str):
        arguments = compact_json(other_fields(obj(event, "action"), "kind"))
    call = ToolCallPart(
        string(event, "tool_call_id") or string(called, "id", "/tool_call"),
        string(event, "tool_name") or string(called, "name", "/tool_call"),
        arguments,
    )
    return ModelOutput([*_said(event, "thought", ""), call], string(event, "llm_response_id"))


def _message_event(event: JSONObject) -> Meaning | None:
    message = obj(event, "llm_message")
    role = string(message, "role", "/llm_message")
    if role == "assistant":
        return ModelOutput(_said(message, "content", "/llm_message"), string(event, "llm_response_id"))
    text = _texts(message, "content", "/llm_message")
    return ModelInput("user" if role == "user" else "system", text) if role in ("user", "system") else None


def _said(source: JSONObject, name: str, path: str) -> list[Part]:
    return model_parts(
        _texts(source, name, path),
        string(source, "reasoning_content", path),
        array(source, "thinking_blocks", path),
        obj(source, "responses_reasoning_item", path),
    )


def _observation_event(event: JSONObject) -> ActionResult:
    observation = obj(event, "observation")
    if isinstance(observation.get("content"), str | list):
        pieces = [_texts(observation, "content", "/observation")]
    else:
        pieces = [compact_json(other_fields(observation, "kind"))]
    pieces += [_texts(event, "extended_content", "")] if event.get("extended_content") else []
    images = _images(observation.get("content"))
    return _result(string(event, "tool_call_id"), event.get("action_id"), "\n".join(pieces), images)


def _failed(event: JSONObject, error: str) -> ActionResult:
    result = _result(string(event, "tool_call_id"), event.get("action_id"), error)
    return replace(result, part=structs.replace(result.part, error=error if error.strip() else None))


def _result(call_id: str, action_id: object, content: str, images: Iterable[str] = ()) -> ActionResult:
    text = well_formed(content)
    shown = [{"type": "image_url", "image_url": url} for url in images]
    part = result_part(call_id, [{"type": "text", "text": text}, *shown] if shown else text)
    return ActionResult(part, action_id, text)


def _texts(source: JSONObject, name: str, path: str) -> str:
    """Return the text of content that is a string or a list of content parts."""
    if isinstance(source.get(name), str):
        return string(source, name, path)
    parts = array(source, name, path)
    return "\n".join(string(part, "text", f"{path}/{name}") for part in parts if "text" in part)


def _images(content: Any) -> Iterator[str]:
    """Yield the URLs in a list of content parts."""
    for part in content if isinstance(content, list) else ():
        urls = part.get("image_urls")
        yield from (url for url in urls if isinstance(url, str)) if isinstance(urls, list) else ()


_SDK: Final[Mapping[str, Callable[[JSONObject], Meaning | None]]] = {
    "ActionEvent": _action_event,
    "AgentErrorEvent": lambda event: _failed(event, string(event, "error")),
    "MessageEvent": _message_event,
    "ObservationEvent": _observation_event,
    "UserRejectObservation": lambda event: _failed(
        event, f"Action rejected: {string(event, 'rejection_reason')}"
    ),
}


# -- the items of a run

RunItem: TypeAlias = Delta | Part | BaseEvent

_PRIVATE: Final = frozenset(
    {
        "encrypted_content",
        "model_response",
        "reasoning",
        "reasoning_content",
        "reasoning_items",
        "responses_reasoning_item",
        "thinking",
        "thinking_blocks",
        "thought",
        "tool_call_metadata",
    }
)
"""Members that may contain reasoning, and are hidden if reasoning is hidden."""


def plain_event(event: Any) -> JSONObject:
    """Return a copy of an event as JSON; objects of the SDK are serialized as the SDK stores them.

    Raises:
        DecodeError: The event is neither, or is nested too deeply to be sent (``bad_payload``).
    """
    dump = getattr(event, "model_dump", None)
    value = dump(mode="json", warnings=False) if callable(dump) else event
    if not isinstance(value, Mapping):
        raise reject("an OpenHands event", value, "")
    copied: JSONObject | Malformed = load(compact_json(dict(value)), max_nesting=MAX_NESTING)
    if isinstance(copied, Malformed):
        raise reject(f"JSON of at most {MAX_NESTING} levels", value, "")
    return copied


@dataclass(frozen=True, slots=True, repr=False)
class Placed:
    """An event, with its number in the stream if it was moved forward."""

    event: JSONObject
    place: int | None = None


def in_responses(events: Iterable[Any]) -> list[Placed]:
    """Put the actions of each model response next to each other; older streams have results between them."""
    plain = [plain_event(event) for event in events]
    first: dict[str, int] = {}
    keys: list[int] = []
    for number, event in enumerate(plain):
        meaning = meaning_of(event)
        response = meaning.response_id if isinstance(meaning, ModelOutput) else ""
        keys.append(first.setdefault(response, number) if response else number)
    order = sorted(range(len(plain)), key=lambda number: (keys[number], number))
    return [Placed(plain[number], number if keys[number] != number else None) for number in order]


class EventReader(FrameworkReader):
    """Reads one stream of OpenHands events into a run."""

    def __init__(self, run: Run, *, records: bool = False, new_id: Callable[[], str] = new_uuid) -> None:
        """Start before the first event.

        With ``records``, the events of each dict follow a RAW event from which it can be restored. ``new_id``
        creates the IDs of input messages, and of calls whose event has no ID.
        """
        super().__init__(run)
        self._records = records
        self._new_id = new_id
        self._of_actions: dict[object, str] = {}  # the IDs of calls, by those of their events
        self._waiting: set[str] = set()  # the calls without a result
        self._response: str | None = None

    def receive(self, payload: Any) -> list[RunItem]:
        return self.read(Placed(plain_event(payload)))

    def close(self) -> list[RunItem]:
        ended, self._response = self._response is not None, None
        return [FinishDelta()] if ended else []

    def read(self, placed: Placed) -> list[RunItem]:
        """Read one event of a reordered stream."""
        meaning = meaning_of(placed.event)
        if isinstance(meaning, ModelOutput):
            return self._read_output(meaning, placed)
        if isinstance(meaning, ModelInput):
            return self._read_input(meaning, placed)
        call_id = None if meaning is None else self._answered(meaning)
        if meaning is None or call_id is None:
            return [self._custom(placed.event)]
        self._response = None
        return [*self._record(placed, [meaning.text]), structs.replace(meaning.part, tool_call_id=call_id)]

    def _custom(self, event: JSONObject) -> BaseEvent:
        kinds = (event.get(name) for name in ("kind", "action", "observation"))
        kind = next((kind for kind in kinds if isinstance(kind, str) and kind), "event")
        value = event if self._run.visibility == "full" else _without_reasoning(event)
        return CustomEvent(type=EventType.CUSTOM, name=f"{SOURCE}.{kind}", value=value)

    def _read_output(self, output: ModelOutput, placed: Placed) -> list[RunItem]:
        parts = [
            self._called(part, placed.event) if isinstance(part, ToolCallPart) else part
            for part in output.parts
        ]
        opening: list[RunItem] = []
        if not output.response_id or output.response_id != self._response:
            origin = structs.replace(self._run.origin, api=self._run.api or "litellm")
            opening = [ResponseStart(origin, id=output.response_id or None)]
        self._response = output.response_id
        texts = [text for part in parts for text in _visible_texts(part)]
        called = any(isinstance(part, ToolCallPart) for part in parts)
        in_args = called and isinstance(placed.event.get("args"), dict)
        return [*opening, *self._record(placed, texts, len(texts) - 1 if in_args else None), *parts]

    def _called(self, call: ToolCallPart, event: JSONObject) -> ToolCallPart:
        """Note a call, with an ID if it has none; it is stable if the event has an ID."""
        own = event.get("id")
        if not call.id:
            call = structs.replace(
                call, id=f"{SOURCE}-{own}" if isinstance(own, str | int) else self._new_id()
            )
        self._waiting.add(call.id)
        if isinstance(own, str | int):
            self._of_actions[own] = call.id
        return call

    def _answered(self, result: ActionResult) -> str | None:
        """Return the ID of the call that a result answers, or ``None`` for unknown and answered calls."""
        cause = result.action_id if isinstance(result.action_id, str | int) else None
        call_id = self._of_actions.get(cause, result.part.tool_call_id)
        if call_id not in self._waiting:
            return None
        self._waiting.discard(call_id)
        return call_id

    def _read_input(self, model_input: ModelInput, placed: Placed) -> list[RunItem]:
        message_id, text = self._new_id(), well_formed(model_input.text)
        content = [TextMessageContentEvent(message_id=message_id, delta=text)] if text else []
        return [
            *self.close(),
            *self._record(placed, [text] if text else []),
            TextMessageStartEvent(message_id=message_id, role=model_input.role),
            *content,
            TextMessageEndEvent(message_id=message_id),
        ]

    def _record(self, placed: Placed, texts: list[str], arguments: int | None = None) -> list[RunItem]:
        if not self._records:
            return []
        return [record_event(placed.event, texts, arguments, placed.place)]


def _visible_texts(part: Part) -> Iterator[str]:
    """Yield the text that a part shows; blank reasoning and text are not shown."""
    if isinstance(part, ToolCallPart):
        yield well_formed(part.arguments)
    elif isinstance(part, ReasoningPart | TextPart) and part.text.strip():
        yield well_formed(part.text)


def _without_reasoning(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_reasoning(inner) for name, inner in value.items() if name not in _PRIVATE}
    return [_without_reasoning(inner) for inner in value] if isinstance(value, list) else value
