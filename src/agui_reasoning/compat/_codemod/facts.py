"""What a module's names mean: which are the events, which compare a type, where things stand."""

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
    """The names of one module, resolved."""

    def __init__(self, module: cst.Module, path: str, project: Project) -> None:
        """Resolve. The module's nodes are those that are asked about later."""
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
        """All nodes of a class, in order."""
        return (node for node in self.nodes if isinstance(node, kind))

    def line(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a node starts: line and column, both from 1."""
        start = self._positions[node].start
        return start.line, start.column + 1

    def up(self, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        """Each parent above a node, with the child through which it is reached."""
        while (parent := self.parents.get(node)) is not None:
            yield parent, node
            node = parent

    def above(self, node: cst.CSTNode, kind: type[_Node]) -> _Node | None:
        """The nearest node of a class above a node."""
        return next((parent for parent, _ in self.up(node) if isinstance(parent, kind)), None)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node above."""
        return self.parents[node]

    # -- names

    def core(self, node: cst.CSTNode) -> str | None:
        """The name inside ``ag_ui.core`` that an expression is, through imports and local aliases."""
        for name in self.qualified(node):
            found = self.project.core_name(name.name, self.path)
            if found is not None and name.source is QualifiedNameSource.IMPORT:
                return found
            if (alias := self._aliased(name.name)) is not None:
                return alias
        return self._from_star(node)

    def imported(self, node: cst.CSTNode) -> bool:
        """Whether an expression is reached through an import, and not through a name given here."""
        sources = {name.source for name in self.qualified(node)}
        return QualifiedNameSource.LOCAL not in sources

    def qualified(self, node: cst.CSTNode) -> set[QualifiedName]:
        """The qualified names of an expression."""
        found = self._qualified.get(node, ())
        return set(found() if callable(found) else found)

    def class_kind(self, node: cst.CSTNode) -> EventNames | None:
        """The event whose class of ``ag_ui.core`` (or a subclass) an expression is."""
        return BY_CLASS.get(self.core(node) or "")

    def member_kind(self, node: cst.CSTNode) -> EventNames | None:
        """The event whose `EventType` member an expression is, ``.value`` and ``.name`` included."""
        name = self.core(node) or ""
        if not name.startswith(_ENUM):
            return None
        member, _, rest = name.removeprefix(_ENUM).partition(".")
        return BY_TYPE.get(member) if rest in ("", "value", "name") else None

    def type_kind(self, node: cst.CSTNode) -> EventNames | None:
        """The event whose type an expression is: a member or the string."""
        if isinstance(node, cst.SimpleString):
            return BY_TYPE.get(source_of_node(node) or "")
        return self.member_kind(node)

    def own_model(self, node: cst.CSTNode) -> EventNames | None:
        """The event that a class of the module's own makes; its members have their names on the wire."""
        return next((self._own[name.name] for name in self.qualified(node) if name.name in self._own), None)

    def is_type(self, node: cst.CSTNode) -> bool:
        """Whether an expression reads the type of an event: ``x.type``, ``x["type"]``, and what they gave."""
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

    # -- what the module itself names

    def _names_of_types(self) -> set[tuple[cst.CSTNode | None, str]]:
        self._types = set()
        for node in self.nodes:
            for target, value in _assigned(node):
                if isinstance(target, cst.Name) and self.is_type(value):
                    self._types.add((self.above(target, cst.FunctionDef), target.value))
        return self._types

    def _read_aliases(self) -> None:
        """Follow ``X = ThinkingStartEvent`` and ``class X(ThinkingStartEvent)``, in the order they stand."""
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
        """The event that a class of the module's own declares: its ``type`` says so, and no base does."""
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
    """The text of a plain string literal."""
    if isinstance(node, cst.SimpleString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it, in order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def _assigned(node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Each target of an assignment, with the value."""
    if isinstance(node, cst.Assign):
        yield from ((target.target, node.value) for target in node.targets)
    elif isinstance(node, cst.AnnAssign | cst.NamedExpr) and node.value is not None:
        yield node.target, node.value
