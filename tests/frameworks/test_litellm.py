"""LiteLLM asks the provider in a loop of ours, and the provider gets everything back."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it looks for prices on the network
vendor: Any = pytest.importorskip("litellm", reason="LiteLLM has its own environment")

from agui_reasoning import Run, reduce_events  # noqa: E402
from agui_reasoning.aio import run_agent  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.interop import litellm  # noqa: E402
from agui_reasoning.parts import ToolResultPart  # noqa: E402
from tests.frameworks import pages  # noqa: E402
from tests.frameworks.threads import FORECAST, Agent, played, replayed  # noqa: E402

CLAUDE, DEEPSEEK = "anthropic-weather", "chat-weather"
MODELS = {
    CLAUDE: ("anthropic/claude-sonnet-4-6", ""),
    DEEPSEEK: ("deepseek/deepseek-v4-flash", "/v1"),
}
"""The model by LiteLLM's name, and what follows the URL of the provider."""

PROPERTIES = {"place": {"type": "string"}, "hours": {"type": "integer"}}
FUNCTION = {"name": "get_forecast", "parameters": {"type": "object", "properties": PROPERTIES}}
TOOLS = [{"type": "function", "function": FUNCTION}]


def asking(script: str, url: str) -> dict[str, Any]:
    model, path = MODELS[script]
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if script == CLAUDE else {}
    return {"model": model, "api_base": f"{url}{path}", "api_key": "none", "max_retries": 0, **thinking}


async def loop(run: Run, ask: Any) -> AsyncIterator[Any]:
    """Asks until no call is left."""
    while True:
        yield litellm.stream(ask(messages=litellm.messages(run), tools=TOOLS, stream=True))
        if not run.pending_calls:
            return
        for call in run.pending_calls:
            yield ToolResultPart(call.id, FORECAST)


def direct(script: str, url: str) -> Agent:
    async def agent(run: Run) -> AsyncIterator[Any]:
        def ask(**asked: Any) -> Any:
            return vendor.acompletion(**asking(script, url), **asked)

        async for item in loop(run, ask):
            yield item

    return agent


def routed(script: str, url: str) -> Agent:
    router = vendor.Router([{"model_name": "weather", "litellm_params": asking(script, url)}], num_retries=0)

    async def agent(run: Run) -> AsyncIterator[Any]:
        def ask(**asked: Any) -> Any:
            return router.acompletion(model="weather", **asked)

        async for item in loop(run, ask):
            yield item

    return agent


def options(script: str, **more: Any) -> dict[str, Any]:
    model = MODELS[script][0]
    return {"api": "litellm", "provider": model.partition("/")[0], "model": model, **more}


@pytest.mark.parametrize("way", [direct, routed])
@pytest.mark.parametrize(("script", "counts"), [(CLAUDE, [0, 4, 6]), (DEEPSEEK, [0, 2, 3])])
def test_the_provider_gets_everything_back(script: str, counts: list[int], way: Any) -> None:
    thread = played(script, lambda url: way(script, url), **options(script))
    assert [len(thread.artifacts(number)) for number in (1, 2, 3)] == counts
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_it_gets_everything_back_from_sealed_values(visibility: str) -> None:
    sealed = options(CLAUDE, keys=KeyRing.generate(), visibility=visibility)
    thread = played(CLAUDE, lambda url: direct(CLAUDE, url), **sealed)
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


def test_results_stand_between_the_responses() -> None:
    thread = played(DEEPSEEK, lambda url: direct(DEEPSEEK, url), **options(DEEPSEEK))
    roles = [message.role for message in reduce_events(thread.runs[0])]
    assert roles == ["reasoning", "assistant", "tool", "reasoning", "assistant"]


def test_a_reader_that_leaves_stops_the_loop() -> None:
    async def leave(url: str) -> None:
        run_input = thread.conversation.run_input("Do I need an umbrella?")
        events = run_agent(run_input, direct(CLAUDE, url), **options(CLAUDE))
        async for event in events:
            if event.type == "REASONING_MESSAGE_CONTENT":
                break
        await events.aclose()
        await anyio.sleep(0.2)  # a loop that went on would ask again

    with replayed(CLAUDE) as (url, thread):
        anyio.run(leave, url)
    assert len(thread.requests) == 1


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("litellm")
