"""Test what a conversation shows of itself, and what it costs."""

from __future__ import annotations

from functools import partial

import pytest

from agui_reasoning import Conversation, TruncatedRunError, check_events, reduce_events
from tests.conformance.requirements import requirement
from tests.support.growth import steps
from tests.support.play import FAILED, FINISHED, STARTED, Json, Played, call, ev, play, text, thought, value

# -- the end of a stream


@requirement("C57")
@pytest.mark.parametrize(
    "events", [[], [ev("FUTURE_EVENT")][:0], [STARTED], [STARTED, thought("r", "half")[0]]]
)
def test_a_stream_that_stops_is_truncated(events: list[Json]) -> None:
    played = Played(*events)
    assert isinstance(played.error, TruncatedRunError)
    assert (played.code, played.conversation.status) == ("truncated_run", "truncated")
    assert not any(event["type"].endswith(("_END", "FINISHED")) for event in played.events)


@requirement("C3", "C57")
def test_what_came_before_the_cut_stays() -> None:
    played = Played(STARTED, *text("m", "whole"), *thought("r", "half an ")[:2])
    assert played.held == [("m", "assistant", "whole"), ("r", "reasoning", "half an ")]
    with pytest.raises(TruncatedRunError):
        reduce_events([STARTED, *text("m", "whole")])


@requirement("C57")
@pytest.mark.parametrize("events", [[FAILED], [STARTED, FAILED], [STARTED, FINISHED]])
def test_a_stream_that_ends_with_its_run_is_whole(events: list[Json]) -> None:
    played = Played(*events)
    assert played.code is None
    with pytest.raises(TruncatedRunError, match="before any run"):
        played.conversation.end_of_stream()


@requirement("C57")
def test_after_a_cut_the_conversation_goes_on() -> None:
    conversation = Played(STARTED, *thought("r", "half")[:2]).conversation
    assert conversation.run_input("Go on").messages[0].content == "half"
    for event in (STARTED, *text("m", "x"), FINISHED):
        conversation.receive(event)
    conversation.end_of_stream()
    assert conversation.status == "finished"


def test_the_status_follows_the_run() -> None:
    conversation = Conversation()
    seen = [conversation.status]
    interrupt = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}]}
    for event in (STARTED, FINISHED, STARTED, {**FINISHED, "outcome": interrupt}, STARTED, FAILED):
        conversation.receive(event)
        seen.append(conversation.status)
    assert seen == ["idle", "running", "finished", "running", "interrupted", "running", "failed"]


# -- what changed


def test_changed_names_the_messages_the_last_event_touched() -> None:
    conversation = Conversation()
    events = [
        (STARTED, ()),
        (thought("r", "a")[0], ("r",)),
        (thought("r", "a")[1], ("r",)),
        (ev("STATE_SNAPSHOT", snapshot=1), ()),
        (value("r"), ("r",)),
        (value("nobody"), ()),
        (call("c", parentMessageId="m")[0], ("m",)),
        (call("c", "{}")[1], ("m",)),
        (value("c", subtype="tool-call"), ("m",)),
        (ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content="ok"), ("t",)),
        (ev("TEXT_MESSAGE_CHUNK", messageId="n", delta="x"), ("n",)),
        (ev("MESSAGES_SNAPSHOT", messages=[{"id": "m", "role": "assistant"}]), ("n", "t", "m")),
        (ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={}), ("a",)),
        (ev("RAW", event=1), ()),
    ]
    for event, changed in events:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *args, **kwargs: None)
            conversation.receive(event)
        assert sorted(conversation.changed) == sorted(changed), event["type"]
    assert conversation.message("t") is None
    assert conversation.message("m").id == "m"  # type: ignore[union-attr]


def test_a_message_is_the_same_object_until_it_changes() -> None:
    conversation = Played(STARTED, *text("m", "a"), thought("r")[0], stop=False).conversation
    one, two = conversation.messages
    conversation.receive(thought("r", "b")[1])
    again = conversation.messages
    assert again[0] is one
    assert again[1] is not two
    assert (two.content, again[1].content) == ("", "b")
    assert conversation.message("m") is one


def test_the_thread_is_that_of_the_first_run() -> None:
    assert Played(STARTED, FINISHED).conversation.thread_id == "t"
    assert Played(STARTED, FINISHED, thread_id="mine").conversation.thread_id == "mine"


def test_reduce_events_gives_the_messages() -> None:
    assert [message.content for message in reduce_events([STARTED, *text("m", "a"), FINISHED])] == ["a"]


# -- what it costs


def grown(size: int) -> Conversation:
    """A conversation with everything in it, many times."""
    conversation = Conversation(on_warning=lambda warning: None, state={"l": list(range(size))})
    conversation.receive(STARTED)
    for number in range(size):
        m, r, c = f"m{number}", f"r{number}", f"c{number}"
        for event in (*thought(r, "a"), *text(m, "b"), *call(c, "{}", parentMessageId=m)):
            conversation.receive(event)
    for event in (thought("r")[0], text("m")[0], call("c")[0]):
        conversation.receive(event)
    for _ in range(size):
        for event in (thought("r", "delta")[1], text("m", "delta")[1], call("c", "delta")[1]):
            conversation.receive(event)
    conversation.receive(ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={"l": [0] * size}))
    first = [{"op": "add", "path": "/l/-", "value": 1}]  # a patch is dear once, for the containers it reaches
    conversation.receive(ev("STATE_DELTA", delta=first))
    conversation.receive(ev("ACTIVITY_DELTA", messageId="a", activityType="t", patch=first))
    return conversation


PROBES: list[Json] = [
    thought("r", "x")[1],
    text("m", "x")[1],
    call("c", "x")[1],
    thought("r0", "x")[0],
    value("r0"),
    value("c0", subtype="tool-call"),
    ev("TOOL_CALL_RESULT", messageId="t0", toolCallId="c0", content="ok"),
    ev("TOOL_CALL_START", toolCallId="new", toolCallName="n", parentMessageId="m0"),
    ev("STATE_DELTA", delta=[{"op": "replace", "path": "/l/0", "value": 1}]),
    ev(
        "ACTIVITY_DELTA",
        messageId="a",
        activityType="t",
        patch=[{"op": "replace", "path": "/l/0", "value": 1}],
    ),
    ev("REASONING_MESSAGE_CHUNK", messageId="chunked", delta="x"),
    ev("CUSTOM", name="n", value=1),
]


@pytest.mark.parametrize("probe", PROBES, ids=lambda event: event["type"])
def test_an_event_costs_the_same_whatever_the_history(probe: Json) -> None:
    small, large = (steps(partial(grown(size).receive, probe)) for size in (150, 600))
    assert small == large


def test_a_result_costs_the_same_behind_many_others() -> None:
    costs = []
    for size in (5, 500):
        conversation = Conversation(on_warning=lambda warning: None)
        conversation.receive(STARTED)
        for number in range(size):
            for event in call(f"c{number}", parentMessageId="m"):
                conversation.receive(event)
        for number in range(size - 1):
            answer = ev("TOOL_CALL_RESULT", messageId=f"t{number}", toolCallId=f"c{number}", content="")
            conversation.receive(answer)
        last = ev("TOOL_CALL_RESULT", messageId="t", toolCallId=f"c{size - 1}", content="")
        costs.append(steps(partial(conversation.receive, last)))
    assert costs[0] == costs[1]


def test_a_history_is_read_as_often_as_one_likes() -> None:
    played = play(*thought("r", *["x"] * 1000))
    assert all(message.content == "x" * 1000 for _ in range(3) for message in played.conversation.messages)
    assert check_events([STARTED, *thought("r", "x"), FINISHED]) == []
