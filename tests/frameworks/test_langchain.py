"""LangGraph runs its loop inside a run, and its providers get everything back."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

agents: Any = pytest.importorskip("langchain.agents", reason="LangChain has its own environment")

from langchain_anthropic import ChatAnthropic  # noqa: E402
from langchain_core.messages import convert_to_messages  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_deepseek import ChatDeepSeek  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.graph import START, MessagesState, StateGraph  # noqa: E402

from agui_reasoning import Run, check_events  # noqa: E402
from agui_reasoning.aio import run_agent  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.errors import ConfigurationError  # noqa: E402
from agui_reasoning.interop import langchain  # noqa: E402
from tests.frameworks import failures, pages  # noqa: E402
from tests.frameworks.threads import FORECAST, PIXEL, Agent, abandoned, played, replayed  # noqa: E402

ANTHROPIC, RESPONSES, CHAT = "anthropic-weather", "openai-weather", "chat-weather"
ARTIFACTS = {ANTHROPIC: [0, 4, 6], RESPONSES: [0, 6, 10], CHAT: [0, 2, 3]}


@tool
def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return FORECAST


class DeepSeek(ChatDeepSeek):
    def _get_request_payload(self, input_, **options):
        payload = super()._get_request_payload(input_, **options)
        given = self._convert_input(input_).to_messages()
        for written, message in zip(payload["messages"], given, strict=True):
            if reasoning := message.additional_kwargs.get("reasoning_content"):
                written["reasoning_content"] = reasoning
        return payload


def model_at(url: str, script: str, version: str) -> Any:
    if script == ANTHROPIC:
        thinking = {"type": "adaptive"}
        ask = {"base_url": url, "api_key": "none", "max_retries": 0, "output_version": version}
        return ChatAnthropic(model="claude-sonnet-4-6", thinking=thinking, **ask)
    ask = {"base_url": f"{url}/v1", "api_key": "none", "max_retries": 0}
    if script == RESPONSES:
        keep = {"store": False, "include": ["reasoning.encrypted_content"], "use_responses_api": True}
        return ChatOpenAI(model="gpt-5.6-sol", output_version=version, **keep, **ask)
    return DeepSeek(model="deepseek-v4-flash", streaming=True, **ask)


def agent_at(script: str, version: str, used: Any = get_forecast) -> Any:
    def made(url: str) -> Agent:
        async def agent(run: Run) -> AsyncIterator[Any]:
            graph = agents.create_agent(model_at(url, script, version), tools=[used])
            messages = {"messages": langchain.messages(run)}
            yield langchain.stream(graph.astream(messages, stream_mode="messages"))

        return agent

    return made


LOST = {RESPONSES: ["item id"]}
"""LangChain leaves out the IDs of messages that the provider does not store."""


@pytest.mark.parametrize("options", [{}, {"keys": True, "visibility": "hidden"}], ids=str)
@pytest.mark.parametrize(
    ("script", "version"),
    [
        (ANTHROPIC, "v0"),
        (ANTHROPIC, "v1"),
        (RESPONSES, "v0"),
        (RESPONSES, "responses/v1"),
        (RESPONSES, "v1"),
        (CHAT, "v0"),
    ],
)
def test_everything_comes_back(script: str, version: str, options: dict[str, Any]) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = played(script, agent_at(script, version), **{**options, "keys": keys})
    assert [len(thread.artifacts(number)) for number in (1, 2, 3)] == ARTIFACTS[script]
    lost = LOST.get(script, []) + (["phase"] if (script, version) == (RESPONSES, "v0") else [])
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], lost, [])


@pytest.mark.parametrize("failure", [*failures.FAILURES, failures.IN_STREAM], ids=failures.name_of)
def test_a_failure_of_the_provider_is_told_as_without_the_framework(
    failure: failures.Failure, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-6"}
    failures.check(failure, agent_at(ANTHROPIC, "v0"), caplog, **options)


PNG = base64.b64encode(PIXEL).decode()
IMAGES = {
    "standard": {"type": "image", "base64": PNG, "mime_type": "image/png"},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    "openai": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
}


def looking(image: dict[str, Any]) -> Any:
    def get_forecast(place: str, hours: int) -> Any:
        """Weather forecast of a place for the next hours."""
        return [{"type": "text", "text": "A map."}, image]

    return tool(get_forecast)


@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("script", [ANTHROPIC, RESPONSES])
def test_an_image_that_a_tool_returns_comes_back(script: str, image: str) -> None:
    thread = played(script, agent_at(script, "v1", looking(IMAGES[image])))
    (first,), (second,) = thread.results(2), thread.results(3)
    if script == RESPONSES:
        assert second["output"][1].pop("detail") == "auto"  # the API's default
    assert second == first
    assert json.dumps(second).count(PNG) == 1
    (shown,) = [event.content for event in thread.runs[0] if event.type == "TOOL_CALL_RESULT"]
    assert [part.type for part in shown] == ["text", "image"]
    assert thread.findings == []


def test_the_type_and_size_of_an_image_come_back_where_results_are_text() -> None:
    thread = played(CHAT, agent_at(CHAT, "v0", looking(IMAGES["standard"])))
    (told,) = thread.results(3)
    assert told["content"] == f"A map.\n(Not sent in a tool result: image/png, {len(PIXEL)} bytes.)"


def test_a_reader_that_leaves_stops_the_graph() -> None:
    assert len(abandoned(ANTHROPIC, agent_at(ANTHROPIC, "v0")).requests) == 1


def test_the_model_of_a_subgraph_speaks_in_a_subagent() -> None:
    async def shown(url: str) -> list[Any]:
        weather = agents.create_agent(model_at(url, ANTHROPIC, "v0"), tools=[get_forecast])
        graph = StateGraph(MessagesState)
        graph.add_node("weather", weather)
        graph.add_edge(START, "weather")
        whole = graph.compile()

        async def agent(run: Run) -> AsyncIterator[Any]:
            messages = {"messages": langchain.messages(run)}
            yield langchain.stream(whole.astream(messages, stream_mode="messages", subgraphs=True))

        run_input = thread.conversation.run_input("Do I need an umbrella?")
        origin = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-6"}
        return [event async for event in run_agent(run_input, agent, **origin)]  # type: ignore[arg-type]

    with replayed(ANTHROPIC) as (url, thread):
        events = anyio.run(shown, url)
    assert check_events(events) == []
    started, *inner, finished = events[1:-1]
    assert (started.type, started.name) == ("SUBAGENT_STARTED", "weather")
    assert finished.type == "SUBAGENT_FINISHED"
    assert {event.subagent_run_id for event in inner} == {started.subagent_run_id}


FAILED = [
    {"id": "s", "role": "system", "content": "Be brief."},
    {"id": "u", "role": "user", "content": "Look."},
    {
        "id": "a",
        "role": "assistant",
        "content": "I look.",
        "toolCalls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"id": "t", "role": "tool", "toolCallId": "call_1", "content": "Too dark.", "error": "Too dark."},
]


@pytest.mark.parametrize(
    ("api", "provider"),
    [("anthropic-messages", "anthropic"), ("openai-responses", "openai"), ("openai-chat", "deepseek")],
)
def test_a_history_becomes_messages(api: str, provider: str) -> None:
    empty: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    run = Run(
        {"threadId": "t", "runId": "r", "messages": FAILED, **empty}, api=api, provider=provider, model="m"
    )
    system, user, answer, result = convert_to_messages(langchain.messages(run))
    assert (system.type, user.type, answer.type, result.type) == ("system", "human", "ai", "tool")
    assert [call["id"] for call in answer.tool_calls] == ["call_1"]
    assert answer.text == "I look."
    assert (result.tool_call_id, result.content) == ("call_1", "Too dark.")
    assert result.status == ("error" if api == "anthropic-messages" else "success")


def test_an_api_that_cannot_be_written_is_refused() -> None:
    empty: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    run = Run({"threadId": "t", "runId": "r", "messages": [], **empty}, api="cohere-chat", model="m")
    with pytest.raises(ConfigurationError, match="cohere-chat") as error:
        langchain.messages(run)
    assert error.value.code == "unknown_api"


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("langchain")


def test_the_page_shows_the_example() -> None:
    pages.check_page("langchain", None, "langchain")
