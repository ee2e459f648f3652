import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread, Timer
from unittest.mock import patch

import pytest

from agui_reasoning.cli import main
from tests.unit.cli.command import Result, environment


@contextmanager
def standard_input(data: bytes) -> Iterator[None]:
    """Put a pipe with data in place of standard input."""
    reader, writer = os.pipe()
    saved = os.dup(0)
    os.dup2(reader, 0)
    os.close(reader)
    feeder = Thread(target=_feed, args=(writer, data))
    feeder.start()
    try:
        yield
    finally:
        os.dup2(saved, 0)
        os.close(saved)
        feeder.join()


def _feed(writer: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(writer, "wb") as pipe:
        pipe.write(data)


@pytest.fixture
def cli(capsysbinary):
    """Run the command in this process, with something on its standard input and in its environment."""

    def run(*args: object, stdin: bytes = b"", **env: str) -> Result:
        with standard_input(stdin), patch.dict(os.environ, env):
            status = main([str(arg) for arg in args])
        out, err = capsysbinary.readouterr()
        return Result(status, out.decode(), err.decode())

    return run


class AtOnce(Timer):
    """A timer that fires when it is started."""

    def start(self) -> None:
        self.function()


@pytest.fixture
def at_once(monkeypatch):
    """Let every progress bar appear at once, as if its work took long."""
    monkeypatch.setattr("agui_reasoning.cli._output.Timer", AtOnce)


@pytest.fixture
def process():
    """Run the command as its users do: for what `cli` cannot show, because a process takes its time."""

    def run(*args: object, stdin: bytes = b"", code: str | None = None, **env: str) -> Result:
        how = ["-m", "agui_reasoning"] if code is None else ["-c", code]
        command = [sys.executable, *how, *map(str, args)]
        done = subprocess.run(
            command, input=stdin, capture_output=True, timeout=60, env=environment(**env), check=False
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
