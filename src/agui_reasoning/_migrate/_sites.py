"""Finds the places that create events, with the conditions around them, and completes the events there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import TypeAlias

import libcst as cst

from agui_reasoning._migrate._session import (
    EventNames,
    EventStep,
    Facts,
    Session,
    called,
    drop_member,
    insert_member,
    member_name,
    member_nodes,
    string_value,
    walk,
)
from agui_reasoning._wire_events import HINT_KEY

_Add: TypeAlias = Callable[[str, str], None]
IDS = ("message_id", "messageId")
"""The names of the ID: in Python, and on the wire."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A call or dict display that creates an event.

    Attributes:
        id_name: The name that its ID needs.
        quote: The quotation mark for strings in it.
    """

    node: cst.Call | cst.Dict
    kind: EventNames
    id_name: str
    quote: str

    def value(self, *names: str) -> cst.BaseExpression | None:
        """Return the value of the first member with one of the names."""
        return next((item.value for item in member_nodes(self.node) if member_name(item) in names), None)

    @property
    def explicit(self) -> cst.BaseExpression | None:
        """The ID that the code already passes; 0.x ignored it."""
        return self.value(*IDS)


def find_sites(session: Session) -> list[Site]:
    """Find all places that create events, and report calls whose arguments cannot be known."""
    created = (node for node in session.facts.nodes if isinstance(node, cst.Call | cst.Dict))
    found = [site for node in created if (site := _site(session, node))]
    for site in found:
        if isinstance(site.node, cst.Call) and not all(arg.keyword for arg in site.node.args):
            message = f"{site.kind.new_class} is created with an argument that has no name."
            session.find(site.node, "unnamed_argument", message)
    return found


def _site(session: Session, node: cst.Call | cst.Dict) -> Site | None:
    facts = session.facts
    if isinstance(node, cst.Call):
        if (kind := facts.class_kind(node.func)) is not None:
            return Site(node, kind, IDS[0], _quote(session, node))
        names = {name.name for name in facts.qualified(node.func)} if called(node) == "dict" else ()
        if facts.core(node.func) != "BaseEvent" and names != {"builtins.dict"}:
            return None
    given = (item.value for item in member_nodes(node) if member_name(item) == "type")
    kind = next(map(facts.type_kind, given), None)
    return None if kind is None else Site(node, kind, IDS[1], _quote(session, node))


def _quote(session: Session, node: cst.Call | cst.Dict) -> str:
    """Return a quotation mark that fits. Before Python 3.12, an f-string cannot contain its own."""
    for item in member_nodes(node):
        if isinstance(item, cst.DictElement) and isinstance(item.key, cst.SimpleString):
            return item.key.quote
    around = session.facts.above(node, cst.FormattedString)
    return "'" if around is not None and '"' in around.start else '"'


def complete(session: Session, site: Site, identifier: str | None) -> None:
    """Add the members that an event now requires, with the source of its ID unless it keeps its own."""
    names = [member_name(item) for item in member_nodes(site.node)]
    # After the type and ID, or first if neither is given.
    index = max((at + 1 for at, name in enumerate(names) if name in ("type", *IDS)), default=0)

    def add(name: str, value: str) -> None:
        session.edits.add(site.node, insert_member(index, name, value, site.quote))

    if site.kind.family == "message" and site.kind.step == "start":
        _set_role(session, site, add)
    if identifier is not None:
        add(site.id_name, identifier)
    if site.kind.family == "span" and site.kind.step == "start":
        _remove_title(session, site, add)


def _set_role(session: Session, site: Site, add: _Add) -> None:
    given, role = site.value("role"), f"{site.quote}reasoning{site.quote}"
    if given is None:
        add("role", role)
    elif string_value(given) != "reasoning":
        session.edits.add(given, lambda node: cst.SimpleString(role))


def _remove_title(session: Session, site: Site, add: _Add) -> None:
    title = site.value("title")
    if title is None:
        return
    if session.keep_title and site.value("metadata") is None and session.code(title) != "None":
        # The same place as `ThinkingUpgrader` uses.
        key, member = f"{site.quote}{HINT_KEY}{site.quote}", f"{site.quote}title{site.quote}"
        add("metadata", f"{{{key}: {{{member}: {session.code(title)}}}}}")
    else:
        session.find(title, "title_dropped", "REASONING_START has no title.")
    session.edits.add(site.node, drop_member("title"))


CodeScope: TypeAlias = cst.FunctionDef | cst.Lambda | cst.Module
_STATEMENT = (cst.BaseSmallStatement, cst.BaseCompoundStatement)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)


@dataclass(frozen=True, slots=True, eq=False)
class _Condition:
    """A condition or loop around a place.

    Attributes:
        node: The branch, loop, handler or case.
        tests: The source of its condition, split at ``and``.
        reads: The source of the names, attributes and items that the condition reads.
        loop: Whether it repeats, so that earlier places can run after later ones.
    """

    node: cst.CSTNode
    tests: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    loop: bool = False


@dataclass(slots=True, eq=False)
class SitePlace:
    """The location of a created event.

    Attributes:
        site: The event.
        line: Line and column.
        scope: The innermost function around it.
        top: The top-level statement of the scope that contains it.
        statement: The innermost statement that contains it.
        guards: The conditions between scope and event, from the inside.
        inline: Whether it can be skipped, or repeat, while a line before its statement runs once.
        fixed: Whether it runs at definition time: in a class body, a default or a decorator.
        compared: Whether it is part of a comparison or an ``assert``.
        rescue: The ``try`` statements that contain it in a handler or ``finally``.
        attempts: The ``try`` statements that contain it in their body.
    """

    site: Site
    line: tuple[int, int]
    scope: CodeScope
    top: cst.CSTNode
    statement: cst.CSTNode | None = None
    guards: list[_Condition] = field(default_factory=list)
    inline: bool = False
    fixed: bool = False
    compared: bool = False
    rescue: set[cst.CSTNode] = field(default_factory=set)
    attempts: set[cst.CSTNode] = field(default_factory=set)

    @property
    def step(self) -> EventStep:
        """The step of the event."""
        return self.site.kind.step

    def precedes(self, other: SitePlace) -> bool:
        """Return whether it has always run when a later place does: the other shares all its conditions."""
        return not self.inline and {guard.node for guard in self.guards} <= {g.node for g in other.guards}


class SitePlaces:
    """Locates events, and decides whether one place can run before another in the same call."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._code = facts.module.code_for_node
        self._condition = lru_cache(None)(self._read_condition)
        self._sets = lru_cache(None)(lambda block: frozenset(targets(block, facts.module)))

    def locate(self, site: Site) -> SitePlace:
        """Return the location of an event."""
        place = SitePlace(site, self._facts.line(site.node), self._facts.module, site.node)
        for parent, child in self._facts.up(site.node):
            if isinstance(parent, cst.FunctionDef | cst.Lambda) and child is parent.body:
                place.scope = parent
                place.inline |= isinstance(parent, cst.Lambda)
                break
            self._note(place, parent, child)
            if place.statement is None and isinstance(parent, _STATEMENT):
                place.statement = parent
                place.inline |= self._is_skipped(parent, child)
            if guard := self._guard(parent, child):
                place.guards.append(guard)
            if not isinstance(parent, cst.IndentedBlock | cst.SimpleStatementSuite | cst.Module):
                place.top = parent
        return place

    def reaches(self, start: SitePlace, use: SitePlace) -> bool:
        """Return whether the ID of a START can be available at another place.

        In a loop, the START may also come later in the source if the place can be skipped the first time.
        """
        shared = {guard.node for guard in use.guards}
        loop = next((guard.node for guard in start.guards if guard.loop and guard.node in shared), None)
        if use.line < start.line:
            inside = takewhile(lambda guard: guard.node is not loop, use.guards)
            return loop is not None and not all(guard.loop for guard in inside)
        tests = {test for guard in use.guards for test in guard.tests}
        reads = {name for guard in use.guards for name in guard.reads}
        return loop is not None or all(
            guard.loop
            or guard.node in shared
            or (guard.tests and guard.tests <= tests)
            or not reads.isdisjoint(self._sets(guard.node))
            for guard in start.guards
        )

    def _note(self, place: SitePlace, parent: cst.CSTNode, child: cst.CSTNode) -> None:
        match parent:
            case cst.Comparison() | cst.Assert():
                place.compared = True
            case cst.ClassDef() | cst.FunctionDef():
                place.fixed = True
            case cst.Try() | cst.TryStar():
                (place.attempts if child is parent.body else place.rescue).add(parent)
            case cst.IfExp(test=first) | cst.BooleanOperation(left=first) | cst.CompFor(iter=first):
                # Only the first iterable of a comprehension runs once and always.
                is_nested = isinstance(self._facts.parent(parent), cst.CompFor)
                place.inline |= child is not first or is_nested
        place.inline |= isinstance(parent, _COMPREHENSIONS) and not isinstance(child, cst.CompFor)

    def _is_skipped(self, parent: cst.CSTNode, child: cst.CSTNode) -> bool:
        """Return whether a line before a statement may run at another time than the statement."""
        line = self._facts.parent(parent)
        if isinstance(parent, cst.BaseSmallStatement):
            return not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1
        is_elif = isinstance(parent, cst.If) and isinstance(line, cst.If)
        return (
            is_elif or isinstance(parent, cst.While) or isinstance(child, cst.MatchCase | cst.ExceptHandler)
        )

    def _guard(self, parent: cst.CSTNode, child: cst.CSTNode) -> _Condition | None:
        match parent:
            case cst.If(test=test, body=body, orelse=orelse):
                if child is body:
                    return _Condition(body, *self._condition(test, ""))
                return _Condition(child, *self._condition(test, "not ")) if child is orelse else None
            case cst.For(body=body) | cst.While(body=body):
                return _Condition(parent, loop=True) if child is body else None
            case cst.ExceptHandler() | cst.ExceptStarHandler():
                return _Condition(parent)
            case cst.MatchCase(pattern=pattern):
                return _Condition(parent, *self._condition(pattern, ""))
        return None

    def _read_condition(self, test: cst.CSTNode, prefix: str) -> tuple[frozenset[str], frozenset[str]]:
        parts: Sequence[cst.CSTNode] = [test] if prefix else list(_conjuncts(test))
        read = (node for node in walk(test) if isinstance(node, cst.Name | cst.Attribute | cst.Subscript))
        return frozenset(prefix + self._code(part) for part in parts), frozenset(map(self._code, read))


def targets(block: cst.CSTNode, module: cst.Module) -> Iterator[str]:
    """Yield the source of the assignment targets in a block."""
    for node in walk(block):
        if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.NamedExpr):
            target = node.target
            parts = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
            yield from map(module.code_for_node, (part.value for part in parts) if parts else (target,))


def _conjuncts(test: cst.CSTNode) -> Iterator[cst.CSTNode]:
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from _conjuncts(test.left)
        yield from _conjuncts(test.right)
    else:
        yield test
