"""A gateway under load: provider, server and clients on this machine, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

__all__ = ["AVAILABLE", "Clients", "Gateway", "Level", "Streams", "gateway"]

AVAILABLE = Path("/proc/self/statm").exists()
"""Whether the system says how much memory a process has, as Linux does."""

_ROOT = Path(__file__).parents[3]
_SETTLED_S = 30.0
_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class Level:
    """What the process of a server has.

    Attributes:
        rss: The memory that the process has now.
        peak: The most that it had since the last level.
        cpu: The CPU time so far, in seconds.
        files: Open files and sockets.
        tasks: Tasks of the event loop.
        threads: Threads.
        objects: Objects that the garbage collector tracks, after it has run.
        garbage: Objects that only the collector could free since the last level.
    """

    rss: int
    peak: int
    cpu: float
    files: int
    tasks: int
    threads: int
    objects: int
    garbage: int


@dataclass(frozen=True, slots=True)
class Streams:
    """What the clients of some runs saw.

    Attributes:
        faults: What was wrong with a stream, one text each.
        seconds: The duration of each whole stream, in the order of the runs.
        first: The time to the first byte of each.
        wall: The seconds of all.
        cpu: The CPU seconds of the client, which must not be what limits.
        received: Bytes.
    """

    faults: Sequence[str]
    seconds: Sequence[float]
    first: Sequence[float]
    wall: float
    cpu: float
    received: int


class Clients:
    """Clients that stay until they are told to leave."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def leave(self) -> int:
        """Break all connections off; return how many were still open."""
        found, _ = self._process.communicate("leave\n", timeout=60)
        return int(found)


class Gateway:
    """A gateway in another process.

    Attributes:
        url: Its address.
        fresh: What its process had before the first run.
        log: What it has logged.
    """

    def __init__(self, url: str, log: IO[str]) -> None:
        self.url = url
        self._log = log
        self.fresh = self.level()

    @property
    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def level(self) -> Level:
        """Ask the server what it has; it collects garbage first."""
        with urllib.request.urlopen(f"{self.url}/level", timeout=60) as answer:
            return Level(**json.load(answer))

    def settled(self) -> Level:
        """Return the level once files and tasks are no more than before the first run, or some time later."""
        give_up = time.monotonic() + _SETTLED_S
        while True:
            now = self.level()
            if (
                now.files <= self.fresh.files and now.tasks <= self.fresh.tasks
            ) or time.monotonic() > give_up:
                return now
            time.sleep(_POLL_S)

    def run(self, count: int, *, deltas: int, pace: float, at_once: int | None = None) -> Streams:
        """Have some runs, each with an own thread, and verify their streams.

        Args:
            count: How many runs.
            deltas: The pieces of each answer.
            pace: The seconds between two pieces; 0 for as fast as they are taken.
            at_once: How many are open at the same time; by default, all.
        """
        return Streams(**json.loads(self._clients("run", count, deltas, pace, at_once or count)))

    def _clients(self, *arguments: object) -> str:
        command = [*_python("client", self.url), *map(str, arguments)]
        return subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout

    def slow(self, count: int, *, deltas: int) -> AbstractContextManager[Clients]:
        """Have clients that read a byte each second, from answers that are longer than what is buffered."""
        return self._staying("slow", count, deltas)

    def flood(self, count: int) -> AbstractContextManager[Clients]:
        """Have clients that have one run after the other, of a provider that never waits."""
        return self._staying("flood", count, 20_000, 0)

    def inputs(self, count: int, *, megabytes: int) -> AbstractContextManager[Clients]:
        """Have clients that send a long thread again and again."""
        return self._staying("flood", count, 4, megabytes)

    @contextmanager
    def _staying(self, *arguments: object) -> Iterator[Clients]:
        command = [*_python("client", self.url), *map(str, arguments)]
        with _started(command, stdin=subprocess.PIPE) as process:
            assert _line(process) == "ready"
            yield Clients(process)


@contextmanager
def gateway(**options: Any) -> Iterator[Gateway]:
    """A gateway in front of a provider, both in processes of their own.

    Args:
        options: ``hidden``, whether reasoning is hidden and encrypted; ``store``, the file of durable runs.
    """
    with ExitStack() as stack:
        provider = stack.enter_context(_started(_python("provider")))
        log = stack.enter_context(TemporaryFile("w+"))
        asked = json.dumps({"provider": _line(provider), **options})
        server = stack.enter_context(_started(_python("server", asked), stderr=log))
        yield Gateway(_line(server), log)


def _python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"{__name__}.{module}", *arguments]


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def _started(command: Sequence[str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, **more)
    with process:
        try:
            yield process
        finally:
            process.terminate()
