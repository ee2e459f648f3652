"""Clients of a gateway that read little more than where a stream ends, and look at what came afterwards.

python -m tests.support.load.client URL run COUNT DELTAS PACE AT_ONCE     prints what they saw
python -m tests.support.load.client URL slow COUNT DELTAS                 until a line is read
python -m tests.support.load.client URL flood COUNT DELTAS MEGABYTES      likewise
"""

from __future__ import annotations

import asyncio
import json
import select
import socket
import sys
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from tests.support.load.answers import Asked

_END = b"\r\n0\r\n\r\n"
_BETWEEN_READS_S = 1.0
_SILENT_S = 120.0
_RUNS_PER_CONNECTION = 10
_MESSAGES_PER_MEGABYTE = 10_000
_parse = msgspec.json.Decoder().decode


def request(asked: Asked, messages: int = 0) -> bytes:
    """Return the bytes of a request for a run, in a thread of some messages."""
    before = [
        {"id": f"m{number}", "role": ("user", "assistant")[number % 2], "content": "x" * 50}
        for number in range(messages)
    ]
    body = json.dumps(
        {
            "threadId": f"thread-{asked.run}",
            "runId": f"run-{asked.run}",
            "messages": [*before, {"id": "u1", "role": "user", "content": asked.prompt}],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        }
    ).encode()
    head = "POST /agent HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Connection(asyncio.Protocol):
    """A connection that has one run after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._done: asyncio.Future[None] | None = None

    async def ask(self, asked: Asked, sent: bytes) -> tuple[bytes, float, float]:
        """Return the response to a request, and the seconds to its first and to its last byte."""
        loop = asyncio.get_running_loop()
        self._received, self._first = bytearray(), 0.0
        self._done = loop.create_future()
        started = loop.time()
        self._transport.write(sent)
        async with asyncio.timeout(_SILENT_S + 2 * asked.deltas * asked.pace):
            await self._done
        return bytes(self._received), self._first - started, loop.time() - started

    def data_received(self, data: bytes) -> None:
        self._first = self._first or asyncio.get_running_loop().time()
        self._received += data
        if self._received.endswith(_END):
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(None)

    def close(self) -> None:
        self._transport.close()


async def connected(url: str) -> _Connection:
    """Connect to a gateway."""
    loop = asyncio.get_running_loop()
    return (await loop.create_connection(_Connection, "127.0.0.1", int(url.rpartition(":")[2])))[1]


class _Clients:
    def __init__(self, url: str, runs: int, deltas: int, pace: float, at_once: int) -> None:
        self._url = url
        self._asked = (Asked(number, deltas, pace) for number in range(runs))
        self._at_once = at_once
        self._keeps = at_once >= runs
        """Whether streams are looked at only when all have ended, so that this slows none down."""
        self._kept: list[tuple[Asked, bytes]] = []
        self.faults: list[str] = []
        self.seconds: list[float] = []
        self.first: list[float] = []
        self.received = 0

    async def all(self) -> None:
        """Have all runs."""
        connections = [await connected(self._url) for _ in range(self._at_once)]
        await asyncio.gather(*map(self._work, connections))

    async def _work(self, connection: _Connection) -> None:
        used = count(1)
        for asked in self._asked:
            response, first, seconds = await connection.ask(asked, request(asked))
            self.first.append(first)
            self.seconds.append(seconds)
            self.received += len(response)
            if self._keeps:
                self._kept.append((asked, response))
            else:
                self._judge(asked, response)
                if next(used) % _RUNS_PER_CONNECTION == 0:
                    connection.close()
                    connection = await connected(self._url)
        connection.close()

    def judge_kept(self) -> None:
        """Look at the streams that were kept."""
        for asked, response in self._kept:
            self._judge(asked, response)

    def _judge(self, asked: Asked, response: bytes) -> None:
        fault = fault_of(asked, response)
        if fault:
            self.faults.append(f"run {asked.run}: {fault}")


def fault_of(asked: Asked, response: bytes) -> str:
    """Return what is wrong with a response; ``""`` if it is whole, and that of its run."""
    head, _, body = response.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        return response[:300].decode(errors="replace")
    if not response.endswith(_END):
        return "the response is cut"
    return _fault_of_events(asked, list(_events(b"".join(_chunks(body)))))


def _chunks(body: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(body):
        end = body.index(b"\r\n", start)
        size = int(body[start:end], 16)
        yield body[end + 2 : end + 2 + size]
        start = end + size + 4


def _events(stream: bytes) -> Iterator[dict[str, Any]]:
    for frame in stream.split(b"\n\n"):
        if frame.startswith(b"data: "):
            yield _parse(frame[6:])


def _fault_of_events(asked: Asked, events: list[dict[str, Any]]) -> str:
    types = [event["type"] for event in events]
    if not events or types[0] != "RUN_STARTED" or types[-1] != "RUN_FINISHED":
        return f"it begins with {types[:1]} and ends with {events[-1:]}"
    if (
        events[-1]["runId"] != f"run-{asked.run}"
        or types.count("RUN_FINISHED") + types.count("RUN_ERROR") != 1
    ):
        return "it has another end"
    reasoning, text = (
        tuple(event["delta"] for event in events if event["type"] == kind)
        for kind in ("REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT")
    )
    if text != asked.answer:
        return f"its text has {len(text)} deltas, or others than were sent"
    if "REASONING_ENCRYPTED_VALUE" not in types:
        return "its reasoning cannot go back"
    if reasoning not in ((), asked.reasoning):
        return f"its reasoning has {len(reasoning)} deltas, or others than were sent"
    return ""


def _run(url: str, runs: str, deltas: str, pace: str, at_once: str) -> None:
    clients = _Clients(url, int(runs), int(deltas), float(pace), int(at_once))
    started = time.monotonic()
    asyncio.run(clients.all())
    wall, cpu = time.monotonic() - started, time.process_time()
    clients.judge_kept()
    found = {name: getattr(clients, name) for name in ("faults", "seconds", "first", "received")}
    print(json.dumps({**found, "wall": wall, "cpu": cpu}))


def _slow(url: str, clients: str, deltas: str) -> None:
    open_clients = [_asking(url, Asked(number, int(deltas), 0)) for number in range(int(clients))]
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], _BETWEEN_READS_S)[0]:
        open_clients = [client for client in open_clients if _read_byte(client)]
    print(len(open_clients))


def _flood(url: str, clients: str, deltas: str, megabytes: str) -> None:
    async def one(number: int) -> None:
        asked = Asked(number, int(deltas), 0)
        sent = request(asked, int(megabytes) * _MESSAGES_PER_MEGABYTE)
        connection = await connected(url)
        while True:
            await connection.ask(asked, sent)

    async def all_of_them() -> None:
        tasks = [asyncio.ensure_future(one(number)) for number in range(int(clients))]
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print(sum(not task.done() for task in tasks))
        for task in tasks:
            task.cancel()

    asyncio.run(all_of_them())


def _asking(url: str, asked: Asked) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(("127.0.0.1", int(url.rpartition(":")[2])))
    client.sendall(request(asked))
    client.setblocking(False)
    return client


def _read_byte(client: socket.socket) -> bool:
    """Return whether the connection is still open."""
    try:
        return bool(client.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


if __name__ == "__main__":
    {"run": _run, "slow": _slow, "flood": _flood}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
