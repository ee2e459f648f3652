"""Tests with other Pythons, and with the lowest versions of the dependencies; `make test-matrix` runs it.

    .venv/bin/python scripts/test_matrix.py 3.13 lowest -- tests/unit -k crypto

Without names it tests all. A Python that this machine lacks is named and left out.
"""

import os
import re
import subprocess
import sys
import time
import tomllib
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.environments import ROOT, UnavailableError, environment, needed_by_us, python

PYTHONS = ("3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t")
LOWEST = "lowest"
"""The lowest versions that pyproject.toml allows, with the oldest Python."""

EXTRAS = ("cli", "server", "client", "migrate", "bulk", "redis", "otel")

OLD = ("fastapi", "opentelemetry-sdk")
"""Tools of the tests that keep to the versions of what they are built on, so that they are as old."""
TESTS = (
    "tests/unit",
    "tests/internals",
    "tests/property",
    "tests/conformance",
    "tests/recordings",
    "tests/sdk",
)


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    names, _, options = " ".join(arguments).partition("--")
    rows = names.split() or [*PYTHONS, LOWEST]
    outcomes = {name: outcome(name, options.split()) for name in rows}
    for name, words in outcomes.items():
        sys.stderr.write(f"{name}: {words}\n")
    return int(any(words.startswith("FAILED") for words in outcomes.values()))


def outcome(name: str, options: list[str]) -> str:
    """Test one row of the matrix, and say how it went."""
    interpreter = python(PYTHONS[0] if name == LOWEST else name)
    if interpreter is None:
        return f"left out, there is no python{name} on this machine"
    try:
        # The package itself, for its metadata and its command; it is imported through PYTHONPATH.
        wanted = [*requirements(name, interpreter), "--editable", str(ROOT)]
        path = environment(f"matrix-{name}", *wanted, interpreter=interpreter)
    except UnavailableError as error:
        return f"left out, pip cannot install the dependencies: {error}"
    command = [path, "-m", "pytest", "-n", "3", "--dist", "worksteal", "-p", "no:cacheprovider"]
    if name == LOWEST:  # old versions use what newer ones beside them have deprecated
        command += ["-W", "ignore::DeprecationWarning"]
    command += options or TESTS
    began = time.monotonic()
    environ = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PATH": f"{path.parent}:{os.environ['PATH']}"}
    code = subprocess.run(command, cwd=ROOT, env=environ).returncode  # noqa: S603
    return f"{'FAILED' if code else 'passed'} in {time.monotonic() - began:.0f} s"


def requirements(name: str, interpreter: str) -> list[str]:
    """Return what pip installs for a row.

    Raises:
        UnavailableError: The lowest versions exclude each other.
    """
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    tools = [one for one in [*groups["test"], *groups["sdk"]] if isinstance(one, str)]
    ours = needed_by_us(*EXTRAS)
    if name != LOWEST:
        return [*ours, *tools]
    shared = {name_of(one) for one in ours}
    old = [one for one in tools if name_of(one) in OLD]
    newest = (f"{name}>={version(name)}" for name in map(name_of, tools) if name not in {*shared, *OLD})
    return lowest([*ours, *old, *newest], interpreter)


def name_of(requirement: str) -> str:
    """Return the name of what is required, without extras and versions."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def lowest(wanted: list[str], interpreter: str) -> list[str]:
    """Pin the lowest versions that go together; pip only knows the highest."""
    options = ("--resolution", "lowest-direct", "--no-annotate", "--no-header", "--quiet")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "uv", "pip", "compile", "-", *options, "--python", interpreter],
        input="\n".join(wanted),
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0:
        raise UnavailableError(done.stderr.strip()[-500:])
    return done.stdout.split()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
