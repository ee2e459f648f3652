"""Events of Google's ADK have the signatures of Gemini, and its session sends them back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

adk: Any = pytest.importorskip("google.adk.agents", reason="ADK has its own environment")
gemini: Any = pytest.importorskip("google.adk.models.google_llm")
runners: Any = pytest.importorskip("google.adk.runners")
types: Any = pytest.importorskip("google.genai.types")

from agui_reasoning import Run, reduce_events  # noqa: E402
from agui_reasoning.aio import ModelStream  # noqa: E402
from agui_reasoning.crypto import KeyRing  # noqa: E402
from agui_reasoning.parts import ToolResultPart  # noqa: E402
from examples.frameworks.fastapi_adk import agent, app, payload  # noqa: E402
from tests.frameworks import pages  # noqa: E402
from tests.frameworks.threads import (  # noqa: E402
    FORECAST,
    Agent,
    abandoned,
    played,
    shown,
)

SCRIPT = "gemini-weather"
ORIGIN = {"api": "gemini", "provider": "google", "model": "gemini-3-flash-preview"}
STREAMED = adk.RunConfig(streaming_mode="sse")


def get_forecast(place: str, hours: int) -> dict[str, Any]:
    """Weather forecast of a place for the next hours."""
    return dict(json.loads(FORECAST))


def model_at(url: str) -> Any:
    return gemini.Gemini(model=ORIGIN["model"], base_url=url, client_kwargs={"api_key": "none"})


def runner_at(url: str) -> Any:
    weather = adk.Agent(name="weather", model=model_at(url), tools=[get_forecast])
    return runners.InMemoryRunner(weather, app_name="weather")


async def payloads(first: Any, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Those of one response: after them, an event that is not partial repeats it whole."""
    yield payload(first)
    async for event in events:
        if not event.partial:
            return
        yield payload(event)


def session_at(url: str) -> Agent:
    runner = runner_at(url)

    async def agent(run: Run) -> AsyncIterator[Any]:
        who = {"user_id": "u", "session_id": run.input.thread_id}
        if await runner.session_service.get_session(app_name="weather", **who) is None:
            await runner.session_service.create_session(app_name="weather", **who)
        said = types.Content(role="user", parts=[types.Part(text=run.input.messages[-1].content)])
        events = runner.run_async(new_message=said, run_config=STREAMED, **who)
        async for event in events:
            if event.partial:
                yield ModelStream(payloads(event, events))
            for result in event.get_function_responses():
                yield ToolResultPart(result.id, json.dumps(result.response))

    return agent


def out_of_the_loop(url: str) -> Agent:
    """The example's."""
    app.state.model = model_at(url)
    return agent


CHOSEN = [{}, {"keys": True}, {"keys": True, "visibility": "hidden"}]


@pytest.mark.parametrize("asked", [session_at, out_of_the_loop])
@pytest.mark.parametrize("options", CHOSEN, ids=str)
def test_everything_comes_back(options: dict[str, Any], asked: Any) -> None:
    keys = KeyRing.generate() if options.get("keys") else None
    thread = played(SCRIPT, asked, **{**options, "keys": keys})
    assert [len(thread.values(number)) for number in (1, 2, 3)] == [0, 2, 3]
    assert (thread.missing(2), thread.missing(3), thread.findings) == ([], [], [])


@pytest.mark.parametrize("visibility", ["full", "hidden"])
def test_the_history_has_every_value(visibility: str) -> None:
    thread = shown(SCRIPT, session_at, keys=KeyRing.generate(), visibility=visibility)
    assert len(thread.values(3)) == 3
    assert (thread.missing(3), thread.findings) == ([], [])


def test_results_stand_between_the_responses() -> None:
    messages = list(reduce_events(shown(SCRIPT, session_at).runs[0]))
    assert [message.role for message in messages] == [
        "reasoning",
        "assistant",
        "tool",
        "reasoning",
        "assistant",
    ]
    assert json.loads(messages[2].content) == json.loads(FORECAST)


def test_a_reader_that_leaves_stops_the_run() -> None:
    assert len(abandoned(SCRIPT, session_at).requests) == 1


def test_a_reader_that_leaves_stops_the_agent() -> None:
    assert len(abandoned(SCRIPT, out_of_the_loop).requests) == 1


def test_the_example_serves_without_a_key() -> None:
    pages.check_example("adk")
