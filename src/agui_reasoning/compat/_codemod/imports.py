"""Rewrites imports, and requests the import of ``uuid4``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import libcst as cst

from agui_reasoning.compat._codemod.names import BY_CLASS
from agui_reasoning.compat._codemod.project import CORE, module_of
from agui_reasoning.compat._codemod.session import Session

__all__ = ["new_id", "rewrite_imports"]


def new_id(session: Session) -> str:
    """Return source code that creates an ID, and request the import it needs."""
    if not session.imports_uuid4:
        facts = session.facts
        own = any(module_of(node) == "uuid" for node in facts.of_type(cst.ImportFrom))
        session.imports_uuid4 = "new_uuid4" if "uuid4" in facts.names and not own else "uuid4"
        session.edits.count += 1
    return f"str({session.imports_uuid4}())"


def rewrite_imports(session: Session) -> set[str] | None:
    """Rewrite imported names.

    Returns:
        The old names imported without an alias; ``None`` if the file already uses a new name for something
        else.
    """
    old: set[str] = set()
    taken = _defined_names(session)
    imported: dict[cst.CSTNode, set[str]] = defaultdict(set)
    for node in session.facts.of_type(cst.ImportFrom):
        if isinstance(node.names, cst.ImportStar):
            if CORE.match(module_of(node)):
                session.find(node, "star_import", f"Everything is imported from {module_of(node)}.")
            continue
        names = {alias.evaluated_name for alias in node.names if _is_old(session, node, alias)}
        clash = next((name for name in sorted(names) if BY_CLASS[name].new_class in taken), None)
        if clash is not None:
            session.findings.clear()
            new = BY_CLASS[clash].new_class
            session.find(node, "name_taken", f"This file already uses the name {new}.")
            return None
        block = session.facts.parent(session.facts.parent(node))
        old |= {a.evaluated_name for a in node.names if a.evaluated_name in names and a.asname is None}
        if names:
            session.edits.add(node, _rename(names, imported[block]))
        imported[block] |= {alias.evaluated_alias or _new(alias, names) for alias in node.names}
        _report_foreign(session, node, names)
    return set(BY_CLASS) if session.facts.has_star else old


def _defined_names(session: Session) -> set[str]:
    """Return the names that the file defines."""
    facts = session.facts
    bound: set[str] = set()
    for node in facts.nodes:
        name = getattr(node, "name", None) if isinstance(node, cst.ClassDef | cst.FunctionDef) else None
        if isinstance(node, cst.AssignTarget | cst.AnnAssign):
            name = node.target
        if isinstance(name, cst.Name) and facts.core(name) is None:
            bound.add(name.value)
    return bound


def _is_old(session: Session, node: cst.ImportFrom, alias: cst.ImportAlias) -> bool:
    name, module, facts = alias.evaluated_name, module_of(node), session.facts
    dot = "" if module.endswith(".") else "."
    return name in BY_CLASS and facts.project.core_name(f"{module}{dot}{name}", facts.path) == name


def _new(alias: cst.ImportAlias, old: set[str]) -> str:
    name = alias.evaluated_name
    return BY_CLASS[name].new_class if name in old else name


def _rename(old: set[str], imported: set[str]) -> Callable[[Any], Any]:
    """Rename the old names, and drop duplicates of this or an earlier import."""
    before = set(imported)

    def edit(node: cst.ImportFrom) -> Any:
        assert not isinstance(node.names, cst.ImportStar)
        present = before | {
            alias.evaluated_name
            for alias in node.names
            if alias.evaluated_name not in old and alias.asname is None
        }
        kept = []
        for alias in node.names:
            new = _new(alias, old)
            local = alias.evaluated_alias or new
            if alias.evaluated_name in old:
                if local in present:
                    continue
                asname = None if local == new else alias.asname
                alias = alias.with_changes(name=cst.Name(new), asname=asname)
            present.add(local)
            kept.append(alias)
        if not kept:
            return cst.RemoveFromParent()
        kept[-1] = kept[-1].with_changes(comma=node.names[-1].comma)
        return node.with_changes(names=kept)

    return edit


def _report_foreign(session: Session, node: cst.ImportFrom, old: set[str]) -> None:
    assert not isinstance(node.names, cst.ImportStar)
    module, facts = module_of(node), session.facts
    for alias in node.names:
        name = alias.evaluated_name
        if name in BY_CLASS and name not in old and not facts.project.knows(module, facts.path):
            message = f"{name} comes from {module}, not from ag_ui.core, and was not changed."
            session.find(alias, "foreign_name", message)
