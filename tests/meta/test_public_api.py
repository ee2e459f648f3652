"""Check the whole tree: names, docstrings, imports, and addresses that must not be in it."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import agui_reasoning
from agui_reasoning import errors
from tests.support.extras import require_extras

ROOT = Path(__file__).parents[2]
HEAVY = ("anthropic", "httpx", "httpx2", "libcst", "openai", "rich", "starlette", "typer")
FRONT = (
    "",
    ".client",
    ".compat",
    ".consumer",
    ".deltas",
    ".emitter",
    ".emitter.stages",
    ".errors",
    ".parts",
    ".providers",
    ".wire",
)

# Put together here, so that this file does not hold what it looks for.
PRIVATE = {
    "a package registry": [
        ".".join(("pypi", "org")),
        ".".join(("files", "pythonhosted", "org")),
        ".".join(("npmjs", "org")),
        ".".join(("npmjs", "com")),
        ".".join(("registry", "yarnpkg", "com")),
    ],
    "a path of one machine": ["/".join(("", "work", "")), "/".join(("", "opt", "pypi"))],
}


def modules() -> list[str]:
    found = pkgutil.walk_packages(agui_reasoning.__path__, "agui_reasoning.", onerror=lambda name: None)
    return ["agui_reasoning", *(info.name for info in found if not info.name.endswith("__main__"))]


def load(name: str) -> ModuleType:
    require_extras(name)
    return importlib.import_module(name)


def rank(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as ruff's RUF022 wants them."""
    if name.isupper():
        return 0, name
    return (1 if name[0].isupper() else 2), name


def repository_files() -> list[Path]:
    """Every file that is, or could be, committed."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("name", [name for name in modules() if "._" not in name])
def test_all_is_sorted_and_every_name_in_it_exists(name: str) -> None:
    module = load(name)
    names = getattr(module, "__all__", [])
    assert list(names) == sorted(set(names), key=rank)
    assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("name", [f"agui_reasoning{suffix}" for suffix in FRONT])
def test_everything_public_says_what_it_is(name: str) -> None:
    module = load(name)
    public = {exported: getattr(module, exported) for exported in module.__all__}
    silent = [
        exported
        for exported, value in public.items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        # Python writes a docstring for a dataclass that has none: its signature.
        and (not value.__doc__ or value.__doc__.startswith(f"{exported}("))
    ]
    assert silent == []


def test_every_error_is_at_the_front_door() -> None:
    assert [name for name in errors.__all__ if name not in agui_reasoning.__all__] == []


def test_every_name_at_the_front_door_has_a_home() -> None:
    homes = [name for names in agui_reasoning._HOMES.values() for name in names.split()]
    assert sorted([*homes, "__version__"]) == sorted(agui_reasoning.__all__)
    assert set(agui_reasoning.__all__) <= set(dir(agui_reasoning))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agui_reasoning.nothing  # noqa: B018


def test_a_name_that_needs_an_extra_is_at_the_front_door_too() -> None:
    asgi = load("agui_reasoning.asgi")
    assert agui_reasoning.AGUIResponse is asgi.AGUIResponse
    assert "AGUIResponse" not in agui_reasoning.__all__


LOADED = """
import sys
before = set(sys.modules)
import {module}
loaded = sorted(set(sys.modules) - before)
ours = [name for name in loaded if name.startswith("agui_reasoning")]
others = {{name.partition(".")[0] for name in loaded}} - sys.stdlib_module_names - {{"agui_reasoning"}}
print(*ours, "|", *others, "|", len(loaded))
"""


@pytest.mark.parametrize(
    ("module", "ours"),
    [
        ("agui_reasoning", ""),
        ("agui_reasoning.providers", ".providers"),
        ("agui_reasoning.providers.think_tags", "._escaping .errors .providers .providers.think_tags"),
    ],
)
def test_a_light_module_loads_no_more_than_it_needs(module: str, ours: str) -> None:
    expected = sorted(["", "._lazy", *ours.split()])
    script = LOADED.format(module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    loaded, others, count = (part.split() for part in done.stdout.split("|"))
    assert loaded == [f"agui_reasoning{name}" for name in expected]
    assert others == []
    assert int(count[0]) < 70  # it was 146 for think_tags


def test_the_public_modules_are_attributes_after_a_bare_import() -> None:
    script = (
        "import agui_reasoning\n"
        "agui_reasoning.providers.decoder('openai-chat').close()\n"
        "agui_reasoning.wire.SSEEncoder()\n"
        "for name in agui_reasoning._SUBMODULES.split():\n"
        "    assert getattr(agui_reasoning, name).__name__ == f'agui_reasoning.{name}'\n"
        "    assert name in dir(agui_reasoning)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_importing_the_package_imports_no_sdk_no_http_and_no_command_line() -> None:
    heavy = f"[name for name in {HEAVY!r} if name in sys.modules]"
    script = f"from agui_reasoning import *; import sys; print({heavy})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


@pytest.mark.parametrize("what", PRIVATE)
def test_no_file_names(what: str) -> None:
    needles = [needle.encode() for needle in PRIVATE[what]]
    found = [
        str(path.relative_to(ROOT))
        for path in repository_files()
        if any(needle in path.read_bytes() for needle in needles)
    ]
    assert found == []


def test_no_lock_file_records_where_a_package_was_downloaded() -> None:
    files = repository_files()
    assert [path.name for path in files if path.name in ("poetry.lock", "uv.lock", "pdm.lock")] == []
    for path in files:
        if path.name in ("package-lock.json", "npm-shrinkwrap.json"):
            packages = json.loads(path.read_text(encoding="utf-8"))["packages"]
            assert [name for name, entry in packages.items() if "resolved" in entry] == []


def test_actions_are_pinned_by_commit_and_run_what_exists() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", workflow)
    assert used
    assert [
        action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    ] == []
    targets = set(re.findall(r"run: make ([\w-]+)", workflow))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
    assert "run: .ci/run" in workflow
