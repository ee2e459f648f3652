"""Converts OpenHands events to the items of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    EventType,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from agui_reasoning._ids import new_uuid
from agui_reasoning._strict_json import MAX_NESTING, Malformed, load, well_formed
from agui_reasoning.deltas import Delta, FinishDelta, ResponseStart
from agui_reasoning.interop._content import result_part
from agui_reasoning.interop.openhands._meaning import (
    ActionResult,
    ModelInput,
    ModelOutput,
    event_kind,
    meaning_of,
)
from agui_reasoning.interop.openhands._record import SOURCE, record_event
from agui_reasoning.parts import (
    Opaque,
    Part,
    ReasoningPart,
    Segment,
    TextPart,
    ToolCallPart,
)
from agui_reasoning.providers import decode_response
from agui_reasoning.providers.payload import JSONObject, compact_json, reject, string
from agui_reasoning.run import Run

__all__ = ["EventReader", "Placed", "decoded", "in_responses", "item_part", "plain_event"]

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


@dataclass(slots=True)
class _Calls:
    """The calls so far.

    Attributes:
        of_actions: The ID of the call of each action, by the ID of its event.
        waiting: The IDs of the calls without a result.
    """

    of_actions: dict[object, str] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    def started(self, action_id: object, call_id: str) -> None:
        """Add a call."""
        self.waiting.add(call_id)
        if isinstance(action_id, str | int):
            self.of_actions[action_id] = call_id

    def take_result(self, result: ActionResult) -> str | None:
        """Return the ID of the call that a result answers, or ``None`` for unknown and answered calls."""
        cause = result.action_id if isinstance(result.action_id, str | int) else None
        call_id = self.of_actions.get(cause, result.call_id)
        if call_id not in self.waiting:
            return None
        self.waiting.discard(call_id)
        return call_id


class EventReader:
    """Reads one stream of OpenHands events into a run."""

    def __init__(self, run: Run, *, records: bool = False, new_id: Callable[[], str] = new_uuid) -> None:
        """Start before the first event.

        Args:
            run: The run whose API, provider and model are the origin of the model output.
            records: Whether to put a RAW event before the events of each dict, so that it can be restored.
            new_id: Creates the IDs of input messages, and of calls whose event has no ID.
        """
        self._origin = replace(run.origin, api=run.api or "litellm")
        self._shows_all = run.visibility == "full"
        self._records = records
        self._new_id = new_id
        self._calls = _Calls()
        self._response: str | None = None

    def receive(self, payload: Any) -> list[RunItem]:
        """Read one event: a dict or an object of the SDK.

        Raises:
            DecodeError: The payload is not an OpenHands event (``bad_payload``).
        """
        return self.read(Placed(plain_event(payload)))

    def whole(self, response: Any) -> list[RunItem]:
        """Read a source that consists of one event."""
        return [*self.receive(response), *self.close()]

    def close(self) -> list[RunItem]:
        """End the stream."""
        return self._end_response()

    def read(self, placed: Placed) -> list[RunItem]:
        """Read one event of a reordered stream."""
        meaning = meaning_of(placed.event)
        call_id = self._calls.take_result(meaning) if isinstance(meaning, ActionResult) else None
        if meaning is None or (isinstance(meaning, ActionResult) and call_id is None):
            return [self._custom(placed.event)]
        if isinstance(meaning, ModelOutput):
            return self._read_output(meaning, placed)
        if isinstance(meaning, ModelInput):
            return self._read_input(meaning, placed)
        return self._read_result(meaning, str(call_id), placed)

    def _custom(self, event: JSONObject) -> BaseEvent:
        value = event if self._shows_all else _without_reasoning(event)
        return CustomEvent(type=EventType.CUSTOM, name=f"{SOURCE}.{event_kind(event)}", value=value)

    def _end_response(self) -> list[RunItem]:
        ended, self._response = self._response is not None, None
        return [FinishDelta()] if ended else []

    def _read_output(self, output: ModelOutput, placed: Placed) -> list[RunItem]:
        parts = self._parts(output, placed.event)
        call = next((part for part in parts if isinstance(part, ToolCallPart)), None)
        opening: list[RunItem] = []
        if not output.response_id or output.response_id != self._response:
            opening = [ResponseStart(self._origin, id=output.response_id or None)]
        self._response = output.response_id
        if call is not None:
            self._calls.started(placed.event.get("id"), call.id)
        texts = [text for part in parts for text in _visible_texts(part)]
        in_args = call is not None and isinstance(placed.event.get("args"), dict)
        return [*opening, *self._record(placed, texts, len(texts) - 1 if in_args else None), *parts]

    def _parts(self, output: ModelOutput, event: JSONObject) -> list[Part]:
        parts = decoded(output)
        if output.item is not None:
            parts.insert(0, item_part(output.item))
        if output.call is not None:
            call_id = output.call.id or self._minted(event)
            parts.append(ToolCallPart(call_id, output.call.name, output.call.arguments))
        return parts

    def _minted(self, event: JSONObject) -> str:
        """Return an ID for a call without one; it is stable if the event has an ID."""
        own = event.get("id")
        return f"{SOURCE}-{own}" if isinstance(own, str | int) else self._new_id()

    def _read_input(self, model_input: ModelInput, placed: Placed) -> list[RunItem]:
        message_id, text = self._new_id(), well_formed(model_input.text)
        content = [TextMessageContentEvent(message_id=message_id, delta=text)] if text else []
        return [
            *self._end_response(),
            *self._record(placed, [text] if text else []),
            TextMessageStartEvent(message_id=message_id, role=model_input.role),
            *content,
            TextMessageEndEvent(message_id=message_id),
        ]

    def _read_result(self, result: ActionResult, call_id: str, placed: Placed) -> list[RunItem]:
        self._response = None
        text = well_formed(result.content)
        images = [{"type": "image_url", "image_url": url} for url in result.images]
        shown = result_part(call_id, [{"type": "text", "text": text}, *images] if images else text)
        error = result.content if result.failed and result.content.strip() else None
        return [*self._record(placed, [text]), replace(shown, error=error)]

    def _record(self, placed: Placed, texts: list[str], arguments: int | None = None) -> list[RunItem]:
        if not self._records:
            return []
        return [record_event(placed.event, texts, arguments, placed.place)]


def decoded(output: ModelOutput) -> list[Part]:
    """Decode reasoning and text like a LiteLLM message, which prefers blocks to the string."""
    message: JSONObject = {"role": "assistant", "content": output.text or None}
    if output.blocks:
        message["thinking_blocks"] = list(output.blocks)
    if output.reasoning and not (output.item and item_part(output.item).segments):
        message["reasoning_content"] = output.reasoning
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    parts = decode_response("litellm", {"choices": [choice]})
    return [
        replace(part, origin=None) for part in parts if not isinstance(part, TextPart) or part.text.strip()
    ]


def item_part(item: JSONObject) -> ReasoningPart:
    """Decode an item of the Responses API, whose texts OpenHands stores as plain strings."""
    path = "/responses_reasoning_item"
    segments = [
        Segment(channel, number, text)  # type: ignore[arg-type]
        for channel, name in (("summary", "summary"), ("raw", "content"))
        for number, text in enumerate(_strings(item, name, path))
        if text
    ]
    encrypted, item_id = string(item, "encrypted_content", path), string(item, "id", path)
    values = (Opaque("openai.encrypted_content", encrypted),) if encrypted else ()
    return ReasoningPart(tuple(segments), values, item_id or None)


def _strings(source: JSONObject, name: str, path: str) -> list[str]:
    values = source.get(name)
    if values is None:
        return []
    if not isinstance(values, list) or any(not isinstance(value, str) for value in values):
        raise reject("a list of strings", values, f"{path}/{name}")
    return values


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
