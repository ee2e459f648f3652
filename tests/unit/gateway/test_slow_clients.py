"""Clients that read slowly or not at all: what a run keeps in memory, and how far it runs ahead of them."""

from __future__ import annotations

import asyncio
import json
import socket
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import anyio
import httpx2
import pytest

from agui_reasoning import Run
from agui_reasoning.aio import run_agent
from agui_reasoning.deltas import TextDelta
from agui_reasoning.gateway import HTTPUpstream, create_app, local_server
from tests.unit.gateway.http_client import INPUT, TIMEOUT
from tests.unit.gateway.provider import upstream
from tests.unit.gateway.test_app import Fake

READ_BYTES = 256 * 1024
"""What asyncio reads at most at once."""

DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " word"}}
FRAME = f"data: {json.dumps(DELTA)}\n\n".encode()


class _OneRead(httpx2.AsyncByteStream):
    """A body that comes in one read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._data


def test_payloads_that_are_not_taken_yet_are_not_decoded() -> None:
    """A client that reads slowly stops the run in the middle of a read of the provider's stream."""
    data = FRAME * (READ_BYTES // len(FRAME))

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_OneRead(data))

    async def kept() -> int:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
            model = upstream("anthropic-messages", "http://localhost", http=http)
            async with aclosing(model.agent(Run(INPUT, api="anthropic-messages"))) as items:
                (stream,) = [item async for item in items]
            request = Run(INPUT, api="anthropic-messages").request()
            async with await stream.source(request) as payloads:
                tracemalloc.start()
                try:
                    assert json.loads(await anext(payloads)) == DELTA
                    return tracemalloc.get_traced_memory()[0]
                finally:
                    tracemalloc.stop()

    anyio.run(kept)
    assert anyio.run(kept) < READ_BYTES // 4


async def refused_by(
    answer: Callable[[socket.socket], Awaitable[None]], ask: Callable[[str], HTTPUpstream]
) -> None:
    """Have a run ask what answers one connection, badly, in the event loop of the run."""

    async def accept() -> None:
        connection, _ = await asyncio.get_running_loop().sock_accept(listening)
        with connection:
            connection.setblocking(False)
            await answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        model = ask(f"http://127.0.0.1:{listening.getsockname()[1]}")
        answering = asyncio.ensure_future(accept())
        assert [event.type async for event in run_agent(INPUT, model.agent)][-1] == "RUN_ERROR"
        await asyncio.wait_for(answering, TIMEOUT)
        await model.aclose()


def test_a_connection_to_a_provider_receives_little_ahead_of_the_run() -> None:
    """The system would take more from the first byte on, and asyncio reads all of it at once, for each."""
    taken: list[int] = []

    async def answer(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        await asyncio.get_running_loop().sock_recv(connection, 65_536)
        # In one step of the loop, so that the run reads nothing meanwhile.
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        with suppress(BlockingIOError):
            while True:
                taken.append(connection.send(b": \n" * 1_000))

    asyncio.run(refused_by(answer, lambda url: upstream("anthropic-messages", url)))
    # Systems double what they are asked for, and the sender keeps a little.
    assert 0 < sum(taken) < 80_000


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The transport that bounds what connections receive would not use it."""
    lines: list[bytes] = []

    async def answer(connection: socket.socket) -> None:
        received = await asyncio.get_running_loop().sock_recv(connection, 65_536)
        lines.append(received.partition(b"\r\n")[0])

    def behind(proxy: str) -> HTTPUpstream:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        return upstream("anthropic-messages", "http://api.example.com")

    asyncio.run(refused_by(answer, behind))
    assert lines == [b"POST http://api.example.com/v1/messages HTTP/1.1"]


class Counting(Fake):
    """An upstream that counts the pieces of its endless answer."""

    made = 0

    async def agent(self, run: Run) -> AsyncIterator[Any]:
        try:
            while True:
                self.made += 1
                yield TextDelta("x" * 1_000)
                await anyio.lowlevel.checkpoint()
        finally:
            self.closed.set()


HEAD = "POST /agent HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def asked(url: str) -> socket.socket:
    """Return the connection of a client that has sent a request, and can receive little."""
    client = socket.socket()
    client.settimeout(TIMEOUT)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    client.connect(("127.0.0.1", int(url.rpartition(":")[2])))
    body = json.dumps(INPUT).encode()
    client.sendall(f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return client


@pytest.mark.parametrize("read_bytes", [0, 100])
def test_a_run_does_not_run_far_ahead_of_a_client_that_does_not_read(read_bytes: int) -> None:
    """The buffers of this machine's sockets are in between: those of a server grow to several MiB."""
    counting = Counting()
    with (
        local_server(create_app(counting, send_timeout_s=0.4)) as url,
        asked(url) as client,
    ):
        assert len(client.recv(read_bytes)) <= read_bytes if read_bytes else True
        # The run ends because no message was sent for some time.
        assert counting.closed.wait(TIMEOUT)
    assert counting.made < 600


def send_until_refused(client: socket.socket) -> None:
    """Send more, which is refused once the server has forgotten the connection."""
    while client.send(b" "):
        pass


def test_the_connection_of_a_client_that_does_not_read_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data that is not received keeps a closed connection, and its memory, until the client leaves."""
    monkeypatch.setattr("agui_reasoning.gateway._serving.FLUSH_TIMEOUT_S", 0.05)
    counting = Counting()
    with (
        local_server(create_app(counting, send_timeout_s=0.2)) as url,
        asked(url) as client,
    ):
        assert counting.closed.wait(TIMEOUT)
        with pytest.raises(ConnectionError):
            send_until_refused(client)
