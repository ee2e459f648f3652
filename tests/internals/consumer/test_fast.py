"""Repeated events take a short way, with the same result."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from agui_reasoning import Conversation, RemoteProtocolError, TruncatedRunError, check_events, compact
from agui_reasoning._wire_events import event_model
from agui_reasoning.consumer import Pipeline, reduce_events
from agui_reasoning.consumer._history import Pieces
from agui_reasoning.wire import SSEDecoder
from tests.support.consumed import exactly
from tests.support.play import FINISHED, STARTED, Json, call, text, thought
from tests.support.verifier import plain

ITEMS: dict[str, Callable[..., list[Json]]] = {"text": text, "thought": thought, "call": call}


def begun(*events: Json) -> Conversation:
    conversation = Conversation(on_warning=lambda warning: None)
    for event in (STARTED, *events):
        conversation.receive(event)
    return conversation


class Counted:
    """Counts the events that take the full path."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        stages = Pipeline.stages

        def counted(pipeline: Pipeline, members: Any) -> list[Json]:
            self.count += 1
            return stages(pipeline, members)

        monkeypatch.setattr(Pipeline, "stages", counted)


@pytest.fixture
def full_path(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def received(events: list[Any]) -> None:
    conversation = Conversation()
    for event in events:
        conversation.receive(event)


CONSUMERS: dict[str, Callable[[list[Any]], object]] = {
    "conversation": received,
    "reduce": reduce_events,
    "check": check_events,
    "compact": compact,
}


@pytest.mark.parametrize("form", ["JSON", "models"])
@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("kind", ITEMS)
def test_only_the_first_delta_of_an_item_takes_the_full_path(
    kind: str, consumer: str, form: str, full_path: Counted
) -> None:
    events = [STARTED, *ITEMS[kind]("x", *map(str, range(50))), FINISHED]
    CONSUMERS[consumer]([event_model(event) for event in events] if form == "models" else events)
    assert full_path.count == 5  # the frame of the run, the frame of the item, the first delta


def test_each_delta_may_have_its_own_time(full_path: Counted) -> None:
    start, *deltas, _ = text("m", "a", "b", "c")
    timed = [{**delta, "timestamp": number} for number, delta in enumerate(deltas)]
    conversation = begun(start)
    delivered = [conversation.receive(event) for event in timed]
    assert [event.timestamp for (event,) in delivered] == [0, 1, 2]
    assert full_path.count == 3


@pytest.mark.parametrize("delta", ["", "a", "é", "日本", "\ud83d"])
@pytest.mark.parametrize("extra", [{}, {"timestamp": 7}, {"subagentRunId": "s"}], ids=str)
@pytest.mark.parametrize("kind", ITEMS)
def test_what_a_repeat_delivers_equals_a_validated_event(kind: str, extra: Json, delta: str) -> None:
    start, first, _ = ITEMS[kind]("x", "first")
    conversation = begun({**start, **extra}, {**first, **extra})
    event = {**first, **extra, "delta": delta}
    (repeated,) = conversation.receive(event)
    assert exactly(repeated) == exactly(event_model(event))
    assert repeated == event_model(event)


def test_delivered_events_share_nothing() -> None:
    start, *deltas, _ = text("m", "a", "b", "c", "d")
    conversation = begun(start)
    (one,), (two,), (three,) = map(conversation.receive, deltas[:3])
    for event in (one, two, three):
        event.delta = "changed"  # type: ignore[union-attr]
        event.metadata = {"changed": True}
        event.extra = 1  # type: ignore[union-attr]
    assert exactly(conversation.receive(deltas[3])[0]) == exactly(event_model(deltas[3]))
    assert plain(conversation.messages)[0]["content"] == "abcd"


def test_callers_may_change_their_event() -> None:
    start, delta, _ = text("m", "a")
    conversation = begun(start)
    event = dict(delta)
    conversation.receive(event)
    event["messageId"] = "other"
    with pytest.raises(RemoteProtocolError, match="no text message 'other' is open"):
        conversation.receive(event)


def test_a_violation_in_the_middle_of_repeats_is_raised_where_it_is() -> None:
    start, *deltas, _ = text("m", "a", "b", "c")
    conversation = begun(start, *deltas[:2])
    with pytest.raises(RemoteProtocolError, match="TEXT_MESSAGE_CONTENT is malformed at /delta"):
        conversation.receive({**deltas[2], "delta": 5})
    assert plain(conversation.messages)[0]["content"] == "ab"
    with pytest.raises(RemoteProtocolError, match="after the run has failed"):
        conversation.receive(deltas[2])


def test_a_stream_that_stops_among_repeats_is_truncated() -> None:
    start, *deltas, _ = text("m", "a", "b", "c")
    conversation = begun(start, *deltas)
    with pytest.raises(TruncatedRunError):
        conversation.end_of_stream()
    assert (conversation.status, plain(conversation.messages)[0]["content"]) == ("truncated", "abc")
    with pytest.raises(RemoteProtocolError, match="before RUN_STARTED"):
        conversation.receive(deltas[2])


def test_a_frame_above_the_limit_among_repeats_keeps_those_before() -> None:
    events = [STARTED, *text("m", "a", "b", "c" * 999)]
    body = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)
    conversation, decoder = Conversation(), SSEDecoder(max_frame_bytes=500)
    for event in decoder.feed(body):
        conversation.receive(event)
    with pytest.raises(RemoteProtocolError) as caught:
        decoder.feed(b"")
    assert caught.value.code == "frame_too_large"
    assert plain(conversation.messages)[0]["content"] == "ab"


def test_each_repeat_of_a_warning_is_given() -> None:
    warnings: list[str] = []
    conversation = Conversation(on_warning=warnings.append)
    start, *deltas, _ = text("m", "a", "b", "c")
    for event in (STARTED, start, *({**delta, "futureProp": "x"} for delta in deltas)):
        conversation.receive(event)
    assert warnings == ["TEXT_MESSAGE_CONTENT/futureProp is unknown and is removed."] * 3


def test_a_model_with_unknown_members_is_no_repeat_of_one_without() -> None:
    warnings: list[str] = []
    conversation = Conversation(on_warning=warnings.append)
    start, *deltas, _ = text("m", "a", "b", "c")
    for event in (STARTED, start, *deltas[:2], {**deltas[2], "futureProp": "x"}):
        conversation.receive(event_model(event))
    assert warnings == ["TEXT_MESSAGE_CONTENT/futureProp is unknown and is removed."]


def test_credentials_are_found_in_repeats() -> None:
    stream = [STARTED, *text("m", "a", "b", "Bearer sk-abcdefghijklmnop1234", "c"), FINISHED]
    assert [(finding.code, finding.index) for finding in check_events(stream)] == [("credential_in_event", 4)]


def test_messages_and_changes_are_current_between_repeats() -> None:
    start, *deltas, _ = call("c", "a", "b", "c")
    conversation = begun(start)
    seen: list[Any] = []
    for delta in deltas:
        conversation.receive(delta)
        (message,) = plain(conversation.messages)
        seen.append((conversation.changed, message["toolCalls"][0]["function"]["arguments"]))
    assert seen == [(("c",), "a"), (("c",), "ab"), (("c",), "abc")]


def test_copies_of_a_conversation_go_on_by_themselves() -> None:
    start, *deltas, _ = text("m", "a", "b", "c")
    conversation = begun(start, *deltas[:2])
    other = copy.deepcopy(conversation)
    other.receive({**deltas[2], "delta": "other"})
    conversation.receive(deltas[2])
    assert plain(conversation.messages)[0]["content"] == "abc"
    assert plain(other.messages)[0]["content"] == "abother"


def test_a_sink_that_receives_an_event_itself_hears_of_each_repeat() -> None:
    start, *deltas, _ = text("m", "a", "b", "c")
    warnings: list[str] = []

    def sink(warning: str) -> None:
        warnings.append(warning)
        conversation.receive(deltas[0])

    conversation = Conversation(on_warning=sink)
    for event in (STARTED, start, *({**delta, "futureProp": "x"} for delta in deltas)):
        conversation.receive(event)
    assert len(warnings) == 3


def test_text_is_joined_once_when_it_is_read() -> None:
    joined: list[int] = []
    read = Pieces.read

    def counted(pieces: Pieces) -> str:
        joined.append(len(pieces.deltas))
        return read(pieces)

    with patch.object(Pieces, "read", counted):
        conversation = begun(*text("m", *"ab" * 500)[:-1])
        assert joined == []
        assert plain(conversation.messages)[0]["content"] == "ab" * 500
    assert joined == [1000]
