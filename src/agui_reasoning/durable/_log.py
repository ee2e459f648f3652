"""The log of one run, as its worker and its readers use it: how it is sealed, and what one client reads.

A client reads what brings it to where the run is, then the rest of the events.
"""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec
from ag_ui.core import Event

from agui_reasoning._strict_json import JSONObject, dump, load
from agui_reasoning._wire_events import event_model, new_uuid
from agui_reasoning.compat import ThinkingDowngrader
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.durable.store import LogEntry, RunStore
from agui_reasoning.emitter import Opened
from agui_reasoning.errors import AGUIReasoningError, RemoteProtocolError, TransportError
from agui_reasoning.wire import frames_of

_PIECE: Final = 8 * 1024 * 1024
"""The bytes that one token holds, fewer than it can."""

_RECENT: Final = 256 * 1024
"""The bytes of the newest entries that a worker keeps for the readers of its own process."""

_logger = logging.getLogger("agui_reasoning")


class Seal:
    """Encrypts the log of one thread, if there are keys; bound to tenant, thread, run and place.

    Addresses are HMACs under every key of the ring, so that rotation of the keys loses no thread, and a
    database shows neither tenants nor thread IDs.
    """

    def __init__(self, keys: KeyRing | None, tenant: str, thread_id: str) -> None:
        self._keys = keys
        self.tenant = tenant
        self.thread_id = thread_id

    def threads(self) -> Sequence[str]:
        """Return the addresses of the thread, the one under the primary key first."""
        return addresses(self._keys, "thread", self.tenant, self.thread_id)

    def close(self, run: str, place: int | str, data: bytes) -> bytes:
        """Seal an entry, in pieces if it is too long for one token."""
        if self._keys is None:
            return data
        pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)] or [data]
        bindings = self._bindings(run, place, len(pieces))
        return "\n".join(map(self._keys.encrypt, pieces, bindings)).encode()

    def open(self, run: str, place: int | str, data: bytes) -> bytes:
        """Open an entry.

        Raises:
            DecryptionError: It was sealed for another place, or with a key that is no longer in the ring.
        """
        if self._keys is None:
            return data
        pieces = data.decode("ascii", "replace").split("\n")
        return b"".join(map(self._keys.decrypt, pieces, self._bindings(run, place, len(pieces))))

    def _bindings(self, run: str, place: int | str, pieces: int) -> Iterator[Binding]:
        for piece in range(1, pieces + 1):
            entity = f"{run}/{place}" if pieces == 1 else f"{run}/{place}/{piece}/{pieces}"
            yield Binding(self.thread_id, tenant=self.tenant, entity_id=entity)


def addresses(keys: KeyRing | None, *name: str) -> Sequence[str]:
    """Return the addresses of a tenant or thread, the one under the primary key first."""
    text = dump(list(name)).encode()
    if keys is None:
        return [hashlib.sha256(text).hexdigest()]
    return keys.blind_indexes(text)


class Recent:
    """The newest entries of a run that this process works on, in clear, for readers of the same process."""

    def __init__(self) -> None:
        self._entries: deque[bytes] = deque()
        self._bytes = 0
        self.next = 0
        """The place of the next entry."""
        self.ended = False
        self.broken = False
        """Whether the store took no more."""
        self._grown = anyio.Event()

    def add(self, data: bytes) -> None:
        """Keep an entry that is in the log, and wake the readers."""
        self._entries.append(data)
        self._bytes += len(data)
        while self._bytes > _RECENT and len(self._entries) > 1:
            self._bytes -= len(self._entries.popleft())
        self.next += 1
        self.wake()

    def end(self, *, broken: bool = False) -> None:
        """Tell the readers that nothing more will come from here."""
        self.ended, self.broken = True, broken
        self.wake()

    def wake(self) -> None:
        """Wake the readers."""
        self._grown.set()
        self._grown = anyio.Event()

    def since(self, place: int) -> list[bytes] | None:
        """Return the entries from a place on; ``None`` if the first is no longer here."""
        count = self.next - place
        if count > len(self._entries):
            return None
        return [self._entries[at] for at in range(len(self._entries) - count, len(self._entries))]

    async def wait(self, place: int, timeout_s: float) -> None:
        """Wait until there is an entry at a place."""
        grown = self._grown
        if self.next <= place and not self.ended:
            with anyio.move_on_after(timeout_s):
                await grown.wait()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Log:
    """The log of one run.

    Attributes:
        watch_s: Seconds after which a reader says again that it reads.
        recent: Its newest entries, if this process works on the run.
    """

    store: RunStore
    seal: Seal
    run: str
    retention_s: float
    watch_s: float
    recent: Recent | None

    async def read(self, place: int) -> tuple[list[bytes], bool]:
        """Return the entries from a place on, and whether more may come."""
        recent = self._local()
        if recent is not None and (entries := recent.since(place)) is not None:
            return entries, True
        tail = await self.store.read(self.run, place)
        opened = [self.seal.open(self.run, place + at, data) for at, data in enumerate(tail.entries)]
        return opened, tail.alive and not self.is_broken

    @property
    def is_broken(self) -> bool:
        """Whether the run was ended because the store took no more."""
        return self.recent is not None and self.recent.broken

    async def has(self, place: int) -> bool:
        """Return whether there is an entry at a place."""
        recent = self._local()
        if recent is not None:
            return recent.next > place
        return bool((await self.store.read(self.run, place)).entries)

    async def wait(self, place: int, timeout_s: float) -> None:
        """Wait until there is an entry at a place, but not longer than the time limit."""
        recent = self._local()
        await (
            self.store.wait(self.run, place, timeout_s) if recent is None else recent.wait(place, timeout_s)
        )

    async def watch(self) -> None:
        """Note that someone reads the log."""
        await self.store.watch(self.run)

    async def end(self, place: int, data: bytes) -> bool:
        """Append the last entry for a worker that is gone; return whether that succeeded."""
        entry = LogEntry(self.run, place, self.seal.close(self.run, place, data), True, self.retention_s)
        return all(await self.store.append([entry]))

    def _local(self) -> Recent | None:
        return None if self.recent is None or self.recent.ended else self.recent


# -- what a client reads

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


def damaged() -> TransportError:
    """Return the error for entries that are not what a worker has stored."""
    return TransportError(
        "What the store keeps of a run is damaged.",
        code="store_unavailable",
        hint="Check the disk of the database, and that nothing else writes to it; erase the thread.",
    )


def events_in(frames: bytes) -> Iterator[JSONObject]:
    """Yield the events of Server-Sent Events that this package wrote."""
    for frame in frames.split(_FRAME_END):
        if frame.startswith(b"data: "):
            yield _event(frame[6:])


def _event(text: bytes) -> Any:
    try:
        event = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        event = load(text.decode("utf-8", "replace"))  # it takes lone surrogates
    if isinstance(event, dict) and isinstance(event.get("type"), str):
        return event
    raise damaged()


def note_frames(opened: Opened, frames: bytes) -> None:
    """Note the events of a chunk. Most chunks are one frame that opens and closes nothing."""
    if frames.startswith(_CONTENT) and frames.find(_FRAME_END) == len(frames) - 2:
        return
    for event in events_in(frames):
        opened.note(event)


class View:
    """A client's thread after some of the events of its newest run.

    Attributes:
        conversation: The conversation.
        opened: What the events opened.
    """

    def __init__(self, head: JSONObject) -> None:
        self.conversation = Conversation(
            head["threadId"],
            messages=head["messages"],
            state=head.get("state"),
            on_warning=lambda warning: None,  # the client that receives the events gets it, too
        )
        self._first: JSONObject | None = None
        self._has_state = bool(head.get("state"))
        self.opened = Opened()

    @property
    def begun(self) -> bool:
        """Whether the run has started."""
        return self._first is not None

    def receive(self, frames: bytes) -> None:
        """Take the next frames of the run."""
        for event in _merged(events_in(frames)):
            try:
                self.conversation.receive(event)
            except RemoteProtocolError:
                raise damaged() from None
            self._first = self._first or event
            self._has_state = self._has_state or event["type"] in _STATE
            self.opened.note(event)

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
            yield {"type": "STATE_SNAPSHOT", "snapshot": self.conversation.state}
        messages = self.conversation.messages
        dumped = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in messages]
        yield {"type": "MESSAGES_SNAPSHOT", "messages": dumped}
        yield from self.opened.starts.values()
        yield self.opened.terminal


def _merged(events: Iterable[JSONObject]) -> Iterator[JSONObject]:
    """Merge deltas of one message or call that follow each other."""
    grown: JSONObject | None = None
    deltas: list[str] = []
    for event in events:
        member: Any = _GROWS.get(event["type"])
        bare = member is not None and event.keys() <= _BARE and {member, "delta"} <= event.keys()
        bare = bare and isinstance(event["delta"], str)
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
        return f"LogStream({self._log.seal.thread_id!r})"

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
            _logger.error("A stream of a durable run was ended: %s", error)
            sent = self._opened if self._view is None else Opened()
            if sent.terminal is None:
                yield frames_of(sent.failure(UNSTORED, error.code, new_uuid))

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
        if not data and not alive:
            data = await self._end()
        elif not data:
            await self._log.wait(self._place, min(_WAIT_S, self._log.watch_s))
        self._place += len(data)
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
            _logger.error("A durable run was ended for its readers, because its worker is gone (%s).", code)
        data, _ = await self._log.read(self._place)
        return data or [last]  # the thread was erased
