"""LangGraph runs its loop inside a run, and its providers get everything back."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

agents: Any = pytest.importorskip("langchain.agents", reason="LangChain has its own environment")

from ag_ui.core import StateDeltaEvent  # noqa: E402
from langchain.agents.middleware import HumanInTheLoopMiddleware  # noqa: E402
from langchain_anthropic import ChatAnthropic  # noqa: E402
from langchain_aws import ChatBedrockConverse  # noqa: E402
from langchain_core.messages import RemoveMessage, ToolMessage, convert_to_messages  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_deepseek import ChatDeepSeek  # noqa: E402
from langchain_google_genai import ChatGoogleGenerativeAI  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer  # noqa: E402
from langgraph.config import get_stream_writer  # noqa: E402
from langgraph.func import entrypoint, task  # noqa: E402
from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: E402
from langgraph.graph.message import REMOVE_ALL_MESSAGES  # noqa: E402
from langgraph.types import interrupt  # noqa: E402
from starlette.applications import Starlette  # noqa: E402
from starlette.responses import JSONResponse  # noqa: E402
from starlette.routing import Route  # noqa: E402

from agui_reasoning import Conversation, Run, check_events  # noqa: E402
from agui_reasoning.crypto import Binding, KeyRing  # noqa: E402
from agui_reasoning.interop import langchain  # noqa: E402
from tests.frameworks import failures, front_end_tools, histories, memory, pages  # noqa: E402
from tests.frameworks.approvals import (  # noqa: E402
    CANCELLED,
    LETTER,
    Asked,
    check_approvals,
    check_wrong_answer,
    decide,
)
from tests.frameworks.claude import CLAUDE, Blocks, Claude, call, redacted, text, thinking  # noqa: E402
from tests.frameworks.client_fields import check_client_fields  # noqa: E402
from tests.frameworks.threads import (  # noqa: E402
    FORECAST,
    OPTIONS,
    PIXEL,
    Agent,
    abandoned,
    answered,
    asked_once,
    played,
    replayed,
    talked,
)
from tests.support.lines import calls, lines, says, thinks  # noqa: E402

ANTHROPIC, RESPONSES, CHAT = "anthropic-weather", "openai-weather", "chat-weather"
BEDROCK, GEMINI = "bedrock-weather", "gemini-weather"
ARTIFACTS = {
    ANTHROPIC: [0, 4, 6],
    RESPONSES: [0, 6, 10],
    CHAT: [0, 2, 3],
    BEDROCK: [0, 4, 6],
    GEMINI: [0, 3, 4],
}


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
    if script == BEDROCK:
        aws = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}
        return ChatBedrockConverse(
            model="us.anthropic.claude-sonnet-4-6", endpoint_url=url, output_version=version, **aws
        )
    if script == GEMINI:
        ask = {"base_url": url, "api_key": "none", "output_version": version, "include_thoughts": True}
        ask |= {"api_version": "v1beta"}  # the default depends on the version of `google-genai`
        return ChatGoogleGenerativeAI(model="gemini-3-flash-preview", **ask)
    ask = {"base_url": f"{url}/v1", "api_key": "none", "max_retries": 0}
    if script == RESPONSES:
        keep = {"store": False, "include": ["reasoning.encrypted_content"], "use_responses_api": True}
        return ChatOpenAI(model="gpt-5.6-sol", output_version=version, **keep, **ask)
    return DeepSeek(model="deepseek-v4-flash", streaming=True, **ask)


def agent_at(script: str, version: str, used: Any = get_forecast) -> Any:
    return lambda url: graph_agent(agents.create_agent(model_at(url, script, version), tools=[used]))


LOST = {RESPONSES: ([], ["item id"]), GEMINI: (["call id"] * 2, ["call id"] * 2)}
"""LangChain leaves out the IDs of messages that the provider does not store, and those of Gemini's calls."""


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
        (BEDROCK, "v0"),
        (BEDROCK, "v1"),
        (GEMINI, "v0"),
        (GEMINI, "v1"),
    ],
)
def test_everything_comes_back(script: str, version: str, options: dict[str, Any]) -> None:
    thread = played(script, agent_at(script, version), **options)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == ARTIFACTS[script]
    inside, lost = LOST.get(script, ([], []))
    lost = [*lost, "phase"] if (script, version) == (RESPONSES, "v0") else lost
    assert (thread.missing(2), thread.missing(3), thread.findings) == (inside, lost, [])


@pytest.mark.parametrize("failure", [*failures.FAILURES, failures.IN_STREAM], ids=failures.name_of)
def test_a_failure_of_the_provider_is_told_as_without_the_framework(
    failure: failures.Failure, caplog: pytest.LogCaptureFixture
) -> None:
    failures.check(failure, agent_at(ANTHROPIC, "v0"), caplog, **CLAUDE)


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
@pytest.mark.parametrize("script", [ANTHROPIC, RESPONSES, BEDROCK])
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
    def at(url: str) -> Agent:
        weather = agents.create_agent(model_at(url, ANTHROPIC, "v0"), tools=[get_forecast])
        graph = StateGraph(MessagesState)
        graph.add_node("weather", weather)
        graph.add_edge(START, "weather")
        return graph_agent(graph.compile(), subgraphs=True)

    events = played(ANTHROPIC, at).runs[0]
    assert check_events(events) == []
    started, *inner, finished = events[1:-1]
    assert (started.type, started.name) == ("SUBAGENT_STARTED", "weather")
    assert finished.type == "SUBAGENT_FINISHED"
    assert {event.subagent_run_id for event in inner} == {started.subagent_run_id}


FIRST: Blocks = [thinking("The first thinks."), text("It is so.")]
SECOND: Blocks = [thinking("Another one muses."), text("It is not.")]


def claude_at(url: str, name: str, **options: Any) -> Any:
    think = {"type": "enabled", "budget_tokens": 1024}
    ask = {"base_url": url, "api_key": "none", "max_retries": 0, "max_tokens": 2048}
    return ChatAnthropic(model=name, thinking=think, **ask, **options)


def graph_agent(graph: Any, given: Any = None, **options: Any) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        told = given or {"messages": langchain.messages(run)}
        yield langchain.stream(graph.astream(told, **{"stream_mode": "messages", **options}))

    return agent


def asked(claude: Claude, graph_at: Any, **options: Any) -> tuple[list[str], Any]:
    """What a graph shows of one question, and the messages of the provider's next request."""
    at = lambda url: graph_agent(graph_at(url), **options)  # noqa: E731
    events, conversation = asked_once(claude, at, CLAUDE, "Is it so?")
    assert events[-1].type == "RUN_FINISHED"
    return lines(events), claude.takes(Run(conversation.run_input("And now?"), **CLAUDE))


def answer(first: int, thought: str, said: str, subagent: int | None = None) -> list[str]:
    """The lines of a response that thinks and says something; the number of its first message."""
    inside = "" if subagent is None else f"{subagent} "
    return [*thinks(first, thought, inside=inside), *says(first + 2, said, inside=inside)]


QUESTION = {"role": "user", "content": [text("Is it so?")]}
NEXT = {"role": "user", "content": [text("And now?")]}


def parallel_at(url: str) -> Any:
    """Two nodes that ask their models at the same time."""

    async def first(state: MessagesState) -> Any:
        return {"messages": [await claude_at(url, "first").ainvoke(state["messages"])]}

    async def second(state: MessagesState) -> Any:
        return {"messages": [await claude_at(url, "second").ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_sequence([first])
    graph.add_sequence([second])
    graph.add_edge(START, "first")
    graph.add_edge(START, "second")
    return graph.compile()


def gathered_at(url: str) -> Any:
    """A node that asks two models at the same time."""

    async def both(state: MessagesState) -> Any:
        models = [claude_at(url, name) for name in ("first", "second")]
        return {"messages": await asyncio.gather(*(model.ainvoke(state["messages"]) for model in models))}

    graph = StateGraph(MessagesState)
    graph.add_sequence([both])
    graph.add_edge(START, "both")
    return graph.compile()


MODES: list[dict[str, Any]] = [
    {},
    {"stream_mode": ["values", "messages", "custom"]},
    {"stream_mode": ["values", "messages", "updates"], "subgraphs": True},
    {"stream_mode": ["values", "messages"], "subgraphs": True, "version": "v2"},
]


@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("graph_at", [parallel_at, gathered_at])
def test_models_that_speak_at_the_same_time_are_not_mixed(graph_at: Any, options: dict[str, Any]) -> None:
    claude = Claude({"first": [FIRST], "second": [SECOND]}, in_step=2)
    shown, messages = asked(claude, graph_at, **options)
    told = [("The first thinks.", "It is so.", FIRST), ("Another one muses.", "It is not.", SECOND)]
    if shown[2] == "reasoning_message_content 2 | Another one muses.":  # which one begins is chance
        told.reverse()
    one, other = told
    assert shown == [*answer(1, *one[:2]), *answer(4, *other[:2])]
    assert messages == [QUESTION, {"role": "assistant", "content": [*one[2], *other[2]]}, NEXT]


ASKS: Blocks = [thinking("I do not know."), text("I ask."), call("toolu_1", "ask", what="So?")]
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "It is not."}
HISTORY = [
    QUESTION,
    {"role": "assistant", "content": ASKS},
    {"role": "user", "content": [RESULT]},
    {"role": "assistant", "content": FIRST},
    NEXT,
]


def asking_at(url: str, **options: Any) -> Any:
    """An agent whose tool asks another model."""

    @tool
    async def ask(what: str) -> str:
        """Ask somebody who knows."""
        return str((await claude_at(url, "second").ainvoke(what)).text)

    return agents.create_agent(claude_at(url, "first", **options), tools=[ask])


def tool_node_at(url: str) -> Any:
    """The same, with a node of one's own that runs the tool."""

    async def ask(state: MessagesState) -> Any:
        (asked,) = state["messages"][-1].tool_calls
        said = (await claude_at(url, "second").ainvoke(asked["args"]["what"])).text
        return {"messages": [ToolMessage(said, tool_call_id=asked["id"])]}

    async def think(state: MessagesState) -> Any:
        return {"messages": [await claude_at(url, "first").ainvoke(state["messages"])]}

    def chosen(state: MessagesState) -> str:
        return "tool_node" if state["messages"][-1].tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tool_node", ask)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", chosen, ["tool_node", END])
    graph.add_edge("tool_node", "think")
    return graph.compile()


def functional_at(url: str) -> Any:
    """The same as functions, which belong to the graph of their caller."""

    @task
    async def think(told: list[Any]) -> Any:
        return await claude_at(url, "first").ainvoke(told)

    @task
    async def call_tool(asked: dict[str, Any]) -> Any:
        said = (await claude_at(url, "second").ainvoke(asked["args"]["what"])).text
        return ToolMessage(said, tool_call_id=asked["id"])

    @entrypoint()
    async def agent(told: dict[str, Any]) -> Any:
        first = await think(told["messages"])
        result = await call_tool(first.tool_calls[0])
        return await think([*told["messages"], first, result])

    return agent


@pytest.mark.parametrize(
    ("graph_at", "node"),
    [(asking_at, "tools"), (tool_node_at, "tool_node"), (functional_at, "call_tool")],
)
def test_what_a_model_says_inside_a_tool_is_not_the_answer(graph_at: Any, node: str) -> None:
    claude = Claude({"first": [ASKS, FIRST], "second": [SECOND]})
    shown, messages = asked(claude, graph_at)
    assert shown == [
        *answer(1, "I do not know.", "I ask."),
        *calls(4, "ask", '{"what": "So?"}'),
        "reasoning_encrypted_value 2",
        f"subagent_started 5 | {node}",
        *answer(6, "Another one muses.", "It is not.", subagent=5),
        "subagent_finished 5",
        "tool_call_result 9 4 | It is not.",
        *answer(10, "The first thinks.", "It is so."),
    ]
    assert messages == HISTORY


def test_a_call_that_nobody_answers_does_not_make_the_next_node_a_tool() -> None:
    def routed_at(url: str) -> Any:
        async def route(state: MessagesState) -> Any:
            await claude_at(url, "first").ainvoke(state["messages"])
            return {}

        async def reply(state: MessagesState) -> Any:
            return {"messages": [await claude_at(url, "second").ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState)
        graph.add_sequence([route, reply])
        graph.add_edge(START, "route")
        return graph.compile()

    chosen: Blocks = [thinking("The second knows."), call("toolu_1", "Route", to="reply")]
    shown, _ = asked(Claude({"first": [chosen], "second": [SECOND]}), routed_at)
    assert not [line for line in shown if line.startswith("subagent")]
    assert "text_message_content 6 | It is not." in shown


@pytest.mark.parametrize("version", ["v0", "v1"])
def test_a_whole_message_has_its_blocks_in_order(version: str) -> None:
    blocks: Blocks = [
        thinking("One."),
        thinking("Two."),
        redacted("three"),
        text("I ask twice."),
        call("toolu_1", "ask", what="a"),
        thinking("Four."),
        call("toolu_2", "ask", what="b"),
    ]
    claude = Claude({"first": [blocks, FIRST], "second": [SECOND, SECOND]})
    shown, messages = asked(
        claude, lambda url: asking_at(url, disable_streaming=True, output_version=version)
    )
    assert messages[1] == {"role": "assistant", "content": blocks}
    assert shown[:26] == [
        "reasoning_start 1",
        "reasoning_message_start 2",
        "reasoning_message_content 2 | One.",
        "reasoning_message_end 2",
        "reasoning_encrypted_value 2",
        "reasoning_message_start 3",
        "reasoning_message_content 3 | Two.",
        "reasoning_message_end 3",
        "reasoning_encrypted_value 3",
        "reasoning_encrypted_value 3",
        "reasoning_end 1",
        *says(4, "I ask twice."),
        *calls(5, "ask", '{"what":"a"}'),
        *thinks(6, "Four."),
        *calls(8, "ask", '{"what":"b"}'),
    ]


RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.6",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
ITEMS = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": one} for one in ("One.", "Two.")],
        "encrypted_content": "AAAA",
    },
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        "status": "completed",
        "phase": "commentary",
    },
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "BBBB"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"},
]


@pytest.mark.parametrize("version", ["responses/v1", "v1"])
def test_a_whole_response_of_the_responses_api_has_its_items(version: str) -> None:
    answered = JSONResponse({**RESPONSE, "output": ITEMS})
    app = Starlette(routes=[Route("/v1/responses", lambda _: answered, methods=["POST"])])
    asked = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6"}

    def at(url: str) -> Agent:
        keep = {"store": False, "include": ["reasoning.encrypted_content"], "use_responses_api": True}
        to = {"base_url": f"{url}/v1", "api_key": "none", "disable_streaming": True}
        model = ChatOpenAI(model="gpt-5.6", output_version=version, **keep, **to)

        async def agent(run: Run) -> AsyncIterator[Any]:
            yield langchain.stream(model.astream(langchain.messages(run)))

        return agent

    events, conversation = asked_once(SimpleNamespace(app=app, refused=[]), at, asked)
    assert lines(events) == [
        *thinks(1, "One.\n\nTwo."),
        *says(3, "I look."),
        "reasoning_encrypted_value 2",  # once more, with the item without a summary
        *calls(4, "look", "{}"),
        "reasoning_encrypted_value 2",  # once more, with the name of the call
    ]
    run = Run(conversation.run_input("And now?"), **asked)  # type: ignore[arg-type]
    assert run.request(tools=(), store=False).body["input"][1:5] == ITEMS


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


TELL = {"anthropic-messages": "anthropic", "bedrock-converse": "bedrock", "gemini": "google"}
"""The APIs whose results tell whether the tool failed, each with a provider."""


@pytest.mark.parametrize(
    ("api", "provider"),
    [
        *TELL.items(),
        ("openai-responses", "openai"),
        ("openai-chat", "deepseek"),
        ("cohere-chat", "cohere"),  # written without reasoning
    ],
)
def test_a_history_becomes_messages(api: str, provider: str) -> None:
    empty: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    given = {"threadId": "t", "runId": "r", "messages": FAILED, **empty}
    run = Run(given, api=api, provider=provider, model="m")
    system, user, answer, result = convert_to_messages(langchain.messages(run))
    assert (system.type, user.type, answer.type, result.type) == ("system", "human", "ai", "tool")
    assert [call["id"] for call in answer.tool_calls] == ["call_1"]
    assert (answer.text, result.tool_call_id, result.text) == ("I look.", "call_1", "Too dark.")
    assert result.status == ("error" if api in TELL else "success")


@tool
def look(at_place: str) -> str:
    """Look at a place."""
    return ""


@pytest.mark.parametrize(
    ("script", "signed"), [("bedrock-weather", True), ("gemini-weather", True), ("gemini-weather", False)]
)
def test_a_history_goes_out_as_without_the_framework(script: str, signed: bool) -> None:
    run = histories.looked(script, signed=signed)

    async def ask(url: str) -> None:
        asked = model_at(url, script, "v0").bind_tools([look]).astream(langchain.messages(run))
        with suppress(Exception):  # the replayed provider did not issue these values
            [_ async for _ in asked]

    with replayed(script) as (url, thread):
        anyio.run(ask, url)
    expected, sent = run.request(tools=()).body, thread.requests[0]
    if script == GEMINI:
        assert histories.gemini_parts(sent["contents"]) == histories.gemini_parts(expected["contents"])
    else:
        assert sent["messages"] == histories.as_json(expected["messages"])


def test_what_a_client_sends_beside_its_messages_stays_with_the_agent() -> None:
    check_client_fields(painting_at)


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("langchain")


def test_the_page_shows_the_example() -> None:
    pages.check_page("langchain", None, "langchain")


def painting_at(url: str) -> Agent:
    async def agent(run):
        tools = [looking_at, *langchain.tools(run)]
        graph = agents.create_agent(claude_at(url, "first"), tools=tools)
        messages = langchain.messages(run)
        yield langchain.stream(graph.astream({"messages": messages}, stream_mode="messages"))

    return agent


looking_at = tool(front_end_tools.look)


def test_tools_of_the_front_end_stand_beside_those_of_the_agent() -> None:
    front_end_tools.check_front_end_tools(painting_at)


@tool
def note(what: str) -> str:
    """Note something on the page."""
    get_stream_writer()(StateDeltaEvent(delta=[{"op": "add", "path": "/notes/-", "value": what}]))
    return "Noted."


def test_events_that_a_tool_writes_pass_and_the_state_follows_them() -> None:
    def at(url: str) -> Agent:
        graph = agents.create_agent(claude_at(url, "first"), tools=[note])
        return graph_agent(graph, stream_mode=["messages", "custom"])

    claude = Claude({"first": [[call("toolu_1", "note", what="It is so.")], [text("Done.")]]})
    _, conversation = asked_once(claude, at, CLAUDE, state={"notes": []})
    assert (conversation.status, conversation.state) == ("finished", {"notes": ["It is so."]})


def approving(graph: Any) -> Agent:
    async def agent(run):
        config = {"configurable": {"thread_id": f"{run.tenant}/{run.input.thread_id}"}}
        given = langchain.resume(run, await graph.aget_state(config))  # None unless the user answered
        if given is None:
            given = {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *langchain.messages(run)]}
        yield langchain.stream(graph.astream(given, config, stream_mode=["messages", "updates"]))

    return agent


KEYS, PLACE = KeyRing.generate(), Binding("checkpoints")


class Cipher:
    def encrypt(self, plaintext):
        return "agui-reasoning", KEYS.encrypt(plaintext, PLACE).encode()

    def decrypt(self, ciphername, ciphertext):
        return KEYS.decrypt(ciphertext.decode(), PLACE)


MEMORY = InMemorySaver(serde=EncryptedSerializer(Cipher()))


def reviewed_at(mode: str, memory: Any, allowed: Any = True) -> Any:
    """An agent whose tool a person reviews."""
    review = HumanInTheLoopMiddleware({"send": allowed}, interrupt_mode=mode, edit_notice=None)

    def made(url: str, tool_: Asked) -> Agent:
        sends = tool(tool_.send)
        model = claude_at(url, "first")

        async def agent(run: Run) -> AsyncIterator[Any]:
            tools = [looking_at, sends, *langchain.tools(run)]
            options = {"middleware": [review], "checkpointer": memory}
            async for item in approving(agents.create_agent(model, tools=tools, **options))(run):
                yield item

        return agent

    return made


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("mode", ["per_call", "batched"])
def test_the_user_decides_on_each_call(mode: str, options: dict[str, Any]) -> None:
    refused = "User rejected the tool call for `send` with reason: "
    check_approvals(
        reviewed_at(mode, InMemorySaver()),
        options,
        refused=f"{refused}Not that one.",
        cancelled=f"{refused}{CANCELLED}",
        waits_for_all=mode == "batched",
    )


@tool
def send(text: str) -> str:
    """Send a letter."""
    return "Sent." if interrupt(f"Send {text!r}?") else "The user refused."


def lettered(answers: list[Blocks], talk: Any) -> tuple[Claude, Conversation]:
    """What a strict Claude was asked, and what a client holds, after a talk with a graph that asks."""
    claude = Claude({"first": [LETTER, *answers]})
    return claude, talked(claude, sending_at, talk)


def sending_at(url: str) -> Agent:
    graph = agents.create_agent(claude_at(url, "first"), tools=[send], checkpointer=InMemorySaver())
    return approving(graph)


@pytest.mark.parametrize("decision", [True, False, None])
def test_the_user_answers_the_interrupt_of_a_graph(decision: bool | None) -> None:
    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Write."), agent, CLAUDE)
        (asked,) = conversation.interrupts
        assert (conversation.status, asked.message) == ("interrupted", "Send 'a'?")
        await decide(conversation, agent, CLAUDE, {asked.id: decision})
        assert conversation.status == "finished"
        await answered(conversation, conversation.run_input("And now?"), agent, CLAUDE)

    claude, conversation = lettered([[text("Done.")], [text("Bye.")]], talk)
    told = "Sent." if decision else "The user refused."
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": told}
    _, said, results = claude.requests[1]["messages"]
    assert (said["content"], results["content"]) == (LETTER, [{**result, "is_error": False}])
    expected = [
        {"role": "user", "content": [text("Write.")]},
        {"role": "assistant", "content": LETTER},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [text("Done.")]},
        {"role": "user", "content": [text("And now?")]},
    ]
    assert [message["content"] for message in claude.requests[2]["messages"]][1] == LETTER
    assert len(claude.requests[2]["messages"]) == len(expected)
    takes = claude.takes(Run(conversation.run_input("Thanks."), **CLAUDE))
    assert (takes[:5], conversation.status) == (expected, "finished")


def test_what_the_user_writes_instead_of_an_answer_starts_the_graph_anew() -> None:
    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Write."), agent, CLAUDE)
        late = Conversation("thread-1", messages=conversation.messages)
        await answered(late, late.run_input("Wait."), agent, CLAUDE)
        assert late.status == "finished"

    claude, _ = lettered([[text("I wait.")]], talk)
    *_, said, told = claude.requests[1]["messages"]
    result, after = told["content"]
    assert (said["content"], after) == (LETTER, text("Wait."))
    assert result["content"] == "No result: the call was not answered."


def test_what_the_user_writes_with_the_answer_comes_with_the_next_input() -> None:
    warnings: list[str] = []
    options = CLAUDE | {"on_warning": warnings.append}

    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Write."), agent, options)
        yes = {conversation.interrupts[0].id: True}
        await decide(conversation, agent, options, yes, content="Hurry.")
        assert warnings == ["What the user wrote with the answers reaches the model with the next input."]
        await answered(conversation, conversation.run_input("And now?"), agent, options)

    claude, _ = lettered([[text("Done.")], [text("Bye.")]], talk)
    said = [json.dumps(request["messages"]) for request in claude.requests]
    assert ["Hurry." in one for one in said] == [False, False, True]


def test_answers_that_no_graph_waits_for_are_ignored() -> None:
    warnings: list[str] = []

    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Write."), agent, CLAUDE)
        client = Conversation("another thread", messages=conversation.messages)
        resume = [{"interruptId": conversation.interrupts[0].id, "status": "resolved", "payload": True}]
        await answered(
            client, client.run_input(resume=resume), agent, CLAUDE | {"on_warning": warnings.append}
        )

    claude, _ = lettered([[text("Who?")]], talk)
    assert "The answers of the input are ignored: the graph does not wait for them." in warnings
    (result,) = claude.requests[1]["messages"][-1]["content"]
    assert result["content"] == "No result: the call was not answered."


WRONG: list[tuple[Any, Any]] = [
    (True, True),
    (True, {"approved": "yes"}),
    ({"allowed_decisions": ["approve", "reject"]}, {"approved": True, "editedArgs": {"text": "to all"}}),
    ({"allowed_decisions": ["edit", "reject"]}, {"approved": True}),
    ({"allowed_decisions": ["approve", "edit"]}, {"approved": False}),
]


@pytest.mark.parametrize("mode", ["per_call", "batched"])
@pytest.mark.parametrize(("allowed", "payload"), WRONG)
def test_an_answer_of_another_form_or_that_the_graph_does_not_allow_fails_the_run(
    mode: str, allowed: Any, payload: Any
) -> None:
    check_wrong_answer(reviewed_at(mode, InMemorySaver(), allowed), payload)


@pytest.mark.parametrize("mode", ["per_call", "batched"])
@pytest.mark.parametrize("answer", ["Tomorrow.", None])
def test_the_user_answers_in_place_of_a_tool(mode: str, answer: str | None) -> None:
    only = {"allowed_decisions": ["respond"], "description": "What shall I write?"}
    at = reviewed_at(mode, InMemorySaver(), only)

    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Write."), agent, CLAUDE)
        (one,) = conversation.interrupts
        assert (one.id, one.reason, one.message) == (
            "question:toolu_1",
            "input_required",
            "What shall I write?",
        )
        assert one.response_schema == {"type": "string"}
        await decide(conversation, agent, CLAUDE, {"toolu_1": answer})

    claude = Claude({"first": [LETTER, [text("Done.")]]})
    talked(claude, lambda url: at(url, Asked()), talk)
    (result,) = claude.requests[1]["messages"][-1]["content"]
    assert result["content"] == (answer or CANCELLED)


def test_the_interrupt_of_a_subgraph_is_asked_once() -> None:
    asks = StateGraph(MessagesState)
    asks.add_node("ask", lambda state: {"messages": [("user", interrupt({"colours": ["red"]}))]})
    asks.add_edge(START, "ask")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", asks.compile())
    outer.add_edge(START, "inner")
    graph = outer.compile(checkpointer=InMemorySaver())

    async def agent(run: Run) -> AsyncIterator[Any]:
        config = {"configurable": {"thread_id": f"{run.tenant}/{run.input.thread_id}"}}
        given = langchain.resume(run, await graph.aget_state(config)) or {"messages": []}
        modes = {"stream_mode": ["messages", "updates"], "subgraphs": True}
        yield langchain.stream(graph.astream(given, config, **modes))

    async def talk() -> None:
        await answered(conversation, conversation.run_input("Go."), agent, CLAUDE)
        (one,) = conversation.interrupts
        assert (one.message, one.metadata, one.tool_call_id) == (None, {"value": {"colours": ["red"]}}, None)
        await decide(conversation, agent, CLAUDE, {one.id: "red"})

    conversation = Conversation("thread-1")
    anyio.run(talk)
    assert conversation.status == "finished"


def test_the_checkpoints_of_a_graph_are_encrypted() -> None:
    check_approvals(
        reviewed_at("per_call", MEMORY),
        {"keys": True, "visibility": "hidden"},
        refused="User rejected the tool call for `send` with reason: Not that one.",
        cancelled=f"User rejected the tool call for `send` with reason: {CANCELLED}",
    )
    stored = repr((dict(MEMORY.storage), dict(MEMORY.writes), dict(MEMORY.blobs)))
    assert "agui-reasoning" in stored
    assert not any(word in stored for word in ("To whom", "Send them", "Sent a", "signed"))


def checkpointed(graph: Any) -> Agent:
    async def agent(run):
        config = {"configurable": {"thread_id": f"{run.tenant}/{run.input.thread_id}"}}
        messages = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *langchain.messages(run)]
        yield langchain.stream(graph.astream({"messages": messages}, config, stream_mode="messages"))

    return agent


@pytest.mark.parametrize("branch", memory.BRANCHES)
def test_a_checkpointer_holds_what_the_client_has(branch: str) -> None:
    def at(url: str) -> Agent:
        return checkpointed(agents.create_agent(claude_at(url, "first"), checkpointer=InMemorySaver()))

    memory.check_memory(at, branch)


def test_thoughts_between_parallel_calls_keep_their_places() -> None:
    front_end_tools.check_interleaved(painting_at)


def test_a_call_whose_tool_raises_is_kept() -> None:
    def at(url: str) -> Agent:
        graph = agents.create_agent(claude_at(url, "first"), tools=[tool(front_end_tools.broken)])
        return graph_agent(graph)

    claude = Claude({"first": [[thinking("So?"), call("toolu_1", "broken", at="a")]]})
    _, conversation = asked_once(claude, at, CLAUDE)
    assert conversation.status == "failed"
    _, told, (result, _) = (
        message["content"] for message in claude.takes(Run(conversation.run_input("And now?"), **CLAUDE))
    )
    assert told == [thinking("So?"), call("toolu_1", "broken", at="a")]
    assert (result["tool_use_id"], result["is_error"]) == ("toolu_1", True)
