"""Facts about one module: resolved names, event classes and types, and positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import libcst as cst
from libcst.metadata import (
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedName,
    QualifiedNameProvider,
    QualifiedNameSource,
)

from agui_reasoning.compat._codemod.names import BY_CLASS, BY_TYPE, EventNames
from agui_reasoning.compat._codemod.project import CORE, Project, module_of

__all__ = ["Facts", "source_of_node", "walk"]

_Node = TypeVar("_Node", bound=cst.CSTNode)
_TYPE_NAMES = frozenset({"event_type", "eventType", "evt_type", "type_"})
_ENUM = "EventType."


class Facts:
    """The resolved names of one module."""

    def __init__(self, module: cst.Module, path: str, project: Project) -> None:
        """Resolve the names. Later calls must pass nodes of this module."""
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self.module = wrapper.module
        self.path = path
        self.project = project
        self.parents: dict[cst.CSTNode, cst.CSTNode] = dict(wrapper.resolve(ParentNodeProvider))
        self._positions: Any = wrapper.resolve(PositionProvider)
        self._qualified: Any = wrapper.resolve(QualifiedNameProvider)
        self.nodes = list(walk(self.module))
        self.names = {node.value for node in self.of_type(cst.Name)}
        self.has_star = any(
            isinstance(node.names, cst.ImportStar) and CORE.match(module_of(node)) is not None
            for node in self.of_type(cst.ImportFrom)
        )
        self._aliases: dict[str, str] = {}
        self._own: dict[str, EventNames] = {}
        self._read_aliases()
        self._types = self._names_of_types()

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
        """Return the parent of a node."""
        return self.parents[node]

    # -- names

    def core(self, node: cst.CSTNode) -> str | None:
        """Resolve an expression to a name in ``ag_ui.core``, through imports and local aliases."""
        for name in self.qualified(node):
            found = self.project.core_name(name.name, self.path)
            if found is not None and name.source is QualifiedNameSource.IMPORT:
                return found
            if (alias := self._aliased(name.name)) is not None:
                return alias
        return self._from_star(node)

    def imported(self, node: cst.CSTNode) -> bool:
        """Return whether an expression refers to an import and not to a local definition."""
        sources = {name.source for name in self.qualified(node)}
        return QualifiedNameSource.LOCAL not in sources

    def qualified(self, node: cst.CSTNode) -> set[QualifiedName]:
        """Return the qualified names of an expression."""
        found = self._qualified.get(node, ())
        return set(found() if callable(found) else found)

    def class_kind(self, node: cst.CSTNode) -> EventNames | None:
        """Return the event if the expression is its class in ``ag_ui.core``, or a subclass."""
        return BY_CLASS.get(self.core(node) or "")

    def member_kind(self, node: cst.CSTNode) -> EventNames | None:
        """Return the event if the expression is its `EventType` member, or its ``.value`` or ``.name``."""
        name = self.core(node) or ""
        if not name.startswith(_ENUM):
            return None
        member, _, rest = name.removeprefix(_ENUM).partition(".")
        return BY_TYPE.get(member) if rest in ("", "value", "name") else None

    def type_kind(self, node: cst.CSTNode) -> EventNames | None:
        """Return the event if the expression is its type, as a member or a string."""
        if isinstance(node, cst.SimpleString):
            return BY_TYPE.get(source_of_node(node) or "")
        return self.member_kind(node)

    def own_model(self, node: cst.CSTNode) -> EventNames | None:
        """Return the event that a class of this module declares itself."""
        return next((self._own[name.name] for name in self.qualified(node) if name.name in self._own), None)

    def is_type(self, node: cst.CSTNode) -> bool:
        """Return whether an expression is an event's type: ``x.type``, ``x["type"]``, or a name for it."""
        match node:
            case cst.Attribute(attr=cst.Name(value="type")):
                return True
            case cst.Attribute(value=value, attr=cst.Name(value="value" | "name")):
                return self.is_type(value)
            case cst.Subscript(
                slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]
            ):
                return source_of_node(key) == "type"
            case cst.NamedExpr(value=value):
                return self.is_type(value)
            case cst.IfExp(body=one, orelse=other) | cst.BooleanOperation(left=one, right=other):
                return self.is_type(one) or self.is_type(other)
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="get" | "pop")), args=[first, *_]):
                return source_of_node(first.value) == "type"
            case cst.Call(func=cst.Name(value="str" | "EventType"), args=[cst.Arg(value=value)]):
                return self.is_type(value)
            case cst.Call(func=cst.Name(value="getattr"), args=[_, second, *_]):
                return source_of_node(second.value) == "type"
            case cst.Name(value=name):
                return name in _TYPE_NAMES or (self.above(node, cst.FunctionDef), name) in self._types
        return False

    # -- local names

    def _names_of_types(self) -> set[tuple[cst.CSTNode | None, str]]:
        self._types = set()
        for node in self.nodes:
            for target, value in _assigned(node):
                if isinstance(target, cst.Name) and self.is_type(value):
                    self._types.add((self.above(target, cst.FunctionDef), target.value))
        return self._types

    def _read_aliases(self) -> None:
        """Resolve ``X = ThinkingStartEvent`` and ``class X(ThinkingStartEvent)``, in source order."""
        for node in self.nodes:
            if isinstance(node, cst.ClassDef):
                for base in node.bases:
                    self._alias(node, base.value)
            for target, value in _assigned(node):
                if isinstance(target, cst.Name) and isinstance(value, cst.Name | cst.Attribute):
                    self._alias(target, value)
        for node in self.of_type(cst.ClassDef):
            kind = self.own_kind(node)
            if kind is not None:
                self._own |= {name.name: kind for name in self.qualified(node)}

    def _alias(self, name: cst.CSTNode, value: cst.CSTNode) -> None:
        core = self.core(value)
        if core in BY_CLASS or core == "EventType":
            self._aliases |= {found.name: core for found in self.qualified(name)}

    def _aliased(self, name: str) -> str | None:
        if name in self._aliases:
            return self._aliases[name]
        head, _, last = name.rpartition(".")
        return f"{self._aliases[head]}.{last}" if head in self._aliases else None

    def own_kind(self, node: cst.ClassDef) -> EventNames | None:
        """Return the event whose type a class declares without inheriting from its class."""
        if any(self.class_kind(base.value) for base in node.bases):
            return None
        for statement in node.body.body:
            match statement:
                case cst.SimpleStatementLine(
                    body=[cst.AnnAssign(target=cst.Name(value="type"), annotation=note, value=value), *_]
                ):
                    found = [self.type_kind(inner) for inner in walk(note.annotation)]
                    found.append(None if value is None else self.type_kind(value))
                    return next((kind for kind in found if kind is not None), None)
        return None

    def _is_read(self, node: cst.Name) -> bool:
        match self.parent(node):
            case cst.Attribute(attr=attr):
                return attr is not node
            case cst.Arg(keyword=keyword) | cst.MatchKeywordElement(key=keyword):
                return keyword is not node
            case parent:
                return not isinstance(parent, cst.ImportAlias | cst.AsName | cst.Param)

    def _from_star(self, node: cst.CSTNode) -> str | None:
        if not self.has_star:
            return None
        if isinstance(node, cst.Name) and not self.qualified(node) and self._is_read(node):
            return node.value if node.value in BY_CLASS or node.value in ("EventType", "BaseEvent") else None
        if isinstance(node, cst.Attribute):
            value = self._from_star(node.value)
            return None if value is None else f"{value}.{node.attr.value}"
        return None


def source_of_node(node: cst.CSTNode | None) -> str | None:
    """Return the value of a plain string literal."""
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


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
