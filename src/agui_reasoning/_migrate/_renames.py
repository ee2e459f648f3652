"""Renames event classes and types in imports, references and strings; reports what it does not understand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Set
from itertools import islice
from pathlib import PurePath
from typing import Any

import libcst as cst

from agui_reasoning._migrate._session import (
    BY_CLASS,
    BY_TYPE,
    CLASS_NAME,
    CORE,
    KINDS,
    TYPE_NAME,
    EventNames,
    Facts,
    Session,
    called,
    member_name,
    module_of,
    renamed,
    string_value,
    walk,
)

_TAKE_CLASSES = frozenset({"TypeAdapter", "cast", "isinstance", "issubclass"})
_READ_KEYS = frozenset({"get", "getattr", "pop"})
_TYPES = (cst.Annotation, cst.Index, cst.TypeAlias)
_TESTS = (cst.MatchClass, cst.Comparison, cst.ComparisonTarget)


class References:
    """The references to event classes and types in one file."""

    def __init__(self, session: Session, made: Set[cst.CSTNode]) -> None:
        """Prepare the renaming, except of the nodes that create events (``made``)."""
        self._session = session
        self._facts = session.facts
        self._made = made
        self._test_start: set[cst.CSTNode | None] = set()

    def rename(self) -> None:
        """Rename references to event classes and types."""
        for node in self._facts.nodes:
            match node:
                case cst.Name() | cst.Attribute():
                    self._reference(node)
                case cst.Dict(elements=items):
                    self._repeated([item.key for item in items if isinstance(item, cst.DictElement)])
                case cst.Match(cases=cases):
                    self._repeated([case.pattern for case in cases if case.guard is None])

    def report_titles(self) -> None:
        """Report reads of a title in functions that test for the START: it no longer exists."""
        for node in self._facts.nodes:
            if self._reads_title(node) and self._facts.above(node, cst.FunctionDef) in self._test_start:
                self._session.find(node, "title_read", "A title is read here.")

    def _reference(self, node: cst.Name | cst.Attribute) -> None:
        facts, last = self._facts, node.attr if isinstance(node, cst.Attribute) else node
        if isinstance(facts.parent(node), cst.ImportAlias | cst.AsName):
            return
        if facts.is_ambiguous(node):
            self._report(node, "may also refer to something else.")
        elif (kind := facts.class_kind(node)) is not None:
            self._rename(last, kind.old_class)
            self._note(node, kind)
            if not self._is_understood_class(node):
                self._report(node, "is used as a value.")
        elif last.value in BY_TYPE and (kind := facts.type_kind(node)) is not None:
            self._rename(last, kind.old_type)
            if not self.is_understood_type(node, kind):
                self._report(node, "is used as a value.")

    def _rename(self, name: cst.Name, old: str) -> None:
        if name.value == old:
            self._session.edits.add(name, lambda node: node.with_changes(value=renamed(old)))

    def _report(self, node: cst.CSTNode, problem: str) -> None:
        self._session.find(node, "unclear_use", f"{self._session.code(node)} {problem}")

    # -- classes

    def _is_understood_class(self, node: cst.CSTNode) -> bool:
        """Return whether a class is called, compared with the class of an event, or part of a type."""
        for parent, child in self._facts.up(node):
            match parent:
                case cst.BinaryOperation(operator=cst.BitOr()) | cst.Element() | cst.Tuple() | cst.List():
                    continue
                case cst.Assign() | cst.AnnAssign():
                    return isinstance(child, cst.BinaryOperation)
                case cst.Call():
                    return parent in self._made and child is parent.func
                case cst.Arg():
                    return called(self._facts.parent(parent)) in _TAKE_CLASSES
                case cst.DictElement(key=key):
                    return child is key
                case _:
                    return isinstance(parent, _TYPES + _TESTS)
        return False

    # -- types

    def is_understood_type(self, node: cst.BaseExpression, kind: EventNames) -> bool:
        """Return whether a type belongs to a created event, or is compared with the type of an event."""
        facts, value = self._facts, node
        while facts.type_kind(parent := facts.parent(value)) is kind:
            value = cst.ensure_type(parent, cst.Attribute)
        owner = facts.parent(parent)
        if owner in self._made and member_name(parent) == "type":
            return True
        self._note(node, kind)
        is_member = not isinstance(node, cst.SimpleString)
        match parent:
            case cst.Element():
                return self._is_compared(owner, is_member)
            case cst.Comparison() | cst.ComparisonTarget():
                return self._is_compared(value, is_member)
            case cst.MatchValue():
                return is_member or self._matches_type(parent)
            case cst.DictElement(key=key):
                return is_member and key is value
        return False

    def _is_compared(self, value: cst.CSTNode, is_member: bool) -> bool:
        """Return whether a value is compared; if it is a string, with the type of an event."""
        comparison = self._facts.parent(value)
        if isinstance(comparison, cst.ComparisonTarget):
            comparison = self._facts.parent(comparison)
        if not isinstance(comparison, cst.Comparison):
            return False
        sides = [comparison.left, *(target.comparator for target in comparison.comparisons)]
        return is_member or any(self._facts.is_type(side) for side in sides if side is not value)

    def _matches_type(self, pattern: cst.CSTNode) -> bool:
        for parent, _ in self._facts.up(pattern):
            match parent:
                case cst.MatchMappingElement(key=key):
                    return string_value(key) == "type"
                case cst.MatchKeywordElement(key=cst.Name(value=name)):
                    return name == "type"
                case cst.Match(subject=subject):
                    return self._facts.is_type(subject)
        return False

    # -- what the new events do not have, or have already

    def _note(self, node: cst.CSTNode, kind: EventNames) -> None:
        """Remember the function around a test for the START of a span."""
        if (kind.family, kind.step) == ("span", "start") and self._facts.parent(node) not in self._made:
            self._test_start.add(self._facts.above(node, cst.FunctionDef))

    def _reads_title(self, node: cst.CSTNode) -> bool:
        """Match ``event.title``, ``event["title"]``, ``event.get("title")`` and ``case Class(title=…)``."""
        parent = self._facts.parent(node)
        match node:
            case cst.Attribute(attr=cst.Name(value="title")):
                return not isinstance(parent, cst.Call)
            case cst.MatchKeywordElement(key=cst.Name(value="title")):
                return True
        is_key = isinstance(parent, cst.Index | cst.MatchMappingElement)
        return string_value(node) == "title" and (is_key or called(self._facts.parent(parent)) in _READ_KEYS)

    def _repeated(self, keys: list[cst.BaseExpression] | list[cst.MatchPattern]) -> None:
        """Report keys and cases that become equal."""
        codes = {self._session.code(key): key for key in keys}
        count = Counter(map(renamed, codes))
        for code, key in codes.items():
            if count[new := renamed(code)] > 1 and new != code:
                self._session.find(key, "duplicate_handler", f"{new} is handled more than once here.")


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
    """Rewrite imported names; return the old ones that the file imports without an alias."""
    old: set[str] = set()
    taken = _taken_names(session.facts)
    for node in session.facts.of_type(cst.ImportFrom):
        module = module_of(node)
        if isinstance(node.names, cst.ImportStar):
            if CORE.match(module) and not session.facts.names.isdisjoint({*BY_CLASS, *BY_TYPE}):
                session.find(node, "star_import", f"Everything is imported from {module}.")
        elif not CORE.match(module):
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
        if (statement := facts.above(node, cst.ImportFrom)) is not None:
            is_core = CORE.match(module_of(statement)) is not None
        else:
            is_core = not facts.qualified(node) or facts.core(node) == node.value
        if not is_core:
            taken.add(node.value)
    return taken


def _report_others(session: Session, node: cst.ImportFrom) -> None:
    """Report events that another file passes on, and classes of other libraries with the same names."""
    module = module_of(node)
    last = module.rpartition(".")[2] or PurePath(session.facts.path).parent.name
    code = "reexported_name" if last in session.exporters else "foreign_name"
    for alias in _events(node):
        session.find(alias, code, f"{alias.evaluated_name} comes from {module}, not from ag_ui.core.")


_QUOTED = re.compile(r"""["']THINKING_[A-Z_]+\\?["']|\\?["']type\\?["']""")


def rewrite_strings(session: Session, references: References, old: Set[str]) -> None:
    """Rewrite or report every string that contains the name of an event.

    ``old`` has the old names that the file imports without an alias.
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


def _rewrite_type(session: Session, references: References, node: cst.SimpleString) -> None:
    kind = BY_TYPE.get(string_value(node) or "")
    if kind is not None and references.is_understood_type(node, kind):
        new = node.value.replace(kind.old_type, kind.new_type)
        session.edits.add(node, lambda string: string.with_changes(value=new))
    else:
        _report_types(session, node, node.raw_value)


def _report_types(session: Session, node: cst.CSTNode, text: str) -> None:
    found = TYPE_NAME.search(text)
    call = session.facts.parent(session.facts.parent(node))
    is_prefix = text == "THINKING" and called(call) == "startswith"
    if is_prefix or (found and (text == found[0] or _QUOTED.search(text))):
        session.find(node, "unclear_use", f"A string contains {found[0] if found else text}.")
    elif found:
        session.find(node, "string_mentioned", f"A string mentions {found[0]}.")


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
