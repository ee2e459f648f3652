"""The log of one run, as its worker and its readers use it, and how it is sealed."""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import anyio

from agui_reasoning._strict_json import dump
from agui_reasoning.crypto import Binding, KeyRing
from agui_reasoning.durable.store import LogEntry, RunStore
from agui_reasoning.errors import AGUIReasoningError

_PIECE: Final = 8 * 1024 * 1024
"""The bytes that one token holds, fewer than it can."""

_RECENT: Final = 256 * 1024
"""The bytes of the newest entries that a worker keeps for the readers of its own process."""

_logger = logging.getLogger("agui_reasoning")


class Seal:
    """Encrypts the log of one thread, if there are keys; bound to tenant, thread, run and place.

    Addresses are HMACs under every key of the ring, so that rotation of the keys loses no thread, and a
    database shows neither tenants nor thread IDs.
    """

    def __init__(self, keys: KeyRing | None, tenant: str, thread_id: str) -> None:
        self._keys = keys
        self.tenant = tenant
        self.thread_id = thread_id

    def threads(self) -> Sequence[str]:
        """Return the addresses of the thread, the one under the primary key first."""
        return _addresses(self._keys, "thread", self.tenant, self.thread_id)

    def close(self, run: str, place: int | str, data: bytes) -> bytes:
        """Seal an entry, in pieces if it is too long for one token."""
        if self._keys is None:
            return data
        pieces = [data[at : at + _PIECE] for at in range(0, len(data), _PIECE)] or [data]
        bindings = self._bindings(run, place, len(pieces))
        return "\n".join(map(self._keys.encrypt, pieces, bindings)).encode()

    def open(self, run: str, place: int | str, data: bytes) -> bytes:
        """Open an entry.

        Raises:
            DecryptionError: It was sealed for another place, or with a key that is no longer in the ring.
        """
        if self._keys is None:
            return data
        pieces = data.decode("ascii", "replace").split("\n")
        return b"".join(map(self._keys.decrypt, pieces, self._bindings(run, place, len(pieces))))

    def _bindings(self, run: str, place: int | str, pieces: int) -> Iterator[Binding]:
        for piece in range(1, pieces + 1):
            entity = f"{run}/{place}" if pieces == 1 else f"{run}/{place}/{piece}/{pieces}"
            yield Binding(self.thread_id, tenant=self.tenant, entity_id=entity)


def owners(keys: KeyRing | None, tenant: str) -> Sequence[str]:
    """Return the addresses of a tenant, the one under the primary key first."""
    return _addresses(keys, "tenant", tenant)


def _addresses(keys: KeyRing | None, *name: str) -> Sequence[str]:
    text = dump(list(name)).encode()
    if keys is None:
        return [hashlib.sha256(text).hexdigest()]
    return keys.blind_indexes(text)


class Recent:
    """The newest entries of a run that this process works on, in clear, for readers of the same process."""

    def __init__(self) -> None:
        self._entries: deque[bytes] = deque()
        self._bytes = 0
        self.next = 0
        """The place of the next entry."""
        self.ended = False
        self.broken = False
        """Whether the store took no more."""
        self._grown = anyio.Event()

    def add(self, data: bytes) -> None:
        """Keep an entry that is in the log, and wake the readers."""
        self._entries.append(data)
        self._bytes += len(data)
        while self._bytes > _RECENT and len(self._entries) > 1:
            self._bytes -= len(self._entries.popleft())
        self.next += 1
        self.wake()

    def end(self, *, broken: bool = False) -> None:
        """Tell the readers that nothing more will come from here."""
        self.ended, self.broken = True, broken
        self.wake()

    def wake(self) -> None:
        """Wake the readers."""
        self._grown.set()
        self._grown = anyio.Event()

    def since(self, place: int) -> list[bytes] | None:
        """Return the entries from a place on; ``None`` if the first is no longer here."""
        count = self.next - place
        if count > len(self._entries):
            return None
        return [self._entries[at] for at in range(len(self._entries) - count, len(self._entries))]

    async def wait(self, place: int, timeout_s: float) -> None:
        """Wait until there is an entry at a place."""
        grown = self._grown
        if self.next <= place and not self.ended:
            with anyio.move_on_after(timeout_s):
                await grown.wait()


class Log:
    """The log of one run."""

    def __init__(
        self,
        store: RunStore,
        seal: Seal,
        run: str,
        *,
        retention_s: float,
        watch_s: float,
        recent: Recent | None = None,
    ) -> None:
        self._store = store
        self._seal = seal
        self._run = run
        self._retention_s = retention_s
        self.watch_s = watch_s
        """Seconds after which a reader says again that it reads."""
        self._recent = recent

    @property
    def thread_id(self) -> str:
        """The ID of the thread."""
        return self._seal.thread_id

    async def read(self, place: int) -> tuple[list[bytes], bool]:
        """Return the entries from a place on, and whether more may come.

        Raises:
            TransportError: The store cannot be used (``store_unavailable``).
        """
        recent = self._local()
        if recent is not None and (entries := recent.since(place)) is not None:
            return entries, True
        tail = await self._store.read(self._run, place)
        opened = [self._seal.open(self._run, place + at, data) for at, data in enumerate(tail.entries)]
        return opened, tail.alive and not self.is_broken

    @property
    def is_broken(self) -> bool:
        """Whether the run was ended because the store took no more."""
        return self._recent is not None and self._recent.broken

    async def has(self, place: int) -> bool:
        """Return whether there is an entry at a place."""
        recent = self._local()
        if recent is not None:
            return recent.next > place
        return bool((await self._store.read(self._run, place)).entries)

    async def wait(self, place: int, timeout_s: float) -> None:
        """Wait until there is an entry at a place, but not longer than the time limit."""
        recent = self._local()
        await (
            self._store.wait(self._run, place, timeout_s) if recent is None else recent.wait(place, timeout_s)
        )

    async def watch(self) -> None:
        """Note that someone reads the log."""
        await self._store.watch(self._run)

    async def end(self, place: int, data: bytes) -> bool:
        """Append the last entry for a worker that is gone; return whether that succeeded."""
        entry = LogEntry(self._run, place, self._seal.close(self._run, place, data), True, self._retention_s)
        return all(await self._store.append([entry]))

    def report(self, error: AGUIReasoningError) -> None:
        """Log what ended the stream of a reader."""
        _logger.error("A stream of a durable run was ended: %s", error)

    def report_end(self, code: str) -> None:
        """Log that a reader has ended the log."""
        _logger.error("A durable run was ended for its readers, because its worker is gone (%s).", code)

    def _local(self) -> Recent | None:
        recent = self._recent
        return None if recent is None or recent.ended else recent
