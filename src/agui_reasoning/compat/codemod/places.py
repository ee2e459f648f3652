"""Where an event is made: in which function, before which statement, under which conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import libcst as cst

from agui_reasoning.compat.codemod.facts import Facts
from agui_reasoning.compat.codemod.names import Family, Step

__all__ = ["Anchor", "Guard", "Place", "Places", "Scope", "Use"]

ScopeNode: TypeAlias = cst.FunctionDef | cst.Lambda | cst.Module
Anchor: TypeAlias = cst.BaseSmallStatement | cst.BaseCompoundStatement
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)
_HEADERS = (cst.For, cst.While, cst.If, cst.With, cst.Match)


@dataclass(eq=False)
class Scope:
    """A function, a lambda, or the module itself.

    Attributes:
        node: It.
        parent: The scope around it.
        owner: The class whose method it is.
        receiver: What a method calls its object, ``None`` for static methods and all else.
    """

    node: ScopeNode
    parent: Scope | None = None
    owner: cst.ClassDef | None = None
    receiver: str | None = None

    def up(self) -> Iterator[Scope]:
        """This scope and those around it, from the inside."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def method(self) -> Scope | None:
        """The nearest method that this is or is inside of."""
        return next((scope for scope in self.up() if scope.receiver is not None), None)


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A condition above a place.

    Attributes:
        node: The branch, loop, handler or case.
        tests: Its condition, split at ``and``, as source.
        exprs: The nodes of the condition.
        loop: It repeats; a place in it may follow one that is behind it.
        inline: It is inside an expression.
    """

    node: cst.CSTNode
    tests: frozenset[str] = frozenset()
    exprs: tuple[cst.CSTNode, ...] = ()
    loop: bool = False
    inline: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a site is.

    Attributes:
        scope: The innermost function around it.
        line: Line and column.
        guards: The conditions between scope and site, from the inside.
        anchor: What an assignment goes before; ``None`` where it would not run in time.
        top: The statement of the scope's own block that it is in.
        fixed: It runs when the definition around it does: a class body, a default, a decorator.
        compared: It is part of a comparison or an ``assert``.
        rescue: The ``try`` statements in whose handlers or ``finally`` it is.
        attempts: The ``try`` statements in whose body it is.
        iterable: It is what a comprehension goes over, where ``:=`` cannot stand.
    """

    scope: Scope
    line: tuple[int, int]
    guards: tuple[Guard, ...]
    anchor: Anchor | None
    top: cst.CSTNode
    fixed: bool = False
    compared: bool = False
    rescue: frozenset[cst.CSTNode] = frozenset()
    attempts: frozenset[cst.CSTNode] = frozenset()
    iterable: bool = False

    @property
    def inline(self) -> bool:
        """Whether it may run or not when its statement does."""
        return self.anchor is None or any(guard.inline for guard in self.guards)

    def precedes(self, other: Place) -> bool:
        """Whether it has run whenever a later place does: it is under no condition that the other is not."""
        return {guard.node for guard in self.guards} <= {guard.node for guard in other.guards}


@dataclass(eq=False, slots=True)
class _Climb:
    """What is collected on the way up from a site to its scope."""

    guards: list[Guard] = field(default_factory=list)
    anchor: Anchor | None = None
    found: bool = False
    fixed: bool = False
    compared: bool = False
    rescue: set[cst.CSTNode] = field(default_factory=set)
    attempts: set[cst.CSTNode] = field(default_factory=set)
    iterable: bool = False


class Places:
    """Locates nodes; keeps one `Scope` per function."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._scopes: dict[cst.CSTNode, Scope] = {}

    def locate(self, node: cst.CSTNode) -> Place:
        """Find out where a node is."""
        climb, top = _Climb(), node
        for parent, child in self._facts.up(node):
            if _is_scope(parent, child):
                return Place(
                    self.scope(parent),
                    self._facts.line(node),
                    tuple(climb.guards),
                    climb.anchor,
                    top,
                    climb.fixed,
                    climb.compared,
                    frozenset(climb.rescue),
                    frozenset(climb.attempts),
                    climb.iterable,
                )
            self._step(climb, parent, child)
            if not isinstance(parent, cst.IndentedBlock | cst.SimpleStatementSuite):
                top = parent
        raise AssertionError("a module is above every node")

    def scope(self, node: cst.CSTNode) -> Scope:
        """The scope of a function, lambda or module node."""
        assert isinstance(node, cst.FunctionDef | cst.Lambda | cst.Module)
        if node not in self._scopes:
            self._scopes[node] = self._new_scope(node)
        return self._scopes[node]

    def _new_scope(self, node: ScopeNode) -> Scope:
        outer = next((up for up, child in self._facts.up(node) if _is_scope(up, child)), None)
        scope = Scope(node, None if outer is None else self.scope(outer))
        if isinstance(node, cst.FunctionDef):
            owner = next((up for up, _ in self._facts.up(self._facts.parent(node))), None)
            if isinstance(owner, cst.ClassDef):
                scope.owner = owner
                scope.receiver = _receiver(node)
        return scope

    def _step(self, climb: _Climb, parent: cst.CSTNode, child: cst.CSTNode) -> None:
        if isinstance(parent, cst.Comparison | cst.Assert):
            climb.compared = True
        elif isinstance(parent, cst.ClassDef | cst.FunctionDef):
            climb.fixed = True
        elif isinstance(parent, cst.CompFor) and child is parent.iter:
            climb.iterable = True
        elif isinstance(parent, cst.Try | cst.TryStar):
            (climb.attempts if child is parent.body else climb.rescue).add(parent)
        if not climb.found and isinstance(parent, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            climb.found = True
            climb.anchor = self._anchor(parent, child)
        guard = self._guard(parent, child)
        if guard is not None:
            climb.guards.append(guard)

    def _anchor(self, parent: Anchor, child: cst.CSTNode) -> Anchor | None:
        """A header runs once, before what it heads: not that of ``while`` and ``elif``."""
        if isinstance(parent, cst.While):
            return None
        if isinstance(parent, cst.If) and isinstance(self._facts.parent(parent), cst.If):
            return None
        return None if isinstance(child, cst.MatchCase | cst.ExceptHandler) else parent

    def _guard(self, parent: cst.CSTNode, child: cst.CSTNode) -> Guard | None:
        match parent:
            case cst.If(test=test, body=body, orelse=orelse):
                if child is body:
                    return Guard(body, self._tests(test), (test,))
                return Guard(child, self._tests(test, "not "), (test,)) if child is orelse else None
            case cst.For(body=body) | cst.While(body=body):
                return Guard(parent, loop=True) if child is body else None
            case cst.ExceptHandler():
                return Guard(parent)
            case cst.MatchCase(pattern=pattern, body=body):
                code = self._facts.module.code_for_node(pattern)
                return Guard(parent, frozenset({code}), (pattern,), inline=child is not body)
        return self._inline_guard(parent, child)

    def _inline_guard(self, parent: cst.CSTNode, child: cst.CSTNode) -> Guard | None:
        match parent:
            case cst.IfExp(test=test, body=body):
                tests = self._tests(test, "" if child is body else "not ")
                return None if child is test else Guard(child, tests, (test,), inline=True)
            case cst.BooleanOperation(left=left, right=right):
                return Guard(right, self._tests(left), (left,), inline=True) if child is right else None
            case cst.CompFor() if isinstance(self._facts.parent(parent), cst.CompFor):
                return Guard(parent, loop=True, inline=True)
            case cst.CompFor(iter=over) if child is not over:
                return Guard(parent, loop=True, inline=True)
        if isinstance(parent, _COMPREHENSIONS) and not isinstance(child, cst.CompFor):
            return Guard(parent, loop=True, inline=True)
        return None

    def _tests(self, test: cst.BaseExpression, prefix: str = "") -> frozenset[str]:
        parts: Sequence[cst.BaseExpression] = [test] if prefix else list(_conjuncts(test))
        return frozenset(prefix + self._facts.module.code_for_node(part) for part in parts)


@dataclass(eq=False, slots=True)
class Use:
    """One step of one family at one place: an event that is made, or a call of what makes it.

    Attributes:
        node: The call or dict.
        place: Where it is.
        family: Whose id it needs.
        step: What it does to the span or message.
        explicit: The id it has already, as source.
    """

    node: cst.CSTNode
    place: Place
    family: Family
    step: Step
    explicit: str | None = None


def _is_scope(parent: cst.CSTNode, child: cst.CSTNode) -> bool:
    if isinstance(parent, cst.FunctionDef | cst.Lambda):
        return child is parent.body
    return isinstance(parent, cst.Module)


def _receiver(node: cst.FunctionDef) -> str | None:
    marks = {mark.decorator.value for mark in node.decorators if isinstance(mark.decorator, cst.Name)}
    parameters = [*node.params.posonly_params, *node.params.params]
    if marks & {"staticmethod", "classmethod"} or node.name.value == "__new__" or not parameters:
        return None
    return parameters[0].name.value


def _conjuncts(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from _conjuncts(test.left)
        yield from _conjuncts(test.right)
    else:
        yield test
