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
from tests.frameworks import approvals, front_end_tools, memory, pages  # noqa: E402
from tests.frameworks.claude import CLAUDE, Blocks, Claude, call, plain, redacted, text, thinking  # noqa: E402
from tests.frameworks.client_fields import check_client_fields  # noqa: E402
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

SCRIPT = "anthropic-weather"
SESSION = "0b7c9a52-33c7-4a0e-9d5b-6f2d0f6f7a11"
QUIET = {"CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


@sdk.tool("get_forecast", "Weather forecast", {"place": str, "hours": int})
async def get_forecast(args: Any) -> Any:
    return {"content": [{"type": "text", "text": FORECAST}]}


@sdk.tool("get_forecast", "Weather forecast", {"place": str, "hours": int})
async def failing_forecast(args: Any) -> Any:
    return {"content": [{"type": "text", "text": "The station is closed."}], "is_error": True}


def options(url: str, home: str, tool: Any = get_forecast, **more: Any) -> Any:
    more = {"include_partial_messages": True, "model": "claude-sonnet-4-6", "tools": [], **more}
    return sdk.ClaudeAgentOptions(
        cwd=home,
        setting_sources=[],
        mcp_servers={"weather": sdk.create_sdk_mcp_server("weather", tools=[tool])},
        allowed_tools=[
            "get_forecast",
            "mcp__weather__get_forecast",
            "mcp__weather__look",
            "mcp__weather__send",
        ],
        env={
            **QUIET,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": home,
            **more.pop("env", {}),
        },
        **more,
    )


def agent_at(url: str, **more: Any) -> Agent:
    home = tempfile.mkdtemp()

    async def agent(run: Run) -> AsyncIterator[Any]:
        resumed = options(url, home, **claude_agent.session_options(run), **more)
        async with sdk.ClaudeSDKClient(resumed) as client:
            await client.query(claude_agent.prompt(run))
            yield claude_agent.stream(client.receive_response())

    return agent


def test_an_image_of_the_user_reaches_the_provider() -> None:
    source = {"type": "data", "value": base64.b64encode(PIXEL).decode(), "mimeType": "image/png"}
    content = [{"type": "text", "text": QUESTIONS[0]}, {"type": "image", "source": source}]
    conversation = Conversation("thread-1")

    async def talk(url: str) -> None:
        asked = conversation.run_input(content)  # type: ignore[arg-type]
        await answered(conversation, asked, agent_at(url), origin_of(SCRIPT))

    with replayed(SCRIPT) as (url, thread):
        anyio.run(talk, url)
    assert conversation.status == "finished"
    blocks = thread.requests[-1]["messages"][0]["content"]
    assert QUESTIONS[0] in [block.get("text") for block in blocks]
    (image,) = [block["source"] for block in blocks if block["type"] == "image"]
    assert (image["type"], image["media_type"], bool(image["data"])) == ("base64", "image/png", True)


@pytest.mark.parametrize("chosen", OPTIONS, ids=str)
def test_the_session_sends_everything_back(chosen: dict[str, Any]) -> None:
    thread = played(SCRIPT, agent_at, **chosen)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 4, 6]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


def test_the_events_of_both_runs() -> None:
    thread = played(SCRIPT, agent_at)
    first, second = ([message.role for message in reduce_events(run)] for run in thread.runs)
    assert first == ["reasoning", "assistant", "tool", "reasoning", "assistant"]
    assert second == ["reasoning", "assistant"]
    states = [[event.type for event in run if event.type.startswith("STATE")] for run in thread.runs]
    assert states == [["STATE_DELTA", "STATE_DELTA"], ["STATE_DELTA"]]
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


def told(messages: list[Any]) -> list[Any]:
    """The messages of a request, without what the command line adds."""
    kept = [one for one in plain(messages) if one["role"] != "system"]
    return [
        {
            **one,
            "content": [block for block in one["content"] if not any(word in str(block) for word in ADDED)],
        }
        for one in kept
    ]


ADDED = ("<system-reminder>", "Continue from where you left off.")


@sdk.tool("look", "Look at something.", {"at": str})
async def look(args: Any) -> Any:
    return {"content": [{"type": "text", "text": front_end_tools.SEEN}]}


def painting_at(url: str, **more: Any) -> Agent:
    home = tempfile.mkdtemp()

    async def agent(run):
        session = claude_agent.session_options(run)
        given = options(url, home, look, model="claude-opus-5", **session, **more)
        async with sdk.ClaudeSDKClient(claude_agent.offer_tools(run, given)) as client:
            prompt = claude_agent.prompt(run)
            if prompt is not None:  # else the session goes on with the results
                await client.query(prompt)
            yield claude_agent.stream(client.receive_response())

    return agent


def test_tools_of_the_front_end_stand_beside_those_of_the_agent() -> None:
    added = {"DeferredToolPlaceholder"}
    front_end_tools.check_front_end_tools(painting_at, added, model="claude-opus-5", read=told)


def painted(answers: list[Blocks], then: Any, **more: Any) -> tuple[Claude, Conversation]:
    """Ask for something to be painted, and what follows once the front end has a call."""
    claude, events = Claude({"claude-opus-5": answers}), []

    async def talk(conversation: Conversation, agent: Agent) -> None:
        asked = conversation.run_input("Paint it.", tools=[front_end_tools.PAINT])
        events.extend(await answered(conversation, asked, agent, CLAUDE))
        events.extend(await answered(conversation, then(conversation), agent, CLAUDE))

    conversation = talked(claude, lambda url: painting_at(url, **more), talk)
    assert (conversation.status, check_events(events)) == ("finished", [])
    return claude, conversation


def with_result(conversation: Conversation) -> Any:
    conversation.add_tool_result("toolu_1", "Painted red.")
    return conversation.run_input(tools=[front_end_tools.PAINT])


def test_the_front_end_sees_the_names_of_its_own_tools() -> None:
    asked: Blocks = [thinking("Red."), call("toolu_1", "mcp__front_end__paint", colour="red")]
    env = {"CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "0"}
    claude, conversation = painted([asked, [text("Done.")]], with_result, env=env)
    (asking,) = [one for one in conversation.messages if getattr(one, "tool_calls", None)]
    assert [one.function.name for one in asking.tool_calls] == ["paint"]
    answer = [front_end_tools.result("toolu_1", "Painted red.")]
    assert told(claude.requests[1]["messages"])[1:] == plain(
        [{"role": "assistant", "content": asked}, {"role": "user", "content": answer}]
    )


def test_the_second_call_of_a_front_end_tool_in_an_answer_is_put_off() -> None:
    both: Blocks = [call("toolu_1", "paint", colour="red"), call("toolu_2", "paint", colour="blue")]
    claude, conversation = painted([both, [text("Done.")]], with_result)
    _, answer, results, *_ = told(claude.requests[1]["messages"])
    assert answer["content"] == both
    by_id = {one["tool_use_id"]: one for one in results["content"]}
    assert by_id["toolu_1"]["content"] == [text("Painted red.")]
    assert "Only one call can wait at a time." in str(by_id["toolu_2"]["content"])
    assert conversation.pending_calls == []


def test_the_user_may_say_something_instead_of_a_result() -> None:
    asked: Blocks = [call("toolu_1", "paint", colour="red")]
    claude, conversation = painted(
        [asked, [text("Never mind.")]], lambda talk: talk.run_input("Stop.", tools=[front_end_tools.PAINT])
    )
    missing, said = told(claude.requests[1]["messages"])[-1]["content"]
    assert (missing["tool_use_id"], missing["is_error"], said) == ("toolu_1", True, text("Stop."))
    assert conversation.messages[-1].content == "Never mind."


@pytest.mark.parametrize("branch", memory.BRANCHES)
def test_the_session_follows_what_the_user_edits(branch: str) -> None:
    memory.check_memory(
        lambda url: agent_at(url, model="claude-opus-5"), branch, model="claude-opus-5", read=told
    )


def send_with(tool: approvals.Asked) -> Any:
    @sdk.tool("send", "Send a letter.", {"text": str})
    async def send(args: Any) -> Any:
        return {"content": [{"type": "text", "text": tool.send(**args)}]}

    return send


def sending_at(url: str, tool: approvals.Asked) -> Agent:
    home, send = tempfile.mkdtemp(), send_with(tool)

    async def agent(run):
        given = options(url, home, send, model="claude-opus-5", **claude_agent.session_options(run))
        asking = claude_agent.offer_tools(run, given, ask_first=["send"])
        async with sdk.ClaudeSDKClient(asking) as client:
            prompt = claude_agent.prompt(run)
            if prompt is not None:  # else the session goes on with the user's answer
                await client.query(prompt)
            yield claude_agent.stream(client.receive_response())

    return agent


def naming_at(url: str, tool: approvals.Asked, ask_first: Any, **more: Any) -> Agent:
    given = options(url, tempfile.mkdtemp(), send_with(tool), model="claude-opus-5", **more)

    async def agent(run: Run) -> AsyncIterator[Any]:
        async with sdk.ClaudeSDKClient(claude_agent.offer_tools(run, given, ask_first=ask_first)) as client:
            await client.query(claude_agent.prompt(run))
            yield claude_agent.stream(client.receive_response())

    return agent


DECIDED = {
    "approved": ({"approved": True}, ["a"], "Sent a."),
    "edited": ({"approved": True, "editedArgs": {"text": "b"}}, ["b"], "Sent b."),
    "refused": ({"approved": False, "reason": "Not now."}, [], "Not now."),
    "refused without a word": ({"approved": False}, [], "The user refused."),
    "cancelled": (None, [], approvals.CANCELLED),
}


@pytest.mark.parametrize(
    ("name", "chosen"),
    [*((name, {}) for name in DECIDED), *(("approved", chosen) for chosen in OPTIONS[1:])],
    ids=str,
)
def test_the_user_decides_on_each_call(name: str, chosen: dict[str, Any]) -> None:
    given, sent, result = DECIDED[name]
    asking: Blocks = [
        thinking("To whom?"),
        redacted("secret"),
        text("I send."),
        call("toolu_1", "send", text="a"),
    ]
    claude, tool = Claude({"claude-opus-5": [asking, FIRST]}), approvals.Asked()
    asked = CLAUDE | with_keys(chosen)
    events: list[Any] = []

    async def talk(conversation: Conversation, agent: Agent) -> None:
        events[:] = await answered(conversation, conversation.run_input("Send it."), agent, asked)
        (interrupt,) = conversation.interrupts
        assert (conversation.status, interrupt.tool_call_id, tool.sent) == ("interrupted", "toolu_1", [])
        events.extend(await approvals.decide(conversation, agent, asked, {"toolu_1": given}))

    conversation = talked(claude, lambda url: sending_at(url, tool), talk)
    assert (conversation.status, tool.sent) == ("finished", sent)
    assert check_events(events) == []
    _, said, (shown, *_) = (one["content"] for one in told(claude.requests[1]["messages"]))
    words = f"PreToolUse:send hook error: {result}" if not sent else result
    assert (said, shown["content"]) == (asking, [text(words)])
    after = claude.takes(Run(conversation.run_input("And now?"), **asked))
    answer = {**shown, "content": [text(words)]}
    assert plain(after)[1:3] == [
        {"role": "assistant", "content": asking},
        {"role": "user", "content": [answer]},
    ]


FIRST: Blocks = [thinking("That is all."), text("Done.")]


@pytest.mark.parametrize("payload", [True, {"approved": "yes"}])
def test_an_answer_of_another_form_fails_the_run(payload: Any) -> None:
    provider = Claude({"claude-opus-5": [approvals.LETTER, FIRST]})
    approvals.check_wrong_answer(sending_at, payload, provider=provider)


@pytest.mark.parametrize(
    ("ask_first", "prefixed"),
    [(["send", "sned"], False), (["mcp__weather__send"], False), (["send"], True), ("send", False)],
)
def test_a_name_that_no_tool_has_fails_the_run_before_a_tool_runs(ask_first: Any, prefixed: bool) -> None:
    claude = Claude({"claude-opus-5": [[call("toolu_1", "send", text="a")], FIRST]})
    tool = approvals.Asked()
    env = {"CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "0"} if prefixed else {}
    shown, _ = asked_once(claude, lambda url: naming_at(url, tool, ask_first, env=env), CLAUDE)
    assert (shown[-1].type, shown[-1].code, tool.sent) == ("RUN_ERROR", "wrong_option", [])


@pytest.mark.parametrize("ask_first", [["Agent"], ["Task", "Bash"], ["mcp__weather__send"]])
def test_every_name_that_a_tool_has_is_known(ask_first: list[str]) -> None:
    env = {"CLAUDE_AGENT_SDK_MCP_NO_PREFIX": "0"}
    shown, _ = asked_once(
        Claude({"claude-opus-5": [FIRST]}),
        lambda url: naming_at(url, approvals.Asked(), ask_first, tools=None, env=env),
        CLAUDE,
    )
    assert shown[-1].type == "RUN_FINISHED"


def test_no_tool_runs_for_an_answer_of_another_form_to_a_call_that_the_client_left_out() -> None:
    claude, tool = Claude({"claude-opus-5": [approvals.LETTER, FIRST]}), approvals.Asked()

    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Send it."), agent, CLAUDE)
        answer = {"interruptId": "toolu_1", "status": "resolved", "payload": {"approved": "yes"}}
        forged = conversation.run_input(resume=[answer]).model_dump(by_alias=True, exclude_none=True)
        forged["messages"] = [one for one in forged["messages"] if not one.get("toolCalls")]
        forged["messages"].append({"id": "a", "role": "assistant", "content": "I send."})
        _ = [event async for event in run_agent(forged, agent, **CLAUDE)]

    talked(claude, lambda url: sending_at(url, tool), talk)
    assert tool.sent == []


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
            async with sdk.ClaudeSDKClient(options(url, home)) as client:
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


@pytest.mark.parametrize("turns", ["m", {"m": "--dangerous"}, {"m": [SESSION]}, {"other": SESSION}, {}])
def test_a_place_in_the_session_is_the_clients_word(turns: Any) -> None:
    state = {"claudeAgentSession": SESSION, "claudeAgentTurns": turns}
    messages = [
        {"id": "m", "role": "user", "content": "Storms?"},
        {"id": "a", "role": "assistant", "content": "No."},
    ]
    conversation = Conversation("thread-1", messages=messages, state=state)  # type: ignore[arg-type]
    run = Run(conversation.run_input("And now?"))
    assert claude_agent.session_options(run) == {"resume": SESSION}


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


def test_what_a_client_sends_beside_its_messages_stays_with_the_agent() -> None:
    def scripted() -> Claude:
        return Claude({"claude-opus-5": [FIRST]})

    check_client_fields(painting_at, provider=scripted, keeps_instructions=False)


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("claude_agent")


def test_the_page_shows_the_example() -> None:
    pages.check_page("claude_agent", None, "claude_agent")
