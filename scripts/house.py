#!/usr/bin/env python
"""Count what the house is made of: files, lines, names and imports.

    python scripts/house.py --list     without --list, only the figures and their ceilings

A room is a module or package directly in the package. No figure may get worse than its ceiling, which
`tests/meta/test_house.py` checks. Lower the ceiling of a figure that has got better.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "agui_reasoning"

CEILINGS = {
    "Python files": 200,
    "code lines": 39_262,
    "public modules": 53,
    "class names with two meanings": 0,
    "longest chain of imports": 16,
    "imports of another room's private module": 0,
    "tests' imports of private modules": 39,
}

_INSIDE = re.compile(rf"{PACKAGE}(\.\w+)*\._|{PACKAGE}(\.\w+)* import _")


class Module:
    """A module: its name, source and syntax."""

    def __init__(self, path: Path, base: Path) -> None:
        parts = path.relative_to(base).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.source = path.read_text("utf-8")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of its syntax tree."""
        return list(ast.walk(ast.parse(self.source)))

    @property
    def room(self) -> str:
        """The module or package directly in the package that it belongs to."""
        return ".".join(self.name.split(".")[:2])

    @property
    def code_lines(self) -> int:
        """The number of lines that are neither blank, comments nor docstrings."""
        strings = [node.value for node in self.nodes if isinstance(node, ast.Expr)]
        texts = [node for node in strings if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        documented = {line for node in texts for line in range(node.lineno, (node.end_lineno or 0) + 1)}
        lines = enumerate(self.source.splitlines(), start=1)
        return sum(n not in documented and line.strip()[:1] not in {"", "#"} for n, line in lines)

    def imports(self, *, at_start: bool = False) -> Iterator[str]:
        """Yield the modules of the package that are imported, or only those that are imported with it."""
        for node in _run_at_import(self.nodes[0]) if at_start else self.nodes:
            found: set[str] = set()
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                found = {name if name in package() else node.module for name in names}
            elif isinstance(node, ast.Import):
                found = {alias.name for alias in node.names}
            yield from sorted(found & package().keys())


@cache
def package() -> dict[str, Module]:
    """Return the modules of the package by name."""
    base = ROOT / "src"
    return {(module := Module(path, base)).name: module for path in sorted((base / PACKAGE).rglob("*.py"))}


def _run_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        only_typed = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if isinstance(node, ast.stmt) and not only_typed and not hasattr(node, "args"):
            yield node
            yield from _run_at_import(node)


def is_private(name: str) -> bool:
    """Return whether a part of a dotted name is private."""
    return any(part.startswith("_") for part in name.split("."))


def homonyms() -> list[str]:
    """Return the names of classes that are defined in more than one place."""
    nodes = (node for module in package().values() for node in module.nodes)
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return sorted(name for name, count in names.items() if count > 1)


def longest_chain() -> list[str]:
    """Return the modules of the longest chain, each importing the next."""
    graph = {name: {*module.imports(at_start=True)} - {name} for name, module in package().items()}
    chains: dict[str, list[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        chains[name] = [name, *max((chains[target] for target in graph[name]), key=len, default=[])]
    return max(chains.values(), key=len)


def trespasses() -> list[str]:
    """Return the imports of a private module of another room."""
    pairs = [(module, package()[name]) for module in package().values() for name in module.imports()]
    return [
        f"{module.name} -> {target.name}"
        for module, target in pairs
        if target.room != module.room and is_private(target.name.removeprefix(target.room))
    ]


def tests_inside() -> list[str]:
    """Return the imports of private modules in tests."""
    tests = (Module(path, ROOT) for path in sorted((ROOT / "tests").rglob("*.py")))
    looking = (test for test in tests if _INSIDE.search(test.source))
    return [f"{test.name} -> {name}" for test in looking for name in test.imports() if is_private(name)]


def figures() -> dict[str, int | list[str]]:
    """Return each figure, or what it counts."""
    lines = sum(module.code_lines for module in package().values())
    public = [name for name in package() if not is_private(name)]
    found = (len(package()), lines, public, homonyms(), longest_chain(), trespasses(), tests_inside())
    return dict(zip(CEILINGS, found, strict=True))


def count(found: int | list[str]) -> int:
    """Return a figure as a number."""
    return found if isinstance(found, int) else len(found)


if __name__ == "__main__":
    for label, value in figures().items():
        names = value if "--list" in sys.argv and not isinstance(value, int) else []
        line = f"{label:42} {count(value):>7,}, at most {CEILINGS[label]:,}"
        sys.stdout.writelines(f"{text}\n" for text in [line, *(f"    {name}" for name in names)])
