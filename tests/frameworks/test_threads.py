"""The comparison that the tests of all frameworks rely on: an agent without a framework loses nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agui_reasoning import Run
from agui_reasoning.aio import ModelStream
from agui_reasoning.parts import ToolResultPart
from tests.frameworks.threads import FORECAST, Thread, played

anthropic: Any = pytest.importorskip("anthropic")

SCRIPT = "anthropic-weather"
TOOL = {"name": "get_forecast", "description": "Forecast", "input_schema": {"type": "object"}}
ASK = {"model": "claude-sonnet-4-6", "max_tokens": 4096, "stream": True}


def agent_at(url: str, change: Callable[[Any], Any] = lambda body: body) -> Any:
    async def agent(run: Run) -> AsyncIterator[Any]:
        async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
            while True:
                body = change(run.request(tools=[TOOL]).body)
                yield ModelStream(client.messages.create(**ASK, **body))
                if not run.pending_calls:
                    return
                for call in run.pending_calls:
                    yield ToolResultPart(call.id, FORECAST)

    return agent


def kinds(thread: Thread) -> list[int]:
    return [len(thread.values(request + 1)) for request in range(len(thread.requests))]


def test_an_agent_without_a_framework_loses_nothing() -> None:
    thread = played(SCRIPT, agent_at)
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])
    assert kinds(thread) == [0, 4, 6]


def without_thinking(body: Any) -> Any:
    """The second question goes out without what was thought about the first."""
    if len(body["messages"]) < 5:
        return body
    kept = [
        [block for block in message["content"] if "thinking" not in block["type"]]
        if isinstance(message["content"], list)
        else message["content"]
        for message in body["messages"]
    ]
    return {**body, "messages": [{**m, "content": c} for m, c in zip(body["messages"], kept, strict=True)]}


def test_what_does_not_come_back_is_found() -> None:
    thread = played(SCRIPT, lambda url: agent_at(url, without_thinking))
    assert thread.missing(2) == []
    assert thread.missing(3) == ["thinking", "signature", "redacted thinking", "thinking", "signature"]
