"""Rewrites imports, and requests the import of ``uuid4``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import libcst as cst

from agui_reasoning.compat._codemod.facts import CORE, Facts, module_of
from agui_reasoning.compat._codemod.names import BY_CLASS, BY_TYPE, KINDS
from agui_reasoning.compat._codemod.session import Session

__all__ = ["new_id", "rewrite_imports"]

_DEFINITIONS = (cst.AssignTarget, cst.AnnAssign, cst.ClassDef, cst.FunctionDef, cst.AsName)
_NEW_CLASSES = frozenset(kind.new_class for kind in KINDS)


def new_id(session: Session) -> str:
    """Return source code that creates an ID, and request the import it needs."""
    if not session.imports_uuid4:
        facts, own = session.facts, {"uuid4"}
        found = {name.name for node in _named(facts, own) for name in facts.qualified(node)}
        is_free = facts.names.isdisjoint(own) or found == {"uuid.uuid4"}
        session.imports_uuid4 = "uuid4" if is_free else session.unused_name("new_uuid4")
        session.edits.count += 1
    return f"str({session.imports_uuid4}())"


def rewrite_imports(session: Session) -> frozenset[str]:
    """Rewrite imported names.

    Returns:
        The old names that the file imports without an alias.
    """
    old: set[str] = set()
    taken = _taken_names(session.facts)
    for node in session.facts.of_type(cst.ImportFrom):
        if isinstance(node.names, cst.ImportStar):
            _report_star(session, node)
        elif not CORE.match(module_of(node)):
            _report_others(session, node)
        else:
            old |= _rewrite(session, node, taken)
    for name in _named(session.facts, old):
        if isinstance(session.facts.parent(name), _DEFINITIONS):
            session.find(name, "name_taken", f"This file also defines {name.value}.")
    return frozenset(old)


def _rewrite(session: Session, node: cst.ImportFrom, taken: set[str]) -> set[str]:
    """Rename the events of one import, and return those without an alias."""
    events = _events(node)
    for alias in events:
        session.edits.add(alias, _rename(BY_CLASS[alias.evaluated_name].new_class))
    plain = {alias.evaluated_name for alias in events if alias.asname is None}
    for name in sorted(plain):
        if (new := BY_CLASS[name].new_class) in taken:
            session.find(node, "name_taken", f"This file already uses the name {new}.")
    return plain


def _events(node: cst.ImportFrom) -> list[cst.ImportAlias]:
    names = () if isinstance(node.names, cst.ImportStar) else node.names
    return [alias for alias in names if alias.evaluated_name in BY_CLASS]


def _rename(new: str) -> Callable[[Any], Any]:
    return lambda alias: alias.with_changes(name=cst.Name(new))


def _named(facts: Facts, names: frozenset[str] | set[str]) -> list[cst.Name]:
    return [node for node in facts.of_type(cst.Name) if node.value in names]


def _taken_names(facts: Facts) -> set[str]:
    """Return the new names that refer to something else in the file."""
    taken = set()
    for node in _named(facts, _NEW_CLASSES):
        statement = facts.above(node, cst.ImportFrom)
        if statement is not None:
            is_core = CORE.match(module_of(statement)) is not None
        else:
            is_core = not facts.qualified(node) or facts.core(node) == node.value
        taken |= set() if is_core else {node.value}
    return taken


def _report_star(session: Session, node: cst.ImportFrom) -> None:
    module = module_of(node)
    if CORE.match(module) and not session.facts.names.isdisjoint({*BY_CLASS, *BY_TYPE}):
        session.find(node, "star_import", f"Everything is imported from {module}.")


def _report_others(session: Session, node: cst.ImportFrom) -> None:
    """Report events that another file passes on, and classes of other libraries with the same names."""
    module = module_of(node)
    last = module.rpartition(".")[2] or PurePath(session.facts.path).parent.name
    code = "reexported_name" if last in session.exporters else "foreign_name"
    for alias in _events(node):
        session.find(alias, code, f"{alias.evaluated_name} comes from {module}, not from ag_ui.core.")
