"""Finds where events are made, and gives them what they need: ids, a role; and takes the title."""

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
    """A call or a dict display that makes one of the events.

    Attributes:
        node: It.
        kind: Which event.
        style: A model, whose arguments have Python's names; a call whose arguments are those on the wire; or
            a dict display.
    """

    node: cst.Call | cst.Dict
    kind: EventNames
    style: Style

    def members(self) -> Iterator[tuple[int, str, cst.BaseExpression]]:
        """Position, name and value of what is passed by name."""
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
        """What is passed under one of some names."""
        return next((value for _, name, value in self.members() if name in names), None)

    @property
    def explicit(self) -> cst.BaseExpression | None:
        """The id that it has already: 0.x ignored it."""
        return self.value(*_IDS)


def find_sites(session: Session) -> list[Site] | None:
    """All places of a module where one of the events is made; ``None`` if a call of one cannot be right."""
    facts, found = session.facts, []
    for node in facts.nodes:
        site = _call(facts, node) if isinstance(node, cst.Call) else _dict(facts, node)
        if site is None:
            continue
        found.append(site)
        if isinstance(node, cst.Call) and _is_positional(facts, node):
            message = f"{site.kind.new_class} is given a member by its place."
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
    """Give an event what it needs now.

    Args:
        session: The file.
        site: The event.
        identifier: Source of its id, ``None`` where the one that it has stays.
    """
    add = _adder(session, site)
    if site.kind.family == "message" and site.kind.step == "start":
        _set_role(session, site, add)
    if identifier is not None:
        add(_ID_NAMES[site.style], identifier)
    _take_title(session, site, add)
    if identifier is not None and _unpacks(site):
        session.find(site.node, "spread", f"{site.kind.new_class} is made of what is unpacked here.")


def _adder(session: Session, site: Site) -> Callable[[str, str], None]:
    """What adds a member: behind the type and the id, where they are given, else in front."""
    index = max((at + 1 for at, name, _ in site.members() if name in ("type", *_IDS)), default=0)
    if isinstance(site.node, cst.Dict):
        quote = _quote(site)
        return lambda name, value: session.edits.add(
            site.node, insert_item(index, f"{quote}{name}{quote}", value)
        )
    return lambda name, value: session.edits.add(site.node, insert_argument(index, name, value))


def _quote(site: Site) -> str:
    """The quotation mark that is used at a place."""
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


def _take_title(session: Session, site: Site, add: Callable[[str, str], None]) -> None:
    title = site.value("title")
    if title is None or site.kind.family != "span" or site.kind.step != "start":
        return
    if session.keep_title and site.value("metadata") is None and session.code(title) != "None":
        # Where `ThinkingUpgrader` keeps it, too.
        quote = _quote(site)
        key, member = f"{quote}{HINT_KEY}{quote}", f"{quote}title{quote}"
        add("metadata", f"{{{key}: {{{member}: {session.code(title)}}}}}")
    else:
        session.find(title, "title_dropped", "REASONING_START has no title.")
    drop = drop_argument if isinstance(site.node, cst.Call) else drop_item
    session.edits.add(site.node, drop("title"))
