"""Chooses variables that carry IDs from START events to the events that belong to them.

In 0.x a stream had one open span and one open message, and events had no IDs. Now the ID of a START must
reach all events that belong to it, and no other stream. Two kinds of variables can carry it:

* a local variable, if one function creates the START and all events that belong to it;
* an attribute, for methods of an object that already keeps the state of one stream.

If an ID would have to cross function boundaries, the file is left unchanged and reported. The condition that
guards a START shows whether its state outlives the call: ``if not self._open`` does, ``if not open`` in a
loop does not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain
from typing import Any

import libcst as cst

from agui_reasoning._migrate._renames import new_id
from agui_reasoning._migrate._session import Family, Session, called, member_name, member_nodes
from agui_reasoning._migrate._sites import IDS, CodeScope, Site, SitePlace, SitePlaces, complete, targets

_FAMILIES: tuple[Family, ...] = ("span", "message")
_SETUP = frozenset({"__init__", "__new__", "__post_init__"})
_DECORATORS = re.compile(r"(?s)(?:\w+\.)*(?:final|dataclass(?:\((?!.*(?:slots|frozen)\s*=\s*True).*\))?)")
_WITHOUT_ATTRIBUTES = re.compile(r"\b(?:NamedTuple|Struct)$")


def give_ids(session: Session, sites: Sequence[Site]) -> None:
    """Give every event the ID it needs, or report why it cannot get one."""
    carriers = _Carriers(session, {site.node for site in sites})
    for family in _FAMILIES:
        carriers.give(family, [site for site in sites if site.kind.family == family])
    for node, statements in carriers.statements.items():
        session.edits.add(node, _before(statements))


class _Carriers:
    """Chooses the carriers, and collects the statements that set them."""

    def __init__(self, session: Session, made: Set[cst.CSTNode]) -> None:
        self._session = session
        self._others = _ids_of_others(session, made)
        self._facts = session.facts
        self._places = SitePlaces(session.facts)
        self._outliving = frozenset(_outlives_call(session))
        self.statements: dict[cst.CSTNode, list[cst.BaseSmallStatement]] = defaultdict(list)

    def give(self, family: Family, sites: Sequence[Site]) -> None:
        """Give the events of one family their IDs."""
        groups: dict[CodeScope, list[SitePlace]] = defaultdict(list)
        objects: dict[cst.ClassDef, list[SitePlace]] = defaultdict(list)
        name = self._session.unused_name(f"reasoning_{family}_id")
        for site in sites:
            place = self._places.locate(site)
            groups[place.scope].append(place)
        for scope, group in groups.items():
            group.sort(key=lambda use: use.line)
            if any(use.site.explicit for use in group):
                self._keep_given(group)
            elif compared := next((use for use in group if use.compared), None):
                message = "A whole event is compared, but IDs are random."
                self._session.find(compared.site.node, "unclear_use", message)
            elif self._is_closed(group):
                self._give_local(name, group)
            elif (owner := self._owner(scope)) and _can_assign(group):
                objects[owner] += group
            else:
                self._refuse(group)
        for owner, group in objects.items():
            self._give_attribute(f"_{name}", owner, group)

    def _assign(self, name: str, value: str, node: cst.CSTNode) -> None:
        """Insert an assignment before a statement."""
        line = self._facts.parent(node) if isinstance(node, cst.BaseSmallStatement) else node
        self.statements[line].append(_assignment(name, value))

    def _give(self, variable: str, group: Sequence[SitePlace]) -> None:
        for use in group:
            if use.step == "start" and use.statement is not None:
                self._assign(variable, new_id(self._session), use.statement)
            complete(self._session, use.site, variable)

    def _refuse(self, group: Sequence[SitePlace]) -> None:
        use = group[0]
        message = f"No local variable or attribute can carry the ID of this {use.site.kind.family}."
        self._session.find(use.site.node, "ids_cross_functions", message)

    def _keep_given(self, group: Sequence[SitePlace]) -> None:
        """Keep the IDs that the code already passes, and report those that cannot be right.

        0.x ignored them, so they may equal those of text messages; clients would now merge the two messages.
        """
        for use in group:
            given, node = use.site.explicit, use.site.node
            if given is None:
                self._session.find(node, "given_ids", "This event has no ID, but others around it do.")
            elif use.site.kind.family == "message" and (code := self._session.code(given)) in self._others:
                self._session.find(node, "given_ids", f"{code} is also the ID of another message.")
            complete(self._session, use.site, None)

    def _is_closed(self, group: Sequence[SitePlace]) -> bool:
        """Return whether each call of a function creates both START and END of its spans or messages."""
        starts = [use for use in group if use.step == "start"]
        readers = [use for use in group if use.step != "start"]
        ends = [use for use in group if use.step == "end"]
        reaches = self._places.reaches
        return (
            _can_assign(group)
            and not any(guard.reads & self._outliving for start in starts for guard in start.guards)
            and all(_nearest(starts, reader, reaches) for reader in readers)
            and all(_nearest(ends, start, lambda end, start: reaches(start, end)) for start in starts)
            and _alternate(group)
        )

    def _give_local(self, name: str, group: Sequence[SitePlace]) -> None:
        starts = [use for use in group if use.step == "start"]
        if not all(_nearest(starts, use, _covers) for use in group):
            self._assign(name, '""', group[0].top)
        self._give(name, group)

    def _owner(self, scope: CodeScope) -> cst.ClassDef | None:
        """Return the class of a method with ``self``."""
        owner = self._facts.parent(self._facts.parent(scope))
        first = scope.params.params[:1] if isinstance(scope, cst.FunctionDef) else ()
        has_self = any(parameter.name.value == "self" for parameter in first)
        return owner if has_self and isinstance(owner, cst.ClassDef) else None

    def _give_attribute(self, name: str, owner: cst.ClassDef, group: Sequence[SitePlace]) -> None:
        if {use.step for use in group} >= {"start", "end"} and self._keeps_state(owner):
            first = next(node for node in owner.body.body if isinstance(node, cst.FunctionDef))
            self._assign(name, '""', first)
            self._give(f"self.{name}", group)
        else:
            self._refuse(group)

    def _keeps_state(self, owner: cst.ClassDef) -> bool:
        """Return whether instances keep state during a stream and can get another attribute."""
        code = self._session.code
        return (
            not any(_WITHOUT_ATTRIBUTES.search(code(base.value)) for base in owner.bases)
            and all(_DECORATORS.fullmatch(code(mark.decorator)) for mark in owner.decorators)
            and "__slots__" not in targets(owner.body, self._facts.module)
            and any(
                target.startswith("self.")
                for node in owner.body.body
                if isinstance(node, cst.FunctionDef) and node.name.value not in _SETUP
                for target in targets(node.body, self._facts.module)
            )
        )


def _covers(start: SitePlace, use: SitePlace) -> bool:
    """Return whether a place runs only after a START, so that the variable needs no initial value."""
    return start.line <= use.line and start.precedes(use) and not use.rescue & start.attempts


def _can_assign(group: Sequence[SitePlace]) -> bool:
    """Return whether the ID of each START can be assigned on a line before it."""
    first: dict[cst.CSTNode | None, SitePlace] = {}
    for use in group:
        is_first = first.setdefault(use.statement, use) is use
        is_late = use.step == "start" and (not is_first or use.inline or _is_constant(use))
        if use.fixed or is_late:
            return False
    return True


def _is_constant(place: SitePlace) -> bool:
    """Return whether a place runs once, but its events may be sent several times."""
    return isinstance(place.scope, cst.Module) and isinstance(place.statement, cst.Assign | cst.AnnAssign)


def _nearest(
    places: Sequence[SitePlace], place: SitePlace, fits: Callable[[SitePlace, SitePlace], bool]
) -> bool:
    """Return whether any of the sorted places fits, trying the closest preceding ones first."""
    at = bisect_right(places, place.line, key=lambda other: other.line)
    return any(fits(other, place) for other in chain(reversed(places[:at]), places[at:]))


def _alternate(group: Sequence[SitePlace]) -> bool:
    """Return whether STARTs and ENDs alternate, with content only in between.

    Two events are compared only if the first has always run before the second.
    """
    before: SitePlace | None = None
    for use in group:
        steps = (before and before.step, use.step)
        wrong = steps in (("start", "start"), ("end", "content"), ("end", "end"))
        if wrong and before is not None and before.precedes(use):
            return False
        if use.step != "content":
            before = use
    return True


def _assignment(target: str, value: str) -> cst.BaseSmallStatement:
    """Return the statement ``target = value``."""
    return cst.ensure_type(cst.parse_statement(f"{target} = {value}"), cst.SimpleStatementLine).body[0]


def _before(statements: Sequence[cst.BaseSmallStatement]) -> Callable[[Any], Any]:
    """Insert statements before a line or compound statement."""

    def edit(node: Any) -> cst.FlattenSentinel[Any]:
        above = node.leading_lines
        lines = [cst.SimpleStatementLine([statement]) for statement in statements]
        if isinstance(node, cst.FunctionDef):  # comments above a definition belong to it
            lines[0] = lines[0].with_changes(leading_lines=[line for line in above if line.comment is None])
        else:
            lines[0] = lines[0].with_changes(leading_lines=above)
            node = node.with_changes(leading_lines=())
        return cst.FlattenSentinel([*lines, node])

    return edit


def _outlives_call(session: Session) -> Iterator[str]:
    """Yield the source of names, attributes and items that functions assign and that outlive the call."""
    facts = session.facts
    for node in facts.nodes:
        if isinstance(node, cst.Global | cst.Nonlocal):
            yield from (item.name.value for item in node.names)
        elif isinstance(node, cst.Assign | cst.AnnAssign | cst.AugAssign):
            function = facts.above(node, cst.FunctionDef)
            if function is not None and function.name.value not in _SETUP:
                yield from (name for name in targets(node, facts.module) if not name.isidentifier())


def _ids_of_others(session: Session, made: Set[cst.CSTNode]) -> set[str]:
    """Return the source of the IDs of all events but reasoning."""
    return {
        session.code(item.value)
        for node in session.facts.nodes
        if isinstance(node, cst.Dict | cst.Call) and node not in made
        if isinstance(node, cst.Dict) or called(node).endswith("Event") or session.facts.core(node.func)
        for item in member_nodes(node)
        if member_name(item) in IDS
    }
