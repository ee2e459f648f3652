import subprocess
import sys

import pytest

from agui_reasoning.cli import main
from tests.unit.cli.command import Result, environment


@pytest.fixture
def cli(capsysbinary):
    """Run the command in this process."""

    def run(*args: object) -> Result:
        status = main([str(arg) for arg in args])
        out, err = capsysbinary.readouterr()
        return Result(status, out.decode(), err.decode())

    return run


@pytest.fixture
def process():
    """Run the command as its users do."""

    def run(*args: object, stdin: bytes = b"", code: str | None = None, **env: str) -> Result:
        how = ["-m", "agui_reasoning.cli"] if code is None else ["-c", code]
        command = [sys.executable, *how, *map(str, args)]
        done = subprocess.run(
            command, input=stdin, capture_output=True, timeout=60, env=environment(**env), check=False
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
