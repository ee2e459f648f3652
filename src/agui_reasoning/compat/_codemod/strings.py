"""Rewrites strings that certainly are event types, and reports the others."""

from __future__ import annotations

import re

import libcst as cst

from agui_reasoning.compat._codemod.facts import Facts, source_of_node
from agui_reasoning.compat._codemod.names import BY_TYPE, TYPE_NAME
from agui_reasoning.compat._codemod.session import Session

__all__ = ["rewrite_strings"]

_QUOTED = re.compile(r"""["']THINKING_[A-Z_]+["']|"type"|'type'""")
_COLLECTIONS = (cst.Tuple, cst.List, cst.Set)


def rewrite_strings(session: Session, made: set[cst.CSTNode]) -> None:
    """Rewrite or report every string that contains an event type.

    Args:
        session: The file.
        made: The nodes that create events.
    """
    constants = _constants_of_types(session.facts)
    for node in session.facts.nodes:
        if isinstance(node, cst.SimpleString):
            _string(session, node, made, constants)
        elif isinstance(node, cst.FormattedStringText) and TYPE_NAME.search(node.value):
            _list(session, node, node.value)


def _string(
    session: Session, node: cst.SimpleString, made: set[cst.CSTNode], constants: set[cst.CSTNode]
) -> None:
    value = node.evaluated_value
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if _is_docstring(session.facts, node) or isinstance(session.facts.parent(node), cst.ConcatenatedString):
        if not _is_docstring(session.facts, node) and TYPE_NAME.search(text):
            _list(session, node, text)
        return
    kind = BY_TYPE.get(text) if isinstance(value, str) else None
    if kind is None:
        if TYPE_NAME.search(text) or _is_prefix(session.facts, node, text):
            _list(session, node, text)
    elif _is_certain(session.facts, node, constants):
        session.edits.add(
            node, lambda string: string.with_changes(value=string.value.replace(text, kind.new_type))
        )
        _report_maker(session, node, made)
    else:
        session.find(node, "string_left", f"{session.code(node)} may be the type of an event.")


def _list(session: Session, node: cst.CSTNode, text: str) -> None:
    name = TYPE_NAME.search(text)
    found = name[0] if name else text
    if text == found:
        session.find(node, "string_left", f"{found!r} is the prefix of the old types.")
    elif _QUOTED.search(text):
        session.find(node, "string_left", f"A string contains {found}, possibly in an event as JSON.")
    else:
        session.find(node, "string_mentioned", f"A string mentions {found}.")


def _is_prefix(facts: Facts, node: cst.SimpleString, text: str) -> bool:
    arg = facts.parent(node)
    call = facts.parent(arg) if isinstance(arg, cst.Arg) else None
    return text == "THINKING" and isinstance(call, cst.Call) and _method(call) == "startswith"


def _method(call: cst.Call) -> str | None:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else None


def _is_docstring(facts: Facts, node: cst.SimpleString) -> bool:
    parent = facts.parent(node)
    if isinstance(parent, cst.ConcatenatedString):
        parent = facts.parent(parent)
    return isinstance(parent, cst.Expr)


# -- certain cases


def _is_certain(facts: Facts, node: cst.SimpleString, constants: set[cst.CSTNode]) -> bool:
    parent = facts.parent(node)
    match parent:
        case cst.Element():
            return _in_collection(facts, parent, constants)
        case cst.DictElement(key=key):
            return facts.parent(parent) in constants if key is node else source_of_node(key) == "type"
        case cst.Comparison() | cst.ComparisonTarget():
            return _compares_type(facts, parent, node)
        case cst.Arg():
            return _is_type_argument(facts, parent)
        case cst.Index():
            return _in_subscript(facts, node)
        case cst.MatchValue():
            return _matches_type(facts, parent)
        case cst.Assign(targets=targets):
            return any(_is_slot(facts, target.target) for target in targets)
        case cst.AnnAssign(target=cst.Name(value="type")):
            return _declares_event(facts, node)
    return False


def _in_collection(facts: Facts, element: cst.Element, constants: set[cst.CSTNode]) -> bool:
    """Return whether the element's collection is compared with a type, directly or through a name."""
    values = [facts.parent(element)]
    arg = facts.parent(values[0])
    if isinstance(arg, cst.Arg):
        values.append(facts.parent(arg))
    for value in values:
        parent = facts.parent(value)
        compared = isinstance(parent, cst.ComparisonTarget) and _compares_type(facts, parent, value)
        if compared or value in constants:
            return True
    return False


def _is_type_argument(facts: Facts, arg: cst.Arg) -> bool:
    call = facts.parent(arg)
    named = arg.keyword is not None and arg.keyword.value == "type"
    return named or (isinstance(call, cst.Call) and facts.core(call.func) == "EventType")


def _is_slot(facts: Facts, target: cst.CSTNode) -> bool:
    """Match ``event["type"] = …``, ``event.type = …``, and ``type = …`` in an event class."""
    if isinstance(target, cst.Name):
        return target.value == "type" and _declares_event(facts, target)
    return isinstance(target, cst.Attribute | cst.Subscript) and facts.is_type(target)


def _declares_event(facts: Facts, node: cst.CSTNode) -> bool:
    owner = facts.above(node, cst.ClassDef)
    if owner is None or facts.above(node, cst.FunctionDef) is not None:
        return False
    return facts.own_kind(owner) is not None or any(facts.class_kind(base.value) for base in owner.bases)


def _compares_type(facts: Facts, parent: cst.CSTNode, value: cst.CSTNode) -> bool:
    comparison = facts.parent(parent) if isinstance(parent, cst.ComparisonTarget) else parent
    if not isinstance(comparison, cst.Comparison):
        return False
    sides = [comparison.left, *(target.comparator for target in comparison.comparisons)]
    return any(facts.is_type(side) for side in sides if side is not value)


def _in_subscript(facts: Facts, node: cst.CSTNode) -> bool:
    """Match ``EventType["…"]``, and ``Literal["…"]`` as the type of an event."""
    subscript = facts.above(node, cst.Subscript)
    if subscript is None:
        return False
    if facts.core(subscript.value) == "EventType":
        return True
    field = facts.above(node, cst.AnnAssign)
    is_type = field is not None and isinstance(field.target, cst.Name) and field.target.value == "type"
    return is_type and _declares_event(facts, node)


def _matches_type(facts: Facts, pattern: cst.CSTNode) -> bool:
    for parent, _ in facts.up(pattern):
        if isinstance(parent, cst.MatchMappingElement):
            return source_of_node(parent.key) == "type"
        if isinstance(parent, cst.MatchKeywordElement):
            return parent.key.value == "type"
        if isinstance(parent, cst.Match):
            return facts.is_type(parent.subject)
    return False


# -- constants


def _constants_of_types(facts: Facts) -> set[cst.CSTNode]:
    """Return the named collections that event types are looked up in or compared with."""
    used = {name.value for name in facts.of_type(cst.Name) if _looks_up_type(facts, name)}
    found: set[cst.CSTNode] = set()
    for node in facts.of_type(cst.Assign):
        if any(
            isinstance(target.target, cst.Name) and target.target.value in used for target in node.targets
        ):
            found.add(node.value)
    for declared in facts.of_type(cst.AnnAssign):
        if (
            isinstance(declared.target, cst.Name)
            and declared.target.value in used
            and declared.value is not None
        ):
            found.add(declared.value)
    return found


def _looks_up_type(facts: Facts, name: cst.Name) -> bool:
    parent = facts.parent(name)
    match parent:
        case cst.ComparisonTarget():
            return _compares_type(facts, parent, name)
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
            return value is name and facts.is_type(index)
        case cst.Attribute(value=value, attr=cst.Name(value="get")) if value is name:
            call = facts.parent(parent)
            return isinstance(call, cst.Call) and bool(call.args) and facts.is_type(call.args[0].value)
    return False


def _report_maker(session: Session, node: cst.SimpleString, made: set[cst.CSTNode]) -> None:
    """Report a type that is assigned or passed to an unknown call: the event created there needs an ID."""
    facts, parent = session.facts, session.facts.parent(node)
    if isinstance(parent, cst.Assign) and not any(
        isinstance(slot.target, cst.Name) for slot in parent.targets
    ):
        session.find(node, "made_elsewhere", "The type of an event is assigned here.")
    elif isinstance(parent, cst.Arg) and parent.keyword is not None and facts.parent(parent) not in made:
        session.find(node, "made_elsewhere", "A call receives the type of an event.")
