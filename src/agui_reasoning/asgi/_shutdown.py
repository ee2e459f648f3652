"""Notices that the server stops, so that open responses can end before their connections are closed.

ASGI has no message for it: the lifespan ends after all responses. uvicorn waits for them, until its time
limit cancels them, and says so in ``should_exit`` of its server. The server handles the signals itself, so it
is found there, however it was started: from the command line, as one of several workers, or by a program.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import anyio
from anyio.lowlevel import RunVar

__all__ = ["Stoppable", "stop_responses", "stopping_with_server"]

_POLL_S: Final = 0.05
"""How often it is checked whether the server stops. uvicorn cancels responses after 0.1 s at the earliest."""

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Stoppable(Protocol):
    """An open response."""

    def stop(self) -> None:
        """End the response; called again and again until it has ended."""


class _OpenResponses:
    """The open responses of an event loop."""

    def __init__(self) -> None:
        self.responses: dict[Stoppable, None] = {}
        self.stopping = False
        self._watched = False

    def add(self, response: Stoppable) -> None:
        """Add a response, and watch the server while any is open."""
        self.responses[response] = None
        if self.stopping:
            response.stop()
        if not self._watched:
            self._watch()

    def stop(self) -> None:
        """Tell all responses to end."""
        self.stopping = True
        for response in list(self.responses):
            response.stop()

    def _watch(self) -> None:
        loop = _asyncio_loop()
        self._watched = loop is not None and bool(self.responses)
        if loop is None or not self._watched:
            return
        if _server_stops():
            self.stop()
        loop.call_later(_POLL_S, self._watch)


_OPEN: Final[RunVar[_OpenResponses]] = RunVar("agui_reasoning.asgi: open responses")


@contextmanager
def stopping_with_server(response: Stoppable) -> Iterator[None]:
    """Stop a response if the server stops while the block runs."""
    responses = _open_responses()
    responses.add(response)
    try:
        yield
    finally:
        del responses.responses[response]


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


def _asyncio_loop() -> asyncio.AbstractEventLoop | None:
    """Return the running loop of asyncio, the only library that uvicorn runs on."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _server_stops() -> bool:
    """Return whether the server that handles the signals of this process stops."""
    servers = (getattr(signal.getsignal(number), "__self__", None) for number in _SIGNALS)
    return any(getattr(server, "should_exit", None) is True for server in servers)
