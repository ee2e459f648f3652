"""Microsoft's Agent Framework hands on the raw events, and loses reasoning in its own loop, not in ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.to_thread
import pytest

framework: Any = pytest.importorskip("agent_framework", reason="the Agent Framework has its own environment")
clients: Any = pytest.importorskip("agent_framework.openai")
openai: Any = pytest.importorskip("openai")

from agui_reasoning import Conversation, Run, reduce_events  # noqa: E402
from agui_reasoning.aio import ModelStream, run_agent  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.parts import ToolResultPart  # noqa: E402
from agui_reasoning.replay import sequence  # noqa: E402
from tests.frameworks import pages  # noqa: E402
from tests.frameworks.threads import FORECAST, QUESTIONS, Agent, played, replayed  # noqa: E402
from tests.support.replay_server import ReplayServer, replaying  # noqa: E402

SCRIPT = "openai-weather"
KEEP = {"store": False, "include": ["reasoning.encrypted_content"]}


@framework.tool
def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return FORECAST


def made(client: Any, *, own_loop: bool) -> Any:
    configuration = {} if own_loop else {"enabled": False}
    model = clients.OpenAIChatClient(
        "gpt-5.6-sol", async_client=client, function_invocation_configuration=configuration
    )
    return framework.Agent(model, tools=[get_forecast], default_options=KEEP)


def connected(url: str) -> Any:
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


async def payloads(updates: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """What the provider sent."""
    async for update in updates:
        yield update.raw_representation.raw_representation


def loop_of(client: Any) -> Agent:
    one = made(client, own_loop=False)

    async def agent(run: Run) -> AsyncIterator[Any]:
        while True:
            body = {"input": run.request(tools=()).body["input"]}
            async with one.run("", stream=True, options={"extra_body": body}) as updates:
                yield ModelStream(payloads(updates))
            if not run.pending_calls:
                return
            for call in run.pending_calls:
                (result,) = await get_forecast.invoke(arguments=call.args)
                yield ToolResultPart(call.id, result.text)

    return agent


def request_by_request(url: str) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        async with connected(url) as client:
            async for item in loop_of(client)(run):
                yield item

    return agent


@pytest.mark.parametrize("options", [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}], ids=str)
def test_request_by_request_everything_comes_back(options: dict[str, Any]) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = played(SCRIPT, request_by_request, **{**options, "keys": keys})
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 6, 10]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


def test_its_own_loop_loses_reasoning() -> None:
    """If this fails, the framework has mended it, and the page must say so."""

    async def converse(url: str) -> None:
        async with connected(url) as client:
            whole = made(client, own_loop=True)
            session = whole.create_session()
            for question in QUESTIONS:
                async for _ in whole.run(question, stream=True, session=session):
                    pass

    with replayed(SCRIPT) as (url, thread):
        anyio.run(converse, url)
    kept = [sum(check.unchanged for check in thread.values(number)) for number in (1, 2, 3)]
    assert kept == [0, 5, 6]
    assert thread.missing(2) == ["reasoning summary"]
    assert set(thread.missing(3)) == {"reasoning summary", "item id", "phase"}


def test_results_stand_between_the_responses() -> None:
    thread = played(SCRIPT, request_by_request)
    roles = [message.role for message in reduce_events(thread.runs[0])]
    assert roles == ["reasoning", "assistant", "tool", "reasoning", "assistant"]


def test_a_reader_that_leaves_closes_the_connection() -> None:
    async def leave(server: ReplayServer) -> None:
        async with connected(server.url) as client:
            run_input = Conversation("thread-1").run_input("Do I need an umbrella?")
            model = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6-sol"}
            events = run_agent(run_input, loop_of(client), **model)
            async for event in events:
                if event.type == "REASONING_MESSAGE_CONTENT":
                    break
            await events.aclose()
            assert await anyio.to_thread.run_sync(server.left.wait, 10)  # while the client is open

    exchange = sequence(SCRIPT)[0]
    with replaying("openai-responses") as server:
        server.exchange = {**exchange, "stream": True, "events": exchange["events"][:6]}
        server.endless = True
        anyio.run(leave, server)
    assert len(server.asked) == 1


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("agent_framework")


def test_the_page_shows_the_example() -> None:
    pages.check_page("agent_framework", "raw-events", "llamaindex", "adk")
