"""Test `compact`: fewer events, the same result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from agui_reasoning import Conversation, RemoteProtocolError, compact
from tests.conformance.requirements import requirement
from tests.support.play import FINISHED, STARTED, Json, ev, text, thought, value
from tests.support.streams import valid_streams
from tests.support.verifier import plain

DELTAS = {"TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"}


def compacted(*events: Json) -> list[Json]:
    return plain(compact(events, on_warning=lambda warning: None))


def outcome(events: list[Json]) -> tuple[Any, ...]:
    conversation = Conversation(on_warning=lambda warning: None, new_id=lambda: "made-up")
    for event in events:
        conversation.receive(event)
    pending = [call.id for call in conversation.pending_calls]
    return plain(conversation.messages), conversation.state, conversation.status, pending


@requirement("C58")
def test_deltas_of_one_message_become_one_with_their_metadata() -> None:
    start, *deltas, end = thought("r", "a", "b", "c", metadata={"n": 0})
    deltas[0]["metadata"], deltas[2]["metadata"] = {"n": 1, "x": 1}, {"n": 2}
    deltas[0]["timestamp"] = 5
    joined = {**deltas[0], "delta": "abc", "metadata": {"n": 2, "x": 1}}
    assert compacted(STARTED, start, *deltas, end) == [STARTED, start, joined, end]


@requirement("C58")
def test_nothing_moves_past_anything_but_deltas() -> None:
    m, r = text("m", "1", "2"), thought("r", "a", "b")
    raw = ev("RAW", event=1)
    events = [STARTED, m[0], r[0], m[1], r[1], m[2], raw, r[2], value("r"), m[3], r[3], FINISHED]
    types = [event["type"].removesuffix("_CONTENT") for event in compacted(*events)]
    assert types == [
        *[
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "REASONING_MESSAGE_START",
            "TEXT_MESSAGE",
            "REASONING_MESSAGE",
        ],
        *["RAW", "REASONING_MESSAGE", "REASONING_ENCRYPTED_VALUE", "TEXT_MESSAGE_END"],
        *["REASONING_MESSAGE_END", "RUN_FINISHED"],
    ]


@requirement("C58")
@given(valid_streams())
def test_the_result_is_the_same_and_the_rest_stands_where_it_stood(stream: list[Json]) -> None:
    conversation = Conversation(on_warning=lambda warning: None, new_id=lambda: "made-up")
    delivered = plain([event for one in stream for event in conversation.receive(one)])
    short = compacted(*delivered)
    assert outcome(short) == outcome(delivered)
    assert len(short) <= len(delivered)
    folded = {*DELTAS, "STATE_SNAPSHOT", "STATE_DELTA"}
    assert [e for e in short if e["type"] not in folded] == [e for e in delivered if e["type"] not in folded]
    assert compacted(*short) == short


def test_a_snapshot_of_the_state_takes_up_what_follows() -> None:
    add = ev("STATE_DELTA", delta=[{"op": "add", "path": "/a", "value": 1}])
    bad = ev("STATE_DELTA", delta=[{"op": "remove", "path": "/none"}])
    one, two = ev("STATE_SNAPSHOT", snapshot={}), ev("STATE_SNAPSHOT", snapshot={"b": 1})
    assert compacted(STARTED, one, two, add)[1:] == [ev("STATE_SNAPSHOT", snapshot={"a": 1, "b": 1})]
    assert compacted(STARTED, add, add)[1:] == [add, add], "without a snapshot there is nothing to fold into"
    assert compacted(STARTED, one, bad, add)[1:] == [one, bad, add]
    tagged = {**add, "subagentRunId": "s"}
    assert compacted(STARTED, one, tagged)[1:] == [one, tagged]


def test_chunks_come_out_as_what_they_stand_for_and_raw_stays_with_its_delta() -> None:
    chunks = [ev("REASONING_MESSAGE_CHUNK", messageId="r", delta=delta) for delta in "abc"]
    chunks[1]["rawEvent"] = {"p": 1}
    deltas = [event.get("delta") for event in compacted(STARTED, *chunks, FINISHED)]
    assert deltas == [None, None, "a", "b", "c", None, None]


def test_a_cut_stream_is_compacted_and_a_broken_one_refused() -> None:
    assert len(compacted(STARTED, *thought("r", "a", "b")[:-1])) == 3
    with pytest.raises(RemoteProtocolError):
        compacted(STARTED, thought("r", "a")[1])
