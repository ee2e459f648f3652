"""Test the input of the next turn."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ImagePart, ResumeEntry, RunAgentInput, Tool, UrlSource, UserMessage

from agui_reasoning import Conversation, LocalProtocolError, Run, erase_reasoning
from agui_reasoning.consumer import PendingCall
from agui_reasoning.protocol import encrypted_value_type
from tests.conformance.requirements import requirement
from tests.support.play import FAILED, FINISHED, STARTED, Json, Played, call, ev, play, text, thought, value
from tests.support.verifier import plain

INTERRUPTS = [{"id": "i1", "reason": "approval"}, {"id": "i2", "reason": "choice"}]
INTERRUPTED = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": INTERRUPTS}}


def sent(conversation: Conversation, *given: Any, **more: Any) -> Json:
    return plain([conversation.run_input(*given, **more)])[0]


def refused(code: str, step: Any) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        step()
    assert caught.value.code == code


@requirement("C15")
def test_everything_goes_along_but_activities() -> None:
    events = [
        *thought("r", "Hm", metadata={"a": 1}),
        value("r", encryptedValueType="acme.sig"),
        *text("m", "Yes"),
        *call("c", "{}", parentMessageId="m"),
        value("c", "CALL", "tool-call"),
        ev("ACTIVITY_SNAPSHOT", messageId="a", activityType="t", content={}),
        ev("STATE_SNAPSHOT", snapshot={"n": 1}),
    ]
    played = play(*events)
    out = sent(played.conversation, run_id="r2")
    assert out["messages"] == [message for message in played.messages if message["role"] != "activity"]
    assert [message["id"] for message in out["messages"]] == ["r", "m"]
    assert out["messages"][0]["encryptedValue"] == "SEAL"
    assert out["messages"][1]["toolCalls"][0]["encryptedValue"] == "CALL"
    assert (out["threadId"], out["runId"], out["state"]) == ("t", "r2", {"n": 1})
    assert out.keys() == {
        *("threadId", "runId", "protocolVersion", "state", "messages", "tools", "context", "forwardedProps")
    }
    assert played.warnings == []


@requirement("V5")
def test_the_type_of_a_value_is_not_dropped_on_the_way_out() -> None:
    played = play(*thought("r"), value("r", encryptedValueType="acme.sig"))
    model = played.conversation.run_input()
    assert encrypted_value_type(model.messages[0]) == "acme.sig"
    assert played.warnings == []


@requirement("C15", "V1")
def test_the_input_is_what_the_caller_said_and_declares_the_version() -> None:
    conversation = Conversation("t", new_id=iter(["u1", "r1", "u2", "r2"]).__next__)
    out = sent(
        conversation,
        "Hello",
        tools=[Tool(name="get", description="d", parameters={"type": "object"})],
        context=[{"description": "d", "value": "v"}],
        forwarded_props={"x": None},
    )
    assert out["messages"] == [{"id": "u1", "role": "user", "content": "Hello"}]
    assert (out["protocolVersion"], out["runId"]) == ("1.0", "r1")
    assert out["tools"] == [{"name": "get", "description": "d", "parameters": {"type": "object"}}]
    assert (out["context"], out["forwardedProps"]) == ([{"description": "d", "value": "v"}], {"x": None})
    image = ImagePart(type="image", source=UrlSource(type="url", value="https://example.org/a.png"))
    out = sent(conversation, [{"type": "text", "text": "What is this?"}, image])
    assert [part["type"] for part in out["messages"][1]["content"]] == ["text", "image"]
    assert len(conversation.messages) == 2


@requirement("C15")
def test_unknown_members_are_stripped_with_a_warning() -> None:
    warnings: list[str] = []
    message = {"id": "u", "role": "user", "content": "x", "novelty": 1}
    strange = {"id": "n", "role": "narrator", "content": "x"}
    conversation = Conversation("t", messages=[message, strange], on_warning=warnings.append)
    out = sent(conversation, tools=[{"name": "n", "description": "d", "novelty": 1}])
    assert out["messages"] == [{"id": "u", "role": "user", "content": "x"}]
    assert out["tools"] == [{"name": "n", "description": "d"}]
    assert ["/novelty" in warnings[0], "kind" in warnings[1], "/tools/0/novelty" in warnings[2]] == [True] * 3


@requirement("C15")
def test_a_malformed_field_is_refused_before_anything_is_sent() -> None:
    conversation = Conversation("t")
    refused("bad_input", lambda: conversation.run_input("Hi", tools=[{"name": 1, "description": "d"}]))
    refused("bad_input", lambda: conversation.run_input("Hi", context=["x"]))  # type: ignore[list-item]
    refused("bad_message", lambda: conversation.run_input([{"type": "text"}]))
    refused("bad_message", lambda: Conversation(messages=[{"id": 1, "role": "user", "content": ""}]))
    refused("bad_message", lambda: Conversation(messages=["x"]))  # type: ignore[list-item]
    refused("bad_state", lambda: Conversation(state=object()))
    assert conversation.messages == []


@requirement("C5")
def test_binary_parts_are_upgraded_on_the_way_out_without_a_word() -> None:
    part = {"type": "binary", "mimeType": "image/png", "data": "QQ=="}
    warnings: list[str] = []
    message = {"id": "u", "role": "user", "content": [part]}
    out = sent(Conversation("t", messages=[message], on_warning=warnings.append))
    assert out["messages"][0]["content"][0]["source"] == {
        "type": "data",
        "value": "QQ==",
        "mimeType": "image/png",
    }
    assert warnings == []


@requirement("V4", "V12")
def test_nothing_is_downgraded() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "url", "value": "u"}}]
    message = {"id": "u", "role": "user", "content": content, "subagentRunId": "s"}
    out = sent(Conversation("t", messages=[message]))
    assert (out["messages"], out["protocolVersion"]) == ([message], "1.0")


@requirement("C56")
def test_every_interrupt_needs_an_answer() -> None:
    conversation = Played(STARTED, INTERRUPTED).conversation
    assert [interrupt.id for interrupt in conversation.interrupts] == ["i1", "i2"]
    assert conversation.status == "interrupted"
    one = {"interruptId": "i1", "status": "resolved", "payload": {"ok": True}}
    refused("open_interrupt", lambda: conversation.run_input())
    refused("open_interrupt", lambda: conversation.run_input("Hi", resume=[one]))
    refused(
        "open_interrupt",
        lambda: conversation.run_input(resume=[one, {**one, "interruptId": "i2", "status": "maybe"}]),
    )
    other = ResumeEntry(interrupt_id="i2", status="cancelled")
    assert sent(conversation, resume=[one, other])["resume"] == [
        one,
        {"interruptId": "i2", "status": "cancelled"},
    ]
    assert conversation.messages == []
    for event in (STARTED, FAILED):
        conversation.receive(event)
    assert len(conversation.interrupts) == 2, "a run that failed has answered nothing"
    for event in (STARTED, FINISHED):
        conversation.receive(event)
    assert conversation.interrupts == []


@requirement("C56")
def test_an_expired_interrupt_can_only_be_cancelled() -> None:
    interrupt = {"id": "i1", "reason": "a", "expiresAt": "2026-01-01T00:00:00Z"}
    outcome = {"type": "interrupt", "interrupts": [interrupt]}
    conversation = Played(STARTED, {**FINISHED, "outcome": outcome}).conversation
    answer: Json = {"interruptId": "i1", "status": "resolved"}
    noon = 1_767_225_600.0
    assert conversation.run_input(resume=[answer], now=noon - 1)
    refused("expired_interrupt", lambda: conversation.run_input(resume=[answer], now=noon))
    assert conversation.run_input(resume=[{**answer, "status": "cancelled"}], now=noon)
    assert conversation.run_input(resume=[answer])
    for form in ("soon", "2026-01-01T00:00:00"):
        outcome = {"type": "interrupt", "interrupts": [{**interrupt, "expiresAt": form}]}
        conversation = Played(STARTED, {**FINISHED, "outcome": outcome}).conversation
        assert conversation.run_input(resume=[answer], now=noon - 1)


def test_two_answers_to_one_interrupt_must_agree() -> None:
    conversation = Played(STARTED, INTERRUPTED).conversation
    one = {"interruptId": "i1", "status": "resolved", "payload": {"ok": True}}
    other = {"interruptId": "i2", "status": "cancelled"}
    assert sent(conversation, resume=[one, other, one])["resume"] == [one, other, one]
    refused(
        "bad_input", lambda: conversation.run_input(resume=[one, other, {**one, "payload": {"ok": False}}])
    )


def test_no_turn_goes_out_while_a_run_is_open() -> None:
    conversation = Played(STARTED, stop=False).conversation
    refused("run_open", conversation.run_input)


def test_a_null_state_is_left_out_and_a_thread_is_made_up_once() -> None:
    played = play(ev("STATE_SNAPSHOT", snapshot=None))
    assert "state" not in sent(played.conversation)
    conversation = Conversation()
    assert sent(conversation)["threadId"] == sent(conversation)["threadId"] == conversation.thread_id


# -- answers to tool calls


def test_an_answer_stands_behind_its_call_and_is_no_longer_pending() -> None:
    played = play(*call("c1", parentMessageId="m"), *call("c2", parentMessageId="m"), *text("n", "x"))
    conversation = played.conversation
    conversation.add_tool_result("c1", "one")
    assert [waiting.id for waiting in conversation.pending_calls] == ["c2"]
    conversation.add_tool_result("c2", [{"type": "text", "text": "two"}], error="half of it")
    assert conversation.pending_calls == []
    assert [message["role"] for message in sent(conversation)["messages"]] == [
        *("assistant", "tool", "tool", "assistant")
    ]
    assert played.messages[2]["error"] == "half of it"
    refused("answered_call", lambda: conversation.add_tool_result("c1", "again"))
    refused("unknown_call", lambda: conversation.add_tool_result("nobody", "x"))


def test_a_stored_history_has_pending_calls_too() -> None:
    stored = play(*call("c1", parentMessageId="m"), *call("c2", parentMessageId="m")).conversation
    stored.add_tool_result("c1", "ok")
    again = Conversation("t", messages=stored.messages)
    assert [waiting.id for waiting in again.pending_calls] == ["c2"]
    again.add_tool_result("c2", "ok")
    assert [message.role for message in again.messages] == ["assistant", "tool", "tool"]


def test_a_pending_call_is_read_as_one_of_a_run() -> None:
    (waiting,) = play(*call("c1", '{"city": "Oslo"}', parentMessageId="m")).conversation.pending_calls
    assert waiting == PendingCall.model_validate(waiting.model_dump())
    assert (waiting.name, waiting.args) == (waiting.function.name, {"city": "Oslo"})
    assert waiting.arguments == waiting.function.arguments
    assert repr(waiting) == str(waiting) == "PendingCall(id='c1', name='get', arguments=<16>)"


def test_reasoning_that_is_erased_is_neither_stored_nor_sent() -> None:
    hint = {"metadata": {"agui-reasoning": {"response": "SECRET"}, "own": 1}}
    answer = {**hint, "id": "a", "role": "assistant", "content": "Yes.", "encryptedValue": "SECRET"}
    answer["toolCalls"] = [
        {
            "id": "c",
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
            "encryptedValue": "SECRET",
        }
    ]
    thought = {"id": "r", "role": "reasoning", "content": "SECRET", "encryptedValue": "SECRET"}
    user = {"id": "u", "role": "user", "content": "Hi."}
    conversation = Conversation("t", messages=[user, thought, answer], state={"n": 1})
    expected = erase_reasoning(conversation.messages)
    conversation.erase_reasoning()
    assert conversation.messages == expected
    assert "SECRET" not in conversation.to_json() + conversation.run_input("Go on.").model_dump_json()
    assert conversation.messages[1].metadata == {"own": 1}
    assert conversation.state == {"n": 1}


def test_reasoning_is_not_erased_under_a_run() -> None:
    conversation = Conversation("t")
    conversation.receive(STARTED)
    refused("run_open", conversation.erase_reasoning)


def test_a_conversation_shows_its_size_and_no_content() -> None:
    conversation = Conversation("t", messages=[{"id": "u", "role": "user", "content": "SECRET"}])
    assert repr(conversation) == "Conversation('t', status='idle', messages=1)"


# -- there and back


def test_an_input_opened_again_is_the_same_conversation() -> None:
    played = play(
        *thought("r", "Hm", metadata={"a": {"b": None}}),
        value("r"),
        *text("m", "Yes", name="bot"),
        *call("c", '{"a": 1}', parentMessageId="m"),
        ev("TOOL_CALL_RESULT", messageId="t", toolCallId="c", content=[{"type": "text", "text": "ok"}]),
    )
    first = played.conversation.run_input("And?", run_id="r2")
    again = Conversation(first.thread_id, messages=first.messages, state=first.state)
    assert again.messages == played.conversation.messages
    assert plain([again.run_input(run_id="r2")]) == plain([first])
    assert RunAgentInput.model_validate(plain([first])[0]) == first
    assert Conversation(messages=[UserMessage(id="u", role="user", content="x")]).messages[0].role == "user"


@requirement("V3")
def test_a_newer_client_is_served_and_told_our_version() -> None:
    run = Run({"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.7"})
    assert plain(run.start())[0]["protocolVersion"] == "1.0"
