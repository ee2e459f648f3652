"""LlamaIndex hands on the provider's payloads, and loses reasoning in its own loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

workflow: Any = pytest.importorskip("llama_index.core.agent.workflow", reason="LlamaIndex is not installed")
openai: Any = pytest.importorskip("llama_index.llms.openai", reason="LlamaIndex is not installed")

from agui_reasoning import Run, reduce_events  # noqa: E402
from agui_reasoning.aio import ModelStream  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.parts import ToolResultPart  # noqa: E402
from examples.frameworks.fastapi_llamaindex import agent, app  # noqa: E402
from tests.frameworks import pages  # noqa: E402
from tests.frameworks.threads import (  # noqa: E402
    FORECAST,
    Agent,
    abandoned,
    played,
    shown,
)

SCRIPT = "openai-weather"
ORIGIN = {"api": "openai-responses", "provider": "openai", "model": "gpt-5.6-sol"}
KEEP = {"store": False, "include": ["reasoning.encrypted_content"], "context_window": 100_000}


def get_forecast(place: str, hours: int) -> str:
    """Weather forecast of a place for the next hours."""
    return FORECAST


def made(url: str) -> Any:
    at = {"api_base": f"{url}/v1", "api_key": "none", "max_retries": 0}
    model = openai.OpenAIResponses(model=ORIGIN["model"], **KEEP, **at)
    return workflow.FunctionAgent(tools=[get_forecast], llm=model)


async def payloads(events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """What the provider sent in one response."""
    async for event in events:
        if isinstance(event, workflow.AgentOutput):
            return
        if isinstance(event, workflow.AgentStream):
            yield event.raw


def own_loop(url: str) -> Agent:
    weather = made(url)

    async def agent(run: Run) -> AsyncIterator[Any]:
        handler = weather.run(user_msg=run.input.messages[-1].content)
        events = handler.stream_events()
        try:
            async for event in events:
                if isinstance(event, workflow.AgentInput):
                    yield ModelStream(payloads(events))
                elif isinstance(event, workflow.ToolCallResult):
                    yield ToolResultPart(event.tool_id, event.tool_output.content)
        finally:
            await handler.cancel_run()

    return agent


def out_of_the_loop(url: str) -> Agent:
    """The example's."""
    app.state.llm = made(url).llm
    return agent


CHOSEN = [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}]


@pytest.mark.parametrize("options", CHOSEN, ids=str)
def test_out_of_its_loop_everything_comes_back(options: dict[str, Any]) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = played(SCRIPT, out_of_the_loop, **{**options, "keys": keys})
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 6, 10]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


def test_a_reader_that_leaves_stops_the_agent() -> None:
    assert len(abandoned(SCRIPT, out_of_the_loop).requests) == 1


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("llamaindex")


@pytest.mark.parametrize("options", CHOSEN, ids=str)
def test_the_history_has_every_value(options: dict[str, Any]) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = shown(SCRIPT, own_loop, **{**options, "keys": keys})
    assert len(thread.values(3)) == 10
    assert (thread.missing(3), thread.findings) == ([], [])


def test_its_own_loop_loses_reasoning() -> None:
    """If this fails, the framework has mended it, and the page must say so."""
    thread = shown(SCRIPT, own_loop)
    assert [check.unchanged for check in thread.values(2)].count(True) == 1
    assert set(thread.missing(2)) == {"reasoning id", "encrypted content", "reasoning summary", "item id"}


def test_results_stand_between_the_responses() -> None:
    roles = [message.role for message in reduce_events(shown(SCRIPT, own_loop).runs[0])]
    assert roles == ["reasoning", "assistant", "tool", "reasoning", "assistant"]


def test_a_reader_that_leaves_stops_the_run() -> None:
    assert len(abandoned(SCRIPT, own_loop).requests) == 1
