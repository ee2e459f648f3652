"""The files of one call, and which of them pass on names of ``ag_ui.core``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import libcst as cst
from libcst.helpers import get_full_name_for_node

__all__ = ["CORE", "Project", "module_of"]

CORE = re.compile(r"^ag_ui\.core(?:\.events)?(?:\.|$)")
"""The module that had the events; longer names are what is in it."""

_Exports = dict[str, str]


def module_of(node: cst.ImportFrom) -> str:
    """The module of a ``from … import``, with its leading dots."""
    name = get_full_name_for_node(node.module) if node.module is not None else ""
    return "." * len(node.relative) + (name or "")


class Project:
    """What is imported from where, as far as the given files tell.

    ``from .events import ThinkingStartEvent`` means the event only if ``events.py`` has it from
    ``ag_ui.core``: other libraries use the same class names.
    """

    def __init__(self, modules: Mapping[str, cst.Module]) -> None:
        """Read the imports of all files that could be parsed."""
        self._paths = {PurePosixPath(path): path for path in modules}
        self._imports = {path: list(_imports(module)) for path, module in modules.items()}
        self._exports: dict[str, _Exports] = {path: {} for path in modules}
        while self._pass_on():
            pass

    def core_name(self, qualified: str, path: str) -> str | None:
        """The name inside ``ag_ui.core`` that a qualified name in a file stands for."""
        if found := CORE.match(qualified):
            return qualified[found.end() :] or None
        module, name = _split(qualified)
        while name:
            if (file := self._file(module, path)) is not None and name.partition(".")[0] in self._exports[
                file
            ]:
                first, dot, rest = name.partition(".")
                return self._exports[file][first] + dot + rest
            head, _, last = module.rpartition(".")
            if not head.strip("."):
                return None
            module, name = head, f"{last}.{name}"
        return None

    def knows(self, module: str, path: str) -> bool:
        """Whether a module is one of the files."""
        return self._file(module, path) is not None

    def _pass_on(self) -> bool:
        """Add what files have from ``ag_ui.core`` or from each other; tell if that was anything."""
        before = sum(map(len, self._exports.values()))
        for path, imports in self._imports.items():
            for module, name, local in imports:
                core = self._imported(module, name, path)
                if core is not None:
                    self._exports[path][local] = core
        return sum(map(len, self._exports.values())) > before

    def _imported(self, module: str, name: str, path: str) -> str | None:
        if CORE.match(module):
            return name
        file = self._file(module, path)
        return None if file is None else self._exports[file].get(name)

    def _file(self, module: str, path: str) -> str | None:
        dots = len(module) - len(module.lstrip("."))
        parts = [part for part in module.lstrip(".").split(".") if part]
        here = PurePosixPath(path)
        if dots:
            base = here
            for _ in range(dots):
                base = base.parent
            return self._first(base.joinpath(*parts))
        return (parts and self._first(here.parent.joinpath(*parts))) or self._ending(parts)

    def _first(self, base: PurePosixPath) -> str | None:
        for candidate in (base.with_name(f"{base.name}.py") if base.name else base, base / "__init__.py"):
            if candidate in self._paths:
                return self._paths[candidate]
        return None

    def _ending(self, parts: list[str]) -> str | None:
        endings = ([*parts[:-1], f"{parts[-1]}.py"], [*parts, "__init__.py"]) if parts else ()
        found = [
            name
            for ending in endings
            for path, name in self._paths.items()
            if list(path.parts[-len(ending) :]) == ending
        ]
        return found[0] if len(found) == 1 else None


def _split(qualified: str) -> tuple[str, str]:
    module, dot, name = qualified.rpartition(".")
    # ".events.X" is X of ".events"; ".X" is X of ".".
    return (module or dot, name) if not module.strip(".") else (module, name)


def _imports(module: cst.Module) -> Iterator[tuple[str, str, str]]:
    """The ``from … import`` of the module itself: module, name, local name."""
    for node in _top_level(module):
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                name = str(alias.name.value)
                local = alias.evaluated_alias or name
                yield module_of(node), name, local


def _top_level(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in node.children:
        if not isinstance(child, cst.FunctionDef | cst.ClassDef | cst.BaseExpression):
            yield child
            yield from _top_level(child)
