"""Runs in an SQLite database: for one machine, and any number of its processes."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread

from agui_reasoning.durable._log import damaged
from agui_reasoning.durable.store import Begin, Found, Listed, LogEntry, Standing, Tail
from agui_reasoning.errors import TransportError

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS threads (
    thread TEXT PRIMARY KEY, owner TEXT NOT NULL, run TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS threads_of_owner ON threads (owner);
CREATE INDEX IF NOT EXISTS threads_by_run ON threads (run);
CREATE TABLE IF NOT EXISTS runs (
    run TEXT PRIMARY KEY, previous TEXT, label BLOB NOT NULL, entries INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0, stop INTEGER NOT NULL DEFAULT 0,
    lease REAL NOT NULL, watched REAL NOT NULL, updated REAL NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_that_expire ON runs (expires);
CREATE TABLE IF NOT EXISTS entries (
    run TEXT NOT NULL, place INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, place)
) WITHOUT ROWID;
"""

_SHORTEN: Final = "UPDATE runs SET lease = min(lease, ?) WHERE run = ?"
_STOP: Final = "UPDATE runs SET lease = min(lease, ?), stop = 1 WHERE run = ?"

_HEAD: Final = -1
"""The place of heads among the entries: in the row of a run, each change of it would write them again."""

_POLL_S: Final = 0.015
"""How often it is checked whether another process has written."""

_BUSY_S: Final = 5.0
"""How long a process waits for another that writes."""

_GRACE_S: Final = 60.0
"""How long the log of a run is kept after the next run of its thread began, for slow readers."""

_SEEN_S: Final = 60.0
"""How long the worker of a run that shall stop keeps its lease: it notices within a second, or is gone."""

_AT_ONCE: Final = 1000
"""The number of entries that are read at once."""

_T = TypeVar("_T")


class SQLiteRuns:
    """Keeps runs in a file, in write-ahead mode; fast enough for hundreds of runs at once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open or create the database.

        Args:
            path: The file; SQLite puts two more beside it. It must not be on a network drive.

        Raises:
            TransportError: The file cannot be used (``store_unavailable``).
        """
        self._path = os.fspath(path)
        self._writer = anyio.CapacityLimiter(1)
        self._reader = anyio.CapacityLimiter(1)
        self._one_writes, self._one_reads = Lock(), Lock()
        with _explained():
            self._writing = self._connected()
            self._writing.execute("PRAGMA journal_mode = WAL")
            self._writing.executescript(_SCHEMA)
            self._reading = self._connected()
            self._changes = _Changes(self._connected())

    def __repr__(self) -> str:
        return f"SQLiteRuns({self._path!r})"

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        # A process that is killed loses nothing; a machine that loses power may lose what it wrote last.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    # -- writing

    async def begin(self, begin: Begin) -> str | None:
        """See `RunStore`."""
        return await self._write(lambda: self._begin(begin))

    def _begin(self, begin: Begin) -> str | None:
        now = time.time()
        self._purge(now)
        run = None
        for thread, run, ended, lease, expires in self._runs_of(self._writing, begin.threads):
            if not ended and lease >= now and expires >= now:
                # A clock that was ahead may have set the lease of one that is gone; others renew it earlier.
                self._writing.execute(_SHORTEN, (now + 4 * begin.lease_s, run))
                return str(run)
            self._writing.execute(
                "UPDATE runs SET expires = min(expires, ?) WHERE run = ?", (now + _GRACE_S, run)
            )
            self._writing.execute("DELETE FROM threads WHERE thread = ?", (thread,))
        self._writing.execute(
            "INSERT INTO threads (thread, owner, run) VALUES (?, ?, ?)",
            (begin.threads[0], begin.owner, begin.run),
        )
        self._writing.execute(
            "INSERT INTO runs (run, previous, label, lease, watched, updated, expires)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (begin.run, run, begin.label, now + begin.lease_s, now, now, now + begin.retention_s),
        )
        self._insert(begin.run, _HEAD, begin.head)
        return None

    async def append(self, entries: Sequence[LogEntry]) -> Sequence[bool]:
        """See `RunStore`."""
        kept = await self._write(lambda: [self._append(entry) for entry in entries])
        self._changes.tell()
        return kept

    def _append(self, entry: LogEntry) -> bool:
        now = time.time()
        changed = self._writing.execute(
            "UPDATE runs SET entries = entries + 1, ended = ?, updated = ?, expires = ?"
            " WHERE run = ? AND entries = ? AND NOT ended",
            (entry.last, now, now + entry.retention_s, entry.run, entry.place),
        )
        if changed.rowcount == 0:
            return False
        self._insert(entry.run, entry.place, entry.data)
        return True

    def _insert(self, run: str, place: int, data: bytes) -> None:
        self._writing.execute("INSERT INTO entries VALUES (?, ?, ?)", (run, place, data))

    async def renew(self, runs: Sequence[str], lease_s: float) -> Mapping[str, Standing]:
        """See `RunStore`."""
        until = time.time() + lease_s
        await self._update("UPDATE runs SET lease = ? WHERE run = ?", *((until, run) for run in runs))
        return await self.look(runs)

    async def watch(self, run: str) -> None:
        """See `RunStore`."""
        await self._update("UPDATE runs SET watched = ? WHERE run = ?", (time.time(), run))

    async def stop(self, run: str) -> None:
        """See `RunStore`."""
        await self._update(_STOP, (time.time() + _SEEN_S, run))

    async def _update(self, statement: str, *rows: tuple[Any, ...]) -> None:
        await self._write(lambda: self._writing.executemany(statement, rows))

    async def erase(self, threads: Sequence[str]) -> None:
        """See `RunStore`."""
        await self._write(lambda: self._erase(threads))

    def _erase(self, threads: Sequence[str]) -> None:
        for thread, run, *_ in self._runs_of(self._writing, threads):
            self._writing.execute("DELETE FROM threads WHERE thread = ?", (thread,))
            self._delete(run)

    def _purge(self, now: float) -> None:
        expired = self._writing.execute("SELECT run FROM runs WHERE expires < ?", (now,)).fetchall()
        for (run,) in expired:
            self._writing.execute("DELETE FROM threads WHERE run = ?", (run,))
            self._delete(run)

    def _delete(self, run: str | None) -> None:
        """Delete a run, and those of its thread before it that are left."""
        while run is not None:
            found = self._writing.execute("SELECT previous FROM runs WHERE run = ?", (run,)).fetchone()
            for table in ("entries", "runs"):
                self._writing.execute(f"DELETE FROM {table} WHERE run = ?", (run,))  # noqa: S608 -- our own
            run = None if found is None else found[0]

    async def _write(self, change: Callable[[], _T]) -> _T:
        def transaction() -> _T:
            # A task that asyncio cancels leaves its thread writing, and the limiter to the next.
            with self._one_writes, _explained(), _transaction(self._writing):
                return change()

        return await anyio.to_thread.run_sync(transaction, limiter=self._writer)

    # -- reading

    async def read(self, run: str, place: int) -> Tail:
        """See `RunStore`."""
        return await self._read(lambda: self._tail(run, place))

    def _tail(self, run: str, place: int) -> Tail:
        with _transaction(self._reading, "DEFERRED"):
            standing = self._reading.execute(
                "SELECT ended, lease, entries FROM runs WHERE run = ?", (run,)
            ).fetchone()
            if standing is None:
                return Tail([], ended=False, alive=False)
            rows = self._reading.execute(
                "SELECT data, place FROM entries WHERE run = ? AND place >= ? ORDER BY place LIMIT ?",
                (run, place, _AT_ONCE),
            ).fetchall()
        if rows and rows[-1][1] != place + len(rows) - 1:
            raise damaged()
        ended, lease, entries = standing
        is_whole = place + len(rows) >= entries
        return Tail(
            [data for data, _ in rows],
            ended=bool(ended) and is_whole,
            alive=not ended and lease >= time.time(),
        )

    async def wait(self, run: str, place: int, timeout_s: float) -> None:
        """See `RunStore`."""
        await self._changes.wait(run, place, timeout_s)

    async def find(self, threads: Sequence[str]) -> Found | None:
        """See `RunStore`."""
        return await self._read(lambda: self._find(threads))

    def _find(self, threads: Sequence[str]) -> Found | None:
        now = time.time()
        for _, run, ended, lease, expires in self._runs_of(self._reading, threads):
            if expires >= now:
                head = self._reading.execute(
                    "SELECT data FROM entries WHERE run = ? AND place = ?", (run, _HEAD)
                ).fetchone()
                if head is None:
                    raise damaged()
                return Found(run, head[0], running=not ended and lease >= now)
        return None

    async def list(self, owners: Sequence[str]) -> Sequence[Listed]:
        """See `RunStore`."""
        return await self._read(lambda: self._list(owners))

    def _list(self, owners: Sequence[str]) -> Sequence[Listed]:
        now, marks = time.time(), ",".join("?" * len(owners))
        rows = self._reading.execute(
            "SELECT run, label, ended, lease, updated FROM threads JOIN runs USING (run)"  # noqa: S608
            f" WHERE owner IN ({marks}) AND expires >= ? ORDER BY updated DESC",
            (*owners, now),
        )
        return [
            Listed(run, label, running=not ended and lease >= now, updated_s=updated)
            for run, label, ended, lease, updated in rows
        ]

    async def look(self, runs: Sequence[str]) -> Mapping[str, Standing]:
        """See `RunStore`."""
        return await self._read(lambda: self._look(runs))

    def _look(self, runs: Sequence[str]) -> Mapping[str, Standing]:
        now = time.time()
        marks = ",".join("?" * len(runs))
        rows = self._reading.execute(
            f"SELECT run, stop, watched FROM runs WHERE NOT ended AND run IN ({marks})",  # noqa: S608
            tuple(runs),
        )
        return {run: Standing(bool(stop), now - watched) for run, stop, watched in rows}

    async def _read(self, query: Callable[[], _T]) -> _T:
        def explained() -> _T:
            with self._one_reads, _explained():
                return query()

        return await anyio.to_thread.run_sync(explained, limiter=self._reader)

    @staticmethod
    def _runs_of(connection: sqlite3.Connection, threads: Sequence[str]) -> Sequence[tuple[Any, ...]]:
        marks = ",".join("?" * len(threads))
        return connection.execute(
            "SELECT thread, run, ended, lease, expires FROM threads JOIN runs USING (run)"  # noqa: S608
            f" WHERE thread IN ({marks})",
            tuple(threads),
        ).fetchall()

    async def aclose(self) -> None:
        """See `RunStore`."""
        async with self._writer, self._reader:
            for connection in (self._writing, self._reading, self._changes.connection):
                connection.close()


class _Changes:
    """Notices that a process has written. Its queries take microseconds, so it needs no thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._changed = anyio.Event()
        self._version = -1
        self._polls = False

    def tell(self) -> None:
        """Wake everyone who waits."""
        self._changed.set()
        self._changed = anyio.Event()

    async def wait(self, run: str, place: int, timeout_s: float) -> None:
        """Wait until a log may have an entry at a place, but not longer than the time limit."""
        changed = self._changed
        if self._has(run, place):
            return
        with anyio.move_on_after(timeout_s):
            if self._polls:
                await changed.wait()
            else:
                await self._poll(changed)

    async def _poll(self, changed: anyio.Event) -> None:
        """Look for everyone who waits."""
        self._polls = True
        try:
            while not changed.is_set() and not self._written_elsewhere():
                await anyio.sleep(_POLL_S)
        finally:
            self._polls = False
            self.tell()

    def _has(self, run: str, place: int) -> bool:
        with _explained():
            row = self.connection.execute("SELECT entries FROM runs WHERE run = ?", (run,)).fetchone()
        return row is None or row[0] > place

    def _written_elsewhere(self) -> bool:
        with _explained():
            (version,) = self.connection.execute("PRAGMA data_version").fetchone()
        known, self._version = self._version, version
        return bool(known != version)


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _explained() -> Iterator[None]:
    """Raise what goes wrong in the database as `TransportError`."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None) or type(error).__name__
        raise TransportError(
            f"The database of the runs cannot be used ({name}).",
            code="store_unavailable",
            hint="Check that the file is writable, and that its disk is not full.",
        ) from None
