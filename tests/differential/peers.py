"""Environments with old versions of `ag-ui-protocol`, for the tests and for `scripts/install_peers.py`.

They stand beside the packages of the environment that runs this, and go with it. Standard library only: the
script runs before anything is installed.
"""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VERSIONS = ("0.1.10", "0.1.13", "0.1.22")

_FOLDER = Path(sys.prefix) / "peers"
_DONE = "installed"
_MODELS = Path(__file__).with_name("peer_models.py")
_SECONDS = 300


class UnavailableError(Exception):
    """pip could not get the packages."""


def python_of(version: str) -> Path:
    """The interpreter of a version's environment, which is made if there is none.

    Folder, mark and lock are those of `tests.support.peers`: whoever comes first makes it.

    Raises:
        UnavailableError: pip could not install the version; the message is pip's.
    """
    home = _FOLDER / version
    if not (home / _DONE).exists():
        _FOLDER.mkdir(exist_ok=True)
        with _locked(_FOLDER / f"{version}.lock"):
            if not (home / _DONE).exists():
                _make(version, home)
    return _python(home)


def _make(version: str, home: Path) -> None:
    venv.create(home, clear=True, with_pip=False, symlinks=os.name != "nt")
    install = ["--python", str(_python(home)), "install", "--quiet", f"ag-ui-protocol=={version}"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", *install]
    try:
        done = subprocess.run(pip, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"pip did not end within {_SECONDS} s") from None
    if done.returncode != 0:
        raise UnavailableError(done.stderr.strip()[-500:])
    (home / _DONE).touch()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time: several workers may want the same environment."""
    try:
        import fcntl
    except ImportError:  # no such thing on Windows
        yield
        return
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


class Peer:
    """The models of one version, in a process of their own; a context manager."""

    def __init__(self, version: str) -> None:
        command = [python_of(version), "-I", _MODELS]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8")
        self.version = version
        self.installed: str = self._answer()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(_SECONDS)

    def refusals(self, events: list[dict[str, Any]]) -> list[str]:
        """What this version's models have against each event that they refuse."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(events)}\n")
        self._process.stdin.flush()
        refusals: list[str] = self._answer()
        return refusals

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())
