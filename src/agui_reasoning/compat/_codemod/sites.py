"""Finds the places that create events, adds IDs and roles, and removes titles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from agui_reasoning._hint import HINT_KEY
from agui_reasoning.compat._codemod.edits import drop_member, insert_member, member_name, member_nodes
from agui_reasoning.compat._codemod.facts import called, string_value
from agui_reasoning.compat._codemod.names import EventNames
from agui_reasoning.compat._codemod.session import Session

__all__ = ["IDS", "Site", "complete", "find_sites"]

_Add: TypeAlias = Callable[[str, str], None]
IDS = ("message_id", "messageId")
"""The names of the ID: in Python, and on the wire."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A call or dict display that creates an event.

    Attributes:
        node: The call or dict display.
        kind: The event.
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
    found = []
    for node in session.facts.nodes:
        site = _site(session, node) if isinstance(node, cst.Call | cst.Dict) else None
        if site is None:
            continue
        found.append(site)
        if isinstance(node, cst.Call) and not all(arg.keyword for arg in node.args):
            message = f"{site.kind.new_class} is created with an argument that has no name."
            session.find(node, "unnamed_argument", message)
    return found


def _site(session: Session, node: cst.Call | cst.Dict) -> Site | None:
    facts = session.facts
    if isinstance(node, cst.Call) and (kind := facts.class_kind(node.func)) is not None:
        return Site(node, kind, IDS[0], _quote(session, node))
    if isinstance(node, cst.Call) and facts.core(node.func) != "BaseEvent" and not _is_dict(session, node):
        return None
    given = next((item.value for item in member_nodes(node) if member_name(item) == "type"), None)
    kind = None if given is None else facts.type_kind(given)
    return None if kind is None else Site(node, kind, IDS[1], _quote(session, node))


def _is_dict(session: Session, node: cst.Call) -> bool:
    if called(node) != "dict":
        return False
    return {name.name for name in session.facts.qualified(node.func)} == {"builtins.dict"}


def _quote(session: Session, node: cst.Call | cst.Dict) -> str:
    """Return a quotation mark that fits. Before Python 3.12, an f-string cannot contain its own."""
    for item in member_nodes(node):
        if isinstance(item, cst.DictElement) and isinstance(item.key, cst.SimpleString):
            return item.key.quote
    around = session.facts.above(node, cst.FormattedString)
    return "'" if around is not None and '"' in around.start else '"'


def complete(session: Session, site: Site, identifier: str | None) -> None:
    """Add the members that an event now requires.

    Args:
        session: The file.
        site: The event.
        identifier: The source of its ID; ``None`` to keep the existing one.
    """
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
