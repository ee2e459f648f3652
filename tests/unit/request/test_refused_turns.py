"""Test that a turn that Claude refused is explained to the user, and is not in any later request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

import anthropic
import pytest
from ag_ui.core import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from hypothesis import given
from hypothesis import strategies as st

from agui_reasoning import ConfigurationError, Conversation, ModelStream, Run, build_request, run_agent
from agui_reasoning.client import AgentClient
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import (
    CloseDelta,
    Delta,
    FinishDelta,
    OpaqueDelta,
    ReasoningDelta,
    ResponseStart,
    TextDelta,
    ToolCallDelta,
    fold,
)
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from agui_reasoning.parts import CUT_CALL_RESULT, Opaque, Origin, ReasoningPart, TextPart, ToolCallPart, Turn
from agui_reasoning.providers import decode_response
from agui_reasoning.request import History, ProviderRequest, restore
from agui_reasoning.testing import FRONT_ENDS
from tests.support.strict_claude import EXPLANATION, StrictClaude
from tests.support.verifier import Client, plain

Json = dict[str, Any]
CLAUDE = Origin("anthropic", "anthropic-messages", "claude-opus-5")
OF = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-5"}
KEYS = KeyRing({"k": bytes(32)})
BAD, GOOD = "Write an exploit.", "What is the time?"
THOUGHT: list[Delta] = [
    ReasoningDelta("Hm.", key="0"),
    OpaqueDelta(Opaque("anthropic.signature", "U0lH"), key="0"),
    CloseDelta(key="0"),
]
CALL = ToolCallDelta("c1", "get", "{}")
DETAILS = {"type": "refusal", "category": "cyber", "explanation": EXPLANATION}
REFUSED = FinishDelta("refusal", details=DETAILS, refused=True)
ways = pytest.mark.parametrize(
    ("visibility", "keys"), [("full", None), ("full", KEYS), ("summary", KEYS), ("hidden", KEYS)]
)


def events_of(*deltas: Delta, messages: Any = (), **options: Any) -> list[Json]:
    """The events of one response, with short IDs."""
    numbers = count(1)
    given = {"threadId": "t", "runId": "r", "messages": messages or [UserMessage(id="u", content=BAD)]}
    run = Run(given, new_id=lambda: f"id{next(numbers)}", **OF, **options)
    events = run.start()
    for delta in (ResponseStart(CLAUDE, id="msg_1"), *deltas):
        events += run.receive(delta)
    return plain([*events, *run.finish()])


def outline(events: list[Json]) -> list[str]:
    """Types of events, with text."""
    return [" ".join(filter(None, [event["type"], event.get("delta")])) for event in events]


def test_the_explanation_is_a_message_of_its_own_and_the_details_are_on_run_finished() -> None:
    events = events_of(*THOUGHT, TextDelta("First,", key="1"), REFUSED)
    Client().feed(events).done()
    assert outline(events) == [
        "RUN_STARTED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT Hm.",
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT First,",
        "TEXT_MESSAGE_END",
        "TEXT_MESSAGE_START",
        f"TEXT_MESSAGE_CONTENT {EXPLANATION}",
        "TEXT_MESSAGE_END",
        "REASONING_START",
        "REASONING_END",
        "REASONING_ENCRYPTED_VALUE",
        "RUN_FINISHED",
    ]
    assert events[-1]["metadata"] == {
        "agui-reasoning": {"finishReason": "refusal", "finishDetails": DETAILS},
    }


def test_a_refusal_before_any_output_is_carried_by_an_empty_reasoning_message() -> None:
    events = events_of(FinishDelta("refusal", refused=True))
    Client().feed(events).done()
    assert outline(events) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT The provider declined to continue this answer.",
        "TEXT_MESSAGE_END",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
        "RUN_FINISHED",
    ]


def test_a_credential_in_the_details_stays_on_the_server() -> None:
    run = Run({"threadId": "t", "runId": "r", "messages": []}, **OF)
    details = {**DETAILS, "fallback_credit_token": "TOKEN"}
    events = [*run.start(), *run.receive(FinishDelta("refusal", details=details, refused=True))]
    events += run.finish()
    assert run.finish_details == details
    assert "TOKEN" not in json.dumps(plain(events))
    assert "TOKEN" not in repr(FinishDelta("refusal", details=details))


def test_hidden_reasoning_hides_the_details_too_but_not_the_explanation() -> None:
    events = events_of(*THOUGHT, REFUSED, visibility="hidden", keys=KEYS)
    assert "metadata" not in events[-1]
    assert f"TEXT_MESSAGE_CONTENT {EXPLANATION}" in outline(events)


def test_a_call_of_a_refused_response_is_answered_and_not_pending() -> None:
    events = events_of(*THOUGHT, CALL, CloseDelta(key="c1"), REFUSED)
    results = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert [(result["toolCallId"], result["content"]) for result in results] == [("c1", CUT_CALL_RESULT)]


def test_the_units_of_a_refused_response_are_incomplete() -> None:
    parts = fold([*THOUGHT, TextDelta("First,"), CALL, REFUSED])
    assert [part.status for part in parts if not isinstance(part, Turn)] == ["incomplete"] * 3  # type: ignore[union-attr]


def test_a_whole_response_is_refused_as_its_stream_is() -> None:
    claude = StrictClaude()
    body: Json = {"model": "claude-opus-5", "messages": [user(BAD)]}
    message = json.loads(bytes(claude.answer(body, reports=False).body))
    parts = decode_response("anthropic-messages", message)
    assert [type(part) for part in parts] == [ReasoningPart, TextPart]
    assert {part.status for part in parts} == {"incomplete"}  # type: ignore[union-attr]


def user(text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


# -- the next request


@ways
@pytest.mark.parametrize("front_end", [None, *FRONT_ENDS])
@pytest.mark.parametrize("output", ["thought and text", "thought", "call", "nothing"])
def test_the_refused_turn_is_left_out_whatever_the_front_end_does(
    output: str, front_end: str | None, visibility: str, keys: KeyRing | None
) -> None:
    outputs: dict[str, list[Delta]] = {
        "thought and text": [*THOUGHT, TextDelta("First,", key="1")],
        "thought": THOUGHT,
        "call": [*THOUGHT, CALL, CloseDelta(key="c1")],
        "nothing": [],
    }
    thread = Conversation("t")
    sent = thread.run_input(BAD)
    run = Run(sent, **OF, visibility=visibility, keys=keys)
    events = [*run.start(), *run.receive(ResponseStart(CLAUDE, id="msg_1"))]
    for delta in (*outputs[output], REFUSED):
        events += run.receive(delta)
    for event in [*events, *run.finish()]:
        thread.receive(event)
    messages = plain(thread.run_input(GOOD).messages)
    messages = messages if front_end is None else FRONT_ENDS[front_end](messages)
    history = restore(messages, keys=keys, thread_id="t")
    assert [turn.refused for turn in history.turns] == [True]
    assert _body(history) == [user(GOOD)]


def _body(history: History, **options: Any) -> list[Json]:
    body: list[Json] = _request(history, **options).body["messages"]
    return body


def _request(history: History, **options: Any) -> ProviderRequest:
    return build_request("anthropic-messages", history, provider="anthropic", model=CLAUDE.model, **options)


def answered(text: str, *, refused: bool = False) -> Turn:
    value = Opaque("anthropic.signature", f"U2ln{text}")
    thought = ReasoningPart((), (value,), origin=CLAUDE, status="incomplete" if refused else "complete")
    return Turn((thought, TextPart(text, origin=CLAUDE)), CLAUDE, refused=refused)


REFUSED_TURN = (
    UserMessage(id="u", content=BAD),
    answered("No", refused=True),
    UserMessage(id="v", content=GOOD),
)


def test_the_report_names_what_was_left_out() -> None:
    history = History(REFUSED_TURN)
    request = _request(history)
    assert [(entry.outcome, entry.reason) for entry in request.report] == [("dropped", "refused_turn")] * 2
    assert request.lost == ()
    assert request.explain() == (
        "answer 1 (claude-opus-5): 2 units left out: the provider refused this turn, "
        "and refuses requests that contain it."
    )


def test_a_refused_turn_can_be_kept() -> None:
    history = History(REFUSED_TURN)
    no = {"role": "assistant", "content": [{"type": "text", "text": "No"}]}
    assert _body(history, refused_turns="keep") == [user(BAD), no, user(GOOD)]
    empty = History((UserMessage(id="u", content=BAD), Turn((), CLAUDE, refused=True)))
    assert _body(empty, refused_turns="keep") == [user(BAD)]


def test_before_the_user_writes_again_only_the_response_is_left_out() -> None:
    """Another model is asked the same question in the same run."""
    history = History((UserMessage(id="u", content=BAD), answered("No", refused=True)))
    assert _body(history) == [user(BAD)]


def test_a_turn_that_another_model_finished_stays() -> None:
    items = (
        UserMessage(id="u", content=BAD),
        answered("No", refused=True),
        answered("Yes"),
        UserMessage(id="v", content=GOOD),
    )
    texts = [message["content"][-1]["text"] for message in _body(History(items))]
    assert texts == [BAD, "Yes", GOOD]


def test_a_tool_loop_that_ends_in_a_refusal_is_one_turn_and_instructions_stay() -> None:
    call = ToolCallPart("c1", "get", "{}", origin=CLAUDE)
    items = (
        UserMessage(id="a", content="Hello."),
        answered("Hi"),
        UserMessage(id="u", content=BAD),
        SystemMessage(id="s", content="Be brief."),
        Turn((call,), CLAUDE),
        ToolMessage(id="t", tool_call_id="c1", content="an exploit"),
        answered("No", refused=True),
        UserMessage(id="v", content=GOOD),
    )
    request = _request(History(items))
    assert "exploit" not in json.dumps(request.body)
    roles = [message["role"] for message in request.body["messages"] if message["role"] != "system"]
    assert roles == ["user", "assistant", "user"]
    assert "Be brief." in json.dumps(request.body)


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="refused_turns") as error:
        _body(History(()), refused_turns="dorp")
    assert error.value.code == "wrong_option"
    assert "'drop'" in str(error.value.hint)


@given(st.lists(st.sampled_from(["answered", "refused", "unanswered", "finished elsewhere"]), max_size=6))
def test_nothing_but_refused_turns_is_left_out(turns: list[str]) -> None:
    """The request is that of the same history without the refused turns."""
    items: list[Any] = []
    others: list[Any] = []
    for number, kind in enumerate(turns):
        asked: list[Any] = [UserMessage(id=f"u{number}", content=f"Question {number}.")]
        good = [answered(f"Answer {number}.")] if kind in ("answered", "finished elsewhere") else []
        bad = [answered(f"Half {number}", refused=True)] if kind in ("refused", "finished elsewhere") else []
        items += [*asked, *bad, *good]
        others += [] if kind == "refused" else [*asked, *good]
    last = UserMessage(id="last", content=GOOD)
    assert _body(History((*items, last))) == _body(History((*others, last)))


# -- over HTTP


@contextmanager
def official_sdk(claude: StrictClaude) -> Iterator[Any]:
    with local_server(claude) as url, anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        yield client


@pytest.mark.parametrize(
    ("partial", "visibility", "keys"),
    [("First, ", "full", None), ("First, ", "hidden", KEYS), ("", "full", KEYS)],
)
def test_after_a_refusal_the_conversation_goes_on(
    partial: str, visibility: str, keys: KeyRing | None
) -> None:
    claude = StrictClaude(partial=partial)
    thread = Conversation("t")
    with official_sdk(claude) as client:

        def ask(request: Any) -> Any:
            return client.messages.create(model="claude-opus-5", max_tokens=2048, stream=True, **request.body)

        options: Json = {**OF, "visibility": visibility, "keys": keys}
        for question in ("Hello.", BAD, GOOD, "And now?"):
            sent = thread.run_input(question)
            for event in run_agent(sent, lambda run: iter([ModelStream(ask)]), **options):
                thread.receive(event)
    assert claude.outcomes == ["answer", "refusal", "answer", "answer"]
    roles = [message["role"] for message in claude.asked[-1]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    shown = [message.content for message in thread.messages if isinstance(message, AssistantMessage)]
    assert [text for text in shown if text] == [
        "Answer 1.",
        *filter(None, [partial]),
        EXPLANATION,
        "Answer 3.",
        "Answer 4.",
    ]


@pytest.mark.parametrize("by_stream", [False, True], ids=["Run.request", "ModelStream"])
def test_a_turn_that_is_kept_is_refused_again(by_stream: bool) -> None:
    """What the documentation warns of, and proof that the fake refuses."""
    claude = StrictClaude()
    thread = Conversation("t")
    with official_sdk(claude) as client:

        def ask(request: ProviderRequest) -> Any:
            return client.messages.create(model="claude-opus-5", max_tokens=2048, stream=True, **request.body)

        def agent(run: Run) -> Iterator[ModelStream]:
            if by_stream:
                yield ModelStream(ask, refused_turns="keep")
            else:
                yield ModelStream(ask(run.request(refused_turns="keep")))

        for question in (BAD, GOOD):
            for event in run_agent(thread.run_input(question), agent, **OF):
                thread.receive(event)
    assert claude.outcomes == ["refusal", "refusal"]


@pytest.mark.anyio
async def test_the_gateway_goes_on_after_a_refusal() -> None:
    claude = StrictClaude()
    with ExitStack() as stack:
        url = stack.enter_context(local_server(claude))
        upstream = HTTPUpstream(
            "anthropic-messages", base_url=url, provider="anthropic", model="claude-opus-5", api_key="k"
        )
        served = stack.enter_context(local_server(create_app(upstream, keys=KEYS)))
        thread, ends = Conversation("t"), []
        async with AgentClient(f"{served}/agent") as client:
            for question in (BAD, GOOD):
                ends += [event.metadata async for event in client.run(thread, question) if _ends(event)]
    assert claude.outcomes == ["refusal", "answer"]
    assert [end["agui-reasoning"]["finishReason"] for end in ends] == ["refusal", "end_turn"]


def _ends(event: Any) -> bool:
    return bool(event.type == "RUN_FINISHED")
