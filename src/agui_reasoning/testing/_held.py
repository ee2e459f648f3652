"""What a client holds after a stream, and sends with its next request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ag_ui.core import Event, ReasoningMessageStartEvent, RunAgentInput, ToolCall
from pydantic import BaseModel

from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.errors import RemoteProtocolError
from agui_reasoning.request import History, restore
from agui_reasoning.run import Run

__all__ = ["Client", "MessageDicts", "ignore"]

MessageDicts: TypeAlias = list[dict[str, Any]]


class Client:
    """What a client holds after a stream.

    Attributes:
        thoughts: The reasoning messages of the stream, each with its subagent.
        before: The messages of the run's input.
        known: The ids in it, of messages and calls.
        after: The messages after the stream, and what the client says next.
    """

    def __init__(
        self,
        run_input: RunAgentInput | Mapping[str, Any],
        events: Iterable[Event | BaseModel | Mapping[str, Any]],
        *,
        keys: KeyRing | None,
        tenant: str,
    ) -> None:
        given = Run(run_input).input
        self._thread_id, self._keys, self._tenant = given.thread_id, keys, tenant
        self.thoughts: dict[str, str | None] = {}
        self.before = _plain(given.messages)
        self.known = {entity["id"] for m in self.before for entity in (m, *m.get("toolCalls", ()))}
        conversation = Conversation(given.thread_id, messages=given.messages, on_warning=ignore)
        try:
            for event in events:
                for delivered in conversation.receive(event):
                    self._look(delivered)
            conversation.end_of_stream()
        except RemoteProtocolError as error:
            raise AssertionError(f"The stream breaks the protocol ({error.code}): {error}") from None
        held = _plain(conversation.messages)
        self._note_snapshots(held)
        self.after = [*held, *_next(held, conversation.pending_calls)]

    @property
    def lanes(self) -> list[str | None]:
        """The conversations in what the client holds: the run's own, and each subagent's."""
        tags = (message.get("subagentRunId") for message in self.after)
        return list(dict.fromkeys([None, *tags]))

    def restore(self, messages: MessageDicts, lane: str | None) -> History:
        """Restore one conversation of what a client sends."""
        return restore(
            messages, keys=self._keys, thread_id=self._thread_id, tenant=self._tenant, subagent=lane
        )

    def _look(self, event: Event) -> None:
        if isinstance(event, ReasoningMessageStartEvent):
            self.thoughts[event.message_id] = event.subagent_run_id

    def _note_snapshots(self, held: MessageDicts) -> None:
        """Reasoning that came in a snapshot counts as if it had been streamed."""
        for message in held:
            if message["role"] == "reasoning" and message["id"] not in self.known:
                self.thoughts.setdefault(message["id"], message.get("subagentRunId"))


def _plain(messages: Iterable[BaseModel]) -> MessageDicts:
    return [message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in messages]


def _next(messages: MessageDicts, pending: Iterable[ToolCall]) -> MessageDicts:
    """What the client says next: the results that are waited for, or else the user's next words."""
    owners = {call["id"]: message for message in messages for call in message.get("toolCalls", ())}
    results = [
        {"id": f"result of {call.id}", "role": "tool", "toolCallId": call.id, "content": "Done."}
        | {key: value for key, value in owners[call.id].items() if key == "subagentRunId"}
        for call in pending
    ]
    return results or [{"id": "next message", "role": "user", "content": "Go on."}]


def ignore(warning: str) -> None:
    """What is warned about shows in what comes back."""
