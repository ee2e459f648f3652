"""Pydantic AI agents run inside a run, and their providers get everything back."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

pydantic_ai: Any = pytest.importorskip("pydantic_ai", reason="Pydantic AI has its own environment")

from ag_ui.core import StateDeltaEvent, StateSnapshotEvent  # noqa: E402
from pydantic_ai import (  # noqa: E402
    DeferredToolRequests,
    RunContext,
    Tool,
    ToolReturn,
    messages,
)

from agui_reasoning import Conversation, Run, reduce_events  # noqa: E402
from agui_reasoning import run_agent as run_sync  # noqa: E402
from agui_reasoning.interop import pydantic_ai as adapter  # noqa: E402
from tests.frameworks import failures, memory, pages  # noqa: E402
from tests.frameworks.approvals import (  # noqa: E402
    Asked,
    check_approvals,
    check_words_beside,
    check_wrong_answer,
    decide,
)
from tests.frameworks.claude import CLAUDE, Blocks, Claude, call, text, thinking  # noqa: E402
from tests.frameworks.client_fields import check_client_fields  # noqa: E402
from tests.frameworks.front_end_tools import check_front_end_tools, check_interleaved  # noqa: E402
from tests.frameworks.front_end_tools import look as look_at  # noqa: E402
from tests.frameworks.threads import (  # noqa: E402
    FORECAST,
    OPTIONS,
    PIXEL,
    QUESTIONS,
    Agent,
    Thread,
    abandoned,
    answered,
    asked_once,
    origin_of,
    played,
    replayed,
    talked,
    with_keys,
)
from tests.support.lines import calls, lines, says, thinks  # noqa: E402

PNG = base64.b64encode(PIXEL).decode()
ANTHROPIC, RESPONSES, CHAT, GEMINI = "anthropic-weather", "openai-weather", "chat-weather", "gemini-weather"
ARTIFACTS = {ANTHROPIC: [0, 4, 6], RESPONSES: [0, 6, 10], CHAT: [0, 2, 3], GEMINI: [0, 2, 3]}


def model_at(url: str, script: str) -> Any:
    """The model of Pydantic AI for a script."""
    if script == ANTHROPIC:
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
        return AnthropicModel("claude-sonnet-4-6", provider=AnthropicProvider(anthropic_client=client))
    if script == GEMINI:
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel("gemini-3-flash-preview", provider=GoogleProvider(api_key="none", base_url=url))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.deepseek import DeepSeekProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    openai = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    if script == RESPONSES:
        return OpenAIResponsesModel("gpt-5.6-sol", provider=OpenAIProvider(openai_client=openai))
    return OpenAIChatModel("deepseek-v4-flash", provider=DeepSeekProvider(openai_client=openai))


def claude_at(url: str) -> Any:
    """The model of a scripted Claude."""
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel("first", provider=AnthropicProvider(base_url=url, api_key="none"))


def get_forecast(place: str, hours: int) -> Any:
    """Weather forecast of a place for the next hours."""
    return FORECAST


def framework_agent(url: str, script: str, tool: Any = get_forecast) -> Any:
    return pydantic_ai.Agent(model_at(url, script), instructions="Be brief.", tools=[tool])


def running(made: Any) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield adapter.stream(made.run_stream_events(message_history=adapter.message_history(run)))

    return agent


def agent_at(script: str, tool: Any = get_forecast) -> Any:
    return lambda url: running(framework_agent(url, script, tool))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("script", ARTIFACTS)
def test_everything_comes_back(script: str, options: dict[str, Any]) -> None:
    thread = played(script, agent_at(script), **options)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == ARTIFACTS[script]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


@pytest.mark.parametrize("failure", [*failures.FAILURES, failures.IN_STREAM], ids=failures.name_of)
def test_a_failure_of_the_provider_is_told_as_without_the_framework(
    failure: failures.Failure, caplog: pytest.LogCaptureFixture
) -> None:
    failures.check(failure, agent_at(ANTHROPIC), caplog, **CLAUDE)


def look(place: str, hours: int) -> Any:
    """Weather forecast of a place for the next hours."""
    return ["A map.", pydantic_ai.BinaryContent(PIXEL, media_type="image/png")]


def look_only(place: str, hours: int) -> Any:
    """Weather forecast of a place for the next hours."""
    return pydantic_ai.BinaryContent(PIXEL, media_type="image/png")


look.__name__ = look_only.__name__ = "get_forecast"


@pytest.mark.parametrize("tool", [look, look_only], ids=["beside text", "alone"])
@pytest.mark.parametrize("script", [ANTHROPIC, RESPONSES])
def test_an_image_that_a_tool_returns_comes_back(script: str, tool: Any) -> None:
    thread = played(script, agent_at(script, tool))
    (first,), (second,) = thread.results(2), thread.results(3)
    assert second == first
    assert json.dumps(first).count(PNG) == 1
    assert (thread.missing(3), thread.findings, thread.refusals) == ([], [], [])


@pytest.mark.parametrize("tool", [look, look_only], ids=["beside text", "alone"])
@pytest.mark.parametrize("script", [CHAT, GEMINI])
def test_the_type_and_size_of_an_image_come_back_where_results_are_text(script: str, tool: Any) -> None:
    thread = played(script, agent_at(script, tool))
    (told,) = thread.results(3)
    assert f"(Not sent in a tool result: image/png, {len(PIXEL)} bytes.)" in json.dumps(told)
    assert PNG not in json.dumps(thread.requests[2])
    assert (thread.missing(2), thread.findings) == ([], [])


def test_a_prompt_that_follows_a_result_is_part_of_it() -> None:
    def tool(place: str, hours: int) -> Any:
        """Weather forecast of a place for the next hours."""
        shown = pydantic_ai.ImageUrl("https://example.org/a")
        return pydantic_ai.ToolReturn(FORECAST, content=["The map:", shown])

    tool.__name__ = "get_forecast"
    thread = played(ANTHROPIC, agent_at(ANTHROPIC, tool))
    (told,) = thread.results(3)
    source = {"type": "url", "url": "https://example.org/a"}
    assert told["content"] == [
        {"type": "text", "text": FORECAST},
        {"type": "text", "text": "The map:"},
        {"type": "image", "source": source},
    ]


ran: list[str] = []


def forecast_of_one(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    ran.append(place)
    return FORECAST


forecast_of_one.__name__ = "get_forecast"


def asking(weather: Any) -> Agent:
    async def agent(run):
        answers = adapter.resume(run)  # None unless the user answered
        history = adapter.message_history(run, deferred_tool_results=answers)
        options = {"message_history": history, "deferred_tool_results": answers}
        yield adapter.stream(weather.run_stream_events(**options))

    return agent


def asking_at(url: str, script: str) -> Agent:
    """An agent whose tool needs the approval of the user."""
    tool = Tool(forecast_of_one, requires_approval=True)
    output = [str, DeferredToolRequests]
    return asking(pydantic_ai.Agent(model_at(url, script), tools=[tool], output_type=output))


async def decided(thread: Thread, agent: Agent, options: dict[str, Any], status: str) -> None:
    """Ask the first question, answer the interrupt, and ask the second one."""
    talk = thread.conversation
    thread.runs.append(await answered(talk, talk.run_input(QUESTIONS[0]), agent, options))
    assert talk.status == "interrupted"
    answer = {"status": status} | ({"payload": {"approved": True}} if status == "resolved" else {})
    resume = [{"interruptId": one.id, **answer} for one in talk.interrupts]
    thread.runs.append(await answered(talk, talk.run_input(resume=resume), agent, options))
    thread.runs.append(await answered(talk, talk.run_input(QUESTIONS[1]), agent, options))
    assert talk.status == "finished"


@pytest.mark.parametrize("status", ["resolved", "cancelled"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("script", ARTIFACTS)
def test_the_user_decides_on_a_call_between_two_runs(
    script: str, options: dict[str, Any], status: str
) -> None:
    ran.clear()
    asked = origin_of(script) | with_keys(options)
    with replayed(script) as (url, thread):
        anyio.run(decided, thread, asking_at(url, script), asked, status)
    assert ran == (["Bergen"] if status == "resolved" else [])
    assert [len(thread.values(number)) for number in (1, 2, 3)] == ARTIFACTS[script]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])
    (result,) = [event for run in thread.runs for event in run if event.type == "TOOL_CALL_RESULT"]
    denied = "The user did not decide."
    assert result.content == (FORECAST if status == "resolved" else denied)
    assert result in thread.runs[1]
    assert thread.results(2) == thread.results(3)


def sending_at(url: str, tool: Asked) -> Agent:
    model = claude_at(url)
    tools = [look_at, Tool(tool.send, requires_approval=True)]

    async def agent(run: Run) -> AsyncIterator[Any]:
        weather = pydantic_ai.Agent(
            model, tools=tools, toolsets=[adapter.toolset(run)], output_type=[str, DeferredToolRequests]
        )
        async for item in asking(weather)(run):
            yield item

    return agent


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_user_decides_on_each_call(options: dict[str, Any]) -> None:
    check_approvals(sending_at, options)


def deferring(kind: str) -> Any:
    """A tool whose result comes from outside."""

    def look() -> str:
        raise pydantic_ai.CallDeferred({"colours": ["red", "blue"]}, kind=kind)

    return look


def tool_agent_at(tool: Any) -> Callable[[str], Agent]:
    """An agent whose tool may ask."""
    output = [str, DeferredToolRequests]
    return lambda url: asking(pydantic_ai.Agent(claude_at(url), tools=[tool], output_type=output))


def test_the_answer_to_a_question_is_the_result_of_the_call() -> None:
    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Paint it."), agent, CLAUDE)
        (one,) = conversation.interrupts
        assert (one.id, one.tool_call_id, one.reason) == ("question:toolu_1", "toolu_1", "input_required")
        assert (one.metadata, one.response_schema) == ({"colours": ["red", "blue"]}, None)
        await decide(conversation, agent, CLAUDE, {"toolu_1": "blue"})

    claude = Claude({"first": [ASKS, [text("It is.")]]})
    assert talked(claude, tool_agent_at(deferring("question")), talk).status == "finished"
    assert claude.requests[1]["messages"][1]["content"] == ASKS
    (result,) = claude.requests[1]["messages"][2]["content"]
    assert result["content"] == [text("blue")]


def test_the_result_of_an_external_call_comes_with_the_next_input() -> None:
    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Paint it."), agent, CLAUDE)
        assert (conversation.status, conversation.interrupts) == ("finished", [])
        conversation.add_tool_result("toolu_1", "blue")
        await answered(conversation, conversation.run_input(), agent, CLAUDE)

    claude = Claude({"first": [ASKS, [text("It is.")]]})
    assert talked(claude, tool_agent_at(deferring("external")), talk).status == "finished"
    (result,) = claude.requests[1]["messages"][2]["content"]
    assert result["content"] == [text("blue")]


def test_what_the_user_writes_with_the_answer_reaches_the_model_before_the_call() -> None:
    check_words_beside(sending_at)


@pytest.mark.parametrize("payload", [True, {"approved": "yes"}, {"approved": True, "editedArgs": "b"}])
def test_an_answer_of_another_form_fails_the_run(payload: Any) -> None:
    check_wrong_answer(sending_at, payload)


def test_an_answer_that_comes_after_the_model_went_on_is_ignored() -> None:
    history: list[dict[str, Any]] = [
        *HISTORY[1:3],
        *HISTORY[4:],
        {"id": "b", "role": "assistant", "content": "Fine."},
    ]
    late = {"interruptId": "call_1", "status": "resolved", "payload": {"approved": True}}
    warnings: list[str] = []
    run = Run(run_input(history) | {"resume": [late]}, on_warning=warnings.append, **CLAUDE)
    assert adapter.resume(run) is None
    assert warnings == ["1 answer(s) to interrupts came after the model went on, and are ignored."]


def test_the_agent_runs_no_call_that_the_client_invented() -> None:
    ran.clear()
    run = Run(
        run_input([*HISTORY[:1], *LONG[:4]]) | {"resume": [{"interruptId": "c1", "status": "resolved"}]},
        api="anthropic-messages",
        provider="anthropic",
        model="m",
    )

    async def asked(url: str) -> None:
        tools = [forecast_of_one]
        history = adapter.message_history(run)
        with suppress(pydantic_ai.exceptions.ModelHTTPError):
            await pydantic_ai.Agent(model_at(url, ANTHROPIC), tools=tools).run(message_history=history)

    with replayed(ANTHROPIC) as (url, thread):
        anyio.run(asked, url)
    assert ran == []
    told = [{"type": "text", "text": "No result: the call was not answered."}]
    assert [one["content"] for one in thread.results(1)] == [told, told]


def delegating(url: str, delegate: Any) -> Any:
    """An agent whose tool asks another agent."""
    made = pydantic_ai.Agent(model_at(url, ANTHROPIC))

    @made.tool
    async def get_forecast(context: RunContext[None], place: str, hours: int) -> str:
        handler = adapter.subagent(context, "forecaster")
        await delegate.run(f"The weather in {place}?", event_stream_handler=handler)
        return FORECAST

    return made


@pytest.mark.parametrize("options", [{}, {"keys": True, "visibility": "hidden"}], ids=str)
def test_an_agent_that_a_tool_asks_is_a_subagent(options: dict[str, Any]) -> None:
    with replayed(ANTHROPIC) as (inner_url, inner):
        delegate = framework_agent(inner_url, ANTHROPIC)
        thread = played(ANTHROPIC, lambda url: running(delegating(url, delegate)), **options)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 4, 6]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])
    assert len(inner.requests) == 2
    events = thread.runs[0]
    lanes = [event for event in events if getattr(event, "subagent_run_id", None) is not None]
    started, *own, finished = lanes
    assert (started.type, started.name, finished.type) == (
        "SUBAGENT_STARTED",
        "forecaster",
        "SUBAGENT_FINISHED",
    )
    assert {event.subagent_run_id for event in own} == {started.subagent_run_id}
    answered = [event.subagent_run_id for event in events if event.type == "TOOL_CALL_RESULT"]
    assert answered == [started.subagent_run_id, None]
    before = [event.type for event in events[: events.index(started)]]
    assert before[-2:] == [
        "TOOL_CALL_END",
        "REASONING_ENCRYPTED_VALUE",
    ]  # the response ends before its tools run


def test_a_delegate_that_asks_a_delegate_is_its_subagent() -> None:
    def at(url: str) -> Agent:
        async def agent(run: Run) -> AsyncIterator[Any]:
            inner = delegating(second, framework_agent(third, ANTHROPIC))
            yield adapter.stream(delegating(url, inner).run_stream_events("Do I need an umbrella?"))

        return agent

    with replayed(ANTHROPIC) as (second, _), replayed(ANTHROPIC) as (third, _):
        thread = played(ANTHROPIC, at)
    (outer, inner) = [event for event in thread.runs[0] if event.type == "SUBAGENT_STARTED"]
    assert (outer.parent_subagent_run_id, inner.parent_subagent_run_id) == (None, outer.subagent_run_id)
    assert thread.findings == []


def test_a_reader_that_leaves_stops_the_agent() -> None:
    assert len(abandoned(ANTHROPIC, agent_at(ANTHROPIC)).requests) == 1


def test_arguments_of_parallel_calls_that_alternate_stay_apart() -> None:
    parts = [messages.ToolCallPart("look", "", tool_call_id=f"call_{number}") for number in (1, 2)]
    events = [messages.PartStartEvent(index=index, part=part) for index, part in enumerate(parts)]
    for index, piece in ((0, '{"a":'), (1, '{"b":'), (0, "1}"), (1, "2}")):
        events.append(
            messages.PartDeltaEvent(index=index, delta=messages.ToolCallPartDelta(args_delta=piece))
        )
    events += [messages.PartEndEvent(index=index, part=part) for index, part in enumerate(parts)]
    run = Run(run_input([]), api="openai-chat", provider="deepseek", model="m")
    shown = list(run_sync(run, lambda run: iter([adapter.stream(events)])))
    calls = [call for message in reduce_events(shown) for call in getattr(message, "tool_calls", None) or ()]
    assert [(call.id, call.function.arguments) for call in calls] == [
        ("call_1", '{"a":1}'),
        ("call_2", '{"b":2}'),
    ]


ASKS: Blocks = [thinking("I do not know."), text("I look."), call("toolu_1", "look")]


def asked(claude: Claude, tool: Any) -> tuple[list[Any], Conversation]:
    """What an agent shows of one question, and the client's conversation."""
    return asked_once(claude, lambda url: running(pydantic_ai.Agent(claude_at(url), tools=[tool])), CLAUDE)


SHOWN = [
    *thinks(1, "I do not know."),
    *says(3, "I look."),
    *calls(4, "look", "{}"),
    "reasoning_encrypted_value 2",
]


def test_a_call_whose_tool_raises_is_complete() -> None:
    def look() -> str:
        raise RuntimeError("The lamp is broken.")

    claude = Claude({"first": [ASKS]})
    events, conversation = asked(claude, look)
    assert (lines(events), events[-1].type) == (SHOWN, "RUN_ERROR")
    messages = claude.takes(Run(conversation.run_input("And now?"), **CLAUDE))
    untold = "No result: the call was not answered."
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": untold, "is_error": True}
    assert messages == [
        {"role": "user", "content": [text("Look.")]},
        {"role": "assistant", "content": ASKS},
        {"role": "user", "content": [result, text("And now?")]},
    ]


def test_the_end_of_a_run_has_its_token_counts() -> None:
    def look() -> str:
        return "It is so."

    events, _ = asked(Claude({"first": [ASKS, [text("It is.")]]}), look)
    assert lines(events) == [
        *SHOWN,
        "tool_call_result 5 4 | It is so.",
        *says(6, "It is."),
    ]
    (usage,) = events[-1].usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (20, 40, 60)


IMAGE = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
LINKED = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}
HISTORY = [
    {"id": "s", "role": "system", "content": "Be brief."},
    {"id": "u", "role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE, LINKED]},
    {
        "id": "a",
        "role": "assistant",
        "content": "I look.",
        "toolCalls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"id": "t", "role": "tool", "toolCallId": "call_1", "content": "Too dark.", "error": "Too dark."},
    {"id": "v", "role": "user", "content": "And now?"},
]
APIS = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai",
    "openai-chat": "deepseek",
    "gemini": "google",
}


@pytest.mark.parametrize("api", APIS)
def test_a_history_becomes_model_messages(api: str) -> None:
    run = Run(run_input(HISTORY), api=api, provider=APIS[api], model="m")
    history = adapter.message_history(run)
    kinds = [[part.part_kind for part in message.parts] for message in history]
    if api == "openai-chat":
        kinds[2].remove("thinking")  # DeepSeek wants the field in every answer, even if it is empty
    assert kinds == [
        ["system-prompt"],
        ["user-prompt"],
        ["text", "tool-call"],
        ["tool-return"],
        ["user-prompt"],
    ]
    seen = history[1].parts[0].content
    kept = [type(part).__name__ for part in seen]
    assert kept in (["str", "BinaryContent", "ImageUrl"], ["str", "BinaryImage", "ImageUrl"])
    (result,) = history[3].parts
    assert (result.tool_name, result.content, result.tool_call_id) == ("look", "Too dark.", "call_1")
    assert result.outcome == ("failed" if api in ("anthropic-messages", "gemini") else "success")
    assert history[-1].parts[0].content == "And now?"


PAPER = {"type": "document", "source": {"type": "url", "value": "https://example.com/a.pdf"}}
BARE = {"type": "document", "source": {"type": "url", "value": "https://example.com/a"}}
SCAN = {"type": "document", "source": {"type": "data", "value": "AAAA", "mimeType": "application/pdf"}}
STORED = {"type": "document", "source": {"type": "file", "value": "file_1"}}
CALL = {"type": "function", "function": {"name": "get_forecast", "arguments": '{"place":"Oslo","hours":1}'}}
LONG = [
    {
        "id": "u1",
        "role": "user",
        "content": [{"type": "text", "text": "Read"}, PAPER, BARE, SCAN, STORED, LINKED],
    },
    {"id": "u2", "role": "user", "content": "and"},
    {
        "id": "u3",
        "role": "user",
        "content": [{"type": "text", "text": "tell"}, {"type": "text", "text": "me."}],
    },
    {
        "id": "a",
        "role": "assistant",
        "content": "I look.",
        "toolCalls": [{"id": "c1", **CALL}, {"id": "c2", **CALL}],
    },
    {
        "id": "t1",
        "role": "tool",
        "toolCallId": "c1",
        "content": [{"type": "text", "text": "A map."}, IMAGE, SCAN],
    },
    {"id": "t2", "role": "tool", "toolCallId": "c2", "content": [IMAGE], "error": "Too dark."},
    {"id": "u4", "role": "user", "content": "So?"},
]


@pytest.mark.parametrize(("script", "name"), [(ANTHROPIC, "messages"), (RESPONSES, "input")])
def test_the_framework_sends_what_the_history_says(script: str, name: str) -> None:
    async def asked(url: str) -> None:
        history = adapter.message_history(run)
        with suppress(pydantic_ai.exceptions.ModelHTTPError):
            await pydantic_ai.Agent(model_at(url, script)).run(message_history=history)

    api, provider = (
        ("anthropic-messages", "anthropic") if script == ANTHROPIC else ("openai-responses", "openai")
    )
    run = Run(run_input(LONG), api=api, provider=provider, model="m")
    with replayed(script) as (url, thread):
        anyio.run(asked, url)
    sent = json.dumps(thread.requests[0][name])
    for own, ours in ((', "is_error": false', ""), ("filename.pdf", "document.pdf")):
        sent = sent.replace(own, ours)
    assert json.loads(sent) == run.request(tools=()).body[name]


def run_input(messages: list[dict[str, Any]]) -> dict[str, Any]:
    empty: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return {"threadId": "t", "runId": "r", "messages": messages, **empty}


OTHERS = {
    "bedrock-converse": "bedrock",
    "cohere-chat": "cohere",
    "gemini-interactions": "google",
    "litellm": "anthropic",
    "mistral-chat": "mistral",
    "ollama": "ollama",
    "xai-grpc": "xai",
}


@pytest.mark.parametrize("api", OTHERS)
def test_a_history_becomes_model_messages_for_every_api(api: str) -> None:
    told = [one for one in HISTORY if one["id"] != "u"]
    run = Run(
        run_input([{"id": "w", "role": "user", "content": "Look."}, *told]), api=api, provider=OTHERS[api]
    )
    user, system, answer, result, last = adapter.message_history(run)
    assert (user.parts[0].content, system.parts[0].content) == ("Look.", "Be brief.")
    *said, called = answer.parts  # Cohere's words before a call are its plan
    assert ("I look." in [part.content for part in said], called.tool_name) == (True, "look")
    (returned,) = result.parts
    assert (returned.tool_name, returned.content) == ("look", "Too dark.")
    assert returned.tool_call_id == called.tool_call_id
    assert last.parts[0].content == "And now?"


def whole_at(url: str) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        looker = pydantic_ai.Agent(claude_at(url), tools=[look_at])
        yield adapter.stream(looker.run(message_history=adapter.message_history(run)))

    return agent


def test_a_run_without_a_stream_has_its_parts_in_order() -> None:
    check_interleaved(whole_at)


@pytest.mark.parametrize("branch", memory.BRANCHES)
def test_edited_messages_are_followed(branch: str) -> None:
    memory.check_memory(lambda url: running(pydantic_ai.Agent(claude_at(url))), branch)


def test_what_a_client_sends_beside_its_messages_stays_with_the_agent() -> None:
    check_client_fields(painting_at)


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("pydantic_ai")


def test_the_page_shows_the_example() -> None:
    pages.check_page("pydantic_ai", None, "pydantic_ai")


def painting_at(url: str) -> Agent:
    model = claude_at(url)

    async def agent(run):
        painter = pydantic_ai.Agent(model, tools=[look_at], output_type=[str, DeferredToolRequests])
        history, toolset = adapter.message_history(run), adapter.toolset(run)
        yield adapter.stream(painter.run_stream_events(message_history=history, toolsets=[toolset]))

    return agent


def test_tools_of_the_front_end_stand_beside_those_of_the_agent() -> None:
    check_front_end_tools(painting_at)


STATE = StateSnapshotEvent(snapshot={"steps": []})


@dataclass(kw_only=True)
class Progress(pydantic_ai.CustomEvent):  # type: ignore[misc]
    done: int


def test_events_of_tools_pass_and_the_state_follows_them() -> None:
    async def look(context: RunContext[None]):
        await context.emit(Progress(done=1))
        step = StateDeltaEvent(delta=[{"op": "add", "path": "/steps/-", "value": "looked"}])
        return ToolReturn("It is so.", metadata=[STATE, step])

    events, conversation = asked(Claude({"first": [ASKS, [text("It is.")]]}), look)
    kinds = [event.type.value for event in events]
    (emitted,) = [event for event in events if event.type == "CUSTOM"]
    assert (emitted.name, emitted.value) == ("progress", {"done": 1})
    result = kinds.index("TOOL_CALL_RESULT")
    assert kinds[result : result + 3] == ["TOOL_CALL_RESULT", "STATE_SNAPSHOT", "STATE_DELTA"]
    assert conversation.state == {"steps": ["looked"]}


def test_thoughts_between_parallel_calls_keep_their_places() -> None:
    check_interleaved(painting_at)
