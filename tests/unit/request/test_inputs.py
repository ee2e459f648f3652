"""The history of a run is the same, whichever form its input has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ag_ui.core import RunAgentInput

from agui_reasoning import Run, reduce_events, restore
from agui_reasoning.parts import Opaque, ReasoningPart, Segment, TextPart, ToolCallPart, ToolResultPart

Json = dict[str, Any]
INPUT: Json = {"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "Rain?"}]}
THOUGHT = ReasoningPart((Segment("text", 0, "Hm."),), (Opaque("anthropic.signature", "U0lH"),))
PARTS = [THOUGHT, TextPart("I look."), ToolCallPart("c", "look", '{"at": 1}')]
PARTS += [ToolResultPart("c", "", "No route."), THOUGHT, TextPart("No idea.")]
RUN = Run(INPUT, api="anthropic-messages", provider="anthropic", model="claude")
EVENTS = [*RUN.start(), *(event for part in PARTS for event in RUN.receive(part)), *RUN.finish()]
MESSAGES = [
    *INPUT["messages"],
    *(message.model_dump(mode="json", by_alias=True, exclude_none=True) for message in reduce_events(EVENTS)),
    {"id": "s", "role": "system", "content": "Be brief."},
    {"id": "v", "role": "user", "content": [{"type": "text", "text": "And snow?"}]},
]
NAMES = {"toolCalls": "tool_calls", "toolCallId": "tool_call_id", "encryptedValue": "encrypted_value"}


def python_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {NAMES.get(name, name): python_names(inner) for name, inner in value.items()}
    return [python_names(inner) for inner in value] if isinstance(value, list) else value


def with_bytes(message: Json) -> Json:
    return {**message, "id": message["id"].encode()}


def with_bytes_in_calls(message: Json) -> Json:
    calls = [
        {**call, "function": {**call["function"], "name": call["function"]["name"].encode()}}
        for call in message.get("toolCalls", ())
    ]
    return {**message, "toolCalls": calls} if calls else message


FORMS: dict[str, Callable[[list[Json]], Any]] = {
    "JSON": lambda messages: messages,
    "a tuple": tuple,
    "names of Python": python_names,
    "bytes": lambda messages: [with_bytes(message) for message in messages],
    "bytes in calls": lambda messages: [with_bytes_in_calls(message) for message in messages],
    "calls in a tuple": lambda messages: [
        {**message, "toolCalls": tuple(message["toolCalls"])} if "toolCalls" in message else message
        for message in messages
    ],
    "members that are null": lambda messages: [
        {"encryptedValue": None, "metadata": None, **one} for one in messages
    ],
}


def test_the_messages_tell_something() -> None:
    history = restore(MESSAGES)
    assert [len(turn.parts) for turn in history.turns] == [3, 2]
    assert [entry.outcome for entry in history.report] == ["restored", "restored"]


@pytest.mark.parametrize("form", FORMS)
def test_the_history_does_not_depend_on_the_form_of_the_input(form: str) -> None:
    given = {**INPUT, "messages": FORMS[form](MESSAGES)}
    expected = restore(MESSAGES)
    assert Run(given).history == expected
    assert Run(RunAgentInput.model_validate(given)).history == expected


def test_dropped_instructions_are_not_in_the_history() -> None:
    run = Run({**INPUT, "messages": MESSAGES}, client_instructions="drop", on_warning=lambda _: None)
    assert run.history == restore([message for message in MESSAGES if message["role"] != "system"])


def test_the_subagents_of_a_run_read_the_same_input() -> None:
    own = [{**message, "subagentRunId": "a"} for message in MESSAGES]
    run = Run({**INPUT, "messages": own})
    run.start()
    assert run.history.items == ()
    assert run.subagent("look", id="a").history == restore(own, subagent="a")
