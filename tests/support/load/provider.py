"""A provider that writes bytes that were prepared, so that it is not what limits.

python -m tests.support.load.provider     prints its address
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

from tests.support.load.answers import Asked

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_END = b"0\r\n\r\n"
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_BLOCK_BYTES = 16_384


class _Answering(asyncio.Protocol):
    """A connection, with one request after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._frames: Iterator[bytes] = iter(())
        self._paused = False
        self._due: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = bytes(self._received).partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if found and length is not None and len(body) >= int(length[1]):
            self._received.clear()
            self._answer(Asked.read(body))

    def _answer(self, asked: Asked) -> None:
        self._frames, self._pace = asked.frames(), asked.pace
        self._at = self._loop.time()
        self._transport.write(_HEAD)
        self._write()

    def _write(self) -> None:
        """Write what is due: a frame, or with no time between frames all that is taken."""
        self._due = None
        while not self._paused:
            block = self._next()
            if not block:
                self._transport.write(_END)
                return
            self._transport.write(b"%x\r\n%b\r\n" % (len(block), block))
            self._at += self._pace
            if self._pace and self._at > self._loop.time():
                self._due = self._loop.call_at(self._at, self._write)
                return

    def _next(self) -> bytes:
        block, size = [], 0
        for frame in self._frames:
            block.append(frame)
            size += len(frame)
            if self._pace or size > _BLOCK_BYTES:
                break
        return b"".join(block)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._due is None:
            self._write()

    def connection_lost(self, exc: Exception | None) -> None:
        self._paused = True
        if self._due is not None:
            self._due.cancel()


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answering, "127.0.0.1", 0, backlog=2_048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
