"""The OpenAI Agents SDK runs its loop inside a run, and its provider gets everything back."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

agents: Any = pytest.importorskip("agents", reason="the OpenAI Agents SDK has its own environment")
openai: Any = pytest.importorskip("openai")

from ag_ui.core import StateDeltaEvent  # noqa: E402

from agui_reasoning import Conversation, Run, check_events, reduce_events  # noqa: E402
from agui_reasoning.aio import run_agent  # noqa: E402
from agui_reasoning.gateway import local_server  # noqa: E402
from agui_reasoning.interop import openai_agents  # noqa: E402
from tests.frameworks import failures, front_end_tools, memory, pages  # noqa: E402
from tests.frameworks.approvals import CANCELLED, Asked, check_wrong_answer, decide, schema_of  # noqa: E402
from tests.frameworks.client_fields import check_client_fields  # noqa: E402
from tests.frameworks.responses import Items, Responses, function_call, message, reasoning  # noqa: E402
from tests.frameworks.threads import (  # noqa: E402
    FORECAST,
    OPTIONS,
    PIXEL,
    QUESTIONS,
    Agent,
    answered,
    asked_once,
    origin_of,
    played,
    replayed,
    talked,
    with_keys,
)

agents.set_tracing_disabled(True)

RESPONSES, CHAT = "openai-weather", "chat-weather"


@agents.function_tool
def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return FORECAST


def client_at(url: str) -> Any:
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def sdk_agent(client: Any, script: str = RESPONSES, **more: Any) -> Any:
    if script == CHAT:
        model = agents.OpenAIChatCompletionsModel("deepseek-v4-flash", client)
        settings = agents.ModelSettings()
    else:
        model = agents.OpenAIResponsesModel("gpt-5.6-sol", client)
        settings = agents.ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
    more = {"name": "Weather", "tools": [get_forecast], **more}
    return agents.Agent(model=model, model_settings=settings, **more)


def agent_at(url: str, script: str = RESPONSES, **more: Any) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        items = openai_agents.input_items(run)
        async with client_at(url) as client:
            yield openai_agents.stream(agents.Runner.run_streamed(sdk_agent(client, script, **more), items))

    return agent


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_responses_come_back_whole(options: dict[str, Any]) -> None:
    thread = played(RESPONSES, agent_at, **options)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 7, 10]
    assert (thread.missing(3), thread.findings) == ([], [])
    # Inside a run the SDK sends the items of `response.completed`, whose encrypted content has other bytes.
    assert set(thread.missing(2)) == {"encrypted content"}


@pytest.mark.parametrize("api", ["openai-responses", "openai-chat"])
def test_chat_models_get_their_reasoning_back(api: str) -> None:
    thread = played(CHAT, lambda url: agent_at(url, CHAT), api=api)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 2, 3]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


PNG = base64.b64encode(PIXEL).decode()


def look(place: str, hours: int) -> Any:
    """Weather forecast of a place for the next hours."""
    image = agents.ToolOutputImage(image_url=f"data:image/png;base64,{PNG}")
    return [agents.ToolOutputText(text="A map."), image]


def test_an_image_that_a_tool_returns_comes_back() -> None:
    tools = [agents.function_tool(look, name_override="get_forecast")]
    thread = played(RESPONSES, lambda url: agent_at(url, tools=tools))
    (first,), (second,) = thread.results(2), thread.results(3)
    assert second["output"][1].pop("detail") == "auto"  # the API's default
    assert (second["call_id"], second["output"]) == (first["call_id"], first["output"])
    assert json.dumps(second).count(PNG) == 1
    assert (thread.missing(3), thread.findings) == ([], [])


def test_the_sdk_gives_chat_models_the_text_of_results_only() -> None:
    tools = [agents.function_tool(look, name_override="get_forecast")]
    thread = played(CHAT, lambda url: agent_at(url, CHAT, tools=tools), api="openai-responses")
    assert thread.results(2) == thread.results(3)
    assert thread.results(3)[0]["content"] == [{"type": "text", "text": "A map."}]


def test_tool_outputs_stand_between_the_responses() -> None:
    thread = played(RESPONSES, agent_at)
    roles = [message.role for message in reduce_events(thread.runs[0])]
    assert roles == ["reasoning", "assistant", "tool", "reasoning", "assistant"]
    (result,) = [message for message in reduce_events(thread.runs[0]) if message.role == "tool"]
    assert result.content == FORECAST


def remembering(weather: Any, SESSIONS: Any) -> Agent:  # noqa: N803
    async def agent(run):
        session = agents.SQLiteSession(f"{run.tenant}/{run.input.thread_id}", SESSIONS)
        await session.clear_session()
        items = openai_agents.input_items(run)
        yield openai_agents.stream(agents.Runner.run_streamed(weather, items, session=session))

    return agent


def adding(weather: Any, SESSIONS: Any) -> Agent:  # noqa: N803
    async def agent(run: Run) -> AsyncIterator[Any]:
        session = agents.SQLiteSession(f"{run.tenant}/{run.input.thread_id}", SESSIONS)
        items = openai_agents.input_items(run)[-1:]
        yield openai_agents.stream(agents.Runner.run_streamed(weather, items, session=session))

    return agent


@pytest.mark.parametrize("kept", [remembering, adding])
def test_a_session_holds_the_conversation_once(kept: Any, tmp_path: Path) -> None:
    def at(url: str) -> Agent:
        client = client_at(url)
        return kept(sdk_agent(client), tmp_path / "sessions.db")

    thread = played(RESPONSES, at)
    kinds = [item.get("type", item.get("role")) for item in thread.requests[2]["input"]]
    answer = ["reasoning", "message"]
    assert kinds == ["user", "reasoning", "function_call", "function_call_output", *answer, "user"]
    ids = [item["id"] for item in thread.requests[2]["input"] if "id" in item]
    assert len(ids) == len(set(ids))
    assert thread.findings == []
    if kept is remembering:
        assert thread.missing(3) == []


ANSWERED: list[Items] = [
    [reasoning(number), {**message(f"Answer {number}."), "id": f"msg_{number}"}] for number in (1, 2, 3)
]


@pytest.mark.parametrize("branch", memory.BRANCHES)
def test_a_session_holds_what_the_client_has(branch: str, tmp_path: Path) -> None:
    provider = Responses(list(ANSWERED))
    with local_server(provider.app) as url:
        client = client_at(url)
        agent = remembering(sdk_agent(client, tools=[]), tmp_path / "sessions.db")
        anyio.run(memory.talked, agent, branch, OPENAI)
    expected: list[Any] = []
    for question, items in zip(memory.BRANCHES[branch][2], ANSWERED, strict=False):
        expected += [{"role": "user", "content": question}, *items]
    assert (provider.refused, provider.requests[2]["input"]) == ([], expected[:-2])


def test_a_reader_that_leaves_stops_the_run_of_the_sdk() -> None:
    async def leave(url: str) -> Any:
        async with client_at(url) as client:
            result = agents.Runner.run_streamed(sdk_agent(client), "Do I need an umbrella?")

            async def agent(run: Run) -> AsyncIterator[Any]:
                yield openai_agents.stream(result)

            run_input = thread.conversation.run_input("Do I need an umbrella?")
            events = run_agent(run_input, agent, provider="openai", model="gpt-5.6-sol")
            async for event in events:
                if event.type == "REASONING_MESSAGE_CONTENT":
                    break
            await events.aclose()
            await anyio.sleep(0.2)  # a run that went on would ask again
            return result

    with replayed(RESPONSES) as (url, thread):
        result = anyio.run(leave, url)
    assert result.is_complete
    assert len(thread.requests) == 1


@pytest.mark.parametrize("script", [RESPONSES, CHAT])
@pytest.mark.parametrize("failure", failures.FAILURES, ids=failures.name_of)
def test_a_failure_of_the_provider_is_told_as_without_the_framework(
    failure: failures.Failure, script: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6-sol"}
    failures.check(failure, lambda url: agent_at(url, script), caplog, **options)


def test_a_handoff_is_a_result_and_a_step() -> None:
    first, second = agents.Agent("Weather"), agents.Agent("Storms")
    output = {"type": "function_call_output", "call_id": "call_1", "output": '{"assistant": "Storms"}'}
    handed = agents.HandoffOutputItem(first, output, source_agent=first, target_agent=second)
    item = {"type": "function_call", "call_id": "call_1", "name": "transfer_to_storms", "arguments": "{}"}
    call = {"type": "response.output_item.done", "output_index": 0, "item": item}
    events = [
        agents.AgentUpdatedStreamEvent(first),
        agents.RawResponsesStreamEvent(call),
        agents.RawResponsesStreamEvent({"type": "response.completed", "response": {"id": "resp_1"}}),
        agents.RunItemStreamEvent("handoff_occured", handed),
        agents.AgentUpdatedStreamEvent(second),
    ]

    class Result:
        is_complete = True

        async def stream_events(self) -> AsyncIterator[Any]:
            for event in events:
                yield event

    async def run() -> list[Any]:
        async def agent(run: Run) -> AsyncIterator[Any]:
            yield openai_agents.stream(Result())

        run_input = Conversation("t").run_input("Storms?")
        shown = run_agent(
            run_input, agent, provider="openai", model="gpt-5.6-sol", new_id=iter("abcdef").__next__
        )
        return [event async for event in shown]

    made = [event.model_dump(exclude_none=True, mode="json") for event in anyio.run(run)]
    types = ["TOOL_CALL_RESULT", "STEP_STARTED", "STEP_FINISHED"]
    found = [{**event, "timestamp": 0} for event in made if event["type"] in types]
    assert [(event["type"], event.get("step_name"), event.get("content")) for event in found] == [
        ("TOOL_CALL_RESULT", None, '{"assistant": "Storms"}'),
        ("STEP_STARTED", "Storms", None),
        ("STEP_FINISHED", "Storms", None),
    ]


def handing_over(url: str) -> Agent:
    """The call of the first response is a handoff; another agent gives the second response."""

    async def agent(run: Run) -> AsyncIterator[Any]:
        async with client_at(url) as client:
            second = sdk_agent(client, name="Storms")
            handoff = agents.handoff(second, tool_name_override="get_forecast")
            first = sdk_agent(client, tools=[], handoffs=[handoff])
            yield openai_agents.stream(agents.Runner.run_streamed(first, openai_agents.input_items(run)))

    return agent


@pytest.mark.parametrize("options", [{}, {"keys": True, "visibility": "hidden"}], ids=str)
def test_what_came_before_and_after_a_handoff_goes_back(options: dict[str, Any]) -> None:
    thread = played(RESPONSES, handing_over, **options)
    steps = [[event.step_name for event in run if event.type == "STEP_STARTED"] for run in thread.runs]
    assert steps == [["Storms"], []]
    assert len(thread.values(3)) == 10
    assert (thread.missing(3), thread.findings) == ([], [])


def test_what_a_client_sends_beside_its_messages_stays_with_the_agent() -> None:
    check_client_fields(painting_at, provider=lambda: Responses([DONE]), options=OPENAI)


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("openai_agents")


def test_the_page_shows_the_example() -> None:
    pages.check_page("openai_agents", None, "openai_agents")


def painting_at(url: str) -> Agent:
    client = client_at(url)

    async def agent(run):
        items = openai_agents.input_items(run)
        painter = sdk_agent(client, tools=[look_at, *openai_agents.tools(run)])
        yield openai_agents.stream(agents.Runner.run_streamed(painter, items))

    return agent


look_at = agents.function_tool(front_end_tools.look)
OPENAI: dict[str, Any] = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6-sol"}
BOTH: Items = [
    reasoning(1),
    function_call("call_1", "look", at="page"),
    function_call("call_2", "paint", colour="red"),
]
ALONE: Items = [reasoning(2), function_call("call_3", "paint", colour="blue")]
DONE: Items = [reasoning(3), message("It is blue.")]


def output(call_id: str, told: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": told}


def test_tools_of_the_front_end_stand_beside_those_of_the_agent() -> None:
    provider, conversation = Responses([BOTH, ALONE, DONE]), Conversation("thread-1")
    with local_server(provider.app) as url:
        anyio.run(front_end_tools.paint, conversation, painting_at(url), OPENAI, ("call_2", "call_3"))
    assert provider.refused == []
    offered = {tool["name"]: tool["parameters"] for tool in provider.requests[0]["tools"]}
    assert ({*offered}, offered["paint"]["properties"]) == (
        {"look", "paint"},
        {"colour": front_end_tools.COLOUR},
    )
    sent = provider.takes(Run(conversation.run_input("And now?"), **OPENAI))
    assert sent == [
        {"role": "user", "content": "Paint it."},
        *BOTH,
        output("call_1", front_end_tools.SEEN),
        output("call_2", "Painted red."),
        *ALONE,
        output("call_3", "Painted blue."),
        *DONE,
        {"role": "user", "content": "And now?"},
    ]


def asking(weather: Any) -> Agent:
    async def agent(run):
        state = await openai_agents.resume(run, weather)  # None unless the user answered
        items = state or openai_agents.input_items(run)
        yield openai_agents.stream(agents.Runner.run_streamed(weather, items))

    return agent


LETTERS: Items = [
    reasoning(1),
    function_call("call_1", "send", text="a"),
    function_call("call_2", "look", at="page"),
    reasoning(2),
    function_call("call_3", "send", text="b"),
    function_call("call_4", "send", text="c"),
    function_call("call_5", "paint", colour="red"),
]
SENT: Items = [reasoning(3), message("Done.")]
DECISIONS = {
    "call_1": {"approved": True},
    "call_3": {"approved": False, "reason": "Not that one."},
    "call_4": None,
}
TOLD = {
    "call_1": "Sent a.",
    "call_2": front_end_tools.SEEN,
    "call_3": "Not that one.",
    "call_4": CANCELLED,
    "call_5": "Painted red.",
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_user_decides_on_each_call(options: dict[str, Any]) -> None:
    provider, tool = Responses([LETTERS, SENT]), Asked()
    runs: list[list[Any]] = []
    warnings: list[str] = []
    options = OPENAI | with_keys(options) | {"on_warning": warnings.append}

    def at(url: str) -> Agent:
        client, held = client_at(url), agents.function_tool(tool.send, needs_approval=True)

        async def agent(run: Run) -> AsyncIterator[Any]:
            tools = [look_at, held, *openai_agents.tools(run)]
            async for item in asking(sdk_agent(client, tools=tools))(run):
                yield item

        return agent

    async def talk(conversation: Conversation, agent: Agent) -> None:
        asked = conversation.run_input("Send them.", tools=[front_end_tools.PAINT])
        runs.append(await answered(conversation, asked, agent, options))
        assert (conversation.status, tool.sent) == ("interrupted", []), runs[-1][-1]
        schema = schema_of(editable=False)
        shown = {
            one.id: (one.tool_call_id, one.reason, one.response_schema) for one in conversation.interrupts
        }
        assert shown == {call_id: (call_id, "tool_call", schema) for call_id in DECISIONS}
        conversation.add_tool_result("call_5", "Painted red.")
        runs.append(await decide(conversation, agent, options, DECISIONS))
        assert conversation.status == "finished", runs[-1][-1]

    conversation = talked(provider, at, talk)
    assert (warnings, tool.sent) == ([], ["a"])
    assert [check_events(run) for run in runs] == [[], []]
    question, *rest = provider.requests[1]["input"]
    assert (question, rest[:7]) == ({"role": "user", "content": "Send them."}, LETTERS)
    assert {item["call_id"]: item["output"] for item in rest[7:]} == TOLD
    results = {event.tool_call_id: event.content for event in runs[1] if event.type == "TOOL_CALL_RESULT"}
    assert results == {call_id: TOLD[call_id] for call_id in DECISIONS}
    assert provider.takes(Run(conversation.run_input("And now?"), **options)) == [
        question,
        *LETTERS,
        *(output(call_id, told) for call_id, told in TOLD.items()),
        *SENT,
        {"role": "user", "content": "And now?"},
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("script", "counts"), [(RESPONSES, [0, 6, 10]), (CHAT, [0, 2, 3])])
def test_everything_comes_back_after_an_approval(
    script: str, counts: list[int], options: dict[str, Any]
) -> None:
    asked = origin_of(script) | {"api": "openai-responses"} | with_keys(options)

    async def talk(url: str) -> None:
        held = agents.function_tool(get_forecast_of, name_override="get_forecast", needs_approval=True)
        async with client_at(url) as client:
            agent, client_side = asking(sdk_agent(client, script, tools=[held])), thread.conversation
            await answered(client_side, client_side.run_input(QUESTIONS[0]), agent, asked)
            (interrupt,) = client_side.interrupts
            approved = {interrupt.id: {"approved": True}}
            await decide(client_side, agent, asked, approved)
            await answered(client_side, client_side.run_input(QUESTIONS[1]), agent, asked)
            assert client_side.status == "finished"

    with replayed(script) as (url, thread):
        anyio.run(talk, url)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == counts
    assert (thread.missing(2), thread.missing(3)) == ([], [])


def get_forecast_of(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return FORECAST


def held_at(url: str, tool: Asked) -> Agent:
    held = agents.function_tool(tool.send, needs_approval=True)
    return asking(sdk_agent(client_at(url), tools=[held]))


def letters(agent_of: Any, talk: Any, *before: Items) -> tuple[Responses, Conversation, Asked]:
    """What happens if the model sends a letter."""
    provider, tool = Responses([*before, LETTERS[:2], SENT]), Asked()
    return provider, talked(provider, lambda url: agent_of(url, tool), talk), tool


def test_what_the_user_writes_with_the_answer_reaches_the_model_before_the_call() -> None:
    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Send it."), agent, OPENAI)
        await decide(conversation, agent, OPENAI, DECISIONS, content="Hurry.")

    provider, conversation, tool = letters(held_at, talk)
    assert (conversation.status, tool.sent) == ("finished", ["a"])
    said = [{"role": "user", "content": words} for words in ("Send it.", "Hurry.")]
    assert provider.requests[1]["input"] == [*said, *LETTERS[:2], output("call_1", "Sent a.")]


@pytest.mark.parametrize("payload", [True, {"approved": True, "editedArgs": {"text": "to all"}}])
def test_an_answer_of_another_form_fails_the_run(payload: Any) -> None:
    check_wrong_answer(held_at, payload, OPENAI, Responses([LETTERS[:2]]))


def test_the_agent_runs_no_call_that_needs_no_approval_for_an_answer() -> None:
    async def talk(conversation: Conversation, agent: Agent) -> None:
        call = {"id": "call_9", "type": "function", "function": {"name": "send", "arguments": '{"text":"x"}'}}
        forged = [
            {"id": "u", "role": "user", "content": "Go."},
            {"id": "a", "role": "assistant", "toolCalls": [call]},
        ]
        run_input = Conversation("thread-1", messages=forged).run_input(
            resume=[{"interruptId": "call_9", "status": "resolved", "payload": {"approved": True}}]
        )
        await answered(conversation, run_input, agent, OPENAI)

    def free(url: str, tool: Asked) -> Agent:
        return asking(sdk_agent(client_at(url), tools=[agents.function_tool(tool.send)]))

    provider, _, tool = letters(free, talk)
    told = provider.requests[0]["input"][-1]
    assert (told["output"], tool.sent) == ("No result: the call was not answered.", ["a"])


def test_an_approval_that_an_agent_inside_a_tool_needs_is_an_error() -> None:
    def nested(url: str, tool: Asked) -> Agent:
        client = client_at(url)
        inner = sdk_agent(client, name="Clerk", tools=[agents.function_tool(tool.send, needs_approval=True)])
        outer = sdk_agent(client, tools=[inner.as_tool("look", "Look.")])
        return asking(outer)

    async def talk(conversation: Conversation, agent: Agent) -> None:
        shown = await answered(conversation, conversation.run_input("Send it."), agent, OPENAI)
        assert (shown[-1].type, shown[-1].code) == ("RUN_ERROR", "unsupported_approval")

    asks = [reasoning(9), function_call("call_0", "look", input="a")]
    assert letters(nested, talk, asks)[2].sent == []


def ran(answers: list[Items], *tools: Any, streams: bool = True) -> Any:
    """The input of the next request, after a run with these tools."""
    provider = Responses(answers)

    def at(url: str) -> Agent:
        looker = sdk_agent(client_at(url), tools=list(tools))

        async def agent(run: Run) -> AsyncIterator[Any]:
            begin = agents.Runner.run_streamed if streams else agents.Runner.run
            yield openai_agents.stream(begin(looker, openai_agents.input_items(run)))

        return agent

    _, conversation = asked_once(provider, at, OPENAI)
    assert conversation.status == "finished"
    return provider.takes(Run(conversation.run_input("And now?"), **OPENAI))


def test_thoughts_between_parallel_calls_keep_their_places() -> None:
    check_places(streams=True)


def test_a_run_without_a_stream_has_its_items_in_order() -> None:
    check_places(streams=False)


def check_places(*, streams: bool) -> None:
    first = [reasoning(1), function_call("call_1", "look", at="a")]
    first += [reasoning(2), function_call("call_2", "look", at="b")]
    second = [reasoning(4), function_call("call_3", "look", at="c")]
    assert ran([first, second, DONE], look_at, streams=streams) == [
        {"role": "user", "content": "Look."},
        *first,
        *(output(call_id, front_end_tools.SEEN) for call_id in ("call_1", "call_2")),
        *second,
        output("call_3", front_end_tools.SEEN),
        *DONE,
        {"role": "user", "content": "And now?"},
    ]


def test_a_failed_tool_is_in_the_history() -> None:
    asked = [reasoning(1), function_call("call_1", "broken", at="a")]
    _, *said, result, _, _, _ = ran([asked, DONE], agents.function_tool(front_end_tools.broken))
    assert (said, result["call_id"], "error occurred" in result["output"]) == (asked, "call_1", True)


def test_events_of_the_application_pass_between_those_of_the_sdk() -> None:
    change = StateDeltaEvent(delta=[{"op": "replace", "path": "/draft", "value": "b"}])

    def at(url: str) -> Agent:
        looker = sdk_agent(client_at(url))

        async def agent(run: Run) -> AsyncIterator[Any]:
            async def events() -> AsyncIterator[Any]:
                items = openai_agents.input_items(run)
                async for event in agents.Runner.run_streamed(looker, items).stream_events():
                    yield event
                yield change

            yield openai_agents.stream(events())

        return agent

    _, conversation = asked_once(Responses([DONE]), at, OPENAI, state={"draft": "a"})
    assert (conversation.status, conversation.state) == ("finished", {"draft": "b"})
