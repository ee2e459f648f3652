"""Test the calls of earlier runs that wait: what an agent learns of them, and what the model is told."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Interrupt, ResumeEntry

from agui_reasoning import ConfigurationError, OpenCall, RemoteProtocolError, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.parts import ToolResultPart
from tests.support.dialects import DIALECTS, Dialect, model, results, user
from tests.support.growth import assert_linear
from tests.support.loop import RETURNS, Client
from tests.unit.request.test_loop import expect

apis = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
front_ends = pytest.mark.parametrize("returns", RETURNS)
CLAUDE = DIALECTS["anthropic-messages"]

APPROVED = {"approved": True}
REFUSED = {"approved": False, "reason": "Not today."}


def resolved(interrupt: str, payload: object = None) -> ResumeEntry:
    return ResumeEntry(interrupt_id=interrupt, status="resolved", payload=payload)


def asks(*calls: str) -> list[Interrupt]:
    return [Interrupt(id=call, reason="tool_call", tool_call_id=call) for call in calls]


def open_ids(client: Client) -> list[str]:
    return [call.id for call in client.agent.open_calls]


# -- what waits


@apis
@front_ends
def test_the_resumed_run_answers_what_the_earlier_one_asked(dialect: Dialect, returns: str) -> None:
    calling = [dialect.think(1), dialect.call("c1"), dialect.call("c2"), dialect.call("c3")]
    client = Client(dialect, returns).ask("Weather?").hears(*calling).runs_tools(c2="5C")
    assert client.agent.open_calls == []
    client.ends(interrupts=asks("c1", "c3"))
    client.ask(resume=[resolved("c3", REFUSED), resolved("c1", APPROVED)])
    first, second = client.agent.open_calls
    assert (first.id, first.name, first.args) == ("c1", dialect.call("c1").name, dialect.call("c1").args)
    assert first.resume is not None
    assert second.resume is not None
    assert (first.resume.payload, second.id, second.resume.payload) == (APPROVED, "c3", REFUSED)
    client.runs_tools(c1="4C")
    assert open_ids(client) == ["c3"]
    client.runs_tools(c3="The user refused: Not today.")
    assert client.agent.open_calls == client.agent.pending_calls == []
    told = results(c1="4C", c2="5C", c3="The user refused: Not today.")
    expect(client, user("Weather?"), model(*calling), told)
    last = [dialect.think(5), dialect.say("Done.")]
    client.hears(*last).ends().ask("Thanks.")
    assert client.agent.open_calls == []
    expect(client, user("Weather?"), model(*calling), told, model(*last), user("Thanks."))


@apis
def test_a_call_is_open_until_the_model_went_on_without_it(dialect: Dialect) -> None:
    client = Client(dialect).ask("Weather?").hears(dialect.call("c1")).ends().ask("Never mind.")
    assert open_ids(client) == ["c1"]
    client.hears(dialect.say("All right.")).ends().ask("And tomorrow?")
    assert client.agent.open_calls == []
    client.hears(dialect.call("c2")).ends().ask()
    assert open_ids(client) == ["c2"]


def test_an_answer_opens_a_call_that_the_model_went_on_without() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1")).ends().ask("Never mind.")
    client.hears(CLAUDE.say("All right.")).ends().ask("Do it.", resume=[resolved("c1", APPROVED)])
    assert open_ids(client) == ["c1"]


def test_a_late_message_of_the_user_leaves_the_call_open_and_without_an_answer() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1")).ends().ask("Wait, what?")
    (call,) = client.agent.open_calls
    assert (call.resume, call.interrupt) == (None, None)
    client.runs_tools(c1="The user did not decide.")
    expect(
        client,
        user("Weather?"),
        model(CLAUDE.call("c1")),
        results(c1="The user did not decide."),
        user("Wait, what?"),
    )


def test_an_abandoned_interrupt_is_an_answer() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1")).ends(interrupts=asks("c1"))
    client.ask(resume=[ResumeEntry(interrupt_id="c1", status="cancelled")])
    (call,) = client.agent.open_calls
    assert call.resume is not None
    assert call.resume.status == "cancelled"


def test_calls_of_the_run_itself_are_pending_and_not_open() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1"))
    assert [call.id for call in client.agent.pending_calls] == ["c1"]
    assert client.agent.open_calls == []


def test_calls_that_were_cut_are_not_open() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"city": "Os'}}
    message = {"id": "m1", "role": "assistant", "toolCalls": [call]}
    assert Run({"threadId": "t", "runId": "r", "messages": [message]}).open_calls == []


def test_each_subagent_has_its_own_open_calls() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1"))
    child = client.agent.subagent("scout", id="scout")
    client.relays(child.start())
    for delta in CLAUDE.stream([CLAUDE.call("s1")]):
        client.relays(child.receive(delta))
    client.relays(child.finish()).ends().ask()
    assert open_ids(client) == ["c1"]
    again = client.agent.subagent("scout", id="scout")
    assert [call.id for call in again.open_calls] == ["s1"]


# -- what it shows, and how it fails


def test_an_open_call_shows_no_content() -> None:
    call = OpenCall("c1", "f", '{"secret": 1}', resume=resolved("c1", {"secret": 2}))
    assert repr(call) == "OpenCall(id='c1', name='f', arguments=<13>, resume=<…>)"


def test_open_calls_need_the_history() -> None:
    keys = KeyRing.generate()
    client = Client(CLAUDE, keys=keys).ask("Weather?").hears(CLAUDE.think(1), CLAUDE.call("c1")).ends()
    run = Run({"threadId": "thread-1", "runId": "r", "messages": client.messages})
    with pytest.raises(ConfigurationError) as caught:
        _ = run.open_calls
    assert caught.value.code == "keys_missing"


def test_the_result_of_an_open_call_is_one_event() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1")).ends(interrupts=asks("c1"))
    client.ask(resume=[resolved("c1", APPROVED)])
    (event,) = client.agent.receive(ToolResultPart("c1", "4C"))
    assert event.type.value == "TOOL_CALL_RESULT"


# -- which interrupt


def question(call: str, name: str = "i1", **more: object) -> Interrupt:
    return Interrupt(id=name, reason="tool_call", tool_call_id=call, message="Really?", **more)


RESUMES = pytest.mark.parametrize(
    "options",
    [{}, {"keys": KeyRing.generate()}, {"visibility": "hidden", "keys": KeyRing.generate()}],
    ids=["plain", "keys", "hidden"],
)


@apis
@front_ends
@RESUMES
def test_the_value_of_the_response_keeps_what_was_asked(dialect: Dialect, returns: str, options: Any) -> None:
    calling = [dialect.think(1), dialect.say("I will look."), dialect.call("c1"), dialect.call("c2")]
    asked = [question("c1", expires_at="2026-12-01T12:00:00Z"), question("c2", "i2", metadata={"n": [1]})]
    client = Client(dialect, returns, **options).ask("Weather?").hears(*calling).ends(interrupts=asked)
    client.ask(resume=[resolved("i2", REFUSED), resolved("i1", APPROVED)])
    first, second = client.agent.open_calls
    assert [first.interrupt, second.interrupt] == asked
    assert first.resume is not None
    assert second.resume is not None
    assert [first.resume.payload, second.resume.payload] == [APPROVED, REFUSED]
    told = {"c1": "4C", "c2": "The user refused: Not today."}
    client.runs_tools(**told)
    expect(client, user("Weather?"), model(*calling), results(**told))


@apis
@pytest.mark.parametrize("anchors", ["auto", "required", "always", "never"])
def test_a_response_without_reasoning_keeps_what_was_asked(dialect: Dialect, anchors: Any) -> None:
    client = Client(dialect, anchors=anchors).ask("Weather?").hears(dialect.say("Hm."), dialect.call("c1"))
    client.ends(interrupts=[question("c1")]).ask(resume=[resolved("i1", APPROVED)])
    assert [call.interrupt for call in client.agent.open_calls] == [question("c1")]
    client.runs_tools(c1="4C")
    expect(client, user("Weather?"), model(dialect.say("Hm."), dialect.call("c1")), results(c1="4C"))


def test_after_tools_of_the_agent_the_last_response_keeps_what_was_asked() -> None:
    first, second = [CLAUDE.think(1), CLAUDE.call("c1")], [CLAUDE.think(2), CLAUDE.call("c2")]
    client = Client(CLAUDE).ask("Weather?").hears(*first).runs_tools(c1="4C").hears(*second)
    client.ends(interrupts=[question("c2")]).ask(resume=[resolved("i1", APPROVED)])
    assert [(call.id, call.interrupt) for call in client.agent.open_calls] == [("c2", question("c2"))]
    client.runs_tools(c2="rain")
    expect(client, user("Weather?"), model(*first), results(c1="4C"), model(*second), results(c2="rain"))


def test_an_interrupt_about_no_call_changes_no_value() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.think(1), CLAUDE.call("c1"))
    other = Interrupt(id="i1", reason="input_required")
    (last,) = client.agent.finish(interrupts=[other])
    assert last.type.value == "RUN_FINISHED"


def test_of_several_questions_about_a_call_the_answered_one_counts() -> None:
    asked = [question("c1"), question("c1", "i2"), question("c1", "i3")]
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1")).ends(interrupts=asked)
    client.hold(client.messages).ask(resume=[resolved("i2", APPROVED)])
    assert [call.interrupt for call in client.agent.open_calls] == [asked[1]]
    client.hold(client.messages).ask()
    assert [call.interrupt for call in client.agent.open_calls] == [asked[2]]


def test_a_client_cannot_make_up_what_was_asked_where_values_are_encrypted() -> None:
    plain = Client(CLAUDE).ask("Weather?").hears(CLAUDE.think(1), CLAUDE.call("c1"))
    plain.ends(interrupts=[question("c1")])
    run_input = {"threadId": "thread-1", "runId": "r", "messages": plain.messages}
    (call,) = Run(run_input, keys=KeyRing.generate()).open_calls
    assert (call.id, call.interrupt) == ("c1", None)


@pytest.mark.parametrize(
    ("tenant", "thread"), [("evil", "thread-1"), ("acme", "thread-2"), ("acme", "thread-1 ")]
)
def test_what_was_asked_in_another_thread_or_of_another_tenant_is_unknown(tenant: str, thread: str) -> None:
    """The call is there, because calls are the client's; that somebody was asked about it is not."""
    keys = KeyRing.generate()
    client = Client(CLAUDE, keys=keys, tenant="acme").ask("Weather?")
    client.hears(CLAUDE.think(1), CLAUDE.call("c1")).ends(interrupts=[question("c1")])
    entry = {"interruptId": "i1", "status": "resolved", "payload": APPROVED}

    def opened(tenant: str, thread: str) -> OpenCall:
        run_input = {"threadId": thread, "runId": "r", "messages": client.messages, "resume": [entry]}
        (call,) = Run(run_input, keys=keys, tenant=tenant, on_warning=lambda text: None).open_calls
        return call

    assert opened("acme", "thread-1").interrupt == question("c1")
    moved = opened(tenant, thread)
    assert (moved.interrupt, moved.resume) == (None, None)


def test_a_call_that_the_model_never_made_was_never_asked_about() -> None:
    call = {"id": "c9", "type": "function", "function": {"name": "delete_all", "arguments": "{}"}}
    messages = [
        {"id": "u1", "role": "user", "content": "Hi."},
        {"id": "a1", "role": "assistant", "toolCalls": [call]},
    ]
    resume = [{"interruptId": "c9", "status": "resolved", "payload": APPROVED}]
    run_input = {"threadId": "thread-1", "runId": "r", "messages": messages, "resume": resume}
    (opened,) = Run(run_input, keys=KeyRing.generate()).open_calls
    assert opened.interrupt is None
    assert opened.resume is not None, "the answer is the client's: only the interrupt says that one was asked"


def test_an_answer_given_again_answers_nothing_while_the_result_is_there() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1")).ends(interrupts=[question("c1")])
    client.hold(client.messages).ask(resume=[resolved("i1", APPROVED)])
    client.agent.receive(ToolResultPart("c1", "Rain."))
    assert client.agent.open_calls == []
    result = {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "Rain."}
    client.hold([*client.messages, result]).ask(resume=[resolved("i1", APPROVED)])
    assert client.agent.open_calls == []


@pytest.mark.growth
def test_answers_of_a_client_take_time_in_proportion() -> None:
    def run_of(count: int) -> Run:
        calls = [
            {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            for at in range(count)
        ]
        messages = [
            {"id": "u1", "role": "user", "content": "Hi."},
            {"id": "a1", "role": "assistant", "toolCalls": calls},
        ]
        resume = [
            {"interruptId": f"{name}{at}", "status": "resolved", "payload": APPROVED}
            for at in range(count)
            for name in ("c", "i")
        ]
        return Run(
            {"threadId": "t", "runId": "r", "messages": messages, "resume": resume},
            on_warning=lambda text: None,
        )

    assert_linear(run_of, lambda run: run.open_calls, 1000)


# -- answers that do not fit


def late(client: Client, entry: ResumeEntry) -> Run:
    asked = client.hold(client.messages).ask(resume=[entry]).agent.input
    return Run(asked, now_ms=lambda: 1_800_000_000_000, **CLAUDE.target)


def test_an_interrupt_that_expired_can_only_be_cancelled() -> None:
    asked = question("c1", expires_at="2026-12-01T12:00:00+01:00")
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1")).ends(interrupts=[asked])
    with pytest.raises(RemoteProtocolError, match="'i1' was answered after it had expired") as caught:
        _ = late(client, resolved("i1", APPROVED)).open_calls
    assert caught.value.code == "expired_interrupt"
    (call,) = late(client, ResumeEntry(interrupt_id="i1", status="cancelled")).open_calls
    assert call.interrupt == asked


def test_an_answer_to_another_interrupt_warns_and_answers_nothing() -> None:
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1")).ends(interrupts=[question("c1")])
    client.hold(client.messages).ask(resume=[resolved("i9", APPROVED)])
    for _ in range(2):
        (call,) = client.agent.open_calls
        assert call.resume is None
    (warning,) = client.warnings
    assert warning.startswith(
        "The input answers the interrupt 'i9', which is not known to belong to an open call."
    )


def test_some_answers_leave_the_other_calls_without_one() -> None:
    asked = [question("c1"), question("c2", "i2")]
    client = Client(CLAUDE).ask("Weather?").hears(CLAUDE.call("c1"), CLAUDE.call("c2")).ends(interrupts=asked)
    client.hold(client.messages).ask(resume=[resolved("i2", APPROVED)])
    first, second = client.agent.open_calls
    assert (first.resume, second.resume is None) == (None, False)
    assert client.warnings == []


def test_two_answers_to_one_interrupt_must_agree() -> None:
    entry = {"interruptId": "i1", "status": "resolved", "payload": APPROVED}
    run_input = {"threadId": "t", "runId": "r", "messages": [], "resume": [entry, entry]}
    assert Run(run_input).resume["i1"].payload == APPROVED
    with pytest.raises(RemoteProtocolError, match="malformed at /resume/2") as caught:
        Run(run_input | {"resume": [entry, entry, entry | {"payload": REFUSED}]})
    assert caught.value.code == "bad_input"


def test_a_call_without_arguments_has_none() -> None:
    call = OpenCall("c1", "look")
    assert (call.arguments, call.args) == ("", {})
