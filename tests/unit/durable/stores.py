"""Stores by their address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agui_reasoning.crypto import KeyRing
from agui_reasoning.durable import RedisRuns, Runs, RunStore, SQLiteRuns


def open_store(address: str) -> RunStore:
    """Open a store; several may be open at the same address."""
    if address.startswith("sqlite:"):
        return SQLiteRuns(address.removeprefix("sqlite:"))
    url, _, prefix = address.partition("#")
    return RedisRuns(url, prefix=f"{prefix}:")


@contextmanager
def sqlite_runs(folder: Path, keys: KeyRing | None = None) -> Iterator[Runs]:
    """Runs in a database that is closed in the end, when their event loop is gone."""
    store = SQLiteRuns(folder / "runs.db")
    yield Runs(store, keys=keys)
    for connection in (store._writing, store._reading, store._changes.connection):
        connection.close()
