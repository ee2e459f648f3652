"""Judge served runs with both versions of the official client: real uvicorn, real HTTP."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, aclosing
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_reasoning import Run
from agui_reasoning.aio import ModelStream, run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.gateway import ReplayUpstream, create_app, local_server
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.replay import load_script, payloads
from tests.differential.judge import VERSIONS, Judge, Verdict, Version

PAIRS = ("anthropic-weather", "openai-weather", "chat-weather")
QUESTION = {"messages": [{"id": "u1", "role": "user", "content": "Umbrella or raincoat?"}]}
RESULT = "4.2 mm of rain, gusts of 14 m/s"

Events = Callable[[Run], AsyncIterator[Any]]
versions = pytest.mark.parametrize("version", VERSIONS)
pairs = pytest.mark.parametrize("name", PAIRS)


@pytest.fixture
def serve() -> Iterator[Callable[[Events], str]]:
    """Serve the events of a run at an address of their own."""
    with ExitStack() as stack:

        def start(events: Events) -> str:
            async def answer(request: Request) -> Response:
                return AGUIResponse(events(Run(await request.json())))

            app = Starlette(routes=[Route("/", answer, methods=["POST"])])
            return f"{stack.enter_context(local_server(app))}/"

        yield start


@pytest.fixture
def gateway() -> Iterator[Callable[[Any], str]]:
    """Serve a script, or a recording, through the gateway."""
    with ExitStack() as stack:

        def start(name: Any) -> str:
            return f"{stack.enter_context(local_server(create_app(ReplayUpstream(name))))}/agent"

        yield start


def stream(name: str) -> ModelStream:
    script = load_script(name)
    return ModelStream(list(payloads(script)), api=script["api"], provider=script["provider"])


def roles(messages: list[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


def last_call(messages: list[dict[str, Any]]) -> str:
    return [call["id"] for message in messages for call in message.get("toolCalls", ())][-1]


def assert_fine(verdict: Verdict) -> None:
    assert (verdict.error, verdict.next_error) == (None, None)
    assert (verdict.warnings, verdict.next_warnings) == ([], [])


def sent(name: str) -> str:
    """The reasoning that a script shows."""
    script = load_script(name)
    return "".join(
        value
        for event in script["events"]
        if isinstance(event["data"], dict)
        for value in _shown(event["data"])
    )


def _shown(data: dict[str, Any]) -> Iterator[str]:
    if data.get("type") == "response.reasoning_summary_text.delta":
        yield data["delta"]
    elif isinstance(delta := data.get("delta"), dict):
        yield delta.get("thinking", "")
    for choice in data.get("choices", ()):
        yield choice["delta"].get("reasoning_content") or ""


def thought(messages: list[dict[str, Any]]) -> str:
    return "".join(message["content"] for message in messages if message["role"] == "reasoning")


# -- a tool of the server: call and answer in one run


@versions
@pairs
def test_a_run_with_a_tool_call_and_its_answer(
    judge: Judge, serve: Callable[[Events], str], version: Version, name: str
) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield stream(name)
        for call in run.pending_calls:
            yield ToolResultPart(call.id, RESULT)
        yield stream(f"{name}-2")

    verdict = judge.run_url(serve(lambda run: run_agent(run, agent)), version=version, run_input=QUESTION)
    assert_fine(verdict)
    assert verdict.finished
    order = [role for role in roles(verdict.messages) if role in ("tool", "assistant")]
    assert order in (["assistant", "tool", "assistant"], ["assistant", "assistant", "tool", "assistant"])
    assert thought(verdict.messages).replace("\n\n", "") == (sent(name) + sent(f"{name}-2")).replace(
        "\n\n", ""
    )


# -- a tool of the front end: the call is pending, the next run of the thread carries the result


@versions
@pairs
def test_a_pending_call_is_answered_by_the_next_run_of_the_thread(
    judge: Judge, gateway: Callable[[str], str], version: Version, name: str
) -> None:
    url = gateway(name)
    asked = judge.run_url(url, version=version, run_input=QUESTION, next_turn=False)
    assert_fine(asked)
    call_id = last_call(asked.messages)
    outcome = asked.events[-1].get("outcome")
    if version == "1.0.0":
        assert outcome == {"type": "success", "pendingToolCallIds": [call_id]}
    else:
        assert outcome is None

    result = {"id": "t1", "role": "tool", "toolCallId": call_id, "content": RESULT}
    verdict = judge.run_url(url, version=version, run_input=QUESTION, follow_up=[result])
    assert_fine(verdict)
    assert verdict.next_events[-1]["type"] == "RUN_FINISHED"
    assert roles(verdict.next_messages)[-2:] == ["reasoning", "assistant"]
    # What the first run said is still there as it was: 1.0.0 and 0.0.59 send it back with the second.
    ids = {message["id"] for message in verdict.messages}
    kept = [message for message in verdict.next_messages if message["id"] in ids]
    assert kept == verdict.messages
    assert thought(verdict.next_messages).startswith(thought(verdict.messages))


# -- two runs on one thread


@versions
def test_two_questions_on_one_thread_give_two_calls_with_ids_of_their_own(
    judge: Judge, gateway: Callable[[Any], str], version: Version
) -> None:
    verdict = judge.run_url(
        gateway(load_script("anthropic-weather")),
        version=version,
        run_input=QUESTION,
        follow_up="And tomorrow?",
    )
    assert_fine(verdict)
    # A recording answers every request, with one call id for all: the second is minted, or the client would
    # take them for one.
    calls = [call["id"] for message in verdict.next_messages for call in message.get("toolCalls", ())]
    assert len(calls) == len(set(calls)) == 2
    ids = [message["id"] for message in verdict.next_messages]
    assert len(ids) == len(set(ids))
    assert thought(verdict.next_messages) == 2 * sent("anthropic-weather")


# -- runs that do not end well


@versions
def test_a_cancelled_run_keeps_what_was_thought(
    judge: Judge, serve: Callable[[Events], str], version: Version
) -> None:
    async def events(run: Run) -> AsyncIterator[Any]:
        async def agent(run: Run) -> AsyncIterator[Any]:
            yield ModelStream(list(payloads(load_script("anthropic-weather")))[:6], api="anthropic-messages")

        async with aclosing(run_agent(run, agent)) as running:
            async for event in running:
                yield event
                if event.type.value == "REASONING_MESSAGE_CONTENT":
                    break
        for event in run.cancel():
            yield event

    verdict = judge.run_url(serve(events), version=version, run_input=QUESTION, next_turn=False)
    assert_fine(verdict)
    last = verdict.events[-1]
    if version == "1.0.0":
        assert (last["type"], last["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})
    else:
        assert (last["type"], last["code"]) == ("RUN_ERROR", "cancelled")
    assert roles(verdict.messages) == ["user", "reasoning"]
    assert thought(verdict.messages) == "Umbrella or raincoat:"


@versions
def test_an_error_in_mid_reasoning_keeps_what_was_thought_and_says_nothing_of_its_own(
    judge: Judge, serve: Callable[[Events], str], version: Version, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> AsyncIterator[Any]:
        for payload in list(payloads(load_script("anthropic-weather")))[:6]:
            yield payload
        await anyio.lowlevel.checkpoint()
        raise ConnectionError("secret words of the network")

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(broken(), api="anthropic-messages")

    with caplog.at_level(logging.ERROR, "agui_reasoning"):
        verdict = judge.run_url(
            serve(lambda run: run_agent(run, agent)), version=version, run_input=QUESTION, next_turn=False
        )
    assert_fine(verdict)
    assert verdict.run_error is not None
    assert verdict.run_error["code"] == "unreachable"
    assert "connection to the model's provider failed" in verdict.run_error["message"]
    assert "secret" not in str(verdict)
    assert "code unreachable" in caplog.text
    assert "secret" not in caplog.text
    assert thought(verdict.messages) == sent("anthropic-weather")[: len(thought(verdict.messages))] != ""


@versions
def test_a_thread_goes_on_after_an_error(
    judge: Judge, serve: Callable[[Events], str], version: Version
) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        if run.input.messages[-1].id == "u1":
            raise ConnectionError
        yield stream("anthropic-weather-2")

    url = serve(lambda run: run_agent(run, agent))
    verdict = judge.run_url(url, version=version, run_input=QUESTION, follow_up="Please try again.")
    assert_fine(verdict)
    assert verdict.run_error is not None
    assert verdict.next_events[-1]["type"] == "RUN_FINISHED"
    assert roles(verdict.next_messages) == ["user", "user", "reasoning", "assistant"]
