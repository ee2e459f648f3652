"""Renames references to event classes and types, and reports references that need a decision."""

from __future__ import annotations

import re

import libcst as cst

from agui_reasoning.compat._codemod.facts import source_of_node, walk
from agui_reasoning.compat._codemod.names import BY_CLASS, CLASS_NAME, EventNames
from agui_reasoning.compat._codemod.session import Session

__all__ = ["rename_references"]

_PARSERS = frozenset({"model_validate", "model_validate_json", "model_construct", "parse_obj", "parse_raw"})
_KNOWS_CLASSES = frozenset(
    {"isinstance", "issubclass", "cast", "TypeAdapter", "register", "get_type_hints", "type"}
)
_KNOWS_TYPES = frozenset(
    {"isinstance", "print", "str", "repr", "len", "set", "frozenset", "tuple", "list", "EventType"}
)
_KNOWS_TYPES |= {"add", "append", "get", "index", "count", "register", "on", "subscribe"}
_KNOWS_TYPES |= {"debug", "info", "warning", "error", "exception", "log"}


def rename_references(session: Session, old: set[str], made: set[cst.CSTNode]) -> None:
    """Rename references to event classes and types.

    Args:
        session: The file.
        old: The old names that the file imports without an alias.
        made: The nodes that create events.
    """
    for node in session.facts.nodes:
        match node:
            case cst.Name():
                _name(session, node)
            case cst.Attribute():
                _attribute(session, node, made)
            case cst.SimpleString():
                _annotation(session, node, old)
            case cst.MatchClass():
                _pattern(session, node)
            case cst.ClassDef():
                _own_model(session, node)
            case cst.Dict() | cst.Match():
                _repeated_keys(session, node)


def _name(session: Session, node: cst.Name) -> None:
    facts = session.facts
    kind = BY_CLASS.get(node.value)
    if kind is None or not facts.imported(node) or facts.class_kind(node) is not kind:
        return
    if isinstance(facts.parent(node), cst.ImportAlias | cst.AsName):
        return
    session.edits.add(node, lambda name: name.with_changes(value=kind.new_class))
    _class_use(session, node)


def _attribute(session: Session, node: cst.Attribute, made: set[cst.CSTNode]) -> None:
    facts, attr = session.facts, node.attr
    kind = BY_CLASS.get(attr.value)
    if kind is not None and facts.class_kind(node) is kind and facts.imported(node):
        session.edits.add(attr, lambda name: name.with_changes(value=kind.new_class))
        _class_use(session, node)
    elif attr.value.startswith("THINKING_") and (member := facts.member_kind(node)) is not None:
        session.edits.add(attr, lambda name: name.with_changes(value=member.new_type))
        _type_use(session, node, made)
    elif attr.value == "title":
        _title_read(session, node)


# -- references that need a decision


def _class_use(session: Session, node: cst.BaseExpression) -> None:
    facts, parent = session.facts, session.facts.parent(node)
    if isinstance(parent, cst.Attribute) and parent.attr.value in _PARSERS:
        session.find(node, "parsed_events", f"{parent.attr.value} parses events here.")
    elif isinstance(parent, cst.Arg) and isinstance(call := facts.parent(parent), cst.Call):
        if _called(call) not in _KNOWS_CLASSES:
            session.find(node, "class_as_value", f"The class {session.code(node)} is passed on.")
    elif isinstance(parent, cst.Return) or (isinstance(parent, cst.DictElement) and parent.value is node):
        session.find(node, "class_as_value", f"The class {session.code(node)} is passed on.")


def _type_use(session: Session, node: cst.BaseExpression, made: set[cst.CSTNode]) -> None:
    facts, value = session.facts, node
    while isinstance(facts.parent(value), cst.Attribute):
        value = facts.parent(value)  # type: ignore[assignment]
    parent = facts.parent(value)
    if isinstance(parent, cst.Arg) and isinstance(call := facts.parent(parent), cst.Call):
        if call not in made and _called(call) not in _KNOWS_TYPES:
            session.find(
                node, "made_elsewhere", f"{_called(call) or 'A call'} receives the type of an event."
            )
    elif isinstance(parent, cst.Assign) and any(
        _is_type_slot(session, slot.target) for slot in parent.targets
    ):
        session.find(node, "made_elsewhere", "The type of an event is assigned here.")


def _is_type_slot(session: Session, target: cst.CSTNode) -> bool:
    return isinstance(target, cst.Attribute | cst.Subscript) and session.facts.is_type(target)


def _called(call: cst.Call) -> str:
    name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return name.value if isinstance(name, cst.Name) else ""


def _title_read(session: Session, node: cst.Attribute) -> None:
    """Report ``event.title`` in a branch for the START: the attribute no longer exists."""
    facts = session.facts
    parent = facts.parent(node)
    if isinstance(parent, cst.Call) and parent.func is node:
        return
    for above, child in facts.up(node):
        test: cst.CSTNode | None = None
        if isinstance(above, cst.If) and child is above.body:
            test = above.test
        elif isinstance(above, cst.MatchCase) and child is above.body:
            test = above.pattern
        if test is not None and any(_starts_span(session, part) for part in walk(test)):
            session.find(node, "title_read", f"{session.code(node)} is read.")
            return


def _starts_span(session: Session, node: cst.CSTNode) -> bool:
    kind = session.facts.class_kind(node) or session.facts.type_kind(node)
    return kind is not None and kind.family == "span" and kind.step == "start"


def _own_model(session: Session, node: cst.ClassDef) -> None:
    """Report a class that declares one of the types itself."""
    facts = session.facts
    kind = facts.own_kind(node)
    if kind is None:
        return
    fields = {name.value for name in walk(node.body) if isinstance(name, cst.Name)}
    bases = {facts.core(base.value) for base in node.bases}
    if "BaseEvent" not in bases and fields.isdisjoint({"message_id", "messageId"}):
        session.find(node.name, "own_model", f"{node.name.value} declares {kind.old_type} itself.")


# -- string annotations


def _annotation(session: Session, node: cst.SimpleString, old: set[str]) -> None:
    facts = session.facts
    text = source_of_node(node) or ""
    if not old or not CLASS_NAME.search(text):
        return
    inside = facts.above(node, cst.Annotation) is not None
    if inside or _is_cast(session, node) or _in_all(session, node):
        new = CLASS_NAME.sub(lambda found: _renamed(found, old), node.value)
        session.edits.add(node, lambda string: string.with_changes(value=new))
    elif text in old:
        session.find(node, "string_left", f"The string {session.code(node)} is the name of a class.")


def _renamed(found: re.Match[str], names: set[str]) -> str:
    return BY_CLASS[found[1]].new_class if found[1] in names else found[1]


def _is_cast(session: Session, node: cst.SimpleString) -> bool:
    arg = session.facts.parent(node)
    call = session.facts.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and _called(call) == "cast" and call.args[0] is arg


def _in_all(session: Session, node: cst.SimpleString) -> bool:
    for parent, _ in session.facts.up(node):
        match parent:
            case cst.Assign(targets=targets):
                return any(session.code(target.target) == "__all__" for target in targets)
            case cst.AnnAssign(target=target) | cst.AugAssign(target=target):
                return session.code(target) == "__all__"
            case cst.Call(func=func):
                return session.code(func).startswith("__all__.")
    return False


# -- patterns


def _pattern(session: Session, node: cst.MatchClass) -> None:
    """Report ``case ThinkingStartEvent(title=t)``: there is no title to match anymore."""
    title = next((item for item in node.kwds if item.key.value == "title"), None)
    if title is not None and _starts_span(session, node.cls):
        session.find(title, "title_read", "The pattern requires a title and can no longer match.")


# -- keys that become equal


def _kind(session: Session, node: cst.CSTNode) -> EventNames | None:
    return session.facts.class_kind(node) or session.facts.type_kind(node)


def _new_code(code: str, kind: EventNames) -> str:
    return code.replace(kind.old_class, kind.new_class).replace(kind.old_type, kind.new_type)


def _repeated_keys(session: Session, node: cst.Dict | cst.Match) -> None:
    if isinstance(node, cst.Dict):
        keys: list[cst.CSTNode] = [item.key for item in node.elements if isinstance(item, cst.DictElement)]
    else:
        keys = [_subject(case.pattern) for case in node.cases if case.guard is None]
    kinds = [_kind(session, key) for key in keys]
    if not any(kinds):
        return
    codes = [session.code(key) for key in keys]
    present = set(codes)
    for key, code, kind in zip(keys, codes, kinds, strict=True):
        if kind is not None and _new_code(code, kind) in present - {code}:
            message = f"{kind.new_type} is handled more than once here."
            session.find(key, "duplicate_handler", message)


def _subject(pattern: cst.MatchPattern) -> cst.CSTNode:
    if isinstance(pattern, cst.MatchClass):
        return pattern.cls
    return pattern.value if isinstance(pattern, cst.MatchValue) else pattern
