"""Runs in Redis: for several machines. A log is a stream, whose IDs are the places of its entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from agui_reasoning.durable._log import damaged
from agui_reasoning.durable.store import Begin, Found, Listed, LogEntry, Standing, Tail
from agui_reasoning.errors import ConfigurationError, MissingExtraError, TransportError

_NOW: Final = """
local time = redis.call('TIME')
local now = string.format('%.3f', time[1] + time[2] / 1000000)
"""

_BEGIN: Final = f"""{_NOW}
local run, head, owner, lease, keep, grace, prefix, label = unpack(ARGV)
local previous = ''
for place = 2, #KEYS do
    local other = redis.call('GET', KEYS[place])
    if other then
        local name = prefix .. 'run:' .. other
        if redis.call('EXISTS', name .. ':lease') == 1 and redis.call('HGET', name, 'ended') == '0' then
            return other
        end
        previous = other
        redis.call('DEL', KEYS[place])
        redis.call('ZREM', KEYS[1], other)
        for _, key in ipairs({{name, name .. ':log'}}) do
            if redis.call('PTTL', key) > tonumber(grace) then redis.call('PEXPIRE', key, grace) end
        end
    end
end
local name = prefix .. 'run:' .. run
redis.call('SET', KEYS[2], run, 'PX', keep)
redis.call('HSET', name, 'head', head, 'label', label, 'thread', KEYS[2], 'owner', KEYS[1],
    'previous', previous, 'ended', 0, 'stop', 0, 'entries', 0, 'updated', now, 'watched', now)
redis.call('PEXPIRE', name, keep)
redis.call('SET', name .. ':lease', 1, 'PX', lease)
redis.call('ZADD', KEYS[1], now, run)
redis.call('PEXPIRE', KEYS[1], keep)
return false
"""

_APPEND: Final = f"""{_NOW}
local run, log = KEYS[1], KEYS[2]
local place, data, last, keep = unpack(ARGV)
local known = redis.call('HMGET', run, 'ended', 'entries', 'thread', 'owner')
if known[1] ~= '0' or known[2] ~= place then return 0 end
redis.call('XADD', log, '0-' .. (tonumber(place) + 1), 'data', data)
redis.call('HSET', run, 'entries', tonumber(place) + 1, 'ended', last, 'updated', now)
for _, key in ipairs({{run, log, known[3]}}) do redis.call('PEXPIRE', key, keep) end
if redis.call('PTTL', known[4]) < tonumber(keep) then redis.call('PEXPIRE', known[4], keep) end
if last == '1' then redis.call('DEL', run .. ':lease') end
return 1
"""

_LOOK: Final = f"""{_NOW}
local known = redis.call('HMGET', KEYS[1], 'ended', 'stop', 'watched')
if known[1] ~= '0' then return false end
if ARGV[1] ~= '0' then redis.call('SET', KEYS[1] .. ':lease', 1, 'PX', ARGV[1]) end
return {{tonumber(known[2]), string.format('%.3f', now - known[3])}}
"""

_NOTE: Final = f"""{_NOW}
if redis.call('EXISTS', KEYS[1]) == 0 then return end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[1] == 'stop' and 1 or now)
"""

_GRACE_MS: Final = 60_000
_AT_ONCE: Final = 1000

SILENCE_S: Final = 5.0
"""How long Redis may be silent, in seconds, unless the address says otherwise; older clients set no limit."""


class RedisRuns:
    """Keeps runs in Redis 7 or newer, under asyncio. Needs the extra ``redis``.

    Redis keeps in memory what its configuration does not write to disk, and must not evict keys that expire:
    see the guide to durable runs.
    """

    def __init__(self, url: str, *, prefix: str = "agui-reasoning:") -> None:
        """Connect at the first use.

        Args:
            url: The address, for example ``redis://localhost:6379/0``.
            prefix: The beginning of all keys.

        Raises:
            MissingExtraError: The package ``redis`` is not installed (``missing_extra``).
            ConfigurationError: The address is invalid (``bad_url``).
        """
        try:
            from redis.asyncio import Redis
        except ImportError:
            raise MissingExtraError("agui_reasoning.durable.RedisRuns", "redis") from None
        untyped: Any = Redis  # because its answers have many types
        limits = {"socket_timeout": SILENCE_S, "socket_connect_timeout": SILENCE_S}
        try:
            self._redis = untyped.from_url(url, protocol=2, **limits)
        except ValueError:
            raise ConfigurationError(
                "The address of Redis is invalid.",
                code="bad_url",
                hint="Pass an address such as redis://localhost:6379/0.",
            ) from None
        self._prefix = prefix
        self._begin, self._append, self._look, self._note = (
            self._redis.register_script(script) for script in (_BEGIN, _APPEND, _LOOK, _NOTE)
        )

    def __repr__(self) -> str:
        return f"RedisRuns(prefix={self._prefix!r})"

    def _run(self, run: str) -> str:
        return f"{self._prefix}run:{run}"

    def _log(self, run: str) -> str:
        return f"{self._prefix}run:{run}:log"

    def _threads(self, threads: Sequence[str]) -> list[str]:
        return [f"{self._prefix}thread:{thread}" for thread in threads]

    def _owner(self, owner: str) -> str:
        return f"{self._prefix}owner:{owner}"

    async def begin(self, begin: Begin) -> str | None:
        """See `RunStore`."""
        lease, keep = _ms(begin.lease_s), _ms(begin.retention_s)
        values = [begin.run, begin.head, begin.owner, lease, keep, _GRACE_MS, self._prefix, begin.label]
        with _explained():
            other = await self._begin(
                keys=[self._owner(begin.owner), *self._threads(begin.threads)], args=values
            )
        return None if other is None else other.decode()

    async def append(self, entries: Sequence[LogEntry]) -> Sequence[bool]:
        """See `RunStore`."""
        with _explained():
            async with self._redis.pipeline(transaction=False) as pipeline:
                for entry in entries:
                    await self._append(
                        keys=[self._run(entry.run), self._log(entry.run)],
                        args=[entry.place, entry.data, int(entry.last), _ms(entry.retention_s)],
                        client=pipeline,
                    )
                return [bool(kept) for kept in await pipeline.execute()]

    async def read(self, run: str, place: int) -> Tail:
        """See `RunStore`."""
        with _explained():
            async with self._redis.pipeline(transaction=True) as pipeline:
                pipeline.hmget(self._run(run), "ended", "entries")
                pipeline.exists(f"{self._run(run)}:lease")
                pipeline.xrange(self._log(run), min=f"0-{place + 1}", count=_AT_ONCE)
                (ended, count), leased, rows = await pipeline.execute()
        entries = [members.get(b"data", b"") for _, members in rows]
        if rows and rows[-1][0] != f"0-{place + len(rows)}".encode():
            raise damaged()
        has_ended = ended == b"1"
        return Tail(
            entries,
            ended=has_ended and place + len(entries) >= int(count),
            alive=ended == b"0" and bool(leased),
        )

    async def wait(self, run: str, place: int, timeout_s: float) -> None:
        """See `RunStore`."""
        with _explained():
            await self._redis.xread({self._log(run): f"0-{place}"}, count=1, block=_ms(timeout_s))

    async def find(self, threads: Sequence[str]) -> Found | None:
        """See `RunStore`."""
        with _explained():
            runs = await self._redis.mget(self._threads(threads))
            found = await self._known([run.decode() for run in runs if run is not None], "head")
        return next((Found(run, members[0], running) for run, members, running in found), None)

    async def list(self, owners: Sequence[str]) -> Sequence[Listed]:
        """See `RunStore`."""
        with _explained():
            runs = [
                run.decode()
                for owner in owners
                for run in await self._redis.zrange(self._owner(owner), 0, -1)
            ]
            known = await self._known(runs, "label", "updated", "thread")
            newest = await self._redis.mget([members[2] for _, members, _ in known]) if known else []
            if expired := set(runs) - {run for run, *_ in known}:
                for owner in owners:
                    await self._redis.zrem(self._owner(owner), *expired)
        listed = [
            Listed(run, label, running, float(updated))
            for (run, (label, updated, *_), running), now in zip(known, newest, strict=True)
            if now == run.encode()
        ]
        return sorted(listed, key=lambda one: one.updated_s, reverse=True)

    async def _known(self, runs: Sequence[str], *members: str) -> Sequence[tuple[str, Sequence[Any], bool]]:
        """Return the runs that have not expired, each with members of its hash, and whether it is running."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for run in runs:
                pipeline.hmget(self._run(run), *members, "ended")
                pipeline.exists(f"{self._run(run)}:lease")
            answers = await pipeline.execute() if runs else []
            rows = zip(runs, answers[::2], answers[1::2], strict=True)
            return [
                (run, found, found[-1] == b"0" and bool(leased))
                for run, found, leased in rows
                if found[0] is not None
            ]

    async def renew(self, runs: Sequence[str], lease_s: float) -> Mapping[str, Standing]:
        """See `RunStore`."""
        return await self._standings(runs, _ms(lease_s))

    async def look(self, runs: Sequence[str]) -> Mapping[str, Standing]:
        """See `RunStore`."""
        return await self._standings(runs, 0)

    async def _standings(self, runs: Sequence[str], lease_ms: int) -> Mapping[str, Standing]:
        with _explained():
            async with self._redis.pipeline(transaction=False) as pipeline:
                for run in runs:
                    await self._look(keys=[self._run(run)], args=[lease_ms], client=pipeline)
                answers = await pipeline.execute()
        known = zip(runs, answers, strict=True)
        return {run: Standing(bool(found[0]), float(found[1])) for run, found in known if found is not None}

    async def watch(self, run: str) -> None:
        """See `RunStore`."""
        with _explained():
            await self._note(keys=[self._run(run)], args=["watched"])

    async def stop(self, run: str) -> None:
        """See `RunStore`."""
        with _explained():
            await self._note(keys=[self._run(run)], args=["stop"])

    async def erase(self, threads: Sequence[str]) -> None:
        """See `RunStore`."""
        with _explained():
            for thread in self._threads(threads):
                run = await self._redis.get(thread)
                await self._redis.delete(thread)
                while run:
                    name = self._run(run.decode())
                    owner, previous = await self._redis.hmget(name, "owner", "previous")
                    if owner is not None:
                        await self._redis.zrem(owner, run)
                    await self._redis.delete(name, f"{name}:log", f"{name}:lease")
                    run = previous

    async def aclose(self) -> None:
        """See `RunStore`."""
        with _explained():
            await self._redis.aclose()


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


@contextmanager
def _explained() -> Iterator[None]:
    """Raise what goes wrong with Redis as `TransportError`."""
    from redis.exceptions import RedisError

    try:
        yield
    except (RedisError, OSError) as error:
        raise TransportError(
            f"Redis cannot be used ({type(error).__name__}).",
            code="store_unavailable",
            hint="Check that the server runs, that its address is right, and that it has memory left.",
        ) from None
