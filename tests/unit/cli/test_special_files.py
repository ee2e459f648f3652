"""Test FILE arguments that are no files: reading some of them would wait or go on for ever."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agui_reasoning.crypto import KeyRing
from tests.support.play import FINISHED, STARTED, thought
from tests.unit.cli.command import Result, environment

Run = Callable[..., Result]

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")

STREAM = json.dumps([STARTED, *thought("r1", "Rain?"), FINISHED]).encode()
COMMANDS = (
    "check",
    "reduce",
    "trace",
    "request --api gemini",
    "encode --api gemini",
    "upgrade",
    "upgrade --in-place",
    "downgrade",
    "rekey",
    "rekey --dry-run",
    "encrypt --thread t",
    "decrypt --thread t",
)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGUI_REASONING_KEYS", KeyRing.generate().to_env())


@pytest.fixture
def kinds(tmp_path: Path) -> Iterator[dict[str, Path]]:
    pipe, link, bound = (tmp_path / name for name in ("x.json", "link", "s"))
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(bound))
        yield {
            "pipe": pipe,
            "link": link,
            "socket": bound,
            "zero": Path("/dev/zero"),
            "tty": Path("/dev/tty"),
        }


@pytest.mark.parametrize("command", COMMANDS)
def test_what_could_wait_for_ever_is_refused(command: str, kinds: dict[str, Path], cli: Run) -> None:
    for kind, what in (
        ("pipe", "a named pipe"),
        ("link", "a named pipe"),
        ("zero", "a device"),
        ("socket", "a socket"),
    ):
        result = cli(*command.split(), kinds[kind])
        assert result.status == 2
        assert f"error: {kinds[kind]} is {what}, not a file." in result.stderr
        assert result.stderr.rstrip().endswith("[unreadable_file]")


def test_migrate_and_serve_refuse_it_too(kinds: dict[str, Path], cli: Run) -> None:
    for args in (("migrate", kinds["pipe"]), ("serve", "--upstream", f"replay:{kinds['pipe']}")):
        result = cli(*args)
        assert result.status == 2
        assert f"error: {kinds['pipe']} is a named pipe, not a file." in result.stderr


def test_pipes_in_a_folder_are_left_out(kinds: dict[str, Path], cli: Run) -> None:
    folder = kinds["pipe"].parent
    (folder / "run.json").write_bytes(STREAM)
    result = cli("check", folder)
    assert (result.status, result.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_pipes_that_the_shell_has_opened_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(STREAM)
    check = f"{sys.executable} -m agui_reasoning check"
    for line in (
        f"{check} <(cat run.json)",
        f"{check} /dev/stdin < run.json",
        f"cat run.json | {check} /dev/fd/0",
    ):
        done = subprocess.run(
            ["bash", "-c", line],
            capture_output=True,
            cwd=tmp_path,
            timeout=60,
            env=environment(),
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_pipe_cannot_be_rewritten(tmp_path: Path) -> None:
    line = f"{sys.executable} -m agui_reasoning upgrade --in-place <(echo '[]')"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, timeout=60, env=environment(), check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert b"it is not a regular file" in done.stderr
