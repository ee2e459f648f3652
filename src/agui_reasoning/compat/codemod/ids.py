"""Carries out the plan: variables, parameters and attributes for the ids, and where they are set."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import libcst as cst

from agui_reasoning.compat.codemod.calls import KnownCalls
from agui_reasoning.compat.codemod.edits import (
    add_parameter,
    assignment,
    before,
    declare_on_class,
    declare_outer,
    insert_argument,
)
from agui_reasoning.compat.codemod.imports import new_id_source
from agui_reasoning.compat.codemod.names import Family, Taint
from agui_reasoning.compat.codemod.places import Anchor, Places, Scope, Use
from agui_reasoning.compat.codemod.plan import Carrier, Plan, make_plan
from agui_reasoning.compat.codemod.report import FIXED
from agui_reasoning.compat.codemod.session import Session
from agui_reasoning.compat.codemod.sites import Site, complete
from agui_reasoning.compat.codemod.state import State, covers

__all__ = ["give_ids"]

_FAMILIES: tuple[Family, ...] = ("span", "message")
_FIXED = {"span": '"reasoning-span"', "message": '"reasoning-message"'}


def give_ids(session: Session, sites: Sequence[Site]) -> dict[Family, Taint]:
    """Give every event the id it needs.

    Args:
        session: The file.
        sites: The events it makes.

    Returns:
        For each family, what must use the fixed id because of this file.
    """
    places = Places(session.facts)
    uses = {site: _use(session, places, site) for site in sites}
    calls = KnownCalls(session, places)
    identifiers: dict[cst.CSTNode, str | None] = {}
    taints: dict[Family, Taint] = {}
    state, writer = State(session.facts), _Writer(session)
    for family in _FAMILIES:
        own = [use for use in uses.values() if use.family == family]
        plan = make_plan(family, own, state, calls, session.tainted[family])
        taints[family] = plan.taint
        identifiers |= writer.write(family, plan)
        _warn_of_shared_ids(session, own)
    for site in sites:
        complete(session, site, identifiers.get(site.node))
    writer.finish()
    return taints


def _use(session: Session, places: Places, site: Site) -> Use:
    explicit = None if site.explicit is None else session.code(site.explicit)
    return Use(site.node, places.locate(site.node), site.kind.family, site.kind.step, explicit)


def _warn_of_shared_ids(session: Session, uses: Iterable[Use]) -> None:
    """An id that 0.x ignored may be that of the answer; now it would put both into one message."""
    facts = session.facts
    text_ids = {
        session.code(arg.value)
        for node in facts.of_type(cst.Call)
        if (facts.core(node.func) or "").startswith("TextMessage")
        for arg in node.args
        if arg.keyword is not None and arg.keyword.value in ("message_id", "messageId")
    }
    for use in uses:
        if use.family == "message" and use.explicit in text_ids:
            session.find_at(use.place.line, "shared_id", f"{use.explicit} is the id of a text message too.")


class _Writer:
    """Turns plans into edits; edits of one place are made together."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._edits = session.edits
        self._new_id = new_id_source(session)
        self._names = {family: _free(session, f"reasoning_{family}_id") for family in _FAMILIES}
        self._before: dict[Anchor, list[cst.BaseSmallStatement]] = defaultdict(list)
        self._tops: dict[cst.CSTNode, list[cst.BaseSmallStatement]] = defaultdict(list)
        self._outer: dict[cst.CSTNode, list[str]] = defaultdict(list)
        self._parameters: dict[cst.FunctionDef, list[str]] = defaultdict(list)
        self._attributes: dict[cst.CSTNode, list[str]] = defaultdict(list)

    def write(self, family: Family, plan: Plan) -> dict[cst.CSTNode, str | None]:
        """Write what one plan decided; give the source of the id for each node."""
        groups: dict[Carrier, list[Use]] = defaultdict(list)
        for use, carrier in plan.carriers.items():
            groups[carrier].append(use)
        for scope in plan.lifted:
            self._parameter(scope, family)
        for use, code, message in plan.findings:
            if not use.explicit:
                self._session.find_at(use.place.line, code, message)
        found: dict[cst.CSTNode, str | None] = {}
        for carrier, uses in groups.items():
            found |= self._group(family, carrier, uses, plan)
        return found

    def finish(self) -> None:
        """Register what was collected."""
        for changed, names in self._parameters.items():
            message = f"{changed.name.value} takes {' and '.join(names)} now."
            self._session.find(changed.name, "signature_changed", message)
        for function, names in self._outer.items():
            self._edits.add(function, declare_outer(names))
        for owner, names in self._attributes.items():
            self._edits.add(owner, declare_on_class(names))
        places: dict[cst.CSTNode, list[cst.BaseSmallStatement]] = defaultdict(list)
        for anchor, statements in (*self._tops.items(), *self._before.items()):
            places[self._target(anchor)] += statements
        for node, statements in places.items():
            self._edits.add(node, before(statements, own_lines=not isinstance(node, cst.BaseSmallStatement)))

    def _group(
        self, family: Family, carrier: Carrier, uses: list[Use], plan: Plan
    ) -> dict[cst.CSTNode, str | None]:
        inline = self._inline(uses)
        if any(carrier.how == "self" or use.place.iterable for use in inline) and carrier.how != "param":
            if carrier.how != "fixed":
                self._report_inline(family, uses)
            carrier = Carrier("fixed")
        lifted: set[cst.CSTNode] = {scope.node for scope in plan.lifted}
        found: dict[cst.CSTNode, str | None] = {}
        self._report_mixed(uses)
        readers = [use for use in uses if use.step != "start" and use.explicit is None]
        for use in uses:
            found[use.node] = self._identifier(family, carrier, use, inline, bool(readers))
        for use in uses:
            self._pass_on(family, use, found, lifted)
        if readers and carrier.how in ("local", "outer"):
            self._declare(family, carrier, uses)
        if carrier.how == "self" and carrier.owner is not None and readers:
            self._attributes[carrier.owner].append(f"_{self._names[family]}")
        return found

    def _report_inline(self, family: Family, uses: Sequence[Use]) -> None:
        message = f"This {family} has a fixed id: no id can be made where its START stands."
        for use in uses:
            if not use.explicit:
                self._session.find_at(use.place.line, FIXED[family], message)

    def _report_mixed(self, uses: Sequence[Use]) -> None:
        starts = [use for use in uses if use.step == "start" and use.explicit is None]
        if starts and any(use.explicit for use in uses if use.step != "start"):
            message = "This START has a new id, and not all that follows has."
            self._session.find_at(starts[0].place.line, "mixed_ids", message)

    # -- the id of one use

    def _identifier(
        self, family: Family, carrier: Carrier, use: Use, inline: set[Use], is_read: bool
    ) -> str | None:
        name = self._variable(family, carrier, use)
        if use.step != "start" or carrier.how in ("param", "fixed"):
            return None if use.explicit else name
        if not is_read:
            return None if use.explicit else self._new_id()
        source = use.explicit or self._new_id()
        if use in inline:
            return f"({name} := {source})"
        assert use.place.anchor is not None
        self._before[use.place.anchor].append(assignment(name, source))
        return name

    def _variable(self, family: Family, carrier: Carrier, use: Use) -> str:
        if carrier.how == "fixed":
            return _FIXED[family]
        if carrier.how == "self":
            method = use.place.scope.method
            assert method is not None
            return f"{method.receiver}._{self._names[family]}"
        return self._names[family]

    def _inline(self, uses: Sequence[Use]) -> set[Use]:
        """The STARTs whose id can only be made where it is used."""
        starts = [use for use in uses if use.step == "start"]
        count = Counter(use.place.anchor for use in starts)
        late = {
            start
            for start in starts
            for use in uses
            if use.place.anchor is start.place.anchor and use.place.line < start.place.line
        }
        return {start for start in starts if start.place.inline or count[start.place.anchor] > 1} | late

    def _pass_on(
        self, family: Family, use: Use, found: dict[cst.CSTNode, str | None], lifted: set[cst.CSTNode]
    ) -> None:
        """Where the use is a call of a function that has a parameter now, pass the id."""
        if isinstance(use.node, cst.Call) and self._is_lifted(use.node, lifted):
            source = found.pop(use.node)
            if source is not None:
                self._edits.add(use.node, insert_argument(None, self._names[family], source))

    def _is_lifted(self, call: cst.Call, lifted: set[cst.CSTNode]) -> bool:
        name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        if not isinstance(name, cst.Name) or self._session.facts.model(call.func) is not None:
            return False
        return any(isinstance(node, cst.FunctionDef) and node.name.value == name.value for node in lifted)

    # -- declarations

    def _parameter(self, scope: Scope, family: Family) -> None:
        assert isinstance(scope.node, cst.FunctionDef)
        self._edits.add(scope.node, add_parameter(self._names[family]))
        self._parameters[scope.node].append(self._names[family])

    def _declare(self, family: Family, carrier: Carrier, uses: Sequence[Use]) -> None:
        """Give the variable a value before anything could read it, unless a START always comes first."""
        name, holder = self._names[family], carrier.holder
        assert holder is not None
        setters = {use.place.scope for use in uses if use.step == "start"} - {holder}
        for scope in setters:
            if isinstance(scope.node, cst.FunctionDef):
                self._outer[scope.node].append(name)
        starts = [use for use in uses if use.step == "start" and use.place.scope is holder]
        readers = [use for use in uses if use.step != "start"]
        safe = not setters and all(any(covers(s.place, use.place) for s in starts) for use in readers)
        if safe or isinstance(holder.node, cst.Lambda):
            return
        self._tops[self._first(holder, uses)].append(assignment(name, '""'))

    def _first(self, holder: Scope, uses: Sequence[Use]) -> cst.CSTNode:
        """The first statement of the holder's block that holds any of the uses, or a function that does."""
        tops = []
        for use in uses:
            node: cst.CSTNode = use.node
            while self._block_owner(node) is not holder.node:
                node = self._session.facts.parent(node)
            tops.append(node)
        return min(tops, key=self._session.facts.line)

    def _block_owner(self, node: cst.CSTNode) -> cst.CSTNode:
        parent = self._session.facts.parent(node)
        if isinstance(parent, cst.IndentedBlock | cst.SimpleStatementSuite):
            return self._session.facts.parent(parent)
        return parent

    def _target(self, anchor: cst.CSTNode) -> cst.CSTNode:
        """The line of a statement that is alone on it; else the statement itself."""
        parent = self._session.facts.parent(anchor)
        alone = isinstance(parent, cst.SimpleStatementLine) and len(parent.body) == 1
        return parent if alone else anchor


def _free(session: Session, name: str) -> str:
    """A name that the file does not use yet, neither as it is nor with an underscore before it."""
    taken, number, found = session.facts.names, 2, name
    while found in taken or f"_{found}" in taken:
        found, number = f"{name}_{number}", number + 1
    return found
