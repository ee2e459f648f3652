"""Conversations that a provider holds: Anthropic's message threads, and what happens when one is gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import pytest
from ag_ui.core import SystemMessage, ToolMessage, UserMessage

from agui_reasoning import (
    ConfigurationError,
    Conversation,
    ModelStream,
    ProviderError,
    ProviderRequest,
    Run,
    build_request,
    run_agent,
)
from agui_reasoning.audit import AuditRecord
from agui_reasoning.parts import EffortChange, Origin, TextPart, ToolCallPart, Turn
from agui_reasoning.providers import decoder
from agui_reasoning.request import History
from tests.support.strict_providers.anthropic_features import Threads, named_betas
from tests.unit.driver.test_recovery import refusing, served
from tests.unit.gateway.provider import Reply
from tests.unit.request.test_anthropic_boundaries import (
    ARGUMENTS,
    CLAUDE,
    MIXED,
    SIGNED,
    Json,
    blocks,
    calling,
    message,
    said,
    streamed,
    thinking,
)

TOOL: Json = {"name": "get_weather", "description": "Weather", "input_schema": {"type": "object"}}
ANSWERS = [
    message(thinking("Look.", "SIG1"), calling("toolu_1"), reason="tool_use"),
    message(thinking("Rain.", "SIG2"), said("Umbrella."), name="msg_2"),
    message(thinking("Sure.", "SIG3"), said("Yes."), name="msg_3"),
]


class Claude:
    """A Claude that holds conversations, and refuses what the API refuses."""

    def __init__(self, *answers: Json) -> None:
        self.answers = list(answers or ANSWERS)
        self.threads = Threads()
        self.asked: list[Json] = []
        self.refused: list[str | None] = []

    def __call__(self, request: ProviderRequest) -> Iterator[Json]:
        body = request.body
        self.asked.append(body)
        before = list(self.threads.held.get((body.get("thread") or {}).get("previous_message_id", ""), ()))
        if (refusal := self.threads.refuse(body)) is not None:
            status, words, code = refusal
            self.refused.append(code or words)
            raise ProviderError(provider_message=words, provider_code=code, status_code=status)
        answer = self.answers.pop(0)
        if body.get("thread"):
            self.threads.hold(body, before, answer["id"], answer["content"])
        return streamed(answer)


class Played:
    """One run of a thread."""

    def __init__(self, thread: Conversation, claude: Any, question: str | None, **options: Any) -> None:
        self.warnings: list[str] = []
        self.records: list[AuditRecord] = []
        run = Run(
            thread.run_input(question),
            **ARGUMENTS,
            on_warning=self.warnings.append,
            on_audit=self.records.append,
        )

        def agent(run: Run) -> Iterator[ModelStream]:
            last = run.history.turns[-1].id if run.history.turns else None
            given = {"store": True, "apply_flags": True, "previous_response_id": last}
            yield ModelStream(claude, system="Be brief.", tools=[TOOL], **(given | options))

        self.events = list(run_agent(run, agent))
        for event in self.events:
            thread.receive(event)
        self.last = self.events[-1]

    @property
    def refusals(self) -> list[tuple[str, str]]:
        return [(record.outcome, record.reason) for record in self.records if record.action == "refused"]


def test_a_thread_is_created_and_continued_through_a_tool_loop() -> None:
    claude, thread = Claude(), Conversation("t")
    Played(thread, claude, "Weather in Oslo?")
    thread.add_tool_result("toolu_1", "4C, rain")
    Played(thread, claude, None)
    Played(thread, claude, "Sure?")
    assert claude.refused == []
    assert [body["thread"] for body in claude.asked] == [
        {"type": "create"},
        {"type": "continue", "previous_message_id": "msg_1"},
        {"type": "continue", "previous_message_id": "msg_2"},
    ]
    assert [blocks(body) for body in claude.asked] == [[["text"]], [["tool_result"]], [["text"]]]
    assert [{"system", "tools"} & set(body) for body in claude.asked] == [{"system", "tools"}, set(), set()]
    assert all("message-threads-2026-08-12" in named_betas(body) for body in claude.asked)


def test_a_thread_that_is_gone_is_rebuilt_from_the_history() -> None:
    claude, thread = Claude(), Conversation("t")
    Played(thread, claude, "Weather in Oslo?")
    thread.add_tool_result("toolu_1", "4C, rain")
    claude.threads.held.clear()
    played = Played(thread, claude, None)
    assert claude.refused == ["thread_not_found"]
    assert played.refusals == [("asked_again", "thread_gone")]
    assert "it is asked once more, with the whole conversation" in played.warnings[0]
    rebuilt = claude.asked[-1]
    assert rebuilt["thread"] == {"type": "create"}
    assert (rebuilt["system"], rebuilt["tools"]) == ("Be brief.", [TOOL])
    assert blocks(rebuilt) == [["text"], ["thinking", "tool_use"], ["tool_result"]]
    Played(thread, claude, "Sure?")
    assert claude.asked[-1]["thread"] == {"type": "continue", "previous_message_id": "msg_2"}
    assert claude.refused == ["thread_not_found"]


def test_a_rebuilt_thread_goes_on_within_the_run() -> None:
    claude, thread = Claude(), Conversation("t")
    Played(thread, claude, "Weather in Oslo?")
    thread.add_tool_result("toolu_1", "4C, rain")
    claude.threads.held.clear()

    def agent(run: Run) -> Iterator[ModelStream]:
        for _ in range(2):
            last = run.history.turns[-1].id
            yield ModelStream(claude, apply_flags=True, previous_response_id=last)

    run = Run(thread.run_input(), **ARGUMENTS, on_warning=lambda text: None)
    list(run_agent(run, agent))
    threads = [body["thread"]["type"] for body in claude.asked]
    assert threads == ["create", "continue", "create", "continue"]


def test_without_threads_the_whole_conversation_is_sent() -> None:
    claude, thread = Claude(), Conversation("t")
    claude.threads.unsupported = True
    played = Played(thread, claude, "Weather in Oslo?")
    assert played.refusals == [("asked_again", "thread_unsupported")]
    assert "thread" not in claude.asked[-1]


def test_without_its_header_a_thread_is_refused_and_not_used() -> None:
    claude, thread = Claude(), Conversation("t")
    played = Played(thread, claude, "Weather in Oslo?", apply_flags=False)
    assert played.refusals == [("asked_again", "thread_unsupported")]
    assert blocks(claude.asked[-1]) == [["text"]]


def test_a_refusal_without_a_thread_is_not_asked_again() -> None:
    def refuse(request: ProviderRequest) -> Any:
        raise ProviderError(provider_message="gone", provider_code="thread_not_found", status_code=404)

    played = Played(Conversation("t"), refuse, "Hi", store=None, previous_response_id=None)
    assert played.refusals == [("failed", "thread_gone")]


def history(*after: Any) -> History:
    call = ToolCallPart("toolu_1", "get_weather", "{}", origin=CLAUDE)
    return History(
        (
            SystemMessage(id="s", content="Be kind."),
            UserMessage(id="u", content="Weather?"),
            EffortChange("low"),
            Turn((call,), CLAUDE, "msg_1"),
            ToolMessage(id="r", tool_call_id="toolu_1", content="4C"),
            *after,
        )
    )


def build(given: History, **options: Any) -> ProviderRequest:
    options.setdefault("previous_response_id", "msg_1")
    target = {"provider": "anthropic", "model": "claude-opus-5"}
    return build_request("anthropic-messages", given, **(target | options))


def test_only_what_is_new_is_sent() -> None:
    made = build(history(UserMessage(id="u2", content="Well?")), system="Be brief.", tools=[TOOL])
    assert {name: value for name, value in made.body.items() if name != "extra_headers"} == {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4C"},
                    said("Well?"),
                ],
            }
        ],
        "thread": {"type": "continue", "previous_message_id": "msg_1"},
    }
    [header] = [flag for flag in made.flags if flag.name == "extra_headers"]
    assert "message-threads-2026-08-12" in header.value["anthropic-beta"].split(",")


def test_new_instructions_of_a_thread_follow_the_user() -> None:
    made = build(history(SystemMessage(id="s2", content="Be quick.")))
    assert [each["role"] for each in made.body["messages"]] == ["user", "system"]


def test_instructions_that_a_thread_cannot_take_are_reported() -> None:
    warned: list[str] = []
    given = History(
        (
            UserMessage(id="u", content="Hi."),
            Turn((TextPart("Hi."),), CLAUDE, "msg_1"),
            SystemMessage(id="s2", content="Be quick."),
            UserMessage(id="u2", content="Well?"),
        )
    )
    made = build(given, on_warning=warned.append)
    assert [each["role"] for each in made.body["messages"]] == ["user"]
    assert any("cannot be added to a thread" in text for text in warned)


@pytest.mark.parametrize("options", [{"store": True, "previous_response_id": None}, {}])
@pytest.mark.parametrize("provider", ["bedrock", "google-vertex", "deepseek"])
def test_other_providers_are_not_known_to_have_threads(provider: str, options: Json) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build(history(), provider=provider, **options)
    assert caught.value.code == "wrong_option"


def test_nothing_is_stored_unless_asked_for() -> None:
    for store in (None, False):
        assert "thread" not in build(history(), store=store, previous_response_id=None).body


def test_the_sdk_of_anthropic_rebuilds_a_thread() -> None:
    thread = Conversation("t")
    Played(thread, Claude(), "Weather in Oslo?")
    thread.add_tool_result("toolu_1", "4C, rain")
    gone = refusing("gone", 404, details={"error_code": "thread_not_found"})
    pieces = [
        f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in streamed(ANSWERS[1])
    ]
    with served(gone, Reply(pieces)) as (url, provider):
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        ask: Callable[[ProviderRequest], Any] = lambda request: client.beta.messages.create(  # noqa: E731
            **request.merged({"model": "claude-opus-5", "max_tokens": 2048, "stream": True})
        )
        played = Played(thread, ask, None)
        client.close()
    assert played.last.type.value == "RUN_FINISHED"
    first, second = provider.asked
    assert first.body["thread"] == {"type": "continue", "previous_message_id": "msg_1"}
    assert second.body["thread"] == {"type": "create"}
    assert "message-threads-2026-08-12" in second.headers["anthropic-beta"]
    assert len(second.body["messages"]) == 3


@pytest.mark.parametrize("whole", [MIXED, message(SIGNED, said("Rain."))])
def test_the_sdk_of_anthropic_gives_the_same_deltas(whole: Json) -> None:
    pieces = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in streamed(whole)]
    read = decoder("anthropic-messages", provider="anthropic")
    plain = decoder("anthropic-messages", provider="anthropic")
    with served(Reply(pieces)) as (url, _):
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        stream = client.beta.messages.create(
            model="claude-opus-5", max_tokens=9, stream=True, messages=[{"role": "user", "content": "Hi"}]
        )
        found = [delta for event in stream for delta in read.receive(event)]
        client.close()
    assert found == [delta for payload in streamed(whole) for delta in plain.receive(payload)]


GPT = Origin("openai", "openai-responses", "gpt-5.6")


@pytest.mark.parametrize(
    "error",
    [
        {"provider_message": "Previous response with id 'resp_1' not found."},
        {"provider_message": "gone", "provider_code": "previous_response_not_found"},
        {"provider_message": "Unsupported parameter: previous_response_id"},
    ],
)
def test_a_response_that_openai_does_not_have_is_replaced_by_the_conversation(error: Json) -> None:
    asked: list[Json] = []
    items = history(UserMessage(id="u2", content="Well?")).items

    def ask(request: ProviderRequest) -> Any:
        asked.append(request.body)
        if len(asked) == 1:
            raise ProviderError(status_code=400, **error)
        return iter([])

    call = ToolCallPart("toolu_1", "get_weather", "{}", origin=GPT)
    given = History((items[1], Turn((call,), GPT, "resp_1"), *items[4:]))
    run = Run(
        {"threadId": "t", "runId": "r", "messages": []},
        api=GPT.api,
        provider=GPT.provider,
        model=GPT.model,
        on_warning=lambda text: None,
    )
    stream = ModelStream(ask, history=given, previous_response_id="resp_1")
    list(run_agent(run, lambda run: iter([stream])))
    assert asked[0]["previous_response_id"] == "resp_1"
    assert "previous_response_id" not in asked[1]
    assert asked[1]["store"] is False
    assert [item.get("type", "message") for item in asked[1]["input"]] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]
