"""Rewrites imports, and adds the one that makes ids."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from agui_reasoning.compat.codemod.names import BY_CLASS
from agui_reasoning.compat.codemod.project import CORE, module_of
from agui_reasoning.compat.codemod.session import Session

__all__ = ["kept_names", "new_id_source", "rewrite_imports"]

_TOP_OF_FILE = (cst.ImportFrom, cst.Import)


def kept_names(session: Session) -> frozenset[str]:
    """The old names that stay, because the file has its own use for the new one."""
    facts = session.facts
    bound = {
        name.value
        for name in facts.of_type(cst.Name)
        if _binds(facts.parent(name), name) and facts.core(name) is None
    }
    return frozenset(old for old, kind in BY_CLASS.items() if kind.new_class in bound)


def _binds(parent: cst.CSTNode, name: cst.Name) -> bool:
    match parent:
        case cst.ClassDef(name=bound) | cst.FunctionDef(name=bound) | cst.AssignTarget(target=bound):
            return bound is name
        case cst.AnnAssign(target=target):
            return target is name
    return False


def rewrite_imports(session: Session, kept: frozenset[str]) -> set[str]:
    """Rewrite the names that are imported.

    Returns:
        The old names that the file had from there, under these very names.
    """
    old: set[str] = set()
    seen: dict[cst.CSTNode, set[str]] = defaultdict(set)
    for node in session.facts.of_type(cst.ImportFrom):
        if isinstance(node.names, cst.ImportStar):
            if CORE.match(module_of(node)):
                session.find(node, "star_import", f"Everything is imported from {module_of(node)}.")
            continue
        block = session.facts.parent(session.facts.parent(node))
        names = _renamed(session, node, kept)
        old |= {alias.evaluated_name for alias in names if alias.asname is None}
        if names:
            session.edits.add(node, _rename(names, kept, seen[block]))
        seen[block] |= _locals(node, names, kept)
        _report_foreign(session, node, names)
    return old


def _renamed(session: Session, node: cst.ImportFrom, kept: frozenset[str]) -> dict[cst.ImportAlias, str]:
    """The names that are those of ag_ui.core, and the new one of each."""
    module, found = module_of(node), {}
    assert not isinstance(node.names, cst.ImportStar)
    for alias in node.names:
        name = alias.evaluated_name
        dot = "" if module.endswith(".") else "."
        if (
            name in BY_CLASS
            and session.facts.project.core_name(f"{module}{dot}{name}", session.facts.path) == name
        ):
            found[alias] = BY_CLASS[name].new_class
            if name in kept and alias.asname is None:
                session.find(alias, "name_taken", f"{found[alias]} is something else in this file.")
    return found


def _rename(names: dict[cst.ImportAlias, str], kept: frozenset[str], seen: set[str]) -> Callable[[Any], Any]:
    new = {alias.evaluated_name: name for alias, name in names.items()}
    before = set(seen)

    def edit(node: cst.ImportFrom) -> Any:
        assert not isinstance(node.names, cst.ImportStar)
        there = before | {
            alias.evaluated_name
            for alias in node.names
            if alias.evaluated_name not in new and alias.asname is None
        }
        aliases = [_alias(alias, new, kept) for alias in node.names]
        result = []
        for alias in aliases:
            local = alias.evaluated_alias or alias.evaluated_name
            if alias.evaluated_name in new.values() and local in there and alias not in node.names:
                continue
            there.add(local)
            result.append(alias)
        if not result:
            return cst.RemoveFromParent()
        result[-1] = result[-1].with_changes(comma=aliases[-1].comma)
        return node.with_changes(names=result)

    return edit


def _alias(alias: cst.ImportAlias, new: dict[str, str], kept: frozenset[str]) -> cst.ImportAlias:
    old = alias.evaluated_name
    if old not in new:
        return alias
    if old in kept and alias.asname is None:
        alias = alias.with_changes(asname=cst.AsName(cst.Name(old)))
    elif alias.asname is not None and alias.evaluated_alias == new[old]:
        alias = alias.with_changes(asname=None)
    return alias.with_changes(name=cst.Name(new[old]))


def _locals(node: cst.ImportFrom, names: dict[cst.ImportAlias, str], kept: frozenset[str]) -> set[str]:
    assert not isinstance(node.names, cst.ImportStar)
    return {
        alias.evaluated_alias
        or (names[alias] if alias in names and alias.evaluated_name not in kept else alias.evaluated_name)
        for alias in node.names
    }


def _report_foreign(session: Session, node: cst.ImportFrom, names: dict[cst.ImportAlias, str]) -> None:
    assert not isinstance(node.names, cst.ImportStar)
    module = module_of(node)
    for alias in node.names:
        name = alias.evaluated_name
        if (
            name in BY_CLASS
            and alias not in names
            and not session.facts.project.knows(module, session.facts.path)
        ):
            session.find(
                alias, "foreign_name", f"{name} comes from {module}, not from ag_ui.core: left as it is."
            )


# -- the import that makes ids


def new_id_source(session: Session) -> Callable[[], str]:
    """What gives the source of a new id; the first call sees to the import."""
    source = _existing(session)
    added = source is not None

    def new_id() -> str:
        nonlocal source, added
        if not added:
            name = "uuid4" if "uuid4" not in session.facts.names else "new_uuid4"
            _add_import(session, name)
            source, added = f"str({name}())", True
        assert source is not None
        return source

    return new_id


def _existing(session: Session) -> str | None:
    """What an import at the top of the file already offers."""
    for node in _imports(session.facts.module):
        if isinstance(node, cst.Import) and any(alias.evaluated_name == "uuid" for alias in node.names):
            alias = next(alias for alias in node.names if alias.evaluated_name == "uuid")
            return f"str({alias.evaluated_alias or 'uuid'}.uuid4())"
        if isinstance(node, cst.ImportFrom) and module_of(node) == "uuid":
            for alias in () if isinstance(node.names, cst.ImportStar) else node.names:
                if alias.evaluated_name == "uuid4":
                    return f"str({alias.evaluated_alias or 'uuid4'}())"
    return None


def _imports(module: cst.Module) -> Iterator[cst.Import | cst.ImportFrom]:
    for line in module.body:
        if isinstance(line, cst.SimpleStatementLine):
            yield from (node for node in line.body if isinstance(node, _TOP_OF_FILE))


def _add_import(session: Session, name: str) -> None:
    """Import it behind the last import of the standard library, or before all others."""
    alias = f" as {name}" if name != "uuid4" else ""
    line = cst.parse_statement(f"from uuid import uuid4{alias}")
    module = session.facts.module
    last: cst.CSTNode | None = None
    for statement in module.body:
        if not isinstance(statement, cst.SimpleStatementLine) or not _is_prologue(statement, module):
            break
        if _is_standard(statement):
            last = statement
    if last is not None:
        session.edits.add(last, lambda node: cst.FlattenSentinel([*_flat(node), line]))
        return
    first = next((item for item in module.body if not _is_head(item, module)), None)
    if first is not None:
        session.edits.add(first, lambda node: _put_first(node, line))


def _flat(node: Any) -> list[Any]:
    return list(node.nodes) if isinstance(node, cst.FlattenSentinel) else [node]


def _put_first(node: Any, line: Any) -> Any:
    """Before the first statement, with a blank line between; comments stay above what they are about."""
    nodes = _flat(node)
    blank = cst.EmptyLine(indent=False)
    old = list(nodes[0].leading_lines)
    nodes[0] = nodes[0].with_changes(leading_lines=[blank, *[item for item in old if item.comment]])
    return cst.FlattenSentinel(
        [
            line.with_changes(leading_lines=[item for item in old[:1] if not item.comment]),
            *nodes,
        ]
    )


def _is_prologue(statement: cst.SimpleStatementLine, module: cst.Module) -> bool:
    return _is_head(statement, module) or all(isinstance(node, _TOP_OF_FILE) for node in statement.body)


def _is_head(statement: cst.CSTNode, module: cst.Module) -> bool:
    """Whether a statement must stay first: the docstring, and imports from the future."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    node = statement.body[0]
    if isinstance(node, cst.Expr) and isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
        return statement is module.body[0]
    return isinstance(node, cst.ImportFrom) and module_of(node) == "__future__"


def _is_standard(statement: cst.SimpleStatementLine) -> bool:
    roots = set()
    for node in statement.body:
        if isinstance(node, cst.ImportFrom):
            roots.add(module_of(node).partition(".")[0])
        elif isinstance(node, cst.Import):
            roots |= {alias.evaluated_name.partition(".")[0] for alias in node.names}
    return bool(roots) and roots <= sys.stdlib_module_names - {"__future__"}
