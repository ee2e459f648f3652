"""Find Chromium, for the tests and for `scripts/install_chromium.py`.

Standard library only: the script runs before anything is installed.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator

VARIABLE = "AGUI_REASONING_CHROMIUM"
"""The environment variable that names the executable to use."""

_COMMANDS = ("chromium", "chromium-browser", "google-chrome")
_PROCESSORS = frozenset({"x86_64", "amd64", "aarch64", "arm64"})


def exists_for_this_machine() -> bool:
    """Whether there are builds of Chromium for this processor; elsewhere the tests skip."""
    return platform.machine().lower() in _PROCESSORS


def find_chromium() -> str | None:
    """The executable that the environment names, or the first one on the path that runs."""
    return next(filter(_runs, _candidates()), None)


def _candidates() -> Iterator[str]:
    if named := os.environ.get(VARIABLE):
        yield named
        return
    yield from filter(None, map(shutil.which, _COMMANDS))


def _runs(executable: str) -> bool:
    """Ubuntu's `chromium-browser` is a script that only says to install something else."""
    try:
        subprocess.run([executable, "--version"], capture_output=True, timeout=120, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"ignoring {executable}: {error}\n")
        return False
    return True
