"""Stores that hang, answer late or go away, and clocks that jump: one end for everyone, and a next run."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.errors import RemoteProtocolError, TransportError
from agui_reasoning.wire import read_events
from tests.support.redis import redis_server
from tests.support.verifier import Client
from tests.unit.durable.agents import THOUGHT, Thinker, new_run, quick, run_input
from tests.unit.durable.test_runs import client_of, read, stored_thought

pytestmark = pytest.mark.anyio


async def next_run(runs: Runs) -> None:
    """The thread takes the next run, and keeps it."""
    frames = await read(await runs.start(new_run(), quick))
    assert read_events(frames)[-1]["type"] == "RUN_FINISHED"
    assert len((await runs.conversation("thread-1")).messages) == 3


def ended(frames: bytes) -> dict[str, Any]:
    """The end of a stream, which is valid."""
    events = read_events(frames)
    Client().feed(events).done()
    return events[-1]


# -- Redis


@pytest.fixture
def own_redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """A Redis that may be stopped, and a store in it that soon notices."""
    from agui_reasoning.durable import RedisRuns

    monkeypatch.setattr("agui_reasoning.durable._redis.SILENCE_S", 0.4)
    with redis_server() as (url, server):
        yield RedisRuns(f"{url}?retry_on_timeout=false"), server
        server.send_signal(signal.SIGCONT)


async def test_a_redis_that_hangs_ends_the_run_with_one_error(own_redis: tuple[Any, Any]) -> None:
    store, server = own_redis
    runs, agent = Runs(store, lease_s=0.5), Thinker()
    frames = (await runs.start(new_run(), agent)).frames()
    shown = await anext(frames)
    await stored_thought(runs, agent)
    server.send_signal(signal.SIGSTOP)
    agent.answer.set()
    with anyio.fail_after(60):
        async for chunk in frames:
            shown += chunk
        with pytest.raises(TransportError) as caught:
            await runs.join("thread-1")
    assert (ended(shown)["code"], caught.value.code) == ("store_unavailable", "store_unavailable")
    assert client_of(shown).messages[1].content == THOUGHT
    server.send_signal(signal.SIGCONT)
    with anyio.fail_after(30):
        await runs.stop("thread-1")  # waits for the lease: the end of the run is not in the log
    await next_run(runs)
    await runs.aclose()


async def test_a_redis_that_answers_late_loses_nothing(own_redis: tuple[Any, Any]) -> None:
    store, server = own_redis
    runs, agent = Runs(store, lease_s=60), Thinker()
    frames = (await runs.start(new_run(), agent)).frames()
    shown = await anext(frames)
    await stored_thought(runs, agent)
    for _ in range(3):
        server.send_signal(signal.SIGSTOP)
        await anyio.sleep(0.1)
        server.send_signal(signal.SIGCONT)
    agent.answer.set()
    async for chunk in frames:
        shown += chunk
    assert ended(shown)["type"] == "RUN_FINISHED"
    assert client_of(shown).messages[1].content == THOUGHT + agent.ending
    await next_run(runs)
    await runs.aclose()


# -- callers that are cancelled while a store answers


@asynccontextmanager
async def redis_that_waits(server: Any) -> AsyncIterator[None]:
    server.send_signal(signal.SIGSTOP)
    yield
    server.send_signal(signal.SIGCONT)


@asynccontextmanager
async def database_that_waits(path: Path) -> AsyncIterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


async def leave(work: Any, how: str) -> None:
    """Cancel work a moment after it has begun, as anyio or as asyncio does it."""
    if how == "a scope":
        with anyio.move_on_after(0.1) as scope:
            await work
        assert scope.cancelled_caught
    else:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(work, 0.1)


@pytest.mark.parametrize("how", ["a scope", "a task"])
@pytest.mark.parametrize("where", ["redis", "sqlite"])
async def test_a_start_that_is_cancelled_while_the_store_answers_locks_no_thread(
    where: str, how: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The run goes on without its caller, as one whose reader has left: else nobody would hold its lease."""
    path = tmp_path / "runs.db"
    store, server = request.getfixturevalue("own_redis") if where == "redis" else (SQLiteRuns(path), None)
    runs = Runs(store, lease_s=60)
    await next_run(runs)  # connects
    async with redis_that_waits(server) if where == "redis" else database_that_waits(path):
        await leave(runs.start(new_run(run_input(run="run-2")), quick), how)
    with anyio.fail_after(30):  # less than a lease
        while (await runs.threads())[0].run_id != "run-2":
            await anyio.sleep(0.01)
        frames = await read(await runs.join("thread-1"))
        await next_run(runs)
    assert read_events(frames)[-1]["type"] == "RUN_FINISHED"
    await runs.aclose()


async def test_a_task_that_is_cancelled_while_it_writes_disturbs_no_other(tmp_path: Path) -> None:
    """Its thread goes on writing, because nothing can stop it; the next one waits for it."""
    path = tmp_path / "runs.db"
    runs, agent = Runs(store := SQLiteRuns(path), lease_s=60), Thinker()
    frames = (await runs.start(new_run(), agent)).frames()
    shown = await anext(frames)
    await stored_thought(runs, agent)
    async with database_that_waits(path):
        for _ in range(5):
            await leave(store.watch("run"), "a task")
        agent.answer.set()
        await anyio.sleep(0.2)
    async for chunk in frames:
        shown += chunk
    assert ended(shown)["type"] == "RUN_FINISHED"
    await runs.aclose()


# -- the clock


class Clock:
    """The wall clock of the database's module, which can be set."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def time(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("agui_reasoning.durable._sqlite.time", made)
    return made


HOUR = 3_600


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["ahead", "back"])
async def test_a_run_that_is_watched_goes_on_when_the_clock_jumps(
    jump: float, clock: Clock, tmp_path: Path
) -> None:
    """It is an hour since someone has watched, by the clock; and none of the leases is valid, or all are."""
    runs, agent = Runs(SQLiteRuns(tmp_path / "runs.db"), lease_s=2, unwatched_limit_s=600), Thinker()
    frames = (await runs.start(new_run(), agent)).frames()
    shown = await anext(frames)
    await stored_thought(runs, agent)
    clock.ahead = jump
    await anyio.sleep(1.5)  # the run is looked after twice
    assert not agent.closed.is_set()
    agent.answer.set()
    async for chunk in frames:
        shown += chunk
    assert ended(shown)["type"] == "RUN_FINISHED"
    assert client_of(shown).messages[1].content == THOUGHT + agent.ending
    await next_run(runs)
    await runs.aclose()


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["ahead", "back"])
async def test_threads_are_kept_when_the_clock_jumps_by_less_than_their_time(
    jump: float, clock: Clock, tmp_path: Path
) -> None:
    runs = Runs(SQLiteRuns(tmp_path / "runs.db"), retention_s=2 * HOUR)
    await read(await runs.start(new_run(), quick))
    clock.ahead = jump
    assert len((await runs.conversation("thread-1")).messages) == 3
    await next_run(runs)
    await runs.aclose()


@pytest.mark.parametrize("asked", ["again", "to stop", "to erase"])
async def test_a_worker_lost_while_the_clock_was_ahead_locks_its_thread_for_a_minute(
    asked: str, clock: Clock, tmp_path: Path
) -> None:
    """Its lease is a day ahead: say, of a machine whose clock was set when it was started again."""
    clock.ahead = 24 * HOUR
    store = SQLiteRuns(tmp_path / "runs.db")
    runs = Runs(store)
    begin, _ = runs._begin(new_run(), await runs._place("", "thread-1"))
    await store.begin(begin)
    clock.ahead = 0
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            if asked == "again":
                with pytest.raises(RemoteProtocolError, match="is running"):
                    await runs.start(new_run(), quick)
            else:
                group.start_soon(runs.stop if asked == "to stop" else runs.erase, "thread-1")
                await anyio.sleep(0.2)
            assert (await store.read(begin.run, 0)).alive
            clock.ahead = 61
        await next_run(runs)
    await runs.aclose()
