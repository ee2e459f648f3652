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

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import libcst as cst

from agui_reasoning.compat._codemod.edits import assignment, before, declare_on_class
from agui_reasoning.compat._codemod.imports import new_id
from agui_reasoning.compat._codemod.names import EventStep, Family
from agui_reasoning.compat._codemod.places import Anchor, CodeScope, Places, SitePlace, covers, targets
from agui_reasoning.compat._codemod.session import Session
from agui_reasoning.compat._codemod.sites import Site, complete

__all__ = ["give_ids"]

_FAMILIES: tuple[Family, ...] = ("span", "message")
_SETUP = frozenset({"__init__", "__new__", "__post_init__"})


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """An event that needs an id."""

    site: Site
    place: SitePlace

    @property
    def step(self) -> EventStep:
        return self.site.kind.step


@dataclass(frozen=True, slots=True, eq=False)
class _Method:
    """The class of a method, and the name of its ``self`` parameter."""

    owner: cst.ClassDef
    receiver: str


def give_ids(session: Session, sites: Sequence[Site]) -> bool:
    """Give every event the ID it needs.

    Returns:
        Whether all events can get an ID; otherwise the findings explain why not.
    """
    writer = _Writer(session)
    given = [_Carriers(session, writer, family).give(sites) for family in _FAMILIES]
    return all(given) and writer.finish()


class _Carriers:
    """Chooses the carriers of one family of IDs."""

    def __init__(self, session: Session, writer: _Writer, family: Family) -> None:
        self._session = session
        self._facts = session.facts
        self._writer = writer
        self._family = family
        self._places = writer.places

    def give(self, sites: Sequence[Site]) -> bool:
        groups: dict[CodeScope, list[_Use]] = defaultdict(list)
        of_objects: dict[cst.ClassDef, list[_Use]] = defaultdict(list)
        own = [site for site in sites if site.kind.family == self._family]
        for site in own:
            place = self._places.locate(site.node)
            groups[place.scope].append(_Use(site, place))
        given = [self._place_group(*group, of_objects) for group in groups.items()]
        given += [self._give_to_object(*group) for group in of_objects.items()]
        return all(given)

    def _place_group(
        self, scope: CodeScope, group: list[_Use], of_objects: dict[cst.ClassDef, list[_Use]]
    ) -> bool:
        """Choose a carrier for the events of one function, or defer methods of stateful objects."""
        missing = [use for use in group if use.site.explicit is None]
        if not missing:
            self._writer.keep(self._family, group)
        elif len(missing) < len(group):
            return self._refuse(missing[0], "mixed_ids", "This event has no ID, but others around it do.")
        elif wrong := next((use for use in group if use.place.compared), None):
            return self._refuse(wrong, "compared_event", "A whole event is compared.")
        elif any(use.place.fixed for use in group) or any(u.place.iterable for u in _inline_starts(group)):
            return self._cross(group)
        elif self._is_closed(group):
            self._writer.local(self._family, scope, group)
        elif method := self._method(scope):
            of_objects[method.owner] += group
        else:
            return self._cross(group)
        return True

    def _give_to_object(self, owner: cst.ClassDef, group: list[_Use]) -> bool:
        steps = {use.step for use in group}
        if steps >= {"start", "end"} and self._keeps_state(owner) and not _inline_starts(group):
            receivers = {use: self._method(use.place.scope) for use in group}
            self._writer.attribute(
                self._family, owner, {use: method.receiver for use, method in receivers.items() if method}
            )
            return True
        return self._cross(group)

    def _cross(self, group: Sequence[_Use]) -> bool:
        message = f"No local variable or attribute can carry the ID of this {self._family}."
        return self._refuse(min(group, key=lambda use: use.place.line), "ids_cross_functions", message)

    def _refuse(self, use: _Use, code: str, message: str) -> bool:
        self._session.find(use.site.node, code, message)
        return False

    # -- functions

    def _is_closed(self, group: Sequence[_Use]) -> bool:
        """Return whether each call of a function creates both START and END of its spans or messages."""
        steps: dict[EventStep, list[SitePlace]] = {"start": [], "content": [], "end": []}
        for use in sorted(group, key=lambda use: use.place.line):
            steps[use.step].append(use.place)
        changed = self._writer.changed
        return (
            not any(guard.reads & changed for start in steps["start"] for guard in start.guards)
            and all(
                _nearest(steps["start"], place, lambda start, use: self._places.reaches(start, use))
                for place in steps["content"] + steps["end"]
            )
            and all(
                _nearest(steps["end"], start, lambda end, use: self._places.ends(use, end))
                for start in steps["start"]
            )
            and _alternate(group)
        )

    # -- objects

    def _method(self, scope: CodeScope) -> _Method | None:
        """Return the method that is, or contains, a function."""
        for node in [scope, *(above for above, _ in self._facts.up(scope))]:
            if isinstance(node, cst.FunctionDef) and (receiver := _receiver(node)):
                owner = next((above for above, _ in self._facts.up(self._facts.parent(node))), None)
                if isinstance(owner, cst.ClassDef):
                    return _Method(owner, receiver)
        return None

    def _keeps_state(self, owner: cst.ClassDef) -> bool:
        """Return whether instances keep state during a stream and can get another attribute."""
        code = self._session.code
        if any(code(base.value).endswith("NamedTuple") for base in owner.bases):
            return False
        marks = [mark.decorator for mark in owner.decorators if isinstance(mark.decorator, cst.Call)]
        options = {code(arg).replace(" ", "") for mark in marks for arg in mark.args}
        if options & {"slots=True", "frozen=True"} or "__slots__" in targets(owner.body, self._facts.module):
            return False
        return any(
            target.startswith(f"{receiver}.")
            for node in owner.body.body
            if isinstance(node, cst.FunctionDef) and node.name.value not in _SETUP
            for receiver in [_receiver(node)]
            if receiver
            for target in targets(node.body, self._facts.module)
        )


class _Writer:
    """Collects edits and registers those of one place together."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.places = Places(session.facts)
        self.changed = frozenset(_outlives_call(session))
        self._names = {family: _unused_name(session, f"reasoning_{family}_id") for family in _FAMILIES}
        self._before: dict[cst.CSTNode, list[cst.BaseSmallStatement]] = defaultdict(list)
        self._tops: dict[cst.CSTNode, list[cst.BaseSmallStatement]] = defaultdict(list)
        self._attributes: dict[cst.ClassDef, list[str]] = defaultdict(list)
        self._ids: list[tuple[Site, str | None]] = []

    def keep(self, family: Family, group: Sequence[_Use]) -> None:
        """Keep the IDs that the code already passes.

        0.x ignored them, so they may equal those of text messages; clients would now merge the two messages.
        """
        self._ids += [(use.site, None) for use in group]
        texts = _ids_of_texts(self._session) if family == "message" else set()
        for use in group:
            assert use.site.explicit is not None
            if (code := self._session.code(use.site.explicit)) in texts:
                self._session.find(use.site.node, "shared_id", f"{code} is also the ID of a text message.")

    def local(self, family: Family, scope: CodeScope, group: Sequence[_Use]) -> None:
        """Keep the ID in a local variable."""
        name = self._names[family]
        readers = [use.place for use in group if use.step != "start"]
        self._give(group, dict.fromkeys(group, name), _inline_starts(group))
        starts = [use.place for use in group if use.step == "start"]
        if isinstance(scope, cst.Lambda) or all(
            _nearest(starts, reader, lambda start, use: covers(start, use)) for reader in readers
        ):
            return
        first = min(group, key=lambda use: use.place.line)
        self._tops[first.place.top].append(assignment(name, '""'))

    def attribute(self, family: Family, owner: cst.ClassDef, receivers: dict[_Use, str]) -> None:
        """Keep the ID in an attribute."""
        name = f"_{self._names[family]}"
        self._attributes[owner].append(name)
        self._give(list(receivers), {use: f"{own}.{name}" for use, own in receivers.items()}, set())

    def _give(self, group: Sequence[_Use], variables: dict[_Use, str], inline: set[_Use]) -> None:
        for use in group:
            variable = variables[use]
            if use in inline:
                variable = f"({variable} := {new_id(self._session)})"
            elif use.step == "start":
                assert use.place.anchor is not None
                self._before[use.place.anchor].append(assignment(variable, new_id(self._session)))
            self._ids.append((use.site, variable))

    def finish(self) -> bool:
        """Register the collected edits."""
        edits = self._session.edits
        for site, identifier in self._ids:
            complete(self._session, site, identifier)
        for owner, names in self._attributes.items():
            edits.add(owner, declare_on_class(names))
        places: dict[cst.CSTNode, list[cst.BaseSmallStatement]] = defaultdict(list)
        for anchor, statements in (*self._tops.items(), *self._before.items()):
            places[self._target(anchor)] += statements
        for node, statements in places.items():
            edits.add(node, before(statements, own_lines=not isinstance(node, cst.BaseSmallStatement)))
        return True

    def _target(self, anchor: cst.CSTNode) -> cst.CSTNode:
        """Return the line of a statement if it is the only one on it, else the statement itself."""
        parent = self._session.facts.parent(anchor)
        alone = isinstance(parent, cst.SimpleStatementLine) and len(parent.body) == 1
        return parent if alone else anchor


def _nearest(
    places: Sequence[SitePlace], place: SitePlace, fits: Callable[[SitePlace, SitePlace], bool]
) -> bool:
    """Return whether any of the sorted places fits, trying the closest preceding ones first."""
    at = bisect_right(places, place.line, key=lambda other: other.line)
    return any(fits(other, place) for other in chain(reversed(places[:at]), places[at:]))


def _alternate(group: Sequence[_Use]) -> bool:
    """Return whether STARTs and ENDs alternate, with content only in between.

    Two events are compared only if the first has always run before the second.
    """
    before: _Use | None = None
    for use in sorted(group, key=lambda use: use.place.line):
        steps = (before and before.step, use.step)
        wrong = steps in (("start", "start"), ("end", "content"), ("end", "end"))
        if wrong and before is not None and before.place.precedes(use.place):
            return False
        if use.step != "content":
            before = use
    return True


def _inline_starts(group: Sequence[_Use]) -> set[_Use]:
    """Return the STARTs whose ID must be created inline with ``:=``."""
    starts = [use for use in group if use.step == "start"]
    count = Counter(use.place.anchor for use in starts)
    first: dict[Anchor | None, tuple[int, int]] = {}
    for use in group:
        anchor = use.place.anchor
        first[anchor] = min(first.get(anchor, use.place.line), use.place.line)
    return {
        use
        for use in starts
        for anchor in [use.place.anchor]
        if use.place.inline or count[anchor] > 1 or first[anchor] < use.place.line
    }


def _receiver(node: cst.FunctionDef) -> str | None:
    """Return the name of a method's ``self`` parameter."""
    marks = {mark.decorator.value for mark in node.decorators if isinstance(mark.decorator, cst.Name)}
    parameters = [*node.params.posonly_params, *node.params.params]
    if marks & {"staticmethod", "classmethod"} or node.name.value == "__new__" or not parameters:
        return None
    return parameters[0].name.value


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


def _ids_of_texts(session: Session) -> set[str]:
    """Return the source of the IDs of text messages."""
    facts = session.facts
    return {
        session.code(arg.value)
        for node in facts.of_type(cst.Call)
        if (facts.core(node.func) or "").startswith("TextMessage")
        for arg in node.args
        if arg.keyword is not None and arg.keyword.value in ("message_id", "messageId")
    }


def _unused_name(session: Session, name: str) -> str:
    """Return a name that the file does not use, with or without a leading underscore."""
    taken, number, found = session.facts.names, 2, name
    while found in taken or f"_{found}" in taken:
        found, number = f"{name}_{number}", number + 1
    return found
