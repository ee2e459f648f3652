"""Verify and reduce event streams by the protocol's rules, independently of the package.

It is stricter than any client: besides what makes a client fail it refuses what is accepted and still loses
data (a value for an entity that does not exist, a shared id, a null).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

# Required payloads, which may be null.
PAYLOADS = ("value", "snapshot", "event")


class ViolationError(AssertionError):
    """The stream breaks a rule."""


def plain(events: Iterable[Any]) -> list[dict[str, Any]]:
    """Events as they go over the wire."""
    return [
        event.model_dump(mode="json", by_alias=True) if isinstance(event, BaseModel) else dict(event)
        for event in events
    ]


def types(events: Iterable[dict[str, Any]]) -> list[str]:
    """The types of events."""
    return [event["type"] for event in events]


@dataclass
class Client:
    """What a client holds. Feed it events; ask for `messages`."""

    framed: bool = True
    messages: list[dict[str, Any]] = field(default_factory=list)
    run: str = "none"
    spans: set[str] = field(default_factory=set)
    reasoning: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    steps: set[str] = field(default_factory=set)
    span_ids: set[str] = field(default_factory=set)
    values: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def feed(self, events: Iterable[dict[str, Any]]) -> Client:
        """Take events."""
        for event in events:
            self.take(event)
        return self

    def take(self, event: dict[str, Any]) -> None:
        """Take one event."""
        for name, value in event.items():
            self._need(value is not None or name in PAYLOADS, event, f"{name} is null")
        kind = event["type"]
        if self.framed and kind not in ("RUN_STARTED", "RUN_ERROR"):
            self._need(self.run == "open", event, f"the run is {self.run}")
        getattr(self, f"_{kind.lower()}")(event)

    def by_id(self, message_id: str) -> dict[str, Any] | None:
        """The message with this id."""
        return next((m for m in self.messages if m["id"] == message_id), None)

    def tool_call(self, call_id: str) -> dict[str, Any] | None:
        """The tool call with this id."""
        return next((c for m in self.messages for c in m.get("toolCalls", ()) if c["id"] == call_id), None)

    def done(self) -> Client:
        """The stream ended."""
        nothing_open = not (self.spans or self.reasoning or self.texts or self.calls or self.steps)
        self._need(nothing_open or self.run == "failed", {"type": "END"}, "something is open")
        if self.framed:
            self._need(self.run in ("finished", "failed"), {"type": "END"}, f"the run is {self.run}")
        return self

    def _need(self, ok: bool, event: dict[str, Any], why: str) -> None:
        if not ok:
            raise ViolationError(f"{event['type']}: {why}")

    def _open(self, opened: set[str], key: str, event: dict[str, Any]) -> None:
        self._need(key not in opened, event, f"{key} is open")
        opened.add(key)

    def _close(self, opened: set[str], key: str, event: dict[str, Any]) -> None:
        self._need(key in opened, event, f"{key} is not open")
        opened.remove(key)

    # -- run

    def _run_started(self, event: dict[str, Any]) -> None:
        self._need(self.run == "none", event, "second run")
        self._need(event["protocolVersion"] == "1.0", event, "version")
        self.run = "open"

    def _run_finished(self, event: dict[str, Any]) -> None:
        self.done_inside(event)
        self.run = "finished"

    def done_inside(self, event: dict[str, Any]) -> None:
        """Everything must be closed before the run finishes."""
        for opened in (self.spans, self.reasoning, self.texts, self.calls, self.steps):
            self._need(not opened, event, f"open: {opened}")

    def _run_error(self, event: dict[str, Any]) -> None:
        # We close in order before an error too, although the protocol would not ask for it.
        self.done_inside(event)
        self.run = "failed"

    def _custom(self, event: dict[str, Any]) -> None:
        """Application traffic."""

    def _state_snapshot(self, event: dict[str, Any]) -> None:
        """Application traffic."""

    # -- reasoning

    def _reasoning_start(self, event: dict[str, Any]) -> None:
        self._need("metadata" not in event, event, "metadata on a span")
        named = self.by_id(event["messageId"])
        # A span with nothing in it names a message again before its value; any other has an ID of its own.
        self._need(named is None or named["role"] == "reasoning", event, "span id names a message")
        self._open(self.spans, event["messageId"], event)
        self.span_ids |= set() if named else {event["messageId"]}

    def _reasoning_end(self, event: dict[str, Any]) -> None:
        self._need("metadata" not in event, event, "metadata on a span")
        names_message = self.by_id(event["messageId"]) is not None
        self._need(names_message or not self.reasoning, event, "a message outlives its span")
        self._close(self.spans, event["messageId"], event)

    def _reasoning_message_start(self, event: dict[str, Any]) -> None:
        self._need(event["role"] == "reasoning", event, "role")
        self._need(bool(self.spans), event, "no span")
        self._new_message(event, {"role": "reasoning", "content": ""})
        self._open(self.reasoning, event["messageId"], event)

    def _reasoning_message_content(self, event: dict[str, Any]) -> None:
        self._append(self.reasoning, event)

    def _reasoning_message_end(self, event: dict[str, Any]) -> None:
        self._close(self.reasoning, event["messageId"], event)
        self._merge(event)

    def _reasoning_encrypted_value(self, event: dict[str, Any]) -> None:
        subtype, entity = event["subtype"], event["entityId"]
        target = self.by_id(entity) if subtype == "message" else self.tool_call(entity)
        self._need(target is not None, event, f"unknown entity {entity}")
        assert target is not None
        target["encryptedValue"] = event["encryptedValue"]
        self.values.setdefault((subtype, entity), []).append(event["encryptedValue"])

    # -- text

    def _text_message_start(self, event: dict[str, Any]) -> None:
        self._need(not self.texts, event, "two texts are open")
        self._new_message(event, {"role": "assistant", "content": ""})
        self._open(self.texts, event["messageId"], event)

    def _text_message_content(self, event: dict[str, Any]) -> None:
        self._append(self.texts, event)

    def _text_message_end(self, event: dict[str, Any]) -> None:
        self._close(self.texts, event["messageId"], event)

    def _new_message(self, event: dict[str, Any], message: dict[str, Any]) -> None:
        message_id = event["messageId"]
        self._need(self.by_id(message_id) is None, event, f"message id {message_id} is used")
        self._need(message_id not in self.span_ids, event, "message id names a span")
        self.messages.append({"id": message_id, **message})
        self._merge(event)

    def _append(self, opened: set[str], event: dict[str, Any]) -> None:
        self._need(event["messageId"] in opened, event, "not open")
        self._need(event["delta"] != "", event, "empty delta")
        message = self.by_id(event["messageId"])
        assert message is not None
        message["content"] += event["delta"]
        self._need(not message["content"].isspace(), event, "shows white space alone")

    def _merge(self, event: dict[str, Any]) -> None:
        message = self.by_id(event["messageId"])
        if message is not None and "metadata" in event:
            message.setdefault("metadata", {}).update(event["metadata"])

    # -- calls

    def _tool_call_start(self, event: dict[str, Any]) -> None:
        call_id, parent = event["toolCallId"], event["parentMessageId"]
        self._open(self.calls, call_id, event)
        known = self.tool_call(call_id)
        if known is not None:
            self._need(known["function"]["name"] == event["toolCallName"], event, "another name")
            self._need(known["parent"] == parent, event, "another parent")
            return
        owner = self.by_id(parent)
        if owner is None:
            owner = {"id": parent, "role": "assistant"}
            self.messages.append(owner)
        self._need(owner["role"] == "assistant", event, "the parent is no assistant message")
        call: dict[str, Any] = {
            "id": call_id,
            "function": {"name": event["toolCallName"], "arguments": ""},
            "parent": parent,
        }
        if "metadata" in event:
            call["metadata"] = event["metadata"]
        owner.setdefault("toolCalls", []).append(call)

    def _tool_call_args(self, event: dict[str, Any]) -> None:
        self._need(event["toolCallId"] in self.calls, event, "not open")
        call = self.tool_call(event["toolCallId"])
        assert call is not None
        call["function"]["arguments"] += event["delta"]

    def _tool_call_end(self, event: dict[str, Any]) -> None:
        self._close(self.calls, event["toolCallId"], event)

    def _tool_call_result(self, event: dict[str, Any]) -> None:
        self._new_message(
            event, {"role": "tool", "toolCallId": event["toolCallId"], "content": event["content"]}
        )

    # -- steps

    def _step_started(self, event: dict[str, Any]) -> None:
        self._open(self.steps, event["stepName"], event)

    def _step_finished(self, event: dict[str, Any]) -> None:
        self._close(self.steps, event["stepName"], event)


def replay(events: Iterable[Any], *, framed: bool = False) -> Client:
    """Verify and reduce a whole stream."""
    return Client(framed=framed).feed(plain(events)).done()
