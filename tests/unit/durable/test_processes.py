"""A worker that is killed leaves one end for every reader, and a thread that goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from agui_reasoning import Conversation
from agui_reasoning.crypto import KeyRing
from agui_reasoning.durable import Runs, RunStore
from agui_reasoning.wire import read_events
from tests.support.redis import redis_server
from tests.unit.durable.agents import QUESTION, THOUGHT, new_run, quick, run_input
from tests.unit.durable.process import LEASE_S
from tests.unit.durable.stores import open_store

ROOT = Path(__file__).parents[3]


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def started(processes: ExitStack, role: str, address: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.unit.durable.process", role, address]
    process = processes.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE))
    processes.callback(process.kill)
    return process


@pytest.mark.slow
def test_readers_of_a_killed_worker_get_one_end_and_the_next_turn_works(
    address: str, processes: ExitStack
) -> None:
    worker = started(processes, "work", address)
    assert worker.stdout is not None
    assert worker.stdout.readline() == b"thinking\n"
    readers = [started(processes, "read", address) for _ in range(2)]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline().startswith(b'data: {"type":"RUN_STARTED"')
    worker.kill()
    first, second = (reader.stdout.read() if reader.stdout else b"" for reader in readers)
    assert first == second
    events = read_events(b'data: {"type":"RUN_STARTED","threadId":"thread-1","runId":"run-1"}\n' + first)
    assert [event["type"] for event in events][-3:] == ["REASONING_MESSAGE_END", "REASONING_END", "RUN_ERROR"]
    assert events[-1]["code"] == "worker_lost"
    assert sum(event["type"] in {"RUN_ERROR", "RUN_FINISHED"} for event in events) == 1
    anyio.run(next_turn, address)


async def next_turn(address: str) -> None:
    """What was not whole is left out of the next request, with a report."""
    runs = Runs(open_store(address), lease_s=LEASE_S)
    assert [info.running for info in await runs.threads()] == [False]
    conversation = await runs.conversation("thread-1")
    assert [message.content for message in conversation.messages] == ["Umbrella in Bergen?", THOUGHT]
    turn = conversation.run_input("Well?").model_dump(mode="json", by_alias=True, exclude_none=True)
    run = new_run(turn)
    request = run.request()
    assert THOUGHT not in str(request.body)
    assert [entry.outcome for entry in request.report] == ["dropped"]
    frames = b"".join([chunk async for chunk in (await runs.start(new_run(turn), quick)).frames()])
    assert read_events(frames)[-1]["type"] == "RUN_FINISHED"
    await runs.aclose()


def test_a_thread_whose_worker_was_killed_unseen_takes_the_next_run(
    address: str, processes: ExitStack
) -> None:
    worker = started(processes, "work", address)
    assert worker.stdout is not None
    worker.stdout.readline()
    worker.kill()

    async def start_again() -> None:
        runs = Runs(open_store(address), lease_s=LEASE_S)
        with anyio.fail_after(10):  # it waits for a worker that is gone no longer than for its lease
            assert await runs.stop("thread-1")
        stream = await runs.start(new_run(run_input(run="run-2")), quick)
        assert read_events(b"".join([chunk async for chunk in stream.frames()]))[-1]["runId"] == "run-2"
        await runs.aclose()

    anyio.run(start_again)


# -- zero data retention

SECRETS = ["thread-canary", "run-canary", "tenant-canary", "in Bergen", "over Bergen", "Take one"]

IN_CLEAR = [secret for secret in SECRETS if secret != "tenant-canary"]  # tenants are hashed


async def talk(store: RunStore, keys: KeyRing | None) -> None:
    runs = Runs(store, keys=keys)
    given = run_input("thread-canary", run="run-canary", messages=[QUESTION])
    stream = await runs.start(new_run(given, tenant="tenant-canary", keys=keys), quick)
    seen = b"".join([chunk async for chunk in stream.frames()])
    assert b"Clouds over Bergen" in seen
    joined = await runs.conversation("thread-canary", "tenant-canary")
    assert isinstance(joined, Conversation)
    assert len(joined.messages) == 3
    await runs.aclose()


@pytest.mark.parametrize("keys", [KeyRing.generate("k1"), None])
def test_a_database_shows_nothing_with_keys_and_all_without(tmp_path: Path, keys: KeyRing | None) -> None:
    anyio.run(talk, open_store(f"sqlite:{tmp_path / 'runs.db'}"), keys)
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [secret for secret in SECRETS if secret.encode() in raw] == ([] if keys else IN_CLEAR)


@pytest.mark.parametrize("keys", [KeyRing.generate("k1"), None])
def test_a_redis_shows_nothing_with_keys_and_all_without(keys: KeyRing | None) -> None:
    import redis

    with redis_server() as (url, _):
        anyio.run(talk, open_store(f"{url}#canary"), keys)
        with redis.Redis.from_url(url) as client:
            raw = b" ".join(client.dump(key) + key for key in client.keys("*"))
    assert [secret for secret in SECRETS if secret.encode() in raw] == ([] if keys else IN_CLEAR)
