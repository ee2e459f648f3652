"""Test which of the application's own events pass, are translated, or are refused, and with what words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest
from ag_ui.core import BaseEvent, EventType, StateSnapshotEvent
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from agui_reasoning import Emitter, LocalProtocolError, Run, check_events, compat
from agui_reasoning.deltas import TextDelta
from tests.support.verifier import plain, replay, types

THINKING: list[dict[str, Any]] = [
    {"type": "THINKING_START"},
    {"type": "THINKING_TEXT_MESSAGE_START"},
    {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm."},
    {"type": "THINKING_TEXT_MESSAGE_END"},
    {"type": "THINKING_END"},
]
MODELS = [
    compat.ThinkingStartEvent(),
    compat.ThinkingTextMessageStartEvent(),
    compat.ThinkingTextMessageContentEvent(delta="Hm."),
    compat.ThinkingTextMessageEndEvent(),
    compat.ThinkingEndEvent(),
]
REASONING: list[dict[str, Any]] = [
    {"type": "REASONING_START", "messageId": "id0"},
    {"type": "REASONING_MESSAGE_START", "messageId": "id1", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "id1", "delta": "Hm."},
    {"type": "REASONING_MESSAGE_END", "messageId": "id1"},
    {"type": "REASONING_END", "messageId": "id0"},
]
INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "messages": [],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


class Own(BaseModel):
    """An event of a class that is not one of ``ag_ui``."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    type: str = "TEXT_MESSAGE_CHUNK"
    message_id: str = "m"
    delta: str = "Hello."


def emitter(**options: Any) -> tuple[Emitter, list[str]]:
    heard: list[str] = []
    numbers = count()
    return Emitter(new_id=lambda: f"id{next(numbers)}", on_warning=heard.append, **options), heard


@pytest.mark.parametrize("old", [THINKING, MODELS])
def test_thinking_is_translated_with_one_warning(old: list[Any]) -> None:
    own, heard = emitter()
    events = plain([event for item in old for event in own.receive(item)] + own.close())
    replay(events)
    assert events == REASONING
    assert len(heard) == 1
    assert "THINKING_*" in heard[0]


def test_thinking_that_is_left_open_is_closed_with_the_run() -> None:
    run = Run(INPUT, on_warning=lambda _: None)
    events = run.start()
    for item in (THINKING[0], THINKING[2], {"type": "CUSTOM", "name": "n", "value": 1}):
        events += run.receive(item)
    events += run.finish()
    replay(plain(events), framed=True)
    assert types(plain(events))[1:-1] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "CUSTOM",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    ]


def test_steps_of_one_name_in_two_subagents_are_both_closed() -> None:
    emitter = Emitter()
    for subagent in ("a", "b"):
        emitter.receive({"type": "STEP_STARTED", "stepName": "plan", "subagentRunId": subagent})
    assert plain(emitter.close()) == [
        {"type": "STEP_FINISHED", "stepName": "plan", "subagentRunId": subagent} for subagent in ("b", "a")
    ]


def test_thinking_without_a_start_or_twice_started_is_repaired() -> None:
    run = Run(INPUT, on_warning=lambda _: None)
    events = run.start()
    for place in (4, 0, 2, 1, 0, 3):
        events += run.receive(THINKING[place])
    events += run.finish()
    assert check_events(events) == []
    assert [event["delta"] for event in plain(events) if "delta" in event] == ["Hm."]


def test_thinking_is_hidden_as_reasoning_is() -> None:
    own, _ = emitter(visibility="hidden")
    events = [event for item in THINKING for event in own.receive({**item, "x": "Hm."})]
    assert "Hm." not in str(plain(events))


def test_reasoning_of_the_role_assistant_is_read_as_its_producer_meant_it() -> None:
    own, heard = emitter()
    old = [{**event, "role": "assistant"} if "role" in event else event for event in REASONING]
    assert plain([event for item in old for event in own.receive(item)]) == REASONING
    assert len(heard) == 1


def test_a_model_of_another_class_is_an_event() -> None:
    own, _ = emitter()
    assert plain(own.receive(Own())) == [
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hello."},
    ]


USER = {"id": "u", "role": "user"}


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"type": "TEXT_MESSAGE_START"}, "TEXT_MESSAGE_START is malformed at /messageId: expected a value."),
        (
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": 7},
            "TEXT_MESSAGE_CONTENT is malformed at /delta: expected a valid string.",
        ),
        (
            {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "SECRET"},
            "REASONING_MESSAGE_START is malformed at /role: expected 'reasoning'.",
        ),
        (
            {"type": "STATE_DELTA", "delta": [{"op": "add", "value": "SECRET"}]},
            "STATE_DELTA is malformed at /delta/0/path: expected a value.",
        ),
        (
            {"type": "MESSAGES_SNAPSHOT", "messages": [{**USER, "content": [{"type": "text"}]}]},
            "MESSAGES_SNAPSHOT is malformed at /messages/0/content/0/text: expected a value.",
        ),
        (
            {"type": "MESSAGES_SNAPSHOT", "messages": [{**USER, "role": "SECRET"}]},
            "MESSAGES_SNAPSHOT is malformed at /messages/0: expected 'role' to be one of 'developer', "
            "'system', 'assistant', 'user', 'tool', 'activity', 'reasoning'.",
        ),
        (
            {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": 7},
            "TOOL_CALL_RESULT is malformed at /content: expected a valid string or a valid list.",
        ),
        (
            {"type": "THINKING_TEXT_MESSAGE_CONTENT", "text": "SECRET"},
            "THINKING_TEXT_MESSAGE_CONTENT is malformed at /delta: expected a value.",
        ),
        (Own.model_construct(delta=5), "TEXT_MESSAGE_CHUNK is malformed at /delta: expected a valid string."),
    ],
)
def test_a_malformed_event_is_named_with_its_place_and_never_quoted(event: Any, said: str) -> None:
    own, _ = emitter()
    own.receive(TextDelta("before"))
    with pytest.raises(LocalProtocolError) as caught:
        own.receive(event)
    assert caught.value.code == "malformed_event"
    assert str(caught.value).startswith(said)
    kind = event["type"] if isinstance(event, Mapping) else event.type
    assert caught.value.event_type == kind
    assert "SECRET" not in str(caught.value)
    assert types(plain(own.close())) == ["TEXT_MESSAGE_END"]


@pytest.mark.parametrize(
    ("event", "hint"),
    [
        ({"type": "TextMessageContent"}, "Did you mean 'TEXT_MESSAGE_CONTENT'?"),
        ({"type": "THINKING_TITLE"}, "ModelStream"),
        ({"type": "response.output_text.delta", "delta": "SECRET"}, "ModelStream"),
        (Own(type="response.created"), "ModelStream"),
    ],
)
def test_an_event_of_another_protocol_is_refused_with_a_hint(event: Any, hint: str) -> None:
    own, _ = emitter()
    with pytest.raises(LocalProtocolError) as caught:
        own.receive(event)
    assert caught.value.code == "unknown_event"
    assert hint in caught.value.hint
    assert "SECRET" not in str(caught.value)


def test_a_subclass_is_read_as_its_base_class() -> None:
    class Mine(StateSnapshotEvent):
        note: str = "n"

    own, _ = emitter()
    (event,) = own.receive(Mine(snapshot={"a": 1}))
    assert type(event) is StateSnapshotEvent


def test_the_base_class_of_events_is_no_event() -> None:
    own, _ = emitter()
    with pytest.raises(LocalProtocolError) as caught:
        own.receive(BaseEvent(type=EventType.CUSTOM))
    assert caught.value.code == "not_an_item"
