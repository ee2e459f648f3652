"""A typical agent for ag-ui-protocol 0.1.10, with THINKING_* events.

It does not run with 1.0. To migrate it, run ``agui-reasoning migrate --write``.
"""

import json
from collections.abc import Iterator
from typing import Any

from ag_ui.core import (
    BaseEvent,
    EventType,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ThinkingEndEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
)
from ag_ui.encoder import EventEncoder

Thinking = ThinkingStartEvent | ThinkingTextMessageContentEvent | ThinkingEndEvent

# A model's output: reasoning and answer.
REPLY = [("thought", "Oslo in November: "), ("thought", "rain."), ("text", "Take "), ("text", "an umbrella.")]


class ThinkingStream:
    """Opens and closes the reasoning of one run."""

    def __init__(self) -> None:
        self._open = False

    def feed(self, text: str) -> Iterator[BaseEvent]:
        if not self._open:
            self._open = True
            yield ThinkingStartEvent(type=EventType.THINKING_START, title="Weather")
            yield ThinkingTextMessageStartEvent(type=EventType.THINKING_TEXT_MESSAGE_START)
        yield ThinkingTextMessageContentEvent(
            type=EventType.THINKING_TEXT_MESSAGE_CONTENT,
            delta=text,
        )

    def close(self) -> Iterator[BaseEvent]:
        if self._open:
            self._open = False
            yield ThinkingTextMessageEndEvent(type=EventType.THINKING_TEXT_MESSAGE_END)
            yield ThinkingEndEvent(type=EventType.THINKING_END)


def announce(phase: str) -> Iterator[dict[str, Any]]:
    """Yield a message of the agent, as plain dicts."""
    yield {"type": "THINKING_TEXT_MESSAGE_START"}
    yield {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": f"[{phase}]"}
    yield {"type": "THINKING_TEXT_MESSAGE_END"}


def describe(event: BaseEvent) -> str:
    """Return a line for the log."""
    match event:
        case ThinkingStartEvent() | ThinkingEndEvent():
            return "-- thinking"
        case ThinkingTextMessageContentEvent(delta=delta):
            return f"thinks {delta!r}"
    if event.type in (EventType.THINKING_TEXT_MESSAGE_START, EventType.THINKING_TEXT_MESSAGE_END):
        return "-- thought"
    return event.type.value.lower()


def only_thoughts(events: "list[Thinking]") -> str:
    return "".join(event.delta for event in events if event.type == "THINKING_TEXT_MESSAGE_CONTENT")


def run(run_input: RunAgentInput) -> Iterator[str]:
    """Yield one run as Server-Sent Events."""
    encoder, thinking, message_id = EventEncoder(), ThinkingStream(), f"answer-{run_input.run_id}"
    ids = {"thread_id": run_input.thread_id, "run_id": run_input.run_id}
    yield encoder.encode(RunStartedEvent(**ids))
    for event in announce("connecting"):
        yield f"data: {json.dumps(event)}\n\n"
    answering = False
    for kind, text in REPLY:
        if kind == "thought":
            for thought in thinking.feed(text):
                yield encoder.encode(thought)
            continue
        for thought in thinking.close():
            yield encoder.encode(thought)
        if not answering:
            answering = True
            yield encoder.encode(TextMessageStartEvent(message_id=message_id, role="assistant"))
        yield encoder.encode(TextMessageContentEvent(message_id=message_id, delta=text))
    yield encoder.encode(TextMessageEndEvent(message_id=message_id))
    yield encoder.encode(RunFinishedEvent(**ids))


EMPTY = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}

if __name__ == "__main__":
    for frame in run(RunAgentInput.model_validate({"threadId": "thread-1", "runId": "run-1", **EMPTY})):
        print(frame, end="")
