"""Rewrites strings that certainly name events, and reports the others."""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import islice

import libcst as cst

from agui_reasoning.compat._codemod.facts import called, string_value, walk
from agui_reasoning.compat._codemod.names import BY_CLASS, BY_TYPE, CLASS_NAME, TYPE_NAME, renamed
from agui_reasoning.compat._codemod.references import References
from agui_reasoning.compat._codemod.session import Session

__all__ = ["rewrite_strings"]

_QUOTED = re.compile(r"""["']THINKING_[A-Z_]+\\?["']|\\?["']type\\?["']""")


def rewrite_strings(session: Session, references: References, old: Set[str]) -> None:
    """Rewrite or report every string that contains the name of an event.

    Args:
        session: The file.
        references: The references of the file.
        old: The old names that the file imports without an alias.
    """
    for node in session.facts.nodes:
        if isinstance(node, cst.SimpleString) and not _is_docstring(session, node):
            _rewrite_classes(session, node, old)
            _rewrite_type(session, references, node)
        elif isinstance(node, cst.FormattedStringText):
            _report_types(session, node, node.value)


def _is_docstring(session: Session, node: cst.CSTNode) -> bool:
    parent = session.facts.parent(node)
    return isinstance(parent, cst.Expr) or (
        isinstance(parent, cst.ConcatenatedString) and _is_docstring(session, parent)
    )


# -- types


def _rewrite_type(session: Session, references: References, node: cst.SimpleString) -> None:
    kind = BY_TYPE.get(string_value(node) or "")
    if kind is not None and references.is_understood_type(node, kind):
        new = node.value.replace(kind.old_type, kind.new_type)
        session.edits.add(node, lambda string: string.with_changes(value=new))
    else:
        _report_types(session, node, node.raw_value)


def _report_types(session: Session, node: cst.CSTNode, text: str) -> None:
    found = TYPE_NAME.search(text)
    if _is_prefix(session, node, text) or (found and (text == found[0] or _QUOTED.search(text))):
        session.find(node, "unclear_use", f"A string contains {found[0] if found else text}.")
    elif found:
        session.find(node, "string_mentioned", f"A string mentions {found[0]}.")


def _is_prefix(session: Session, node: cst.CSTNode, text: str) -> bool:
    call = session.facts.parent(session.facts.parent(node))
    return text == "THINKING" and called(call) == "startswith"


# -- classes


def _rewrite_classes(session: Session, node: cst.SimpleString, old: Set[str]) -> None:
    """Rename imported classes in annotations and ``__all__``."""
    text = string_value(node) or ""
    if not CLASS_NAME.search(text):
        return
    if _is_code(session, node):
        new = CLASS_NAME.sub(lambda found: renamed(found[0]) if found[0] in old else found[0], node.value)
        if new != node.value:
            session.edits.add(node, lambda string: string.with_changes(value=new))
    elif text in old or (text in BY_CLASS and "ag_ui" in session.facts.names):
        session.find(node, "unclear_use", f"A string contains the name {text}.")


def _is_code(session: Session, node: cst.SimpleString) -> bool:
    facts = session.facts
    line = facts.above(node, cst.SimpleStatementLine)
    start = islice(walk(line.body[0]), 6) if line else ()  # enough for the name that a statement begins with
    return (
        facts.above(node, cst.Annotation) is not None
        or called(facts.parent(facts.parent(node))) == "cast"
        or any(isinstance(first, cst.Name) and first.value == "__all__" for first in start)
    )
