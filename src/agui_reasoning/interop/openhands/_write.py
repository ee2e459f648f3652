"""Writes AG-UI events as OpenHands event dicts in the app's format: ``action`` and ``observation``.

A record contains the data of an event dict that the client is not shown. It is in a RAW event before the
events that show the event dict. Strings that are shown are null in the record, and ``texts`` maps their paths
to the shown texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    EventType,
    RawEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_reasoning._strict_json import MAX_NESTING, dump, load
from agui_reasoning._wire_events import text_of
from agui_reasoning.providers.payload import JSONObject, compact_json

# -- records

SOURCE: Final = "openhands"
"""The source of the RAW events, and the prefix of the names of CUSTOM events."""


def record_event(
    event: JSONObject, visible_texts: Sequence[str], arguments: int | None, place: int | None
) -> RawEvent:
    """Write the record of an event, whose texts the next events show in order.

    One of these, by its number, is ``args`` as JSON. An event that was moved forward has the number of its
    place in the stream.
    """
    record = _short(event, visible_texts, arguments)
    if compact_json(_rebuilt(record, visible_texts), sort_keys=True) != compact_json(event, sort_keys=True):
        record = {"event": event}
    record |= {"shows": len(visible_texts)} | ({} if place is None else {"place": place})
    return RawEvent(type=EventType.RAW, event=record, source=SOURCE)


def _short(event: JSONObject, visible_texts: Sequence[str], arguments: int | None) -> JSONObject:
    record: JSONObject = {}
    if arguments is not None:
        shown = load(visible_texts[arguments], max_nesting=MAX_NESTING)
        args = event["args"].items()
        event = {**event, "args": {name: value for name, value in args if shown.get(name, ...) != value}}
        record["arguments"] = arguments
    numbers = {text: number for number, text in enumerate(visible_texts) if text}
    texts: list[list[Any]] = []
    return record | {"event": _without(event, numbers, [], texts), "texts": texts}


def _without(value: Any, numbers: Mapping[str, int], path: list[Any], texts: list[list[Any]]) -> Any:
    """Replace the strings that are shown by ``None``, and add their paths to ``texts``."""
    if isinstance(value, str) and value in numbers:
        texts.append([path, numbers[value]])
        return None
    if isinstance(value, dict):
        return {name: _without(inner, numbers, [*path, name], texts) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, numbers, [*path, number], texts) for number, inner in enumerate(value)]
    return value


def _rebuilt(record: Mapping[str, Any], visible_texts: Sequence[str]) -> JSONObject:
    """Restore an event from its record and the texts that are shown, in order."""
    event: JSONObject = load(dump(record["event"]))
    for (*path, last), number in record.get("texts", ()):
        holder: Any = event
        for step in path:
            holder = holder[step]
        holder[last] = visible_texts[number]
    if (number := record.get("arguments")) is not None:
        event["args"] = {**load(visible_texts[number], max_nesting=MAX_NESTING), **event["args"]}
    return event


def _record_in(event: Any) -> Mapping[str, Any] | None:
    """Return the record in a RAW event of this module, or ``None``."""
    if not isinstance(event, RawEvent) or event.source != SOURCE or not isinstance(event.event, dict):
        return None
    return event.event if isinstance(event.event.get("event"), dict) else None


# -- event dicts


@dataclass(slots=True, eq=False, repr=False)
class _Entity:
    """The reasoning, text, call or result that events show under one ID."""

    kind: str
    id: str
    name: str = ""
    parent: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True, eq=False, repr=False)
class _Recorded:
    """The record of an event, and the shown entities that belong to it."""

    record: Mapping[str, Any]
    entities: list[_Entity] = field(default_factory=list)

    @property
    def full(self) -> bool:
        shows = self.record.get("shows")
        return not isinstance(shows, int) or len(self.entities) >= shows


class EventWriter:
    """Collects the events of runs and writes them as event dicts."""

    def __init__(self) -> None:
        self._entries: list[_Recorded | _Entity | JSONObject] = []
        self._known: dict[tuple[str, str], _Entity] = {}
        self._starts: dict[str, tuple[str, str]] = {}
        self._recorded: _Recorded | None = None

    def receive(self, event: BaseEvent) -> None:
        """Add an event that a client has checked."""
        if (record := _record_in(event)) is not None:
            self._begin(_Recorded(record))
        elif isinstance(event, CustomEvent) and event.name.startswith(f"{SOURCE}."):
            if isinstance(event.value, dict):
                self._begin(event.value)
        elif isinstance(event, TextMessageStartEvent):
            self._starts[event.message_id] = event.role or "assistant", ""
        elif isinstance(event, ToolCallStartEvent):
            self._starts[event.tool_call_id] = event.tool_call_name, event.parent_message_id or ""
            self._entity("call", event.tool_call_id)
        elif (kind := _KINDS.get(type(event))) is not None:
            entity_id = getattr(event, "message_id" if kind in ("reasoning", "text") else "tool_call_id")
            text = self._told(event.content) if isinstance(event, ToolCallResultEvent) else event.delta  # type: ignore[attr-defined]
            self._entity(kind, entity_id).pieces.append(text)

    def _begin(self, entry: _Recorded | JSONObject) -> None:
        self._recorded = entry if isinstance(entry, _Recorded) else None
        self._known.clear()
        self._entries.append(entry)

    def close(self) -> list[JSONObject]:
        """Return the event dicts, in order."""
        dicts = _Dicts()
        late: list[tuple[int, JSONObject]] = []
        for entry in self._entries:
            if isinstance(entry, _Entity):
                dicts.show(entry)
            elif isinstance(entry, _Recorded):
                _restore(entry, dicts, late)
            else:
                dicts.add(entry)
        written = dicts.close()
        for place, event in sorted(late, key=lambda found: found[0]):
            written.insert(place, event)
        return written

    def _told(self, content: str | list[Any]) -> str:
        """Return the text of a result; images are in the record, if there is one."""
        texts = [part for part in content if not isinstance(part, str) and part.type == "text"]
        return text_of(content if isinstance(content, str) or self._recorded is None else texts)

    def _entity(self, kind: str, entity_id: str) -> _Entity:
        known = self._known.get((kind, entity_id))
        if known is None:
            start = self._starts.get(entity_id, ("assistant", ""))
            known = self._known[kind, entity_id] = _Entity(kind, entity_id, *start)
            if self._recorded is None or self._recorded.full:
                self._entries.append(known)
            else:
                self._recorded.entities.append(known)
        return known


_KINDS: Final[Mapping[type, str]] = {
    ReasoningMessageContentEvent: "reasoning",
    TextMessageContentEvent: "text",
    ToolCallArgsEvent: "call",
    ToolCallResultEvent: "result",
}
"""The kinds of the entities whose text the events continue."""


def _restore(entry: _Recorded, dicts: _Dicts, late: list[tuple[int, JSONObject]]) -> None:
    """Restore an event; if shown texts are missing, write the available entities instead."""
    try:
        event = _rebuilt(entry.record, [one.text for one in entry.entities])
    except (KeyError, IndexError, TypeError, ValueError):
        for one in entry.entities:
            dicts.show(one)
        return
    for one in entry.entities:
        if one.kind == "call":
            dicts.note_call(one, event)
    if isinstance(place := entry.record.get("place"), int):
        dicts.flush()
        late.append((place, event))
    else:
        dicts.add(event)


class _Dicts:
    """Builds event dicts; reasoning and text are held until the next entity."""

    def __init__(self) -> None:
        self._written: list[JSONObject] = []
        self._reasoning: list[str] = []
        self._text: _Entity | None = None
        self._actions: dict[str, tuple[Any, str]] = {}
        self._next = 0

    def show(self, one: _Entity) -> None:
        _WRITERS[one.kind](self, one)

    def add(self, event: JSONObject) -> None:
        self.flush()
        self._append(event)

    def close(self) -> list[JSONObject]:
        self.flush()
        return self._written

    def note_call(self, one: _Entity, event: JSONObject) -> None:
        self._actions[one.id] = event.get("id"), str(event.get("action") or one.name)

    def flush(self) -> None:
        """Write held reasoning and text as a message."""
        text, self._text = self._text, None
        if text is None and not self._reasoning:
            return
        args = {"content": text.text if text else "", **self._reasons()}
        self._new(_SOURCES.get(text.name if text else "assistant", "environment"), "message", args)

    def _reasons(self) -> JSONObject:
        reasoning, self._reasoning = "\n".join(self._reasoning), []
        return {"reasoning_content": reasoning} if reasoning else {}

    def _append(self, event: JSONObject) -> None:
        self._written.append(event)
        if isinstance(event.get("id"), int):
            self._next = max(self._next, event["id"] + 1)

    def _new(self, source: str, action: str, args: JSONObject, **more: Any) -> JSONObject:
        event = {"id": self._next, "source": source, "action": action, "args": args, **more}
        self._append(event)
        return event

    def _reason(self, one: _Entity) -> None:
        if self._text is not None:
            self.flush()
        self._reasoning.append(one.text)

    def _say(self, one: _Entity) -> None:
        if self._text is not None or one.name != "assistant":
            self.flush()
        self._text = one
        if one.name != "assistant":
            self.flush()

    def _call(self, one: _Entity) -> None:
        arguments = load(one.text or "{}", max_nesting=MAX_NESTING)
        args = arguments if isinstance(arguments, dict) else {"arguments": one.text}
        if "reasoning_content" in args or ("thought" in args and self._text is not None):
            self.flush()
        thought, self._text = self._text, None
        args = {"thought": thought.text if thought else "", **args, **self._reasons()}
        metadata = {"function_name": one.name, "tool_call_id": one.id}
        event = self._new("agent", one.name, args, tool_call_metadata=metadata, llm_response_id=one.parent)
        self.note_call(one, event)

    def _answer(self, one: _Entity) -> None:
        self.flush()
        cause, name = self._actions.get(one.id, (None, one.name or "null"))
        event = {"id": self._next, "source": "environment", "cause": cause, "observation": name}
        event |= {"content": one.text, "extras": {}, "tool_call_metadata": {"tool_call_id": one.id}}
        self._append(event)


_SOURCES: Final = {"assistant": "agent", "user": "user"}

_WRITERS: Final[Mapping[str, Callable[[_Dicts, _Entity], None]]] = {
    "reasoning": _Dicts._reason,
    "text": _Dicts._say,
    "call": _Dicts._call,
    "result": _Dicts._answer,
}
