"""Every thread of every part is worked on exactly once, wherever that happens and whatever is killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agui_reasoning import ConfigurationError, Conversation, Run, bulk
from agui_reasoning.crypto import DEFAULT_VARIABLE, KeyRing
from agui_reasoning.deltas import ReasoningDelta, TextDelta

OLD, NEW = KeyRing({"old": b"o" * 32}), KeyRing({"new": b"n" * 32, "old": b"o" * 32})
PARTS, THREADS = 6, 20


def thread(name: str, keys: KeyRing | None = OLD) -> dict[str, Any]:
    conversation = Conversation(name)
    run = Run(conversation.run_input("Umbrella?"), keys=keys, api="anthropic-messages", provider="anthropic")
    events = [*run.start(), *run.receive(ReasoningDelta("Rain.")), *run.receive(TextDelta("Yes."))]
    for event in [*events, *run.finish()]:
        conversation.receive(event)
    stored: dict[str, Any] = json.loads(conversation.to_json())
    return stored


def stream(name: str) -> dict[str, Any]:
    frame = {"threadId": name, "runId": "r"}
    middle = [
        {"type": "THINKING_START"},
        {"type": "THINKING_TEXT_MESSAGE_START"},
        {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Rain."},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "THINKING_END"},
    ]
    events = [{"type": "RUN_STARTED", **frame}, *middle, {"type": "RUN_FINISHED", **frame}]
    return {"threadId": name, "tenant": "acme", "events": events}


def write(folder: Path, make: Callable[[str], Any], parts: int = PARTS, threads: int = THREADS) -> str:
    folder.mkdir()
    for part in range(parts):
        lines = [json.dumps(make(f"t-{part}-{at}")) for at in range(threads)]
        (folder / f"part-{part}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return f"{folder}/*.jsonl"


def read(folder: Path) -> list[Any]:
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[KeyRing], None]]:
    """Puts a ring into the environment."""

    def put(keys: KeyRing) -> None:
        monkeypatch.setenv(DEFAULT_VARIABLE, keys.to_env())
        bulk._ring.cache_clear()

    put(OLD)
    yield put
    bulk._ring.cache_clear()


def slow_rekey(thread: dict[str, Any]) -> bulk.Done:
    """Like `rekey`, slow enough to be killed in the middle."""
    time.sleep(0.01)
    return bulk.rekey(thread)


# -- steps


def test_rekeyed_threads_are_read_with_the_new_key_alone(
    tmp_path: Path, ring: Callable[[KeyRing], None]
) -> None:
    source = write(tmp_path / "in", thread, 2, 3)
    ring(NEW)
    summary = bulk.run(bulk.parts(source, str(tmp_path / "out")), bulk.rekey)
    assert summary == bulk.Summary(2, 6, {"rekeyed": 6})
    for keys, counts in ((KeyRing({"new": b"n" * 32}), {"restored": 6}), (OLD, {"dropped.undecryptable": 6})):
        ring(keys)
        assert bulk.run(bulk.parts(f"{tmp_path}/out/*.jsonl"), bulk.audit).counts == counts


def test_tenants_have_keys_of_their_own(ring: Callable[[KeyRing], None]) -> None:
    ring(NEW)
    assert bulk.rekey(thread("t") | {"tenant": "acme"}).counts == {"undecryptable": 1}


def test_old_streams_are_upgraded_then_reduced(tmp_path: Path) -> None:
    source = write(tmp_path / "in", stream, 1, 2)
    summary = bulk.run(bulk.parts(source, str(tmp_path / "new")), bulk.upgrade)
    assert summary.counts == {"upgraded": 2}
    bulk.run(bulk.parts(f"{tmp_path}/new/*.jsonl", str(tmp_path / "threads")), bulk.reduce)
    found = read(tmp_path / "threads")
    assert [(one["threadId"], one["tenant"], one["messages"][0]["content"]) for one in found] == [
        ("t-0-0", "acme", "Rain."),
        ("t-0-1", "acme", "Rain."),
    ]


def test_checked_streams_are_left_as_they_are(tmp_path: Path) -> None:
    def broken(name: str) -> Any:
        return stream(name) | {"events": stream(name)["events"][:1]}

    source = write(tmp_path / "in", broken, 1, 2)
    summary = bulk.run(bulk.parts(source), bulk.check)
    assert summary.threads == 2
    assert summary.counts["truncated_run"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_erased_threads_have_no_reasoning(tmp_path: Path) -> None:
    source = write(tmp_path / "in", thread, 1, 1)
    bulk.run(bulk.parts(source, str(tmp_path / "out")), bulk.erase)
    [found] = read(tmp_path / "out")
    assert [message["role"] for message in found["messages"]] == ["user", "assistant"]
    assert "encryptedValue" not in json.dumps(found)


def test_what_cannot_be_worked_on_is_written_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [
        b"nonsense \xff",
        b'{"threadId": "t"}',
        b'{"threadId": "t", "events": [{"type": "RUN_FINISHED"}]}',
        b"7",
    ]
    (tmp_path / "in" / "a.jsonl").write_bytes(b"\n".join(lines))
    summary = bulk.run(bulk.parts(f"{tmp_path}/in/*", str(tmp_path / "out")), bulk.reduce)
    assert (summary.threads, sum(summary.counts.values())) == (4, 4)
    written = (tmp_path / "out" / "a.jsonl").read_bytes().splitlines()
    assert written[0] == lines[0]
    assert [json.loads(line) for line in written[1:]] == [json.loads(line) for line in lines[1:]]


def test_a_message_that_json_cannot_write_is_counted(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    message = {"id": "a", "role": "activity", "activityType": "plan", "content": {"in": {"\ud800": 1}}}
    line = json.dumps({"threadId": "t", "messages": [message]})
    (tmp_path / "in" / "a.jsonl").write_text(line, encoding="utf-8")
    summary = bulk.run(bulk.parts(f"{tmp_path}/in/*", str(tmp_path / "out")), bulk.erase)
    assert summary.counts == {"error.bad_thread": 1}
    assert read(tmp_path / "out") == [json.loads(line)]


def test_parquet_comes_back_as_parquet(tmp_path: Path, ring: Callable[[KeyRing], None]) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra bulk is not installed")
    from pyarrow import parquet

    rows = [thread(f"t-{at}") for at in range(600)]
    table = [
        {**row, "messages": json.dumps(row["messages"]), "state": "{}", "interrupts": None} for row in rows
    ]
    (tmp_path / "in").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(table), tmp_path / "in" / "a.parquet")
    ring(NEW)
    summary = bulk.run(bulk.parts(f"{tmp_path}/in/*", str(tmp_path / "out")), bulk.rekey)
    assert summary == bulk.Summary(1, 600, {"rekeyed": 600})
    found = parquet.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert [row["threadId"] for row in found] == [row["threadId"] for row in rows]
    assert all('"encryptedValue"' in row["messages"] for row in found)


@pytest.mark.parametrize(
    "line",
    [
        rb'"{\"threadId\":\"of another\",\"messages\":[]}\n{}"',
        b'"text"',
        rb'{"threadId":"\ud800 \udc80","x":1}',
        b'{"x":' + b"[" * 900 + b"]" * 900 + b"}",
        b"[" * 100_000,
        b'{"events":5,"messages":5}',
        b'{"events":[{"type":[]}],"messages":[{"role":{},"id":[]}],"threadId":{}}',
    ],
    ids=["threads in text", "text", "halves of emoji", "nested", "not closed", "numbers", "wrong types"],
)
@pytest.mark.parametrize("step", [bulk.erase, bulk.reduce, bulk.upgrade, bulk.rekey, bulk.check, bulk.audit])
def test_a_hostile_line_stays_one_line(step: bulk.Step, line: bytes, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(line + b"\n")
    summary = bulk.run(bulk.parts(f"{tmp_path}/in/*", str(tmp_path / "out")), step)
    assert summary.threads == 1
    assert (tmp_path / "out" / "a.jsonl").read_bytes() == line + b"\n"


@pytest.mark.slow
def test_a_line_without_end_is_said_and_costs_no_other_file(tmp_path: Path) -> None:
    """2 GB of it; no more is read than the longest line has, and what was finished stays."""
    source = write(tmp_path / "in", thread, 2, 2)
    with (tmp_path / "in" / "part-1.jsonl").open("ab") as file:
        file.write(b"\n{")
        file.truncate(2**31)
    made = bulk.parts(source, str(tmp_path / "out"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ConfigurationError, match="too long") as caught:
        bulk.run(made, bulk.erase)
    assert caught.value.code == "bad_part"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024 * 1024  # KiB
    assert sorted(os.listdir(tmp_path / "out")) == ["part-0.jsonl", "part-0.jsonl.report.json"]
    assert len(read(tmp_path / "out")) == 2


def test_the_longest_line_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = write(tmp_path / "in", lambda name: {"messages": []}, 1, 2)
    monkeypatch.setattr(bulk, "_LONGEST", len(json.dumps({"messages": []})) + 2)
    assert bulk.run(bulk.parts(source), bulk.erase).threads == 2
    monkeypatch.setattr(bulk, "_LONGEST", len(json.dumps({"messages": []})) + 1)
    with pytest.raises(ConfigurationError):
        bulk.run(bulk.parts(source), bulk.erase)


def parquet_file(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """Write text columns in which rows have values or none."""
    pyarrow = pytest.importorskip("pyarrow", reason="the extra bulk is not installed")
    from pyarrow import parquet

    names = {name: pyarrow.string() for row in rows for name in row} or {"messages": pyarrow.string()}
    folder.mkdir(exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows, pyarrow.schema(names)), folder / "a.parquet")
    return folder


def rewritten(folder: Path, step: bulk.Step) -> list[dict[str, Any]]:
    from pyarrow import parquet

    bulk.run(bulk.parts(f"{folder}/*", f"{folder}-out"), step)
    rows: list[dict[str, Any]] = parquet.read_table(f"{folder}-out/a.parquet").to_pylist()
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        [{"threadId": "a", "messages": "[]"}, {"threadId": "b", "messages": "[]", "note": "kept"}],
        [*({"threadId": "a", "messages": "[]"} for _ in range(300)), {"threadId": "b", "tenant": "kept"}],
        [{"threadId": "a", "messages": "[[["}, {"threadId": "b", "messages": '"text"'}],
        [],
    ],
    ids=["a value in the second row", "a value in the second batch", "not JSON", "no rows"],
)
def test_rows_keep_every_column(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    from pyarrow import parquet

    folder = parquet_file(tmp_path / "in", rows)
    given = parquet.read_table(folder / "a.parquet").to_pylist()
    assert rewritten(folder, bulk.erase) == given


def test_the_first_rows_cannot_take_what_later_rows_become(tmp_path: Path) -> None:
    events = stream("t")["events"]
    rows = [{"threadId": "t", "events": "[]"}] * 300 + [{"threadId": "t", "events": json.dumps(events)}]
    found = rewritten(parquet_file(tmp_path / "in", rows), bulk.reduce)
    assert json.loads(found[-1]["messages"])[0]["role"] == "reasoning"
    assert [row["events"] for row in found] == ["[]"] * 300 + [None]


def numbered_late(thread: dict[str, Any]) -> bulk.Done:
    """Add a member to one of the later threads only."""
    return bulk.Done(thread | ({"late": 1} if thread["threadId"] == "t-299" else {}))


def test_a_column_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    rows = [{"threadId": f"t-{at}", "messages": "[]"} for at in range(300)]
    with pytest.raises(ConfigurationError) as caught:
        rewritten(parquet_file(tmp_path / "in", rows), numbered_late)
    assert caught.value.code == "bad_part"
    assert os.listdir(tmp_path / "in-out") == []


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    folder = parquet_file(tmp_path / "in", [])
    (folder / "a.parquet").write_bytes(b"PAR1nonsensePAR1")
    with pytest.raises(ConfigurationError) as caught:
        rewritten(folder, bulk.erase)
    assert caught.value.code == "bad_part"


def test_text_of_parquet_that_is_not_utf8_is_said(tmp_path: Path) -> None:
    folder = parquet_file(tmp_path / "in", [{"threadId": "t", "messages": "[]", "title": "marked"}])
    path = folder / "a.parquet"
    path.write_bytes(path.read_bytes().replace(b"marked", b"mar\xff\xfed"))
    with pytest.raises(ConfigurationError) as caught:
        rewritten(folder, bulk.erase)
    assert (caught.value.code, os.listdir(tmp_path / "in-out")) == ("bad_part", [])


def test_threads_in_columns_of_bytes_are_read(tmp_path: Path) -> None:
    """Many writers do not mark columns as text."""
    pyarrow = pytest.importorskip("pyarrow", reason="the extra bulk is not installed")
    from pyarrow import parquet

    messages = [{"id": "r", "role": "reasoning", "content": "Rain."}]
    row = {"threadId": "t", "messages": json.dumps(messages).encode()}
    (tmp_path / "in").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "in" / "a.parquet")
    (found,) = rewritten(tmp_path / "in", bulk.erase)
    assert found == {"threadId": "t", "messages": "[]"}


def test_a_column_that_is_not_json_is_said(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra bulk is not installed")
    from pyarrow import parquet

    (tmp_path / "in").mkdir()
    rows = [{"threadId": "t", "messages": [{"content": b"\xff"}]}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "in" / "a.parquet")
    with pytest.raises(ConfigurationError) as caught:
        rewritten(tmp_path / "in", bulk.erase)
    assert (caught.value.code, os.listdir(tmp_path / "in-out")) == ("bad_part", [])


def damaged(data: bytes, seed: int) -> bytes:
    """Some bytes changed, left out or repeated, half of them in the footer, which describes the rest."""
    chosen, made = random.Random(seed), bytearray(data)
    for _ in range(chosen.choice([1, 1, 2, 4, 16])):
        at = chosen.randrange(len(made) * 2 // 3 if chosen.random() < 0.5 else 0, len(made))
        made[at : at + chosen.choice([0, 1, 1, 1, 8])] = chosen.choice(
            [chosen.randbytes(1), b"", bytes(made[:9]), b"\xff"]
        )
    return bytes(made)


def outcomes(folder: Path, seeds: range) -> Counter[str]:
    """What comes of files that are damaged, in a process of its own."""
    found, whole = Counter[str](), (folder / "a.parquet").read_bytes()
    for seed in seeds:
        (folder / "b.parquet").write_bytes(damaged(whole, seed))
        try:
            bulk.run([bulk.Part(f"{folder}/b.parquet", f"{folder}/out/{seed}.parquet")], bulk.erase)
            found["read"] += 1
        except ConfigurationError as error:
            found[error.code] += 1
    return found


def test_no_damage_of_parquet_raises_another_error(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Nor ends the process, which pyarrow's own code could do."""
    row = {
        "threadId": "t",
        "messages": '[{"id":"u","role":"user","content":"Umbrella?"}]',
        "title": "Weather",
    }
    folder = parquet_file(tmp_path / "in", [row, row | {"title": None}])
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(outcomes, folder, range(1_000)).result(timeout=120)
    assert {*found} == {"read", "bad_part"}
    record_property("times", found.total())


@pytest.mark.parametrize(
    "names",
    [
        ["a/x.jsonl", "b/x.jsonl"],
        ["a/x.jsonl", "b/x.jsonl.report.json"],
        ["a/secret::x.jsonl"],
        ["a/memory::x.jsonl"],
    ],
    ids=["same name", "name of a report", "another file", "another system"],
)
def test_names_that_lead_elsewhere_are_refused(names: list[str], tmp_path: Path) -> None:
    for name in ["a/secret", *names]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        bulk.parts(f"{tmp_path}/*/*x.jsonl*", str(tmp_path / "out"))
    assert caught.value.code == "bad_part"


@pytest.mark.parametrize(
    "name", ["..jsonl", "a*b?.jsonl", "[a].jsonl", "a\nb.jsonl", "-x.jsonl", "%2e.jsonl"]
)
def test_odd_names_stay_in_the_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text('{"messages":[]}\n', encoding="utf-8")
    bulk.run(bulk.parts(f"{tmp_path}/in/*", str(tmp_path / "out")), bulk.erase)
    assert sorted(os.listdir(tmp_path / "out")) == sorted([name, f"{name}.report.json"])
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_a_link_at_the_target_is_replaced_and_not_followed(tmp_path: Path) -> None:
    source = write(tmp_path / "in", thread, 1, 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").write_text("mine", encoding="utf-8")
    for name in ("part-0.jsonl", "part-0.jsonl.report.json"):
        (tmp_path / "out" / name).symlink_to(tmp_path / ("elsewhere" if name.endswith("l") else "none"))
    bulk.run(bulk.parts(source, str(tmp_path / "out")), bulk.erase)
    assert (tmp_path / "elsewhere").read_text("utf-8") == "mine"
    assert not (tmp_path / "none").exists()


def test_object_stores_are_given_whole_objects(tmp_path: Path, ring: Callable[[KeyRing], None]) -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra bulk is not installed")
    source = write(tmp_path / "in", thread, 2, 3)
    ring(NEW)
    target = f"memory://{tmp_path.name}"
    assert bulk.run(bulk.parts(source, target), bulk.rekey).counts == {"rekeyed": 6}
    assert len(fsspec.filesystem("memory").ls(f"/{tmp_path.name}")) == 4
    assert bulk.run(bulk.parts(f"{target}/*.jsonl"), bulk.audit).counts == {"restored": 6}


# -- engines


def test_a_second_start_goes_on_where_the_first_was_killed(
    tmp_path: Path, ring: Callable[[KeyRing], None]
) -> None:
    source, out = write(tmp_path / "in", thread), tmp_path / "out"
    ring(NEW)
    worker = multiprocessing.get_context("spawn").Process(
        target=bulk.run, args=(bulk.parts(source, str(out)), slow_rekey)
    )
    worker.start()
    while len(list(out.glob("*.report.json"))) < 2:
        time.sleep(0.02)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("*.report.json")}
    summary = bulk.run(bulk.parts(source, str(out)), bulk.rekey)
    assert summary == bulk.Summary(PARTS, PARTS * THREADS, {"rekeyed": PARTS * THREADS})
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    expect_every_thread_once(out)


def test_a_process_pool(tmp_path: Path, ring: Callable[[KeyRing], None]) -> None:
    source = write(tmp_path / "in", thread)
    ring(NEW)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        summary = bulk.run(bulk.parts(source, str(tmp_path / "out")), bulk.rekey, map=pool.map)
    assert summary.counts == {"rekeyed": PARTS * THREADS}
    expect_every_thread_once(tmp_path / "out")


@pytest.mark.slow
def test_a_dask_cluster_with_a_worker_that_is_killed(tmp_path: Path, ring: Callable[[KeyRing], None]) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra bulk is not installed")
    source = write(tmp_path / "in", thread)
    ring(NEW)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):

        def mapped(function: Any, parts: Iterable[Any]) -> Any:
            futures = client.map(function, list(parts), pure=False)
            while not list((tmp_path / "out").glob("*.report.json")):
                time.sleep(0.02)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            return client.gather(futures)

        summary = bulk.run(bulk.parts(source, str(tmp_path / "out")), slow_rekey, map=mapped)
    assert summary == bulk.Summary(PARTS, PARTS * THREADS, {"rekeyed": PARTS * THREADS})
    expect_every_thread_once(tmp_path / "out")


@pytest.mark.slow
def test_ray(tmp_path: Path, ring: Callable[[KeyRing], None]) -> None:
    pytest.importorskip("ray", reason="Ray is not installed here")
    from ray.util.multiprocessing import Pool

    source = write(tmp_path / "in", thread)
    ring(NEW)
    with Pool(2) as pool:
        summary = bulk.run(bulk.parts(source, str(tmp_path / "out")), bulk.rekey, map=pool.map)
    assert summary.counts == {"rekeyed": PARTS * THREADS}
    expect_every_thread_once(tmp_path / "out")


def expect_every_thread_once(folder: Path) -> None:
    names = Counter(one["threadId"] for one in read(folder))
    assert names == Counter(f"t-{part}-{at}" for part in range(PARTS) for at in range(THREADS))
    left = {path.name for path in folder.iterdir()}
    assert left == {f"part-{part}.jsonl{end}" for part in range(PARTS) for end in ("", ".report.json")}


def test_memory_does_not_grow_with_the_parts(tmp_path: Path, ring: Callable[[KeyRing], None]) -> None:
    import tracemalloc

    peaks = []
    for threads in (50, 500):
        source = write(tmp_path / f"in-{threads}", thread, 1, threads)
        tracemalloc.start()
        bulk.run(bulk.parts(source, str(tmp_path / f"out-{threads}")), bulk.erase)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000_000
