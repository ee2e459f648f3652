"""Spans and metrics of runs, as the exporters of OpenTelemetry's SDK get them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anthropic
import anyio
import httpx2
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind
from starlette.types import ASGIApp, Receive, Scope, Send

import agui_reasoning
from agui_reasoning import (
    Conversation,
    ModelStream,
    ProviderError,
    ProviderRequest,
    Run,
    ToolResultPart,
    telemetry,
)
from agui_reasoning.aio import run_agent, stream_run, tool_loop
from agui_reasoning.asgi import AGUIResponse, stop_responses
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import FinishDelta, ReasoningDelta, ResponseStart, UsageDelta
from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server, provider_app
from agui_reasoning.parts import Origin, ToolCallPart
from agui_reasoning.replay import CONVERSATIONS, load_script, payloads
from tests.support.canary import windows
from tests.support.endpoint import post
from tests.support.telemetry import TIMES, Exported, attributes, exporting
from tests.unit.driver.test_aio import INPUT, PAYLOADS, Tape
from tests.unit.driver.test_asgi import Connection
from tests.unit.driver.test_memory import leaving_nothing

pytestmark = pytest.mark.anyio

ORIGIN: Any = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-sonnet-4-6"}
CHAT = "chat claude-sonnet-4-6"
ANSWER = [event["data"] for event in load_script("anthropic-weather-2")["events"]]
ASKED = {"gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-sonnet-4-6"}
KEYS = KeyRing.generate()
ASKING = INPUT | {"messages": [{"id": "u1", "role": "user", "content": "Umbrella?"}]}


@pytest.fixture
def exported() -> Iterator[Exported]:
    with exporting() as found:
        yield found


async def read(events: Any) -> list[str]:
    return [event.type.value async for event in events]


def turn_of(*answers: Any) -> Callable[[Run], AsyncGenerator[Any, None]]:
    left = iter(answers)

    async def turn(run: Run) -> AsyncGenerator[Any, None]:
        yield ModelStream(next(left))

    return turn


def with_tools_of(result: str) -> Callable[[Run], AsyncIterator[Any]]:
    return tool_loop(turn_of(PAYLOADS, ANSWER), {tool_name(): lambda **arguments: result})


def tool_name() -> str:
    starts = [one["content_block"] for one in PAYLOADS if one["type"] == "content_block_start"]
    return str(next(block["name"] for block in starts if block["type"] == "tool_use"))


# -- what a trace says


async def test_a_run_with_a_tool_is_one_trace(exported: Exported) -> None:
    tracer = exported.tracers.get_tracer("application")

    async def weather(**arguments: Any) -> str:
        with tracer.start_as_current_span("GET /weather"):
            await anyio.lowlevel.checkpoint()
        return "4 degrees, rain"

    agent = tool_loop(turn_of(PAYLOADS, ANSWER), {tool_name(): weather})
    assert (await read(run_agent(INPUT, agent, **ORIGIN)))[-1] == "RUN_FINISHED"
    tool = f"execute_tool {tool_name()}"
    below = [(CHAT, []), (tool, [("GET /weather", [])]), (CHAT, [])]
    assert exported.tree() == [("invoke_agent", below)]
    run, first, called, _, second = exported.spans
    assert attributes(run) == {
        "gen_ai.operation.name": "invoke_agent",
        **ASKED,
        "gen_ai.conversation.id": "t",
        "agui_reasoning.run.id": "r",
        "agui_reasoning.api": "anthropic-messages",
        "agui_reasoning.visibility": "full",
        "agui_reasoning.encrypted": False,
        "gen_ai.usage.input_tokens": 1074,
        "gen_ai.usage.output_tokens": 274,
        "gen_ai.usage.reasoning.output_tokens": 129,
        "gen_ai.usage.cache_read.input_tokens": 431,
    }
    assert attributes(first) == {
        "gen_ai.operation.name": "chat",
        **ASKED,
        "agui_reasoning.api": "anthropic-messages",
        "gen_ai.request.stream": True,
        "gen_ai.response.id": "msg_demo_01",
        "gen_ai.response.model": "claude-sonnet-4-6",
        "gen_ai.response.finish_reasons": ("tool_use",),
        "gen_ai.usage.input_tokens": 431,
        "gen_ai.usage.output_tokens": 148,
        "gen_ai.usage.reasoning.output_tokens": 71,
    }
    assert attributes(second)["gen_ai.response.finish_reasons"] == ("end_turn",)
    (call,) = [one for one in PAYLOADS if one.get("content_block", {}).get("type") == "tool_use"]
    assert attributes(called) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool_name(),
        "gen_ai.tool.call.id": call["content_block"]["id"],
        "gen_ai.tool.type": "function",
    }
    kinds = [span.kind for span in exported.spans]
    assert kinds == [
        SpanKind.INTERNAL,
        SpanKind.CLIENT,
        SpanKind.INTERNAL,
        SpanKind.INTERNAL,
        SpanKind.CLIENT,
    ]
    scope = first.instrumentation_scope
    assert scope is not None
    assert (scope.name, scope.schema_url) == ("agui_reasoning", "https://opentelemetry.io/schemas/1.41.1")


async def test_metrics_have_the_labels_of_the_conventions(exported: Exported) -> None:
    await read(stream_run(INPUT, PAYLOADS, **ORIGIN))
    chat = {"gen_ai.operation.name": "chat", **ASKED, "gen_ai.response.model": "claude-sonnet-4-6"}
    run = {"gen_ai.operation.name": "invoke_agent", **ASKED}
    found = exported.metrics()
    assert {name: [labels for labels, *_ in points] for name, points in found.items()} == {
        "gen_ai.client.operation.duration": [chat, run],
        "gen_ai.client.operation.time_to_first_chunk": [chat],
        "gen_ai.client.token.usage": [chat | {"gen_ai.token.type": kind} for kind in ("input", "output")],
        "agui_reasoning.reasoning.duration": [chat],
    }
    assert [total for _, _, total in found["gen_ai.client.token.usage"]] == [431, 148]


async def test_times_are_those_of_the_stream(exported: Exported) -> None:
    async def stream() -> AsyncIterator[Any]:
        for payload in PAYLOADS:
            await anyio.sleep(0.002)
            yield payload

    await read(stream_run(INPUT, stream, **ORIGIN))
    span = exported.one(CHAT)
    found = span.attributes or {}
    first, text, thought = (
        found[name]
        for name in (
            "gen_ai.response.time_to_first_chunk",
            "agui_reasoning.time_to_first_text",
            "agui_reasoning.reasoning.duration",
        )
    )
    lasted = ((span.end_time or 0) - (span.start_time or 0)) / 1e9
    assert 0.002 <= first < text < lasted  # type: ignore[operator]
    reasoning = [n for n, one in enumerate(PAYLOADS) if one.get("delta", {}).get("type") == "thinking_delta"]
    assert 0.002 * (reasoning[-1] - reasoning[0]) <= thought < text  # type: ignore[operator]


async def test_frames_are_recorded_like_events(exported: Exported) -> None:
    many = [*PAYLOADS[:4], *PAYLOADS[4:5] * 20, *PAYLOADS[5:]]
    await read(stream_run(INPUT, many, **ORIGIN))
    async for _ in stream_run(INPUT, many, **ORIGIN).frames():
        pass
    run, chat, *framed = exported.spans
    assert [attributes(span) for span in framed] == [attributes(run), attributes(chat)]
    assert all((span.attributes or {}).keys() >= TIMES for span in (chat, framed[1]))


def test_a_synchronous_run_is_a_trace_too(exported: Exported) -> None:
    events = list(agui_reasoning.stream_run(INPUT, PAYLOADS, **ORIGIN))
    assert events[-1].type.value == "RUN_FINISHED"
    assert exported.tree() == [("invoke_agent", [(CHAT, [])])]


async def test_a_whole_response_has_no_first_chunk(exported: Exported) -> None:
    response = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    await read(stream_run(INPUT, response, **ORIGIN))
    found = exported.one(CHAT).attributes or {}
    assert "gen_ai.request.stream" not in found
    assert "gen_ai.response.time_to_first_chunk" not in found
    assert found["gen_ai.usage.output_tokens"] == 2


@pytest.mark.parametrize("script", CONVERSATIONS.values())
async def test_requests_over_every_api_are_named_and_counted(script: str, exported: Exported) -> None:
    exchange = load_script(script)
    origin = {name: exchange.get(name) for name in ("api", "provider", "model")}
    events = await read(stream_run(INPUT, list(payloads(exchange)), **origin))
    assert events[-1] == "RUN_FINISHED"
    (chat,) = [span for span in exported.spans if span.kind is SpanKind.CLIENT]
    found = attributes(chat)
    assert found["gen_ai.usage.output_tokens"] > 0
    assert found["gen_ai.usage.input_tokens"] > 0
    assert found["gen_ai.response.finish_reasons"]
    assert found["gen_ai.provider.name"] in {
        *("anthropic", "aws.bedrock", "cohere", "deepseek", "gcp.gemini", "mistral_ai", "ollama", "openai"),
        *("x_ai", "_OTHER"),
    }


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        (Origin("azure", "openai-responses", "gpt-5"), "azure.ai.openai"),
        (Origin("azure", "anthropic-messages", "claude"), "azure.ai.inference"),
        (Origin("vertex_ai", "gemini", "gemini-3"), "gcp.vertex_ai"),
        (Origin("Acme", "openai-chat", "m"), "acme"),
        (Origin(None, "openai-chat", "m"), "_OTHER"),
    ],
)
async def test_providers_have_the_names_of_the_conventions(
    origin: Origin, name: str, exported: Exported
) -> None:
    await read(stream_run(INPUT, [], origin=origin))
    assert {attributes(span)["gen_ai.provider.name"] for span in exported.spans} == {name}


# -- whose child it is


async def test_what_the_agent_enters_is_the_parent_of_its_requests(exported: Exported) -> None:
    tracer = exported.tracers.get_tracer("application")

    async def agent(run: Run) -> AsyncIterator[Any]:
        with tracer.start_as_current_span("plan"):
            yield ModelStream(ANSWER)
        yield ModelStream(ANSWER)

    await read(run_agent(INPUT, agent, **ORIGIN))
    assert exported.tree() == [("invoke_agent", [("plan", [(CHAT, [])]), (CHAT, [])])]


async def test_the_context_of_the_caller_is_as_before_after_every_event(exported: Exported) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(PAYLOADS)

    one, other = (aiter(run_agent(INPUT | {"runId": name}, agent, **ORIGIN)) for name in "ab")
    for _ in range(12):
        await anext(one)
        assert trace.get_current_span() is trace.INVALID_SPAN
        await anext(other)
        assert trace.get_current_span() is trace.INVALID_SPAN
    await one.aclose()
    assert trace.get_current_span() is trace.INVALID_SPAN
    await read(other)
    aborted = ("invoke_agent: abort", [(f"{CHAT}: abort", [])])
    assert exported.tree() == [aborted, ("invoke_agent", [(CHAT, [])])]


async def test_a_tool_of_an_own_loop_took_the_time_until_its_result(exported: Exported) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(PAYLOADS)
        for call in run.pending_calls:
            await anyio.sleep(0.01)
            yield ToolResultPart(call.id, "", error="No such place.")

    await read(run_agent(INPUT, agent, **ORIGIN))
    tool = f"execute_tool {tool_name()}: _OTHER"
    assert exported.tree() == [("invoke_agent", [(CHAT, []), (tool, [])])]
    span = exported.one(f"execute_tool {tool_name()}")
    assert (span.end_time or 0) - (span.start_time or 0) >= 10_000_000


async def test_a_tool_that_answers_a_call_of_an_earlier_run_has_its_name(exported: Exported) -> None:
    thread = Conversation("t")
    async for event in stream_run(thread.run_input("Umbrella?"), PAYLOADS, **ORIGIN):
        thread.receive(event)

    async def agent(run: Run) -> AsyncIterator[Any]:
        for call in run.open_calls:
            yield ToolResultPart(call.id, "Rain.")

    (call,) = thread.pending_calls
    await read(run_agent(thread.run_input("Or a raincoat?"), agent, **ORIGIN))
    names = [span.name for span in exported.spans]
    assert names == ["invoke_agent", CHAT, "invoke_agent", f"execute_tool {call.function.name}"]


class ServerSpan:
    """Does what the instrumentation of ASGI does: a span for each request, current while it is answered."""

    def __init__(self, app: ASGIApp, exported: Exported) -> None:
        self._app, self._tracer = app, exported.tracers.get_tracer("server")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with self._tracer.start_as_current_span(f"{scope['method']} {scope['path']}"):
            await self._app(scope, receive, send)


class ClientSpan(httpx2.AsyncHTTPTransport):
    """Does what the instrumentation of an HTTP client does: a span for each request."""

    def __init__(self, exported: Exported) -> None:
        super().__init__()
        self._tracer = exported.tracers.get_tracer("client")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        with self._tracer.start_as_current_span(request.method):
            return await super().handle_async_request(request)


@pytest.mark.parametrize("durable", [False, True], ids=["connection", "durable"])
def test_a_run_of_the_gateway_is_between_the_spans_of_server_and_client(
    durable: bool, exported: Exported, tmp_path: Path
) -> None:
    with local_server(provider_app(load_script("anthropic-weather-2"))) as provider:
        upstream = HTTPUpstream(
            "anthropic-messages",
            base_url=provider,
            model="claude-sonnet-4-6",
            api_key="none",
            parameters={"max_tokens": 16},
            http=httpx2.AsyncClient(transport=ClientSpan(exported), headers={"connection": "close"}),
        )
        runs = Runs(SQLiteRuns(tmp_path / "runs.db")) if durable else None
        with local_server(ServerSpan(create_app(upstream, runs=runs), exported)) as url:
            given = Conversation("t").run_input("Umbrella?").model_dump(mode="json", by_alias=True)
            assert [event["type"] for event in post(f"{url}/agent", given)][-1] == "RUN_FINISHED"
    assert exported.tree() == [("POST /agent", [("invoke_agent", [(CHAT, [("POST", [])])])])]


async def test_the_request_of_a_vendors_sdk_is_below_its_span(exported: Exported) -> None:
    with local_server(provider_app(load_script("anthropic-weather-2"))) as provider:
        tracer = exported.tracers.get_tracer("client")

        async def note(request: Any) -> None:
            tracer.start_span(request.method).end()

        http = httpx2.AsyncClient(event_hooks={"request": [note]})
        async with http, anthropic.AsyncAnthropic(base_url=provider, api_key="none", http_client=http) as sdk:

            def ask(request: ProviderRequest) -> Any:
                return sdk.messages.create(model=ORIGIN["model"], max_tokens=9, stream=True, **request.body)

            async def agent(run: Run) -> AsyncIterator[Any]:
                yield ModelStream(ask)

            assert (await read(run_agent(ASKING, agent, **ORIGIN)))[-1] == "RUN_FINISHED"
    assert exported.tree() == [("invoke_agent", [(CHAT, [("POST", [])])])]


# -- what fails


async def test_an_error_of_the_provider_is_the_type_of_both_spans(exported: Exported) -> None:
    tape = Tape(PAYLOADS, fail_at=3)
    assert (await read(stream_run(INPUT, tape.generator(), **ORIGIN)))[-1] == "RUN_ERROR"
    failed = "unreachable"
    assert exported.tree() == [(f"invoke_agent: {failed}", [(f"{CHAT}: {failed}", [])])]
    points = exported.metrics()["gen_ai.client.operation.duration"]
    assert [labels["error.type"] for labels, *_ in points] == [failed, failed]


async def test_a_stream_that_breaks_off_is_an_error(exported: Exported) -> None:
    await read(stream_run(INPUT, PAYLOADS[:8], **ORIGIN))
    failed = "truncated_stream"
    assert exported.tree() == [(f"invoke_agent: {failed}", [(f"{CHAT}: {failed}", [])])]


async def test_an_error_without_a_code_has_the_name_of_its_class(exported: Exported) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(ANSWER)
        raise ZeroDivisionError("SECRET")

    assert (await read(run_agent(INPUT, agent, **ORIGIN)))[-1] == "RUN_ERROR"
    assert exported.tree() == [("invoke_agent: ZeroDivisionError", [(CHAT, [])])]
    assert "SECRET" not in exported.text()


async def test_a_tool_that_fails_fails_the_run(exported: Exported) -> None:
    def weather(**arguments: Any) -> str:
        raise ConnectionRefusedError("SECRET")

    agent = tool_loop(turn_of(PAYLOADS), {tool_name(): weather})
    await read(run_agent(INPUT, agent, **ORIGIN))
    tool = f"execute_tool {tool_name()}: ConnectionRefusedError"
    run, below = exported.tree()[0]
    assert (run.startswith("invoke_agent: "), below) == (True, [(CHAT, []), (tool, [])])
    assert "SECRET" not in exported.text()


async def test_a_request_that_was_refused_is_a_span_of_its_own(exported: Exported) -> None:
    answers: list[Any] = [
        ProviderError(provider_message="Invalid `signature` in `thinking` block", status_code=400),
        ANSWER,
    ]

    def source(request: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    thread = Conversation("t")
    async for event in stream_run(thread.run_input("Umbrella?"), PAYLOADS, **ORIGIN):
        thread.receive(event)
    thread.add_tool_result(thread.pending_calls[0].id, "Rain.")

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(source)

    events = run_agent(thread.run_input(), agent, **ORIGIN, on_warning=lambda warning: None)
    assert (await read(events))[-1] == "RUN_FINISHED"
    (run, below) = exported.tree()[1]
    assert (run, [name for name, _ in below]) == ("invoke_agent", [f"{CHAT}: reasoning_refused", CHAT])


PHASES: dict[str, tuple[int, list[Any]]] = {
    "while the request is opened": (0, [(f"{CHAT}: abort", [])]),
    "while the model thinks": (6, [(f"{CHAT}: abort", [])]),
    "while the model answers": (len(PAYLOADS) - 2, [(f"{CHAT}: abort", [])]),
}


@pytest.mark.parametrize("phase", PHASES)
async def test_a_request_that_is_cancelled_ends_with_abort(phase: str, exported: Exported) -> None:
    stall_at, below = PHASES[phase]
    with anyio.CancelScope() as scope:
        tape = Tape(PAYLOADS, stall_at=stall_at)
        tape.on_stall = scope.cancel
        await read(stream_run(INPUT, tape.generator(), **ORIGIN))
    assert scope.cancelled_caught
    assert exported.tree() == [("invoke_agent: abort", below)]
    assert trace.get_current_span() is trace.INVALID_SPAN


async def test_a_tool_that_is_cancelled_ends_with_abort(exported: Exported) -> None:
    with anyio.CancelScope() as scope:

        async def weather(**arguments: Any) -> str:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError

        agent = tool_loop(turn_of(PAYLOADS), {tool_name(): weather})
        await read(run_agent(INPUT, agent, **ORIGIN))
    tool = f"execute_tool {tool_name()}: abort"
    assert exported.tree() == [("invoke_agent: abort", [(CHAT, []), (tool, [])])]


async def test_a_run_that_is_cancelled_before_its_agent_answers_is_one_span(exported: Exported) -> None:
    with anyio.CancelScope() as scope:

        async def agent(run: Run) -> AsyncIterator[Any]:
            scope.cancel()
            await anyio.sleep_forever()
            yield

        await read(run_agent(INPUT, agent, **ORIGIN))
    assert exported.tree() == [("invoke_agent: abort", [])]


async def test_a_stream_that_is_closed_between_two_events_ends_with_abort(exported: Exported) -> None:
    async with aclosing(stream_run(INPUT, PAYLOADS, **ORIGIN)) as events:
        for _ in range(5):
            await anext(events)
    assert exported.tree() == [("invoke_agent: abort", [(f"{CHAT}: abort", [])])]


async def test_an_agent_that_cancels_its_run_ends_with_abort(exported: Exported) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(ANSWER)
        for event in run.cancel():
            yield event

    await read(run_agent(INPUT, agent, **ORIGIN))
    assert exported.tree() == [("invoke_agent: abort", [(CHAT, [])])]


async def test_a_run_that_ends_because_the_server_stops_says_so(exported: Exported) -> None:
    connection, waiting = Connection(), anyio.Event()
    tape = Tape(PAYLOADS, stall_at=6)
    tape.on_stall = waiting.set
    response = AGUIResponse(stream_run(INPUT, tape.generator(), **ORIGIN))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.get, response)
        await waiting.wait()
        await anyio.wait_all_tasks_blocked()
        await stop_responses(60)
    assert exported.tree() == [("invoke_agent: shutdown", [(f"{CHAT}: shutdown", [])])]


@pytest.mark.parametrize("how", ["abort", "shutdown"])
def test_a_durable_run_that_is_stopped_says_by_whom(how: str, exported: Exported, tmp_path: Path) -> None:
    async def main() -> None:
        runs = Runs(SQLiteRuns(tmp_path / "runs.db"), drain_s=0)
        thinking = anyio.Event()

        async def agent(run: Run) -> AsyncIterator[Any]:
            tape = Tape(PAYLOADS, stall_at=6)
            tape.on_stall = thinking.set
            yield ModelStream(tape.generator())

        with exported.tracers.get_tracer("server").start_as_current_span("POST /agent"):
            await runs.start(Run(ASKING, **ORIGIN), agent)
        await thinking.wait()
        if how == "abort":
            assert await runs.stop("t")
        await runs.aclose()

    anyio.run(main)
    aborted = [(f"invoke_agent: {how}", [(f"{CHAT}: {how}", [])])]
    assert exported.tree() == [("POST /agent", aborted)]


# -- what is never recorded


@pytest.mark.parametrize("visibility", ["full", "summary", "hidden"])
@pytest.mark.parametrize("script", CONVERSATIONS.values())
async def test_nothing_of_the_content_is_exported(script: str, visibility: Any, exported: Exported) -> None:
    exchange = load_script(script)
    given = list(payloads(exchange))
    origin = {name: exchange.get(name) for name in ("api", "provider", "model")}
    asked = "The question of a patient, which is nobody's business."
    result = "What the tool found in the records."

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(given)
        for call in run.pending_calls:
            yield ToolResultPart(call.id, result, error="The records of Mrs. Miller are closed.")

    warned: list[str] = []
    run = Run(
        Conversation("t").run_input(asked),
        **origin,
        visibility=visibility,
        keys=KEYS,
        on_warning=warned.append,
    )
    await read(run_agent(run, agent))
    texts = [asked, result, "The records of Mrs. Miller are closed."]
    for turn in run.history.turns:
        for part in turn.parts:
            texts += [getattr(part, name) for name in ("text", "arguments") if hasattr(part, name)]
            texts += [opaque.value for opaque in getattr(part, "opaque", ())]
    assert len(texts) > 4
    check_canaries([text for text in texts if isinstance(text, str)], exported)


async def test_an_error_that_quotes_everything_exports_nothing(exported: Exported) -> None:
    secret = "The patient said that the pain began on Monday."

    async def stream() -> AsyncIterator[Any]:
        yield PAYLOADS[0]
        try:
            raise ValueError(secret)
        except ValueError as error:
            raise ProviderError(provider_message=secret, status_code=500, code="x") from error

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(stream)

    await read(run_agent(INPUT, agent, **ORIGIN, on_error=lambda error: secret))
    assert exported.tree()[0][0].startswith("invoke_agent: ")
    check_canaries([secret], exported)


def check_canaries(texts: list[str], exported: Exported) -> None:
    found = exported.text().replace(tool_name(), "")  # the reasoning of scripts names it, too
    assert "invoke_agent" in found
    assert [window for window in windows(texts) if window in found] == []


async def test_long_names_of_providers_and_models_are_cut(exported: Exported) -> None:
    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ToolCallPart("c" * 1000, "n" * 1000, "{}")
        yield ToolResultPart("c" * 1000, "x")

    await read(run_agent(INPUT | {"threadId": "t" * 1000}, agent, **ORIGIN))
    values = [value for span in exported.spans for value in (span.name, *(span.attributes or {}).values())]
    assert max(len(value) for value in values if isinstance(value, str)) == 128


async def test_a_provider_cannot_make_endless_series_of_metrics(
    exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "_MAX_MODELS", 20)

    async def read_answer(number: int) -> None:
        async def agent(run: Run) -> AsyncIterator[Any]:
            yield ModelStream([{"start": number}, {"start": number}], reader=lambda run: Renaming())

        await read(run_agent(INPUT | {"threadId": f"t-{number}", "runId": f"r-{number}"}, agent, **ORIGIN))

    for number in range(30):
        await read_answer(number)
    for name, points in exported.metrics().items():
        models = {labels.get("gen_ai.response.model") for labels, *_ in points}
        assert "_OTHER" in models or models == {None}, name
        assert len(models - {None}) in {0, 21}, name
        values = {str(value) for labels, *_ in points for value in labels.values()}
        assert not [value for value in values if value.startswith(("t-", "r-", "reason", "response"))]
    span = exported.spans[-1]
    assert span.attributes is not None
    assert span.attributes["gen_ai.response.model"] == "model-29"
    reasons = span.attributes["gen_ai.response.finish_reasons"]
    assert isinstance(reasons, tuple)
    assert len(reasons) == 16


class Renaming:
    """Reads a provider that calls its model something else each time, and ends more often than once."""

    def receive(self, payload: Any) -> list[Any]:
        number = payload["start"]
        origin = Origin("anthropic", "anthropic-messages", f"model-{number}")
        start = ResponseStart(origin, id=f"response-{number}")
        usage = UsageDelta(input_tokens=1, output_tokens=1, model=f"model-{number}")
        return [start, ReasoningDelta("Rain."), usage, *(FinishDelta(f"reason-{at}") for at in range(99))]

    def whole(self, response: Any) -> list[Any]:
        return self.receive(response)

    def close(self) -> list[Any]:
        return []


# -- on and off


async def test_without_instrumentation_nothing_is_recorded() -> None:
    with exporting() as exported:
        pass
    await read(stream_run(INPUT, PAYLOADS, **ORIGIN))
    assert exported.spans == []


async def test_a_run_that_was_created_before_keeps_its_spans(exported: Exported) -> None:
    events = run_agent(INPUT, with_tools_of("Rain."), **ORIGIN)
    telemetry.uninstrument()
    await read(events)
    assert [name for name, _ in exported.tree()] == ["invoke_agent"]


async def test_a_tool_of_a_run_that_was_created_before_instrumentation_works() -> None:
    events = run_agent(INPUT, with_tools_of("Rain."), **ORIGIN)
    with exporting() as exported:
        assert (await read(events))[-1] == "RUN_FINISHED"
    assert exported.spans == []


async def test_a_run_that_has_ended_is_freed_without_the_collector() -> None:
    telemetry.instrument()
    try:
        with leaving_nothing():
            await read(run_agent(INPUT, with_tools_of("Rain."), **ORIGIN))
    finally:
        telemetry.uninstrument()


def test_without_the_extra_the_import_says_what_to_install() -> None:
    script = "import sys; sys.modules['opentelemetry'] = None; import agui_reasoning.telemetry"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "MissingExtraError: agui_reasoning.telemetry needs packages that are not installed." in done.stderr
    assert "the packages of the extra 'otel'" in done.stderr
