"""The consumer against the official client under Node."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import IO, Final

from benchmarks.consume import consume
from benchmarks.harness import Effort, Figure, Path, UnavailableError, at_least, cpu_seconds
from benchmarks.thread import READ_BYTES, chunks_of_run, reads

__all__ = ["PATH"]

_SCRIPT: Final = FilePath(__file__).with_name("client.mjs")
_TARGETS: Final = {20_000: 12, 100_000: 120}
_ROUNDS_MOST: Final = 3
"""The official client's time grows with the square of the length: 100,000 deltas take minutes."""


class _Client:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def seconds(self, file: FilePath, chars: int) -> float:
        """Read a stream, check its messages, and return the time."""
        stdin, stdout = self._pipes()
        stdin.write(json.dumps({"file": str(file), "readBytes": READ_BYTES}) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise UnavailableError("the official client failed")
        answer = json.loads(line)
        if answer["chars"] != chars:
            raise UnavailableError("the official client read other messages")
        return float(answer["ms"]) / 1000

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


@contextmanager
def _official_client() -> Iterator[_Client]:
    from tests.differential.node import JS_DIR, find_node

    node = find_node()
    if node is None or not (JS_DIR / "node_modules").is_dir():
        raise UnavailableError("Node or @ag-ui/client is not installed: run `make judges`")
    command = [node, "--max-old-space-size=4096", _SCRIPT, JS_DIR]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _Client(process)
        finally:
            process.kill()


def _measure(effort: Effort) -> Iterator[Figure]:
    with _official_client() as client, tempfile.TemporaryDirectory() as folder:
        for full, least in _TARGETS.items():
            count = effort.size(full)
            blocks = reads(chunks_of_run(count))
            file = FilePath(folder, f"{count}.sse")
            file.write_bytes(b"".join(blocks))
            chars = consume(blocks)
            samples = tuple(
                client.seconds(file, chars) / cpu_seconds(lambda: consume(blocks))  # noqa: B023
                for _ in range(min(effort.rounds, _ROUNDS_MOST))
            )
            yield Figure(f"{count:,} deltas", "×", samples, at_least(least))


PATH = Path(
    "The same: times as fast as `@ag-ui/client` 1.0.0 under Node",
    _measure,
    "Reading a run of 20,000 deltas is {low} times as fast as with `@ag-ui/client` under Node.",
    "20,000",
)
