"""Environments with old versions of `ag-ui-protocol`, or LiteLLM, for tests and `scripts/install_peers.py`.

They stand beside the packages of the environment that runs this, and go with it. Standard library only: the
script runs before anything is installed.
"""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VERSIONS = ("0.1.10", "0.1.13", "0.1.22")

_FOLDER = Path(sys.prefix) / "peers"
_DONE = "installed"
_MODELS = Path(__file__).with_name("peer_models.py")
_SECONDS = 900

_ROOT = Path(__file__).parents[2]
_LITELLM = ("litellm>=1.100", "pytest", "pytest-timeout", "hypothesis", f"{_ROOT}[server]")
"""It holds openai back, and so cannot be installed beside the other SDKs."""


class UnavailableError(Exception):
    """pip could not get the packages."""


def python_of(version: str) -> Path:
    """The interpreter of the environment with a version of `ag-ui-protocol`.

    Raises:
        UnavailableError: pip could not install the version; the message is pip's.
    """
    return _environment(version, f"ag-ui-protocol=={version}")


def python_of_litellm() -> Path:
    """The interpreter of the environment with LiteLLM, this package and what its tests need.

    Raises:
        UnavailableError: pip could not install them; the message is pip's.
    """
    return _environment("litellm", *_LITELLM)


def _environment(name: str, *requirements: str) -> Path:
    """Find an environment, or make it."""
    home = _FOLDER / name
    if not (home / _DONE).exists():
        _FOLDER.mkdir(exist_ok=True)
        with _locked(_FOLDER / f"{name}.lock"):
            if not (home / _DONE).exists():
                _make(home, requirements)
    return _python(home)


def _make(home: Path, requirements: Sequence[str]) -> None:
    venv.create(home, clear=True, with_pip=False, symlinks=os.name != "nt")
    install = ["--python", str(_python(home)), "install", "--quiet", *requirements]
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
