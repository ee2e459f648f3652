"""Installs and builds the front ends of `tests/frontends`; `make test-frontends` runs it before the tests.

Each is a folder with a ``package.json`` whose script ``build`` writes a page into the folder ``build``.
What has not changed is neither installed nor built again.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import install_node

from tests.differential.node import find_node, npm_command

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/web"
COPIED = [EXAMPLE / "agui-reasoning.ts", EXAMPLE / "agui-reasoning.css"]
"""The files that users copy beside their pages."""
FOLDERS = [EXAMPLE, *sorted(path.parent for path in (ROOT / "tests/frontends").glob("*/package.json"))]

_STAMP = Path("node_modules", ".built-sources-hash")
_BUILT = ("build", "dist")
_GENERATED = frozenset({"node_modules", *_BUILT})
_SECONDS = 600.0


def main() -> int:
    """Returns the exit code."""
    for folder, file in product(FOLDERS[1:], COPIED):
        shutil.copyfile(file, folder / file.name)
    failed = install_node.main(FOLDERS)
    return failed or max(map(_build, FOLDERS))


def _build(folder: Path) -> int:
    """Builds a page, unless its sources are those of the last time."""
    stamp, sources = folder / _STAMP, _sources_hash(folder)
    built = stamp.is_file() and stamp.read_text(encoding="ascii") == sources
    if built and any((folder / name / "index.html").is_file() for name in _BUILT):
        return 0
    node = find_node()
    npm = None if node is None else npm_command(node)
    if node is None or npm is None:
        return 0  # there is no Node for this platform, and the tests skip
    environment = os.environ | {"PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])}
    command = [*npm, "run", "build", "--silent"]
    run = subprocess.run(command, cwd=folder, env=environment, check=False, timeout=_SECONDS)  # noqa: S603 - a fixed command
    if run.returncode == 0:
        stamp.write_text(sources, encoding="ascii")
    else:
        sys.stderr.write(f"{folder} cannot be built; the message is above.\n")
    return run.returncode


def _sources_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).parts[0] not in _GENERATED and path.is_file():
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
