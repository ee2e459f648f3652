"""What clients, tenants and a database that somebody has changed can do to stored runs."""

from __future__ import annotations

import gc
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from ag_ui.core import CustomEvent

from agui_reasoning import Conversation, RemoteProtocolError, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import TextDelta
from agui_reasoning.durable import LogStream, Runs, RunStore, SQLiteRuns
from agui_reasoning.durable.store import Begin, LogEntry
from agui_reasoning.errors import DecryptionError
from agui_reasoning.wire import read_events
from tests.support.growth import steps
from tests.unit.durable.agents import Thinker, new_run, quick, run_input

pytestmark = pytest.mark.anyio

KEYS = KeyRing.generate("k1")
LARGE = "x" * 13_000_000
"""More than one token can hold."""


async def read(stream: LogStream) -> list[dict[str, Any]]:
    return read_events(b"".join([chunk async for chunk in stream.frames()]))


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


# -- tenants


PAIRS = [
    ("acme", "thread"),
    ("acmet", "hread"),
    ("", "acmethread"),
    ("acme\0", "thread"),
    ("acme", "\0thread"),
    ('acme","thread', ""),
    ("Acme", "thread"),
    ("acme ", "thread"),
    ("acme", "thread\u200b"),
    ("a\u0301", "e"),
    ("\u00e1", "e"),
    ("acme", "\ud800"),
    ("acme", "\udc00"),
    ("acme", "../thread"),
    ("acme", "thread/"),
    ("acme", "%74hread"),
    ("acme", "t" * 100_000),
    ("tenant", "thread"),
    ("thread", "tenant"),
]


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "keys"])
async def test_every_pair_of_tenant_and_thread_has_a_log_of_its_own(
    store: RunStore, keys: KeyRing | None, record_property: Callable[[str, object], None]
) -> None:
    runs = Runs(store, keys=keys)
    for at, (tenant, thread) in enumerate(PAIRS):
        await read(await runs.start(new_run(run_input(thread, run=f"run-{at}"), tenant=tenant), quick))
    for at, (tenant, thread) in enumerate(PAIRS):
        assert (await read(await runs.join(thread, tenant)))[0]["runId"] == f"run-{at}"
        assert not await runs.stop(thread, tenant)
    for tenant in {tenant for tenant, _ in PAIRS}:
        listed = {info.thread_id for info in await runs.threads(tenant)}
        assert listed == {thread for owner, thread in PAIRS if owner == tenant}
    for at, (tenant, thread) in enumerate(PAIRS):
        await runs.erase(thread, tenant)
        left = [len(await runs.threads(owner)) for owner in {owner for owner, _ in PAIRS}]
        assert sum(left) == len(PAIRS) - at - 1
    await runs.aclose()
    record_property("times", len(PAIRS))


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "keys"])
async def test_a_stranger_neither_joins_nor_stops_nor_erases(
    store: RunStore, opened: Callable[[], RunStore], keys: KeyRing | None
) -> None:
    runs, elsewhere, agent = Runs(store, keys=keys), Runs(opened(), keys=keys), Thinker()
    stream = await runs.start(new_run(tenant="acme"), agent)
    await agent.thinking.wait()
    for process in (runs, elsewhere):
        for tenant in ("", "evil", "acme ", "ACME"):
            for asked in (process.join, process.conversation):
                with pytest.raises(RemoteProtocolError, match="no such thread"):
                    await asked("thread-1", tenant)
            assert not await process.stop("thread-1", tenant)
            await process.erase("thread-1", tenant)
        assert not await process.stop("thread-1", "acme", run_id="run-2")
    agent.answer.set()
    assert kinds(await read(stream))[-1] == "RUN_FINISHED"
    await runs.aclose()
    await elsewhere.aclose()


# -- a second run


async def test_of_many_runs_that_supersede_each_other_one_goes_on(
    store: RunStore, record_property: Callable[[str, object], None]
) -> None:
    runs, ends, count = Runs(store, on_concurrent="supersede"), list[str](), 20

    async def ask(at: int) -> None:
        events = await read(await runs.start(new_run(run_input(run=f"run-{at}")), Thinker()))
        assert [event for event in events if event["type"] in {"RUN_FINISHED", "RUN_ERROR"}] == events[-1:]
        ends.append(events[-1]["outcome"]["type"])

    async with anyio.create_task_group() as group:
        for at in range(count):
            group.start_soon(ask, at)
        with anyio.fail_after(30):
            while len(ends) < count - 1:
                await anyio.sleep(0.01)
        assert [info.running for info in await runs.threads()] == [True]
        assert await runs.stop("thread-1")
    assert ends == ["cancelled"] * count
    await runs.aclose()
    record_property("times", count)


# -- sizes


async def large(run: Run) -> AsyncIterator[Any]:
    yield TextDelta("See ", key="0")
    yield CustomEvent(name="large", value=LARGE)
    yield TextDelta("this.", key="0")


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "keys"])
async def test_a_large_event_of_one_run_ends_no_other(store: RunStore, keys: KeyRing | None) -> None:
    runs, agent = Runs(store, keys=keys), Thinker()
    small = await runs.start(new_run(run_input("small"), tenant="acme"), agent)
    await agent.thinking.wait()
    stream = await runs.start(new_run(run_input("large"), tenant="other"), large)
    agent.answer.set()
    events = await read(stream)
    assert kinds(events)[-1] == "RUN_FINISHED"
    assert next(event for event in events if event["type"] == "CUSTOM")["value"] == LARGE
    assert kinds(await read(small))[-1] == "RUN_FINISHED"
    assert kinds(await read(await runs.join("large", "other")))[-1] == "RUN_FINISHED"
    await runs.aclose()


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "keys"])
async def test_a_large_history_is_stored_and_comes_back(store: RunStore, keys: KeyRing | None) -> None:
    runs = Runs(store, keys=keys)
    message = {"id": "u1", "role": "user", "content": LARGE}
    await read(await runs.start(new_run(run_input(messages=[message])), quick))
    assert (await runs.conversation("thread-1")).messages[0].content == LARGE
    await runs.aclose()


def history(messages: int) -> dict[str, Any]:
    return run_input(messages=[{"id": f"u{at}", "role": "user", "content": "Hi."} for at in range(messages)])


@pytest.mark.parametrize("keys", [None, KEYS], ids=["plain", "keys"])
def test_a_long_thread_is_not_read_in_the_event_loop(tmp_path: Path, keys: KeyRing | None) -> None:
    """Steps are those of the thread of the event loop: what others wait for does not grow with the thread."""

    def asked(messages: int) -> int:
        first, second = (new_run(history(messages)) for _ in range(2))

        async def ask() -> None:
            runs = Runs(SQLiteRuns(tmp_path / f"{messages}.db"), keys=keys, on_concurrent="join")
            agent = Thinker()
            stream = await runs.start(first, agent)
            await agent.thinking.wait()
            joined = await runs.start(second, quick)
            await runs.conversation("thread-1")
            await runs.stop("thread-1", run_id="another")
            agent.answer.set()
            await read_bytes(stream)
            await read_bytes(joined)
            await runs.aclose()

        async def read_bytes(stream: LogStream) -> None:
            async for _ in stream.frames():
                pass

        return steps(lambda: anyio.run(ask))

    asked(1)
    assert asked(8000) < asked(10) + 3 * 8000, "to compare IDs takes two lines of Python per message"


@pytest.mark.slow
async def test_a_reader_that_waits_holds_no_thread(store: RunStore) -> None:
    """The prelude of a joiner that reads slowly is its own; what it was made of is not kept."""
    runs, agent = Runs(store), Thinker()
    await runs.start(new_run(history(100)), agent)
    await agent.thinking.wait()
    gc.collect()
    before = sum(isinstance(one, Conversation) for one in gc.get_objects())
    joined = [(await runs.join("thread-1")).frames() for _ in range(20)]
    for frames in joined:
        await anext(frames)
    gc.collect()
    assert sum(isinstance(one, Conversation) for one in gc.get_objects()) == before
    for frames in joined:
        await frames.aclose()
    agent.answer.set()
    await runs.aclose()


# -- erasure


async def test_erasing_a_thread_leaves_nothing_of_earlier_runs(store: RunStore, address: str) -> None:
    runs = Runs(store)
    for at in range(3):
        await read(await runs.start(new_run(run_input(run=f"run-{at}")), quick))
    await read(await runs.start(new_run(run_input("kept")), quick))
    await runs.erase("thread-1")
    assert [info.thread_id for info in await runs.threads()] == ["kept"]
    assert await runs_stored(store, address) == 1
    await runs.aclose()


async def runs_stored(store: Any, address: str) -> int:
    """How many runs the database has, found or not."""
    if address.startswith("sqlite:"):
        (count,) = store._writing.execute("SELECT count(DISTINCT run) FROM entries").fetchone()
        return int(count)
    keys = [key.decode() async for key in store._redis.scan_iter(f"{store._prefix}run:*")]
    return len({key.removeprefix(f"{store._prefix}run:").partition(":")[0] for key in keys})


async def test_a_thread_of_very_many_short_runs_is_erased(store: RunStore, address: str) -> None:
    for at in range(1200):
        begin = Begin(
            run=f"run-{at}",
            threads=["thread"],
            owner="owner",
            head=b"{}",
            label=b"{}",
            lease_s=60,
            retention_s=60,
        )
        assert await store.begin(begin) is None
        assert await store.append([LogEntry(f"run-{at}", 0, b"", True, 60)]) == [True]
    await store.erase(["thread"])
    assert await runs_stored(store, address) == 0


# -- a database that somebody has changed


@pytest.fixture
async def changed(tmp_path: Path) -> AsyncIterator[tuple[Runs, sqlite3.Connection]]:
    """Two threads of one tenant, and the database below them."""
    path = tmp_path / "runs.db"
    runs = Runs(SQLiteRuns(path), keys=KEYS)
    for thread in ("thread-1", "thread-2"):
        await read(await runs.start(new_run(run_input(thread)), quick))
    database = sqlite3.connect(path)
    yield runs, database
    database.close()
    await runs.aclose()


@pytest.mark.parametrize("emptied", [False, True])
async def test_a_thread_that_points_to_the_run_of_another_shows_nothing(
    changed: tuple[Runs, sqlite3.Connection], emptied: bool
) -> None:
    runs, database = changed
    with database:
        if emptied:
            database.execute("DELETE FROM entries WHERE place >= 0")
        (one, of_one), (two, of_two) = database.execute("SELECT thread, run FROM threads").fetchall()
        for thread, run in ((one, of_two), (two, of_one)):
            database.execute("UPDATE threads SET run = ? WHERE thread = ?", (run, thread))
    with pytest.raises(DecryptionError):
        await runs.conversation("thread-1")
    with pytest.raises(DecryptionError):
        await runs.join("thread-1")


@pytest.mark.parametrize("how", ["reversed", "shortened", "repeated", "joined"])
async def test_pieces_of_a_large_entry_keep_their_order(
    changed: tuple[Runs, sqlite3.Connection], how: str
) -> None:
    runs, database = changed
    await read(await runs.start(new_run(run_input("large")), large))
    with database:
        rows = database.execute("SELECT run, place, data FROM entries WHERE instr(data, x'0a')").fetchall()
        assert len(rows) == 1
        run, place, data = rows[0]
        first, second = data.split(b"\n")
        swapped = {
            "reversed": second + b"\n" + first,
            "shortened": first,
            "repeated": first + b"\n" + first,
            "joined": first + second,
        }
        database.execute(
            "UPDATE entries SET data = ? WHERE run = ? AND place = ?", (swapped[how], run, place)
        )
    events = await read(await runs.join("large"))
    assert (events[-1]["type"], events[-1].get("code")) == ("RUN_ERROR", "undecryptable")


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{}", b"\n\n", b"a.b.c.d.e", b"data: {}\n\n"])
async def test_junk_in_a_log_with_keys_ends_readers_with_a_code(
    changed: tuple[Runs, sqlite3.Connection], data: bytes
) -> None:
    runs, database = changed
    with database:
        database.execute("UPDATE entries SET data = ? WHERE place >= 0", (data,))
    events = await read(await runs.join("thread-1"))
    assert (events[-1]["type"], events[-1].get("code")) == ("RUN_ERROR", "undecryptable")


async def test_a_head_with_keys_that_is_no_ascii_does_not_open(
    changed: tuple[Runs, sqlite3.Connection],
) -> None:
    runs, database = changed
    with database:
        database.execute("UPDATE entries SET data = x'fffe' WHERE place = -1")
    with pytest.raises(DecryptionError):
        await runs.conversation("thread-1")


# -- logs


async def test_names_of_clients_forge_no_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    forged = "t\r\nERROR forged \x1b]52;c;cm0=\x07\u202e"
    with caplog.at_level(logging.DEBUG, logger="agui_reasoning"):
        store = SQLiteRuns(tmp_path / "runs.db")
        runs, agent = Runs(store, unwatched_limit_s=0.3), Thinker()
        stream = await runs.start(new_run(run_input(forged, run=forged)), agent)
        with anyio.fail_after(10):
            await agent.closed.wait()
        await read(stream)
        stream = await runs.start(new_run(run_input(forged, run=forged)), Thinker())
        store._writing.execute("DROP TABLE entries")
        await read(stream)
        with pytest.raises(Exception, match="database"):
            await runs.conversation(forged)
        await runs.aclose()
    assert caplog.messages
    assert not [text for text in caplog.messages if set(text) & set("\r\n\x1b\x07\u202e") or "forged" in text]
    assert "\n" not in repr(stream)
