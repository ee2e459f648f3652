"""Install packages of Debian, for the scripts that prepare tests."""

import os
import shutil
import subprocess
import sys

_MINUTES = 60.0
_APT = ["apt-get", "--quiet", "--quiet", "-o", "DPkg::Lock::Timeout=120"]


def can_install() -> bool:
    """Return whether this process may install packages here."""
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def install(*packages: str) -> None:
    """Install packages; what goes wrong, apt says."""
    for command in ([*_APT, "update"], [*_APT, "install", "--yes", "--no-install-recommends", *packages]):
        try:
            subprocess.run(  # noqa: S603 - packages of ours
                command,
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=False,
                timeout=10 * _MINUTES,
            )
        except subprocess.TimeoutExpired:
            say(f"gave up after ten minutes: {' '.join(command)}")
            return


def say(message: str) -> None:
    """Write a line on standard error."""
    sys.stderr.write(f"{message}\n")
