"""The Claude Agent SDK runs its command line inside a run, and resumes its session in the next one."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

sdk: Any = pytest.importorskip("claude_agent_sdk", reason="the Claude Agent SDK has its own environment")

from ag_ui.core import StateDeltaEvent  # noqa: E402

from agui_reasoning import Conversation, Run, check_events, reduce_events  # noqa: E402
from agui_reasoning.aio import run_agent  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.interop import claude_agent  # noqa: E402
from tests.frameworks import pages  # noqa: E402
from tests.frameworks.threads import FORECAST, PIXEL, QUESTIONS, Agent, answered, played, replayed  # noqa: E402

SCRIPT = "anthropic-weather"
SESSION = "0b7c9a52-33c7-4a0e-9d5b-6f2d0f6f7a11"
QUIET = {"CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


@sdk.tool("get_forecast", "Weather forecast", {"place": str, "hours": int})
async def get_forecast(args: Any) -> Any:
    return {"content": [{"type": "text", "text": FORECAST}]}


@sdk.tool("get_forecast", "Weather forecast", {"place": str, "hours": int})
async def failing_forecast(args: Any) -> Any:
    return {"content": [{"type": "text", "text": "The station is closed."}], "is_error": True}


def options(url: str, home: str, resume: str | None, tool: Any = get_forecast, **more: Any) -> Any:
    more = {"include_partial_messages": True, **more}
    return sdk.ClaudeAgentOptions(
        resume=resume,
        model="claude-sonnet-4-6",
        tools=[],
        cwd=home,
        setting_sources=[],
        mcp_servers={"weather": sdk.create_sdk_mcp_server("weather", tools=[tool])},
        allowed_tools=["get_forecast", "mcp__weather__get_forecast"],
        env={**QUIET, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CONFIG_DIR": home},
        **more,
    )


def agent_at(url: str, **more: Any) -> Agent:
    home = tempfile.mkdtemp()

    async def agent(run: Run) -> AsyncIterator[Any]:
        resumed = options(url, home, claude_agent.session_id(run), **more)
        async with sdk.ClaudeSDKClient(resumed) as client:
            await client.query(claude_agent.prompt(run))
            yield claude_agent.stream(client.receive_response())

    return agent


def test_an_image_of_the_user_reaches_the_provider() -> None:
    source = {"type": "data", "value": base64.b64encode(PIXEL).decode(), "mimeType": "image/png"}
    content = [{"type": "text", "text": QUESTIONS[0]}, {"type": "image", "source": source}]
    conversation = Conversation("thread-1")

    async def talk(url: str) -> None:
        chosen = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-6"}
        asked = conversation.run_input(content)  # type: ignore[arg-type]
        await answered(conversation, asked, agent_at(url), chosen)

    with replayed(SCRIPT) as (url, thread):
        anyio.run(talk, url)
    assert conversation.status == "finished"
    blocks = thread.requests[-1]["messages"][0]["content"]
    assert QUESTIONS[0] in [block.get("text") for block in blocks]
    (image,) = [block["source"] for block in blocks if block["type"] == "image"]
    assert (image["type"], image["media_type"], bool(image["data"])) == ("base64", "image/png", True)


@pytest.mark.parametrize("chosen", [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}], ids=str)
def test_the_session_sends_everything_back(chosen: dict[str, Any]) -> None:
    keys = KeyRing.generate() if chosen.get("keys") else None
    thread = played(SCRIPT, agent_at, **{**chosen, "keys": keys})
    assert [len(thread.artifacts(number)) for number in (1, 2, 3)] == [0, 4, 6]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


def test_the_events_of_both_runs() -> None:
    thread = played(SCRIPT, agent_at)
    first, second = ([message.role for message in reduce_events(run)] for run in thread.runs)
    assert first == ["reasoning", "assistant", "tool", "reasoning", "assistant"]
    assert second == ["reasoning", "assistant"]
    states = [[event.type for event in run if event.type.startswith("STATE")] for run in thread.runs]
    assert states == [["STATE_DELTA"], []]
    (result,) = [message for message in reduce_events(thread.runs[0]) if message.role == "tool"]
    assert (result.content, result.error) == (FORECAST, None)


def test_a_failed_tool() -> None:
    thread = played(SCRIPT, lambda url: agent_at(url, tool=failing_forecast))
    (result,) = [event for event in thread.runs[0] if event.type == "TOOL_CALL_RESULT"]
    assert result.content == "The station is closed."
    assert result.metadata["agui-reasoning"]["error"] == "The station is closed."


@sdk.tool("get_forecast", "Weather forecast", {"place": str, "hours": int})
async def pictured_forecast(args: Any) -> Any:
    image = {"type": "image", "data": base64.b64encode(PIXEL).decode(), "mimeType": "image/png"}
    return {"content": [{"type": "text", "text": "A map."}, image]}


def test_an_image_that_a_tool_returns_is_shown() -> None:
    thread = played(SCRIPT, lambda url: agent_at(url, tool=pictured_forecast))
    (result,) = [event for event in thread.runs[0] if event.type == "TOOL_CALL_RESULT"]
    assert [part.type for part in result.content][:2] == ["text", "image"]
    assert (thread.missing(3), thread.findings) == ([], [])


def test_messages_without_a_stream_are_shown_whole() -> None:
    thread = played(SCRIPT, lambda url: agent_at(url, include_partial_messages=False))
    roles = [message.role for message in reduce_events(thread.runs[0])]
    assert [role for role in roles if role != "reasoning"] == ["assistant", "tool", "assistant"]
    assert (thread.missing(3), thread.findings) == ([], [])


def test_a_reader_that_leaves_stops_the_process_of_the_sdk() -> None:
    clients: list[Any] = []

    async def leave(url: str) -> None:
        home = tempfile.mkdtemp()

        async def agent(run: Run) -> AsyncIterator[Any]:
            async with sdk.ClaudeSDKClient(options(url, home, None)) as client:
                clients.append(client)
                await client.query("Do I need an umbrella?")
                yield claude_agent.stream(client.receive_response())

        run_input = thread.conversation.run_input("Do I need an umbrella?")
        events = run_agent(run_input, agent, provider="anthropic", model="claude-sonnet-4-6")
        async for event in events:
            if event.type == "REASONING_MESSAGE_CONTENT":
                break
        await events.aclose()

    with replayed(SCRIPT) as (_, thread), replayed(SCRIPT) as (url, asked):
        anyio.run(leave, url)
    assert clients[0]._query is None
    assert len(asked.requests) <= 2


async def shown(messages: list[Any], state: Any = None, **chosen: Any) -> list[Any]:
    async def source() -> AsyncIterator[Any]:
        for message in messages:
            yield message

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield claude_agent.stream(source())

    conversation = Conversation("thread-1", state=state)
    events = run_agent(conversation.run_input("Storms?"), agent, provider="anthropic", **chosen)
    return [event async for event in events]


def said(*blocks: Any, parent: str | None = None, number: int = 1, **more: Any) -> Any:
    return sdk.AssistantMessage(
        list(blocks), "claude-sonnet-4-6", parent, message_id=f"msg_{parent}_{number}", **more
    )


def result(call: str, text: str, parent: str | None = None) -> Any:
    return sdk.UserMessage([sdk.ToolResultBlock(call, text)], parent_tool_use_id=parent)


def finished(**more: Any) -> Any:
    return sdk.ResultMessage("success", 1, 1, bool(more), 1, SESSION, **more)


def test_what_was_said_before_an_error_is_kept() -> None:
    messages = [said(sdk.TextBlock("I look.")), finished(errors=["The budget is used up."])]
    events = anyio.run(shown, messages)
    assert events[-1].type == "RUN_ERROR"
    assert [event.delta for event in events if event.type == "TEXT_MESSAGE_CONTENT"] == ["I look."]
    assert "budget" not in str(events)


def test_a_subagent_has_a_lane_of_its_own() -> None:
    messages = [
        said(sdk.ToolUseBlock("toolu_1", "Agent", {"subagent_type": "storms", "prompt": "Look."})),
        sdk.UserMessage([sdk.TextBlock("Look.")], parent_tool_use_id="toolu_1"),
        said(sdk.ThinkingBlock("Gusts.", "c2ln"), parent="toolu_1"),
        said(sdk.ToolUseBlock("toolu_2", "get_forecast", {}), parent="toolu_1"),
        result("toolu_2", FORECAST, parent="toolu_1"),
        said(sdk.TextBlock("Storms."), parent="toolu_1", number=2),
        result("toolu_1", "Storms."),
        said(sdk.TextBlock("There will be storms."), number=2),
        finished(),
    ]
    events = anyio.run(shown, messages)
    assert check_events(events) == []
    lanes = [(e.type, e.subagent_run_id is not None) for e in events if hasattr(e, "subagent_run_id")]
    ((start, _), (end, _)) = [lane for lane in lanes if lane[0].startswith("SUBAGENT")]
    assert (start, end) == ("SUBAGENT_STARTED", "SUBAGENT_FINISHED")
    (started,) = [event for event in events if event.type == "SUBAGENT_STARTED"]
    assert started.name == "storms"
    own = [e for e in events if getattr(e, "subagent_run_id", None) == started.subagent_run_id]
    assert "".join(e.delta for e in own if e.type == "TEXT_MESSAGE_CONTENT") == "Storms."
    assert [e.tool_call_id for e in own if e.type == "TOOL_CALL_RESULT"] == ["toolu_2"]
    order = [event.type for event in events]
    answered = [e.tool_call_id for e in events if e.type == "TOOL_CALL_RESULT"]
    assert answered == ["toolu_2", "toolu_1"]
    assert order.index("SUBAGENT_FINISHED") < len(order) - 1 - order[::-1].index("TOOL_CALL_RESULT")


def test_an_error_of_the_sdk_ends_the_run() -> None:
    failed = [said(sdk.TextBlock("API Error: secret"), error="server_error"), finished(result="secret")]
    events = anyio.run(shown, failed)
    assert (events[-1].type, events[-1].code) == ("RUN_ERROR", "provider_error")
    assert "secret" not in "".join(event.model_dump_json() for event in events)


def test_events_of_the_application_pass_between_those_of_the_sdk() -> None:
    change = StateDeltaEvent(delta=[{"op": "replace", "path": "/draft", "value": "b"}])
    conversation = Conversation("thread-1", state={"draft": "a"})
    for event in anyio.run(shown, [said(sdk.TextBlock("I write.")), change, finished()], {"draft": "a"}):
        conversation.receive(event)
    assert conversation.state == {"draft": "b", "claudeAgentSession": SESSION}


def test_the_session_is_added_to_the_state() -> None:
    (delta,) = [e for e in anyio.run(shown, [finished()], {"city": "Bergen"}) if "STATE" in e.type]
    assert delta.model_dump()["delta"] == [{"op": "add", "path": "/claudeAgentSession", "value": SESSION}]
    known = anyio.run(shown, [finished()], {"claudeAgentSession": SESSION})
    assert [event.type for event in known] == ["RUN_STARTED", "RUN_FINISHED"]
    unset = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": []}

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield claude_agent.stream([finished()])

    async def run() -> list[Any]:
        return [event async for event in run_agent(unset, agent)]

    (snapshot,) = [event for event in anyio.run(run) if "STATE" in event.type]
    assert snapshot.snapshot == {"claudeAgentSession": SESSION}


@pytest.mark.parametrize("stored", ["--dangerous", SESSION + "\n", 7, None, [SESSION]])
def test_a_changed_session_is_not_resumed(stored: Any) -> None:
    conversation = Conversation("thread-1", state={"claudeAgentSession": stored})
    assert claude_agent.session_id(Run(conversation.run_input("Hello"))) is None


def test_an_encrypted_session_belongs_to_its_thread_and_tenant() -> None:
    keys = KeyRing.generate()

    async def sealed() -> Any:
        return await shown([finished()], keys=keys, tenant="acme")

    (delta,) = [event for event in anyio.run(sealed) if "STATE" in event.type]
    state = {"claudeAgentSession": delta.delta[0].value}
    assert SESSION not in str(state)

    def read(thread: str = "thread-1", **chosen: Any) -> str | None:
        return claude_agent.session_id(Run(Conversation(thread, state=state).run_input("Hello"), **chosen))

    assert read(keys=keys, tenant="acme") == SESSION
    assert read("thread-2", keys=keys, tenant="acme") is None
    assert read(keys=keys, tenant="other") is None
    assert read() is None
    state = {"claudeAgentSession": SESSION}
    assert read(keys=keys, tenant="acme") is None


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("claude_agent")


def test_the_page_shows_the_example() -> None:
    pages.check_page("claude_agent", None, "claude_agent")
