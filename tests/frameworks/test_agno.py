"""Agno runs its loop inside a run, and its provider gets everything back."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

agno: Any = pytest.importorskip("agno.agent", reason="Agno has its own environment")
anthropic: Any = pytest.importorskip("anthropic")

from ag_ui.core import StateDeltaEvent  # noqa: E402
from agno.media import Image  # type: ignore[import-not-found] # noqa: E402
from agno.models.anthropic import Claude  # type: ignore[import-not-found] # noqa: E402
from agno.models.deepseek import DeepSeek  # type: ignore[import-not-found] # noqa: E402
from agno.run.agent import CustomEvent, RunContentEvent  # type: ignore[import-not-found] # noqa: E402
from agno.tools.function import ToolResult  # type: ignore[import-not-found] # noqa: E402

from agui_reasoning import Conversation, Run, check_events, reduce_events  # noqa: E402
from agui_reasoning import run_agent as run_sync  # noqa: E402
from agui_reasoning.aio import run_agent  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.gateway import local_server  # noqa: E402
from agui_reasoning.interop import agno as adapter  # noqa: E402
from agui_reasoning.parts import ReasoningPart, Segment, TextPart  # noqa: E402
from tests.frameworks import failures, front_end_tools, pages  # noqa: E402
from tests.frameworks.claude import Blocks, call, redacted, text, thinking  # noqa: E402
from tests.frameworks.claude import Claude as ScriptedClaude  # noqa: E402
from tests.frameworks.threads import (  # noqa: E402
    FORECAST,
    PIXEL,
    QUESTIONS,
    Agent,
    answered,
    played,
    replayed,
)
from tests.support.lines import lines  # noqa: E402

ANTHROPIC, CHAT = "anthropic-weather", "chat-weather"


def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return FORECAST


def model_at(url: str, script: str) -> Any:
    if script == CHAT:
        return DeepSeek(id="deepseek-v4-flash", base_url=f"{url}/v1", api_key="none")
    client = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
    return Claude(id="claude-sonnet-4-6", async_client=client, max_tokens=4096)


def agent_at(url: str, script: str = ANTHROPIC, tool: Any = get_forecast) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        weather = agno.Agent(model=model_at(url, script), tools=[tool], telemetry=False)
        yield adapter.stream(weather.arun(adapter.messages(run), stream=True, stream_events=True))

    return agent


@pytest.mark.parametrize("options", [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}], ids=str)
@pytest.mark.parametrize(("script", "counts"), [(ANTHROPIC, [0, 4, 6]), (CHAT, [0, 2, 3])])
def test_everything_comes_back(script: str, counts: list[int], options: dict[str, Any]) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = played(script, lambda url: agent_at(url, script), **{**options, "keys": keys})
    assert [len(thread.artifacts(number)) for number in (1, 2, 3)] == counts
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


def test_redacted_thinking_is_not_shown() -> None:
    thread = played(ANTHROPIC, agent_at)
    messages = reduce_events(thread.runs[0])
    shown = [message.content for message in messages if message.role == "reasoning"]
    assert not any("YWd1aS" in text for text in shown)
    roles = [message.role for message in messages if message.role != "reasoning"]
    assert roles == ["assistant", "tool", "assistant"]


HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
CLAUDE: dict[str, Any] = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-5"}


def asked(claude: ScriptedClaude) -> tuple[list[str], Any]:
    """What an agent shows of one question, and the messages of the provider's next request."""
    conversation = Conversation("thread-1")

    async def shown(url: str) -> list[Any]:
        def look(at: str) -> str:
            """Look at something."""
            return f"{at} is here."

        async def agent(run: Run) -> AsyncIterator[Any]:
            client = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
            model = Claude(id="first", async_client=client, max_tokens=4096)
            made = agno.Agent(model=model, tools=[look], telemetry=False)
            yield adapter.stream(made.arun(adapter.messages(run), stream=True, stream_events=True))

        return [event async for event in run_agent(conversation.run_input("Is it here?"), agent, **CLAUDE)]

    with local_server(claude.app) as url:
        events = anyio.run(shown, url)
    for event in events:
        conversation.receive(event)
    assert (events[-1].type, check_events(events), claude.refused) == ("RUN_FINISHED", [], [])
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
            "reasoning_start 1",
            "reasoning_message_start 2",
            "reasoning_message_content 2 | Is it a?",
            "reasoning_message_end 2",
            "reasoning_encrypted_value 2",
            "reasoning_end 1",
            "text_message_start 3",
            "text_message_content 3 | I look.",
            "text_message_end 3",
            "tool_call_start 4 | look",
            'tool_call_args 4 | {"at":"a"}',
            "tool_call_end 4",
            "reasoning_start 5",
            "reasoning_message_start 6",
            "reasoning_message_content 6 | Or is it b?",
            "reasoning_message_end 6",
            "reasoning_encrypted_value 6",
            "reasoning_end 5",
            "tool_call_start 7 | look",
            'tool_call_args 7 | {"at":"b"}',
            "tool_call_end 7",
            "reasoning_encrypted_value 6",
        ],
    ),
    "a hash inside a thought": (
        [thinking(f"Of a it is {HASH} I think."), call("toolu_1", "look", at="a")],
        [
            "reasoning_start 1",
            "reasoning_message_start 2",
            f"reasoning_message_content 2 | Of a it is {HASH} I think.",
            "reasoning_message_end 2",
            "reasoning_encrypted_value 2",
            "reasoning_end 1",
            "tool_call_start 3 | look",
            'tool_call_args 3 | {"at":"a"}',
            "tool_call_end 3",
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
            "text_message_start 4",
            "text_message_content 4 | I look.",
            "text_message_end 4",
            "tool_call_start 5 | look",
            'tool_call_args 5 | {"at":"a"}',
            "tool_call_end 5",
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
    async def leave(url: str) -> None:
        run_input = thread.conversation.run_input("Do I need an umbrella?")
        events = run_agent(run_input, agent_at(url), api="anthropic-messages", provider="anthropic")
        async for event in events:
            if event.type == "REASONING_MESSAGE_CONTENT":
                break
        await events.aclose()
        await anyio.sleep(0.2)  # a run that went on would ask again

    with replayed(ANTHROPIC) as (url, thread):
        anyio.run(leave, url)
    assert len(thread.requests) == 1


def test_an_error_of_the_provider_ends_the_run() -> None:
    async def refused(url: str) -> list[Any]:
        run_input = Conversation("t").run_input("Hello")
        events = run_agent(run_input, agent_at(f"{url}/no"), api="anthropic-messages", provider="anthropic")
        return [event async for event in events]

    with replayed(ANTHROPIC) as (url, _):
        events = anyio.run(refused, url)
    assert events[-1].type == "RUN_ERROR"


@pytest.mark.parametrize("failure", [*failures.FAILURES, failures.IN_STREAM], ids=failures.name_of)
def test_a_failure_of_the_provider_is_told_as_without_the_framework(
    failure: failures.Failure, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-6"}
    failures.check(failure, agent_at, caplog, **options)


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


def test_a_paused_call_of_a_chat_model_is_shown() -> None:
    forecast = {"name": "get_forecast", "description": "Weather.", "parameters": {"type": "object"}}
    conversation = Conversation("thread-1")

    async def talk(url: str) -> None:
        async def agent(run):
            weather = agno.Agent(model=model_at(url, CHAT), tools=adapter.tools(run), telemetry=False)
            yield adapter.stream(weather.arun(adapter.messages(run), stream=True, stream_events=True))

        options = {"api": "openai-chat", "provider": "deepseek", "model": "deepseek-v4-flash"}
        asked = conversation.run_input(QUESTIONS[0], tools=[forecast])
        await answered(conversation, asked, agent, options)
        (waiting,) = conversation.pending_calls
        conversation.add_tool_result(waiting.id, FORECAST)
        await answered(conversation, conversation.run_input(tools=[forecast]), agent, options)
        thread.requests.append(Run(conversation.run_input(QUESTIONS[1]), **options).request(tools=()).body)

    with replayed(CHAT) as (url, thread):
        anyio.run(talk, url)
    assert [len(thread.artifacts(number)) for number in (1, 2, 3)] == [0, 2, 3]
    assert (thread.missing(2), thread.missing(3)) == ([], [])


def test_a_call_that_needs_confirmation_interrupts_the_run() -> None:
    from agno.tools.function import Function  # type: ignore[import-not-found]

    held = Function.from_callable(front_end_tools.look)
    held.requires_confirmation = True
    claude, conversation = (
        ScriptedClaude({"first": [[thinking("So?"), call("toolu_1", "look", at="a")]]}),
        (Conversation("thread-1")),
    )

    async def talk(url: str) -> None:
        async def agent(run):
            client = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
            made = agno.Agent(model=Claude(id="first", async_client=client), tools=[held], telemetry=False)
            yield adapter.stream(made.arun(adapter.messages(run), stream=True, stream_events=True))

        await answered(conversation, conversation.run_input("Is it a?"), agent, CLAUDE)

    with local_server(claude.app) as url:
        anyio.run(talk, url)
    (interrupt,) = conversation.interrupts
    assert (conversation.status, interrupt.id, interrupt.message) == ("interrupted", "toolu_1", "Call look?")


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
    conversation = Conversation("thread-1", state={"notes": []})

    async def talk(url: str) -> None:
        async def agent(run):
            client = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
            made = agno.Agent(model=Claude(id="first", async_client=client), tools=[noting], telemetry=False)
            yield adapter.stream(made.arun(adapter.messages(run), stream=True, stream_events=True))

        await answered(conversation, conversation.run_input("Note it."), agent, CLAUDE)

    with local_server(claude.app) as url:
        anyio.run(talk, url)
    assert (conversation.status, conversation.state) == ("finished", {"notes": ["So."]})


def test_thoughts_between_parallel_calls_keep_their_places() -> None:
    front_end_tools.check_interleaved(painting_at)
