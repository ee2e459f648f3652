"""The messages of a conversation, in order and accessible by ID.

A linked list, because a tool result is inserted after its call: the cost of a change must not depend on the
length of the history. References back are weak, so that a conversation that is dropped is freed at once, with
the reasoning in it. Deltas are collected and joined on reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import ReferenceType, ref

from ag_ui.core import Message

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import HINT_KEY, without_hint
from agui_reasoning.consumer._models import message_model, whole_text
from agui_reasoning.consumer._patch import Document
from agui_reasoning.consumer._schema_types import copy_json

# Other members of a message are kept unchanged.
_STRUCTURE = frozenset({"id", "role", "content", "toolCalls"})


@dataclass(slots=True, eq=False)
class Pieces:
    """A growing text: its content at the last read, and the deltas since."""

    text: str = ""
    deltas: list[str] = field(default_factory=list)

    def read(self) -> str:
        if self.deltas:
            self.text = whole_text([self.text, *self.deltas])
            self.deltas.clear()
        return self.text


@dataclass(slots=True, eq=False)
class HeldCall:
    """A tool call inside its assistant message."""

    id: str
    name: str
    _owner: ReferenceType[HeldMessage]
    arguments: Pieces = field(default_factory=Pieces)
    members: JSONObject = field(default_factory=dict)

    @property
    def owner(self) -> HeldMessage:
        """The message that contains the call."""
        owner = self._owner()
        assert owner is not None, "the calls of a message that is gone are not found"
        return owner

    def to_json(self) -> JSONObject:
        function = {"name": self.name, "arguments": self.arguments.read()}
        return {"id": self.id, "type": "function", "function": function, **copy_json(self.members)}


@dataclass(slots=True, eq=False, weakref_slot=True)
class HeldMessage:
    """A message, whose role never changes.

    Attributes:
        content: Its content parts; ``None`` if the content is text.
        document: The content of an activity, which patches change.
        text: Its text, which can grow; ``None`` if it has none.
        calls: Its tool calls; ``None`` if the field is absent.
        members: All other members, under their wire names.
    """

    id: str
    role: str
    content: Any = None
    document: Document | None = None
    text: Pieces | None = None
    calls: list[HeldCall] | None = None
    members: JSONObject = field(default_factory=dict)
    _model: Message | None = field(default=None, repr=False)
    _before: ReferenceType[HeldMessage] | None = field(default=None, repr=False)
    _after: HeldMessage | None = field(default=None, repr=False)

    @property
    def before(self) -> HeldMessage | None:
        return None if self._before is None else self._before()

    @classmethod
    def of(cls, message: JSONObject) -> HeldMessage:
        """Create a message from validated JSON."""
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

    def deltas(self) -> list[str]:
        """Return the deltas of the text since it was read; it grows by those that are appended."""
        if self.text is None:
            self.text = Pieces()
        return self.text.deltas

    def read_text(self) -> str | None:
        """Return the text, if there is one."""
        if self._has_grown():
            self.touch()
        return None if self.text is None else self.text.read()

    def _has_grown(self) -> bool:
        """Return whether deltas were appended since the last read."""
        if self.text is not None and self.text.deltas:
            return True
        return self.calls is not None and any(call.arguments.deltas for call in self.calls)

    def touch(self) -> None:
        """Discard the cached model after a change."""
        self._model = None

    def erase_values(self) -> None:
        """Remove the encrypted values and hints of the message and its calls."""
        for members in (self.members, *(call.members for call in self.calls or ())):
            for name in ("encryptedValue", "encryptedValueType"):
                members.pop(name, None)
            if HINT_KEY in members.get("metadata", ()):
                members["metadata"] = without_hint(members["metadata"])
                if members["metadata"] is None:
                    del members["metadata"]
        self.touch()

    def model(self) -> Message:
        """Return the message as a model, which is cached until the message changes."""
        if self._model is None or self._has_grown():
            self._model = message_model(self.to_json())
        return self._model

    def to_json(self) -> JSONObject:
        message: JSONObject = {"id": self.id, "role": self.role, **self._content()}
        if self.calls is not None:
            message["toolCalls"] = [call.to_json() for call in self.calls]
        message.update(copy_json(self.members))
        return message

    def _content(self) -> JSONObject:
        if self.document is not None:
            return {"content": self.document.value}
        text = self.read_text()
        if self.content is None:
            return {} if text is None else {"content": text}
        if text is None:
            return {"content": copy_json(self.content)}
        # Text was streamed into a message with content parts: append it as another part.
        return {"content": [*copy_json(self.content), {"type": "text", "text": text}]}


def _call(call: JSONObject, owner: HeldMessage) -> HeldCall:
    members = {name: copy_json(call[name]) for name in call if name not in ("id", "type", "function")}
    function = call["function"]
    return HeldCall(call["id"], function["name"], ref(owner), Pieces(function["arguments"]), members)


class HeldMessages:
    """The messages, in order.

    If several messages share an ID, lookups return the first.
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

    def __len__(self) -> int:
        return sum(map(len, self._kinds.values()))

    def get(self, message_id: str) -> HeldMessage | None:
        return self._by_id.get(message_id)

    def call(self, call_id: str) -> HeldCall | None:
        return self._calls.get(call_id)

    def of_kinds(self, kinds: Iterable[str]) -> Iterator[HeldMessage]:
        """Iterate over the messages of some kinds, in any order."""
        return (record for kind in kinds for record in self._kinds.get(kind, ()))

    def append(self, record: HeldMessage) -> None:
        self._link(self._last, record)

    def add_call(self, call: HeldCall) -> None:
        if call.owner.calls is None:
            call.owner.calls = []
        call.owner.calls.append(call)
        self._calls.setdefault(call.id, call)

    def insert_result(self, record: HeldMessage, call: HeldCall) -> None:
        """Insert a tool message after its call's message and the results that follow it (C40)."""
        place = self._results_end.get(call.owner, call.owner)
        while place._after is not None and place._after.role == "tool":
            place = place._after
        self._link(place, record)
        self._note_end(call.owner, record)

    def replace(self, old: HeldMessage, new: HeldMessage) -> None:
        """Replace a message by another with the same ID."""
        before = old.before
        self._unlink(old)
        self._link(before, new)
        if old.role == "tool":
            self._renew_row(old, new)
        else:
            self._results_end.pop(old, None)

    def release_calls(self, record: HeldMessage) -> None:
        """Remove the calls of a message from the index before it is replaced."""
        for call in record.calls or ():
            if self._calls.get(call.id) is call:
                del self._calls[call.id]

    def drop_all(self, role_kind: str, keep: Iterable[str]) -> list[HeldMessage]:
        """Remove the messages of a kind, except those with the IDs to keep; return the removed messages.

        The cost depends on the number of messages of this kind, not on the others.
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

    # -- the last of the results after a call's message, cached so that they are walked only once

    def _note_end(self, owner: HeldMessage, end: HeldMessage) -> None:
        before = self._results_end.get(owner)
        if before is not None:
            self._ends_of.pop(before, None)
        self._results_end[owner], self._ends_of[end] = end, owner

    def _renew_row(self, old: HeldMessage, new: HeldMessage) -> None:
        """Update the cached end after a result was replaced, possibly by a message with another role."""
        owner = self._ends_of.pop(old, None)
        end = new if new.role == "tool" else new.before
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
        self._join(before, record)
        self._join(record, after)
        self._by_id.setdefault(record.id, record)
        self._kinds.setdefault(kind_of(record.role), {})[record] = None
        for call in record.calls or ():
            self._calls.setdefault(call.id, call)

    def _join(self, before: HeldMessage | None, after: HeldMessage | None) -> None:
        """Make two messages neighbors; ``None`` is the end of the list."""
        if before is None:
            self._first = after
        else:
            before._after = after
        if after is None:
            self._last = before
        else:
            after._before = None if before is None else ref(before)

    def _unlink(self, record: HeldMessage) -> None:
        self._join(record.before, record._after)
        del self._kinds[kind_of(record.role)][record]
        if self._by_id.get(record.id) is record:
            del self._by_id[record.id]
        self.release_calls(record)


def kind_of(role: str) -> str:
    """Return the kind of a role in snapshots: activity, reasoning, or other (C47)."""
    return role if role in ("activity", "reasoning") else "other"
