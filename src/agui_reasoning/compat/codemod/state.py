"""What outlives a call: attributes and outer variables that a function changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, takewhile

import libcst as cst

from agui_reasoning.compat.codemod.facts import Facts
from agui_reasoning.compat.codemod.names import Taint
from agui_reasoning.compat.codemod.places import Guard, Place, Scope

__all__ = ["State", "covers", "tainted_by"]

_SETUP = frozenset({"__init__", "__new__", "__post_init__"})


class State:
    """Answers what a function changes, and whether one place can come before another."""

    def __init__(self, facts: Facts) -> None:
        self._code = facts.module.code_for_node
        self._targets = lru_cache(None)(self._find_targets)

    def changes_object(self, scope: Scope) -> bool:
        """Whether a method changes its object's attributes outside of its setup."""
        method = scope.method
        if method is None or not isinstance(method.node, cst.FunctionDef) or method.node.name.value in _SETUP:
            return False
        prefix = f"{method.receiver}."
        return any(target.startswith(prefix) for target in self._targets(method.node))

    def names(self, scope: Scope) -> set[str]:
        """The name of the nearest named function around a place."""
        named = (inner.node.name.value for inner in scope.up() if isinstance(inner.node, cst.FunctionDef))
        return set(islice(named, 1))

    def taint(self, scope: Scope) -> Taint:
        """What must use the fixed id because this function does."""
        if isinstance(scope.node, cst.Module):
            return Taint()
        return Taint(frozenset(self.names(scope)), frozenset(_words(scope.node)))

    def mentioned(self, scope: Scope, names: frozenset[str]) -> set[str]:
        """Which of some functions a function mentions; a module, where it runs by itself."""
        if isinstance(scope.node, cst.Module):
            return _loose_words(scope.node) & names
        return _words(scope.node) & names

    def can_hold(self, owner: cst.ClassDef | None) -> bool:
        """Whether objects of a class can be given an attribute: those with slots, or frozen ones, cannot."""
        if owner is None or any(self._code(base.value).endswith("NamedTuple") for base in owner.bases):
            return False
        marks = [mark.decorator for mark in owner.decorators if isinstance(mark.decorator, cst.Call)]
        options = {self._code(arg).replace(" ", "") for mark in marks for arg in mark.args}
        slots = "__slots__" in self._targets(owner.body)
        return not slots and options.isdisjoint({"slots=True", "frozen=True"})

    def is_kept(self, guard: Guard, scope: Scope) -> bool:
        """Whether a condition reads what outlives the call."""
        read = {self._code(node) for expr in guard.exprs for node in _reads(expr)}
        return not read.isdisjoint(self._kept(scope))

    def reaches(self, start: Place, use: Place) -> bool:
        """Whether what a START leaves behind can be there when another place runs, in the same call.

        In a loop a START can also come after it, if the place is skipped the first time.
        """
        shared = {guard.node for guard in use.guards}
        loop = next((guard.node for guard in start.guards if guard.loop and guard.node in shared), None)
        if use.line < start.line:
            return loop is not None and _is_conditional(use, loop)
        if loop is not None:
            return True
        tests = {test for guard in use.guards for test in guard.tests}
        names = {self._code(node) for guard in use.guards for expr in guard.exprs for node in _reads(expr)}
        return all(
            guard.loop
            or guard.node in shared
            or (guard.tests and guard.tests <= tests)
            or self._sets(guard.node, names)
            for guard in start.guards
        )

    def ends(self, start: Place, end: Place) -> bool:
        """Whether an END can come after a START, in the same call."""
        if end.line > start.line:
            return self.reaches(start, end)
        around = {guard.node for guard in end.guards}
        loop = next((guard.node for guard in start.guards if guard.loop and guard.node in around), None)
        return loop is not None and _is_conditional(start, loop)

    def _sets(self, block: cst.CSTNode, names: set[str]) -> bool:
        return not names.isdisjoint(self._targets(block))

    def _kept(self, scope: Scope) -> set[str]:
        """The names, attributes and items that outlive a call of a function and are changed."""
        kept: set[str] = set()
        for inner in scope.up():
            if isinstance(inner.node, cst.FunctionDef):
                kept |= self._outer_names(inner.node)
        method = scope.method
        if method is not None and method.owner is not None:
            for node in method.owner.body.body:
                if isinstance(node, cst.FunctionDef) and node.name.value not in _SETUP:
                    kept |= {name for name in self._targets(node) if name.startswith(f"{method.receiver}.")}
        return kept

    def _outer_names(self, node: cst.FunctionDef) -> set[str]:
        parameters = {parameter.name.value for parameter in _parameters(node.params)}
        declared = {
            item.name.value
            for statement in _walk(node.body)
            if isinstance(statement, cst.Global | cst.Nonlocal)
            for item in statement.names
        }
        return declared | {
            name for name in self._targets(node) if _root(name) in parameters and _root(name) != name
        }

    def _find_targets(self, block: cst.CSTNode) -> frozenset[str]:
        found: set[str] = set()
        for node in _walk(block):
            if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.NamedExpr):
                target = node.target
                inner = target.elements if isinstance(target, cst.Tuple | cst.List) else (target,)
                found |= {
                    self._code(getattr(part, "value", part) if part is not target else part) for part in inner
                }
        return frozenset(found)


def covers(start: Place, use: Place) -> bool:
    """Whether a place runs only after a START has: then a variable needs no value before it."""
    if start.line > use.line or start.inline:
        return False
    if use.rescue & start.attempts:
        return False
    shared = {guard.node for guard in use.guards}
    return all(guard.node in shared for guard in start.guards)


def tainted_by(module: cst.Module, names: frozenset[str]) -> frozenset[str]:
    """The functions of a module that mention one of some functions, directly or through each other."""
    functions = {node.name.value: _words(node) for node in _walk(module) if isinstance(node, cst.FunctionDef)}
    found = names
    while added := {name for name, words in functions.items() if words & found} - found:
        found |= added
    return found


def _words(node: cst.CSTNode) -> set[str]:
    return {inner.value for inner in _walk(node) if isinstance(inner, cst.Name)}


def _loose_words(node: cst.CSTNode) -> set[str]:
    """The names outside of functions and imports: what runs when a module is run."""
    if isinstance(node, cst.FunctionDef | cst.Import | cst.ImportFrom):
        return set()
    own = {node.value} if isinstance(node, cst.Name) else set()
    return own.union(*map(_loose_words, node.children))


def _is_conditional(place: Place, loop: cst.CSTNode) -> bool:
    """Whether there is a condition between a place and a loop around it."""
    inside = takewhile(lambda guard: guard.node is not loop, place.guards)
    return any(not guard.loop for guard in inside)


def _reads(expr: cst.CSTNode) -> Iterator[cst.CSTNode]:
    return (node for node in _walk(expr) if isinstance(node, cst.Name | cst.Attribute | cst.Subscript))


def _root(name: str) -> str:
    return name.partition(".")[0].partition("[")[0]


def _parameters(parameters: cst.Parameters) -> Iterator[cst.Param]:
    yield from parameters.posonly_params
    yield from parameters.params
    yield from parameters.kwonly_params


def _walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _walk(child)
