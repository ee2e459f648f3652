"""Test the order of events, and the owner of each open item."""

from __future__ import annotations

from typing import Any

import pytest

from agui_reasoning import Conversation, RemoteProtocolError
from tests.conformance.requirements import requirement
from tests.support.play import (
    FAILED,
    FINISHED,
    RUN,
    STARTED,
    Json,
    Played,
    call,
    ev,
    play,
    text,
    thought,
    value,
)

INTERRUPT = {"id": "i", "reason": "a"}
S1, S2 = {"subagentRunId": "s1"}, {"subagentRunId": "s2"}


def span(name: str, **more: Any) -> list[Json]:
    return [ev("REASONING_START", messageId=name, **more), ev("REASONING_END", messageId=name)]


def subagent(name: str, **more: Any) -> Json:
    return ev("SUBAGENT_STARTED", subagentRunId=name, name="helper", **more)


def ended(name: str) -> Json:
    return ev("SUBAGENT_FINISHED", subagentRunId=name)


# -- the run

BAD_ORDER = [
    ([text("m")[0]], "before any run"),
    ([FINISHED], "before any run"),
    ([STARTED, STARTED], "in a run"),
    ([STARTED, FINISHED, text("m")[0]], "after RUN_FINISHED"),
    ([STARTED, FINISHED, FINISHED], "after RUN_FINISHED"),
    ([STARTED, FAILED, text("m")[0]], "after the run has failed"),
    ([STARTED, FAILED, FAILED], "after the run has failed"),
    ([FAILED, FINISHED], "after the run has failed"),
    ([STARTED, FINISHED, FAILED, FAILED], "after the run has failed"),
]


@requirement("C26")
@pytest.mark.parametrize(("events", "state"), BAD_ORDER)
def test_run_events_out_of_order(events: list[Json], state: str) -> None:
    played = Played(*events)
    assert played.code == "run_order"
    assert played.error is not None
    assert (played.error.event_type, played.error.state) == (events[-1]["type"], state)


@requirement("C26", "C34")
@pytest.mark.parametrize(
    "events",
    [
        [FAILED],
        [STARTED, FAILED],
        [STARTED, FINISHED, FAILED],
        [FAILED, STARTED, FINISHED],
        [STARTED, FAILED, STARTED, FINISHED],
        [STARTED, FINISHED, STARTED, FINISHED],
    ],
)
def test_run_events_in_order(events: list[Json]) -> None:
    played = Played(*events)
    assert (played.code, len(played.events)) == (None, len(events))


@requirement("C26")
def test_an_error_abandons_what_is_open_and_a_new_run_starts_afresh() -> None:
    first = [STARTED, thought("r", "a")[0], ev("STEP_STARTED", stepName="s"), subagent("s1"), FAILED]
    again = [STARTED, *thought("r", "b", **S1), subagent("s1"), ended("s1"), FINISHED]
    played = Played(*first, *again)
    assert (played.code, played.held) == (None, [("r", "reasoning", "b")])


@requirement("C3")
def test_a_violation_keeps_what_came_and_only_a_new_run_may_follow() -> None:
    played = Played(STARTED, *thought("r", "a"), text("m", "x")[1], *text("m2"), stop=False)
    assert (played.code, played.conversation.status) == ("not_open", "failed")
    assert played.held == [("r", "reasoning", "a")]
    conversation = played.conversation
    assert [event.type.value for event in conversation.receive(STARTED)] == ["RUN_STARTED"]
    conversation.receive(FINISHED)
    conversation.end_of_stream()
    assert conversation.status == "finished"


# -- what is open

OPENERS: list[tuple[list[Json], str]] = [
    (text("x", "a"), "text message"),
    (thought("x", "a"), "reasoning message"),
    (call("x", "a"), "tool call"),
    (span("x"), "reasoning span"),
    ([ev("STEP_STARTED", stepName="x"), ev("STEP_FINISHED", stepName="x")], "step"),
]
names = pytest.mark.parametrize(("item", "noun"), OPENERS, ids=lambda case: str(case)[:18])


@requirement("C27")
@names
def test_nothing_goes_on_or_ends_that_is_not_open(item: list[Json], noun: str) -> None:
    for event in item[1:]:
        played = play(event)
        assert (played.code, noun.split()[0] in str(played.error)) == ("not_open", True)
        assert played.error is not None
        assert played.error.message_id == "x"
        assert item[0]["type"] in played.error.hint
    assert play(*item, item[-1]).code == "not_open"


@requirement("C27")
@names
def test_nothing_starts_that_is_open(item: list[Json], noun: str) -> None:
    assert play(item[0], item[0]).code == "already_open"
    assert play(*item, *item).code is None


@requirement("C27")
@names
def test_nothing_is_left_open(item: list[Json], noun: str) -> None:
    played = play(*item[:-1])
    assert played.code == "left_open"
    assert f"{noun} 'x'" in str(played.error)
    assert Played(STARTED, *item[:-1], FAILED).code is None


@requirement("C28")
def test_spans_and_messages_are_apart() -> None:
    same = [ev("REASONING_START", messageId="x"), *thought("x", "a"), ev("REASONING_END", messageId="x")]
    assert play(*same).code is None
    assert play(ev("REASONING_START", messageId="x"), thought("x", "a")[1]).code == "not_open"
    nested = [span("a")[0], span("b")[0], span("a")[1], span("b")[1]]
    assert play(*nested, *span("a")).code is None
    outlives = [span("a")[0], thought("r")[0], span("a")[1], thought("r")[-1]]
    assert play(*outlives).code is None


@requirement("C28")
def test_a_span_and_a_message_of_one_id_share_their_owner() -> None:
    assert play(*span("x", **S1), *thought("x", **S2)).code == "owner_mismatch"
    assert play(*span("x", **S1), *thought("x")).code is None


@requirement("C29")
def test_steps_belong_to_their_owner() -> None:
    both = [ev("STEP_STARTED", stepName="s"), ev("STEP_STARTED", stepName="s", **S1)]
    ends = [ev("STEP_FINISHED", stepName="s", **S1), ev("STEP_FINISHED", stepName="s")]
    assert play(*both, *ends).code is None
    played = play(both[0], ends[0])
    assert (played.code, "subagent 's1'" in str(played.error)) == ("not_open", True)


# -- whose it is


@requirement("C30")
@names
def test_a_tag_that_is_not_the_openers_is_fatal_and_none_is_fine(item: list[Json], noun: str) -> None:
    if noun == "step":
        return
    start, *rest = item
    for event in rest:
        before = rest[: rest.index(event)]
        assert play({**start, **S1}, *before, {**event, **S2}).code == "owner_mismatch"
        assert play(start, *before, {**event, **S1}).code == "owner_mismatch", "the parent owns it"
    assert play({**start, **S1}, *rest).code is None


@requirement("C30")
def test_owners_outlive_the_close_until_the_run_ends() -> None:
    for item in (text("x"), thought("x"), call("x")):
        assert play({**item[0], **S1}, *item[1:], {**item[0], **S2}).code == "owner_mismatch"
        assert play({**item[0], **S1}, *item[1:], *item).code is None
        again = [{**item[0], **S2}, *item[1:]]
        assert Played(STARTED, {**item[0], **S1}, *item[1:], FINISHED, STARTED, *again, FINISHED).code is None


@requirement("C30")
def test_a_value_is_checked_for_its_owner_by_subtype_and_never_for_existence() -> None:
    sealed = value("x", **S2)
    for item in (text("x", **S1), thought("x", **S1)):
        assert play(*item, sealed).code == "owner_mismatch"
        assert play(*item, value("x", subtype="tool-call", **S2)).code is None
    assert play(*call("x", **S1), value("x", subtype="tool-call", **S2)).code == "owner_mismatch"
    assert play(sealed).code is None


@requirement("C30")
def test_a_call_is_its_parent_messages_owners() -> None:
    opened = {"parentMessageId": "m"}
    assert play(*text("m", **S1), *call("c", **opened, **S2)).code == "owner_mismatch"
    assert play(*text("m"), *call("c", **opened, **S1)).code == "owner_mismatch"
    start, *rest = call("c", "{}", **opened)
    assert play(*text("m", **S1), start, *[{**event, **S1} for event in rest]).code is None
    moved = [*text("m", **S1), *call("c", **opened), *text("n"), *call("c", parentMessageId="n")]
    assert play(*moved).code == "owner_mismatch"


@requirement("C30")
def test_activities_have_owners_too() -> None:
    made = ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={}, **S1)
    patch = ev("ACTIVITY_DELTA", messageId="a", activityType="t", patch=[])
    assert play(made, {**patch, **S2}).code == "owner_mismatch"
    assert play(made, {**made, **S2}, {**patch, **S2}).code is None, "a replacement brings its owner"
    assert play(made, {**made, **S2, "replace": False}, {**patch, **S2}).code == "owner_mismatch"


def history(**more: Any) -> list[Json]:
    calls = [{"id": "c", "type": "function", "function": {"name": "get", "arguments": ""}}]
    return [
        {"id": "m", "role": "assistant", "toolCalls": calls, **more},
        {"id": "r", "role": "reasoning", "content": "", **more},
        {"id": "a", "role": "activity", "activityType": "t", "content": {}, **more},
    ]


@requirement("C31")
def test_a_snapshot_tells_owners_and_an_echo_only_where_nobody_has() -> None:
    snapshot = ev("MESSAGES_SNAPSHOT", messages=history(**S1))
    for event in (
        text("m", **S2)[0],
        thought("r", **S2)[0],
        call("c", **S2)[0],
        ev("ACTIVITY_DELTA", messageId="a", activityType="t", patch=[], **S2),
    ):
        assert play(snapshot, event).code == "owner_mismatch"
        echo = {**STARTED, "input": {**RUN, "messages": history(**S1)}}
        assert Played(echo, event, FINISHED).code == "owner_mismatch"
    assert play(*text("m", **S2), snapshot, *text("m", **S1)).code is None


@requirement("C31")
def test_a_result_tells_the_owner_of_its_message() -> None:
    result = ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content="", **S1)
    assert play(*call("c"), result, *text("t", **S2)).code == "owner_mismatch"
    assert play(*text("t", **S2), *call("c"), result, *text("t", **S1)).code is None


# -- subagents


@requirement("C32")
@pytest.mark.parametrize(
    "events",
    [
        [subagent("s1"), subagent("s1")],
        [subagent("s1"), ended("s1"), subagent("s1")],
        [subagent("s1", parentSubagentRunId="s2")],
        [ended("s1")],
        [subagent("s1"), ended("s1"), ended("s1")],
        [ev("SUBAGENT_ERROR", subagentRunId="s1", message="x")],
    ],
)
def test_subagents_out_of_order(events: list[Json]) -> None:
    played = play(*events)
    assert (played.code, "'s1'" in str(played.error)) == ("subagent_order", True)


@requirement("C32")
def test_subagents_in_order() -> None:
    nested = [subagent("s1"), subagent("s2", parentSubagentRunId="s1"), ended("s1"), ended("s2")]
    assert play(*nested, subagent("s3", parentSubagentRunId="s1"), ended("s3")).code is None
    assert play(subagent("s1")).code == "left_open"
    assert play(*text("m", subagentRunId="nobody")).code is None, "attribution needs no announcement"


# -- what only the draft demands


@requirement("C33")
def test_boundary_ids_and_duplicate_interrupts_are_warned_about() -> None:
    other = Played(STARTED, {**FINISHED, "runId": "r2", "threadId": "t2"})
    assert other.code is None
    assert other.warned("RUN_FINISHED", "another run, 'r2'")
    assert other.warned("another thread, 't2'")
    moved = Played(STARTED, FINISHED, {**STARTED, "threadId": "t2"}, {**FINISHED, "threadId": "t2"})
    assert (moved.code, moved.warned("RUN_STARTED", "another thread, 't2'")) == (None, True)
    assert Played(STARTED, FINISHED, thread_id="mine").warned("another thread, 't'")
    interrupts = [{"id": "i", "reason": "a"}, {"id": "i", "reason": "b"}]
    twice = Played(STARTED, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}})
    assert (twice.code, twice.warned("two interrupts", "'i'")) == (None, True)


@requirement("C33")
@pytest.mark.parametrize(
    ("code", "events"),
    [
        ("run_identity", [STARTED, {**FINISHED, "runId": "r2"}]),
        ("run_identity", [STARTED, {**FINISHED, "threadId": "t2"}]),
        ("run_identity", [STARTED, FINISHED, {**STARTED, "threadId": "t2"}]),
        (
            "duplicate_interrupt",
            [STARTED, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [INTERRUPT, INTERRUPT]}}],
        ),
    ],
)
def test_strict_identity_fails_the_run_and_the_next_one_passes(code: str, events: list[Json]) -> None:
    stored = Conversation("t").to_json()
    conversation = Conversation.from_json(stored, strict_identity=True, on_warning=pytest.fail)
    for event in events[:-1]:
        conversation.receive(event)
    with pytest.raises(RemoteProtocolError) as raised:
        conversation.receive(events[-1])
    assert (raised.value.code, conversation.status) == (code, "failed")
    for event in (STARTED, *text("m", "a"), FINISHED):
        conversation.receive(event)
    assert [message.content for message in conversation.messages] == ["a"]


# -- outcomes


@requirement("C34")
def test_an_error_is_delivered_and_no_success() -> None:
    played = Played(STARTED, *text("m", "a"), FAILED)
    assert (played.types[-1], played.conversation.status, len(played.messages)) == ("RUN_ERROR", "failed", 1)
    late = Played(STARTED, FINISHED, FAILED)
    assert late.conversation.status == "failed"
    assert Played(STARTED, FAILED, STARTED, FINISHED).conversation.status == "finished"


@requirement("C35")
def test_cancelled_is_neither_success_nor_failure() -> None:
    played = Played(STARTED, *call("c"), {**FINISHED, "outcome": {"type": "cancelled"}})
    assert (played.conversation.status, played.conversation.pending_calls) == ("cancelled", [])


# -- versions


@requirement("V2")
def test_newer_and_uninterpretable_versions_are_warned_about_once_per_run() -> None:
    for version, warns in (
        *((("1.0", 0), ("0.9", 0), ("1.1", 2), ("1.10", 2), ("2.0", 2))),
        *((("1", 2), ("1.0.0", 2), ("draft", 2), ("", 2))),
    ):
        events = [{**STARTED, "protocolVersion": version}, *text("m"), FINISHED]
        assert len(Played(*events, *events).warnings) == warns, version
    absent = {name: member for name, member in STARTED.items() if name != "protocolVersion"}
    assert Played(absent, FINISHED).warnings == []
    assert Played({**STARTED, "protocolVersion": "draft"}, FINISHED).warned("cannot interpret")
    assert Played({**STARTED, "protocolVersion": "1.2"}, FINISHED).warned("'1.2'", "'1.0'")


@requirement("V12")
def test_subagents_are_delivered_whatever_the_peer() -> None:
    played = play(subagent("s1"), *text("m", "x", **S1), ended("s1"))
    assert "SUBAGENT_STARTED" in played.types
    assert played.messages[0]["subagentRunId"] == "s1"
