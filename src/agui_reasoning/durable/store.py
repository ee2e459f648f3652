"""What a store of runs does. Write your own for another database, as the guide to durable runs shows.

A store knows no thread, tenant or event: addresses are opaque names, heads, labels and entries opaque bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

__all__ = ["Begin", "Found", "Listed", "LogEntry", "RunStore", "Standing", "Tail"]


class Begin(Struct, frozen=True, kw_only=True):
    """A run that begins.

    Attributes:
        run: Its name in the store, unique.
        threads: The addresses of its thread, one per key. The first is the one to store.
        owner: The address of the tenant.
        head: What the thread held before the run.
        label: What lists show of the thread, a few hundred bytes.
        lease_s: Seconds within which the worker renews its lease.
        retention_s: Seconds after the last entry for which the thread is kept.
    """

    run: str
    threads: Sequence[str]
    owner: str
    head: bytes
    label: bytes
    lease_s: float
    retention_s: float


class LogEntry(Struct, frozen=True):
    """The next entry of a run's log.

    Attributes:
        run: The name of the run.
        place: Its number, from 0.
        data: Its bytes.
        last: Whether the run has ended.
        retention_s: Seconds for which the thread is kept from now on.
    """

    run: str
    place: int
    data: bytes
    last: bool
    retention_s: float


class Found(Struct, frozen=True):
    """The newest run of a thread.

    Attributes:
        run: Its name in the store.
        head: What the thread held before the run.
        running: Whether it has not ended, and its worker's lease is valid.
    """

    run: str
    head: bytes
    running: bool


class Listed(Struct, frozen=True):
    """The newest run of a thread, in a list.

    Attributes:
        run: Its name in the store.
        label: What the list shows of the thread.
        running: Whether it has not ended, and its worker's lease is valid.
        updated_s: The Unix time of its newest entry, in seconds.
    """

    run: str
    label: bytes
    running: bool
    updated_s: float


class Tail(Struct, frozen=True):
    """Entries of a log.

    Attributes:
        entries: The entries from the given place on; may be only the first of many.
        ended: Whether the newest of these is the last of the run.
        alive: Whether a worker holds the lease of the run; ``False`` also if the run is unknown.
    """

    entries: Sequence[bytes]
    ended: bool
    alive: bool


class Standing(Struct, frozen=True):
    """What a worker learns when it renews a lease.

    Attributes:
        stop: Whether the run shall stop.
        unwatched_s: Seconds since someone last read the log.
    """

    stop: bool
    unwatched_s: float


class RunStore(Protocol):
    """Stores the logs of runs. Several processes share one store.

    Methods raise ``TransportError`` with the code ``store_unavailable`` if the database cannot be used.
    """

    async def begin(self, begin: Begin) -> str | None:
        """Make a run the newest of its thread, atomically, unless one is running at any of its addresses.

        Returns:
            The name of the run that is running instead; ``None`` if the run has begun.
        """

    async def append(self, entries: Sequence[LogEntry]) -> Sequence[bool]:
        """Append to several logs.

        Returns:
            For each entry, whether it was appended: not if its run is unknown or has ended, or if its place
            is not the next one.
        """

    async def read(self, run: str, place: int) -> Tail:
        """Return entries of a log, from a place on."""

    async def wait(self, run: str, place: int, timeout_s: float) -> None:
        """Wait until a log has an entry at a place, but not longer than the time limit. May return early."""

    async def find(self, threads: Sequence[str]) -> Found | None:
        """Return the newest run at any of these addresses."""

    async def list(self, owners: Sequence[str]) -> Sequence[Listed]:
        """Return the newest runs of all threads of an owner, the newest first."""

    async def renew(self, runs: Sequence[str], lease_s: float) -> Mapping[str, Standing]:
        """Renew the leases of runs; those that are unknown or have ended are missing from the result."""

    async def look(self, runs: Sequence[str]) -> Mapping[str, Standing]:
        """Like `renew`, without renewing."""

    async def watch(self, run: str) -> None:
        """Note that someone reads the log."""

    async def stop(self, run: str) -> None:
        """Ask the worker of a run to stop it."""

    async def erase(self, threads: Sequence[str]) -> None:
        """Delete everything that is stored at these addresses."""

    async def aclose(self) -> None:
        """Close the connections."""
