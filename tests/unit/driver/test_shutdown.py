"""Stop the server: every open run ends with a terminal event before its connection is closed."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeAlias

import anyio
import pytest
from ag_ui.core import BaseEvent, RunStartedEvent, TextMessageContentEvent, TextMessageStartEvent

import agui_reasoning
from agui_reasoning import Run
from agui_reasoning.aio import run_agent, stream_run
from agui_reasoning.asgi import AGUIResponse, stop_responses
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta, ToolCallDelta
from agui_reasoning.errors import AGUIReasoningError
from agui_reasoning.wire import read_events
from tests.support.verifier import Client
from tests.unit.cli.command import environment
from tests.unit.driver.test_aio import API, INPUT, PAYLOADS, Tape
from tests.unit.driver.test_asgi import Connection

pytestmark = pytest.mark.anyio

SENTENCE = "The server of this agent is restarting. Please try again shortly."
FAILED = {"type": "RUN_ERROR", "message": SENTENCE, "code": "shutdown"}
WITHIN_S = 60.0

Events: TypeAlias = list[dict[str, Any]]


class Stage:
    """A connection whose server stops when the run waits."""

    def __init__(self) -> None:
        self.connection = Connection()
        self.waiting = anyio.Event()

    async def wait(self) -> None:
        """Wait for something that never comes."""
        self.waiting.set()
        await anyio.sleep_forever()

    async def stopped(self, response: AGUIResponse) -> Events:
        """Stop the server while the response waits, and return its events."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.connection.get, response)
            await self.waiting.wait()
            await anyio.wait_all_tasks_blocked()
            await stop_responses(WITHIN_S)
        assert self.connection.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
        return read_events(b"".join(message.get("body", b"") for message in self.connection.sent))


def without_times(events: Events) -> Events:
    return [{name: value for name, value in event.items() if name != "timestamp"} for event in events]


def kinds_of(events: Events) -> list[str]:
    """The kinds of events, without values, whose place is not the point here."""
    return [event["type"] for event in events if event["type"] != "REASONING_ENCRYPTED_VALUE"]


DELTAS: dict[str, list[Any]] = {
    "nothing": [],
    "reasoning": [ReasoningDelta("Hm")],
    "text": [ReasoningDelta("Hm"), TextDelta("It")],
    "call": [ReasoningDelta("Hm"), ToolCallDelta("c1", "weather", '{"city":')],
    "application's text": [{"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}],
    "step": [{"type": "STEP_STARTED", "stepName": "look up"}],
}
ENDS: dict[str, list[str]] = {
    "nothing": [],
    "reasoning": ["REASONING_MESSAGE_END", "REASONING_END"],
    "text": ["TEXT_MESSAGE_END"],
    "call": ["TOOL_CALL_END", "TOOL_CALL_RESULT"],
    "application's text": ["TEXT_MESSAGE_END"],
    "step": ["STEP_FINISHED"],
}


@pytest.mark.parametrize("visible", [True, False], ids=["full", "hidden"])
@pytest.mark.parametrize("state", DELTAS)
async def test_a_run_ends_what_is_open_and_fails(state: str, visible: bool) -> None:
    stage = Stage()

    async def agent(run: Run) -> AsyncIterator[Any]:
        for delta in DELTAS[state]:
            yield delta
        await stage.wait()

    options: Any = {} if visible else {"visibility": "hidden", "keys": KeyRing.generate()}
    events = await stage.stopped(AGUIResponse(run_agent(INPUT, agent, api=API, **options)))
    Client().feed(events)
    assert without_times(events)[-1] == FAILED
    kinds = kinds_of(events)
    if visible:
        assert kinds[-1 - len(ENDS[state]) : -1] == ENDS[state]


async def test_the_providers_stream_is_closed_before_the_run_fails() -> None:
    stage = Stage()
    tape = Tape(PAYLOADS, stall_at=6)
    tape.on_stall = stage.waiting.set
    closed: list[int] = []

    def note(error: BaseException) -> str:
        assert isinstance(error, AGUIReasoningError)
        closed.append(tape.closed)
        return f"Stopped: {error.code}."

    events = await stage.stopped(AGUIResponse(stream_run(INPUT, tape.sdk, api=API, on_error=note)))
    assert closed == [1]
    Client().feed(events)
    assert events[-1]["message"] == "Stopped: shutdown."


async def test_a_run_that_has_not_begun_fails_too() -> None:
    stage = Stage()

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield TextDelta("Hm")

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            stage.waiting.set()
            await released.wait()
        await stage.connection.send(message)

    released = anyio.Event()
    response = AGUIResponse(run_agent(INPUT, agent))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(response, {"type": "http"}, stage.connection.receive, send)
        await stage.waiting.wait()
        tasks.start_soon(stop_responses, WITHIN_S)
        await anyio.wait_all_tasks_blocked()
        released.set()
    assert without_times(read_events(stage.connection.sent[1]["body"])) == [FAILED]


async def test_a_message_that_is_being_sent_arrives_whole() -> None:
    stage = Stage()
    reading = anyio.Event()

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield TextDelta("Hm")
        raise AssertionError("the run goes on")

    async def slow() -> None:
        if len(stage.connection.sent) == 2:
            stage.waiting.set()
            await reading.wait()

    stage.connection.pause = slow
    response = AGUIResponse(run_agent(INPUT, agent))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.connection.get, response)
        await stage.waiting.wait()
        tasks.start_soon(stop_responses, WITHIN_S)
        await anyio.wait_all_tasks_blocked()
        reading.set()
    events = read_events(b"".join(message.get("body", b"") for message in stage.connection.sent))
    assert [event["type"] for event in events] == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_ERROR",
    ]


async def test_a_client_that_does_not_read_does_not_keep_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agui_reasoning.asgi._response._LAST_SEND_S", 0.0)
    stage = Stage()
    stage.connection.pause = stage.wait
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.connection.get, AGUIResponse(stream_run(INPUT, PAYLOADS, api=API)))
        await stage.waiting.wait()
        await stop_responses(WITHIN_S)
    assert stage.connection.sent == []


async def test_an_agent_that_cleans_up_for_ever_is_stopped() -> None:
    stage = Stage()

    async def agent(run: Run) -> AsyncIterator[Any]:
        try:
            yield TextDelta("Hm")
            await stage.wait()
        finally:
            await anyio.sleep_forever()

    events = await stage.stopped(AGUIResponse(run_agent(INPUT, agent)))
    assert without_times(events)[-1] == FAILED


@pytest.mark.parametrize("stop_in", ["summarize", "call"])
async def test_a_summary_that_is_not_made_does_not_lose_the_events_after_it(stop_in: str) -> None:
    stage = Stage()

    async def summarize(part: Any) -> str:
        if stop_in == "summarize":
            await stage.wait()
        return "A summary."

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield ReasoningDelta("Hm")
        yield ToolCallDelta("c1", "weather", '{"city":')
        await stage.wait()

    warnings: list[str] = []
    run = run_agent(
        INPUT,
        agent,
        api=API,
        visibility="summary",
        keys=KeyRing.generate(),
        summarize=summarize,
        on_warning=warnings.append,
    )
    events = await stage.stopped(AGUIResponse(run))
    client = Client().feed(events)
    assert client.messages[0]["content"] == (
        "The reasoning is not shown." if stop_in == "summarize" else "A summary."
    )
    assert kinds_of(events)[-3:] == ["TOOL_CALL_END", "TOOL_CALL_RESULT", "RUN_ERROR"]
    assert warnings == (
        ["`summarize` raised InterruptedError; a placeholder is shown."] if stop_in == "summarize" else []
    )


async def test_a_run_that_has_ended_gets_no_second_terminal_event() -> None:
    stage = Stage()

    async def agent(run: Run) -> AsyncIterator[Any]:
        yield TextDelta("Hm")
        for event in run.cancel():
            yield event
        await stage.wait()

    events = await stage.stopped(AGUIResponse(run_agent(INPUT, agent)))
    assert [event["type"] for event in events][-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_terminal_event_that_is_being_sent_is_the_only_one(fails: bool) -> None:
    stage = Stage()
    reading = anyio.Event()

    async def agent(run: Run) -> AsyncIterator[Any]:
        if fails:
            raise KeyError
        return
        yield

    async def slow() -> None:
        if len(stage.connection.sent) == 2:
            stage.waiting.set()
            await reading.wait()

    stage.connection.pause = slow
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.connection.get, AGUIResponse(run_agent(INPUT, agent)))
        await stage.waiting.wait()
        tasks.start_soon(stop_responses, WITHIN_S)
        await anyio.wait_all_tasks_blocked()
        reading.set()
    body = b"".join(message.get("body", b"") for message in stage.connection.sent)
    kinds = [event["type"] for event in read_events(body)]
    assert kinds == ["RUN_STARTED", "RUN_ERROR" if fails else "RUN_FINISHED"]


async def test_a_response_that_has_ended_is_not_stopped() -> None:
    connection = Connection()
    await connection.get(AGUIResponse(stream_run(INPUT, PAYLOADS, api=API)))
    await stop_responses(WITHIN_S)
    body = b"".join(message.get("body", b"") for message in connection.sent)
    assert read_events(body)[-1]["type"] == "RUN_FINISHED"


async def test_a_response_that_begins_later_ends_at_once() -> None:
    await stop_responses(WITHIN_S)
    connection = Connection()
    await connection.get(AGUIResponse(stream_run(INPUT, PAYLOADS, api=API)))
    assert without_times(read_events(connection.sent[1]["body"])) == [FAILED]


async def test_a_synchronous_run_fails_when_its_payload_has_come() -> None:
    stage = Stage()
    payload = anyio.Event()
    call_soon = stage.waiting.set

    def source() -> Iterator[Any]:
        yield from PAYLOADS[:6]
        anyio.from_thread.run_sync(call_soon)
        anyio.from_thread.run(payload.wait)
        yield PAYLOADS[6]
        raise AssertionError("the run goes on")

    response = AGUIResponse(agui_reasoning.stream_run(INPUT, source(), api=API))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.connection.get, response)
        await stage.waiting.wait()
        tasks.start_soon(stop_responses, WITHIN_S)
        await anyio.wait_all_tasks_blocked()
        payload.set()
    events = read_events(b"".join(message.get("body", b"") for message in stage.connection.sent))
    Client().feed(events)
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "shutdown")


OWN: dict[str, list[BaseEvent | dict[str, Any]]] = {
    "mappings": [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hm"},
    ],
    "models": [
        RunStartedEvent(thread_id="t", run_id="r"),
        TextMessageStartEvent(message_id="m", role="assistant"),
        TextMessageContentEvent(message_id="m", delta="Hm"),
    ],
}


@pytest.mark.parametrize("given", OWN.values(), ids=OWN)
async def test_an_applications_own_events_end_too(given: list[Any]) -> None:
    stage = Stage()

    async def own() -> AsyncIterator[Any]:
        for event in given:
            yield event
        await stage.wait()

    events = await stage.stopped(AGUIResponse(own()))
    assert events == [*OWN["mappings"], {"type": "TEXT_MESSAGE_END", "messageId": "m"}, FAILED]


async def test_an_applications_own_call_that_is_open_ends_with_a_result() -> None:
    stage = Stage()
    call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"}

    async def own() -> AsyncIterator[Any]:
        for event in (OWN["mappings"][0], call):
            yield event
        await stage.wait()

    *_, end, result, failed = await stage.stopped(AGUIResponse(own()))
    assert (end, failed) == ({"type": "TOOL_CALL_END", "toolCallId": "c"}, FAILED)
    assert (result["type"], result["toolCallId"]) == ("TOOL_CALL_RESULT", "c")
    assert result["messageId"]


@pytest.mark.parametrize(
    "last", [{"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}, {"type": "RUN_ERROR"}]
)
async def test_an_applications_own_run_that_ended_gets_no_second_terminal_event(last: dict[str, Any]) -> None:
    stage = Stage()
    given = [*OWN["mappings"][:1], {"message": "no", **last}]

    async def own() -> AsyncIterator[Any]:
        for event in given:
            yield event
        await stage.wait()

    assert await stage.stopped(AGUIResponse(own())) == given


# -- real servers

APP = f"""
import anyio
from starlette.applications import Starlette
from starlette.routing import Route
from agui_reasoning.aio import run_agent
from agui_reasoning.asgi import AGUIResponse
from agui_reasoning.deltas import ReasoningDelta, TextDelta

async def silent(run):
    yield ReasoningDelta("Hm")
    await anyio.sleep_forever()

async def busy(run):
    while True:
        yield TextDelta("Hm")
        await anyio.sleep(0.001)

async def own():
    for event in {OWN["mappings"]!r}:
        yield event
    await anyio.sleep_forever()

async def answer(request):
    run_input = await request.json()
    agent = {{"/silent": silent, "/busy": busy}}.get(request.url.path)
    return AGUIResponse(own() if agent is None else run_agent(run_input, agent))

app = Starlette(routes=[Route(path, answer, methods=["POST"]) for path in ("/silent", "/busy", "/own")])
"""
BODY = json.dumps(INPUT).encode()
HEAD = "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
STREAMS = 60


async def stream_until_closed(port: int, path: str, begun: Callable[[], None]) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HEAD.format(path, len(BODY)).encode() + BODY)
    got = await reader.readuntil(b"RUN_STARTED")
    begun()
    got += await reader.read()
    writer.close()
    return got


async def stopped(
    server: subprocess.Popen[str], port: int, paths: tuple[str, ...], how: signal.Signals
) -> int:
    """Stop a server with many open streams, each of which must end well; return its exit status."""
    begun = 0

    def begin() -> None:
        nonlocal begun
        begun += 1
        if begun == STREAMS:
            server.send_signal(how)

    got = await asyncio.gather(
        *(stream_until_closed(port, paths[number % len(paths)], begin) for number in range(STREAMS))
    )
    for one in got:
        assert b'"code":"shutdown"}\n\n' in one
        assert one.endswith(b"\r\n0\r\n\r\n")  # the end of a whole response
    return await asyncio.to_thread(server.wait, WITHIN_S)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_with_open_streams_ends_each_with_a_terminal_event(
    how: signal.Signals, tmp_path: Any
) -> None:
    (tmp_path / "app.py").write_text(APP)
    command = [sys.executable, "-m", "uvicorn", "app:app", "--app-dir", str(tmp_path), "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=pipe, text=True, env=environment()
    ) as server:
        try:
            assert server.stderr is not None
            lines = (re.search(r"running on http://127.0.0.1:(\d+)", line) for line in server.stderr)
            port = int(next(filter(None, lines))[1])
            status = await stopped(server, port, ["/silent", "/busy", "/own"], how)
            complaints = server.stderr.read()
        finally:
            server.kill()
    # uvicorn raises the signal again once it has stopped; for Ctrl-C that is an end without an error.
    assert status == (0 if how is signal.SIGINT else -how)
    assert complaints.count("(code shutdown, ") == STREAMS * 2 // 3
    assert "Exception" not in complaints
    assert "Cancel" not in complaints


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_the_gateway_with_open_streams_ends_each_with_a_terminal_event(how: signal.Signals) -> None:
    command = [sys.executable, "-m", "agui_reasoning", "serve", "--port", "0", "--delay-ms", "600000"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment()) as server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            port = int(server.stdout.readline().rpartition(":")[2])
            status = await stopped(server, port, ["/agent"], how)
            complaints = server.stderr.read()
        finally:
            server.kill()
    assert status == 0
    assert [line for line in complaints.splitlines() if "(code shutdown, " not in line] == []
