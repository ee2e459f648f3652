"""Event objects of the OpenHands SDK become AG-UI events and come back; its messages hold the reasoning."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it looks for prices on the network
os.environ.setdefault("OPENHANDS_SUPPRESS_BANNER", "1")
event: Any = pytest.importorskip("openhands.sdk.event", reason="the OpenHands SDK is not installed")
llm: Any = pytest.importorskip("openhands.sdk.llm", reason="the OpenHands SDK is not installed")

from agui_reasoning import Run, reduce_events, restore  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.interop import openhands  # noqa: E402
from agui_reasoning.parts import Opaque, TextPart, ToolResultPart  # noqa: E402
from agui_reasoning.replay import sequence  # noqa: E402
from tests.frameworks import pages  # noqa: E402
from tests.frameworks.threads import FORECAST, Agent, Thread, converse, played  # noqa: E402
from tests.internals.interop.test_openhands_messages import said, thought  # noqa: E402
from tests.support.replay_server import ReplayServer, replaying  # noqa: E402
from tests.support.wholes import whole_anthropic  # noqa: E402
from tests.unit.interop.test_openhands import read  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def events() -> list[Any]:
    """A question, two calls of one response, a result, an error and an answer."""
    text = llm.TextContent(text="I look.")
    blocks = [llm.ThinkingBlock(thinking="Hm.", signature="EqQB"), llm.RedactedThinkingBlock(data="EvAF")]
    user = llm.Message(role="user", content=[llm.TextContent(text="Hi.")])
    answer = llm.Message(role="assistant", content=[text], reasoning_content="So.")
    return [
        event.MessageEvent(source="user", llm_message=user),
        action("call_1", thought=[text], reasoning_content="Hm.", thinking_blocks=blocks),
        action("call_2", thought=[]),
        event.AgentErrorEvent(error="No such tool.", tool_name="get", tool_call_id="call_1"),
        event.UserRejectObservation(action_id="x", tool_name="get", tool_call_id="call_2"),
        event.PauseEvent(),
        event.MessageEvent(source="agent", llm_message=answer, llm_response_id="r2"),
    ]


def action(call_id: str, **said: Any) -> Any:
    called = llm.MessageToolCall(id=call_id, name="get", arguments="{}", origin="completion")
    return event.ActionEvent(
        tool_name="get", tool_call_id=call_id, tool_call=called, llm_response_id="r1", action=None, **said
    )


def test_objects_come_back_as_they_were() -> None:
    given = events()
    written = openhands.write_events(read(given))
    assert written == [one.model_dump(mode="json") for one in given]
    assert [type(one).model_validate(fields) for one, fields in zip(given, written, strict=True)] == given


def test_the_values_of_objects_are_restored() -> None:
    turns = restore(reduce_events(read(events()))).turns
    assert [value for turn in turns for part in turn.parts for value in getattr(part, "opaque", ())] == [
        Opaque("anthropic.signature", "EqQB"),
        Opaque("anthropic.redacted_thinking", "EvAF"),
    ]


def test_messages_write_what_the_provider_takes() -> None:
    made = openhands.messages(said(thought("Hm.", "anthropic.signature", "EqQB")))
    chat = made[1].to_chat_dict(
        cache_enabled=True,
        vision_enabled=False,
        function_calling_enabled=True,
        force_string_serializer=False,
        send_reasoning_content=False,
    )
    assert chat["thinking_blocks"] == [{"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}]
    item = thought("Hm.", "openai.encrypted_content", "gAAAA", "rs_1")
    made = openhands.messages(said(item, provider="openai", model="openai/gpt-5.6"))
    assert made[1].to_responses_dict(vision_enabled=False)[0] | {"summary": []} == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "gAAAA",
    }


FLAGS = {
    "cache_enabled": False,
    "vision_enabled": False,
    "function_calling_enabled": True,
    "force_string_serializer": False,
    "send_reasoning_content": True,
}
ITEM = thought("Hm.", "openai.encrypted_content", "gAAAA", "rs_1")
SIGNED = thought("Hm.", "anthropic.signature", "EqQB")


def as_objects(message: Any) -> list[Any]:
    return [message]


def as_fields(message: Any) -> list[Any]:
    return [message.model_dump(mode="json")]


def as_chat(message: Any) -> list[Any]:
    return [message.to_chat_dict(**FLAGS)]


def as_items(message: Any) -> list[Any]:
    return list(message.to_responses_dict(vision_enabled=False))


@pytest.mark.parametrize(
    ("part", "model", "form"),
    [
        (SIGNED, "anthropic/claude-sonnet-4-6", as_objects),
        (SIGNED, "anthropic/claude-sonnet-4-6", as_fields),
        (SIGNED, "anthropic/claude-sonnet-4-6", as_chat),
        (ITEM, "openai/gpt-5.6", as_objects),
        (ITEM, "openai/gpt-5.6", as_fields),
        (ITEM, "openai/gpt-5.6", as_items),
    ],
)
def test_stored_messages_are_written_as_they_were(part: Any, model: str, form: Any) -> None:
    origin = {"provider": model.partition("/")[0], "model": model}
    run = said(part, TextPart("I look."), **origin)
    made = openhands.messages(run)
    stored = [fields for message in made for fields in form(message)]
    history = openhands.read_messages(stored, **origin)
    assert openhands.messages(run, history=history) == made
    parts = [unit for turn in history.turns for unit in turn.parts]
    assert [value for unit in parts for value in getattr(unit, "opaque", ())] == list(part.opaque)


def agent_of(client: Any, before: Callable[[], None] = lambda: None) -> Agent:
    """Asks with the SDK's messages, and shows the events that its agent makes of the answers."""

    async def agent(run: Run) -> AsyncIterator[Any]:
        while True:
            before()
            streamed = {"on_token": lambda chunk: None} if client.stream else {}
            answer = await client.acompletion(openhands.messages(run), **streamed)
            yield openhands.stream(as_events(answer.message, answer.id))
            if not run.pending_calls:
                return
            for call in run.pending_calls:
                yield ToolResultPart(call.id, FORECAST)

    return agent


def as_events(message: Any, response_id: str) -> list[Any]:
    if not message.tool_calls:
        return [event.MessageEvent(source="agent", llm_message=message, llm_response_id=response_id)]
    (call,) = message.tool_calls
    made = event.ActionEvent(
        tool_name=call.name,
        tool_call_id=call.id,
        tool_call=call,
        llm_response_id=response_id,
        action=None,
        thought=list(message.content),
        reasoning_content=message.reasoning_content,
        thinking_blocks=message.thinking_blocks,
    )
    return [made]


def model_at(url: str, model: str, **more: Any) -> Any:
    return llm.LLM(model=model, base_url=url, api_key="none", usage_id="test", num_retries=0, **more)


def options(model: str) -> dict[str, Any]:
    return {"api": "litellm", "provider": model.partition("/")[0], "model": model}


@pytest.mark.parametrize("chosen", [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}], ids=str)
def test_deepseek_gets_its_reasoning_back(chosen: dict[str, Any]) -> None:
    model = "deepseek/deepseek-v4-flash"
    keys = KeyRing.generate() if chosen.get("keys") else None

    def agent_at(url: str) -> Agent:
        return agent_of(model_at(f"{url}/v1", model, stream=True))

    thread = played("chat-weather", agent_at, **{**options(model), **chosen, "keys": keys})
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 2, 3]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


@pytest.mark.parametrize("chosen", [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}], ids=str)
def test_claude_gets_its_thinking_back(chosen: dict[str, Any]) -> None:
    """From whole responses: LiteLLM 1.105, which the SDK asks for, writes streamed thinking twice."""
    script, model = "anthropic-weather", "anthropic/claude-sonnet-4-6"
    keys = KeyRing.generate() if chosen.get("keys") else None
    exchanges = sequence(script)

    def play(server: ReplayServer) -> None:
        server.exchange = {"stream": False, "response": whole_anthropic(exchanges[len(server.asked)])}

    with replaying("anthropic-messages") as server:
        thread = Thread(script, server.asked)
        agent = agent_of(model_at(server.url, model), lambda: play(server))
        anyio.run(converse, thread, agent, {**options(model), **chosen, "keys": keys})
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 4, 6]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("openhands")


def test_the_page_shows_the_agent() -> None:
    pages.check_agent("openhands", "openhands")
