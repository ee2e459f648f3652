"""Build the sdist and the wheel, compare their files with the repository, and run the wheel on its own.

pip downloads the dependencies, as a user's would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from importlib.util import find_spec
from pathlib import Path

import pytest

from agui_reasoning import __version__
from tests.docs.markdown import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3 * 900),  # pip may wait for its downloads
    pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed"),
    pytest.mark.skipif(
        not (ROOT / ".git").exists(), reason="the files are compared with those that git knows"
    ),
]

NAME = f"agui_reasoning-{__version__}"
SECONDS = 900
BESIDE_THE_SOURCE = {
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "SECURITY.md",
    "pyproject.toml",
}
EXTRAS_ARE_MISSING = {
    f"agui_reasoning.{name}" for name in ("asgi", "client", "copilotkit", "gateway", "telemetry")
}

IMPORT_ALL = """
import importlib, pkgutil, sys
import agui_reasoning
from agui_reasoning import MissingExtraError

missing = []
for info in pkgutil.walk_packages(agui_reasoning.__path__, "agui_reasoning.", onerror=lambda name: None):
    parts = info.name.split(".")
    if parts[1] == "cli" or any(part.startswith("_") for part in parts):
        continue
    try:
        importlib.import_module(info.name)
    except (MissingExtraError, ModuleNotFoundError):
        missing.append(info.name)
assert "site-packages" in agui_reasoning.__file__, agui_reasoning.__file__
print(*missing)
"""


def run(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that sees neither the source nor this environment."""
    hidden = {"PYTHONPATH", "VIRTUAL_ENV", "COV_CORE_SOURCE", "COV_CORE_CONFIG", "COV_CORE_DATAFILE"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def done(*command: object, folder: Path) -> str:
    result = run(*command, folder=folder)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    done(sys.executable, "-m", "hatchling", "build", "-d", folder, folder=ROOT)
    return folder


@pytest.fixture(scope="module")
def sources() -> set[str]:
    """The files of the package that git knows, or will know."""
    listed = done("git", "ls-files", "--cached", "--others", "--exclude-standard", "src", folder=ROOT)
    return {name for name in listed.splitlines() if (ROOT / name).exists()}


def metadata(built: Path) -> Message:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        return message_from_bytes(wheel.read(f"{NAME}.dist-info/METADATA"))


def test_the_wheel_has_the_package_and_nothing_else(built: Path, sources: set[str]) -> None:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
    own = {name for name in names if not name.startswith(f"{NAME}.dist-info/")}
    assert own == {name.removeprefix("src/") for name in sources}
    assert {"agui_reasoning/py.typed"} <= own
    for kind in (".html", ".css", ".js", ".json", ".toml"):
        assert any(name.endswith(kind) for name in own), kind
    about = {name.removeprefix(f"{NAME}.dist-info/") for name in names - own}
    assert about == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def test_the_sdist_has_the_source_and_what_is_said_about_it(built: Path, sources: set[str]) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as sdist:
        names = {member.name.removeprefix(f"{NAME}/") for member in sdist.getmembers() if member.isfile()}
    assert names == sources | BESIDE_THE_SOURCE


def test_the_metadata_is_complete(built: Path) -> None:
    about = metadata(built)
    assert (about["Name"], about["Version"]) == ("agui-reasoning", __version__)
    assert (about["License-Expression"], about["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    assert about["Summary"]
    assert about["Keywords"]
    assert about["Description-Content-Type"] == "text/markdown"
    assert str(about.get_payload()).startswith((ROOT / "README.md").read_text(encoding="utf-8")[:200])
    classifiers = about.get_all("Classifier", [])
    assert "Typing :: Typed" in classifiers
    assert {"cli", "client", "server", "migrate"} <= set(about.get_all("Provides-Extra", []))


def test_the_same_source_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    listed = done("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", folder=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            copy = tmp_path / "elsewhere" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((ROOT / name).read_bytes())  # with the time of today
    done(sys.executable, "-m", "hatchling", "build", "-d", tmp_path / "dist", folder=tmp_path / "elsewhere")
    files = sorted(path.name for path in built.iterdir())
    assert files == [f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"]
    assert [
        name for name in files if (tmp_path / "dist" / name).read_bytes() != (built / name).read_bytes()
    ] == []


def test_it_runs_where_nothing_else_is_installed(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    binaries = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python, command = binaries / "python", binaries / "agui-reasoning"
    wheel = built / f"{NAME}-py3-none-any.whl"
    done(python, "-m", "pip", "install", "--quiet", wheel, folder=tmp_path)
    missing = done(python, "-W", "error", "-c", IMPORT_ALL, folder=tmp_path).split()
    assert {name for name in missing if not name.endswith(".strategies")} == EXTRAS_ARE_MISSING
    refused = run(command, "--version", folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("[missing_extra]\n")

    done(
        python, "-m", "pip", "install", "--quiet", f"{wheel}[cli,client,otel,server,testing]", folder=tmp_path
    )
    assert done(python, "-W", "error", "-c", IMPORT_ALL, folder=tmp_path).split() == []
    assert done(command, "--version", folder=tmp_path) == f"agui-reasoning {__version__}\n"
    assert json.loads(done(command, "demo", "--json", folder=tmp_path))["ok"] is True
    assert "What to do:" in done(command, "explain", "left_open", folder=tmp_path)
    assert "Usage: agui-reasoning check" in done(command, "check", "--help", folder=tmp_path)
