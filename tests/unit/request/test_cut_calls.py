"""Restore a call that was cut: neither it nor its result goes to a provider."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import Message, ToolMessage, UserMessage

from agui_reasoning import AGUIReasoningWarning, Run, build_request, reduce_events, restore
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import CloseDelta, FinishDelta, ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.parts import CUT_CALL_RESULT, NativePart, Origin, TextPart, ToolCallPart, Turn
from agui_reasoning.providers.encoding import GO_ON
from agui_reasoning.request import History, ProviderRequest
from agui_reasoning.testing import assistant_ui, copilotkit, tanstack
from tests.support.validators import check_anthropic, check_chat, check_end, check_responses

PROVIDERS = {"anthropic-messages": "anthropic", "openai-responses": "openai", "openai-chat": "deepseek"}
CHECKS = {
    "anthropic-messages": check_anthropic,
    "openai-responses": check_responses,
    "openai-chat": lambda body: check_chat(body, fields=["reasoning_content"]),
}
apis = pytest.mark.parametrize("api", PROVIDERS)

USER = UserMessage(id="u", content="Weather in Oslo?")
CUT = '{"place": "Os'


def build(api: str, *items: Turn | Message, **options: Any) -> ProviderRequest:
    options.setdefault("on_warning", lambda text: None)
    request = build_request(api, History(items), provider=PROVIDERS[api], model="m", **options)
    assert CHECKS[api](request.body) == []
    return request


def call(arguments: str, name: str = "c1", **fields: Any) -> ToolCallPart:
    return ToolCallPart(name, "get_weather", arguments, **fields)


def told(content: str, name: str = "c1") -> ToolMessage:
    return ToolMessage(id=f"r-{name}", tool_call_id=name, content=content)


def conversation(request: ProviderRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = request.body.get("messages", request.body.get("input"))
    return found


WAYS: dict[str, tuple[ToolCallPart, tuple[Message, ...]]] = {
    "an envelope says so": (call(CUT, status="incomplete"), ()),
    "an envelope says so of one that can be read": (call("{}", status="incomplete"), ()),
    "an envelope says so of one that was answered": (call(CUT, status="incomplete"), (told("4C"),)),
    "its run answered it": (call("{}"), (told(CUT_CALL_RESULT),)),
    "nobody answered what cannot be read": (call(CUT), ()),
    "nobody answered what is no object": (call("[1]"), ()),
}


@apis
@pytest.mark.parametrize(("cut", "results"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("asks", [True, False], ids=["the user asks", "the client tries again"])
def test_a_call_that_was_cut_is_not_sent_and_reported(
    api: str, cut: ToolCallPart, results: tuple[Message, ...], asks: bool
) -> None:
    said = [USER, Turn((TextPart("I will look."), cut)), *results]
    request = build(api, *said, *([UserMessage(id="v", content="Go on.")] if asks else []))
    body = json.dumps(request.body)
    for left_out in ("get_weather", "4C", "was cut off before", "Os"):
        assert left_out not in body.replace("Weather in Oslo?", "")
    assert [(e.unit, e.outcome, e.reason) for e in request.report] == [("c1", "dropped", "incomplete")]
    assert check_end(api, request.body) == []
    assert (GO_ON in body) is not asks


@apis
def test_what_goes_on_behind_a_call_that_was_cut_is_what_was_sent(api: str) -> None:
    """A request must begin like the one before it, or what was signed or cached is worth nothing."""
    start = [USER, Turn((TextPart("I will look."), call(CUT, status="incomplete")))]
    first = conversation(build(api, *start))
    later = conversation(build(api, *start, Turn((TextPart("So."),)), UserMessage(id="v", content="Go on.")))
    assert later[: len(first)] == first


@apis
def test_nothing_is_said_for_the_user_where_the_request_ends_with_somebody_else(api: str) -> None:
    cut = call(CUT, "c2", status="incomplete")
    beside = build(api, USER, Turn((TextPart("I will look."), call("{}"), cut)), told("4C"))
    alone = build(api, USER, Turn((cut,)))
    meant = build(api, USER, Turn((TextPart("I will"),)))
    assert all(GO_ON not in json.dumps(request.body) for request in (beside, alone, meant))


@apis
def test_a_call_that_somebody_answered_goes_back_with_what_it_said(api: str) -> None:
    request = build(api, USER, Turn((call(CUT),)), told("These are no arguments."))
    _, asked, answer = conversation(request)
    spelled = {
        "anthropic-messages": lambda: asked["content"][0]["input"],
        "openai-responses": lambda: json.loads(asked["arguments"]),
        "openai-chat": lambda: json.loads(asked["tool_calls"][0]["function"]["arguments"]),
    }[api]()
    assert spelled == {"arguments": CUT}
    assert "These are no arguments." in json.dumps(answer)


@apis
@pytest.mark.parametrize("arguments", ["", " ", "null"])
def test_a_whole_call_without_arguments_is_no_cut_one(api: str, arguments: str) -> None:
    request = build(api, USER, Turn((call(arguments),)))
    assert request.report == ()
    assert "get_weather" in json.dumps(request.body)


def test_arguments_that_are_an_object_stay_as_the_model_wrote_them() -> None:
    request = build("openai-chat", USER, Turn((call('{ "a" : 1 }'),)), told("4C"))
    assert conversation(request)[1]["tool_calls"][0]["function"]["arguments"] == '{ "a" : 1 }'


@pytest.mark.parametrize("api", ["openai-responses", "openai-chat"])
def test_free_text_that_cannot_be_read_is_free_text(api: str) -> None:
    free = call("*** Begin", ext={"type": "custom_tool_call"})
    request = build(api, USER, Turn((free,), Origin("openai", "openai-responses")), told("No."))
    asked = conversation(request)[1]
    assert (asked.get("input") or asked["tool_calls"][0]["custom"]["input"]) == "*** Begin"


def test_an_action_that_cannot_be_read_goes_back_as_a_function() -> None:
    action = call(CUT, ext={"type": "computer_call"})
    gpt = Origin("openai", "openai-responses", "m")
    _, asked, answer = conversation(build("openai-responses", USER, Turn((action,), gpt), told("No.")))
    assert (asked["type"], json.loads(asked["arguments"])) == ("function_call", {"arguments": CUT})
    assert answer == {"type": "function_call_output", "call_id": "c1", "output": "No."}


def test_a_forgotten_call_is_told_and_a_cut_one_is_not_counted() -> None:
    heard: list[str] = []
    build("openai-chat", USER, Turn((call("{}"), call(CUT, "c2"))), on_warning=heard.append)
    assert [sentence[:7] for sentence in heard] == ["1 call("]


# -- what a client really sends

KEYS = KeyRing({"k": bytes(32)})
LIMIT = [
    ReasoningDelta("Hm."),
    TextDelta("I will look."),
    ToolCallDelta("c1", "get_weather", CUT),
    CloseDelta(key="c1", status="incomplete"),
    FinishDelta("length"),
]


@apis
@pytest.mark.parametrize("front_end", [list, copilotkit, assistant_ui, tanstack])
@pytest.mark.parametrize(("visibility", "keys"), [("full", None), ("full", KEYS), ("hidden", KEYS)])
@pytest.mark.parametrize("thinks", [True, False])
@pytest.mark.parametrize("ending", ["finish", "fail", "cancel"])
def test_a_cut_call_comes_back_and_goes_nowhere(
    api: str, front_end: Any, visibility: Any, keys: Any, thinks: bool, ending: str
) -> None:
    options: dict[str, Any] = {"on_warning": lambda text: None}
    run = Run(
        {"threadId": "t", "runId": "r", "messages": []},
        api=api,
        provider=PROVIDERS[api],
        model="m",
        visibility=visibility,
        keys=keys,
        **options,
    )
    events = run.start()
    for delta in (LIMIT if thinks else LIMIT[1:])[: None if ending == "finish" else -2]:
        events += run.receive(delta)
    events += run.fail("It failed.") if ending == "fail" else getattr(run, ending)()
    held = [m.model_dump(mode="json", by_alias=True, exclude_none=True) for m in reduce_events(events)]
    history = restore(front_end([USER.model_dump(mode="json"), *held]), keys=keys, thread_id="t")
    (restored,) = [p for turn in history.turns for p in turn.parts if isinstance(p, ToolCallPart)]
    assert restored.status == "incomplete"
    request = build(api, *history.items)
    assert "get_weather" not in json.dumps(request.body)
    assert check_end(api, request.body) == []
    assert ("c1", "dropped", "incomplete") in [(e.unit, e.outcome, e.reason) for e in request.report]


@apis
def test_a_client_that_stopped_inside_a_call_holds_no_envelope_that_says_so(api: str) -> None:
    spoken = {"name": "get_weather", "arguments": CUT}
    stopped = {
        "id": "a",
        "role": "assistant",
        "content": "I will look.",
        "toolCalls": [{"id": "c1", "type": "function", "function": spoken}],
    }
    history = restore([{"id": "u", "role": "user", "content": "Weather?"}, stopped])
    request = build(api, *history.items)
    assert "get_weather" not in json.dumps(request.body)
    assert check_end(api, request.body) == []


def test_the_agent_may_still_answer_what_cannot_be_read() -> None:
    """A call of the run before that waits for somebody is not decided on when the history is read."""
    spoken = {"name": "get_weather", "arguments": CUT}
    waiting = {
        "id": "a",
        "role": "assistant",
        "toolCalls": [{"id": "c1", "type": "function", "function": spoken}],
    }
    history = restore([{"id": "u", "role": "user", "content": "Weather?"}, waiting])
    request = build("openai-chat", *history.with_items([told("These are no arguments.")]).items)
    assert conversation(request)[1]["tool_calls"][0]["id"] == "c1"


# -- blocks that only their producer reads

COMPACTION = NativePart(
    "openai.compaction", {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA"}
)
GPT = Origin("openai", "openai-responses", "m")


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-chat"])
def test_a_compacted_conversation_that_cannot_go_is_reported_and_warned_about(api: str) -> None:
    heard: list[str] = []
    turn = Turn((COMPACTION, TextPart("Yes.")), GPT, "resp_1")
    request = build(api, USER, turn, UserMessage(id="v", content="Go on."), on_warning=heard.append)
    assert [(e.unit, e.outcome, e.reason) for e in request.report] == [
        ("resp_1:0", "dropped", "native_foreign")
    ]
    assert heard == [
        "1 block(s) cannot be sent to this target (openai.compaction); their content is left out, "
        "and with it the conversation that was compacted."
    ]
    assert request.lost == ()


def test_a_block_that_goes_back_is_reported_too() -> None:
    turn = Turn((COMPACTION, TextPart("Yes.")), GPT, "resp_1")
    request = build("openai-responses", USER, turn, USER)
    assert [(e.unit, e.outcome) for e in request.report] == [("resp_1:0", "echoed")]
    assert COMPACTION.payload in conversation(request)
    assert (
        build("openai-responses", USER, turn, USER, previous_response_id="resp_1").report[0].reason
        == "on_server"
    )


def test_a_block_of_the_targets_own_that_has_no_place_is_warned_about() -> None:
    audio = NativePart("openai_chat.audio", {"type": "audio"})
    own = Origin("deepseek", "openai-chat", "m")
    with pytest.warns(AGUIReasoningWarning, match=r"1 block\(s\) cannot .*openai_chat.audio.*left out\.$"):
        request = build("openai-chat", USER, Turn((audio, TextPart("Yes.")), own), USER, on_warning=None)
    assert [entry.reason for entry in request.report] == ["no_place"]
