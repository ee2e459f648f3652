"""Runs that outlive their connection."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Final, Literal, TypeAlias, get_args
from uuid import uuid4

import anyio
import anyio.to_thread
from msgspec import Struct
from pydantic_core import PydanticSerializationError

from agui_reasoning._driver import OnError, fetch_keys, spawn
from agui_reasoning._limits import check_choice, check_seconds
from agui_reasoning._strict_json import JSONObject, dump, load, well_formed
from agui_reasoning.aio import Agent, EventStream, agent_events
from agui_reasoning.consumer import Conversation
from agui_reasoning.crypto import KeyRing, token_key_id
from agui_reasoning.durable._log import Log, LogStream, Recent, Seal, View, addresses, damaged, older
from agui_reasoning.durable.store import Begin, Found, Listed, LogEntry, RunStore
from agui_reasoning.errors import ConfigurationError, RemoteProtocolError, TransportError
from agui_reasoning.protocol import PROTOCOL_VERSION
from agui_reasoning.run import Run

OnConcurrent: TypeAlias = Literal["refuse", "join", "supersede"]
"""What happens if a thread that has a running run gets a second one."""

_BATCH_S: Final = 0.005
"""How long events are gathered before they are stored, in seconds."""

_POLL_S: Final = 0.25
"""How often a worker looks whether its runs shall stop, in seconds."""

_STOP_POLL_S: Final = 0.02
"""How often it is checked whether another worker has stopped a run, in seconds."""

_WATCH_S: Final = 5.0
"""How often a reader says that it reads, in seconds, at the most."""

_NOWHERE: Final = 2**31
"""A place that no log reaches."""

_MOST_UNSTORED: Final = 1024 * 1024
"""The bytes that an agent may be ahead of the store."""

_RENEWALS: Final = 3
"""How often a lease is renewed while it is valid."""

_HEAD: Final = {"thread_id", "run_id", "messages", "state"}
_ASKS: Final = frozenset({"user", "tool"})

_logger = logging.getLogger("agui_reasoning")


class ThreadInfo(Struct, frozen=True):
    """A stored thread.

    Attributes:
        thread_id: Its ID.
        run_id: The ID of its newest run.
        running: Whether that run is running.
        updated_s: The Unix time of its newest event, in seconds.
    """

    thread_id: str
    run_id: str
    running: bool
    updated_s: float


class Runs:
    """Runs agents in tasks that no connection owns, and keeps a log of their events.

    Use it in one event loop. Several processes share the runs through their store.
    """

    def __init__(
        self,
        store: RunStore,
        *,
        keys: KeyRing | None = None,
        on_concurrent: OnConcurrent = "refuse",
        retention_s: float = 86_400,
        unwatched_limit_s: float = 600,
        lease_s: float = 15,
        drain_s: float = 10,
    ) -> None:
        """Create the runs of a process.

        Args:
            store: Keeps the logs, for example `SQLiteRuns`.
            keys: Encrypts what the store keeps. Required if the runs have keys.
            on_concurrent: What a second run on a running thread does: it is refused with ``thread_running``,
                it joins the running one if it brings no new message, or it stops the running one.
            retention_s: Seconds for which a thread is kept after its newest event.
            unwatched_limit_s: Seconds after which a run that nobody watches is stopped.
            lease_s: Seconds after which the runs of a worker that is gone are ended.
            drain_s: Seconds that `aclose` waits for runs to end by themselves.

        Raises:
            ConfigurationError: A number is not positive (``bad_limit``), or the choice is unknown
                (``wrong_option``).
        """
        check_seconds(retention_s=retention_s, unwatched_limit_s=unwatched_limit_s, lease_s=lease_s)
        check_choice("on_concurrent", on_concurrent, get_args(OnConcurrent))
        self._store = store
        self._keys = keys
        self._on_concurrent = on_concurrent
        self._retention_s = retention_s
        self._unwatched_limit_s = unwatched_limit_s
        self._lease_s = lease_s
        self._drain_s = drain_s
        self._workers: dict[str, _Worker] = {}
        self._tasks: set[Callable[[], Awaitable[None]]] = set()
        """The tasks that work for all runs, while there are any."""
        self._filled = anyio.Event()
        self._closing = False

    def __repr__(self) -> str:
        return f"Runs({self._store!r}, running={len(self._workers)})"

    # -- what applications call

    async def start(self, run: Run, agent: Agent, on_error: OnError | None = None) -> LogStream:
        """Start an agent in a task of its own. If the caller is cancelled, the run may begin all the same.

        Args:
            run: The run, created from the client's input, and not started.
            agent: See `agui_reasoning.aio.run_agent`.
            on_error: See `agui_reasoning.aio.run_agent`.

        Returns:
            The stream of its events. Closing it leaves the run going.

        Raises:
            ConfigurationError: The run has keys, but these runs have none (``runs_without_keys``).
            RemoteProtocolError: The thread is running (``thread_running``): respond with status 409.
            TransportError: The store cannot be used (``store_unavailable``), or these runs are closed
                (``shutdown``).
        """
        return await self._start(run, agent_events(run, agent, on_error))

    async def _start(self, run: Run, events: EventStream) -> LogStream:
        if run.keys is not None and self._keys is None:
            raise ConfigurationError(
                "The run has keys, but the runs that it is started in have none.",
                code="runs_without_keys",
                hint="Pass the key ring to Runs as well, or its log would hold the reasoning in clear.",
            )
        self._check_open()
        place = await self._place(run.tenant, run.input.thread_id)
        # In a worker thread, because a long history would block other runs.
        begin, head = await anyio.to_thread.run_sync(self._begin, run, place)
        while isinstance(begun := await self._begun(begin, place.seal, events), str):
            if self._on_concurrent != "supersede":
                return await self._instead(place, begun, head, run.input.protocol_version)
            await self._stop(begun)
        return begun

    async def _begun(self, begin: Begin, seal: Seal, events: EventStream) -> LogStream | str:
        """Begin a run, and its work; or return the name of the run that is running instead.

        In a task of its own: a caller that is cancelled in between would leave the run without a worker.
        """
        outcome: list[LogStream | str | Exception] = []
        done = anyio.Event()

        async def both() -> None:
            try:
                running = await self._store.begin(begin)
                outcome.append(self._work(begin.run, seal, events) if running is None else running)
            except Exception as error:
                outcome.append(error)
            done.set()

        spawn(both)
        await done.wait()
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    def _begin(self, run: Run, place: _Place) -> tuple[Begin, JSONObject]:
        """Return the beginning of a run, and what a client of the thread holds before it."""
        dumped = partial(run.input.model_dump, include=_HEAD, by_alias=True, exclude_none=True)
        try:
            head = dumped(mode="json")
        except PydanticSerializationError:  # a lone surrogate in a name
            head = well_formed(dumped())
        label, name = {key: head[key] for key in ("threadId", "runId")}, uuid4().hex
        begin = Begin(
            run=name,
            threads=place.seal.threads(),
            owner=place.owners[0],
            head=place.seal.close(name, "head", dump(head).encode()),
            label=place.labels.close(name, "label", dump(label).encode()),
            lease_s=self._lease_s,
            retention_s=self._retention_s,
        )
        return begin, head

    async def join(
        self, thread_id: str, tenant: str = "", *, protocol_version: str | None = PROTOCOL_VERSION
    ) -> LogStream:
        """Join a thread: what it holds, then what its running run adds.

        Args:
            thread_id: The thread.
            tenant: Its tenant. Take it from your authentication, never from the request.
            protocol_version: The ``protocolVersion`` that the request declares; ``None`` for clients that
                declare none, which get what they support, whichever client started the run.

        Returns:
            A stream that is right for every client of the thread, whether it holds nothing of the newest run,
            some, or all. It begins with RUN_STARTED of that run and a snapshot, and ends with its end.

        Raises:
            RemoteProtocolError: The tenant has no such thread (``unknown_thread``): respond with status 404.
            TransportError: The store cannot be used (``store_unavailable``).
        """
        place, found = await self._found(thread_id, tenant)
        return await self._joined(place, found, protocol_version)

    async def stop(self, thread_id: str, tenant: str = "", *, run_id: str | None = None) -> bool:
        """Stop the running run of a thread, in whichever process it is, and wait until it has ended.

        What is open is closed, then the run is cancelled, as with `Run.cancel`.

        Args:
            thread_id: The thread.
            tenant: Its tenant, as for `join`.
            run_id: Only the run with this ID, as the client named it; any by default.

        Returns:
            Whether a run was running.

        Raises:
            TransportError: The store cannot be used (``store_unavailable``).
        """
        try:
            place, found = await self._found(thread_id, tenant)
        except RemoteProtocolError:
            return False
        if not found.running or (run_id and (await place.head(found))["runId"] != run_id):
            return False
        await self._stop(found.run)
        return True

    async def conversation(self, thread_id: str, tenant: str = "") -> Conversation:
        """Return what a client of the thread holds now.

        Raises:
            RemoteProtocolError: The tenant has no such thread (``unknown_thread``).
            TransportError: The store cannot be used (``store_unavailable``).
        """
        place, found = await self._found(thread_id, tenant)
        view, log, at = await place.view(found), self._log(place.seal, found.run), 0
        while entries := (await log.read(at))[0]:
            at += len(entries)
            await anyio.to_thread.run_sync(view.receive, b"".join(entries))
        return view.conversation

    async def threads(self, tenant: str = "") -> list[ThreadInfo]:
        """Return the stored threads of a tenant, the newest first.

        Raises:
            TransportError: The store cannot be used (``store_unavailable``).
        """
        place = await self._place(tenant, "")
        found = await self._store.list(place.owners)
        # In a worker thread, because a long list would block other runs.
        return await anyio.to_thread.run_sync(lambda: [_info(place, one) for one in found])

    async def erase(self, thread_id: str, tenant: str = "") -> None:
        """Stop a thread's run, and delete everything that is stored of the thread.

        Raises:
            TransportError: The store cannot be used (``store_unavailable``).
        """
        await self.stop(thread_id, tenant)
        place = await self._place(tenant, thread_id)
        await self._store.erase(place.seal.threads())

    async def aclose(self) -> None:
        """Start no more runs, wait for those of this process, and end those that take too long."""
        self._closing = True
        with anyio.move_on_after(self._drain_s):
            await self._all_ended()
        for worker in list(self._workers.values()):
            worker.end("shutdown")
        with anyio.move_on_after(self._lease_s):
            await self._all_ended()
        await self._store.aclose()

    # -- threads

    async def _check_store(self) -> None:
        """Raise what `join` would raise if the store cannot be used, or these runs are closed."""
        self._check_open()
        await self._store.find(["-"])  # no run has this address

    def _check_open(self) -> None:
        if self._closing:
            raise TransportError(
                "The server stops, and starts no more runs.",
                code="shutdown",
                hint="Nothing has to be done; the user can ask again.",
            )

    async def _place(self, tenant: str, thread_id: str) -> _Place:
        keys = None if self._keys is None else await fetch_keys(self._keys)
        return _Place(keys, tenant, thread_id)

    async def _found(self, thread_id: str, tenant: str) -> tuple[_Place, Found]:
        place = await self._place(tenant, thread_id)
        found = await self._store.find(place.seal.threads())
        if found is None:
            raise RemoteProtocolError(
                "There is no such thread.", code="unknown_thread", hint="Start a run to create it."
            )
        if place.keys is not None and (
            kid := token_key_id(found.head.decode("ascii", "replace").partition("\n")[0])
        ):
            await fetch_keys(place.keys, [kid])
        return place, found

    async def _joined(self, place: _Place, found: Found, protocol_version: str | None) -> LogStream:
        view = await place.view(found)
        return LogStream(self._log(place.seal, found.run), view, older(protocol_version))

    async def _instead(
        self, place: _Place, running: str, head: JSONObject, protocol_version: str | None
    ) -> LogStream:
        """Join the running run, if that is wanted and the new input has nothing that it does not know."""
        found = await self._store.find(place.seal.threads()) if self._on_concurrent == "join" else None
        if found is not None and found.run == running:
            known = {message["id"] for message in (await place.head(found))["messages"]}
            new = [one for one in head["messages"] if one["role"] in _ASKS and one["id"] not in known]
            if not new:
                return await self._joined(place, found, protocol_version)
        raise RemoteProtocolError(
            "A run of this thread is running.",
            code="thread_running",
            hint="Wait for its end, join it, or stop it.",
        )

    def _log(self, seal: Seal, name: str) -> Log:
        worker = self._workers.get(name)
        watch_s = min(_WATCH_S, self._unwatched_limit_s / 3)
        recent = None if worker is None else worker.recent
        return Log(self._store, seal, name, self._retention_s, watch_s, recent)

    async def _stop(self, name: str) -> None:
        """Stop a run, and wait until it has ended or its worker is gone."""
        await self._store.stop(name)
        if worker := self._workers.get(name):
            worker.end("stop")
            await worker.ended.wait()
            return
        while (await self._store.read(name, _NOWHERE)).alive:
            await anyio.sleep(_STOP_POLL_S)

    # -- work

    def _work(self, name: str, seal: Seal, events: EventStream) -> LogStream:
        worker = _Worker(name, seal, events, lambda: self._filled.set())
        self._workers[name] = worker
        spawn(worker.run)
        for task in (self._store_all, self._supervise):
            if task not in self._tasks:
                self._tasks.add(task)
                spawn(task)
        return LogStream(self._log(seal, name))

    async def _store_all(self) -> None:
        """Store what the agents produce, in batches, until no run is left."""
        while self._workers:
            await self._filled.wait()
            await anyio.sleep(_BATCH_S)
            self._filled = anyio.Event()
            await self._store_batch([one for one in self._workers.values() if one.unstored])
        self._tasks.discard(self._store_all)

    async def _store_batch(self, workers: list[_Worker]) -> None:
        broken = False
        try:
            kept = await self._store.append([worker.entry(self._retention_s) for worker in workers])
            answers = [*zip(workers, kept, strict=True)]
        except Exception as error:
            named = str(error) if isinstance(error, TransportError) else type(error).__name__
            _logger.error("Durable runs could not be stored, and were ended: %s", named)
            answers, broken = [(worker, False) for worker in workers], True
        for worker, is_kept in answers:
            worker.stored() if is_kept else worker.give_up(broken=broken)
            if worker.recent.ended:
                del self._workers[worker.name]

    async def _supervise(self) -> None:
        """Renew the leases, and end the runs that shall stop, until no run is left."""
        renewed = monotonic()
        while self._workers:
            await anyio.sleep(_POLL_S)
            names = list(self._workers)
            due = monotonic() - renewed >= self._lease_s / _RENEWALS
            with suppress(TransportError):  # the next batch says so
                standings = await (
                    self._store.renew(names, self._lease_s) if due else self._store.look(names)
                )
                renewed = monotonic() if due else renewed
                self._end_some(names, standings)
        self._tasks.discard(self._supervise)

    def _end_some(self, names: list[str], standings: Mapping[str, Any]) -> None:
        for name in names:
            worker, standing = self._workers.get(name), standings.get(name)
            if worker is None:
                continue
            if standing is None:
                worker.end("gone")
            elif standing.stop:
                worker.end("stop")
            elif worker.unwatched_s(standing.unwatched_s) > self._unwatched_limit_s:
                worker.end("unwatched")

    async def _all_ended(self) -> None:
        for worker in list(self._workers.values()):
            await worker.ended.wait()


class _Place:
    """Where a thread is kept, with the keys of this call."""

    def __init__(self, keys: KeyRing | None, tenant: str, thread_id: str) -> None:
        self.keys = keys
        self.seal = Seal(keys, tenant, thread_id)
        self.labels = Seal(keys, tenant, "")
        """Seals what is read before thread IDs are known."""
        self.owners = addresses(keys, "tenant", tenant)

    async def head(self, found: Found) -> Any:
        """Return what a thread held before a run, in a worker thread: a long one would block others."""
        return await anyio.to_thread.run_sync(_opened, self.seal, found.run, "head", found.head)

    async def view(self, found: Found) -> View:
        """Return what a client of the thread held before a run."""
        return await anyio.to_thread.run_sync(View, await self.head(found))


_Reason: TypeAlias = Literal["stop", "unwatched", "shutdown", "gone"]


class _Worker:
    """One run that this process works on."""

    def __init__(self, name: str, seal: Seal, events: EventStream, filled: Any) -> None:
        self.name = name
        self.unstored: list[bytes] = []
        self._unstored_bytes = 0
        self.recent = Recent()
        self.ended = anyio.Event()
        self._seal = seal
        self._events = events
        self._filled = filled
        self._scope = anyio.CancelScope()
        self._reason: _Reason | None = None
        self._is_last = False
        self._storing: bytes = b""
        self._drained = anyio.Event()
        self._unwatched, self._since = 0.0, monotonic()

    def unwatched_s(self, told: float) -> float:
        """Return the time without a reader; by the store's clock, which may jump, it may be longer."""
        if told < self._unwatched:
            self._since = monotonic()
        self._unwatched = told
        return min(told, monotonic() - self._since)

    async def run(self) -> None:
        """Run the agent to its end, or until the run is ended."""
        with self._scope:
            async for chunk in self._events.frames():
                await self._put(chunk)
        with anyio.CancelScope(shield=True):
            await self._events.aclose()
        self._is_last = True
        self.unstored.append(self._last())
        self._filled()

    def end(self, reason: _Reason) -> None:
        if self._reason is None and not self._is_last:
            self._reason = reason
            if reason == "shutdown":
                self._events._stop_with_server()
            if reason == "unwatched":
                _logger.warning("A durable run was stopped, because nobody has watched it for too long.")
            self._scope.cancel()

    def entry(self, retention_s: float) -> LogEntry:
        self._storing = b"".join(self.unstored)
        self.unstored.clear()
        self._unstored_bytes = 0
        self._drained.set()
        place = self.recent.next
        data = self._seal.close(self.name, place, self._storing)
        return LogEntry(self.name, place, data, self._is_last, retention_s)

    def stored(self) -> None:
        """Note that the entry is in the log."""
        self.recent.add(self._storing)
        if self._is_last and not self.unstored:
            self.recent.end()
            self.ended.set()

    def give_up(self, *, broken: bool) -> None:
        """Stop, because the log takes nothing more: its store is broken, or someone else has ended it."""
        self.end("gone")
        self.recent.end(broken=broken)
        self.ended.set()

    async def _put(self, chunk: bytes) -> None:
        self.unstored.append(chunk)
        self._unstored_bytes += len(chunk)
        self._filled()
        if self._unstored_bytes > _MOST_UNSTORED:
            self._drained = anyio.Event()
            await self._drained.wait()

    def _last(self) -> bytes:
        if self._reason == "shutdown":
            return self._events._shut_down()
        return b"" if self._reason is None else self._events._cancelled()


def _info(place: _Place, found: Listed) -> ThreadInfo:
    label = _opened(place.labels, found.run, "label", found.label)
    return ThreadInfo(label["threadId"], label["runId"], found.running, found.updated_s)


def _opened(seal: Seal, run: str, kind: str, data: bytes) -> Any:
    members = load(seal.open(run, kind, data).decode("utf-8", "replace"))
    if not _is_object(members, "threadId", "runId"):
        raise damaged()
    messages = members.get("messages") if kind == "head" else []
    if not isinstance(messages, list) or not all(_is_object(one, "id", "role") for one in messages):
        raise damaged()
    return members


def _is_object(value: Any, *names: str) -> bool:
    """Return whether a value is an object that has these members, and they are strings."""
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in names)
