"""Finds the places that create events, adds IDs and roles, and removes titles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import libcst as cst

from agui_reasoning._hint import HINT_KEY
from agui_reasoning.compat._codemod.edits import (
    drop_argument,
    drop_item,
    insert_argument,
    insert_item,
)
from agui_reasoning.compat._codemod.facts import Facts, source_of_node
from agui_reasoning.compat._codemod.names import EventNames
from agui_reasoning.compat._codemod.session import Session

__all__ = ["Site", "complete", "find_sites"]

Style: TypeAlias = Literal["model", "wire", "dict"]
_ID_NAMES = {"model": "message_id", "wire": "messageId", "dict": "messageId"}
_IDS = ("message_id", "messageId")


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A call or dict display that creates an event.

    Attributes:
        node: The call or dict display.
        kind: The event.
        style: ``model`` for calls with Python names as arguments, ``wire`` for calls with wire names,
            ``dict`` for dict displays.
    """

    node: cst.Call | cst.Dict
    kind: EventNames
    style: Style

    def members(self) -> Iterator[tuple[int, str, cst.BaseExpression]]:
        """Yield position, name and value of the named arguments or items."""
        if isinstance(self.node, cst.Call):
            for index, arg in enumerate(self.node.args):
                if arg.keyword is not None:
                    yield index, arg.keyword.value, arg.value
            return
        for index, element in enumerate(self.node.elements):
            key = source_of_node(element.key) if isinstance(element, cst.DictElement) else None
            if key is not None:
                yield index, key, element.value

    def value(self, *names: str) -> cst.BaseExpression | None:
        """Return the value of the first member with one of the names."""
        return next((value for _, name, value in self.members() if name in names), None)

    @property
    def explicit(self) -> cst.BaseExpression | None:
        """The ID that the code already passes; 0.x ignored it."""
        return self.value(*_IDS)


def find_sites(session: Session) -> list[Site] | None:
    """Find all places that create events; ``None`` if one of the calls is invalid."""
    facts, found = session.facts, []
    for node in facts.nodes:
        site = _call(facts, node) if isinstance(node, cst.Call) else _dict(facts, node)
        if site is None:
            continue
        found.append(site)
        if isinstance(node, cst.Call) and _is_positional(facts, node):
            message = f"{site.kind.new_class} is called with a positional argument."
            session.find(node, "positional_argument", message)
            return None
    return found


def _is_positional(facts: Facts, call: cst.Call) -> bool:
    by_place = any(arg.keyword is None and not arg.star for arg in call.args)
    return by_place and not _is_dict(facts, call.func)


def _call(facts: Facts, node: cst.Call) -> Site | None:
    if (kind := facts.class_kind(node.func)) is not None:
        return Site(node, kind, "model")
    if (own := facts.own_model(node.func)) is not None:
        return Site(node, own, "wire")
    if facts.core(node.func) == "BaseEvent" or _is_dict(facts, node.func):
        for arg in node.args:
            if arg.keyword is not None and arg.keyword.value == "type":
                kind = facts.type_kind(arg.value)
                return None if kind is None else Site(node, kind, "wire")
    return None


def _is_dict(facts: Facts, func: cst.CSTNode) -> bool:
    return any(name.name == "builtins.dict" for name in facts.qualified(func))


def _dict(facts: Facts, node: cst.CSTNode) -> Site | None:
    if not isinstance(node, cst.Dict):
        return None
    for element in node.elements:
        if isinstance(element, cst.DictElement) and source_of_node(element.key) == "type":
            kind = facts.type_kind(element.value)
            return None if kind is None else Site(node, kind, "dict")
    return None


def complete(session: Session, site: Site, identifier: str | None) -> None:
    """Add the members that an event now requires.

    Args:
        session: The file.
        site: The event.
        identifier: The source of its ID; ``None`` to keep the existing one.
    """
    add = _adder(session, site)
    if site.kind.family == "message" and site.kind.step == "start":
        _set_role(session, site, add)
    if identifier is not None:
        add(_ID_NAMES[site.style], identifier)
    _remove_title(session, site, add)
    if identifier is not None and _unpacks(site):
        session.find(site.node, "spread", f"{site.kind.new_class} is created by unpacking a mapping.")


def _adder(session: Session, site: Site) -> Callable[[str, str], None]:
    """Return a function that adds a member after the type and ID, or first if neither is given."""
    index = max((at + 1 for at, name, _ in site.members() if name in ("type", *_IDS)), default=0)
    if isinstance(site.node, cst.Dict):
        quote = _quote(site)
        return lambda name, value: session.edits.add(
            site.node, insert_item(index, f"{quote}{name}{quote}", value)
        )
    return lambda name, value: session.edits.add(site.node, insert_argument(index, name, value))


def _quote(site: Site) -> str:
    """Return the quotation mark used by the surrounding code."""
    if isinstance(site.node, cst.Dict):
        for element in site.node.elements:
            key = element.key if isinstance(element, cst.DictElement) else None
            if isinstance(key, cst.SimpleString) and source_of_node(key) == "type":
                return key.quote
    return '"'


def _unpacks(site: Site) -> bool:
    return isinstance(site.node, cst.Call) and any(arg.star == "**" for arg in site.node.args)


def _set_role(session: Session, site: Site, add: Callable[[str, str], None]) -> None:
    given, quote = site.value("role"), _quote(site)
    role = f"{quote}reasoning{quote}"
    if given is None:
        add("role", role)
    elif source_of_node(given) != "reasoning":
        session.edits.add(given, lambda node: cst.SimpleString(role))


def _remove_title(session: Session, site: Site, add: Callable[[str, str], None]) -> None:
    title = site.value("title")
    if title is None or site.kind.family != "span" or site.kind.step != "start":
        return
    if session.keep_title and site.value("metadata") is None and session.code(title) != "None":
        # The same place as `ThinkingUpgrader` uses.
        quote = _quote(site)
        key, member = f"{quote}{HINT_KEY}{quote}", f"{quote}title{quote}"
        add("metadata", f"{{{key}: {{{member}: {session.code(title)}}}}}")
    else:
        session.find(title, "title_dropped", "REASONING_START has no title.")
    drop = drop_argument if isinstance(site.node, cst.Call) else drop_item
    session.edits.add(site.node, drop("title"))
