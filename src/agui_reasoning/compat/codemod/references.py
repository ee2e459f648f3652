"""Renames classes and members where they are mentioned, and reports mentions that need a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from agui_reasoning.compat.codemod.edits import assignment, before, without_repeats
from agui_reasoning.compat.codemod.facts import text_of
from agui_reasoning.compat.codemod.names import BY_CLASS, CLASS_NAME, KINDS, Kind
from agui_reasoning.compat.codemod.session import Session

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
_NEW_NAMES = frozenset({kind.new_class for kind in KINDS} | {kind.new_type for kind in KINDS})


def rename_references(session: Session, kept: frozenset[str], old: set[str], made: set[cst.CSTNode]) -> None:
    """Rename what the names stand for.

    Args:
        session: The file.
        kept: Old names that stay.
        old: Old names that the file imports under these very names.
        made: The nodes that make events.
    """
    for node in session.facts.nodes:
        if isinstance(node, cst.Name):
            _name(session, node, kept)
        elif isinstance(node, cst.Attribute):
            _attribute(session, node, made)
        elif isinstance(node, cst.SimpleString):
            _annotation(session, node, kept, old)
        elif isinstance(node, cst.MatchClass):
            _pattern(session, node)
        elif isinstance(node, cst.ClassDef):
            _own_model(session, node)
    _repeats(session)


def _name(session: Session, node: cst.Name, kept: frozenset[str]) -> None:
    facts = session.facts
    kind = BY_CLASS.get(node.value)
    if kind is None or not facts.imported(node) or facts.class_kind(node) is not kind:
        return
    if isinstance(facts.parent(node), cst.ImportAlias | cst.AsName):
        return
    if node.value not in kept:
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


# -- mentions that need a person


def _class_use(session: Session, node: cst.BaseExpression) -> None:
    facts, parent = session.facts, session.facts.parent(node)
    if isinstance(parent, cst.Attribute) and parent.attr.value in _PARSERS:
        session.find(node, "parsed_events", f"{parent.attr.value} reads events here.")
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
                node, "made_elsewhere", f"{_called(call) or 'A call'} is given the type of an event."
            )
    elif isinstance(parent, cst.Assign) and any(
        _is_type_slot(session, slot.target) for slot in parent.targets
    ):
        session.find(node, "made_elsewhere", "The type of an event is set here.")


def _is_type_slot(session: Session, target: cst.CSTNode) -> bool:
    return isinstance(target, cst.Attribute | cst.Subscript) and session.facts.is_type(target)


def _called(call: cst.Call) -> str:
    name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return name.value if isinstance(name, cst.Name) else ""


def _title_read(session: Session, node: cst.Attribute) -> None:
    """``event.title`` in a branch for the START, or after an assertion: the attribute is gone."""
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
        if test is not None and any(_starts_span(session, part) for part in _walk(test)):
            session.find(node, "title_read", f"{session.code(node)} is read.")
            return
    if _is_asserted(session, node):
        session.find(node, "title_read", f"{session.code(node)} is read.")


def _is_asserted(session: Session, node: cst.Attribute) -> bool:
    """Whether the same function asserts before that the object is the START."""
    facts, event = session.facts, session.code(node.value)
    function = facts.above(node, cst.FunctionDef)
    for check in facts.of_type(cst.Assert):
        parts = list(_walk(check.test))
        if (
            facts.above(check, cst.FunctionDef) is function
            and facts.line(check) < facts.line(node)
            and any(_starts_span(session, part) for part in parts)
            and any(
                isinstance(part, cst.Name | cst.Subscript) and session.code(part) == event for part in parts
            )
        ):
            return True
    return False


def _starts_span(session: Session, node: cst.CSTNode) -> bool:
    kind = session.facts.class_kind(node) or session.facts.type_kind(node)
    return kind is not None and kind.family == "span" and kind.step == "start"


def _own_model(session: Session, node: cst.ClassDef) -> None:
    """A class that declares one of the types itself."""
    facts = session.facts
    kind = facts.own_kind(node)
    if kind is None:
        return
    fields = {name.value for name in _walk(node.body) if isinstance(name, cst.Name)}
    bases = {facts.core(base.value) for base in node.bases}
    if "BaseEvent" not in bases and fields.isdisjoint({"message_id", "messageId"}):
        session.find(node.name, "own_model", f"{node.name.value} declares {kind.old_type} itself.")


# -- annotations that are strings


def _annotation(session: Session, node: cst.SimpleString, kept: frozenset[str], old: set[str]) -> None:
    facts = session.facts
    names = {name for name in BY_CLASS if name not in kept and (name in old or facts.has_star)}
    text = text_of(node) or ""
    if not names or not CLASS_NAME.search(text):
        return
    if (
        facts.above(node, cst.Annotation) is None
        and not _is_cast(session, node)
        and not _in_all(session, node)
    ):
        if text in names:
            session.find(node, "string_left", f"The string {session.code(node)} is the name of a class.")
        return
    new = CLASS_NAME.sub(lambda found: _renamed(found, names), node.value)
    session.edits.add(node, lambda string: string.with_changes(value=new))


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
    """``case ThinkingStartEvent(title=t)``: there is no title to match any more."""
    if not _starts_span(session, node.cls):
        return
    title = next((item for item in node.kwds if item.key.value == "title"), None)
    case = session.facts.above(node, cst.MatchCase)
    if title is None or case is None:
        return
    capture = title.pattern
    is_name = isinstance(capture, cst.MatchAs) and capture.pattern is None
    in_guard = case.guard is not None and is_name and _uses(case.guard, capture)
    if not is_name or in_guard or isinstance(case.body, cst.SimpleStatementSuite):
        session.find(title, "title_read", "The pattern asks for a title, so it matches nothing now.")
        return
    session.edits.add(node, _without_title)
    assert isinstance(capture, cst.MatchAs)
    if capture.name is not None and _uses(case.body, capture):
        session.find(title, "title_read", f"{capture.name.value} is None now.")
        none = assignment(capture.name.value, "None")
        session.edits.add(case.body.body[0], before([none], own_lines=True))


def _uses(node: cst.CSTNode, capture: Any) -> bool:
    name = capture.name.value if capture.name is not None else None
    return any(isinstance(inner, cst.Name) and inner.value == name for inner in _walk(node))


def _without_title(node: cst.MatchClass) -> cst.MatchClass:
    kept = [item for item in node.kwds if item.key.value != "title"]
    if kept:
        kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return node.with_changes(kwds=kept)
    patterns = list(node.patterns)
    if patterns:
        patterns[-1] = patterns[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return node.with_changes(kwds=(), patterns=patterns)


# -- what a rename makes equal


def _repeats(session: Session) -> None:
    facts = session.facts
    edit = without_repeats(facts.module, _NEW_NAMES)
    for node in facts.nodes:
        if isinstance(node, cst.Tuple | cst.List | cst.Set):
            values = [element.value for element in node.elements]
        elif isinstance(node, cst.Subscript):
            values = [item.slice.value for item in node.slice if isinstance(item.slice, cst.Index)]
        else:
            _repeated_keys(session, node)
            continue
        if _becomes_repeated(session, values):
            session.edits.add(node, edit)


def _kind(session: Session, node: cst.CSTNode) -> Kind | None:
    return session.facts.class_kind(node) or session.facts.type_kind(node)


def _becomes_repeated(session: Session, values: list[cst.BaseExpression]) -> bool:
    codes = [session.code(value) for value in values]
    for value, code in zip(values, codes, strict=True):
        kind = _kind(session, value)
        if kind is not None and _new_code(code, kind) in set(codes) - {code}:
            return True
    return False


def _new_code(code: str, kind: Kind) -> str:
    return code.replace(kind.old_class, kind.new_class).replace(kind.old_type, kind.new_type)


def _repeated_keys(session: Session, node: cst.CSTNode) -> None:
    if isinstance(node, cst.Dict):
        keys: list[cst.CSTNode] = [item.key for item in node.elements if isinstance(item, cst.DictElement)]
    elif isinstance(node, cst.Match):
        keys = [_subject(case.pattern) for case in node.cases if case.guard is None]
    else:
        return
    codes = [session.code(key) for key in keys]
    for key, code in zip(keys, codes, strict=True):
        kind = _kind(session, key)
        if kind is not None and _new_code(code, kind) in set(codes) - {code}:
            session.find(
                key, "duplicate_handler", f"{kind.new_type} is handled here and elsewhere in the same place."
            )


def _subject(pattern: cst.MatchPattern) -> cst.CSTNode:
    if isinstance(pattern, cst.MatchClass):
        return pattern.cls
    return pattern.value if isinstance(pattern, cst.MatchValue) else pattern


def _walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _walk(child)
