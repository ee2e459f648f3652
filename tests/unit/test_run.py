"""Test the frame of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import CustomEvent, Interrupt, RunAgentInput, RunErrorEvent, UserMessage

from agui_reasoning import LocalProtocolError, RemoteProtocolError, Run, aio, check_events, run_agent
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
from agui_reasoning.emitter.stages import Coalesce
from agui_reasoning.parts import Opaque, TextPart, ToolCallPart, Turn
from agui_reasoning.providers import decode_response
from tests.support.verifier import Client, plain, replay

INPUT: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
MODERN = INPUT | {"protocolVersion": "1.0"}


def last(events: list[Any]) -> dict[str, Any]:
    return plain(events)[-1]


def started(run_input: Any = INPUT, **options: Any) -> tuple[Run, list[Any]]:
    run = Run(run_input, **options)
    return run, run.start()


def test_a_run_opens_with_its_ids_and_our_version() -> None:
    _, events = started(RunAgentInput.model_validate(INPUT))
    assert plain(events) == [{"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}]


def test_success_needs_no_outcome() -> None:
    run, events = started()
    events += run.receive(TextDelta("Hi.")) + run.finish(result={"n": 1})
    replay(events, framed=True)
    assert last(events) == {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"n": 1}}


@pytest.mark.parametrize(
    ("run_input", "outcome"),
    [(INPUT, None), (MODERN, {"type": "success", "pendingToolCallIds": ["a", "b"]})],
    ids=["undeclared", "declared"],
)
def test_unanswered_calls_are_named_to_clients_that_declare_a_version(run_input: Any, outcome: Any) -> None:
    run, events = started(run_input)
    for item in (
        ToolCallDelta("a", "f", "{}"),
        ToolCallDelta("b", "f"),
        ToolCallDelta("s", "web", server=True),
    ):
        events += run.receive(item)
    assert [(call.id, call.args) for call in run.pending_calls] == [("a", {}), ("b", {})]
    assert last(run.finish()).get("outcome") == outcome


def test_answered_calls_are_not_pending() -> None:
    run, _ = started(MODERN)
    run.receive(ToolCallDelta("a", "f"))
    run.receive(ToolResultDelta("a", "ok"))
    assert run.pending_calls == []
    assert "outcome" not in last(run.finish())


def test_a_call_whose_id_is_in_the_history_gets_another() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    run, _ = started(INPUT | {"messages": [{"id": "m", "role": "assistant", "toolCalls": [call]}]})
    run.receive(ToolCallDelta("a", "f"))
    [pending] = run.pending_calls
    assert pending.id != "a"


def test_interrupts_are_the_outcome() -> None:
    run, _ = started(MODERN)
    outcome = last(run.finish(interrupts=[Interrupt(id="i", reason="confirm")]))["outcome"]
    assert (outcome["type"], outcome["interrupts"][0]["id"]) == ("interrupt", "i")


@pytest.mark.parametrize(
    ("run_input", "terminal"),
    [
        (MODERN, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}}),
        (INPUT, {"type": "RUN_ERROR", "message": "The run was cancelled.", "code": "cancelled"}),
    ],
    ids=["declared", "undeclared"],
)
def test_a_cancelled_run_says_so_in_the_clients_terms(run_input: Any, terminal: Any) -> None:
    run, events = started(run_input)
    events += run.receive(ReasoningDelta("r")) + run.cancel()
    replay(events, framed=True)
    assert last(events) == terminal


def test_a_failure_closes_what_is_open_first() -> None:
    run, events = started()
    events += run.receive(ReasoningDelta("r")) + run.fail("It failed.", code="oops")
    replay(events, framed=True)
    assert last(events) == {"type": "RUN_ERROR", "message": "It failed.", "code": "oops"}


@pytest.mark.parametrize("ending", ["fail", "cancel"])
def test_a_run_may_end_in_an_error_before_it_began(ending: str) -> None:
    run = Run(MODERN)
    events = run.fail("No.") if ending == "fail" else run.cancel()
    assert [event["type"] for event in plain(events)] == ["RUN_ERROR"]


def test_counts_are_summed_per_provider_and_model_and_unknown_ones_are_absent() -> None:
    run, _ = started()
    for model, tokens in (("m", 3), ("m", 4), ("n", 5)):
        run.receive(UsageDelta(provider="p", model=model, output_tokens=tokens))
        run.receive(FinishDelta("stop"))
        run.receive(TextDelta("."))
    assert last(run.finish())["usage"] == [
        {"provider": "p", "model": "m", "outputTokens": 7},
        {"provider": "p", "model": "n", "outputTokens": 5},
    ]


def test_nothing_that_was_not_reported_is_written() -> None:
    run, _ = started()
    run.receive(UsageDelta(provider="p"))
    assert "usage" not in last(run.finish())


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        (["receive"], "not_running"),
        (["finish"], "not_running"),
        (["start", "start"], "not_new"),
        (["start", "finish", "receive"], "not_running"),
        (["start", "finish", "finish"], "not_running"),
        (["start", "fail", "start"], "not_new"),
    ],
    ids=" ".join,
)
def test_an_illegal_step_is_refused(steps: list[str], code: str) -> None:
    run = Run(INPUT)
    calls = {"receive": lambda: run.receive(TextDelta("x")), "fail": lambda: run.fail("No.")}
    *before, illegal = [calls.get(step, getattr(run, step)) for step in steps]
    for step in before:
        step()
    with pytest.raises(LocalProtocolError) as caught:
        illegal()
    assert caught.value.code == code


@pytest.mark.parametrize("ending", ["finish", "cancel", "fail"])
def test_a_second_ending_by_cancel_or_fail_gives_nothing(ending: str) -> None:
    run, _ = started()
    _ = run.fail("No.") if ending == "fail" else getattr(run, ending)()
    assert run.cancel() == run.fail("Again.") == []


def test_malformed_input_is_named_by_place_and_never_quoted() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        Run(
            {
                "threadId": 7,
                "runId": "r",
                "messages": [{"id": "m", "role": "user", "content": {"top": "secret"}}],
            }
        )
    assert caught.value.code == "bad_input"
    assert "secret" not in str(caught.value)
    assert "threadId" in str(caught.value)
    assert caught.value.__context__ is None


def test_the_applications_own_events_pass_in_order() -> None:
    run, events = started(stages=[Coalesce(100)])
    for item in (
        TextDelta("a"),
        {"type": "STATE_SNAPSHOT", "snapshot": None},
        TextDelta("b"),
        CustomEvent(name="x", value=1),
    ):
        events += run.receive(item)
    events += run.finish()
    assert [(event["type"], event.get("delta")) for event in plain(events)][1:-1] == [
        ("TEXT_MESSAGE_START", None),
        ("TEXT_MESSAGE_CONTENT", "a"),
        ("STATE_SNAPSHOT", None),
        ("TEXT_MESSAGE_CONTENT", "b"),
        ("CUSTOM", None),
        ("TEXT_MESSAGE_END", None),
    ]


OPENERS: list[dict[str, Any]] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m2"},
    {"type": "REASONING_START", "messageId": "s"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"},
    {"type": "STEP_STARTED", "stepName": "step"},
]


@pytest.mark.parametrize("ending", ["finish", "cancel", "fail"])
def test_what_the_application_left_open_is_closed_when_the_run_ends(ending: str) -> None:
    run, events = started(MODERN)
    for opener in OPENERS:
        events += run.receive(opener)
    events += run.fail("No.") if ending == "fail" else getattr(run, ending)()
    replay(events, framed=True)


def test_what_the_application_closed_itself_is_not_closed_again() -> None:
    run, events = started()
    events += run.receive({"type": "STEP_STARTED", "stepName": "s"})
    events += run.receive({"type": "STEP_FINISHED", "stepName": "s"})
    events += run.finish()
    replay(events, framed=True)


def test_the_applications_own_result_answers_a_call_and_ends_the_response() -> None:
    run, events = started(MODERN)
    events += run.receive(ReasoningDelta("r"))
    events += run.receive(ToolCallDelta("a", "f", "{}"))
    result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "a", "content": "ok"}
    events += run.receive(result)
    assert run.pending_calls == []
    assert [event["type"] for event in plain(events)][-3:] == [
        "TOOL_CALL_END",
        "REASONING_ENCRYPTED_VALUE",
        "TOOL_CALL_RESULT",
    ]
    replay(events + run.finish(), framed=True)


def test_a_snapshot_after_streamed_reasoning_is_passed_on_with_a_warning() -> None:
    heard: list[str] = []
    run, _ = started(on_warning=heard.append)
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": []}
    assert len(run.receive(snapshot)) == 1
    assert heard == []
    run.receive(ReasoningDelta("r"))
    assert plain(run.receive(snapshot))[0]["type"] == "MESSAGES_SNAPSHOT"
    assert len(heard) == 1


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}, "frame_event"),
        (RunErrorEvent(message="x"), "frame_event"),
        ({"type": "NO_SUCH_EVENT"}, "unknown_event"),
        ({"type": "TEXT_MESSAGE_START"}, "malformed_event"),
        ({"messageId": "m"}, "not_an_item"),
        ("text", "not_an_item"),
    ],
)
def test_what_a_run_cannot_take_is_refused_and_changes_nothing(item: Any, code: str) -> None:
    run, events = started()
    with pytest.raises(LocalProtocolError) as caught:
        run.receive(item)
    assert caught.value.code == code
    replay(events + run.receive(TextDelta("still here")) + run.finish(), framed=True)


def test_the_history_is_the_input_and_what_the_run_produced_since() -> None:
    first, _ = started(
        INPUT | {"messages": [{"id": "u", "role": "user", "content": "Hi."}]}, api="anthropic-messages"
    )
    events = first.receive(ReasoningDelta("r"))
    events += first.receive(ToolCallDelta("c", "f", "{}"))
    events += first.receive(ToolResultDelta("c", "ok"))
    events += first.receive(TextDelta("t"))
    assert [type(item).__name__ for item in first.history.items] == ["UserMessage", "Turn", "ToolMessage"]
    events += first.finish()
    assert [type(item).__name__ for item in first.history.items] == [
        "UserMessage",
        "Turn",
        "ToolMessage",
        "Turn",
    ]

    client = Client(framed=False).feed(plain(events[:-1])).done()
    second, _ = started(
        INPUT | {"messages": [{"id": "u", "role": "user", "content": "Hi."}, *client.messages]}
    )
    told = [(turn.parts, turn.origin) for turn in first.history.turns]
    again = [(turn.parts, turn.origin) for turn in second.history.turns]
    assert again[0] == told[0]
    assert [part.text for part in again[1][0]] == ["t"]  # type: ignore[union-attr]


def test_a_minted_call_id_is_the_one_in_the_history() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    run, _ = started(INPUT | {"messages": [{"id": "m", "role": "assistant", "toolCalls": [call]}]})
    run.receive(ToolCallDelta("a", "f"))
    [pending] = run.pending_calls
    run.receive(ToolResultDelta(pending.id, "ok"))
    turn, result = run.history.items[-2:]
    assert isinstance(turn, Turn)
    [part] = turn.parts
    assert isinstance(part, ToolCallPart)
    assert (part.id, part.ext) == (pending.id, {"native_id": "a"})
    assert result.tool_call_id == pending.id  # type: ignore[union-attr]


def test_answers_to_interrupts_are_found_by_id() -> None:
    run = Run(INPUT | {"resume": [{"interruptId": "i", "status": "resolved", "payload": {"ok": True}}]})
    assert run.resume["i"].payload == {"ok": True}
    assert dict(Run(INPUT).resume) == {}


def test_parallel_subagents_have_lanes_of_their_own() -> None:
    run, events = started(MODERN, new_id=iter(f"id{n}" for n in range(99)).__next__)
    left, right = run.subagent("left", id="L"), run.subagent("right", id="R")
    steps = [
        *left.start(),
        *right.start(),
        *left.receive(ReasoningDelta("l")),
        *right.receive(ReasoningDelta("r")),
        *left.receive(TextDelta("L.")),
        *right.receive(UsageDelta(model="m", output_tokens=3)),
        *right.fail("It failed."),
        *left.finish(),
    ]
    for event in steps:
        events += run.receive(event)
    events += run.receive(TextDelta("Both are back.")) + run.finish()
    wire = plain(events)
    assert {event.get("subagentRunId") for event in wire} == {None, "L", "R"}
    assert [event["type"] for event in wire[1:-4] if "subagentRunId" not in event] == []
    assert [event["type"] for event in wire if event["type"].startswith("SUBAGENT")] == [
        "SUBAGENT_STARTED",
        "SUBAGENT_STARTED",
        "SUBAGENT_ERROR",
        "SUBAGENT_FINISHED",
    ]
    assert wire[-1]["usage"] == [{"model": "m", "outputTokens": 3}]
    assert [turn.parts[-1].text for turn in left.history.turns] == ["L."]  # type: ignore[union-attr]
    assert len(run.history.turns) == 1


def test_calls_of_subagents_have_ids_of_their_own() -> None:
    """Models number their calls, or a replay repeats them."""
    run, events = started(MODERN, new_id=iter(f"id{n}" for n in range(99)).__next__)
    events += run.receive(ToolCallDelta("call_0", "ask", "{}"))
    child = run.subagent("child", id="C")
    steps = [
        *child.start(),
        *child.receive(ToolCallDelta("call_0", "look", "{}")),
        *child.receive(ToolResultDelta("call_0", "nothing")),
        *child.finish(),
    ]
    for event in steps:
        events += run.receive(event)
    events += run.receive(ToolResultDelta("call_0", "nothing either")) + run.finish()
    results = [event for event in plain(events) if event["type"] == "TOOL_CALL_RESULT"]
    inner, outer = [event["toolCallId"] for event in results]
    assert (inner == "call_0", outer) == (False, "call_0")
    assert check_events(events) == []


def test_a_subagent_that_never_ended_is_ended_with_the_run() -> None:
    run, events = started(MODERN)
    child = run.subagent("child", id="C")
    for event in (*child.start(), *child.receive(ReasoningDelta("r"))):
        events += run.receive(event)
    kinds = [event["type"] for event in plain(run.finish())]
    assert kinds == ["REASONING_MESSAGE_END", "REASONING_END", "SUBAGENT_FINISHED", "RUN_FINISHED"]


def test_the_messages_of_subagents_are_restored_only_when_asked() -> None:
    messages = [
        {"id": "m", "role": "assistant", "content": "mine"},
        {"id": "s", "role": "assistant", "content": "theirs", "subagentRunId": "S"},
    ]
    run = Run(INPUT | {"messages": messages})
    assert [turn.parts[0].text for turn in run.history.turns] == ["mine"]  # type: ignore[union-attr]
    assert [t.parts[0].text for t in run.subagent("s", id="S").history.turns] == ["theirs"]  # type: ignore[union-attr]


def test_the_result_of_a_subagents_tool_is_no_result_of_its_parents() -> None:
    parent = Run({"threadId": "t", "runId": "r", "messages": []})
    child = parent.subagent("helper")
    events = parent.start() + parent.receive(TextDelta("I "))
    events += parent.receive(child.start()[0])
    for item in (ToolCallDelta("c", "f", "{}"), ToolResultDelta("c", "4")):
        events += [event for told in child.receive(item) for event in parent.receive(told)]
    events += [event for told in child.finish() for event in parent.receive(told)]
    events += parent.receive(TextDelta("know.")) + parent.finish()
    assert [
        getattr(event, "delta", None) for event in events if event.type.value == "TEXT_MESSAGE_CONTENT"
    ] == [
        "I ",
        "know.",
    ]
    assert [event.type.value for event in events].count("TEXT_MESSAGE_START") == 1
    assert parent.history.messages == []
    assert [message.role for message in child.history.messages] == ["tool"]


# -- why the last response ended


@pytest.mark.parametrize("visibility", ["full", "summary"])
def test_the_word_for_why_the_model_stopped_reaches_the_user(visibility: Any) -> None:
    run, _ = started(visibility=visibility)
    assert run.finish_reason is None
    run.receive(TextDelta("It is"))
    run.receive(FinishDelta("max_tokens"))
    assert run.finish_reason == "max_tokens"
    assert last(run.finish())["metadata"] == {"agui-reasoning": {"finishReason": "max_tokens"}}


def test_where_reasoning_is_hidden_only_the_agent_is_told() -> None:
    run, _ = started(visibility="hidden")
    run.receive(FinishDelta("max_tokens"))
    assert run.finish_reason == "max_tokens"
    assert "metadata" not in last(run.finish())


def test_the_word_is_that_of_the_last_response() -> None:
    run, _ = started(MODERN)
    for item in (ToolCallDelta("c", "f"), FinishDelta("tool_use"), ToolResultDelta("c", "ok")):
        run.receive(item)
    assert run.finish_reason == "tool_use"
    run.receive(TextDelta("Cold"))
    assert run.finish_reason is None
    run.receive(UsageDelta(output_tokens=1))
    assert "metadata" not in last(run.finish())


def test_an_interrupted_run_says_the_word_too() -> None:
    run, _ = started(MODERN)
    run.receive(FinishDelta("tool_use"))
    end = last(run.finish(interrupts=[Interrupt(id="i", reason="confirm")]))
    assert end["metadata"] == {"agui-reasoning": {"finishReason": "tool_use"}}


PAUSED: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "stop_reason": "pause_turn",
    "content": [
        {"type": "thinking", "thinking": "Search.", "signature": "EqRk"},
        {"type": "text", "text": "I search."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rain"}},
    ],
}


def asked(**options: Any) -> Run:
    question = {"id": "u", "role": "user", "content": "Rain?"}
    run, _ = started(
        {**INPUT, "messages": [question]}, api="anthropic-messages", provider="anthropic", **options
    )
    return run


def test_the_complete_parts_of_a_response_that_is_still_open_are_in_the_next_request() -> None:
    run = asked(model="claude-sonnet-5")
    for part in decode_response("anthropic-messages", PAUSED):
        run.receive(part)
    sent = run.request().body["messages"][-1]
    assert sent == {"role": "assistant", "content": PAUSED["content"]}
    run.receive(FinishDelta("pause_turn"))
    assert run.request().body["messages"][-1] == sent


def test_a_part_that_has_not_ended_is_left_out_of_a_request_with_a_warning() -> None:
    warnings: list[str] = []
    run = asked(on_warning=warnings.append)
    for item in (TextPart("So."), TextDelta("Hal", key="2")):
        run.receive(item)
    for _ in range(2):
        assert run.request().body["messages"][-1]["content"] == [{"type": "text", "text": "So."}]
    [warning] = warnings
    assert "has not ended" in warning
    run.receive(TextDelta("f.", key="2"))
    run.receive(FinishDelta("end_turn"))
    assert [part.text for turn in run.history.turns for part in turn.parts if isinstance(part, TextPart)] == [
        "So.",
        "Half.",
    ]


SIGNATURE = OpaqueDelta(Opaque("anthropic.signature", "U0lHTkVE"))


@pytest.mark.parametrize(
    ("visibility", "deltas", "warnings"),
    [
        ("full", [SIGNATURE, TextDelta("Hi."), FinishDelta("end_turn")] * 2, 1),
        ("full", [SIGNATURE, CloseDelta(), ReasoningDelta("Hm."), SIGNATURE, TextDelta("Hi.")], 0),
        ("full", [OpaqueDelta(Opaque("anthropic.redacted_thinking", "x")), TextDelta("Hi.")], 0),
        ("full", [TextDelta("Hi.")], 0),
        ("summary", [SIGNATURE, TextDelta("Hi.")], 0),
        ("hidden", [SIGNATURE, TextDelta("Hi.")], 0),
    ],
)
def test_signed_reasoning_without_text_is_warned_of_once(
    visibility: Any, deltas: list[Any], warnings: int
) -> None:
    """Newer Claude models omit the text unless they are asked for it."""
    heard: list[str] = []
    keys = None if visibility == "full" else KeyRing({"k": bytes(32)})
    run, events = started(MODERN, visibility=visibility, keys=keys, on_warning=heard.append)
    events += [event for delta in deltas for event in run.receive(delta)]
    events += run.finish()
    assert ["summarized" in text for text in heard] == [True] * warnings
    found = [finding.code for finding in check_events(events)]
    assert found == ["reasoning_without_text"] * warnings


def test_a_run_and_its_streams_show_who_they_are_and_no_content() -> None:
    spoken = INPUT | {"messages": [{"id": "u", "role": "user", "content": "SECRET"}]}
    run = Run(spoken, api="openai-chat", provider="deepseek")
    shown = "Run(thread_id='t', run_id='r', api='openai-chat', provider='deepseek', state='new')"
    assert repr(run) == shown
    events = run_agent(run, lambda run: iter([]))
    assert repr(events) == f"SyncEventStream({shown})"
    assert repr(aio.run_agent(run, silent)) == f"EventStream({shown})"


async def silent(run: Run) -> AsyncIterator[Any]:
    for item in ():
        yield item


def test_an_application_event_that_contains_itself_cannot_be_written() -> None:
    endless: dict[str, Any] = {}
    endless["value"] = [endless]
    event = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": endless}
    run, _ = started()
    with pytest.raises(LocalProtocolError) as caught:
        run.frames(event)
    assert caught.value.code == "not_json"
    assert [end.type for end in run.finish()] == ["RUN_FINISHED"]


def test_a_message_of_the_user_is_shown_with_its_text() -> None:
    run, _ = started()
    events = plain(run.receive(UserMessage(id="u2", content="And tomorrow?")))
    assert events == [
        {"type": "TEXT_MESSAGE_START", "messageId": "u2", "role": "user"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "u2", "delta": "And tomorrow?"},
        {"type": "TEXT_MESSAGE_END", "messageId": "u2"},
    ]
    assert plain(run.receive(UserMessage(id="u3", content=""))) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "u3", "role": "user"},
        {"type": "TEXT_MESSAGE_END", "messageId": "u3"},
    ]
