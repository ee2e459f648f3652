"""What one client reads of a run's log: what brings it to where the run is, then the rest of the events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from time import monotonic
from typing import Any, Final

import anyio.to_thread
import msgspec
from ag_ui.core import Event

from agui_reasoning._strict_json import JSONObject
from agui_reasoning._wire_events import event_model, new_uuid
from agui_reasoning.compat import ThinkingDowngrader
from agui_reasoning.consumer import Conversation
from agui_reasoning.durable._log import Log
from agui_reasoning.emitter import Opened
from agui_reasoning.errors import AGUIReasoningError
from agui_reasoning.wire import frames_of

LOST: Final = "The server of this agent stopped unexpectedly. Please try again."
"""The message that users see if the worker of a run ended without ending the run."""

UNSTORED: Final = "The answer could not be stored, so it was stopped. Please try again shortly."
"""The message that users see if the store of the runs cannot be used."""

_WAIT_S: Final = 1.0

_UNDECLARED: Final = "0.1.21"
"""The newest version of ag-ui-protocol whose clients declare no protocol version."""

_OF_VERSION: Final = tuple(
    f'"type":"{kind}"'.encode() for kind in ("RUN_FINISHED", "TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT")
)
"""What is in the bytes of events that such clients may refuse: `@ag-ui/client` 0.0.59 knows no pending calls,
no cancelled runs and no results with media."""

_STATE: Final = frozenset({"STATE_SNAPSHOT", "STATE_DELTA"})
_GROWS: Final = {
    "TEXT_MESSAGE_CONTENT": "messageId",
    "REASONING_MESSAGE_CONTENT": "messageId",
    "TOOL_CALL_ARGS": "toolCallId",
}
_BARE: Final = frozenset({"type", "messageId", "toolCallId", "delta", "timestamp"})
_CONTENT: Final = tuple(f'data: {{"type":"{kind}"'.encode() for kind in _GROWS)
_FRAME_END: Final = b"\n\n"


def events_in(frames: bytes) -> Iterator[JSONObject]:
    """Yield the events of Server-Sent Events that this package wrote."""
    for frame in frames.split(_FRAME_END):
        if frame.startswith(b"data: "):
            yield _event(frame[6:])


def _event(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)  # it takes lone surrogates


def note_frames(opened: Opened, frames: bytes) -> None:
    """Note the events of a chunk. Most chunks are one frame that opens and closes nothing."""
    if frames.startswith(_CONTENT) and frames.find(_FRAME_END) == len(frames) - 2:
        return
    for event in events_in(frames):
        opened.note(event)


class View:
    """A client's thread after some of the events of its newest run.

    Attributes:
        opened: What the events opened.
    """

    def __init__(self, head: JSONObject) -> None:
        self._conversation = Conversation(
            head["threadId"], messages=head["messages"], state=head.get("state"), on_warning=_ignore
        )
        self._first: JSONObject | None = None
        self._has_state = bool(head.get("state"))
        self.opened = Opened()

    @property
    def begun(self) -> bool:
        """Whether the run has started."""
        return self._first is not None

    @property
    def conversation(self) -> Conversation:
        """The conversation."""
        return self._conversation

    def receive(self, frames: bytes) -> None:
        """Take the next frames of the run."""
        for event in _merged(events_in(frames)):
            self._first = self._first or event
            self._has_state = self._has_state or event["type"] in _STATE
            self.opened.note(event)
            self._conversation.receive(event)

    def prelude(self, downgrader: ThinkingDowngrader | None = None) -> bytes:
        """Return the frames that bring any client of the thread here: new, informed, or cut.

        RUN_STARTED, the state, one snapshot of the messages with what open ones hold so far, a bare start for
        each construct that is open, and the terminal event if the run has ended.
        """
        events = [event for event in self._prelude() if event is not None]
        return frames_of(
            events if downgrader is None else [sent for one in events for sent in downgrader.receive(one)]
        )

    def _prelude(self) -> Iterator[Any]:
        yield self._first
        if self._has_state:
            yield {"type": "STATE_SNAPSHOT", "snapshot": self._conversation.state}
        messages = [_wire(message) for message in self._conversation.messages]
        yield {"type": "MESSAGES_SNAPSHOT", "messages": messages}
        yield from self.opened.starts.values()
        yield self.opened.terminal


def _merged(events: Iterable[JSONObject]) -> Iterator[JSONObject]:
    """Merge deltas of one message or call that follow each other."""
    grown: JSONObject | None = None
    deltas: list[str] = []
    for event in events:
        member = _GROWS.get(event["type"], "")
        bare = bool(member) and event.keys() <= _BARE
        if grown is not None:
            if bare and event["type"] == grown["type"] and event[member] == grown[member]:
                deltas.append(event["delta"])
                continue
            yield grown | {"delta": "".join(deltas)}
            grown = None
        if bare:
            grown, deltas = event, [event["delta"]]
        else:
            yield event
    if grown is not None:
        yield grown | {"delta": "".join(deltas)}


def _wire(message: Any) -> JSONObject:
    wire: JSONObject = message.model_dump(mode="json", by_alias=True, exclude_none=True)
    return wire


def _ignore(warning: str) -> None:
    """Ignore a warning: the client that receives the events gets it, too."""


def older(protocol_version: str | None) -> ThinkingDowngrader | None:
    """Return what adapts events to clients that declare a protocol version, if they need it."""
    return ThinkingDowngrader(_UNDECLARED, on_warning=lambda lost: None) if protocol_version is None else None


class LogStream:
    """The events of a run, read from its log. Iterate over it once; closing it leaves the run going."""

    def __init__(
        self, log: Log, view: View | None = None, downgrader: ThinkingDowngrader | None = None
    ) -> None:
        self._log = log
        self._view = view
        self._downgrader = downgrader
        self._opened = Opened() if view is None else view.opened
        self._place = 0
        self._watched = float("-inf")
        self._chunks = self._read()
        self._waiting: list[Event] = []

    def __repr__(self) -> str:
        return f"LogStream({self._log.thread_id!r})"

    def __aiter__(self) -> LogStream:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            self._waiting = [event_model(event) for event in events_in(await anext(self._chunks))][::-1]
        return self._waiting.pop()

    def frames(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the rest of the stream as Server-Sent Events."""
        return self._chunks

    async def aclose(self) -> None:
        """Stop reading. The run goes on."""
        self._waiting.clear()
        await self._chunks.aclose()

    async def _read(self) -> AsyncGenerator[bytes, None]:
        try:
            if self._view is not None:
                prelude, self._view = await self._prelude(self._view), None
                yield prelude
                del prelude  # a slow reader would hold it
            while self._opened.terminal is None:
                for data in await self._next():
                    note_frames(self._opened, data)
                    yield self._adapted(data)
        except AGUIReasoningError as error:
            self._log.report(error)
            if self._opened.terminal is None:
                yield frames_of(self._opened.failure(UNSTORED, error.code, new_uuid))

    async def _prelude(self, view: View) -> bytes:
        """Read what is there, at least the first event."""
        while not view.begun or await self._log.has(self._place):
            # In a worker thread, because a long run would block others.
            await anyio.to_thread.run_sync(view.receive, b"".join(await self._next()))
        return await anyio.to_thread.run_sync(view.prelude, self._downgrader)

    def _adapted(self, data: bytes) -> bytes:
        downgrader = self._downgrader
        if downgrader is None or not any(mark in data for mark in _OF_VERSION):
            return data
        return frames_of([sent for event in events_in(data) for sent in downgrader.receive(event)])

    async def _next(self) -> list[bytes]:
        """Return the next entries, after a while none; end the log of a worker that is gone."""
        await self._watch()
        data, alive = await self._log.read(self._place)
        self._place += len(data)
        if not data and not alive:
            return await self._end()
        if not data:
            await self._log.wait(self._place, min(_WAIT_S, self._log.watch_s))
        return data

    async def _watch(self) -> None:
        if (now := monotonic()) - self._watched >= self._log.watch_s:
            self._watched = now
            await self._log.watch()

    async def _end(self) -> list[bytes]:
        """End the log, so that every reader gets the same end; one of them succeeds."""
        message, code = (UNSTORED, "store_unavailable") if self._log.is_broken else (LOST, "worker_lost")
        last = frames_of(self._opened.failure(message, code, new_uuid))
        if await self._log.end(self._place, last):
            self._log.report_end(code)
        data, _ = await self._log.read(self._place)
        self._place += len(data)
        return data or [last]  # the thread was erased
