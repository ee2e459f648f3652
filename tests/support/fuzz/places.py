"""Where streams are kept and come from: logs, routes, files of threads, and source code."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from agui_reasoning import Run, bulk
from agui_reasoning.copilotkit import routes
from agui_reasoning.deltas import FinishDelta, ReasoningDelta, TextDelta
from agui_reasoning.durable import Runs
from agui_reasoning.durable.store import Begin, Found, Listed, LogEntry, Standing, Tail
from tests.internals.migrate.sources import migrated
from tests.support.fuzz.inputs import KEYS, REST, threads
from tests.support.fuzz.mutator import Json, Mutator
from tests.support.fuzz.target import Case, DifferenceError, Target

__all__ = ["TARGETS"]

INPUT: Json = {"threadId": "t", "runId": "r", **REST}

# -- the log of a durable run


class Kept:
    """A store of one thread's newest run, with entries that someone has damaged."""

    def __init__(self, entries: Sequence[bytes] = (), head: bytes = b"", label: bytes = b"") -> None:
        self.entries = list(entries)
        self.head, self.label = head, label
        self.run, self.running, self.is_there = "run", False, bool(head)

    async def begin(self, begin: Begin) -> str | None:
        if self.running:
            return self.run
        self.run, self.head, self.label, self.running, self.entries = (
            begin.run,
            begin.head,
            begin.label,
            True,
            [],
        )
        self.is_there = True
        return None

    async def append(self, entries: Sequence[LogEntry]) -> Sequence[bool]:
        for entry in entries:
            self.entries.append(entry.data)
            self.running = not entry.last
        return [True] * len(entries)

    async def read(self, run: str, place: int) -> Tail:
        return Tail(self.entries[place:], ended=not self.running, alive=self.running)

    async def wait(self, run: str, place: int, timeout_s: float) -> None:
        await asyncio.sleep(0)

    async def find(self, threads: Sequence[str]) -> Found | None:
        return Found(self.run, self.head, self.running) if self.is_there else None

    async def list(self, owners: Sequence[str]) -> Sequence[Listed]:
        return [Listed(self.run, self.label, self.running, 0.0)] if self.is_there else []

    async def renew(self, runs: Sequence[str], lease_s: float) -> dict[str, Standing]:
        return await self.look(runs)

    async def look(self, runs: Sequence[str]) -> dict[str, Standing]:
        return {run: Standing(stop=False, unwatched_s=0.0) for run in runs}

    async def watch(self, run: str) -> None:
        """Nothing is noted."""

    async def stop(self, run: str) -> None:
        self.running = False

    async def erase(self, threads: Sequence[str]) -> None:
        self.is_there = False

    async def aclose(self) -> None:
        """Nothing is open."""


async def _agent(run: Run) -> AsyncIterator[Any]:
    yield ReasoningDelta("Clouds.", key="0")
    yield TextDelta("Yes.", key="1")
    yield FinishDelta("stop")


def _in_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    _loop().run_until_complete(_cleared(work))


async def _cleared(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Work, and end the tasks that wait for their next turn."""
    await work()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


@cache
def _logs() -> Sequence[tuple[bool, list[bytes]]]:
    """What a store keeps of a run, with keys and without: head, label and entries."""
    kept: list[tuple[bool, list[bytes]]] = []

    async def work(*, sealed: bool) -> None:
        store = Kept()
        keys = KEYS if sealed else None
        runs = Runs(store, keys=keys)
        messages = [message for message in threads()[0].messages if message["role"] != "reasoning"]
        run = Run(INPUT | {"messages": messages}, keys=keys, on_warning=lambda sentence: None)
        async for _ in (await runs.start(run, _agent)).frames():
            pass
        await runs.aclose()
        pieces = b"".join(store.entries).split(b"\n\n") if keys is None else []
        entries = [piece + b"\n\n" for piece in pieces if piece] or store.entries
        kept.append((sealed, [store.head, store.label, *entries]))

    for sealed in (False, True):
        _in_loop(partial(work, sealed=sealed))
    return kept


def _draw_log(chance: random.Random, mutator: Mutator) -> Case:
    """Damage, cut, exchange, leave out or repeat what is kept, or bring entries of another place."""
    sealed, (head, label, *entries) = chance.choice(_logs())
    given = [head, label, *entries]
    for _ in range(chance.choice((1, 1, 2, 4))):
        at, other = chance.randrange(len(given)), chance.randrange(len(given))
        change = chance.randrange(6)
        if change < 2:
            given[at] = mutator.bytes(given[at])
        elif change == 2:
            given[at] = _event_changed(mutator, given[at])
        elif change == 3:
            given[at], given[other] = given[other], given[at]
        elif change == 4 and at > 1:
            del given[at]
        else:
            given.insert(max(at, 2), given[other])
    return Case([one.decode("latin-1") for one in given], chance.randrange(3), sealed)


def _event_changed(mutator: Mutator, entry: bytes) -> bytes:
    prefix, _, text = entry.partition(b"{")
    try:
        mutator.is_json = True
        changed = json.dumps(mutator.once(json.loads(b"{" + text)))
    except (ValueError, RecursionError):
        return entry
    return prefix + changed.encode() + b"\n\n"


def _log(case: Case) -> None:
    """Read what is kept: as a conversation, as a client that joins, as a list of threads."""
    head, label, *entries = (one.encode("latin-1") for one in case.given)

    async def work() -> None:
        runs = Runs(Kept(entries, head, label), keys=KEYS if case.of else None)
        if case.options == 0:
            await runs.conversation("t")
        elif case.options == 1:
            _ended([chunk async for chunk in (await runs.join("t")).frames()])
        else:
            await runs.threads()

    _in_loop(work)


def _ended(chunks: list[bytes]) -> None:
    last = chunks[-1] if chunks else b""
    if b'"RUN_ERROR"' not in last and b'"RUN_FINISHED"' not in last:
        raise DifferenceError("a client that joins a log gets no end")


# -- the routes of CopilotKit


PATHS = ("agent/default/run", "agent/default/connect", "agent/default/stop/t", "agent/other/run", "")


def _draw_body(chance: random.Random, mutator: Mutator) -> Case:
    mutator.is_json = True
    body: Json = {**INPUT, "messages": list(chance.choice(threads()).messages)[:3]}
    path = chance.randrange(len(PATHS))
    given: Any = body
    if path == len(PATHS) - 1:
        method = chance.choice(("info", "agent/run", "agent/connect", "agent/stop", "agent/other"))
        given = {"method": method, "params": {"agentId": "default", "threadId": "t"}, "body": body}
    text = json.dumps(mutator.some(given)).encode()
    return Case(mutator.bytes(text) if chance.random() < 0.2 else text, path)


def _route(case: Case) -> None:
    """Send a body to a route; whatever it is, there is an answer, and none says that the server failed."""
    path = f"/api/copilotkit/{PATHS[case.options % len(PATHS)]}".rstrip("/")

    async def work() -> None:
        runs = Runs(Kept(), drain_s=5)
        status = await _asked(routes({"default": _agent}, runs=runs, single_tenant=True), path, case.given)
        await runs.aclose()
        if not 200 <= status < 500:
            raise DifferenceError(f"the answer has the status {status}")

    _in_loop(work)


async def _asked(table: Sequence[Any], path: str, body: bytes) -> int:
    """Ask the route of a path, without a server; return the status of its answer."""
    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope: Json = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}
    scope |= {"scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1), "root_path": ""}
    statuses: list[int] = []
    received = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Json:
        if received:
            return received.pop()
        await asyncio.sleep(3600)
        raise AssertionError

    async def send(message: Json) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    for route in table:
        match, found = route.matches(scope)
        if match.value == 2:
            await route.handle(scope | found, receive, send)
            return statuses[0]
    return 404


# -- files of threads


STEPS = (bulk.upgrade, bulk.rekey, bulk.reduce, bulk.check, bulk.erase, bulk.audit)


def _draw_part(chance: random.Random, mutator: Mutator) -> Case:
    mutator.is_json = True
    thread = chance.choice(threads())
    given: Json = {"threadId": "t", "messages": list(thread.messages), "events": list(thread.events[:12])}
    lines = [mutator.some({**given, "tenant": "a"}) for _ in range(2)]
    text = "\n".join(map(json.dumps, lines)).encode()
    return Case(mutator.bytes(text) if chance.random() < 0.4 else text, chance.randrange(len(STEPS)))


def _part(case: Case) -> None:
    """Work on a file: each thread of it is counted, and written, whatever it is."""
    folder = _folder()
    source, target = folder / "in.jsonl", folder / "out.jsonl"
    source.write_bytes(case.given)
    target.with_name("out.jsonl.report.json").unlink(missing_ok=True)
    step = STEPS[case.options % len(STEPS)]
    summary = bulk.run([bulk.Part(str(source), str(target))], step)
    written = target.read_bytes().count(b"\n")
    if written != summary.threads:
        raise DifferenceError(f"{summary.threads} threads, {written} lines")


@cache
def _kept_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def _folder() -> Path:
    return Path(_kept_folder().name)


# -- source code


@cache
def _sources() -> Sequence[bytes]:
    golden = Path(__file__).resolve().parents[2] / "internals" / "migrate" / "golden"
    return [file.read_bytes() for file in sorted(golden.glob("*.before.txt"))]


def _draw_source(chance: random.Random, mutator: Mutator) -> Case:
    source = chance.choice(_sources())
    lines = source.splitlines(keepends=True)
    if len(lines) > 30:
        at = chance.randrange(len(lines) - 20)
        source = b"".join([*lines[:8], *lines[at : at + 20]])
    return Case(mutator.bytes(source))


def _migrated(case: Case) -> None:
    """Rewrite a file: what cannot be done is a finding."""
    migrated({"a.py": case.given})


TARGETS: tuple[Target, ...] = (
    Target("durable-log", _draw_log, _log, pace=4),
    Target("copilotkit", _draw_body, _route, pace=10, is_binary=True),
    Target("bulk", _draw_part, _part, pace=10, is_binary=True),
    Target("migrate", _draw_source, _migrated, pace=200, is_binary=True),
)
