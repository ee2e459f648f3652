"""The application's own events: reading them, also those of AG-UI 0.x, and closing what they leave open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, cast, get_args

from ag_ui.core import BaseEvent, Event, EventType, RunErrorEvent, RunFinishedEvent, RunStartedEvent
from pydantic import BaseModel, TypeAdapter, ValidationError

from agui_reasoning._strict_json import JSONObject, faults_of
from agui_reasoning._thinking import ThinkingEvent, ThinkingUpgrader, members_of
from agui_reasoning._wire_events import wire_event
from agui_reasoning.errors import LocalProtocolError, did_you_mean
from agui_reasoning.parts import CUT_CALL_RESULT

_MODELS: Final = frozenset(get_args(get_args(Event)[0]))
_KNOWN: Final = frozenset(kind.value for kind in EventType)
_THINKING: Final = frozenset(
    get_args(model.model_fields["type"].annotation)[0] for model in get_args(get_args(ThinkingEvent)[0])
)

_TRANSLATED: Final = (
    "The application sends THINKING_* events, which AG-UI 1.0 removed; they are translated to REASONING_*. "
    "`agui-reasoning migrate` rewrites the source."
)


class ApplicationEvents:
    """Reads the events of one application, and translates what older versions called reasoning.

    Attributes:
        opened: What its events leave open.
    """

    def __init__(self, warn: Callable[[str], None], new_id: Callable[[], str]) -> None:
        self._warn = warn
        self._upgrader = ThinkingUpgrader(warn, new_id=new_id, repair=True, tell="losses")
        self._has_translated = False
        self.opened = Opened()

    def read(self, item: Any) -> list[Event]:
        """Return the models of an event: one, unless it is a THINKING_* event that must be repaired.

        Raises:
            LocalProtocolError: The item is not an event (``not_an_item``), is of no type of AG-UI
                (``unknown_event``), is malformed (``malformed_event``) or belongs to the run frame
                (``frame_event``). The state is unchanged.
        """
        if type(item) in _MODELS:
            return [_own(item)]
        members = _members(item)
        kind = members["type"]
        if kind in _THINKING:
            return [_own(_validated(_events(), one)) for one in self._translated(members)]
        if kind == "REASONING_MESSAGE_START" and members.get("role") == "assistant":
            (members,) = self._upgrader.receive(members)  # as ag-ui-protocol 0.1.11 to 0.1.13 wrote it
        if kind in _KNOWN:
            return [_own(_validated(_events(), members))]
        if isinstance(item, BaseEvent):  # an event of a newer protocol, whose class the application has
            return [cast("Event", item)]
        raise LocalProtocolError(
            f"{kind[:80]!r} is not the type of an AG-UI event.",
            code="unknown_event",
            hint=f"{did_you_mean(kind, sorted(_KNOWN))}For a provider's payloads, yield ModelStream(...) "
            "from an agent; for private data, send CUSTOM.",
            event_type=kind,
        )

    def _translated(self, members: JSONObject) -> list[JSONObject]:
        _validated(_thinking_events(), members)
        if not self._has_translated:
            self._has_translated = True
            self._warn(_TRANSLATED)
        return self._upgrader.receive(members)


def _members(item: Any) -> JSONObject:
    """Return the members of an event under their wire names."""
    if isinstance(item, BaseModel | Mapping) and type(item) is not BaseEvent:
        members = members_of(item)
        if isinstance(members.get("type"), str):
            return members
    raise LocalProtocolError(
        f"{type(item).__name__} is not a delta, part or event.", code="not_an_item", hint=_wanted(item)
    )


def _wanted(item: Any) -> str:
    """Return a hint about what may have been intended."""
    if isinstance(item, str):
        return "For a piece of the answer, use TextDelta(...)."
    if isinstance(item, Mapping):
        return "A mapping is an event if it has a `type`; for a provider's payloads, yield ModelStream(...)."
    if any(hasattr(item, name) for name in ("__aiter__", "__iter__", "__await__", "__aenter__", "__enter__")):
        return "For a model's stream, yield ModelStream(...) from an agent; for several items, one at a time."
    return "Feed deltas (agui_reasoning.deltas), parts (agui_reasoning.parts) or AG-UI events."


def _own(event: Event) -> Event:
    """Return an event, unless it is one of the run frame."""
    if isinstance(event, RunStartedEvent | RunFinishedEvent | RunErrorEvent):
        raise LocalProtocolError(
            f"{event.type.value} is an event of the run frame.",
            code="frame_event",
            hint="Call `start`, `finish`, `cancel` or `fail` of `Run`, which send it.",
            event_type=event.type.value,
        )
    return event


def _validated(adapter: TypeAdapter[Any], members: JSONObject) -> Any:
    try:
        return adapter.validate_python(members)
    except ValidationError as error:
        faults = faults_of(error, members)
    # Raised outside the handler, because pydantic's error contains the event. Of a union, every member has a
    # fault; the deepest is that of the member that was meant.
    place = max(faults, key=lambda pointer: (pointer.count("/"), len(pointer)))
    raise LocalProtocolError(
        f"{members['type']} is malformed at {place}: expected {faults[place]}.",
        code="malformed_event",
        hint="Send the event as AG-UI 1.0 describes it; omit optional fields that have no value.",
        event_type=members["type"],
    )


@cache
def _events() -> TypeAdapter[Event]:
    return TypeAdapter(Event)


@cache
def _thinking_events() -> TypeAdapter[ThinkingEvent]:
    return TypeAdapter(ThinkingEvent)


class Opened:
    """What events opened and did not close, because a run must not end while anything is open.

    Attributes:
        starts: The start events of what is open, as wire JSON, by type, ID and subagent, the oldest first.
        terminal: The last event of the run, if it has ended.
    """

    def __init__(self) -> None:
        self.starts: dict[tuple[str, ...], JSONObject] = {}
        self.terminal: JSONObject | None = None
        self._answered: set[str] = set()

    def note(self, event: BaseEvent | Mapping[str, Any]) -> None:
        """Note what an event opens or closes. Malformed starts and ends are ignored."""
        kind = getattr(event.type, "value", event.type) if isinstance(event, BaseEvent) else event["type"]
        if kind in _ENDS:
            wire = _wire(kind, event)
            if (key := _key(kind, wire)) is not None:
                self.starts[key] = wire
        elif kind in _STARTS:
            self.starts.pop(_key(_STARTS[kind], _wire(kind, event)), None)  # type: ignore[arg-type]
        elif kind == "TOOL_CALL_RESULT":
            self._answered.add(str(_wire(kind, event).get("toolCallId")))
        elif kind in _OF_RUN:
            self.terminal = None if kind == "RUN_STARTED" else _wire(kind, event)

    def ends(self, new_id: Callable[[], str]) -> list[JSONObject]:
        """Return the events that close everything open, last opened first. Open calls count as cut."""
        return [event for start in reversed(self.starts.values()) for event in self._ends_of(start, new_id)]

    def failure(self, message: str, code: str, new_id: Callable[[], str]) -> list[JSONObject]:
        """Return the events that close everything open, and fail the run."""
        return [*self.ends(new_id), wire_event("RUN_ERROR", message=message, code=code)]

    def _ends_of(self, start: JSONObject, new_id: Callable[[], str]) -> Iterator[JSONObject]:
        end, member = _ENDS[start["type"]]
        tag = {"subagentRunId": subagent} if (subagent := start.get("subagentRunId")) else {}
        yield {"type": end, **tag, member: start[member]}
        if end == "TOOL_CALL_END" and start[member] not in self._answered:
            cut = {"messageId": new_id(), "toolCallId": start[member], "content": CUT_CALL_RESULT}
            yield {"type": "TOOL_CALL_RESULT", **tag, **cut, "role": "tool"}


_ENDS: Final = {
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_END", "messageId"),
    "TOOL_CALL_START": ("TOOL_CALL_END", "toolCallId"),
    "REASONING_START": ("REASONING_END", "messageId"),
    "REASONING_MESSAGE_START": ("REASONING_MESSAGE_END", "messageId"),
    "STEP_STARTED": ("STEP_FINISHED", "stepName"),
    "SUBAGENT_STARTED": ("SUBAGENT_FINISHED", "subagentRunId"),
}
_STARTS: Final = {end: start for start, (end, _) in _ENDS.items()} | {"SUBAGENT_ERROR": "SUBAGENT_STARTED"}
_OF_RUN: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"})


_NAMES: Final = {
    "messageId": "message_id",
    "toolCallId": "tool_call_id",
    "stepName": "step_name",
    "subagentRunId": "subagent_run_id",
}


def _wire(kind: str, event: BaseEvent | Mapping[str, Any]) -> JSONObject:
    """Return an event as wire JSON; of a model, which may hold anything, only its names."""
    if not isinstance(event, BaseEvent):
        return cast("JSONObject", event)
    names = {name: getattr(event, attribute, None) for name, attribute in _NAMES.items()}
    return {"type": kind} | {name: value for name, value in names.items() if value is not None}


def _key(start: str, wire: JSONObject) -> tuple[str, ...] | None:
    """Return the key of a construct. Only steps are named by their subagents, as well."""
    _, member = _ENDS[start]
    name, subagent = wire.get(member), wire.get("subagentRunId") or "" if member == "stepName" else ""
    return (start, name, subagent) if isinstance(name, str) and isinstance(subagent, str) else None
