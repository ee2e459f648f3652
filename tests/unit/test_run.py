"""The run frame."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Interrupt, RunAgentInput

from agui_reasoning import LocalProtocolError, RemoteProtocolError, Run
from agui_reasoning.deltas import (
    FinishDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolResultDelta,
    UsageDelta,
)
from tests.support.verifier import plain, replay

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
