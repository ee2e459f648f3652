"""Stores that hang, answer late or go away, and clocks that jump: one end for everyone, and a next run."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from agui_reasoning.durable import Runs, SQLiteRuns
from agui_reasoning.errors import TransportError
from agui_reasoning.wire import read_events
from tests.support.redis import redis_server
from tests.support.verifier import Client
from tests.unit.durable.agents import THOUGHT, Thinker, new_run, quick
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
