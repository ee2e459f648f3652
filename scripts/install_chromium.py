"""Prepares Chromium for `tests/browser` and `tests/frontends`; `make` runs it before them.

Uses the one that AGUI_REASONING_CHROMIUM names, or that is on the path. Where there is none, it installs the
package of Debian, which needs root.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.chromium import VARIABLE, exists_for_this_machine, find_chromium

_MINUTES = 60.0
_APT = ["apt-get", "--quiet", "--quiet", "-o", "DPkg::Lock::Timeout=120"]
_COMMANDS = (
    [*_APT, "update"],
    [*_APT, "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"],
)
_HELP = f"""\
The tests of the web page need Chromium, and there is none here. Install it, for example with
    sudo apt-get install chromium       (Debian; on Ubuntu, install Google Chrome instead)
    brew install --cask chromium        (macOS)
or set {VARIABLE} to the path of an executable."""


def main() -> int:
    """Returns the exit code."""
    if find_chromium() is not None:
        return 0
    if not exists_for_this_machine():
        _say("Chromium has no build for this processor: the tests that need it will skip.")
        return 0
    if VARIABLE in os.environ:
        _say(f"{VARIABLE} names no executable that runs: {os.environ[VARIABLE]}")
        return 1
    if _can_install():
        _say("No Chromium here: installing Debian's package.")
        _install()
        if find_chromium() is not None:
            return 0
    _say(_HELP)
    return 1


def _can_install() -> bool:
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def _install() -> None:
    """Installs it; what goes wrong, apt says."""
    for command in _COMMANDS:
        try:
            subprocess.run(  # noqa: S603 - fixed commands
                command,
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=False,
                timeout=10 * _MINUTES,
            )
        except subprocess.TimeoutExpired:
            _say(f"gave up after ten minutes: {' '.join(command)}")
            return


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")


if __name__ == "__main__":
    sys.exit(main())
