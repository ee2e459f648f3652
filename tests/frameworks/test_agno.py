"""Agno runs its loop inside a run, and its provider gets everything back."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import pytest

agno: Any = pytest.importorskip("agno.agent", reason="Agno has its own environment")
anthropic: Any = pytest.importorskip("anthropic")
aioboto3: Any = pytest.importorskip("aioboto3")
genai: Any = pytest.importorskip("google.genai")

from ag_ui.core import StateDeltaEvent  # noqa: E402
from agno.db.in_memory import InMemoryDb  # type: ignore[import-not-found] # noqa: E402
from agno.media import Image  # type: ignore[import-not-found] # noqa: E402
from agno.models.anthropic import Claude  # type: ignore[import-not-found] # noqa: E402
from agno.models.aws import AwsBedrock  # type: ignore[import-not-found] # noqa: E402
from agno.models.aws import Claude as ClaudeOnBedrock  # noqa: E402
from agno.models.deepseek import DeepSeek  # type: ignore[import-not-found] # noqa: E402
from agno.models.google import Gemini  # type: ignore[import-not-found] # noqa: E402
from agno.run.agent import CustomEvent, RunContentEvent  # type: ignore[import-not-found] # noqa: E402
from agno.team import Team  # type: ignore[import-not-found] # noqa: E402
from agno.tools.function import Function, ToolResult  # type: ignore[import-not-found] # noqa: E402
from agno.tools.user_control_flow import UserControlFlowTools  # type: ignore[import-not-found] # noqa: E402
from agno.tools.user_feedback import UserFeedbackTools  # type: ignore[import-not-found] # noqa: E402

from agui_reasoning import Conversation, Run, reduce_events  # noqa: E402
from agui_reasoning import run_agent as run_sync  # noqa: E402
from agui_reasoning.interop import agno as adapter  # noqa: E402
from agui_reasoning.parts import ReasoningPart, Segment, TextPart  # noqa: E402
from tests.frameworks import failures, front_end_tools, histories, memory, pages  # noqa: E402
from tests.frameworks.approvals import (  # noqa: E402
    CANCELLED,
    Asked,
    check_approvals,
    check_words_beside,
    check_wrong_answer,
    decide,
)
from tests.frameworks.claude import CLAUDE, Blocks, call, redacted, text, thinking  # noqa: E402
from tests.frameworks.claude import Claude as ScriptedClaude  # noqa: E402
from tests.frameworks.client_fields import check_client_fields  # noqa: E402
from tests.frameworks.threads import (  # noqa: E402
    FORECAST,
    OPTIONS,
    PIXEL,
    QUESTIONS,
    Agent,
    abandoned,
    answered,
    asked_once,
    origin_of,
    played,
    replayed,
    shown,
    talked,
)
from tests.support.lines import calls, lines, says, thinks  # noqa: E402

ANTHROPIC, CHAT, GEMINI, BEDROCK = "anthropic-weather", "chat-weather", "gemini-weather", "bedrock-weather"
ARTIFACTS = {ANTHROPIC: [0, 4, 6], CHAT: [0, 2, 3], GEMINI: [0, 3, 4]}


def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return FORECAST


class SignedGemini(Gemini):
    def _parse_provider_response_delta(self, response_delta, **options):
        response = super()._parse_provider_response_delta(response_delta, **options)
        calls = [call for call in response.tool_calls if "thought_signature" in call]
        if calls:
            signatures = {call["id"]: call["thought_signature"] for call in calls}
            response.provider_data = {**(response.provider_data or {}), "call_signatures": signatures}
            response.content = response.content or ""  # teams stream nothing without content
        return response


def gemini_at(url: str, made: Any = SignedGemini) -> Any:
    options = genai.types.HttpOptions(base_url=url, api_version="v1beta")
    client = genai.Client(api_key="none", http_options=options)
    return made(id="gemini-3-flash-preview", client=client, include_thoughts=True)


def claude_at(url: str, name: str = "first") -> Any:
    client = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
    return Claude(id=name, async_client=client, max_tokens=4096)


def running(model: Any, *tools: Any, **options: Any) -> Agent:
    made = agno.Agent(model=model, tools=list(tools), telemetry=False, **options)

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield adapter.stream(made.arun(adapter.messages(run), stream=True, stream_events=True))

    return agent


def model_at(url: str, script: str) -> Any:
    if script == GEMINI:
        return gemini_at(url)
    if script == CHAT:
        return DeepSeek(id="deepseek-v4-flash", base_url=f"{url}/v1", api_key="none")
    return claude_at(url, "claude-sonnet-4-6")


def agent_at(url: str, script: str = ANTHROPIC, tool: Any = get_forecast) -> Agent:
    return running(model_at(url, script), tool)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("script", ARTIFACTS)
def test_everything_comes_back(script: str, options: dict[str, Any]) -> None:
    thread = played(script, lambda url: agent_at(url, script), **options)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == ARTIFACTS[script]
    lost = ["call id"] * 2 if script == GEMINI else []  # Agno writes no IDs of Gemini's calls
    assert (thread.missing(2), thread.missing(3), thread.findings) == (lost, lost, [])


def test_without_the_subclass_the_signatures_of_gemini_s_calls_are_replaced() -> None:
    thread = shown(GEMINI, lambda url: running(gemini_at(url, Gemini), get_forecast))
    assert (thread.missing(3), thread.findings) == (["signature"] * 2, [])
    (call,) = [
        part for one in thread.requests[2]["contents"] for part in one["parts"] if "functionCall" in part
    ]
    assert call["thoughtSignature"] == "skip_thought_signature_validator"


def bedrock_at(url: str) -> Any:
    client = aioboto3.Session().client("bedrock-runtime", endpoint_url=url, region_name="us-east-1", **AWS)

    class AtURL(AwsBedrock):
        def get_async_client(self):
            return client

    return AtURL(id="us.anthropic.claude-sonnet-4-6")


AWS = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}


def claude_on_bedrock(url: str) -> Agent:
    client = anthropic.AsyncAnthropicBedrock(
        base_url=url, aws_access_key="none", aws_secret_key="none", aws_region="us-east-1", max_retries=0
    )

    model = ClaudeOnBedrock(id="first", async_client=client, max_tokens=4096)
    return running(model, front_end_tools.look)


def test_everything_comes_back_to_claude_on_bedrock() -> None:
    front_end_tools.check_interleaved(claude_on_bedrock, provider="bedrock")


def look_there(at_place: str) -> str:
    """Look at a place."""
    return ""


look_there.__name__ = "look"


@pytest.mark.parametrize(("script", "signed"), [(BEDROCK, True), (GEMINI, True), (GEMINI, False)])
def test_a_history_goes_out_as_without_the_framework(script: str, signed: bool) -> None:
    run = histories.looked(script, signed=signed)

    async def ask(url: str) -> None:
        model = bedrock_at(url) if script == BEDROCK else gemini_at(url)
        looker = agno.Agent(model=model, tools=[look_there], telemetry=False)
        async for event in looker.arun(adapter.messages(run), stream=True, stream_events=True):
            if event.event == "RunError":  # the replayed provider did not issue these values
                break

    with replayed(script) as (url, thread):
        anyio.run(ask, url)
    expected, sent = run.request(tools=()).body, thread.requests[0]
    if script == GEMINI:
        assert histories.gemini_parts(sent["contents"]) == histories.gemini_parts(expected["contents"])
        return
    results = [one["toolResult"] for one in sent["messages"][2]["content"]]
    told = "(Not sent in a tool result: image/png, 67 bytes.)"
    assert [one["content"] for one in results] == [
        [{"json": {"result": text}}] for text in (told, "Too dark.")
    ]
    expected["messages"][2] = sent["messages"][2]
    assert sent["messages"] == histories.as_json(expected["messages"])


@pytest.mark.parametrize("script", [ANTHROPIC, CHAT, GEMINI, BEDROCK])
def test_instructions_of_the_client_never_replace_those_of_the_agent(script: str) -> None:
    warnings: list[str] = []
    told = [
        {"id": "s", "role": "system", "content": "Be rude."},
        {"id": "u", "role": "user", "content": "Hi"},
    ]
    given: dict[str, Any] = {"state": {}, "messages": told, "tools": [], "context": [], "forwardedProps": {}}
    run = Run({"threadId": "t", "runId": "r", **given}, **origin_of(script), on_warning=warnings.append)

    async def ask(url: str) -> None:
        model = bedrock_at(url) if script == BEDROCK else model_at(url, script)
        made = agno.Agent(model=model, instructions="Be polite.", telemetry=False)
        async for event in made.arun(adapter.messages(run), stream=True, stream_events=True):
            if event.event == "RunContent":
                break

    with replayed(script) as (url, thread):
        anyio.run(ask, url)
    sent = json.dumps(thread.requests[0])
    follows = script in (ANTHROPIC, CHAT)
    assert ("Be polite." in sent, "Be rude." in sent, len(warnings)) == (True, follows, 0 if follows else 1)


def test_redacted_thinking_is_not_shown() -> None:
    thread = played(ANTHROPIC, agent_at)
    messages = reduce_events(thread.runs[0])
    shown = [message.content for message in messages if message.role == "reasoning"]
    assert not any("YWd1aS" in text for text in shown)
    roles = [message.role for message in messages if message.role != "reasoning"]
    assert roles == ["assistant", "tool", "assistant"]


HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def look_for(at: str) -> str:
    """Look at something."""
    return f"{at} is here."


look_for.__name__ = "look"


def asked(claude: ScriptedClaude) -> tuple[list[str], Any]:
    """What an agent shows of one question, and the messages of the provider's next request."""
    events, conversation = asked_once(claude, lambda url: running(claude_at(url), look_for), CLAUDE)
    assert events[-1].type == "RUN_FINISHED"
    return lines(events), claude.takes(Run(conversation.run_input("And now?"), **CLAUDE))


ENDS: Blocks = [text("It is here.")]
ORDERS: dict[str, tuple[Blocks, list[str]]] = {
    "thoughts between calls": (
        [
            thinking("Is it a?"),
            text("I look."),
            call("toolu_1", "look", at="a"),
            thinking("Or is it b?"),
            call("toolu_2", "look", at="b"),
        ],
        [
            *thinks(1, "Is it a?"),
            *says(3, "I look."),
            *calls(4, "look", '{"at":"a"}'),
            *thinks(5, "Or is it b?"),
            *calls(7, "look", '{"at":"b"}'),
            "reasoning_encrypted_value 6",
        ],
    ),
    "a hash inside a thought": (
        [thinking(f"Of a it is {HASH} I think."), call("toolu_1", "look", at="a")],
        [
            *thinks(1, f"Of a it is {HASH} I think."),
            *calls(3, "look", '{"at":"a"}'),
            "reasoning_encrypted_value 2",
        ],
    ),
    "thoughts that begin with a hash or are one, and a redacted one": (
        [
            thinking(f"{HASH} is that of a."),
            redacted("secret"),
            thinking(HASH),
            text("I look."),
            call("toolu_1", "look", at="a"),
        ],
        [
            "reasoning_start 1",
            "reasoning_message_start 2",
            f"reasoning_message_content 2 | {HASH} is that of a.",
            "reasoning_message_end 2",
            "reasoning_encrypted_value 2",
            "reasoning_encrypted_value 2",  # once more, with the redacted thought
            "reasoning_message_start 3",
            f"reasoning_message_content 3 | {HASH}",
            "reasoning_message_end 3",
            "reasoning_encrypted_value 3",
            "reasoning_end 1",
            *says(4, "I look."),
            *calls(5, "look", '{"at":"a"}'),
            "reasoning_encrypted_value 3",
        ],
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_and_the_kinds_are_those_of_the_provider(name: str) -> None:
    blocks, expected = ORDERS[name]
    shown, messages = asked(ScriptedClaude({"first": [blocks, ENDS]}))
    assert shown[: len(expected)] == expected
    results = [line.partition(" | ")[2] for line in shown[len(expected) :]]
    places = [block["input"]["at"] for block in blocks if block["type"] == "tool_use"]
    assert results == [*(f"{place} is here." for place in places), "", "It is here.", ""]
    assert messages[1] == {"role": "assistant", "content": blocks}


def test_a_long_word_in_the_reasoning_of_another_api_is_text() -> None:
    word = "A" * 80
    empty: dict[str, Any] = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
    run = Run({"threadId": "t", "runId": "r", **empty}, api="openai-chat", provider="deepseek", model="m")
    events = [RunContentEvent(reasoning_content=word), RunContentEvent(content="Yes.")]
    shown = list(run_sync(run, lambda run: iter([adapter.stream(events)])))
    assert [message.content for message in reduce_events(shown)] == [word, "Yes."]


PNG = base64.b64encode(PIXEL).decode()


def look(place: str, hours: int) -> Any:
    """Weather forecast of a place for the next hours."""
    return ToolResult(content="A map.", images=[Image(content=PIXEL, mime_type="image/png")])


def test_an_image_that_a_tool_returns_is_in_the_history() -> None:
    look.__name__ = "get_forecast"
    thread = played(ANTHROPIC, lambda url: agent_at(url, tool=look))
    (told,) = thread.results(3)
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    assert told["content"] == [{"type": "text", "text": "A map."}, {"type": "image", "source": source}]
    assert thread.findings == []


def failing(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    raise RuntimeError("The station is closed.")


def test_a_failed_tool_is_in_the_history() -> None:
    failing.__name__ = "get_forecast"
    thread = played(ANTHROPIC, lambda url: agent_at(url, tool=failing))
    (result,) = [event for event in thread.runs[0] if event.type == "TOOL_CALL_RESULT"]
    assert result.metadata["agui-reasoning"]["error"] == "The station is closed."
    sent = [block for message in thread.requests[2]["messages"] for block in message["content"]]
    (told,) = [block for block in sent if block["type"] == "tool_result"]
    assert told["content"] == "The station is closed."
    assert (thread.missing(3), thread.findings) == ([], [])


def test_a_reader_that_leaves_stops_the_run() -> None:
    assert len(abandoned(ANTHROPIC, agent_at).requests) == 1


@pytest.mark.parametrize("failure", [*failures.FAILURES, failures.IN_STREAM], ids=failures.name_of)
def test_a_failure_of_the_provider_is_told_as_without_the_framework(
    failure: failures.Failure, caplog: pytest.LogCaptureFixture
) -> None:
    failures.check(failure, agent_at, caplog, **CLAUDE)


def test_messages_for_another_api_have_no_reasoning_and_say_so() -> None:
    opened = Conversation("t")
    told = [
        ReasoningPart((Segment("summary", 0, "Hm."),), item_id="rs_1"),
        TextPart("Yes.", ext={"id": "msg_1"}),
    ]
    options: dict[str, Any] = {"api": "openai-responses", "provider": "openai", "model": "m"}
    for event in run_sync(opened.run_input("Hello"), lambda _: iter(told), **options):
        opened.receive(event)
    warnings: list[str] = []
    run = Run(opened.run_input("And now?"), on_warning=warnings.append, **options)
    written = [(message.role, message.content) for message in adapter.messages(run)]
    assert written == [("user", "Hello"), ("assistant", "Yes."), ("user", "And now?")]
    assert any(text.startswith("1 reasoning unit(s) are left out") for text in warnings)


def whole_at(url: str) -> Agent:
    looker = agno.Agent(model=claude_at(url), tools=[front_end_tools.look], telemetry=False)

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield adapter.stream(looker.arun(adapter.messages(run)))

    return agent


def test_a_run_without_a_stream_has_its_blocks_in_order() -> None:
    front_end_tools.check_interleaved(whole_at)


@pytest.mark.parametrize("failure", failures.FAILURES[:1], ids=failures.name_of)
def test_a_failure_of_a_run_without_a_stream_is_told(
    failure: failures.Failure, caplog: pytest.LogCaptureFixture
) -> None:
    failures.check(failure, whole_at, caplog, **CLAUDE)


@pytest.mark.parametrize("branch", memory.BRANCHES)
def test_edited_messages_are_followed_beside_a_database(branch: str) -> None:
    def at(url: str) -> Agent:
        model, sessions = claude_at(url), InMemoryDb()

        async def agent(run: Run) -> AsyncIterator[Any]:
            made = agno.Agent(model=model, db=sessions, session_id=run.input.thread_id, telemetry=False)
            yield adapter.stream(made.arun(adapter.messages(run), stream=True, stream_events=True))

        return agent

    memory.check_memory(at, branch)


def test_what_a_client_sends_beside_its_messages_stays_with_the_agent() -> None:
    check_client_fields(painting_at)


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("agno")


def test_the_page_shows_the_example() -> None:
    pages.check_page("agno", None, "agno")


def painting_at(url: str) -> Agent:
    async def agent(run):
        client = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
        model = Claude(id="first", async_client=client, max_tokens=4096)
        tools = [front_end_tools.look, *adapter.tools(run)]
        painter = agno.Agent(model=model, tools=tools, telemetry=False)
        yield adapter.stream(painter.arun(adapter.messages(run), stream=True, stream_events=True))

    return agent


def test_tools_of_the_front_end_stand_beside_those_of_the_agent() -> None:
    front_end_tools.check_front_end_tools(painting_at)


@pytest.mark.parametrize("script", ARTIFACTS)
def test_everything_comes_back_to_the_leader_of_a_team(script: str) -> None:
    def at(url: str) -> Agent:
        async def agent(run: Run) -> AsyncIterator[Any]:
            member = agno.Agent(name="Guide", model=model_at(url, script), telemetry=False)
            *before, last = adapter.messages(run)
            options = {"tools": [get_forecast], "additional_input": before, "telemetry": False}
            team = Team(members=[member], model=model_at(url, script), **options)
            yield adapter.stream(team.arun(last, stream=True, stream_events=True))

        return agent

    thread = played(script, at)
    lost = ["call id"] * 2 if script == GEMINI else []
    assert (thread.missing(2), thread.missing(3), thread.findings) == (lost, lost, [])


def delegated(call_id: str, member: str) -> dict[str, Any]:
    return call(call_id, "delegate_task_to_member", member_id=member, task="Is it there?")


LEADS: list[Blocks] = [
    [thinking("Who knows?"), text("I ask."), delegated("toolu_1", "scout"), delegated("toolu_2", "guide")],
    [thinking("So."), text("It is there.")],
]
SCOUTS: list[Blocks] = [
    [thinking("I look."), call("toolu_3", "look", at="a")],
    [thinking("Seen."), text("It is.")],
]
GUIDES: list[Blocks] = [[thinking("Hm."), text("It is not.")]]


def team_at(url: str, *, members: Any = None, **options: Any) -> Any:
    claude = partial(claude_at, url)
    scout = agno.Agent(
        name="Scout", id="scout", model=claude("scout"), tools=[front_end_tools.look], telemetry=False
    )
    guide = agno.Agent(name="Guide", id="guide", model=claude("guide"), telemetry=False)
    made = members(Team, claude, scout) if members else [scout, guide]
    return Team(members=made, model=claude("first"), telemetry=False, **options)


def led(claude: ScriptedClaude, members: Any = None) -> tuple[list[Any], Conversation]:
    """What a team shows of one question, and the client's conversation."""

    def at(url: str) -> Agent:
        async def agent(run: Run) -> AsyncIterator[Any]:
            *before, last = adapter.messages(run)
            team = team_at(url, members=members, additional_input=before)
            yield adapter.stream(team.arun(last, stream=True, stream_events=True))

        return agent

    events, conversation = asked_once(claude, at, CLAUDE, "Is it there?")
    assert conversation.status == "finished"
    return events, conversation


def lane(events: list[Any], subagent: Any) -> list[str]:
    """What a subagent shows, or the run itself, without what begins and ends it."""
    own = [event for event in events if getattr(event, "subagent_run_id", None) == subagent]
    return [line for line in lines(own) if not line.startswith(("subagent_", "run_"))]


def test_the_members_of_a_team_are_subagents() -> None:
    claude = ScriptedClaude({"first": list(LEADS), "scout": list(SCOUTS), "guide": list(GUIDES)})
    events, conversation = led(claude)
    started = {event.name: event.subagent_run_id for event in events if event.type == "SUBAGENT_STARTED"}
    assert {*started} == {"Scout", "Guide"}
    scout = lane(events, started["Scout"])
    said = [line.partition(" | ")[2] for line in scout if "content" in line or "result" in line]
    assert said == ["I look.", "It is green.", "Seen.", "It is."]
    assert len([line for line in scout if line.startswith("reasoning_encrypted_value")]) == 3
    results = [
        event for event in events if event.type == "TOOL_CALL_RESULT" and event.subagent_run_id is None
    ]
    assert [one.content for one in results] == ["It is.", "It is not."]
    after = claude.takes(Run(conversation.run_input("And now?"), **CLAUDE))
    told = [
        {"type": "tool_result", "tool_use_id": call_id, "content": said}
        for call_id, said in (("toolu_1", "It is."), ("toolu_2", "It is not."))
    ]
    assert after == [
        {"role": "user", "content": [text("Is it there?")]},
        {"role": "assistant", "content": LEADS[0]},
        {"role": "user", "content": told},
        {"role": "assistant", "content": LEADS[1]},
        {"role": "user", "content": [text("And now?")]},
    ]


def test_a_member_that_fails_ends_alone() -> None:
    led_by = [[thinking("Who knows?"), delegated("toolu_1", "guide")], LEADS[1]]
    events, _ = led(ScriptedClaude({"first": led_by, "guide": []}))
    (failed,) = [event for event in events if event.type == "SUBAGENT_ERROR"]
    assert (failed.code, failed.message) == (
        "provider_error",
        "The model's provider reported an error. Please try again shortly.",
    )


def test_a_team_inside_a_team_is_a_subagent_of_its_own() -> None:
    def members(made: Any, claude: Any, scout: Any) -> list[Any]:
        return [made(name="Inner", id="inner", members=[scout], model=claude("inner"), telemetry=False)]

    outer = [[thinking("Who knows?"), delegated("toolu_1", "inner")], LEADS[1]]
    inner = [[delegated("toolu_2", "scout")], [text("It is.")]]
    events, _ = led(ScriptedClaude({"first": outer, "inner": inner, "scout": list(SCOUTS)}), members)
    one, other = [event for event in events if event.type == "SUBAGENT_STARTED"]
    assert (one.name, one.parent_subagent_run_id) == ("Inner", None)
    assert (other.name, other.parent_subagent_run_id) == ("Scout", one.subagent_run_id)


def leading_at(url: str) -> Agent:
    async def agent(run):
        *before, last = adapter.messages(run)
        tools = [front_end_tools.look, *adapter.tools(run)]
        team = team_at(url, tools=tools, additional_input=before)
        yield adapter.stream(team.arun(last, stream=True, stream_events=True))

    return agent


def test_tools_of_the_front_end_stand_beside_those_of_a_leader() -> None:
    front_end_tools.check_front_end_tools(leading_at, more={"delegate_task_to_member"})


def test_a_paused_call_of_a_chat_model_is_shown() -> None:
    forecast = {"name": "get_forecast", "description": "Weather.", "parameters": {"type": "object"}}
    conversation = Conversation("thread-1")

    async def talk(url: str) -> None:
        async def agent(run):
            weather = agno.Agent(model=model_at(url, CHAT), tools=adapter.tools(run), telemetry=False)
            yield adapter.stream(weather.arun(adapter.messages(run), stream=True, stream_events=True))

        options = origin_of(CHAT)
        asked = conversation.run_input(QUESTIONS[0], tools=[forecast])
        await answered(conversation, asked, agent, options)
        (waiting,) = conversation.pending_calls
        conversation.add_tool_result(waiting.id, FORECAST)
        await answered(conversation, conversation.run_input(tools=[forecast]), agent, options)
        thread.requests.append(Run(conversation.run_input(QUESTIONS[1]), **options).request(tools=()).body)

    with replayed(CHAT) as (url, thread):
        anyio.run(talk, url)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 2, 3]
    assert (thread.missing(2), thread.missing(3)) == ([], [])


def asking(weather: Any) -> Agent:
    async def agent(run):
        options = {"stream": True, "stream_events": True}
        paused = await adapter.resume(run, weather)  # None unless the user answered
        if paused is None:
            yield adapter.stream(weather.arun(adapter.messages(run), **options))
        else:
            yield adapter.stream(weather.acontinue_run(paused, **options))

    return agent


def held(tool: Any, **how: Any) -> Any:
    """A tool that pauses a run."""
    made = Function.from_callable(tool)
    for name, value in how.items():
        setattr(made, name, value)
    return made


def made_at(url: str, tools: list[Any]) -> Any:
    return agno.Agent(model=claude_at(url), tools=tools, instructions="Be brief.", telemetry=False)


def sending_at(url: str, tool: Asked) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        send = held(tool.send, requires_confirmation=True)
        made = made_at(url, [front_end_tools.look, send, UserFeedbackTools(), *adapter.tools(run)])
        async for item in asking(made)(run):
            yield item

    return agent


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_user_decides_on_each_call(options: dict[str, Any]) -> None:
    first, second = check_approvals(sending_at, options)
    assert first["system"] == second["system"]  # with the instructions of the tool kit


def mail(to: str, text: str) -> str:
    """Send a letter to somebody."""
    return f"Sent {text} to {to}."


FIELD = {"field_name": "name", "field_type": "str", "field_description": "Yours."}
QUESTION = {"question": "Which one?", "header": "One", "options": [{"label": "red"}, {"label": "blue"}]}
INPUTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "mail": (
        {"text": "Hi"},
        {
            "properties": {"to": {"type": "string"}, "text": {"type": "string", "default": "Hi"}},
            "required": ["to"],
        },
        {"to": "Ann"},
        "Sent Hi to Ann.",
    ),
    "get_user_input": (
        {"user_input_fields": [FIELD]},
        {"properties": {"name": {"type": "string", "description": "Yours."}}, "required": ["name"]},
        {"name": "Bo"},
        'User inputs retrieved: [{"name":"name","value":"Bo"}]',
    ),
    "ask_user": (
        {"questions": [QUESTION]},
        {
            "properties": {
                "Which one?": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["red", "blue"]},
                    "maxItems": 1,
                }
            },
            "required": ["Which one?"],
        },
        {"Which one?": ["red"]},
        'User feedback received: [{"question":"Which one?","selected":["red"]}]',
    ),
}
"""The arguments of a call, the schema of the answer, an answer, and the result of the call, by tool."""


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("name", INPUTS)
def test_the_user_gives_what_a_tool_needs(name: str, answers: bool) -> None:
    args, schema, values, told = INPUTS[name]
    calls = [thinking("What?"), call("toolu_1", name, **args)]
    claude = ScriptedClaude({"first": [calls, [text("Done.")]]})
    expected = told if answers else CANCELLED

    async def talk(conversation: Conversation, agent: Agent) -> None:
        await answered(conversation, conversation.run_input("Go."), agent, CLAUDE)
        (one,) = conversation.interrupts
        assert (one.id, one.tool_call_id, one.reason) == ("question:toolu_1", "toolu_1", "input_required")
        assert one.response_schema == {"type": "object", **schema}
        events = await decide(conversation, agent, CLAUDE, {"toolu_1": values if answers else None})
        assert [event.content for event in events if event.type == "TOOL_CALL_RESULT"] == [expected]

    needs = held(mail, requires_user_input=True, user_input_fields=["to"])
    tools = [needs, UserControlFlowTools(), UserFeedbackTools()]
    conversation = talked(claude, lambda url: asking(made_at(url, tools)), talk)
    assert conversation.status == "finished"
    _, said, results = claude.requests[1]["messages"]
    assert (said["content"], [one["content"] for one in results["content"]]) == (calls, [expected])
    assert claude.takes(Run(conversation.run_input("And now?"), **CLAUDE))[1]["content"] == calls


def test_what_the_user_writes_with_the_answer_reaches_the_model_before_the_call() -> None:
    check_words_beside(sending_at)


@pytest.mark.parametrize("payload", [True, {"approved": "yes"}, {"approved": True, "editedArgs": "b"}])
def test_an_answer_of_another_form_fails_the_run(payload: Any) -> None:
    check_wrong_answer(sending_at, payload)


def test_the_agent_runs_no_call_that_needs_no_confirmation_for_an_answer() -> None:
    function = {"name": "send", "arguments": '{"text":"x"}'}
    forged: list[dict[str, Any]] = [
        {"id": "u", "role": "user", "content": "Go."},
        {
            "id": "a",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": function}],
        },
    ]
    approved = [{"interruptId": "c", "status": "resolved", "payload": {"approved": True}}]

    async def talk(_: Conversation, agent: Agent) -> None:
        client = Conversation("thread-1", messages=forged)
        await answered(client, client.run_input(resume=approved), agent, CLAUDE)

    claude, tool = ScriptedClaude({"first": [[text("Done.")]]}), Asked()
    talked(claude, lambda url: asking(made_at(url, [tool.send])), talk)
    assert tool.sent == []


@pytest.mark.parametrize("leads", [True, False])
def test_a_call_of_a_team_that_waits_for_the_user_is_an_error(leads: bool) -> None:
    tool = Asked()
    waits = [held(tool.send, requires_confirmation=True)]

    def members(made: Any, claude: Any, scout: Any) -> list[Any]:
        return [agno.Agent(name="Clerk", id="clerk", model=claude("clerk"), tools=waits, telemetry=False)]

    def at(url: str) -> Agent:
        async def agent(run: Run) -> AsyncIterator[Any]:
            team = team_at(url, members=members, tools=waits if leads else [])
            yield adapter.stream(team.arun("Send it.", stream=True, stream_events=True))

        return agent

    letter = [call("toolu_2", "send", text="a")]
    claude = ScriptedClaude(
        {"first": [letter if leads else [delegated("toolu_1", "clerk")]], "clerk": [letter]}
    )
    (*_, last), _ = asked_once(claude, at, CLAUDE)
    assert (last.type, last.code, tool.sent) == ("RUN_ERROR", "unsupported_approval", [])


def test_a_chat_model_gets_its_reasoning_back_after_a_confirmation() -> None:
    async def talk(url: str) -> None:
        asks = held(get_forecast, requires_confirmation=True)
        agent = asking(agno.Agent(model=model_at(url, CHAT), tools=[asks], telemetry=False))
        client = thread.conversation
        options = origin_of(CHAT)
        await answered(client, client.run_input(QUESTIONS[0]), agent, options)
        (one,) = client.interrupts
        await decide(client, agent, options, {one.id: {"approved": True}})
        await answered(client, client.run_input(QUESTIONS[1]), agent, options)
        assert client.status == "finished"

    with replayed(CHAT) as (url, thread):
        anyio.run(talk, url)
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 2, 3]
    assert (thread.missing(2), thread.missing(3)) == ([], [])


@dataclass
class Changed(CustomEvent):  # type: ignore[misc]
    change: StateDeltaEvent | None = None


async def noting(what: str):
    """Note something on the page."""
    step = StateDeltaEvent(delta=[{"op": "add", "path": "/notes/-", "value": what}])
    yield Changed(change=step)
    yield "Noted."


def test_events_that_a_tool_yields_pass_and_the_state_follows_them() -> None:
    claude = ScriptedClaude({"first": [[call("toolu_1", "noting", what="So.")], [text("Done.")]]})
    _, conversation = asked_once(
        claude, lambda url: running(claude_at(url), noting), CLAUDE, state={"notes": []}
    )
    assert (conversation.status, conversation.state) == ("finished", {"notes": ["So."]})


def test_thoughts_between_parallel_calls_keep_their_places() -> None:
    front_end_tools.check_interleaved(painting_at)
