"""What is particular to TanStack AI: it merges the reasoning of a run, unless there are steps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning import Run
from agui_reasoning._demo.playback import compare
from agui_reasoning._scripted import load_script
from agui_reasoning._scripted._exchange import payloads
from agui_reasoning._scripted._transcript import read_answer, read_request
from agui_reasoning.aio import ModelStream, run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.emitter.stages import Stage, Steps
from agui_reasoning.gateway import local_server
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.providers.transcript import REDACTED, SIGNATURE, THINKING
from tests.frontends.conftest import Start
from tests.frontends.front_ends import FRONT_ENDS

(TANSTACK,) = (front_end for front_end in FRONT_ENDS if front_end.name == "tanstack")
API, SCRIPTS = "anthropic-messages", ("anthropic-weather", "anthropic-weather-2")
REASONING = {THINKING, SIGNATURE, REDACTED}
RESULT = "9 °C, 4.2 mm of rain, gusts of 14 m/s"


@pytest.mark.parametrize("stages", [(Steps(),), ()], ids=["steps", "plain"])
def test_reasoning_of_several_responses_in_one_run_needs_steps(
    tab: Page, pages: str, stages: tuple[Stage, ...]
) -> None:
    with agent_with_a_tool(stages) as (url, requests):
        tab.goto(f"{pages}/tanstack/?agent={url}&thread=thread-1")
        for number, question in enumerate(["Umbrella or raincoat?", "And if I go by bicycle?"], start=1):
            TANSTACK.ask(tab, question)
            expect(tab.get_by_text("underneath.")).to_have_count(number)
            TANSTACK.wait_until_idle(tab)
    given = chain.from_iterable(read_answer(load_script(name)) for name in SCRIPTS)
    lost = [check.kind for check in compare(given, read_request(API, requests[2])) if not check.unchanged]
    assert (lost == []) is (stages != ())
    assert set(lost) <= REASONING


def test_a_call_is_made_once_with_its_arguments(start: Start) -> None:
    thread = start(TANSTACK, "anthropic-weather")
    thread.ask("Umbrella or raincoat?", requests=2)
    (call,) = (call for message in thread.runs[1].input["messages"] for call in message.get("toolCalls", ()))
    results = [message for message in thread.runs[1].input["messages"] if message["role"] == "tool"]
    assert [result["toolCallId"] for result in results] == [call["id"]]
    assert results[0]["content"].startswith("Bergen: 9 °C")


@contextmanager
def agent_with_a_tool(stages: tuple[Stage, ...]) -> Iterator[tuple[str, list[Any]]]:
    """An agent that asks its model twice in a run; and the bodies of its requests."""
    requests: list[Any] = []

    def ask(run: Run, name: str) -> ModelStream:
        requests.append(run.request().body)
        return ModelStream(list(payloads(load_script(name))))

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ask(run, SCRIPTS[0])
        for call in run.pending_calls:
            yield ToolResultPart(call.id, RESULT)
        yield ask(run, SCRIPTS[1])

    async def answer(request: Request) -> Response:
        run = Run(await request.json(), api=API, model="claude-sonnet-4-6", stages=stages)
        return AGUIResponse(run_agent(run, agent))

    cors = Middleware(CORSMiddleware, allow_origins=["*"], allow_methods=["POST"], allow_headers=["*"])
    with local_server(Starlette(routes=[Route("/", answer, methods=["POST"])], middleware=[cors])) as url:
        yield f"{url}/", requests
