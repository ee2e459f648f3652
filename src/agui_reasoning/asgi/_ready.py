"""What open responses are made of: chunks that are ready together, the time, and that the server stops.

Chunks are joined without waiting and without a task of its own. An awaitable is stepped by hand: what it does
before it first waits is ready. While a step waits, its task awaits nothing else, because the task is inside
of what the step has entered, such as a cancel scope.

The time comes from one task per interval and event loop: one per response would cost as much as a short run.

ASGI has no message for the end of a server: the lifespan ends after all responses. uvicorn waits for them,
until its time limit cancels them, and says so in ``should_exit`` of its server. The server handles the
signals itself, so it is found there, however it was started: from the command line, as one of several
workers, or by a program.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import Any, Final, Protocol, TypeAlias

import anyio
from anyio.lowlevel import RunVar

_MAX_JOINED_BYTES: Final = 16_384
_MAX_PATIENCE: Final = 15


class Rest:
    """The rest of an awaitable that was started by hand, and waits."""

    __slots__ = ("_steps", "_waits_for")

    def __init__(self, steps: Any, waits_for: Any) -> None:
        self._steps = steps
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            while True:
                try:
                    sent = yield self._waits_for
                except BaseException as error:
                    self._waits_for = self._steps.throw(error)
                else:
                    self._waits_for = self._steps.send(sent)
        except StopIteration as done:
            return done.value

    async def aclose(self) -> None:
        """Close what waits, as a generator is closed."""
        with suppress(GeneratorExit, StopIteration, StopAsyncIteration):
            self._waits_for = self._steps.throw(GeneratorExit())
            await self


def started(awaitable: Awaitable[Any]) -> Any:
    """Start an awaitable; return its result, or its `Rest` if it waits."""
    steps: Any = awaitable.__await__()
    try:
        waits_for = steps.send(None)
    except StopIteration as done:
        return done.value
    return Rest(steps, waits_for)


class ReadyChunks:
    """The chunks of a stream, each with those that are ready after it.

    To look for a chunk when there is one to send costs more than to wait for it, so that is done only after a
    chunk that was ready together with another. To find out which are costs a little, too: it is done seldom
    where each chunk comes alone.

    Attributes:
        rest: The next chunk, while it is waited for.
        alone: How many chunks to wait for with `next` until `next_or_ready` is worth its time.
    """

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks
        self._end: Exception | None = None
        self._together = 0
        """How many chunks came since one was waited for, with that one."""
        self._looks = False
        self.alone = self._patience = 0
        self.rest: Rest | None = None

    def next(self) -> Awaitable[bytes]:
        """Return what returns the next chunk, and raises ``StopAsyncIteration`` at the end."""
        if self.alone:  # nothing was read ahead
            self.alone -= 1
            return self._chunks.__anext__()  # type: ignore[no-any-return]
        end, self._end = self._end, None
        if end is not None:
            try:
                raise end
            finally:
                del end  # its traceback refers to this frame
        rest, self.rest = self.rest, None
        return self._chunks.__anext__() if rest is None else self._waited(rest)

    def next_or_ready(self) -> Awaitable[bytes] | bytes:
        """Like `next`, but return the chunk itself if it is ready. Do not call this on trio.

        There, what a task waits for is noted in the task before the step says that it waits.
        """
        if self.rest is not None or self._end is not None:
            return self.next()
        chunk = started(self._chunks.__anext__())
        if isinstance(chunk, Rest):
            return self._waited(chunk)
        self._looks = self._together > 0
        self._together += 1
        self.alone = 0 if self._looks else self._patience
        return chunk  # type: ignore[no-any-return]

    def _waited(self, rest: Rest) -> Rest:
        self._looks = self._together != 1
        self._together = 1
        self.alone = self._patience = 0 if self._looks else min(2 * self._patience + 1, _MAX_PATIENCE)
        return rest

    def joined(self, chunk: bytes) -> bytes:
        """Return a chunk with those that are ready after it, if there may be any."""
        if not self._looks:
            return chunk
        chunks, size = [chunk], len(chunk)
        while size < _MAX_JOINED_BYTES and (ready := self._ready()) is not None:
            chunks.append(ready)
            size += len(ready)
        self._together += len(chunks) - 1
        return b"".join(chunks)

    def _ready(self) -> bytes | None:
        try:
            chunk = started(self._chunks.__anext__())
        except StopAsyncIteration:
            self._end = StopAsyncIteration()
        except Exception as error:
            self._end = error  # raised when the chunks before it have been sent
        else:
            if not isinstance(chunk, Rest):
                return chunk  # type: ignore[no-any-return]
            self.rest = chunk
        return None

    async def aclose(self) -> None:
        """Close the stream, even while its next chunk is waited for."""
        rest, self.rest = self.rest, None
        if rest is not None:
            await rest.aclose()
        await close(self._chunks)


async def close(stream: Any) -> None:
    """Close a stream, if it can be closed."""
    if aclose := getattr(stream, "aclose", None):
        await aclose()


# -- the time, and the end of the server

_POLL_S: Final = 0.05
"""How often it is checked whether the server stops. uvicorn cancels responses after 0.1 s at the earliest."""

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


Spawn: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


class Watched(Protocol):
    """An open response."""

    @property
    def tick_s(self) -> float:
        """The seconds between two ticks."""

    def tick(self) -> None:
        """Note that time has passed; before the first tick, it may be less than ``tick_s``."""

    def stop(self) -> None:
        """End the response; called again and again until it has ended."""


class _Clock:
    """Calls the responses that have the same interval."""

    def __init__(self, tick_s: float) -> None:
        self.responses: dict[Watched, None] = {}
        self.runs = False
        self._tick_s = tick_s

    async def run(self) -> None:
        try:
            while self.responses:
                await anyio.sleep(self._tick_s)
                for response in list(self.responses):
                    response.tick()
        finally:
            self.runs = False


class _OpenResponses:
    """The open responses of an event loop."""

    def __init__(self) -> None:
        self.responses: dict[Watched, None] = {}
        self.stopping = False
        self._watched = False
        self._clocks: dict[float, _Clock] = {}

    def add(self, response: Watched, spawn: Spawn) -> None:
        """Add a response, and watch the time and the server while any is open."""
        self.responses[response] = None
        clock = self._clocks.setdefault(response.tick_s, _Clock(response.tick_s))
        clock.responses[response] = None
        if not clock.runs:
            clock.runs = True
            Context().run(spawn, clock.run)  # the context of the first request is not that of the others
        if self.stopping:
            response.stop()
        if not self._watched:
            self._watch()

    def remove(self, response: Watched) -> None:
        del self.responses[response]
        del self._clocks[response.tick_s].responses[response]

    def stop(self) -> None:
        self.stopping = True
        for response in list(self.responses):
            response.stop()

    def _watch(self) -> None:
        loop = asyncio_loop()
        self._watched = loop is not None and bool(self.responses)
        if loop is None or not self._watched:
            return
        if _signalled():
            self.stop()
        loop.call_later(_POLL_S, self._watch)


_OPEN: Final[RunVar[_OpenResponses]] = RunVar("agui_reasoning.asgi: open responses")


@contextmanager
def open_response(response: Watched, spawn: Spawn) -> Iterator[None]:
    """Tell a response the time, and stop it if the server stops, while the block runs.

    ``spawn`` runs a function in a task of its own.
    """
    responses = _open_responses()
    responses.add(response, spawn)
    try:
        yield
    finally:
        responses.remove(response)


async def stop_responses(within_s: float) -> None:
    """Stop the open responses of this event loop, and wait until they have ended, for a limited time."""
    open_responses = _open_responses()
    open_responses.stop()
    with anyio.move_on_after(within_s):
        while open_responses.responses:
            await anyio.sleep(_POLL_S)
            open_responses.stop()


def _open_responses() -> _OpenResponses:
    found = _OPEN.get(None)
    if found is None:
        found = _OpenResponses()
        _OPEN.set(found)
    return found


def asyncio_loop() -> asyncio.AbstractEventLoop | None:
    """Return the running loop of asyncio, the only library that uvicorn runs on."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def server_stops() -> bool:
    """Return whether the server of this process stops, or all responses have been told to end."""
    return _open_responses().stopping or _signalled()


def _signalled() -> bool:
    """Return whether the server that handles the signals of this process stops."""
    servers = (getattr(signal.getsignal(number), "__self__", None) for number in _SIGNALS)
    return any(getattr(server, "should_exit", None) is True for server in servers)
