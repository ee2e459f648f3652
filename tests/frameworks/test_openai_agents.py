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

from agui_reasoning import Conversation, Run, reduce_events  # noqa: E402
from agui_reasoning.aio import run_agent  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.gateway import local_server  # noqa: E402
from agui_reasoning.interop import openai_agents  # noqa: E402
from tests.frameworks import failures, front_end_tools, pages  # noqa: E402
from tests.frameworks.responses import Items, Responses, function_call, message, reasoning  # noqa: E402
from tests.frameworks.threads import FORECAST, PIXEL, Agent, answered, played, replayed  # noqa: E402

agents.set_tracing_disabled(True)

RESPONSES, CHAT = "openai-weather", "chat-weather"


@agents.function_tool
def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return FORECAST


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
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            yield openai_agents.stream(agents.Runner.run_streamed(sdk_agent(client, script, **more), items))

    return agent


@pytest.mark.parametrize("options", [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}], ids=str)
def test_responses_come_back_whole(options: dict[str, Any]) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = played(RESPONSES, agent_at, **{**options, "keys": keys})
    assert [len(thread.artifacts(number)) for number in (1, 2, 3)] == [0, 7, 10]
    assert (thread.missing(3), thread.findings) == ([], [])
    # Inside a run the SDK sends the items of `response.completed`, whose encrypted content has other bytes.
    assert set(thread.missing(2)) == {"encrypted content"}


def test_chat_models_get_their_reasoning_back() -> None:
    thread = played(CHAT, lambda url: agent_at(url, CHAT), api="openai-responses")
    assert [len(thread.artifacts(number)) for number in (1, 2, 3)] == [0, 2, 3]
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
        session = agents.SQLiteSession(run.input.thread_id, SESSIONS)
        await session.clear_session()
        items = openai_agents.input_items(run)
        yield openai_agents.stream(agents.Runner.run_streamed(weather, items, session=session))

    return agent


def adding(weather: Any, SESSIONS: Any) -> Agent:  # noqa: N803
    async def agent(run: Run) -> AsyncIterator[Any]:
        session = agents.SQLiteSession(run.input.thread_id, SESSIONS)
        items = openai_agents.input_items(run)[-1:]
        yield openai_agents.stream(agents.Runner.run_streamed(weather, items, session=session))

    return agent


@pytest.mark.parametrize("kept", [remembering, adding])
def test_a_session_holds_the_conversation_once(kept: Any, tmp_path: Path) -> None:
    def at(url: str) -> Agent:
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
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


def test_a_session_follows_an_edited_message(tmp_path: Path) -> None:
    answers: list[Items] = [[reasoning(1), message("Red.")], [reasoning(2), message("Blue.")]]
    provider, conversation = Responses(answers), Conversation("thread-1")

    async def talk(url: str) -> None:
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        agent = remembering(sdk_agent(client, tools=[]), tmp_path / "sessions.db")
        await answered(conversation, conversation.run_input("Which one?"), agent, OPENAI)
        edited = Conversation("thread-1")
        await answered(edited, edited.run_input("Which two?"), agent, OPENAI)

    with local_server(provider.app) as url:
        anyio.run(talk, url)
    assert provider.refused == []
    assert provider.requests[1]["input"] == [{"role": "user", "content": "Which two?"}]


def test_a_reader_that_leaves_stops_the_run_of_the_sdk() -> None:
    async def leave(url: str) -> Any:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
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
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            second = sdk_agent(client, name="Storms")
            handoff = agents.handoff(second, tool_name_override="get_forecast")
            first = sdk_agent(client, tools=[], handoffs=[handoff])
            yield openai_agents.stream(agents.Runner.run_streamed(first, openai_agents.input_items(run)))

    return agent


@pytest.mark.parametrize("options", [{}, {"keys": True, "visibility": "hidden"}], ids=str)
def test_what_came_before_and_after_a_handoff_goes_back(options: dict[str, Any]) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = played(RESPONSES, handing_over, **{**options, "keys": keys})
    steps = [[event.step_name for event in run if event.type == "STEP_STARTED"] for run in thread.runs]
    assert steps == [["Storms"], []]
    assert len(thread.artifacts(3)) == 10
    assert (thread.missing(3), thread.findings) == ([], [])


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("openai_agents")


def test_the_page_shows_the_example() -> None:
    pages.check_page("openai_agents", None, "openai_agents")


def painting_at(url: str) -> Agent:
    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

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


def ran(answers: list[Items], *tools: Any) -> Any:
    """The input of the next request, after a run with these tools."""
    provider, conversation = Responses(answers), Conversation("thread-1")

    async def talk(url: str) -> None:
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

        async def agent(run: Run) -> AsyncIterator[Any]:
            looker = sdk_agent(client, tools=list(tools))
            items = openai_agents.input_items(run)
            yield openai_agents.stream(agents.Runner.run_streamed(looker, items))

        await answered(conversation, conversation.run_input("Look."), agent, OPENAI)

    with local_server(provider.app) as url:
        anyio.run(talk, url)
    assert (conversation.status, provider.refused) == ("finished", [])
    return provider.takes(Run(conversation.run_input("And now?"), **OPENAI))


def test_thoughts_between_parallel_calls_keep_their_places() -> None:
    first = [reasoning(1), function_call("call_1", "look", at="a")]
    first += [reasoning(2), function_call("call_2", "look", at="b")]
    second = [reasoning(4), function_call("call_3", "look", at="c")]
    assert ran([first, second, DONE], look_at) == [
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
    provider, conversation = Responses([DONE]), Conversation("thread-1", state={"draft": "a"})
    change = StateDeltaEvent(delta=[{"op": "replace", "path": "/draft", "value": "b"}])

    async def talk(url: str) -> None:
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

        async def agent(run: Run) -> AsyncIterator[Any]:
            async def events() -> AsyncIterator[Any]:
                items = openai_agents.input_items(run)
                async for event in agents.Runner.run_streamed(sdk_agent(client), items).stream_events():
                    yield event
                yield change

            yield openai_agents.stream(events())

        await answered(conversation, conversation.run_input("Look."), agent, OPENAI)

    with local_server(provider.app) as url:
        anyio.run(talk, url)
    assert (conversation.status, conversation.state) == ("finished", {"draft": "b"})
