"""Runs outlive their readers, and every reader sees the same."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from agui_reasoning import ConfigurationError, Conversation, RemoteProtocolError, Run
from agui_reasoning.crypto import KeyRing
from agui_reasoning.deltas import FinishDelta, ToolCallDelta
from agui_reasoning.durable import LogStream, Runs, RunStore, SQLiteRuns
from agui_reasoning.durable.store import Begin, LogEntry, Standing, Tail
from agui_reasoning.errors import DecryptionError, TransportError
from agui_reasoning.parts import ToolResultPart
from agui_reasoning.wire import read_events
from tests.support.redis import redis_server
from tests.unit.durable.agents import QUESTION, THOUGHT, Thinker, new_run, quick, run_input

pytestmark = pytest.mark.anyio

BEGIN = Begin(run="r", threads=["t"], owner="o", head=b"", label=b"", lease_s=60, retention_s=60)


async def read(stream: LogStream) -> bytes:
    return b"".join([chunk async for chunk in stream.frames()])


def kinds(frames: bytes) -> list[str]:
    return [event["type"] for event in read_events(frames)]


async def stored_thought(runs: Runs, agent: Thinker) -> None:
    """Wait until the beginning of the thought is in the log."""
    await agent.thinking.wait()
    with anyio.fail_after(10):
        while len((await runs.conversation("thread-1")).messages) < 2:
            await anyio.sleep(0.01)


def client_of(*streams: bytes) -> Conversation:
    """A client that has asked its question, and reads some streams."""
    conversation = Conversation("thread-1", messages=[QUESTION])
    for frames in streams:
        for event in read_events(frames):
            conversation.receive(event)
    return conversation


async def test_a_run_goes_on_without_its_reader_and_can_be_joined(store: RunStore) -> None:
    runs, agent = Runs(store), Thinker()
    stream = await runs.start(new_run(), agent)
    frames = stream.frames()
    first = await anext(frames)
    await stored_thought(runs, agent)
    await stream.aclose()
    joined = await runs.join("thread-1")
    agent.answer.set()
    rest = await read(joined)
    assert kinds(rest) == [
        "RUN_STARTED",
        "MESSAGES_SNAPSHOT",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    whole = await read(await runs.join("thread-1"))
    assert client_of(rest).messages == client_of(whole).messages
    assert [m.content for m in client_of(whole).messages] == [
        "Umbrella in Bergen?",
        f"{THOUGHT}so yes.",
        "Take one.",
    ]
    assert first.startswith(b'data: {"type":"RUN_STARTED"')
    await runs.aclose()


async def test_nothing_is_shown_before_it_is_in_the_log(
    store: RunStore, opened: Callable[[], RunStore]
) -> None:
    runs, other = Runs(store), Runs(opened())
    stream = await runs.start(new_run(), quick)
    seen = b""
    async for chunk in stream.frames():
        seen += chunk
        stored = await other.conversation("thread-1")
        shown = Conversation("thread-1", messages=[QUESTION])
        for event in read_events(seen):
            shown.receive(event)
        ahead = {message.id: message.content or "" for message in stored.messages}
        assert all((m.content or "") == ahead[m.id][: len(m.content or "")] for m in shown.messages)
    await runs.aclose()
    await other.aclose()


async def test_readers_of_another_process_see_the_same_bytes(
    store: RunStore, opened: Callable[[], RunStore]
) -> None:
    runs, other, agent = Runs(store), Runs(opened()), Thinker()
    await runs.start(new_run(), agent)
    await stored_thought(runs, agent)
    here, there = await runs.join("thread-1"), await other.join("thread-1")
    seen: dict[str, bytes] = {}

    async def note(name: str, stream: LogStream) -> None:
        seen[name] = await read(stream)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(note, "here", here)
        tasks.start_soon(note, "there", there)
        await anyio.sleep(0.1)
        agent.answer.set()
    assert seen["here"] == seen["there"]
    assert kinds(seen["there"])[-1] == "RUN_FINISHED"
    await other.aclose()
    await runs.aclose()


IMAGE = {"type": "image", "source": {"type": "url", "value": "https://example.com/radar.png"}}


@pytest.mark.parametrize("keys", [None, KeyRing.generate("k1")], ids=["in clear", "sealed"])
@pytest.mark.parametrize("late", [False, True], ids=["while it runs", "after its end"])
async def test_a_client_that_declares_no_version_joins_a_run_of_one_that_does(
    store: RunStore, keys: KeyRing | None, late: bool
) -> None:
    """`@ag-ui/client` 0.0.59 refuses results with media, and outcomes with pending calls."""
    runs, go_on = Runs(store, keys=keys, on_concurrent="join"), anyio.Event()

    async def radar(run: Run) -> AsyncIterator[Any]:
        yield ToolCallDelta("c1", "radar", "{}")
        yield ToolCallDelta("c2", "ask", "{}")
        yield FinishDelta("tool_use")
        await go_on.wait()
        yield ToolResultPart("c1", [{"type": "text", "text": "Rain."}, IMAGE])

    started = await runs.start(new_run(), radar)
    if late:
        go_on.set()
        modern = read_events(await read(started))
        old = await runs.join("thread-1", protocol_version=None)
        new = await runs.join("thread-1")
    else:
        await anext(started.frames())
        old = await runs.start(Run({k: v for k, v in run_input().items() if k != "protocolVersion"}), quick)
        new = await runs.join("thread-1")
        go_on.set()
        modern = read_events(await read(started))
    lowered, same = read_events(await read(old)), read_events(await read(new))
    assert modern[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["c2"]} == same[-1]["outcome"]
    assert lowered[-1]["outcome"] == {"type": "success"}
    assert [result_of(events) for events in (same, lowered)] == [
        [{"type": "text", "text": "Rain."}, IMAGE],
        "Rain.",
    ]
    assert [event["type"] for event in lowered] == [event["type"] for event in same]
    await runs.aclose()


def result_of(events: list[dict[str, Any]]) -> Any:
    """The content of the only result of a tool, live or in the snapshot."""
    told = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    messages = [message for event in events for message in event.get("messages", ())]
    (result,) = told or [message for message in messages if message["role"] == "tool"]
    return result["content"]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_stop_ends_a_run_from_any_process(
    store: RunStore, opened: Callable[[], RunStore], elsewhere: bool
) -> None:
    runs, agent = Runs(store), Thinker()
    other = Runs(opened()) if elsewhere else runs
    stream = await runs.start(new_run(), agent)
    await agent.thinking.wait()
    assert await other.stop("thread-1")
    assert agent.closed.is_set()
    frames = await read(stream)
    assert kinds(frames)[-4:] == [
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
        "RUN_FINISHED",
    ]
    assert read_events(frames)[-1]["outcome"] == {"type": "cancelled"}
    assert not await other.stop("thread-1")
    assert not await other.stop("another")
    await runs.aclose()


async def test_a_second_run_is_refused(store: RunStore, opened: Callable[[], RunStore]) -> None:
    runs, agent = Runs(store), Thinker()
    await runs.start(new_run(), agent)
    other = Runs(opened())
    with pytest.raises(RemoteProtocolError) as caught:
        await other.start(new_run(), quick)
    assert caught.value.code == "thread_running"
    await runs.stop("thread-1")
    assert kinds(await read(await other.start(new_run(), quick)))[-1] == "RUN_FINISHED"
    await other.aclose()
    await runs.aclose()


async def test_a_second_run_joins_unless_it_brings_something_new(store: RunStore) -> None:
    runs, agent = Runs(store, on_concurrent="join"), Thinker()
    await runs.start(new_run(), agent)
    await agent.thinking.wait()
    joined = await runs.start(new_run(run_input(run="run-2")), quick)
    new = run_input(run="run-3", messages=[QUESTION, {"id": "u2", "role": "user", "content": "Well?"}])
    with pytest.raises(RemoteProtocolError) as caught:
        await runs.start(new_run(new), quick)
    assert caught.value.code == "thread_running"
    agent.answer.set()
    assert read_events(await read(joined))[0]["runId"] == "run-1"
    await runs.aclose()


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_second_run_supersedes_the_first(
    store: RunStore, opened: Callable[[], RunStore], elsewhere: bool
) -> None:
    runs, agent = Runs(store, on_concurrent="supersede"), Thinker()
    other = Runs(opened(), on_concurrent="supersede") if elsewhere else runs
    first = await runs.start(new_run(), agent)
    await agent.thinking.wait()
    second = await other.start(new_run(run_input(run="run-2")), quick)
    assert read_events(await read(first))[-1]["outcome"] == {"type": "cancelled"}
    assert read_events(await read(second))[-1]["runId"] == "run-2"
    assert [info.run_id for info in await runs.threads()] == ["run-2"]
    await other.aclose()
    if elsewhere:
        await runs.aclose()


async def test_a_run_that_nobody_watches_is_stopped(store: RunStore) -> None:
    runs, agent = Runs(store, unwatched_limit_s=0.3), Thinker()
    await runs.start(new_run(), agent)
    with anyio.fail_after(10):
        await agent.closed.wait()
    frames = await read(await runs.join("thread-1"))
    assert read_events(frames)[-1]["outcome"] == {"type": "cancelled"}
    await runs.aclose()


async def test_a_run_that_somebody_watches_goes_on(store: RunStore, opened: Callable[[], RunStore]) -> None:
    runs, other, agent = Runs(store, unwatched_limit_s=2), Runs(opened(), unwatched_limit_s=2), Thinker()
    await (await runs.start(new_run(), agent)).aclose()
    await stored_thought(runs, agent)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, await other.join("thread-1"))
        await anyio.sleep(3)
        assert not agent.closed.is_set()
        agent.answer.set()
    assert kinds(await read(await runs.join("thread-1")))[-1] == "RUN_FINISHED"
    await runs.aclose()


async def test_a_store_tells_what_is_in_a_log_and_whether_it_goes_on(store: RunStore) -> None:
    begin = BEGIN
    assert await store.begin(begin) is None
    assert await store.begin(replace(begin, run="r2")) == "r"
    assert await store.append([LogEntry("r", 0, b"0", False, 60), LogEntry("r", 2, b"2", False, 60)]) == [
        True,
        False,
    ]
    assert await store.read("r", 0) == Tail([b"0"], ended=False, alive=True)
    assert await store.read("r", 1) == Tail([], ended=False, alive=True)
    assert await store.read("unknown", 0) == Tail([], ended=False, alive=False)
    renewed = await store.renew(["r", "unknown"], 60)
    assert (list(renewed), renewed["r"].stop) == (["r"], False)
    await store.stop("r")
    assert (await store.renew(["r"], 60))["r"].stop
    assert await store.append([LogEntry("r", 1, b"1", True, 60)]) == [True]
    assert await store.read("r", 0) == Tail([b"0", b"1"], ended=True, alive=False)
    assert await store.read("r", 1) == Tail([b"1"], ended=True, alive=False)
    assert await store.append([LogEntry("r", 2, b"2", False, 60)]) == [False]
    assert await store.renew(["r"], 60) == {}
    assert await store.begin(replace(begin, run="r2")) is None


async def test_redis_counts_fractions_of_the_time_without_a_reader(redis_url: str) -> None:
    """In whole seconds, a limit below one would stop runs that are read."""
    from redis.asyncio import Redis

    from agui_reasoning.durable import RedisRuns

    store = RedisRuns(redis_url, prefix="fractions:")
    begin = Begin(run="r", threads=["t"], owner="o", head=b"", label=b"", lease_s=60, retention_s=60)
    async with Redis.from_url(redis_url, protocol=2) as redis:

        async def now() -> float:
            seconds, micros = await redis.time()
            return float(seconds + micros / 1e6)

        earliest = await now()
        await store.begin(begin)
        unwatched = (await store.look(["r"]))["r"].unwatched_s
        assert unwatched <= await now() - earliest + 0.002
        since = earliest - 0.5
        await redis.hset("fractions:run:r", "watched", since)
        before = await now()
        unwatched = (await store.look(["r"]))["r"].unwatched_s
        assert before - since - 0.002 <= unwatched <= await now() - since + 0.002
        await store.stop("r")
        await redis.delete("fractions:run:r:lease")
        earliest = await now()
        await store.begin(replace(begin, run="r2"))
        latest = await now()
        [listed] = await store.list(["o"])
        assert listed.run == "r2"
        assert await redis.zcard("fractions:owner:o") == 1, "the name of the first run stays for ever"
        assert earliest - 0.002 <= listed.updated_s <= latest + 0.002
    await store.erase(["t"])
    await store.aclose()


async def test_a_log_is_read_while_another_process_writes(tmp_path: Path) -> None:
    store = SQLiteRuns(tmp_path / "runs.db")
    await store.begin(BEGIN)
    with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert await store.read("r", 0) == Tail([], ended=False, alive=True)
    await store.aclose()


async def test_readers_of_another_process_get_an_entry_at_once(opened: Callable[[], RunStore]) -> None:
    writer, reader = opened(), opened()
    await writer.begin(BEGIN)

    async def write(place: int) -> None:
        await anyio.sleep(0.05)
        await writer.append([LogEntry("r", place, b"", False, 60)])

    with anyio.fail_after(5):
        for place in range(8):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write, place)
                while not (await reader.read("r", place)).entries:
                    await reader.wait("r", place, 60)


async def test_a_reader_that_waits_fetches_one_entry_of_redis(redis_url: str) -> None:
    from redis.asyncio import Redis

    from agui_reasoning.durable import RedisRuns

    store = RedisRuns(redis_url, prefix="waiting:")
    await store.begin(BEGIN)
    await store.append([LogEntry("r", place, bytes(100_000), False, 60) for place in range(5)])
    async with Redis.from_url(redis_url, protocol=2) as redis:
        before = (await redis.info("stats"))["total_net_output_bytes"]
        await store.wait("r", 0, 60)
        assert (await redis.info("stats"))["total_net_output_bytes"] - before < 300_000
    await store.erase(["t"])
    await store.aclose()


async def test_readers_beside_the_worker_do_not_ask_the_store(tmp_path: Path) -> None:
    asked: list[str] = []

    class Asked(SQLiteRuns):
        async def read(self, run: str, place: int) -> Tail:
            asked.append("read")
            return await super().read(run, place)

        async def wait(self, run: str, place: int, timeout_s: float) -> None:
            asked.append("wait")
            await super().wait(run, place, timeout_s)

        async def renew(self, runs: Sequence[str], lease_s: float) -> Mapping[str, Standing]:
            asked.append("renew")
            return await super().renew(runs, lease_s)

        async def look(self, runs: Sequence[str]) -> Mapping[str, Standing]:
            looked.set()
            return await super().look(runs)

    looked = anyio.Event()
    runs, agent = Runs(Asked(tmp_path / "runs.db"), lease_s=600), Thinker()
    stream = await runs.start(new_run(), agent)
    frames = stream.frames()
    with anyio.fail_after(10):
        shown = await anext(frames)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(looked.wait)
            while THOUGHT.encode() not in shown:
                shown += await anext(frames)
        assert asked == [], "and the lease was not renewed, which is long"
        agent.answer.set()
        shown += await read(stream)
    assert kinds(shown)[-1] == "RUN_FINISHED"
    await runs.aclose()


async def test_a_run_is_stopped_although_another_has_just_ended(store: RunStore) -> None:
    runs, agent = Runs(store), Thinker()
    await runs.start(new_run(), agent)
    await agent.thinking.wait()
    runs._end_some(["ended", *runs._workers], dict.fromkeys(runs._workers, Standing(True, 0.0)))
    with anyio.fail_after(10):
        await agent.closed.wait()
    await runs.aclose()


@pytest.mark.parametrize("limit", ["retention_s", "unwatched_limit_s", "lease_s"])
async def test_limits_are_positive(store: RunStore, limit: str) -> None:
    options: dict[str, Any] = {limit: 0}
    with pytest.raises(ConfigurationError, match=limit) as caught:
        Runs(store, **options)
    assert caught.value.code == "bad_limit"


async def test_closing_waits_for_runs_then_ends_them(store: RunStore, opened: Callable[[], RunStore]) -> None:
    runs, agent = Runs(store, drain_s=0.1), Thinker()
    await runs.start(new_run(), agent)
    await agent.thinking.wait()
    await runs.aclose()
    with pytest.raises(TransportError) as caught:
        await runs.start(new_run(), quick)
    assert caught.value.code == "shutdown"
    other = Runs(opened())
    assert read_events(await read(await other.join("thread-1")))[-1]["code"] == "shutdown"
    await other.aclose()


async def test_other_tenants_have_no_such_thread(store: RunStore) -> None:
    runs = Runs(store)
    await read(await runs.start(new_run(tenant="acme"), quick))
    for tenant in ("", "globex"):
        with pytest.raises(RemoteProtocolError) as caught:
            await runs.join("thread-1", tenant)
        assert caught.value.code == "unknown_thread"
        assert not await runs.stop("thread-1", tenant)
        assert await runs.threads(tenant) == []
        await runs.erase("thread-1", tenant)
    assert [info.thread_id for info in await runs.threads("acme")] == ["thread-1"]
    await runs.aclose()


async def test_the_next_turn_replaces_what_the_thread_holds(store: RunStore) -> None:
    runs = Runs(store)
    first = client_of(await read(await runs.start(new_run(), quick)))
    turn = first.run_input("And tomorrow?").model_dump(mode="json", by_alias=True, exclude_none=True)
    second = await read(await runs.start(new_run(turn), quick))
    for event in read_events(second):
        first.receive(event)
    assert (await runs.conversation("thread-1")).messages == first.messages
    assert len(await runs.threads()) == 1
    await runs.aclose()


async def test_erasing_a_thread_stops_its_run_and_leaves_nothing(store: RunStore) -> None:
    runs, agent = Runs(store), Thinker()
    await runs.start(new_run(), agent)
    await agent.thinking.wait()
    await runs.erase("thread-1")
    assert agent.closed.is_set()
    assert await runs.threads() == []
    with pytest.raises(RemoteProtocolError):
        await runs.join("thread-1")
    await runs.aclose()


async def test_threads_expire(store: RunStore) -> None:
    runs = Runs(store, retention_s=0.2)
    await read(await runs.start(new_run(), quick))
    await anyio.sleep(0.4)
    assert await runs.threads() == []
    with pytest.raises(RemoteProtocolError):
        await runs.join("thread-1")
    await runs.aclose()


# -- keys


async def test_runs_with_keys_need_a_log_with_keys(store: RunStore) -> None:
    runs = Runs(store)
    with pytest.raises(ConfigurationError) as caught:
        await runs.start(new_run(keys=KeyRing.generate("k1")), quick)
    assert caught.value.code == "runs_without_keys"
    await runs.aclose()


async def test_a_thread_is_found_after_its_key_was_rotated(store: RunStore) -> None:
    old, new = bytes(32), b"n" * 32
    before = Runs(store, keys=KeyRing({"old": old}))
    await read(await before.start(new_run(), quick))
    after = Runs(store, keys=KeyRing({"new": new, "old": old}))
    assert len((await after.conversation("thread-1")).messages) == 3
    assert [info.thread_id for info in await after.threads()] == ["thread-1"]
    await read(await after.start(new_run(), quick))
    assert [info.thread_id for info in await after.threads()] == ["thread-1"]
    last = Runs(store, keys=KeyRing({"new": new}))
    assert len((await last.conversation("thread-1")).messages) == 3
    for runs in (before, after, last):
        await runs.aclose()


async def test_entries_of_another_place_run_thread_or_tenant_cannot_be_read(tmp_path: Path) -> None:
    path, keys = tmp_path / "runs.db", KeyRing.generate("k1")
    runs = Runs(SQLiteRuns(path), keys=keys)
    await read(await runs.start(new_run(keys=keys), quick))
    await read(await runs.start(new_run(run_input("thread-2"), keys=keys), quick))
    with closing(sqlite3.connect(path)) as database, database:
        rows = database.execute("SELECT run, data FROM entries WHERE place = 0").fetchall()
        swapped = dict(zip([run for run, _ in rows], [data for _, data in rows][::-1], strict=True))
        for run, data in swapped.items():
            database.execute("UPDATE entries SET data = ? WHERE run = ? AND place = 0", (data, run))
    frames = await read(await runs.join("thread-1"))
    assert read_events(frames)[-1]["code"] == "undecryptable"
    await runs.aclose()


async def test_a_stream_may_be_read_as_events(store: RunStore) -> None:
    runs = Runs(store)
    types = [str(event.type.value) async for event in await runs.start(new_run(), quick)]
    other = await read(await runs.start(new_run(run_input("thread-2")), quick))
    assert types == kinds(other)
    await runs.aclose()


async def test_a_list_has_the_time_of_the_newest_event(store: RunStore) -> None:
    runs = Runs(store)
    await read(await runs.start(new_run(), quick))
    [info] = await runs.threads()
    assert info.updated_s > 0
    await runs.aclose()


async def test_a_list_reads_labels_alone(tmp_path: Path) -> None:
    path, keys = tmp_path / "runs.db", KeyRing.generate("k1")
    runs = Runs(SQLiteRuns(path), keys=keys)
    for thread in ("thread-1", "thread-2"):
        await read(await runs.start(new_run(run_input(thread), keys=keys), quick))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM entries")
    assert {info.thread_id for info in await runs.threads()} == {"thread-1", "thread-2"}
    with closing(sqlite3.connect(path)) as database, database:
        labels = database.execute("SELECT label FROM runs").fetchall()
        database.execute("UPDATE runs SET label = (SELECT max(label) FROM runs)")
    assert all(len(label) < 400 for (label,) in labels)
    with pytest.raises(DecryptionError):
        await runs.threads()
    await runs.aclose()


# -- trouble


async def test_a_full_disk_ends_the_run_and_keeps_what_was_shown(tmp_path: Path) -> None:
    store = SQLiteRuns(tmp_path / "runs.db")
    runs, agent = Runs(store), Thinker(ending="so yes. " * 100_000)
    stream = await runs.start(new_run(), agent)
    frames = stream.frames()
    shown = await anext(frames)
    await stored_thought(runs, agent)
    (pages,) = store._writing.execute("PRAGMA page_count").fetchone()
    store._writing.execute(f"PRAGMA max_page_count = {pages}")
    agent.answer.set()
    async for chunk in frames:
        shown += chunk
    assert agent.closed.is_set()
    assert kinds(shown)[-3:] == ["REASONING_MESSAGE_END", "REASONING_END", "RUN_ERROR"]
    assert read_events(shown)[-1]["code"] == "store_unavailable"
    assert client_of(shown).messages[1].content == THOUGHT
    store._writing.execute("PRAGMA max_page_count = 1000000")
    later = await read(await runs.start(new_run(), quick))
    assert kinds(later)[-1] == "RUN_FINISHED"
    await runs.aclose()


async def test_a_store_that_answers_too_little_ends_the_run(tmp_path: Path) -> None:
    class Silent(SQLiteRuns):
        async def append(self, entries: Sequence[LogEntry]) -> Sequence[bool]:
            return []

    runs = Runs(Silent(tmp_path / "runs.db"))
    with anyio.fail_after(10):
        shown = await read(await runs.start(new_run(), quick))
    assert (kinds(shown), read_events(shown)[-1]["code"]) == (["RUN_ERROR"], "store_unavailable")
    await runs.aclose()


async def test_a_lost_redis_ends_the_run_with_one_error() -> None:
    from agui_reasoning.durable import RedisRuns

    with redis_server() as (url, server):
        runs, agent = Runs(RedisRuns(url)), Thinker()
        stream = await runs.start(new_run(), agent)
        frames = stream.frames()
        shown = await anext(frames)
        await agent.thinking.wait()
        await anyio.sleep(0.05)
        server.kill()
        server.wait()
        agent.answer.set()
        started = time.monotonic()
        async for chunk in frames:
            shown += chunk
    assert time.monotonic() - started < 20
    assert kinds(shown)[-3:] == ["REASONING_MESSAGE_END", "REASONING_END", "RUN_ERROR"]
    assert read_events(shown)[-1]["code"] == "store_unavailable"
    assert client_of(shown).messages[1].content == THOUGHT
    with pytest.raises(TransportError):
        await runs.join("thread-1")
    await runs.aclose()
