"""Test `Conversation.to_json` and `from_json`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_reasoning import Conversation, LocalProtocolError, RemoteProtocolError, erase_reasoning
from tests.support.play import FAILED, FINISHED, STARTED, Json, call, ev, text, thought, value

INTERRUPT = {"type": "interrupt", "interrupts": [{"id": "i1", "reason": "confirm", "message": "Sure?"}]}
TWO_CALLS = [*call("c1", "{}", parentMessageId="m1"), *call("c2", "{}", parentMessageId="m1")]
STREAMS: dict[str, list[Json]] = {
    "nothing": [],
    "finished": [STARTED, *thought("r1", "Rain?"), value("r1"), *text("m1", "Yes. 🌧"), FINISHED],
    "calls": [STARTED, *TWO_CALLS, FINISHED],
    "one call pending": [
        STARTED,
        *TWO_CALLS,
        {**FINISHED, "outcome": {"type": "success", "pendingToolCallIds": ["c2"]}},
    ],
    "failed": [STARTED, *TWO_CALLS, FAILED],
    "interrupted": [STARTED, *text("m1", "Wait."), {**FINISHED, "outcome": INTERRUPT}],
    "state and activity": [
        STARTED,
        ev("STATE_SNAPSHOT", snapshot={"city": "Oslo", "half": "\ud83c"}),
        ev("ACTIVITY_SNAPSHOT", messageId="a1", activityType="plan", content={"steps": []}),
        FINISHED,
    ],
}


def conversation(events: list[Json]) -> Conversation:
    played = Conversation("t")
    for event in events:
        played.receive(event)
    if events:
        played.end_of_stream()
    return played


def visible(of: Conversation) -> tuple[Any, ...]:
    calls = [item.id for item in of.pending_calls]
    return of.thread_id, of.messages, of.state, of.status, calls, of.interrupts


@pytest.mark.parametrize("name", STREAMS)
def test_a_restored_conversation_is_the_same(name: str) -> None:
    stored = conversation(STREAMS[name])
    restored = Conversation.from_json(stored.to_json())
    assert visible(restored) == visible(stored)
    assert restored.to_json() == stored.to_json()
    assert "\n" not in stored.to_json()


def test_it_goes_on_where_it_was() -> None:
    restored = Conversation.from_json(conversation(STREAMS["one call pending"]).to_json())
    restored.add_tool_result("c2", "done")
    assert [message.role for message in restored.run_input().messages] == ["assistant", "tool"]
    with pytest.raises(LocalProtocolError) as caught:
        Conversation.from_json(conversation(STREAMS["interrupted"]).to_json()).run_input("Hi")
    assert caught.value.code == "open_interrupt"


def test_an_open_run_is_not_stored() -> None:
    running = Conversation()
    running.receive(STARTED)
    with pytest.raises(LocalProtocolError) as caught:
        running.to_json()
    assert caught.value.code == "run_open"


def test_the_input_of_a_run_is_a_stored_conversation() -> None:
    sent = conversation(STREAMS["calls"])
    restored = Conversation.from_json(sent.run_input("Hi").model_dump_json(by_alias=True, exclude_none=True))
    assert (restored.thread_id, restored.messages, restored.status) == ("t", sent.messages, "idle")
    assert [item.id for item in restored.pending_calls] == ["c1", "c2"]


def test_reasoning_can_be_erased_in_the_stored_text() -> None:
    stored = json.loads(conversation(STREAMS["finished"]).to_json())
    kept = erase_reasoning(stored["messages"])
    stored["messages"] = [message.model_dump(by_alias=True, exclude_none=True) for message in kept]
    text = json.dumps(stored)
    assert "Rain?" not in text
    assert [message.id for message in Conversation.from_json(text).messages] == ["m1"]


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "[]",
        '{"messages": {}}',
        '{"messages": [1]}',
        '{"threadId": 1}',
        '{"status": "running"}',
        '{"status": ["idle"]}',
        '{"pendingToolCallIds": [1]}',
        '{"interrupts": [{}]}',
    ],
)
def test_anything_else_is_refused(stored: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        Conversation.from_json(stored)
    assert caught.value.code == "bad_conversation"


def test_a_malformed_message_is_refused_as_in_the_constructor() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        Conversation.from_json(json.dumps({"messages": [{"id": "m", "role": "user"}]}))
    assert caught.value.code == "bad_message"


@pytest.mark.parametrize("number", [10**4300, -(10**5000)], ids=["positive", "negative"])
def test_an_integer_that_cannot_be_written_is_refused_before(number: int) -> None:
    """Python writes integers of up to 4,300 digits, and reads no others."""
    with pytest.raises(LocalProtocolError) as caught:
        Conversation("t", state={"n": number})
    assert caught.value.code == "bad_state"
    conversation = Conversation("t", on_warning=lambda sentence: None)
    conversation.receive({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
    with pytest.raises(RemoteProtocolError):
        conversation.receive({"type": "STATE_SNAPSHOT", "snapshot": {"n": number}})
    stored = Conversation("t", state={"n": number // 10**1000}).to_json()
    assert Conversation.from_json(stored).state == {"n": number // 10**1000}
