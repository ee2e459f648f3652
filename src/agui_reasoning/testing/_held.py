"""The messages a client holds after a stream and sends with its next request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ag_ui.core import Event, MessagesSnapshotEvent, ReasoningMessageStartEvent, RunAgentInput, ToolCall
from pydantic import BaseModel

from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.emitter.stages import Stage
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.request import History, restore
from agui_reasoning.run import Run
from agui_reasoning.testing._front_ends import FrontEnd, Messages, events_of

__all__ = ["Client", "MessageDicts", "ignore"]

MessageDicts: TypeAlias = list[dict[str, Any]]


class Client:
    """A client after a stream.

    Attributes:
        thoughts: The IDs of the stream's reasoning messages, mapped to their subagent.
        before: The messages of the run's input.
        known: The IDs of messages and calls in the run's input.
        after: The messages after the stream, followed by the client's next message or tool results.
    """

    def __init__(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        events: Iterable[Event | BaseModel | Mapping[str, Any]],
        *,
        keys: KeyRing | None,
        tenant: str,
    ) -> None:
        parsed_input = Run(run_input).input
        self._thread_id, self._keys, self._tenant = parsed_input.thread_id, keys, tenant
        self.thoughts: dict[str, str | None] = {}
        self.before = _plain(parsed_input.messages)
        self.known = {entity["id"] for m in self.before for entity in (m, *m.get("toolCalls", ()))}
        self._delivered: list[Event] = []
        conversation = Conversation(parsed_input.thread_id, messages=parsed_input.messages, on_warning=ignore)
        try:
            for event in events:
                for delivered in conversation.receive(event):
                    self._record_reasoning(delivered)
                    self._delivered.append(delivered)
            conversation.end_of_stream()
        except RemoteProtocolError as error:
            raise AssertionError(f"The stream breaks the protocol ({error.code}): {error}") from None
        held = _plain(conversation.messages)
        self._record_snapshots(held)
        self._next = _next(held, conversation.pending_calls)
        self.after = [*held, *self._next]

    @property
    def lanes(self) -> list[str | None]:
        """The client's conversations: ``None`` for the run's own, and the ID of each subagent."""
        tags = (message.get("subagentRunId") for message in self.after)
        return list(dict.fromkeys([None, *tags]))

    @property
    def has_snapshot(self) -> bool:
        """Whether the stream contains a MESSAGES_SNAPSHOT, which the models do not read."""
        return any(isinstance(event, MessagesSnapshotEvent) for event in self._delivered)

    def through(
        self,
        before: Messages,
        front_end: FrontEnd,
        stage: Stage | None = None,
    ) -> MessageDicts:
        """Return the messages of a front end that received the stream.

        Args:
            before: The messages of the run's input, as the front end returns them.
            front_end: The front end.
            stage: What its users must add to the stream.
        """
        events = self._delivered
        if stage is not None:
            events = [staged for event in events for staged in stage.receive(event)] + stage.close()
        for event in events:
            front_end.receive(event.model_dump(mode="json", by_alias=True, exclude_none=True))
        for message in self._next:
            for answer in events_of(message) if message["role"] == "tool" else ():
                front_end.receive(answer)
        later = [message for message in self._next if message["role"] != "tool"]
        return [*before, *front_end.messages(), *later]

    def restore(self, messages: MessageDicts, lane: str | None) -> History:
        """Restore one conversation from the client's messages."""
        return restore(
            messages, keys=self._keys, thread_id=self._thread_id, tenant=self._tenant, subagent=lane
        )

    def _record_reasoning(self, event: Event) -> None:
        if isinstance(event, ReasoningMessageStartEvent):
            self.thoughts[event.message_id] = event.subagent_run_id

    def _record_snapshots(self, held: MessageDicts) -> None:
        """Record reasoning from snapshots as if it had been streamed."""
        for message in held:
            if message["role"] == "reasoning" and message["id"] not in self.known:
                self.thoughts.setdefault(message["id"], message.get("subagentRunId"))


def _plain(messages: Iterable[BaseModel]) -> MessageDicts:
    return [message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in messages]


def _next(messages: MessageDicts, pending: Iterable[ToolCall]) -> MessageDicts:
    """Return the client's next messages: pending tool results, or else a user message."""
    owners = {call["id"]: message for message in messages for call in message.get("toolCalls", ())}
    results = [
        {"id": f"result of {call.id}", "role": "tool", "toolCallId": call.id, "content": "Done."}
        | {key: value for key, value in owners[call.id].items() if key == "subagentRunId"}
        for call in pending
    ]
    return results or [{"id": "next message", "role": "user", "content": "Go on."}]


def ignore(warning: str) -> None:
    """Ignore a warning: its effect shows in the restored history."""
