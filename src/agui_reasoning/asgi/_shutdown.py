"""Tells the open responses of an event loop the time, and that the server stops.

The time comes from one task per interval and event loop: one per response would cost as much as a short run.

ASGI has no message for the end of a server: the lifespan ends after all responses. uvicorn waits for them,
until its time limit cancels them, and says so in ``should_exit`` of its server. The server handles the
signals itself, so it is found there, however it was started: from the command line, as one of several
workers, or by a program.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, Final, Protocol, TypeAlias

import anyio
from anyio.lowlevel import RunVar

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
        """Remove a response that has ended."""
        del self.responses[response]
        del self._clocks[response.tick_s].responses[response]

    def stop(self) -> None:
        """Tell all responses to end."""
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
