"""Test that the front ends change a history as they were seen to."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ag_ui.core import ReasoningMessage, UserMessage

from agui_reasoning.testing import FRONT_ENDS, AssistantUI, TanStack, assistant_ui, copilotkit, tanstack
from agui_reasoning.testing._front_ends import events_of

Json = dict[str, Any]


def reasoning(name: str, content: str = "", value: str | None = None, **more: Any) -> Json:
    sealed = {} if value is None else {"encryptedValue": value}
    return {"id": name, "role": "reasoning", "content": content, **sealed, **more}


def calls(name: str, *ids: str, **more: Any) -> Json:
    made = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}, **more} for i in ids]
    return {"id": name, "role": "assistant", "toolCalls": made}


def said(name: str, content: str, **more: Any) -> Json:
    return {"id": name, "role": "assistant", "content": content, **more}


def result(call: str) -> Json:
    return {"id": f"tr-{call}", "role": "tool", "toolCallId": call, "content": "ok"}


USER = {"id": "u", "role": "user", "content": "Hi."}

# Two responses with a call each, and the answer: the script of the observation.
LOOP = [
    USER,
    reasoning("r1", "One.", "v1", metadata={"k": 1}),
    calls("a1", "tc1", encryptedValue="c1", metadata={"k": 2}),
    result("tc1"),
    reasoning("r2", "Two.", "v2"),
    calls("a2", "tc2"),
    result("tc2"),
    reasoning("r3", "Three.", "v3"),
    said("m3", "Done.", encryptedValue="t3", metadata={"k": 3}),
]


def ids(messages: list[Json]) -> list[str]:
    return [message["id"] for message in messages]


def test_copilotkit_returns_it_as_it_was() -> None:
    assert copilotkit(LOOP) == LOOP


def test_copilotkit_puts_a_late_result_behind_its_call() -> None:
    late = [calls("a", "tc1", "tc2"), said("m", "Hm."), result("tc2"), result("tc1"), result("gone")]
    assert ids(copilotkit(late)) == ["a", "tr-tc2", "tr-tc1", "m", "tr-gone"]


def test_assistant_ui_hoists_reasoning_folds_calls_and_drops_what_is_on_them() -> None:
    returned = assistant_ui(LOOP)
    assert ids(returned) == ["u", "r1", "r2", "r3", "a1", "tr-tc1", "tr-tc2", "m3"]
    assert [call["id"] for call in returned[4]["toolCalls"]] == ["tc1", "tc2"]
    assert [sorted(call) for call in returned[4]["toolCalls"]] == [["function", "id", "type"]] * 2
    assert returned[1] == reasoning("r1", "One.", "v1")
    assert returned[-1] == said("m3", "Done.")


def test_assistant_ui_puts_empty_reasoning_first_and_loses_it_without_a_value() -> None:
    history = [
        reasoning("r1", "One.", "v1"),
        reasoning("r2", "", "v2"),
        reasoning("r3"),
        reasoning("r4", " "),
        said("m", "Hi."),
    ]
    assert ids(assistant_ui(history)) == ["r2", "r1", "m"]


def test_assistant_ui_sends_nothing_back_of_what_a_subagent_thought() -> None:
    history = [
        reasoning("r1", "One.", "v1", subagentRunId="S"),
        reasoning("r2", "Two.", "v2"),
        said("m", "Hi."),
    ]
    assert ids(assistant_ui(history)) == ["r2", "m"]


def test_assistant_ui_folds_calls_into_nothing_but_an_answer() -> None:
    history = [{"id": "s", "role": "system", "content": "Be brief."}, calls("a", "tc1")]
    assert assistant_ui(history) == [history[0], {**history[1], "content": ""}]


def test_assistant_ui_opens_a_bubble_at_each_text_after_the_first_text_or_call() -> None:
    history = [
        USER,
        reasoning("r1", "One.", "v1"),
        said("m1", "Well."),
        reasoning("r2", "Two.", "v2"),
        said("m2", "Done."),
        calls("a3", "tc1"),
        reasoning("r3", "Three.", "v3"),
    ]
    assert ids(assistant_ui(history)) == ["u", "r1", "r2", "m1", "r3", "m2"]


def test_assistant_ui_puts_empty_reasoning_that_nothing_follows_last() -> None:
    history = [USER, calls("a1", "tc1"), result("tc1"), reasoning("r2", "", "v2"), said("m2", "Done.")]
    assert ids(assistant_ui(history)) == ["u", "a1", "tr-tc1", "r2", "m2"]


def test_assistant_ui_names_the_message_of_a_result_without_a_call() -> None:
    message, kept = assistant_ui([USER, result("tc1")])[1:]
    assert (message["role"], bool(message["id"]), ids(message["toolCalls"])) == ("assistant", True, ["tc1"])
    assert kept == result("tc1")


def test_assistant_ui_ignores_a_value_of_a_bubble_before() -> None:
    front_end = AssistantUI()
    named = {"subtype": "message", "entityId": "r1"}
    late = {"type": "REASONING_ENCRYPTED_VALUE", **named, "encryptedValue": "late"}
    messages = [calls("a1", "tc1"), reasoning("r1", "One.", "v1"), said("m2", "Done.")]
    events = [event for message in messages for event in events_of(message)]
    for event in [*events, late]:
        front_end.receive(event)
    assert front_end.messages()[0] == reasoning("r1", "One.", "v1")
    for event in [{"type": "REASONING_START", "messageId": "r1"}, late]:
        front_end.receive(event)
    assert ids(front_end.messages()) == ["r1", "a1", "m2", "r1"]
    assert front_end.messages()[-1] == reasoning("r1", "", "late")


def test_tanstack_merges_reasoning_and_keeps_the_last_value() -> None:
    returned = tanstack(LOOP)
    assert ids(returned) == ["u", "m3-reasoning-0", "m3", "tool-tc1", "tool-tc2"]
    assert returned[1] == reasoning("m3-reasoning-0", "One.Two.Three.", "v3")


def test_tanstack_keeps_the_value_of_an_answer_as_reasoning_without_text() -> None:
    returned = tanstack([USER, said("m1", "Hi.", encryptedValue="t1")])
    assert returned == [USER, reasoning("m1-reasoning-0", "", "t1"), said("m1", "Hi.")]


def test_tanstack_attaches_the_value_of_an_answer_to_the_reasoning_before_it() -> None:
    front_end = TanStack()
    for message in [reasoning("r1", "One.", "v1"), said("m1", "Hi.", encryptedValue="t1")]:
        for event in events_of(message):
            front_end.receive(event)
    assert front_end.messages() == [reasoning("m1-reasoning-0", "One.", "t1"), said("m1", "Hi.")]


def test_tanstack_keeps_calls_alone_with_the_next_answer_and_moves_what_they_say() -> None:
    asked = calls("a1", "tc1", encryptedValue="c1", metadata={"k": 2})
    kept = calls("m3", "tc1", encryptedValue="c1")
    moved = {"tanstack": {"toolCallMetadata": {"tc1": {"k": 2, "thoughtSignature": "c1"}}}}
    answered = tanstack([USER, asked, result("tc1"), said("m3", "Hi.")])
    assert answered[1] == {**said("m3", "Hi."), **kept, "metadata": moved}
    assert tanstack([USER, asked])[1] == {**kept, "id": "a1", "metadata": moved}


def test_tanstack_adds_calls_alone_to_the_answer_before_them() -> None:
    answered = tanstack([USER, said("m1", "Well."), calls("a2", "tc1"), result("tc1"), said("m3", "Hi.")])
    assert ids(answered) == ["u", "m1", "tool-tc1", "m3"]
    assert [call["id"] for call in answered[1]["toolCalls"]] == ["tc1"]


def test_tanstack_renames_the_message_of_calls_after_reasoning() -> None:
    answered = tanstack([USER, reasoning("r1", "One."), calls("a1", "tc1")])
    assert ids(answered) == ["u", "msg-1-reasoning-0", "msg-1"]


def test_tanstack_gives_each_message_a_name_of_its_own() -> None:
    asked = [USER, reasoning("r1", "One."), calls("a1", "tc1")]
    again = [{**USER, "id": "msg-2"}, reasoning("r2", "Two."), calls("a2", "tc2")]
    answered = tanstack([*asked, *again])
    assert ids(answered) == ["u", "msg-1-reasoning-0", "msg-1", "msg-2", "msg-3-reasoning-0", "msg-3"]


def test_tanstack_keeps_reasoning_apart_between_steps() -> None:
    front_end = TanStack()
    for name in ("r1", "r2"):
        front_end.receive({"type": "STEP_STARTED", "stepName": name})
        for event in events_of(reasoning(name, name.upper(), f"v-{name}")):
            front_end.receive(event)
    for event in events_of(said("m1", "Hi.")):
        front_end.receive(event)
    assert front_end.messages() == [
        reasoning("m1-reasoning-0", "R1", "v-r1"),
        reasoning("m1-reasoning-1", "R2", "v-r2"),
        said("m1", "Hi."),
    ]


def test_tanstack_forgets_who_thought_it() -> None:
    returned = tanstack([reasoning("r1", "One."), said("m", "Hi.", subagentRunId="S")])
    assert returned == [reasoning("m-reasoning-0", "One."), said("m", "Hi.")]


def test_each_answer_is_between_two_messages_of_the_user() -> None:
    again = [
        USER,
        reasoning("r1", "One."),
        said("m1", "Hi."),
        USER,
        reasoning("r2", "Two."),
        said("m2", "Hi."),
    ]
    assert ids(tanstack(again)) == ["u", "m1-reasoning-0", "m1", "u", "m2-reasoning-0", "m2"]


@pytest.mark.parametrize("name", FRONT_ENDS)
def test_the_history_that_was_given_is_not_changed(name: str) -> None:
    before = copy.deepcopy(LOOP)
    FRONT_ENDS[name](LOOP)
    assert before == LOOP


@pytest.mark.parametrize("name", FRONT_ENDS)
def test_models_are_read_as_their_json(name: str) -> None:
    models = [
        UserMessage(id="u", content="Hi."),
        ReasoningMessage(id="r", content="Hm.", encrypted_value="v"),
    ]
    as_json = [USER, reasoning("r", "Hm.", "v")]
    assert FRONT_ENDS[name](models) == FRONT_ENDS[name](as_json)
