"""Let a client and an agent talk over AG-UI: `Run` makes the runs, `Conversation` holds the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from ag_ui.core import Event, Interrupt, ResumeEntry

from agui_reasoning import Conversation, Run
from agui_reasoning.deltas import Delta
from agui_reasoning.parts import Part, ToolResultPart
from agui_reasoning.testing import assistant_ui, copilotkit
from tests.support.dialects import Body, Dialect
from tests.support.sdk_types import check_types

Messages = list[dict[str, Any]]

AS_IS = "as it is"
RETURNS: dict[str, Callable[[Messages], Messages]] = {
    AS_IS: lambda messages: messages,
    "copilotkit": copilotkit,
    "assistant-ui": assistant_ui,
}
"""What a client sends of what it holds; these lose nothing that a provider needs."""


class Client:
    """The client's side of a thread.

    Attributes:
        agent: The run that is going on, or was the last.
        events: What it has emitted.
    """

    agent: Run

    def __init__(self, dialect: Dialect, returns: str = AS_IS, **options: Any) -> None:
        self.dialect, self._returns, self._options = dialect, RETURNS[returns], options
        numbers = count(1)
        self._new_id = lambda: f"id-{next(numbers)}"
        self.warnings: list[str] = []
        self.events: list[Event] = []
        self._conversation = self._remember([])

    def _remember(self, messages: Messages) -> Conversation:
        return Conversation(
            "thread-1", messages=messages, new_id=self._new_id, on_warning=self.warnings.append
        )

    # -- the user

    def ask(self, text: str | None = None, *, resume: Sequence[ResumeEntry] | None = None) -> Client:
        """Say something, or (nothing) let the model go on, and start a run."""
        asked = self._conversation.run_input(text, resume=resume)
        run_input = asked.model_dump(mode="json", by_alias=True, exclude_none=True)
        run_input["messages"] = self._returns(run_input["messages"])
        self.agent = Run(
            run_input,
            new_id=self._new_id,
            on_warning=self.warnings.append,
            **self.dialect.target,
            **self._options,
        )
        self.events = []
        return self.passes_on(self.agent.start())

    def answer(self, **contents: str) -> Client:
        """Answer calls, in this order."""
        for call_id, content in contents.items():
            self._conversation.add_tool_result(call_id, content)
        return self

    def forget(self, keep: int) -> Client:
        """Keep only the first messages: to ask again, or to say something else."""
        return self.hold(self.messages[:keep])

    def hold(self, messages: Messages) -> Client:
        """Hold these messages from now on."""
        self._conversation = self._remember(messages)
        return self

    @property
    def messages(self) -> Messages:
        """What is held, as JSON."""
        return [
            message.model_dump(mode="json", by_alias=True, exclude_none=True)
            for message in self._conversation.messages
        ]

    @property
    def waiting(self) -> list[str]:
        """The calls that wait for the client."""
        return [call.id for call in self._conversation.pending_calls]

    def places(self, role: str) -> list[int]:
        """Where the messages of a role stand."""
        return [place for place, message in enumerate(self.messages) if message["role"] == role]

    # -- the agent

    def hears(self, *parts: Part) -> Client:
        """The model answers with one response."""
        return self.streams(self.dialect.stream(parts))

    def streams(self, deltas: Iterable[Delta]) -> Client:
        """Deltas come from the model."""
        for delta in deltas:
            self.passes_on(self.agent.receive(delta))
        return self

    def runs_tools(self, **contents: str) -> Client:
        """The agent answers calls itself."""
        for call_id, content in contents.items():
            self.passes_on(self.agent.receive(ToolResultPart(call_id, content)))
        return self

    def fails_tools(self, **errors: str) -> Client:
        """The agent's tools fail."""
        for call_id, error in errors.items():
            self.passes_on(self.agent.receive(ToolResultPart(call_id, "", error)))
        return self

    def ends(self, how: str = "finish", *, interrupts: Sequence[Interrupt] = ()) -> Client:
        """The run finishes, is cancelled, or fails."""
        run = self.agent
        endings: dict[str, Callable[[], list[Event]]] = {
            "finish": lambda: run.finish(interrupts=interrupts),
            "cancel": run.cancel,
            "fail": lambda: run.fail("No."),
        }
        self.passes_on(endings[how]())
        self._conversation.end_of_stream()
        return self

    def relays(self, events: Iterable[Event]) -> Client:
        """Events of a subagent go through the run."""
        for event in events:
            self.passes_on(self.agent.receive(event))
        return self

    def passes_on(self, events: Iterable[Event]) -> Client:
        """Events reach the client."""
        for event in events:
            self.events.append(event)
            self._conversation.receive(event)
        return self

    # -- what it is about

    def request(self) -> Body:
        """The agent's next request; the provider and its SDK take it."""
        body = self.agent.request().body
        assert self.dialect.check(body) == []
        assert check_types(self.dialect.origin.api or "", body) == ""
        return body
