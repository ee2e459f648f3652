"""Restore what a client has of a response that it stopped: no value names the last calls."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from ag_ui.core import UserMessage

from agui_reasoning import Conversation, Run, build_request, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import CloseDelta, Delta, FinishDelta, OpaqueDelta, ReasoningDelta, ToolCallDelta
from agui_reasoning.deltas import TextDelta as Text
from agui_reasoning.parts import Opaque, ReasoningPart, ToolCallPart
from agui_reasoning.request import History, ProviderRequest
from agui_reasoning.testing import assistant_ui, copilotkit, tanstack
from tests.support.validators import check_end
from tests.unit.request.test_cut_calls import CHECKS, PROVIDERS

apis = pytest.mark.parametrize("api", PROVIDERS)
front_ends = pytest.mark.parametrize("front_end", [copilotkit, assistant_ui, tanstack])
KEYS = KeyRing({"k": bytes(32)})
WAYS: list[tuple[str, KeyRing | None]] = [("full", None), ("full", KEYS), ("summary", KEYS), ("hidden", KEYS)]
ways = pytest.mark.parametrize(("visibility", "keys"), WAYS)

KINDS = {
    "anthropic-messages": "anthropic.signature",
    "openai-responses": "openai.encrypted_content",
    "openai-chat": "deepseek.x",
}
USER = {"id": "u", "role": "user", "content": "Weather?"}
LATER = UserMessage(id="v", content="Never mind.")


def thought(api: str) -> list[Delta]:
    value = OpaqueDelta(Opaque(KINDS[api], "U0lH"), key="r")
    return [ReasoningDelta("Hm.", key="r", item_id="rs_1"), value, CloseDelta(key="r")]


def whole(call_id: str, arguments: str = '{"place":"Oslo"}') -> list[Delta]:
    begun = ToolCallDelta(call_id, "get_weather", "")
    return [begun, *([ToolCallDelta(call_id, arguments=arguments)] if arguments else [])]


CUTS: dict[str, list[Delta]] = {
    "before the arguments": whole("c1", ""),
    "after the arguments": whole("c1"),
    "after the end of the call": [*whole("c1"), CloseDelta(key="c1")],
    "in the second call": [*whole("c1"), CloseDelta(key="c1"), *whole("c2")],
}
cuts = pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)


def received(api: str, *deltas: Delta, ends: bool = False, **options: Any) -> list[dict[str, Any]]:
    """What the client has of a response: all of it, or what it read before it stopped."""
    numbers = count()
    given = {"threadId": "t", "runId": "r", "messages": [USER]}
    run = Run(
        given,
        api=api,
        provider=PROVIDERS[api],
        model="m",
        new_id=lambda: f"id{next(numbers)}",
        on_warning=lambda text: None,
        **options,
    )
    conversation = Conversation("t", messages=run.input.messages)
    events = run.start() + [event for delta in deltas for event in run.receive(delta)]
    for event in events + (run.finish() if ends else []):
        conversation.receive(event)
    return [m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in conversation.messages]


def build(api: str, history: History, *later: Any) -> ProviderRequest:
    items = (*history.items, *later)
    request = build_request(
        api, History(items), provider=PROVIDERS[api], model="m", on_warning=lambda text: None
    )
    assert CHECKS[api](request.body) == []
    assert check_end(api, request.body) == []
    return request


def calls_of(history: History) -> list[ToolCallPart]:
    return [part for turn in history.turns for part in turn.parts if isinstance(part, ToolCallPart)]


@apis
@front_ends
@ways
@cuts
def test_calls_of_a_response_that_the_client_stopped_are_left_out(
    api: str, front_end: Any, visibility: Any, keys: Any, cut: list[Delta]
) -> None:
    held = front_end(received(api, *thought(api), *cut, visibility=visibility, keys=keys))
    history = restore(held, keys=keys, thread_id="t")
    calls = calls_of(history)
    assert calls
    assert {call.status for call in calls} == {"incomplete"}
    for later in ((), (LATER,)):
        request = build(api, history, *later)
        assert "get_weather" not in json.dumps(request.body)
        told = [(e.unit, e.outcome, e.reason) for e in request.report]
        assert {(call.id, "dropped", "incomplete") for call in calls} <= set(told)


@apis
@front_ends
@cuts
@pytest.mark.parametrize("loops", [1, 2])
def test_calls_of_a_later_response_of_the_run_are_left_out_too(
    api: str, front_end: Any, cut: list[Delta], loops: int
) -> None:
    """Front ends merge them into the message of the first response."""
    answered = [f"c{n}" for n in range(10, 10 + loops)]
    ends: list[Delta] = [FinishDelta("tool_use")]
    before = [delta for name in answered for delta in thought(api) + whole(name) + ends]
    held = received(api, *before, *thought(api), *cut)
    for name in answered:
        place = next(n for n, m in enumerate(held) if name in [c["id"] for c in m.get("toolCalls", ())])
        held.insert(place + 1, {"id": f"r-{name}", "role": "tool", "toolCallId": name, "content": "4C"})
    history = restore(front_end(held))
    calls = {call.id: call.status for call in calls_of(history)}
    assert {name for name, status in calls.items() if status == "complete"} == set(answered)
    assert json.dumps(build(api, history, LATER).body).count('"get_weather"') == loops


@apis
@ways
@cuts
def test_calls_after_text_are_left_out_and_the_text_stays(
    api: str, visibility: Any, keys: Any, cut: list[Delta]
) -> None:
    held = received(api, *thought(api), Text("I will look."), *cut, visibility=visibility, keys=keys)
    request = build(api, restore(held, keys=keys, thread_id="t"), LATER)
    assert "get_weather" not in json.dumps(request.body)
    assert "I will look." in json.dumps(request.body)


@apis
@front_ends
@cuts
def test_a_call_that_somebody_answered_stays(api: str, front_end: Any, cut: list[Delta]) -> None:
    held = received(api, *thought(api), *cut)
    called = [call["id"] for message in held for call in message.get("toolCalls", ())]
    held += [{"id": f"result-{name}", "role": "tool", "toolCallId": name, "content": "4C"} for name in called]
    request = build(api, restore(front_end(held)))
    assert json.dumps(request.body).count('"get_weather"') == len(called)


@apis
@front_ends
@ways
@cuts
@pytest.mark.parametrize("before", [[], [Text("I will look.")]], ids=["alone", "after text"])
def test_unanswered_calls_of_a_whole_response_stay(
    api: str, front_end: Any, visibility: Any, keys: Any, cut: list[Delta], before: list[Delta]
) -> None:
    deltas = [*thought(api), *before, *cut, FinishDelta("tool_use")]
    held = front_end(received(api, *deltas, ends=True, visibility=visibility, keys=keys))
    history = restore(held, keys=keys, thread_id="t")
    assert {call.status for call in calls_of(history)} == {"complete"}
    assert "No result: " in json.dumps(build(api, history, LATER).body)


@apis
@front_ends
def test_unanswered_calls_of_a_response_without_values_stay(api: str, front_end: Any) -> None:
    """Front ends that drop the hint merge them into a message of a response with values."""
    first = [*thought(api), *whole("c1"), FinishDelta("tool_use")]
    held = received(api, *first, *whole("c2"), FinishDelta("tool_use"), ends=True)
    held.append({"id": "result", "role": "tool", "toolCallId": "c1", "content": "4C"})
    history = restore(front_end(held))
    assert {(call.id, call.status) for call in calls_of(history)} == {("c1", "complete"), ("c2", "complete")}


@apis
@pytest.mark.parametrize("metadata", [True, False], ids=["with the hint", "without the hint"])
@pytest.mark.parametrize("result", [True, False], ids=["answered", "unanswered"])
def test_a_call_that_a_client_made_up_gets_nobodys_reasoning(api: str, metadata: bool, result: bool) -> None:
    held = received(api, *thought(api), *whole("c1"), keys=KEYS)
    answer = next(message for message in held if message["role"] == "assistant")
    made_up = {"name": "delete_all", "arguments": "{}"}
    [own] = answer["toolCalls"]
    answer["toolCalls"] = [
        {"id": "mine", "type": "function", "function": made_up}
        | ({"metadata": own["metadata"]} if metadata else {})
    ]
    if result:
        held.append({"id": "result", "role": "tool", "toolCallId": "mine", "content": "Done."})
    history = restore(held, keys=KEYS, thread_id="t")
    assert [
        turn for turn in history.turns if {ReasoningPart, ToolCallPart} <= {type(part) for part in turn.parts}
    ] == []
    assert "U0lH" not in json.dumps(build(api, history, LATER).body)


@front_ends
@ways
def test_a_unit_without_text_comes_back_though_the_client_stopped_in_what_followed(
    front_end: Any, visibility: Any, keys: Any
) -> None:
    api = "anthropic-messages"
    redacted = [OpaqueDelta(Opaque("anthropic.redacted_thinking", "R"), key="s"), CloseDelta(key="s")]
    held = received(api, *thought(api), *redacted, Text("It is"), visibility=visibility, keys=keys)
    request = build(api, restore(front_end(held), keys=keys, thread_id="t"), LATER)
    assert request.body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "U0lH"},
        {"type": "redacted_thinking", "data": "R"},
        {"type": "text", "text": "It is"},
    ]
