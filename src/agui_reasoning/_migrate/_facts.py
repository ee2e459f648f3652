"""The renamed events, and facts about one module: resolved names, event classes and types, and positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import libcst as cst
from libcst.helpers import get_full_name_for_node
from libcst.metadata import (
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedName,
    QualifiedNameProvider,
    QualifiedNameSource,
)

Family: TypeAlias = Literal["span", "message"]
"""The kind of ID; spans and messages have separate ones."""

EventStep: TypeAlias = Literal["start", "content", "end"]


@dataclass(frozen=True, slots=True)
class EventNames:
    """The old and new names of one event."""

    old_class: str
    old_type: str
    family: Family
    step: EventStep

    @property
    def new_class(self) -> str:
        """The class in `ag_ui.core` 1.0."""
        return self.old_class.replace("Thinking", "Reasoning").replace("Text", "")

    @property
    def new_type(self) -> str:
        """The type in AG-UI 1.0."""
        return self.old_type.replace("THINKING", "REASONING").replace("TEXT_", "")


KINDS = (
    EventNames("ThinkingStartEvent", "THINKING_START", "span", "start"),
    EventNames("ThinkingTextMessageStartEvent", "THINKING_TEXT_MESSAGE_START", "message", "start"),
    EventNames("ThinkingTextMessageContentEvent", "THINKING_TEXT_MESSAGE_CONTENT", "message", "content"),
    EventNames("ThinkingTextMessageEndEvent", "THINKING_TEXT_MESSAGE_END", "message", "end"),
    EventNames("ThinkingEndEvent", "THINKING_END", "span", "end"),
)
BY_CLASS = {kind.old_class: kind for kind in KINDS}
BY_TYPE = {kind.old_type: kind for kind in KINDS}
CLASS_NAME = re.compile(rf"(?<!\w)({'|'.join(BY_CLASS)})(?!\w)")
TYPE_NAME = re.compile(r"(?<![A-Z_])THINKING_(?:START|END|TEXT_MESSAGE(?:_(?:START|CONTENT|END))?)?(?![A-Z])")
# Python source is always in an ASCII-compatible encoding (never UTF-16), so matching bytes is enough.
_ANYTHING = re.compile(rb"THINKING_|Thinking(?:Start|End|TextMessage(?:Start|Content|End))Event")


def mentions_anything(source: bytes) -> bool:
    """Return whether a file may use the events; other files are not parsed."""
    return _ANYTHING.search(source) is not None


def renamed(code: str) -> str:
    """Return source code with the new names of classes and types."""
    code = CLASS_NAME.sub(lambda found: BY_CLASS[found[0]].new_class, code)
    return TYPE_NAME.sub(lambda found: BY_TYPE[found[0]].new_type if found[0] in BY_TYPE else found[0], code)


CORE = re.compile(r"^ag_ui\.core(?:\.events)?(?:\.|$)")
"""Matches the module that defined the events, and names in it."""
_Node = TypeVar("_Node", bound=cst.CSTNode)
_TYPE_NAMES = frozenset({"event_type", "eventType", "evt_type", "type_"})


class Facts:
    """The resolved names of one module."""

    def __init__(self, module: cst.Module, path: str) -> None:
        """Resolve the names. Later calls must pass nodes of this module."""
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self.module = wrapper.module
        self.path = path
        self.parents: dict[cst.CSTNode, cst.CSTNode] = dict(wrapper.resolve(ParentNodeProvider))
        self._positions: Any = wrapper.resolve(PositionProvider)
        self._qualified: Any = wrapper.resolve(QualifiedNameProvider)
        self.nodes = list(walk(self.module))
        self.names = {node.value for node in self.of_type(cst.Name)}
        self._known = {*BY_CLASS, *BY_TYPE, *self._imported_from_core()}
        self._types: set[tuple[cst.CSTNode | None, str]] = set()
        self._read_names_of_types()

    def of_type(self, kind: type[_Node]) -> Iterator[_Node]:
        """Yield all nodes of a class in order."""
        return (node for node in self.nodes if isinstance(node, kind))

    def line(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the line and column where a node starts, both from 1."""
        start = self._positions[node].start
        return start.line, start.column + 1

    def up(self, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """Yield each ancestor of a node with the child that leads to it."""
        while (parent := self.parents.get(node)) is not None:
            yield parent, node
            node = parent

    def above(self, node: cst.CSTNode, kind: type[_Node]) -> _Node | None:
        """Return the nearest ancestor of a class."""
        return next((parent for parent, _ in self.up(node) if isinstance(parent, kind)), None)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the parent of a node; the module is its own."""
        return self.parents.get(node, self.module)

    # -- names

    def qualified(self, node: cst.CSTNode) -> set[QualifiedName]:
        """Return the qualified names of an expression."""
        found = self._qualified.get(node, ())
        return set(found() if callable(found) else found)

    def core(self, node: cst.CSTNode) -> str | None:
        """Resolve an expression to a name in ``ag_ui.core``, if it can refer to nothing else."""
        found = self._core_names(node)
        return found.pop() if len(found) == 1 else None

    def is_ambiguous(self, node: cst.CSTNode) -> bool:
        """Return whether an expression refers to an event and also to something else."""
        found = self._core_names(node)
        return len(found) > 1 and any(name in BY_CLASS or _member(name) for name in found)

    def _core_names(self, node: cst.CSTNode) -> set[str | None]:
        last = node.attr if isinstance(node, cst.Attribute) else node
        if not isinstance(last, cst.Name) or last.value not in self._known:
            return set()  # resolving a name takes time for each of its assignments
        return {
            name.name[match.end() :] if name.source is QualifiedNameSource.IMPORT and match else None
            for name in self.qualified(node)
            for match in [CORE.match(name.name)]
        }

    def _imported_from_core(self) -> Iterator[str]:
        for node in self.of_type(cst.ImportFrom):
            if not isinstance(node.names, cst.ImportStar) and CORE.match(module_of(node)):
                yield from (alias.evaluated_alias or alias.evaluated_name for alias in node.names)

    def class_kind(self, node: cst.CSTNode) -> EventNames | None:
        """Return the event if the expression is its class in ``ag_ui.core``."""
        return BY_CLASS.get(self.core(node) or "")

    def type_kind(self, node: cst.CSTNode) -> EventNames | None:
        """Return the event if the expression is its type: a string, or an `EventType` member or its value."""
        if isinstance(node, cst.SimpleString):
            return BY_TYPE.get(string_value(node) or "")
        while isinstance(node, cst.Attribute) and node.attr.value in ("value", "name"):
            node = node.value
        return _member(self.core(node))

    def is_type(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is an event's type: ``x.type``, ``x["type"]``, or a name for it."""
        match node:
            case cst.Attribute(attr=cst.Name(value="type")):
                return True
            case cst.Attribute(value=value, attr=cst.Name(value="value")) | cst.NamedExpr(value=value):
                return self.is_type(value)
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
                return string_value(key) == "type"
            case cst.IfExp(body=one, orelse=other) | cst.BooleanOperation(left=one, right=other):
                return self.is_type(one) or self.is_type(other)
            case cst.Call(args=args) if called(node) in ("get", "pop", "getattr"):
                return any(string_value(arg.value) == "type" for arg in args)
            case cst.Name(value=name):
                return name in _TYPE_NAMES or (self.above(node, cst.FunctionDef), name) in self._types
        return False

    def _read_names_of_types(self) -> None:
        """Find the local variables that hold types."""
        for node in self.nodes:
            for target, value in _assigned(node):
                if isinstance(target, cst.Name) and self.is_type(value):
                    self._types.add((self.above(target, cst.FunctionDef), target.value))


def _member(name: str | None) -> EventNames | None:
    """Return the event if a name in ``ag_ui.core`` is a member of `EventType`."""
    return BY_TYPE.get((name or "").removeprefix("EventType."))


def module_of(node: cst.ImportFrom) -> str:
    """Return the module of a ``from … import``, with leading dots."""
    name = get_full_name_for_node(node.module) if node.module is not None else ""
    return "." * len(node.relative) + (name or "")


def called(call: cst.CSTNode) -> str:
    """Return the name, or the last part of the name, that a call calls."""
    func = call.func if isinstance(call, cst.Call) else None
    name = func.attr if isinstance(func, cst.Attribute) else func
    return name.value if isinstance(name, cst.Name) else ""


def string_value(node: cst.CSTNode | None) -> str | None:
    """Return the source between the quotes of a plain string literal."""
    is_text = isinstance(node, cst.SimpleString) and "b" not in node.prefix
    return node.raw_value if is_text and isinstance(node, cst.SimpleString) else None


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a node and its descendants in order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def _assigned(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Yield each target of an assignment with its value."""
    if isinstance(node, cst.Assign):
        yield from ((target.target, node.value) for target in node.targets)
    elif isinstance(node, cst.AnnAssign | cst.NamedExpr) and node.value is not None:
        yield node.target, node.value
