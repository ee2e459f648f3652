"""Expansion of ``*_CHUNK`` events into starts, contents and ends, with one lane per subagent.

A chunk omits what its lane already knows, so its meaning depends on the lane. Each lane has at most one open
item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer import _faults as faults
from agui_reasoning.consumer._schema import EVENTS

ChunkOwner: TypeAlias = str | None


class _ChunkForm(Struct, frozen=True):
    """A kind of chunk, and the types of the events it is expanded into.

    Attributes:
        id: The field with the item's ID.
        needs: The fields that the first chunk must have.
        settled: Fields that later chunks may repeat but not change, with their defaults.
        fixed: Additional members of the start event.
    """

    noun: str
    id: str
    start: str
    content: str
    end: str
    needs: tuple[str, ...] = ("messageId",)
    settled: Mapping[str, str | None] = {}
    fixed: Mapping[str, str] = {}


def _form(
    noun: str, family: str, member: str = "messageId", *, content: str = "CONTENT", **rest: Any
) -> _ChunkForm:
    return _ChunkForm(noun, member, f"{family}_START", f"{family}_{content}", f"{family}_END", **rest)


_FORMS: Final[dict[str, _ChunkForm]] = {
    "TEXT_MESSAGE_CHUNK": _form("text message", "TEXT_MESSAGE", settled={"role": "assistant", "name": None}),
    "TOOL_CALL_CHUNK": _form(
        "tool call",
        "TOOL_CALL",
        "toolCallId",
        content="ARGS",
        needs=("toolCallId", "toolCallName"),
        settled={"toolCallName": None, "parentMessageId": None},
    ),
    "REASONING_MESSAGE_CHUNK": _form("reasoning message", "REASONING_MESSAGE", fixed={"role": "reasoning"}),
}

_ALL_LANES: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
_NO_LANE: Final = frozenset(
    {"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "RAW", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
)
"""The events that close all lanes, and those that close none."""


class _Item(Struct, frozen=True):
    """The open item of a lane."""

    form: _ChunkForm
    id: str
    settled: JSONObject


class Expander:
    """Expands one stream.

    Source:
        AG-UI 1.1: C16 to C25.
    """

    def __init__(self) -> None:
        self._lanes: dict[ChunkOwner, _Item] = {}
        self._owners: dict[tuple[str, str], ChunkOwner] = {}
        self._by_noun: dict[str, dict[ChunkOwner, None]] = {}

    def receive(self, event: JSONObject, state: str = "") -> list[JSONObject]:
        """Return the expansion of an event, after the ends of the items it closes.

        Raises:
            RemoteProtocolError: The chunk is invalid (``chunk_without_id``, ``chunk_conflict``,
                ``chunk_ambiguous``, ``owner_mismatch``).
        """
        form = _FORMS.get(event["type"])
        if form is not None:
            return self._chunk(form, event, state)
        closer = _CLOSERS.get(event["type"]) if self._lanes else None
        return [event] if closer is None else [*closer(self, event), event]

    def close(self) -> None:
        """Discard open items without generating their ends (C25)."""
        self._lanes.clear()
        self._owners.clear()
        self._by_noun.clear()

    # -- lanes

    def _close_own(self, event: JSONObject) -> list[JSONObject]:
        return self._end(event.get("subagentRunId"))

    def _close_all(self, event: JSONObject) -> list[JSONObject]:
        return [end for owner in list(self._lanes) for end in self._end(owner)]

    def _end(self, owner: ChunkOwner) -> list[JSONObject]:
        item = self._lanes.pop(owner, None)
        if item is None:
            return []
        del self._owners[item.form.noun, item.id]
        del self._by_noun[item.form.noun][owner]
        return [{"type": item.form.end, item.form.id: item.id, **_tag(owner)}]

    def _open(self, owner: ChunkOwner, item: _Item) -> None:
        self._lanes[owner] = item
        self._owners[item.form.noun, item.id] = owner
        self._by_noun.setdefault(item.form.noun, {})[owner] = None

    def _lane(self, form: _ChunkForm, event: JSONObject, state: str) -> ChunkOwner:
        """Return the lane of a chunk (C18)."""
        tag: ChunkOwner = event.get("subagentRunId")
        name: str | None = event.get(form.id)
        if name is None:
            return self._unnamed_lane(form, event, tag, state)
        if (form.noun, name) not in self._owners:
            return tag
        owner = self._owners[form.noun, name]
        if tag is not None and tag != owner:
            raise faults.owner_mismatch(event, form.noun, name, owner, state)
        return owner

    def _unnamed_lane(self, form: _ChunkForm, event: JSONObject, tag: ChunkOwner, state: str) -> ChunkOwner:
        holders = self._by_noun.get(form.noun, {})
        if tag is not None or None in holders or not holders:
            return tag
        if len(holders) > 1:
            raise faults.chunk_ambiguous(event, form.id, state)
        return next(iter(holders))

    # -- chunks

    def _chunk(self, form: _ChunkForm, event: JSONObject, state: str) -> list[JSONObject]:
        owner = self._lane(form, event, state)
        item = self._lanes.get(owner)
        if item is not None and item.form is form and event.get(form.id, item.id) == item.id:
            for field in form.settled:
                if field in event and event[field] != item.settled.get(field):
                    raise faults.chunk_conflict(event, item.id, field, state)
            return self._content(item, event, owner, opening=False)
        for field in form.needs:
            if field not in event:
                raise faults.chunk_without_id(event, field, state)
        ended = self._end(owner)
        item = _Item(form, event[form.id], _settled(form, event))
        self._open(owner, item)
        return [*ended, _start(item, event), *self._content(item, event, owner, opening=True)]

    def _content(
        self, item: _Item, event: JSONObject, owner: ChunkOwner, *, opening: bool
    ) -> list[JSONObject]:
        """Return the content event, if the chunk has content (C21)."""
        carried = ("delta", "rawEvent") if opening else ("delta", "rawEvent", "metadata")
        if not any(name in event for name in carried):
            return []
        content = {"type": item.form.content, item.form.id: item.id, "delta": event.get("delta", "")}
        return [{**content, **_tag(owner), **_some(event, "metadata", "rawEvent")}]


def _settled(form: _ChunkForm, event: JSONObject) -> JSONObject:
    return {
        field: value
        for field, default in form.settled.items()
        if (value := event.get(field, default)) is not None
    }


def _start(item: _Item, event: JSONObject) -> JSONObject:
    start = {"type": item.form.start, item.form.id: item.id, **item.form.fixed, **item.settled}
    return {**start, **_some(event, "subagentRunId", "metadata")}


def _some(event: JSONObject, *names: str) -> JSONObject:
    return {name: event[name] for name in names if name in event}


def _tag(owner: ChunkOwner) -> JSONObject:
    return {} if owner is None else {"subagentRunId": owner}


_CLOSERS: Final[dict[str, Callable[[Expander, JSONObject], list[JSONObject]]]] = {
    **dict.fromkeys(EVENTS.keys() - _NO_LANE - _FORMS.keys(), Expander._close_own),
    **dict.fromkeys(_ALL_LANES, Expander._close_all),
}
