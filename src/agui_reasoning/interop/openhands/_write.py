"""Writes AG-UI events as OpenHands event dicts in the app's format: ``action`` and ``observation``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningMessageContentEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_reasoning._media import text_of
from agui_reasoning._strict_json import MAX_NESTING, load
from agui_reasoning.interop.openhands._record import SOURCE, rebuilt, record_in
from agui_reasoning.providers.payload import JSONObject

__all__ = ["EventWriter"]


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
        self._starts: dict[str, Any] = {}
        self._recorded: _Recorded | None = None

    def receive(self, event: BaseEvent) -> None:
        """Add an event that a client has checked."""
        if (record := record_in(event)) is not None:
            self._recorded = _Recorded(record)
            self._known.clear()
            self._entries.append(self._recorded)
        elif isinstance(event, CustomEvent) and event.name.startswith(f"{SOURCE}."):
            self._note_custom(event.value)
        elif (handle := _HANDLERS.get(type(event))) is not None:
            handle(self, event)

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
        return _put_back(dicts.close(), sorted(late, key=lambda found: found[0]))

    def _note_custom(self, value: Any) -> None:
        if isinstance(value, dict):
            self._recorded = None
            self._known.clear()
            self._entries.append(value)

    def _started(self, event: TextMessageStartEvent | ToolCallStartEvent) -> None:
        if isinstance(event, ToolCallStartEvent):
            self._starts[event.tool_call_id] = event
            self._entity("call", event.tool_call_id)
        else:
            self._starts[event.message_id] = event

    def _content(self, event: ReasoningMessageContentEvent | TextMessageContentEvent) -> None:
        kind = "reasoning" if isinstance(event, ReasoningMessageContentEvent) else "text"
        self._entity(kind, event.message_id).pieces.append(event.delta)

    def _args(self, event: ToolCallArgsEvent) -> None:
        self._entity("call", event.tool_call_id).pieces.append(event.delta)

    def _result(self, event: ToolCallResultEvent) -> None:
        self._entity("result", event.tool_call_id).pieces.append(self._told(event.content))

    def _told(self, content: str | list[Any]) -> str:
        """Return the text of a result; images are in the record, if there is one."""
        texts = [part for part in content if not isinstance(part, str) and part.type == "text"]
        return text_of(content if isinstance(content, str) or self._recorded is None else texts)

    def _entity(self, kind: str, entity_id: str) -> _Entity:
        known = self._known.get((kind, entity_id))
        if known is None:
            known = self._known[kind, entity_id] = self._opened(kind, entity_id)
            if self._recorded is None or self._recorded.full:
                self._entries.append(known)
            else:
                self._recorded.entities.append(known)
        return known

    def _opened(self, kind: str, entity_id: str) -> _Entity:
        start = self._starts.get(entity_id)
        if isinstance(start, ToolCallStartEvent):
            return _Entity(kind, entity_id, start.tool_call_name, start.parent_message_id or "")
        return _Entity(kind, entity_id, getattr(start, "role", None) or "assistant")


_HANDLERS: Final[Mapping[type, Callable[[EventWriter, Any], None]]] = {
    ReasoningMessageContentEvent: EventWriter._content,
    TextMessageContentEvent: EventWriter._content,
    TextMessageStartEvent: EventWriter._started,
    ToolCallArgsEvent: EventWriter._args,
    ToolCallResultEvent: EventWriter._result,
    ToolCallStartEvent: EventWriter._started,
}


def _put_back(written: list[JSONObject], late: list[tuple[int, JSONObject]]) -> list[JSONObject]:
    """Move events that were shown early back to their places."""
    whole: list[JSONObject] = []
    taken = 0
    for place, event in late:
        fill = max(0, place - len(whole))
        whole += written[taken : taken + fill]
        taken += fill
        whole.append(event)
    return whole + written[taken:]


def _restore(entry: _Recorded, dicts: _Dicts, late: list[tuple[int, JSONObject]]) -> None:
    """Restore an event; if shown texts are missing, write the available entities instead."""
    texts = [one.text for one in entry.entities]
    try:
        event = rebuilt(entry.record, texts)
        place = entry.record.get("place")
    except (KeyError, IndexError, TypeError, ValueError):
        for one in entry.entities:
            dicts.show(one)
        return
    for one in entry.entities:
        if one.kind == "call":
            dicts.note_call(one, event)
    if isinstance(place, int):
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
        """Write an entity without a record."""
        _WRITERS[one.kind](self, one)

    def add(self, event: JSONObject) -> None:
        """Add a complete event."""
        self.flush()
        self._append(event)

    def close(self) -> list[JSONObject]:
        """Return the event dicts."""
        self.flush()
        return self._written

    def note_call(self, one: _Entity, event: JSONObject) -> None:
        """Store the action event of a call."""
        self._actions[one.id] = event.get("id"), str(event.get("action") or one.name)

    def flush(self) -> None:
        """Write held reasoning and text as a message."""
        text, self._text = self._text, None
        if text is None and not self._reasoning:
            return
        args = {"content": text.text if text else "", **self._reasons()}
        self._new(
            {"source": _SOURCES.get(text.name if text else "assistant", "environment")}, "message", args
        )

    def _reasons(self) -> JSONObject:
        reasoning, self._reasoning = "\n".join(self._reasoning), []
        return {"reasoning_content": reasoning} if reasoning else {}

    def _append(self, event: JSONObject) -> None:
        self._written.append(event)
        if isinstance(event.get("id"), int):
            self._next = max(self._next, event["id"] + 1)

    def _new(self, head: JSONObject, action: str, args: JSONObject, **more: Any) -> JSONObject:
        event = {"id": self._next, **head, "action": action, "args": args, **more}
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
        event = self._new(
            {"source": "agent"}, one.name, args, tool_call_metadata=metadata, llm_response_id=one.parent
        )
        self.note_call(one, event)

    def _answer(self, one: _Entity) -> None:
        self.flush()
        cause, name = self._actions.get(one.id, (None, one.name or "null"))
        event = {"id": self._next, "source": "environment"}
        event |= {"cause": cause, "observation": name, "content": one.text, "extras": {}}
        self._append(event | {"tool_call_metadata": {"tool_call_id": one.id}})


_SOURCES: Final = {"assistant": "agent", "user": "user"}

_WRITERS: Final[Mapping[str, Callable[[_Dicts, _Entity], None]]] = {
    "reasoning": _Dicts._reason,
    "text": _Dicts._say,
    "call": _Dicts._call,
    "result": _Dicts._answer,
}
