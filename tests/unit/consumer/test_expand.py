"""Test chunks: lanes, openers, continuations and ends."""

from __future__ import annotations

import pytest

from tests.conformance.requirements import requirement
from tests.support.play import FAILED, FINISHED, STARTED, Json, Played, ev, play, text, value

CONTENT = "REASONING_MESSAGE_CONTENT"


def chunk(kind: str = "REASONING_MESSAGE", **members: object) -> Json:
    return ev(f"{kind}_CHUNK", **members)


def said(**members: object) -> Json:
    return chunk("TEXT_MESSAGE", **members)


def called(**members: object) -> Json:
    return chunk("TOOL_CALL", **members)


OPEN = chunk(messageId="r", delta="a")
MORE = chunk(delta="b")


@requirement("C16")
def test_chunks_become_start_content_and_end() -> None:
    played = play(OPEN, MORE)
    assert played.events[1:-1] == [
        {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"},
        {"type": CONTENT, "messageId": "r", "delta": "a"},
        {"type": CONTENT, "messageId": "r", "delta": "b"},
        {"type": "REASONING_MESSAGE_END", "messageId": "r"},
    ]
    assert (played.held, played.warnings) == ([("r", "reasoning", "ab")], [])


@requirement("C1", "C16")
def test_a_chunk_is_judged_as_an_event_of_its_own_first_and_what_it_becomes_is_verified() -> None:
    played = play(chunk(messageId="r", delta="a", role="assistant"), chunk(messageId="r", delta=1))
    assert played.warned("REASONING_MESSAGE_CHUNK/role")
    assert (played.code, played.types[-1]) == ("malformed_event", CONTENT)
    opened = ev("TEXT_MESSAGE_START", messageId="m", subagentRunId="s")
    assert play(opened, said(messageId="m", delta="x")).code == "already_open"


@requirement("C17", "C18")
def test_every_subagent_has_a_lane_of_its_own() -> None:
    played = play(
        said(messageId="m1", delta="a", subagentRunId="s1"),
        said(messageId="m2", delta="x", subagentRunId="s2"),
        said(delta="b", subagentRunId="s1"),
        said(delta="y", subagentRunId="s2"),
        said(messageId="m1", delta="c"),
    )
    assert played.held == [("m1", "assistant", "abc"), ("m2", "assistant", "xy")]
    assert played.events[5] == {
        **{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "subagentRunId": "s1", "delta": "b"}
    }


@requirement("C18")
def test_a_tag_that_disagrees_with_the_lane_of_the_id_is_fatal() -> None:
    played = play(said(messageId="m", delta="a", subagentRunId="s1"), said(messageId="m", subagentRunId="s2"))
    assert played.code == "owner_mismatch"


@requirement("C18")
def test_without_a_tag_the_parents_lane_comes_first_and_then_the_only_one() -> None:
    s1 = {"subagentRunId": "s1"}
    assert play(
        said(messageId="m1", delta="a", **s1), said(messageId="m2", delta="x"), said(delta="y")
    ).held == [
        ("m1", "assistant", "a"),
        ("m2", "assistant", "xy"),
    ]
    assert play(said(messageId="m1", delta="a", **s1), said(delta="b")).held == [("m1", "assistant", "ab")]
    # The parent's lane holds another kind: the sole lane of this kind is meant.
    played = play(said(messageId="m1", delta="a", **s1), OPEN, said(delta="b"))
    assert played.held == [("m1", "assistant", "ab"), ("r", "reasoning", "a")]


@requirement("C18")
def test_several_lanes_are_ambiguous() -> None:
    lanes = [said(messageId=f"m{n}", delta="a", subagentRunId=f"s{n}") for n in (1, 2)]
    assert play(*lanes, said(delta="b")).code == "chunk_ambiguous"


@requirement("C19")
@pytest.mark.parametrize(
    "first", [MORE, said(delta="x"), called(delta="{}"), called(toolCallId="c"), called(toolCallName="n")]
)
def test_a_first_chunk_needs_its_id_and_a_call_its_name(first: Json) -> None:
    played = play(first)
    assert played.code == "chunk_without_id"
    assert played.error is not None
    assert played.error.event_type == first["type"]


@requirement("C19")
def test_a_new_id_closes_what_the_lane_held() -> None:
    played = play(OPEN, chunk(messageId="r2", delta="x"), said(messageId="m", delta="y"))
    assert [kind for kind in played.types if kind.endswith("_END")] == [
        *["REASONING_MESSAGE_END", "REASONING_MESSAGE_END", "TEXT_MESSAGE_END"]
    ]
    assert [name for name, _, _ in played.held] == ["r", "r2", "m"]


@requirement("C20")
def test_a_continuation_may_repeat_and_not_change() -> None:
    opener = said(messageId="m", role="user", name="Ann", delta="a")
    assert play(opener, said(role="user", name="Ann", delta="b")).held == [("m", "user", "ab")]
    for change in ({"role": "assistant"}, {"name": "Bob"}):
        assert play(opener, said(messageId="m", **change)).code == "chunk_conflict"
    opener = called(toolCallId="c", toolCallName="get", parentMessageId="m", delta="{")
    assert play(opener, called(toolCallName="get", parentMessageId="m", delta="}")).code is None
    for change in ({"toolCallName": "put"}, {"parentMessageId": "x"}):
        assert play(opener, called(**change)).code == "chunk_conflict"


@requirement("C20")
def test_what_was_settled_by_leaving_it_out_cannot_be_changed_either() -> None:
    assert play(said(messageId="m", delta="a"), said(role="user")).code == "chunk_conflict"
    assert play(said(messageId="m", delta="a"), said(role="assistant", delta="b")).code is None
    assert play(said(messageId="m", delta="a"), said(name="Ann")).code == "chunk_conflict"
    call = called(toolCallId="c", toolCallName="get")
    assert play(call, called(parentMessageId="m")).code == "chunk_conflict"


@requirement("C21")
def test_an_opener_without_delta_is_a_start_alone_and_an_empty_delta_is_content() -> None:
    assert play(chunk(messageId="r")).types[1:3] == ["REASONING_MESSAGE_START", "REASONING_MESSAGE_END"]
    played = play(chunk(messageId="r", delta=""), MORE)
    assert played.types.count(CONTENT) == 2, "an empty delta closes nothing"
    assert played.held == [("r", "reasoning", "b")]


@requirement("C21")
def test_metadata_goes_to_everything_a_chunk_becomes_and_raw_to_the_content() -> None:
    played = play(
        chunk(messageId="r", delta="a", metadata={"n": 1}, rawEvent={"p": 1}, timestamp=5),
        chunk(metadata={"n": 2}),
        chunk(messageId="r2", metadata={"n": 3}),
        chunk(rawEvent=1),
    )
    start, content, empty, end, second, raw, _ = played.events[1:-1]
    assert (start["metadata"], content["metadata"]) == ({"n": 1}, {"n": 1})
    assert ("rawEvent" in start, content["rawEvent"]) == (False, {"p": 1})
    assert empty == {"type": CONTENT, "messageId": "r", "delta": "", "metadata": {"n": 2}}
    assert end == {"type": "REASONING_MESSAGE_END", "messageId": "r"}
    assert second["metadata"] == {"n": 3}
    assert (raw["delta"], raw["rawEvent"]) == ("", 1)
    assert not any("timestamp" in event for event in played.events)
    assert [message["metadata"] for message in played.messages] == [{"n": 2}, {"n": 3}]


def test_a_continuation_with_nothing_in_it_is_nothing() -> None:
    assert play(OPEN, chunk(messageId="r")).types.count(CONTENT) == 1


RUN = {"threadId": "t", "runId": "r"}
OWN_LANE: list[Json] = [
    text("m")[0],
    ev("TOOL_CALL_START", toolCallId="c", toolCallName="n"),
    ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content=""),
    ev("REASONING_START", messageId="sp"),
    ev("REASONING_MESSAGE_START", messageId="r9", role="reasoning"),
    ev("STEP_STARTED", stepName="s"),
    ev("STATE_SNAPSHOT", snapshot=1),
    ev("STATE_DELTA", delta=[]),
    ev("CUSTOM", name="n", value=1),
]
ASIDE: list[Json] = [
    ev("RAW", event=1),
    ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={}),
    ev("ACTIVITY_DELTA", messageId="a", activityType="t", patch=[]),
    value("r"),
    ev("SUBAGENT_STARTED", subagentRunId="s9", name="n"),
]


def kind(event: Json) -> str:
    return str(event["type"])


@requirement("C22")
@pytest.mark.parametrize("closer", OWN_LANE, ids=kind)
def test_what_closes_its_own_lane(closer: Json) -> None:
    played = Played(STARTED, OPEN, closer, MORE, stop=False)
    assert played.types[3:5] == ["REASONING_MESSAGE_END", closer["type"]]
    assert played.code == "chunk_without_id"
    tagged = chunk(messageId="r", delta="a", subagentRunId="s1")
    assert "REASONING_MESSAGE_END" not in Played(STARTED, tagged, closer, stop=False).types, "another lane's"


@requirement("C22")
@pytest.mark.parametrize("closer", [ev("MESSAGES_SNAPSHOT", messages=[]), FINISHED, FAILED], ids=kind)
def test_what_closes_every_lane(closer: Json) -> None:
    other = said(messageId="m", delta="x", subagentRunId="s1")
    played = Played(STARTED, OPEN, other, closer, stop=False)
    assert played.types[5:8] == ["REASONING_MESSAGE_END", "TEXT_MESSAGE_END", closer["type"]]
    assert played.events[6]["subagentRunId"] == "s1"


@requirement("C22")
@pytest.mark.parametrize("end", ["SUBAGENT_FINISHED", "SUBAGENT_ERROR"])
def test_the_end_of_a_subagent_closes_its_lane_only(end: str) -> None:
    more = {"message": "x"} if end == "SUBAGENT_ERROR" else {}
    played = play(
        ev("SUBAGENT_STARTED", subagentRunId="s1", name="n"),
        OPEN,
        said(messageId="m", delta="x", subagentRunId="s1"),
        ev(end, subagentRunId="s1", **more),
        MORE,
    )
    assert played.code is None
    assert played.types[6:9] == ["TEXT_MESSAGE_END", end, CONTENT]


@requirement("C23")
@pytest.mark.parametrize("aside", ASIDE, ids=kind)
def test_what_closes_nothing(aside: Json) -> None:
    played = Played(STARTED, OPEN, aside, MORE, stop=False)
    assert (played.code, played.types[-1]) == (None, CONTENT)


@requirement("C24")
def test_the_same_id_after_a_close_goes_on() -> None:
    played = play(OPEN, ev("CUSTOM", name="n", value=1), chunk(messageId="r", delta="c"))
    assert played.held == [("r", "reasoning", "ac")]
    assert played.types.count("REASONING_MESSAGE_START") == 2


@requirement("C25")
def test_the_end_of_the_stream_makes_up_no_end() -> None:
    played = Played(STARTED, OPEN)
    assert (played.code, played.types[-1], played.held) == (
        "truncated_run",
        CONTENT,
        [("r", "reasoning", "a")],
    )
    assert Played(STARTED, OPEN, MORE, stop=False).conversation.status == "running"


@requirement("C17")
def test_a_chunk_never_enters_a_lane_of_a_stream_before() -> None:
    played = Played(STARTED, OPEN)
    assert played.code == "truncated_run"
    events = [event.type.value for event in played.conversation.receive(STARTED)]
    assert events == ["RUN_STARTED"]
