"""Virtual environments for packages that cannot be installed beside those of the tests.

They stand in the environment that runs this, and go with it. Standard library only: scripts run this before
anything is installed.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FOLDER = Path(sys.prefix) / "peers"
_DONE = "installed"
_SECONDS = 900
_MINORS = range(11, 15)


class UnavailableError(Exception):
    """pip could not get the packages, or there is no Python that they need."""


def environment(name: str, *requirements: str, minor: int = 11, interpreter: str | None = None) -> Path:
    """Find an environment, or make it, and return its interpreter.

    Args:
        name: The name of its folder.
        requirements: What pip installs. Others than before make the environment anew.
        minor: The oldest Python 3 that it may have.
        interpreter: The Python that makes it, instead of one that is new enough.

    Raises:
        UnavailableError: It cannot be made; the message says why.
    """
    home = _FOLDER / name
    wanted = "\n".join(requirements)
    if not _is_made(home, wanted):
        _FOLDER.mkdir(exist_ok=True)
        with _locked(_FOLDER / f"{name}.lock"):
            if not _is_made(home, wanted):
                _make(home, requirements, interpreter or _interpreter(minor))
                (home / _DONE).write_text(wanted, encoding="utf-8")
    return _python(home)


def needed_by_us(*extras: str) -> list[str]:
    """What this package needs, with extras; it is itself found through ``PYTHONPATH``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    return [*project["dependencies"], *(one for extra in extras for one in optional[extra])]


def _is_made(home: Path, wanted: str) -> bool:
    done = home / _DONE
    return done.exists() and done.read_text(encoding="utf-8") == wanted


def _make(home: Path, requirements: Sequence[str], interpreter: str) -> None:
    _finish([interpreter, "-m", "venv", "--clear", "--without-pip", str(home)])
    install = ["--python", str(_python(home)), "install", "--quiet", *requirements]
    _finish([sys.executable, "-m", "pip", "--disable-pip-version-check", *install])


def _finish(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{command[2]} did not end within {_SECONDS} s") from None
    if done.returncode != 0:
        raise UnavailableError(done.stderr.strip()[-500:])


def _interpreter(minor: int) -> str:
    """The Python that runs this if it is new enough, else another one of this machine."""
    if sys.version_info >= (3, minor):
        return sys.executable
    found = (python(f"3.{number}") for number in _MINORS if number >= minor)
    if interpreter := next(filter(None, found), None):
        return interpreter
    raise UnavailableError(f"there is no Python 3.{minor} or newer")


def python(version: str) -> str | None:
    """Find the interpreter of a version, for example ``"3.12"`` or ``"3.13t"``, on this machine."""
    pyenv = sorted(Path.home().glob(".pyenv/versions/3.*/bin"))
    # Before PATH, where pyenv has commands that refuse to run.
    path = os.pathsep.join([*map(str, pyenv), os.environ.get("PATH", "")])
    return shutil.which(f"python{version}", path=path)


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
