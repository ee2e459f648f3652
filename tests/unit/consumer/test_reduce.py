"""Reduce events to messages, state and outcome."""

from __future__ import annotations

from typing import Any

import pytest

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


def result(name: str, call_id: str, content: Any = "ok", **more: Any) -> Json:
    return ev("TOOL_CALL_RESULT", messageId=name, toolCallId=call_id, content=content, **more)


def snapshot(*messages: Json) -> Json:
    return ev("MESSAGES_SNAPSHOT", messages=list(messages))


def said(name: str, content: str = "x", **more: Any) -> Json:
    return {"id": name, "role": "assistant", "content": content, **more}


def mused(name: str, content: str = "x", **more: Any) -> Json:
    return {"id": name, "role": "reasoning", "content": content, **more}


def doing(name: str, content: Any = None, **more: Any) -> Json:
    return {"id": name, "role": "activity", "activityType": "t", "content": content or {}, **more}


# -- text and reasoning


@requirement("C36")
def test_text_builds_a_message_verbatim() -> None:
    deltas = ["cafe", "\u0301", "\U0001f468", "\u200d\U0001f469", " \n"]
    played = play(*text("m", *deltas, role="user", name="Ann", subagentRunId="s"), *text("n"))
    assert played.messages == [
        {"id": "m", "role": "user", "name": "Ann", "content": "".join(deltas), "subagentRunId": "s"},
        {"id": "n", "role": "assistant", "content": ""},
    ]
    assert play(*text("m", "a"), *text("m", "b")).held == [("m", "assistant", "ab")]


@requirement("C36")
def test_surrogates_of_a_pair_come_together() -> None:
    played = play(*text("m", "a\ud83d", "\ude00b"), *thought("r", "\ud83d"))
    assert [content for _, _, content in played.held] == ["a😀b", "\ufffd"]
    assert played.events[2]["delta"] == "a\ud83d"


@requirement("C36")
def test_text_for_a_message_of_parts_is_one_part_more() -> None:
    parts = [{"type": "text", "text": "a"}]
    played = play(snapshot({"id": "m", "role": "user", "content": parts}), *text("m", "b", "c", role="user"))
    assert played.messages[0]["content"] == [*parts, {"type": "text", "text": "bc"}]


@requirement("C37")
def test_reasoning_stands_where_it_started_and_stays_when_it_is_empty() -> None:
    r, m = thought("r", "a", "b", subagentRunId="s"), text("m", "x", "y")
    assert [name for name, _, _ in play(*r, *m).held] == ["r", "m"]
    assert [name for name, _, _ in play(*m, *r).held] == ["m", "r"]
    mixed = play(m[0], r[0], m[1], r[1], r[2], m[2], r[3], m[3])
    assert mixed.held == [("m", "assistant", "xy"), ("r", "reasoning", "ab")]
    assert mixed.messages[1]["subagentRunId"] == "s"
    assert play(*thought("r")).held == [("r", "reasoning", "")]


@requirement("C38")
def test_spans_build_nothing() -> None:
    span = [ev(f"REASONING_{end}", messageId="sp", metadata={"a": 1}) for end in ("START", "END")]
    played = play(span[0], *thought("r", "a"), span[1])
    assert played.messages == [{"id": "r", "role": "reasoning", "content": "a"}]


@requirement("C42")
def test_an_id_of_two_roles_is_mixed_and_told() -> None:
    played = play(*thought("x", "think"), *text("x", "text"))
    assert played.held == [("x", "reasoning", "thinktext")]
    assert played.warned("TEXT_MESSAGE_START", "'x'", "reasoning message")
    played = play(*text("x", "text"), *thought("x", "think"))
    assert (played.held, played.warned("REASONING_MESSAGE_START")) == (
        [("x", "assistant", "textthink")],
        True,
    )


@requirement("C42")
def test_an_activity_is_left_alone_by_text_and_reasoning() -> None:
    made = ev("ACTIVITY_SNAPSHOT", messageId="x", activityType="t", content={"a": 1})
    for item in (text("x", "b", metadata={"m": 1}), thought("x", "b", metadata={"m": 1})):
        played = play(made, *item)
        assert (played.code, len(played.warnings)) == (None, 3)
        assert played.messages == [doing("x", {"a": 1})]


# -- tool calls


@requirement("C39")
def test_where_the_message_of_a_call_comes_from() -> None:
    with_parent = play(*text("m", "a"), *call("c", "{", "}", parentMessageId="m"))
    function = {"name": "get", "arguments": "{}"}
    assert with_parent.messages == [
        said("m", "a", toolCalls=[{"id": "c", "type": "function", "function": function}])
    ]
    new_parent = play(*thought("r"), *call("c", parentMessageId="new", subagentRunId="s"))
    assert [(m["id"], m["role"], "content" in m) for m in new_parent.messages] == [
        *[("r", "reasoning", True), ("new", "assistant", False)]
    ]
    assert new_parent.messages[1]["subagentRunId"] == "s"
    assert [m["id"] for m in play(*call("c")).messages] == ["c"]
    assert play(*call("c1", parentMessageId="p"), *call("c2", parentMessageId="p")).warnings == []


@requirement("C39")
def test_a_parent_that_is_no_assistant_message_is_not_used() -> None:
    played = play(*thought("r", "a"), *call("c", parentMessageId="r"))
    assert [(m["id"], m["role"]) for m in played.messages] == [("r", "reasoning"), ("c", "assistant")]
    assert played.warned("TOOL_CALL_START", "'r'", "reasoning message")


@requirement("C39")
def test_text_may_follow_for_the_message_a_call_made() -> None:
    played = play(*call("c", parentMessageId="m"), *text("m", "a"))
    assert (played.messages[0]["content"], len(played.messages), played.warnings) == ("a", 1, [])


@requirement("C40")
def test_a_result_stands_behind_its_call_and_behind_other_results() -> None:
    calls = [*call("c1", parentMessageId="m"), *call("c2", parentMessageId="m")]
    played = play(*calls, *thought("r"), *text("n", "x"), result("t2", "c2"), result("t1", "c1"))
    assert [name for name, _, _ in played.held] == ["m", "t2", "t1", "r", "n"]
    assert played.messages[1] == {"id": "t2", "role": "tool", "toolCallId": "c2", "content": "ok"}
    assert [name for name, _, _ in play(*text("n"), result("t", "nobody")).held] == ["n", "t"]


@requirement("C40")
def test_a_result_that_comes_again_is_one_result() -> None:
    played = play(*call("c"), result("t", "c", "one"), result("t", "c", "two"))
    assert [(name, content) for name, _, content in played.held] == [("c", None), ("t", "two")]


def test_a_result_with_the_id_of_another_message_is_kept_and_told() -> None:
    played = play(*text("x", "a"), *call("c"), result("x", "c"))
    assert [(name, role) for name, role, _ in played.held] == [
        *[("x", "assistant"), ("c", "assistant"), ("x", "tool")]
    ]
    assert played.warned("TOOL_CALL_RESULT", "'x'")
    assert played.conversation.message("x").role == "assistant"  # type: ignore[union-attr]


@requirement("C41")
def test_a_call_that_starts_again_keeps_its_arguments() -> None:
    played = play(*call("c", '{"a"', metadata={"n": 1}), *call("c", ":1}", metadata={"n": 2}))
    [made] = played.messages[0]["toolCalls"]
    assert (made["function"]["arguments"], made["metadata"]) == ('{"a":1}', {"n": 2})
    renamed = play(*call("c"), *call("c", toolCallName="put"))
    assert renamed.messages[0]["toolCalls"][0]["function"]["name"] == "put"
    assert renamed.warned("'c'", "renamed")


# -- encrypted values


@requirement("C43")
def test_a_value_lands_on_the_message_or_the_call() -> None:
    events = [*thought("r"), *text("m"), *call("c", parentMessageId="m"), result("t", "c")]
    values = [value("r", "1"), value("m", "2"), value("t", "3"), value("c", "4", "tool-call")]
    played = play(*events, *values)
    assert {m["id"]: m["encryptedValue"] for m in played.messages} == {"r": "1", "m": "2", "t": "3"}
    assert played.messages[1]["toolCalls"][0]["encryptedValue"] == "4"
    assert played.warnings == []


@requirement("C43")
def test_the_last_value_counts_also_an_empty_one_and_in_a_later_run() -> None:
    assert play(*thought("r"), value("r"), value("r", "")).messages[0]["encryptedValue"] == ""
    later = Played(STARTED, *thought("r"), FINISHED, STARTED, value("r"), FINISHED)
    assert later.messages[0]["encryptedValue"] == "SEAL"
    start, *rest = call("c", "{}")
    early = play(start, value("c", subtype="tool-call", metadata={"a": 1}), *rest)
    assert early.messages[0]["toolCalls"][0]["encryptedValue"] == "SEAL"
    assert "metadata" not in early.messages[0]["toolCalls"][0]


@requirement("C44")
def test_the_type_is_stored_with_the_value_and_deleted_with_it() -> None:
    typed = value("r", encryptedValueType="acme.sig")
    played = play(*thought("r"), typed)
    assert played.messages[0]["encryptedValueType"] == "acme.sig"
    assert (played.events[-2]["encryptedValueType"], played.warnings) == ("acme.sig", [])
    assert "encryptedValueType" not in play(*thought("r"), typed, value("r", "B")).messages[0]
    on_call = play(*call("c"), value("c", subtype="tool-call", encryptedValueType="acme.sig"))
    assert on_call.messages[0]["toolCalls"][0]["encryptedValueType"] == "acme.sig"


@requirement("C45", "C46")
@pytest.mark.parametrize(
    "event",
    [value("nobody"), value("c"), value("sp"), value("a"), value("m", subtype="tool-call")],
    ids=["unknown", "a call", "a span", "an activity", "a message"],
)
def test_a_value_for_nothing_is_tolerated_and_told(event: Json) -> None:
    played = play(
        *text("m"),
        *call("c", parentMessageId="m"),
        ev("REASONING_START", messageId="sp"),
        ev("REASONING_END", messageId="sp"),
        ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={}),
        event,
    )
    assert (played.code, [name for name, _, _ in played.held]) == (None, ["m", "a"])
    assert "SEAL" not in str(played.messages)
    assert played.warned("REASONING_ENCRYPTED_VALUE is lost", f"{event['entityId']!r}")
    assert "REASONING_ENCRYPTED_VALUE" in played.types


# -- snapshots


@requirement("C47")
def test_a_held_message_is_replaced_in_place_and_new_ones_go_to_the_end() -> None:
    played = play(
        *text("a", "1", metadata={"x": 1}), value("a"), *text("b", "2"), *text("c", "3"),
        snapshot(said("new"), said("c", "33"), said("a", "11")),
    )  # fmt: skip
    assert played.messages == [said("a", "11"), said("c", "33"), said("new")]


@requirement("C47")
def test_reasoning_and_activities_stay_unless_the_snapshot_has_any() -> None:
    held = [
        *thought("r", "1"),
        *text("m", "2"),
        ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={}),
    ]
    without = play(*held, value("r"), snapshot(said("new")))
    assert [name for name, _, _ in without.held] == ["r", "a", "new"]
    assert without.messages[0]["encryptedValue"] == "SEAL"
    assert [name for name, _, _ in play(*held, snapshot()).held] == ["r", "a"]
    assert [name for name, _, _ in play(*held, snapshot(mused("r2"))).held] == ["a", "r2"]
    assert [name for name, _, _ in play(*held, snapshot(doing("a2"))).held] == ["r", "a2"]
    restated = play(*held, value("r"), snapshot(mused("r", "11", encryptedValue="NEW")))
    assert restated.messages[0] == mused("r", "11", encryptedValue="NEW")
    assert "encryptedValue" not in play(*held, value("r"), snapshot(mused("r"))).messages[0]


@requirement("C47")
def test_a_call_that_a_snapshot_moves_is_found_where_it_is() -> None:
    made = [{"id": "c", "type": "function", "function": {"name": "get", "arguments": ""}}]
    told = snapshot(said("z", toolCalls=made), said("m", toolCalls=[]))
    played = play(*call("c", parentMessageId="m"), told, value("c", subtype="tool-call"), result("t", "c"))
    assert [name for name, _, _ in played.held] == ["m", "z", "t"]
    assert played.messages[1]["toolCalls"][0]["encryptedValue"] == "SEAL"


@requirement("C48")
def test_content_for_what_a_snapshot_took_away_is_ignored_and_told() -> None:
    for item, told in ((text("x", "a"), snapshot()), (thought("x", "a"), snapshot(mused("other")))):
        start, content, end = item
        played = play(start, told, content, end)
        assert (played.code, played.warned(content["type"], "'x'")) == (None, True)
        assert "x" not in [name for name, _, _ in played.held]
    start, content, end = call("c", "{}")
    assert play(start, snapshot(), content, end).warned("TOOL_CALL_ARGS", "'c'")
    start, content, end = thought("r", "a")
    assert play(start, snapshot(mused("r", "1")), content, end).held == [("r", "reasoning", "1a")]


@requirement("C49")
def test_an_echo_adds_and_never_replaces() -> None:
    echo = {**STARTED, "input": {**RUN, "messages": [said("m", "other"), said("n", "new"), mused("r")]}}
    played = Played(STARTED, *text("m", "mine"), FINISHED, echo, FINISHED)
    assert [(name, content) for name, _, content in played.held] == [("m", "mine"), ("n", "new"), ("r", "x")]


# -- state


@requirement("C50")
@pytest.mark.parametrize("state", [None, 0, "", False, [], {"a": None}, [1, {"b": 2}]])
def test_a_state_is_any_value(state: Any) -> None:
    played = play(ev("STATE_SNAPSHOT", snapshot={"old": 1}), ev("STATE_SNAPSHOT", snapshot=state))
    assert played.conversation.state == state


@requirement("C50")
def test_patches_apply_whole_or_not_at_all() -> None:
    good = {"op": "add", "path": "/a", "value": 1}
    bad = {"op": "replace", "path": "/none", "value": 2}
    assert play(ev("STATE_DELTA", delta=[good])).conversation.state == {"a": 1}
    assert play(ev("STATE_DELTA", delta=[good]), state={"b": 2}).conversation.state == {"a": 1, "b": 2}
    played = play(ev("STATE_DELTA", delta=[good, bad]), ev("STATE_DELTA", delta=[good], subagentRunId="s"))
    assert (played.code, played.conversation.state) == (None, {"a": 1})
    assert played.warned("Failed to apply state patch", "operation 1", "'/none'")


def test_a_state_that_was_given_out_stays_as_it_is() -> None:
    played = Played(STARTED, ev("STATE_SNAPSHOT", snapshot={"l": []}), stop=False)
    before = played.conversation.state
    for number in (1, 2):
        played.conversation.receive(ev("STATE_DELTA", delta=[{"op": "add", "path": "/l/-", "value": number}]))
    assert (before, played.conversation.state) == ({"l": []}, {"l": [1, 2]})


# -- activities


def made(name: str = "a", content: Any = None, **more: Any) -> Json:
    return ev("ACTIVITY_SNAPSHOT", messageId=name, activityType="t", content=content or {}, **more)


def patched(name: str, *operations: Json, **more: Any) -> Json:
    return ev("ACTIVITY_DELTA", messageId=name, activityType="u", patch=list(operations), **more)


@requirement("C51")
def test_an_activity_is_created_and_replaced_in_place() -> None:
    one = made(content={"n": 1}, metadata={"a": 1, "b": 1}, subagentRunId="s")
    played = play(one, *text("m"), made(content={"n": 2}, metadata={"b": 2}))
    assert played.messages[0] == doing("a", {"n": 2}, metadata={"a": 1, "b": 2})
    assert play(made(), made(subagentRunId="s")).messages[0]["subagentRunId"] == "s"


@requirement("C51")
def test_replace_false_changes_nothing_but_metadata() -> None:
    again = {
        **made(content={"n": 2}, replace=False, metadata={"b": 2}, subagentRunId="s"),
        "activityType": "u",
    }
    assert play(made(content={"n": 1}), again).messages == [doing("a", {"n": 1}, metadata={"b": 2})]
    assert play(again).messages[0]["content"] == {"n": 2}


@requirement("C51")
def test_a_delta_patches_or_is_skipped_with_a_warning() -> None:
    good = {"op": "replace", "path": "/n", "value": 3}
    played = play(made(content={"n": 1}), patched("a", good, metadata={"m": 1}))
    assert played.messages[0] == {**doing("a", {"n": 3}, metadata={"m": 1}), "activityType": "u"}
    for event, what in ((patched("x", good), "'x'"), (patched("m", good), "assistant message")):
        skipped = play(*text("m"), event)
        assert (len(skipped.messages), skipped.warned("ACTIVITY_DELTA", what)) == (1, True)
    bad = play(made(content={"n": 1}), patched("a", good, {"op": "remove", "path": "/no"}))
    assert bad.messages[0] == doing("a", {"n": 1})
    assert bad.warned("Failed to apply activity patch")
    root = play(made(content={"n": 1}), patched("a", good, {"op": "replace", "path": "", "value": 5}))
    assert (root.messages[0]["content"], root.warned("not be an object")) == ({"n": 1}, True)


def test_an_activity_that_takes_a_messages_id_takes_its_place_and_is_told() -> None:
    played = play(*text("a", "x", metadata={"m": 1}), made(content={"n": 1}))
    assert (played.messages, played.warned("'a'")) == ([doing("a", {"n": 1})], True)
    assert play(*text("a", "x"), made(replace=False)).held == [("a", "assistant", "x")]


# -- metadata, owners, runs


@requirement("C52")
def test_metadata_merges_per_key_into_what_its_event_builds() -> None:
    one, two = {"a": 1, "b": {"x": 1}}, {"b": {"y": None}, "c": None}
    merged = {"a": 1, "b": {"y": None}, "c": None}
    for item in (text("x", "a"), thought("x", "a")):
        start, content, end = item
        played = play({**start, "metadata": one}, content, {**end, "metadata": two})
        assert played.messages[0]["metadata"] == merged
    start, content, end = call("c", "{}", parentMessageId="m")
    played = play(
        {**start, "metadata": one}, {**content, "metadata": two}, end, result("t", "c", metadata=one)
    )
    assert played.messages[0]["toolCalls"][0]["metadata"] == merged
    assert ("metadata" in played.messages[0], played.messages[1]["metadata"]) == (False, one)
    assert play({**text("m")[0], "metadata": {}}, text("m")[-1]).messages[0]["metadata"] == {}


@requirement("C52")
def test_metadata_of_all_other_events_goes_nowhere() -> None:
    extra = {"metadata": {"a": 1}}
    played = Played(
        {**STARTED, **extra},
        *thought("r"),
        value("r", **extra),
        ev("STATE_SNAPSHOT", snapshot={}, **extra),
        ev("CUSTOM", name="n", value=1, **extra),
        {**snapshot(said("m")), **extra},
        {**FINISHED, **extra},
    )
    assert not any("metadata" in message for message in played.messages)


@requirement("C53")
def test_a_message_belongs_to_whoever_created_it() -> None:
    tagged = {"subagentRunId": "s"}
    played = play(
        *text("m", **tagged), *text("m"), *call("c", **tagged), result("t", "c", **tagged), *text("n")
    )
    assert [message.get("subagentRunId") for message in played.messages] == ["s", "s", "s", None]
    assert "subagentRunId" not in played.messages[1]["toolCalls"][0]


@requirement("C54")
def test_runs_add_up() -> None:
    first = [STARTED, *text("m", "a"), ev("STATE_SNAPSHOT", snapshot={"n": 1}), FINISHED]
    patch = ev("STATE_DELTA", delta=[{"op": "replace", "path": "/n", "value": 2}])
    played = Played(*first, STARTED, *thought("m2", "b"), patch, FINISHED)
    assert [content for _, _, content in played.held] == ["a", "b"]
    assert played.conversation.state == {"n": 2}


def pending(played: Played) -> list[str]:
    return [waiting.id for waiting in played.conversation.pending_calls]


@requirement("C55")
def test_calls_that_wait_are_named_or_those_without_a_result() -> None:
    calls = [*call("c1"), *call("c2"), result("t", "c1")]
    assert pending(play(*calls)) == ["c2"]

    def ending(names: list[str]) -> Json:
        return {**FINISHED, "outcome": {"type": "success", "pendingToolCallIds": names}}

    assert pending(Played(STARTED, *calls, ending([]))) == ["c2"]
    assert pending(Played(STARTED, *calls, *call("c3"), ending(["c3", "nobody"]))) == ["c3"]
    assert pending(Played(STARTED, *calls, FAILED)) == []
    assert pending(Played(STARTED, *calls, FINISHED, STARTED, FINISHED)) == [], "they are the run's"
    assert pending(Played(STARTED, *calls, stop=False)) == ["c2"]
