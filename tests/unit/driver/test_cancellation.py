"""Cancel a task wherever it waits, on asyncio and trio: nothing stays open, and the next run works."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import aclosing, suppress
from pathlib import Path
from types import coroutine
from typing import Any

import anyio
import httpx2
import pytest

from agui_reasoning import Conversation, RemoteProtocolError, Run
from agui_reasoning.aio import ModelStream, run_agent, stream_run, tool_loop
from agui_reasoning.client import AgentClient
from agui_reasoning.crypto import KeyRing
from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.gateway import HTTPUpstream, create_app
from agui_reasoning.replay import TOOL, TOOL_RESULT
from agui_reasoning.wire import read_events
from tests.support.verifier import Client, plain
from tests.unit.durable.agents import new_run, quick
from tests.unit.gateway.faulty_provider import frames, said
from tests.unit.gateway.http_client import INPUT

pytestmark = pytest.mark.anyio
API = "anthropic-messages"
ORIGIN: dict[str, Any] = {"api": API, "provider": "anthropic", "model": "claude-sonnet-4-6"}
MOST = 2_000


@coroutine
def counted(work: Coroutine[Any, Any, Any], on_suspension: Callable[[], None]) -> Generator[Any, Any, Any]:
    """Run a coroutine, and call a function whenever it is about to wait."""
    step, given = work.send, None
    while True:
        try:
            waits_for = step(given)
        except StopIteration as end:
            return end.value
        on_suspension()
        try:
            step, given = work.send, (yield waits_for)
        except BaseException as error:
            step, given = work.throw, error


async def cancelled_at(number: int, work: Callable[[], Coroutine[Any, Any, Any]]) -> bool:
    """Cancel the work at a suspension, counted from 0; return whether it came to that."""
    count = 0
    with anyio.CancelScope() as scope:

        def on_suspension() -> None:
            nonlocal count
            count += 1
            if count == number + 1:
                scope.cancel()

        await counted(work(), on_suspension)
    return count > number


async def at_each(work: Callable[[], Awaitable[Any]], check: Callable[[], Awaitable[None]]) -> int:
    """Cancel the work at each of its suspensions, or at some; check after each what it left."""
    count = 0
    while await cancelled_at(count, work):  # type: ignore[arg-type]
        await check()
        count += 1
        assert count < MOST
    assert count > 3
    await check()
    return count


Times = Callable[[str, object], None]


class Source:
    """The provider's streams, which count what is open."""

    def __init__(self) -> None:
        self.open = self.opened = 0

    async def payloads(self, number: int = 2) -> AsyncIterator[Any]:
        self.open += 1
        self.opened += 1
        try:
            for payload in said(API, number):
                await anyio.lowlevel.checkpoint()
                yield payload
        finally:
            self.open -= 1

    async def ask(self, request: Any) -> AsyncIterator[Any]:
        await anyio.lowlevel.checkpoint()
        answered = any("tool_result" in json.dumps(one) for one in request.body["messages"])
        return self.payloads(2 if answered else 1)


async def fetched(kid: str) -> bytes:
    await anyio.lowlevel.checkpoint()
    return b"k" * 32


@pytest.mark.parametrize("keys", [None, KeyRing(fetched, primary="k1")], ids=["plain", "keys"])
async def test_a_stream_closes_its_source_wherever_it_is_cancelled(
    keys: KeyRing | None, record_property: Times
) -> None:
    source, seen = Source(), list[Any]()

    async def work() -> None:
        seen.clear()
        options: dict[str, Any] = {"keys": keys, "visibility": "hidden" if keys else "full", **ORIGIN}
        async with aclosing(stream_run(INPUT, source.payloads, **options)) as events:
            seen.extend([event async for event in events])

    async def check() -> None:
        assert source.open == 0
        Client().feed(plain(seen))

    record_property("times", await at_each(work, check))
    assert seen[-1].type.value == "RUN_FINISHED"


async def test_an_agent_with_tools_is_closed_wherever_it_is_cancelled(record_property: Times) -> None:
    source, tools, seen = Source(), [0], list[Any]()

    async def forecast(**arguments: Any) -> str:
        tools[0] += 1
        try:
            await anyio.lowlevel.checkpoint()
        finally:
            tools[0] -= 1
        return TOOL_RESULT

    async def turn(run: Run) -> AsyncIterator[Any]:
        yield ModelStream(source.ask, tools=[TOOL])

    async def work() -> None:
        seen.clear()
        agent = tool_loop(turn, {TOOL["name"]: forecast})
        async with aclosing(run_agent(INPUT, agent, **ORIGIN)) as events:
            seen.extend([event async for event in events])

    async def check() -> None:
        assert (source.open, tools) == (0, [0])
        Client().feed(plain(seen))

    record_property("times", await at_each(work, check))
    assert seen[-1].type.value == "RUN_FINISHED"


class Body(httpx2.AsyncByteStream):
    """A body that comes frame by frame, and notes that it was closed."""

    open = 0

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces
        Body.open += 1

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await anyio.lowlevel.checkpoint()
            yield piece

    async def aclose(self) -> None:
        Body.open -= 1


async def answered(request: httpx2.Request) -> httpx2.Response:
    await anyio.lowlevel.checkpoint()
    return httpx2.Response(
        200, headers={"content-type": "text/event-stream"}, stream=Body(frames(API, 2)), request=request
    )


async def test_the_gateway_closes_the_providers_response_wherever_it_is_cancelled(
    record_property: Times,
) -> None:
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        await anyio.lowlevel.checkpoint()
        sent.append(message.get("body", b""))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answered)) as http:
        upstream = HTTPUpstream(base_url="http://provider", api_key="sk-0123456789", http=http, **ORIGIN)
        app = create_app(upstream)

        async def work() -> None:
            sent.clear()
            asked = [{"type": "http.request", "body": json.dumps(INPUT).encode()}]

            async def receive() -> Any:
                await anyio.lowlevel.checkpoint()
                return asked.pop() if asked else await anyio.sleep_forever()

            await app(SCOPE, receive, send)

        async def check() -> None:
            assert Body.open == 0
            Client().feed(read_events(b"".join(sent)))

        record_property("times", await at_each(work, check))
        assert read_events(b"".join(sent))[-1]["type"] == "RUN_FINISHED"


SCOPE: dict[str, Any] = {
    "type": "http",
    "method": "POST",
    "path": "/agent",
    "raw_path": b"/agent",
    "query_string": b"",
    "scheme": "http",
    "headers": [(b"content-type", b"application/json"), (b"host", b"localhost")],
    "client": ("127.0.0.1", 1),
    "server": ("127.0.0.1", 80),
}


async def test_a_client_closes_the_response_and_keeps_what_came_wherever_it_is_cancelled(
    record_property: Times,
) -> None:
    given = Conversation("t1").run_input("Umbrella?")
    whole = b"".join([chunk async for chunk in stream_run(given, said(API, 2), **ORIGIN).frames()])

    async def agent(request: httpx2.Request) -> httpx2.Response:
        await anyio.lowlevel.checkpoint()
        pieces = [frame + b"\n\n" for frame in whole.split(b"\n\n")[:-1]]
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, stream=Body(pieces), request=request
        )

    kept: list[Conversation] = []
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(agent)) as http:

        async def work() -> None:
            kept[:] = [Conversation("t1")]
            async with (
                AgentClient("http://agent", http=http) as client,
                aclosing(client.run(kept[0], "Umbrella?")) as events,
            ):
                async for _ in events:
                    pass

        async def check() -> None:
            assert Body.open == 0
            contents = [str(message.content) for message in kept[0].messages[1:]]
            final = Conversation("t1")
            final.run_input("Umbrella?")
            for event in read_events(whole):
                final.receive(event)
            rest = [str(message.content) for message in final.messages if message.role != "user"]
            assert all(one.startswith(part) for one, part in zip(rest, contents, strict=False))
            kept[0].run_input("Again?")

        record_property("times", await at_each(work, check))
        assert kept[0].status == "finished"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("what", ["start", "read"])
async def test_a_durable_thread_takes_the_next_run_wherever_its_caller_is_cancelled(
    what: str, tmp_path: Path, record_property: Times
) -> None:
    """A run goes on without the one who started it, also if the start was cancelled."""
    runs = Runs(SQLiteRuns(tmp_path / "runs.db"), lease_s=60)

    async def work() -> None:
        stream = await runs.start(new_run(), quick)
        if what == "read":
            async for _ in stream.frames():
                pass

    async def check() -> None:
        stream = None
        while stream is None:
            with suppress(RemoteProtocolError):  # there is no such thread
                async for _ in (await runs.join("thread-1")).frames():
                    pass
            with suppress(RemoteProtocolError):  # meanwhile, the run of a cancelled start has begun
                stream = await runs.start(new_run(), quick)
        events = read_events(b"".join([chunk async for chunk in stream.frames()]))
        assert events[-1]["type"] == "RUN_FINISHED"

    with anyio.fail_after(50):  # less than a lease
        record_property("times", await at_each(work, check))
        await runs.aclose()
