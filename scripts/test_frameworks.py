"""Tests the adapters of agent frameworks, each in an environment with the framework; `make` runs it.

Without names it tests all. A framework that pip cannot install here is named and left out.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.frameworks.table import FRAMEWORKS
from tests.support.environments import ROOT, UnavailableError

OPTIONS = ("-p", "no:cacheprovider", "-p", "no:unraisableexception")  # frameworks leave clients open


def main(names: list[str]) -> int:
    """Returns the exit code."""
    return max(map(_test, names or FRAMEWORKS), default=0)


def _test(name: str) -> int:
    try:
        python = FRAMEWORKS[name].python(name)
    except UnavailableError as error:
        sys.stderr.write(f"{name} cannot be installed, its tests are left out: {error}\n")
        return 0
    command = [python, "-m", "pytest", *OPTIONS, f"tests/frameworks/test_{name}.py"]
    began = time.monotonic()
    environ = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    code = subprocess.run(command, cwd=ROOT, env=environ).returncode  # noqa: S603
    size = sum(file.lstat().st_size for file in python.parents[1].rglob("*"))
    sys.stderr.write(f"{name}: {time.monotonic() - began:.0f} s, {size / 1e6:.0f} MB\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
