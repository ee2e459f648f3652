"""Where the ids live: the one decision that cannot be made by looking at an event alone.

In 0.x the protocol kept one open span and one open message per stream, and events had no ids. Now the id of a
START must reach everything that belongs to it, so it needs a carrier that lives as long as the stream does
and is shared with no other stream:

* a local variable, where one function makes the START and all that follows;
* a parameter, where a function only makes events for a caller, who then keeps the id;
* a variable of the function around it, for functions inside a function;
* an attribute, for methods of an object that keeps the state of one stream already;
* where nothing of this can be shown, a fixed id. Such a stream is valid, whatever else runs at the same time
  (a variable of the module would be overwritten by another run), but all runs share the id: it is reported.

What keeps state is told by what guards a START: ``if not self._open`` outlives the call, ``if not open`` in a
loop does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import libcst as cst

from agui_reasoning.compat.codemod.calls import KnownCalls
from agui_reasoning.compat.codemod.names import Family, Step, Taint
from agui_reasoning.compat.codemod.places import Scope, Use
from agui_reasoning.compat.codemod.report import FIXED
from agui_reasoning.compat.codemod.state import State

__all__ = ["Carrier", "Plan", "make_plan"]

How: TypeAlias = Literal["local", "outer", "self", "param", "fixed"]
Groups: TypeAlias = dict[Scope, list[Use]]


@dataclass(frozen=True, slots=True, eq=False)
class Carrier:
    """What holds the id of one family for some uses.

    Attributes:
        how: The way, as the module says.
        holder: The function that has the variable (``local``, ``outer``) or the parameter.
        owner: The class that has the attribute.
    """

    how: How
    holder: Scope | None = None
    owner: cst.ClassDef | None = None


@dataclass(slots=True)
class Plan:
    """The decisions for one family.

    Attributes:
        carriers: For each use, what holds its id.
        lifted: The functions that get a parameter.
        findings: Use, code and message of what a person should see.
        taint: What must use the fixed id because of what is fixed here.
    """

    carriers: dict[Use, Carrier] = field(default_factory=dict)
    lifted: list[Scope] = field(default_factory=list)
    findings: list[tuple[Use, str, str]] = field(default_factory=list)
    taint: Taint = field(default_factory=Taint)


def make_plan(
    family: Family,
    uses: Sequence[Use],
    state: State,
    calls: KnownCalls,
    tainted: Taint,
) -> Plan:
    """Decide for one family.

    Args:
        family: Whose ids.
        uses: The events made.
        state: What outlives a call.
        calls: Who calls a function.
        tainted: What must use the fixed id, because of other files too.
    """
    return _Planner(family, state, calls, tainted).decide(uses)


class _Planner:
    def __init__(
        self,
        family: Family,
        state: State,
        calls: KnownCalls,
        tainted: Taint,
    ) -> None:
        self._family = family
        self._state = state
        self._calls = calls
        self._tainted = tainted
        self._plan = Plan()
        self._groups: Groups = defaultdict(list)
        self._fixed: list[Use] = []

    def decide(self, uses: Sequence[Use]) -> Plan:
        for use in uses:
            self._add(use)
        self._lift_all()
        waiting = {scope: group for scope, group in self._groups.items() if scope not in self._plan.lifted}
        for rule in (self._objects, self._closures, self._closed_ones, self._methods, self._alone):
            rule(waiting)
        for scope in self._plan.lifted:
            self._carry(self._groups[scope], Carrier("param", scope))
        for scope, group in waiting.items():
            self._plan.taint |= self._state.taint(scope)
            self._fixed += group
        self._fix()
        self._fix_tainted()
        return self._plan

    def _add(self, use: Use) -> None:
        if use.place.fixed or use.place.compared:
            self._fixed.append(use)
        else:
            self._groups[use.place.scope].append(use)

    def _carry(self, group: Iterable[Use], carrier: Carrier) -> None:
        self._plan.carriers |= dict.fromkeys(group, carrier)

    def _find(self, use: Use, code: str, message: str) -> None:
        self._plan.findings.append((use, code, message))

    # -- functions that make events for their callers

    def _lift_all(self) -> None:
        """A call of a function that only makes a part is itself a place where the event is made."""
        while (found := self._next_to_lift()) is not None:
            scope, calls = found
            steps = {use.step for use in self._groups[scope]}
            step = next(step for step in ("start", "end", "content") if step in steps)
            self._plan.lifted.append(scope)
            for call in calls:
                self._add(Use(call.node, call.place, self._family, step))

    def _next_to_lift(self) -> tuple[Scope, list[Use]] | None:
        """First what calls no other of them: a call of that one may be a second START."""
        ready = [
            scope
            for scope, group in self._groups.items()
            if scope not in self._plan.lifted and not self._closed(group) and self._can_lift(scope, group)
        ]
        names = frozenset(name for scope in ready for name in self._state.names(scope))
        for scope in sorted(
            ready, key=lambda scope: bool(self._state.mentioned(scope, names) - self._state.names(scope))
        ):
            calls = self._calls.of(scope)
            if calls:
                return scope, calls
        return None

    def _can_lift(self, scope: Scope, group: Sequence[Use]) -> bool:
        if (
            any(use.explicit for use in group)
            or self._in_stateful_object(scope)
            or self._keeps_outside(scope)
            or self._state.mentioned(scope, self._tainted.callees)
        ):
            return False
        starts = [use for use in group if use.step == "start"]
        if not starts:
            return True
        first = min(group, key=lambda use: use.place.line)
        return starts == [first] and not first.place.guards

    def _keeps_outside(self, scope: Scope) -> bool:
        """Whether the function around this one keeps the state for functions in it."""
        around = {outer for outer in scope.up() if not isinstance(outer.node, cst.Module)}
        return any(
            self._outlives(group) and not around.isdisjoint(inner.up()) and inner.receiver is None
            for inner, group in self._groups.items()
        )

    # -- the rules for the rest, in order; each takes what it decides out of ``waiting``

    def _objects(self, waiting: Groups) -> None:
        owners = {
            scope.method.owner
            for scope, group in waiting.items()
            if scope.method is not None and not self._closed(group) and self._in_stateful_object(scope)
        }
        for owner in owners:
            self._take_class(waiting, owner)

    def _closed_ones(self, waiting: Groups) -> None:
        for scope in list(waiting):
            if self._closed(waiting[scope]):
                self._carry(waiting.pop(scope), Carrier("local", scope))

    def _closures(self, waiting: Groups) -> None:
        """Functions in a function: the innermost one that has all of it around it keeps the id."""
        for scope in list(waiting):
            for holder in scope.up() if scope in waiting and not self._closed(waiting[scope]) else ():
                inside = [
                    inner
                    for inner, group in waiting.items()
                    if inner is holder or (holder in inner.up() and not self._closed(group))
                ]
                if self._can_keep(holder, inside, waiting):
                    carrier = Carrier("outer", holder)
                    for inner in inside:
                        self._carry(waiting.pop(inner), carrier)
                    break

    def _can_keep(self, holder: Scope, inside: Sequence[Scope], waiting: Groups) -> bool:
        """Whether a function has around it all that its inner functions make, and nothing of another's."""
        steps = {use.step for inner in inside for use in waiting[inner]}
        if isinstance(holder.node, cst.Module) or len(inside) < 2 or not steps >= {"start", "end"}:
            return False
        between = {scope for inner in inside for scope in inner.up() if holder in scope.up()}
        own = waiting.get(holder, [])
        inner_lines = self._calls.lines([inner for inner in inside if inner is not holder])
        opened = [use for use in own if use.place.line < max(inner_lines)]
        opens = any(_opens(waiting[inner]) for inner in inside if inner is not holder) or _opens(opened)
        if not opens or not between.isdisjoint(self._plan.lifted):
            return False
        return all(self._started(use, own) or use.place.line > min(inner_lines) for use in own) and all(
            self._ended(use, own) or use.place.line < max(inner_lines) for use in own if use.step == "start"
        )

    def _methods(self, waiting: Groups) -> None:
        owners = {scope.method.owner for scope in waiting if scope.method is not None}
        for owner in owners:
            methods = {inner: uses for inner, uses in waiting.items() if _owner(inner) is owner}
            group = [use for uses in methods.values() for use in uses]
            steps = {use.step for use in group}
            called = any(self._calls.calls_method(inner.method or inner) for inner in methods)
            if called or not steps >= {"start", "end"} or not self._state.can_hold(owner):
                continue
            first = min(group, key=lambda use: use.place.line)
            self._find(first, "shared_object", f"The id of the {self._family} is kept on the object.")
            self._take_class(waiting, owner)

    def _alone(self, waiting: Groups) -> None:
        """A function with a START of its own, and nothing elsewhere that could end it: as it was."""
        ends = [use for group in waiting.values() for use in group if use.step == "end"]
        for scope, group in list(waiting.items()):
            steps = {use.step for use in group}
            module = isinstance(scope.node, cst.Module)
            own = "start" in steps and not ends and self._reached(group)
            if module or (own and not self._calls.mentions(scope)):
                self._carry(waiting.pop(scope), Carrier("local", scope))
                self._say_what_is_missing(group, steps)

    def _say_what_is_missing(self, group: Sequence[Use], steps: set[Step]) -> None:
        first = min(group, key=lambda use: use.place.line)
        if "start" not in steps:
            self._find(first, "never_started", f"Nothing here starts this {self._family}.")
        elif "end" not in steps:
            self._find(first, "never_ended", f"Nothing here ends this {self._family}.")

    def _fix(self) -> None:
        self._carry(self._fixed, Carrier("fixed"))
        for use in self._fixed:
            if use.explicit:
                continue
            if use.place.compared:
                self._find(use, "compared_event", "A whole event is compared.")
            else:
                self._find(
                    use,
                    FIXED[self._family],
                    f"This {self._family} has a fixed id: nothing here carries another.",
                )

    def _fix_tainted(self) -> None:
        """Who calls what has the fixed id, or is called there for a part, must use it for the rest too.

        So must what no START sets (an empty id is wrong in every stream, and the fixed one may be right), and
        a START that is a constant of the module.
        """
        sharing: dict[Carrier, list[Use]] = defaultdict(list)
        for use, carrier in self._plan.carriers.items():
            sharing[carrier].append(use)
        for carrier, uses in sharing.items():
            if carrier.how in ("param", "fixed"):
                continue
            scopes = {use.place.scope for use in uses}
            names = {name for scope in scopes for name in self._state.mentioned(scope, self._tainted.callees)}
            if carrier.how != "local":
                names |= {
                    name for scope in scopes for name in self._state.names(scope) & self._tainted.mentioned
                }
            if names:
                why = f", as {min(names)} has part in it and knows no other."
                self._plan.findings = [found for found in self._plan.findings if found[0] not in uses]
            elif self._tainted.callees and all(use.step != "start" for use in uses):
                why = ": its START is not here, and there is one that has it."
            elif self._tainted.callees and self._is_constant(carrier, uses):
                why = ": what belongs to it is not here, and there is some that has it."
                self._plan.findings = [found for found in self._plan.findings if found[0] not in uses]
            else:
                continue
            self._carry(uses, Carrier("fixed"))
            first = min(uses, key=lambda use: use.place.line)
            self._find(first, FIXED[self._family], f"This {self._family} has a fixed id{why}")

    def _is_constant(self, carrier: Carrier, uses: Sequence[Use]) -> bool:
        """Whether this is a START alone that is made when the module is loaded."""
        on_load = carrier.holder is not None and isinstance(carrier.holder.node, cst.Module)
        return on_load and all(use.step == "start" for use in uses)

    def _take_class(self, waiting: Groups, owner: cst.ClassDef | None) -> None:
        if not self._state.can_hold(owner):
            return
        carrier = Carrier("self", owner=owner)
        for scope in [scope for scope in waiting if _owner(scope) is owner]:
            self._carry(waiting.pop(scope), carrier)

    # -- what a function does

    def _in_stateful_object(self, scope: Scope) -> bool:
        method = scope.method
        return method is not None and any(
            self._state.changes_object(inner) or self._outlives(group)
            for inner, group in self._groups.items()
            if _owner(inner) is method.owner and not self._closed(group)
        )

    def _closed(self, group: Sequence[Use]) -> bool:
        """Whether a function makes the START of all it makes, in one call."""
        return (
            self._reached(group)
            and all(self._ended(use, group) for use in group if use.step == "start")
            and _alternate(group)
            and not self._outlives(group)
        )

    def _ended(self, start: Use, group: Sequence[Use]) -> bool:
        return any(self._state.ends(start.place, use.place) for use in group if use.step == "end")

    def _started(self, use: Use, group: Sequence[Use]) -> bool:
        starts = (other for other in group if other.step == "start")
        return use.step == "start" or any(self._state.reaches(start.place, use.place) for start in starts)

    def _reached(self, group: Sequence[Use]) -> bool:
        return any(use.step == "start" for use in group) and all(self._started(use, group) for use in group)

    def _outlives(self, group: Sequence[Use]) -> bool:
        """Whether a START here is guarded by something that outlives the call."""
        return any(
            self._state.is_kept(guard, use.place.scope)
            for use in group
            if use.step == "start"
            for guard in use.place.guards
        )


def _opens(group: Sequence[Use]) -> bool:
    """Whether there is a START that nothing is sure to have gone before."""
    return any(
        use.step == "start"
        and not any(
            other.step != "start" and other.place.line < use.place.line and other.place.precedes(use.place)
            for other in group
        )
        for use in group
    )


def _alternate(group: Sequence[Use]) -> bool:
    """Whether no two STARTs follow each other, and nothing follows an END but a START.

    Only where the first of two is sure to have run when the second does.
    """
    before: Use | None = None
    for use in sorted(group, key=lambda use: use.place.line):
        if before is not None and before.place.precedes(use.place):
            if before.step == "end" and use.step != "start":
                return False
            if before.step == use.step == "start":
                return False
        if use.step != "content":
            before = use
    return True


def _owner(scope: Scope) -> cst.ClassDef | None:
    return None if scope.method is None else scope.method.owner
