"""The CPU time that a run costs a server."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Final

from benchmarks.harness import Effort, Figure, Path, Samples, UnavailableError, at_least
from benchmarks.produce import run_input

__all__ = ["PATH"]

_ROOT: Final = FilePath(__file__).parents[1]
_STARTED_WITHIN_S: Final = 60.0
_LOADS: Final = ((20, 1, 0.9), (200, 1, 1.2), (2_000, 1, 1.4), (2_000, 8, 2.0))
"""Deltas per run, payloads per read, and the bound."""
_PER_READ: Final = {1: "one payload", 8: "eight payloads"}
_DELTAS: Final = 20_000
"""The deltas of all runs of a round, so that short runs are measured as long as long ones."""


class _Server:
    def __init__(self, port: int) -> None:
        self._port = port

    def fetch(self, method: str, path: str, body: str | None = None) -> bytes:
        """Make a request on a connection of its own, and read the whole response."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)
        try:
            connection.request(method, path, body, {"content-type": "application/json"})
            return connection.getresponse().read()
        finally:
            connection.close()

    def cpu_seconds(self, path: str, runs: int) -> float:
        """Return the CPU time that the server spends on some runs."""
        body = json.dumps(run_input())
        before = self._cpu()
        for _ in range(runs):
            self.fetch("POST", path, body)
        return self._cpu() - before

    def wait(self) -> None:
        """Wait until the server answers."""
        give_up = time.monotonic() + _STARTED_WITHIN_S
        while True:
            try:
                self._cpu()
            except OSError:
                if time.monotonic() > give_up:
                    raise UnavailableError("the server did not start") from None
                time.sleep(0.05)
            else:
                return

    def _cpu(self) -> float:
        return float(self.fetch("GET", "/cpu"))


@contextmanager
def _uvicorn() -> Iterator[_Server]:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "benchmarks.app:app", "--port", str(port)]
    quiet = ["--log-level", "warning", "--no-access-log"]
    with subprocess.Popen([*command, *quiet], cwd=_ROOT, env=os.environ) as process:
        try:
            server = _Server(port)
            server.wait()
            yield server
        finally:
            process.terminate()


def _measure(effort: Effort) -> Iterator[Figure]:
    with _uvicorn() as server:
        for deltas, per_read, least in _LOADS:
            runs = effort.size(_DELTAS // deltas, least=1)
            samples = _compared(server, f"deltas={deltas}&per_read={per_read}", runs, effort.rounds)
            name = f"{deltas:,} deltas per run, {_PER_READ[per_read]} per read"
            yield Figure(name, "×", samples, at_least(least))


def _compared(server: _Server, query: str, runs: int, rounds: int) -> Samples:
    paths = [f"/{name}?{query}" for name in ("official", "ours")]
    for path in paths:
        server.cpu_seconds(path, 1)
    samples = []
    for _ in range(rounds):
        official, ours = (server.cpu_seconds(path, runs) for path in paths)
        samples.append(official / max(ours, 1e-9))
    return tuple(samples)


PATH = Path(
    "Server CPU per run under uvicorn: times as fast as the official pattern",
    _measure,
    "A run under uvicorn is {low} to {high} times as fast, in CPU time, as with the official encoder.",
    "2,000",
)
