"""Resolves re-exports of ``ag_ui.core`` across the given files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import libcst as cst
from libcst.helpers import get_full_name_for_node

__all__ = ["CORE", "Project", "module_of"]

CORE = re.compile(r"^ag_ui\.core(?:\.events)?(?:\.|$)")
"""Matches the module that defined the events, and names in it."""


def module_of(node: cst.ImportFrom) -> str:
    """Return the module of a ``from … import``, with leading dots."""
    name = get_full_name_for_node(node.module) if node.module is not None else ""
    return "." * len(node.relative) + (name or "")


class Project:
    """The imports between the given files.

    ``from .events import ThinkingStartEvent`` refers to the event only if ``events.py`` imports it from
    ``ag_ui.core``, because other libraries use the same class names.
    """

    def __init__(self, modules: Mapping[str, cst.Module]) -> None:
        """Read the imports of all parsed files."""
        self._names = {path: _parts(path) for path in modules}
        self._files: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for path, parts in self._names.items():
            for at in range(len(parts)):
                self._files[parts[at:]].append(path)
        self._exports: dict[tuple[str, str], str] = {}
        self._read(modules)

    def core_name(self, qualified: str, path: str) -> str | None:
        """Resolve a qualified name in a file to a name in ``ag_ui.core``."""
        if found := CORE.match(qualified):
            return qualified[found.end() :] or None
        dots = len(qualified) - len(qualified.lstrip("."))
        parts = qualified[dots:].split(".")
        for at in range(len(parts) - 1, -1 if dots else 0, -1):
            file = self._file("." * dots + ".".join(parts[:at]), path)
            if file is not None and (core := self._exports.get((file, parts[at]))):
                return ".".join([core, *parts[at + 1 :]])
        return None

    def knows(self, module: str, path: str) -> bool:
        """Return whether a module is one of the files."""
        return self._file(module, path) is not None

    def _read(self, modules: Mapping[str, cst.Module]) -> None:
        """Propagate the names of ``ag_ui.core`` from file to file."""
        users: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        found: list[tuple[tuple[str, str], str]] = []
        for path, module in modules.items():
            for source, name, local in _imports(module):
                if CORE.match(source):
                    found.append(((path, local), name))
                elif file := self._file(source, path):
                    users[file, name].append((path, local))
        while found:
            export, core = found.pop()
            if export not in self._exports:
                self._exports[export] = core
                found += [(user, core) for user in users[export]]

    def _file(self, module: str, path: str) -> str | None:
        name = tuple(part for part in module.lstrip(".").split(".") if part)
        dots = len(module) - len(module.lstrip("."))
        folder = PurePosixPath(path).parent.parts
        near = folder[: len(folder) - max(dots - 1, 0)] + name
        exact = [file for file in self._files.get(near, ()) if self._names[file] == near]
        found = exact[:1] or ([] if dots else self._files.get(name, []))
        return found[0] if len(found) == 1 else None


def _parts(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path).with_suffix("").parts
    return parts[:-1] if parts and parts[-1] == "__init__" else parts


def _imports(module: cst.Module) -> Iterator[tuple[str, str, str]]:
    """Yield the module-level imports as module, name and local name."""
    for node in _top_level(module):
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                name = str(alias.name.value)
                yield module_of(node), name, alias.evaluated_alias or name


def _top_level(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in node.children:
        if not isinstance(child, cst.FunctionDef | cst.ClassDef | cst.BaseExpression):
            yield child
            yield from _top_level(child)
