"""The client's view of a conversation: received events, messages and state, and the next input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from ag_ui.core import Context, Event, Interrupt, Message, ResumeEntry, RunAgentInput, Tool
from pydantic import BaseModel

from agui_reasoning._strict_json import JSONObject, dump
from agui_reasoning._wire_events import event_model, new_uuid
from agui_reasoning.consumer import _faults as faults
from agui_reasoning.consumer._fast import Repeats
from agui_reasoning.consumer._faults import notice_sink
from agui_reasoning.consumer._models import PendingCall, model_of
from agui_reasoning.consumer._outgoing import (
    UserContent,
    check_interrupts,
    clean_input,
    clean_message,
    clean_state,
    outgoing_members,
    read_stored,
)
from agui_reasoning.consumer._pipeline import Pipeline
from agui_reasoning.consumer._reduce import Reducer, RunStatus
from agui_reasoning.consumer._verify import Phase
from agui_reasoning.errors import LocalProtocolError, RemoteProtocolError
from agui_reasoning.protocol import PROTOCOL_VERSION


class Conversation:
    """The messages and state of a thread, updated by the events of its runs.

    Sans-IO: feed it events one at a time, and signal the end of each stream. Unknown material is removed with
    a warning. Protocol violations raise an error; earlier content is kept. Do not modify the returned models;
    change the conversation through its methods.

    Source:
        AG-UI 1.1, the processing model: compatibility, enforcement, expansion, verification, reduction.

    Examples:
        >>> conversation = Conversation("thread-1")
        >>> run = {"threadId": "thread-1", "runId": "run-1"}
        >>> for event in (
        ...     {"type": "RUN_STARTED", **run},
        ...     {"type": "REASONING_MESSAGE_START", "messageId": "r1", "role": "reasoning"},
        ...     {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1", "delta": "Cold?"},
        ...     {"type": "REASONING_MESSAGE_END", "messageId": "r1"},
        ...     {"type": "RUN_FINISHED", **run},
        ... ):
        ...     _ = conversation.receive(event)
        >>> conversation.end_of_stream()
        >>> conversation.status, conversation.messages[0].content
        ('finished', 'Cold?')
    """

    def __init__(
        self,
        thread_id: str | None = None,
        *,
        messages: Iterable[Message | Mapping[str, Any]] = (),
        state: Any = None,
        on_warning: Callable[[str], None] | None = None,
        new_id: Callable[[], str] | None = None,
        strict_identity: bool = False,
    ) -> None:
        """Create a conversation, or restore a stored one.

        Args:
            thread_id: The thread ID; defaults to that of the first run received, or a new one.
            messages: The stored messages.
            state: The stored state; default is an empty object.
            on_warning: Called with each warning; default is Python's ``warnings``.
            new_id: Generates message and run IDs; by default, random UUIDs.
            strict_identity: Fail a run whose IDs change, a stream that changes its thread, and a run with two
                interrupts of one ID (``run_identity``, ``duplicate_interrupt``), as the draft after AG-UI 1.1
                does. By default these are warnings: no released client fails.

        Raises:
            LocalProtocolError: A message or the state is malformed (``bad_message``, ``bad_state``).
        """
        self._warn = notice_sink(on_warning)
        self._new_id = new_id or new_uuid
        self._thread_id = thread_id
        self._fast = Repeats()
        watched = self._fast.watched(self._warn)
        self._pipeline = Pipeline(
            watched, thread_id=thread_id, new_id=self._new_id, strict_identity=strict_identity
        )
        self._reducer = Reducer(watched, {} if state is None else clean_state(state))
        cleaned = (clean_message(message, self._warn) for message in messages)
        self._reducer.hold(message for message in cleaned if message is not None)

    def __repr__(self) -> str:
        size = len(self._reducer.history)
        return f"Conversation({self._thread_id!r}, status={self.status!r}, messages={size})"

    # -- storage

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        on_warning: Callable[[str], None] | None = None,
        new_id: Callable[[], str] | None = None,
        strict_identity: bool = False,
    ) -> Self:
        """Restore a conversation from the result of `to_json`, or from the JSON of a RunAgentInput.

        Args:
            text: The JSON text.
            on_warning: As in the constructor.
            new_id: As in the constructor.
            strict_identity: As in the constructor.

        Raises:
            LocalProtocolError: The text is not a stored conversation (``bad_conversation``), or a message or
                the state is malformed (``bad_message``, ``bad_state``).
        """
        stored = read_stored(text)
        conversation = cls(
            stored.get("threadId"),
            messages=stored.get("messages") or (),
            state=stored.get("state"),
            on_warning=on_warning,
            new_id=new_id,
            strict_identity=strict_identity,
        )
        conversation._reducer.resume(
            stored.get("status", "idle"), stored.get("interrupts") or [], stored.get("pendingToolCallIds")
        )
        return conversation

    def to_json(self) -> str:
        """Return the conversation as one line of JSON, to store it between runs.

        Contains the thread ID, messages, state, status, pending calls and interrupts, with reasoning and
        encrypted values as the client holds them.

        Raises:
            LocalProtocolError: A run is open (``run_open``).

        Examples:
            >>> message = {"id": "u", "role": "user", "content": "Hi"}
            >>> conversation = Conversation("thread-1", messages=[message])
            >>> Conversation.from_json(conversation.to_json()).messages == conversation.messages
            True
        """
        self._require_no_open_run()
        return dump(
            {
                "threadId": self._thread_id,
                "status": self.status,
                "state": self._reducer.state(),
                "messages": [record.to_json() for record in self._reducer.history],
                "pendingToolCallIds": [call.id for call in self._reducer.pending_calls()],
                "interrupts": self._reducer.interrupts,
            }
        )

    # -- received events

    def receive(self, event: Event | BaseModel | Mapping[str, Any]) -> list[Event]:
        """Process one event.

        The cost depends on the size of the event, not on the length of the history.

        Args:
            event: A model, or its JSON. It is not modified.

        Returns:
            The events for the application, in order: none for an unknown event, several for a chunk.

        Raises:
            RemoteProtocolError: The event breaks the protocol. The run has failed; earlier content is kept,
                and only a new run may follow.
            LocalProtocolError: The argument is not an event (``not_an_event``). The conversation is
                unchanged.
        """
        repeat = self._fast.repeat
        if repeat is not None and (delta := repeat.grow(event)) is not None:
            return [(repeat.template or repeat.new_template())(delta, repeat.time)]
        return [event_model(delivered) for delivered in self._apply(event)]

    def end_of_stream(self) -> None:
        """Signal the end of the stream.

        Raises:
            TruncatedRunError: A run is open, or none has begun since the last call. Received content is kept.

        Source:
            AG-UI 1.1, C57.
        """
        begun = self._pipeline.phase is Phase.OPEN
        self._fast.close()
        if not self._pipeline.close():
            self._reducer.status = "truncated"
            raise faults.truncated(begun)

    def _apply(self, event: object) -> list[JSONObject]:
        """Send an event through all stages."""
        self._fast.close()
        self._reducer.changed = {}
        try:
            delivered = self._pipeline.receive(event)
        except RemoteProtocolError:
            self._reducer.status = "failed"
            raise
        for one in delivered:
            if self._thread_id is None:
                self._thread_id = one.get("threadId")
            self._reducer.apply(one)
        self._fast.open(event, delivered, self._reducer.growth)
        return delivered

    # -- messages and state

    @property
    def thread_id(self) -> str | None:
        """The thread ID, once known."""
        return self._thread_id

    @property
    def messages(self) -> list[Message]:
        """The messages, in order: a new list each time, with the same models for unchanged messages."""
        return [record.model() for record in self._reducer.history]

    def message(self, message_id: str) -> Message | None:
        """Return a message by ID, in constant time."""
        record = self._reducer.history.get(message_id)
        return None if record is None else record.model()

    @property
    def changed(self) -> tuple[str, ...]:
        """The IDs of the messages that the last `receive` created, changed or removed."""
        return tuple(self._reducer.changed)

    @property
    def state(self) -> Any:
        """The shared state. The returned object does not change later."""
        return self._reducer.state()

    @property
    def status(self) -> RunStatus:
        """The status of the latest run; ``"idle"`` before the first."""
        return self._reducer.status

    @property
    def pending_calls(self) -> list[PendingCall]:
        """The calls that wait for `add_tool_result`, with ``name`` and ``args`` as those of a run have."""
        return [model_of(PendingCall, call.to_json()) for call in self._reducer.pending_calls()]

    @property
    def interrupts(self) -> list[Interrupt]:
        """The agent's interrupts; answer each with an entry of ``resume`` in `run_input`."""
        return [model_of(Interrupt, interrupt) for interrupt in self._reducer.interrupts]

    # -- the next input

    def add_tool_result(self, tool_call_id: str, content: UserContent, *, error: str | None = None) -> None:
        """Answer a tool call.

        Args:
            tool_call_id: The ID of one of `pending_calls`, or of another call in the messages.
            content: Text, or content parts.
            error: The error message for the agent, if the call failed.

        Raises:
            LocalProtocolError: The call is unknown (``unknown_call``) or already answered
                (``answered_call``), or the content is malformed (``bad_message``). The conversation is
                unchanged.
        """
        unknown = self._reducer.history.call(tool_call_id) is None
        if unknown or self._reducer.has_result(tool_call_id):
            name = repr(tool_call_id)
            raise LocalProtocolError(
                f"There is no tool call {name}." if unknown else f"The tool call {name} has been answered.",
                code="unknown_call" if unknown else "answered_call",
                hint="Answer one of `pending_calls`." if unknown else "Answer each call once.",
                message_id=tool_call_id,
                state=self.status,
            )
        message = self._message("tool", content, toolCallId=tool_call_id)
        cleaned = clean_message(message if error is None else {**message, "error": error}, self._warn)
        if cleaned is not None:
            self._reducer.add_result(cleaned)

    def run_input(
        self,
        content: UserContent | None = None,
        *,
        run_id: str | None = None,
        tools: Sequence[Tool | Mapping[str, Any]] = (),
        context: Sequence[Context | Mapping[str, Any]] = (),
        forwarded_props: Any = None,
        resume: Sequence[ResumeEntry | Mapping[str, Any]] | None = None,
        now: float | None = None,
    ) -> RunAgentInput:
        """Create the input of the next run.

        Contains all messages except activities, including reasoning and encrypted values.

        Args:
            content: The user's message, as text or content parts; it is added to the messages.
            run_id: The run ID; generated by default.
            tools: The client's tools.
            context: Context for the agent.
            forwarded_props: Passed to the agent unchanged.
            resume: Answers to `interrupts`.
            now: Unix time in seconds, to reject answers to expired interrupts; not checked by default.

        Raises:
            LocalProtocolError: A run is open (``run_open``), an interrupt has no answer (``open_interrupt``)
                or has expired (``expired_interrupt``), or an argument is malformed (``bad_input``,
                ``bad_message``). The conversation is unchanged.

        Source:
            AG-UI 1.1: C15, C56, V1.
        """
        self._require_no_open_run()
        said = None if content is None else self._message("user", content)
        user_message = said and clean_message(said, self._warn)
        held = [record.to_json() for record in self._reducer.history if record.role != "activity"]
        thread_id = self._thread_id or self._new_id()
        run_input: JSONObject = {
            "threadId": thread_id,
            "runId": run_id or self._new_id(),
            "protocolVersion": PROTOCOL_VERSION,
            "state": self._reducer.state(),
            "messages": held if user_message is None else [*held, user_message],
            "tools": outgoing_members(tools),
            "context": outgoing_members(context),
            "forwardedProps": {} if forwarded_props is None else forwarded_props,
            "resume": None if resume is None else outgoing_members(resume),
        }
        # Inputs must not contain nulls (P10), so members without a value are omitted.
        present = {name: value for name, value in run_input.items() if value is not None}
        cleaned = clean_input(present, self._warn)
        check_interrupts(self._reducer.interrupts, cleaned.get("resume", ()), now)
        self._thread_id = thread_id
        if user_message is not None:
            self._reducer.hold([user_message])
        return model_of(RunAgentInput, cleaned)

    def erase_reasoning(self) -> None:
        """Remove the reasoning from the messages, as `agui_reasoning.erase_reasoning` does.

        What the agent copied into the state stays.

        Raises:
            LocalProtocolError: A run is open (``run_open``).

        Examples:
            >>> thought = {"id": "r", "role": "reasoning", "content": "Hm."}
            >>> answer = {"id": "a", "role": "assistant", "content": "Yes."}
            >>> conversation = Conversation(messages=[thought, answer])
            >>> conversation.erase_reasoning()
            >>> [message.id for message in conversation.messages]
            ['a']
        """
        self._require_no_open_run()
        self._reducer.history.drop_all("reasoning", keep=())
        for record in self._reducer.history:
            record.erase_values()

    def _message(self, role: str, content: UserContent, **members: Any) -> JSONObject:
        parts = content if isinstance(content, str) else outgoing_members(content)
        return {"id": self._new_id(), "role": role, **members, "content": parts}

    def _require_no_open_run(self) -> None:
        if self._pipeline.phase is Phase.OPEN:
            raise LocalProtocolError(
                "A run is open.",
                code="run_open",
                hint="Receive its remaining events, or call `end_of_stream` if its stream has ended.",
                state=self.status,
            )


def reduce_events(events: Iterable[Event | BaseModel | Mapping[str, Any]]) -> list[Message]:
    """Return the messages of a client after a complete stream.

    Args:
        events: The complete stream, in order. Warnings are issued with Python's ``warnings``.

    Raises:
        RemoteProtocolError: The stream breaks the protocol.
        TruncatedRunError: The stream ends inside a run, or before one.
    """
    conversation = Conversation()
    for event in events:
        if conversation._fast.grow(event) is None:
            conversation._apply(event)
    conversation.end_of_stream()
    return conversation.messages
