"""Renames references to event classes and types, and reports references that it does not understand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

import libcst as cst

from agui_reasoning.compat._codemod.edits import member_name
from agui_reasoning.compat._codemod.facts import called, string_value
from agui_reasoning.compat._codemod.names import BY_TYPE, EventNames, renamed
from agui_reasoning.compat._codemod.session import Session

__all__ = ["References"]

_TAKE_CLASSES = frozenset({"TypeAdapter", "cast", "isinstance", "issubclass"})
_READ_KEYS = frozenset({"get", "getattr", "pop"})
_TYPES = (cst.Annotation, cst.Index, cst.TypeAlias)
_TESTS = (cst.MatchClass, cst.Comparison, cst.ComparisonTarget)


class References:
    """The references to event classes and types in one file."""

    def __init__(self, session: Session, made: Set[cst.CSTNode]) -> None:
        """Prepare the renaming.

        Args:
            session: The file.
            made: The nodes that create events.
        """
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
