"""The messages a client holds: in order, found by id, and cheap to grow.

A linked list, because a tool's result goes behind its call and not to the end: no change may cost more for a
long history than for a short one. Deltas are collected and joined when someone reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Message

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._models import message_model, whole_text
from agui_reasoning.consumer._patch import Document
from agui_reasoning.consumer._schema_types import copy_json

__all__ = ["HeldCall", "HeldMessage", "HeldMessages"]

# What a message has besides these is kept as it came.
_STRUCTURE = frozenset({"id", "role", "content", "toolCalls"})


@dataclass(slots=True, eq=False)
class Pieces:
    """A text that grows: what it was when last read, and the deltas since."""

    text: str = ""
    deltas: list[str] = field(default_factory=list)

    def read(self) -> str:
        """Join what there is."""
        if self.deltas:
            self.text = whole_text([self.text, *self.deltas])
            self.deltas.clear()
        return self.text


@dataclass(slots=True, eq=False)
class HeldCall:
    """A tool call inside its assistant message."""

    id: str
    name: str
    owner: HeldMessage
    arguments: Pieces = field(default_factory=Pieces)
    members: JSONObject = field(default_factory=dict)

    def to_json(self) -> JSONObject:
        """The call on the wire."""
        function = {"name": self.name, "arguments": self.arguments.read()}
        return {"id": self.id, "type": "function", "function": function, **copy_json(self.members)}


@dataclass(slots=True, eq=False)
class HeldMessage:
    """A message.

    Attributes:
        id: Its id.
        role: Its role, which never changes.
        content: What it holds besides streamed text: ``None``, or the parts of a list.
        document: An activity's object, which patches change.
        text: Its streamed text; ``None`` where there is no text at all.
        calls: Its tool calls; ``None`` where the field is absent.
        members: Everything else, under its wire name.
    """

    id: str
    role: str
    content: Any = None
    document: Document | None = None
    text: Pieces | None = None
    calls: list[HeldCall] | None = None
    members: JSONObject = field(default_factory=dict)
    _model: Message | None = field(default=None, repr=False)
    _before: HeldMessage | None = field(default=None, repr=False)
    _after: HeldMessage | None = field(default=None, repr=False)

    @classmethod
    def of(cls, message: JSONObject) -> HeldMessage:
        """Take over a message that enforcement has let through."""
        members = {name: copy_json(value) for name, value in message.items() if name not in _STRUCTURE}
        record = cls(message["id"], message["role"], members=members)
        content = message.get("content")
        if isinstance(content, str):
            record.text = Pieces(content)
        elif record.role == "activity":
            record.document = Document(copy_json(content))
        else:
            record.content = copy_json(content)
        if "toolCalls" in message:
            record.calls = [_call(call, record) for call in message["toolCalls"]]
        return record

    def append(self, delta: str) -> None:
        """Add text behind what there is."""
        if self.text is None:
            self.text = Pieces()
        self.text.deltas.append(delta)

    def touch(self) -> None:
        """Forget the model: something has changed."""
        self._model = None

    def model(self) -> Message:
        """The message as a model; the same one until something changes."""
        if self._model is None:
            self._model = message_model(self.to_json())
        return self._model

    def to_json(self) -> JSONObject:
        """The message on the wire."""
        message: JSONObject = {"id": self.id, "role": self.role, **self._content()}
        if self.calls is not None:
            message["toolCalls"] = [call.to_json() for call in self.calls]
        message.update(copy_json(self.members))
        return message

    def _content(self) -> JSONObject:
        if self.document is not None:
            return {"content": self.document.value}
        text = None if self.text is None else self.text.read()
        if self.content is None:
            return {} if text is None else {"content": text}
        if text is None:
            return {"content": copy_json(self.content)}
        # Text that was streamed into a message of parts: one part more, so that none is lost.
        return {"content": [*copy_json(self.content), {"type": "text", "text": text}]}


def _call(call: JSONObject, owner: HeldMessage) -> HeldCall:
    members = {name: copy_json(call[name]) for name in call if name not in ("id", "type", "function")}
    function = call["function"]
    return HeldCall(call["id"], function["name"], owner, Pieces(function["arguments"]), members)


class HeldMessages:
    """The messages in order.

    Where an id stands twice, the message that came first is the one that is found under it.
    """

    def __init__(self) -> None:
        self._first: HeldMessage | None = None
        self._last: HeldMessage | None = None
        self._by_id: dict[str, HeldMessage] = {}
        self._calls: dict[str, HeldCall] = {}
        self._kinds: dict[str, dict[HeldMessage, None]] = {}
        self._results_end: dict[HeldMessage, HeldMessage] = {}
        self._ends_of: dict[HeldMessage, HeldMessage] = {}

    def __iter__(self) -> Iterator[HeldMessage]:
        record = self._first
        while record is not None:
            yield record
            record = record._after

    def get(self, message_id: str) -> HeldMessage | None:
        """Find a message."""
        return self._by_id.get(message_id)

    def call(self, call_id: str) -> HeldCall | None:
        """Find a tool call."""
        return self._calls.get(call_id)

    def of_kinds(self, kinds: Iterable[str]) -> Iterator[HeldMessage]:
        """The messages of some kinds, in no order."""
        return (record for kind in kinds for record in self._kinds.get(kind, ()))

    def append(self, record: HeldMessage) -> None:
        """Put a message at the end."""
        self._link(self._last, record)

    def add_call(self, call: HeldCall) -> None:
        """Put a tool call behind those its message has."""
        if call.owner.calls is None:
            call.owner.calls = []
        call.owner.calls.append(call)
        self._calls.setdefault(call.id, call)

    def insert_result(self, record: HeldMessage, call: HeldCall) -> None:
        """Put a tool message behind its call's message, and behind the results that stand there (C40)."""
        place = self._results_end.get(call.owner, call.owner)
        while place._after is not None and place._after.role == "tool":
            place = place._after
        self._link(place, record)
        self._note_end(call.owner, record)

    def replace(self, old: HeldMessage, new: HeldMessage) -> None:
        """Put a message in the place of another with its id."""
        before = old._before
        self._unlink(old)
        self._link(before, new)
        if old.role == "tool":
            self._renew_row(old, new)
        else:
            self._results_end.pop(old, None)

    def release_calls(self, record: HeldMessage) -> None:
        """Let the calls of a message be found elsewhere: it is about to be replaced."""
        for call in record.calls or ():
            if self._calls.get(call.id) is call:
                del self._calls[call.id]

    def drop_all(self, role_kind: str, keep: Iterable[str]) -> list[HeldMessage]:
        """Drop the messages of a kind, but for those with an id to keep.

        Costs what it drops and what it keeps, not what else there is.
        """
        kept = set(keep)
        dropped = [
            record
            for record in self._kinds.get(role_kind, ())
            if record.id not in kept or self._by_id.get(record.id) is not record
        ]
        for record in dropped:
            self._unlink(record)
        if dropped:
            self._forget_rows()
        return dropped

    # -- rows of results: where each begins that was once walked to its end, and where it ends

    def _note_end(self, owner: HeldMessage, end: HeldMessage) -> None:
        before = self._results_end.get(owner)
        if before is not None:
            self._ends_of.pop(before, None)
        self._results_end[owner], self._ends_of[end] = end, owner

    def _renew_row(self, old: HeldMessage, new: HeldMessage) -> None:
        """A result was replaced: its row ends as before, ends sooner, or has a gap."""
        owner = self._ends_of.pop(old, None)
        end = new if new.role == "tool" else new._before
        if owner is not None and end is not None:
            self._note_end(owner, end)
        elif new.role != "tool":
            self._forget_rows()

    def _forget_rows(self) -> None:
        self._results_end.clear()
        self._ends_of.clear()

    # -- the list

    def _link(self, before: HeldMessage | None, record: HeldMessage) -> None:
        after = self._first if before is None else before._after
        record._before, record._after = before, after
        if before is None:
            self._first = record
        else:
            before._after = record
        if after is None:
            self._last = record
        else:
            after._before = record
        self._by_id.setdefault(record.id, record)
        self._kinds.setdefault(kind_of(record.role), {})[record] = None
        for call in record.calls or ():
            self._calls.setdefault(call.id, call)

    def _unlink(self, record: HeldMessage) -> None:
        if record._before is None:
            self._first = record._after
        else:
            record._before._after = record._after
        if record._after is None:
            self._last = record._before
        else:
            record._after._before = record._before
        del self._kinds[kind_of(record.role)][record]
        if self._by_id.get(record.id) is record:
            del self._by_id[record.id]
        self.release_calls(record)


def kind_of(role: str) -> str:
    """How snapshots tell messages apart: activities, reasoning, and all others (C47)."""
    return role if role in ("activity", "reasoning") else "other"
