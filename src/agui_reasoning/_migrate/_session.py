"""The rewrite of one file: what is known of it, edits that preserve white space, findings with advice.

The facts are the renamed events, resolved names, event classes and types, and positions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
        self._types: set[tuple[cst.CSTNode | None, str]] = set()  # the local variables that hold types
        for node in self.nodes:
            for target, value in _assigned(node):
                if isinstance(target, cst.Name) and self.is_type(value):
                    self._types.add((self.above(target, cst.FunctionDef), target.value))

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
    return node.raw_value if isinstance(node, cst.SimpleString) and "b" not in node.prefix else None


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


Severity: TypeAlias = Literal["error", "decide", "note"]
"""``error``: the file could not be read. ``decide``: needs a manual decision. ``note``: for information."""


@dataclass(frozen=True, slots=True, order=True)
class MigrationFinding:
    """A place in a file that needs attention.

    Attributes:
        path: The path of the file, as given.
        line: The line in the original file, from 1.
        column: The column, from 1.
        code: A stable identifier, for example ``"ids_cross_functions"``.
        severity: ``error``, ``decide`` or ``note``.
        message: A description of the place.
        advice: The recommended action.
    """

    path: str
    line: int
    column: int
    code: str
    severity: Severity
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class Migration:
    """The migration of one file.

    Attributes:
        path: The path of the file, as given.
        before: The original bytes.
        after: The rewritten bytes; the same object if nothing changes.
        changes: The number of rewritten places.
        findings: The findings, sorted by line.
    """

    path: str
    before: bytes
    after: bytes
    changes: int
    findings: tuple[MigrationFinding, ...]

    @property
    def changed(self) -> bool:
        """Whether the content changes."""
        return self.after != self.before


_SAME = "The file was not changed. "
_BY_HAND = (
    f"{_SAME}Pass the IDs on by hand; or keep the server on ag-ui-protocol 0.x and run "
    "`agui-reasoning proxy` in front of it. If events are dicts, use ThinkingUpgradeMiddleware."
)
ADVICE: dict[str, tuple[Severity, str]] = {
    "does_not_parse": ("error", "Fix or exclude the file. Other files were migrated."),
    "not_lossless": ("decide", "Rewrite this file by hand; see the tables in the documentation."),
    "not_rewritten": (
        "decide",
        "Rewrite this file by hand, and please report a bug. Other files were migrated.",
    ),
    "too_deep": ("decide", "Rewrite this file by hand, or split its deepest expression first."),
    "ids_cross_functions": ("decide", _BY_HAND),
    "given_ids": (
        "decide",
        f"{_SAME}Give each reasoning message an ID of its own on all its events, or no IDs at all.",
    ),
    "unclear_use": (
        "decide",
        f"{_SAME}Write the new name here by hand (an event that is created here also needs an ID), then run "
        "the command again.",
    ),
    "unnamed_argument": ("decide", f"{_SAME}Pass each member as a keyword argument first."),
    "title_read": ("decide", f"{_SAME}Remove it first: REASONING_START has no title."),
    "duplicate_handler": ("decide", f"{_SAME}Remove one of the two first: only one of them is used."),
    "name_taken": ("decide", f"{_SAME}Rename the conflicting definition first."),
    "star_import": ("decide", f"{_SAME}Import the events by name first."),
    "reexported_name": ("decide", f"{_SAME}Import it from ag_ui.core, then run the command again."),
    "foreign_name": ("note", "If that module re-exports ag_ui.core, import it from ag_ui.core."),
    "title_dropped": ("note", "Pass --keep-title to keep it, or emit a step to show it to users."),
    "string_mentioned": ("note", "Update the text if it refers to the events."),
}
"""The severity and advice for each code. A file with a finding to ``decide`` is left unchanged."""

Edit: TypeAlias = Callable[[Any], Any]
_Space: TypeAlias = cst.BaseParenthesizableWhitespace


class Edits(cst.CSTTransformer):
    """Applies and counts the edits registered for nodes."""

    def __init__(self) -> None:
        super().__init__()
        self._edits: dict[cst.CSTNode, list[Edit]] = {}
        self.count = 0

    def add(self, node: cst.CSTNode, edit: Edit) -> None:
        """Register an edit. Edits of one node run in order of registration."""
        self._edits.setdefault(node, []).append(edit)
        self.count += 1

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        """Apply the registered edits."""
        updated = super().on_leave(original_node, updated_node)
        for edit in self._edits.get(original_node, ()):
            updated = edit(updated)
        return updated


# -- members: the arguments of a call, and the items of a dict display


def member_nodes(node: cst.Call | cst.Dict) -> Sequence[Any]:
    """Return the arguments or items."""
    return node.args if isinstance(node, cst.Call) else node.elements


def member_name(member: cst.CSTNode) -> str | None:
    """Return the keyword or key of an argument or item, if it is known."""
    if isinstance(member, cst.Arg):
        return None if member.keyword is None else member.keyword.value
    return string_value(member.key) if isinstance(member, cst.DictElement) else None


def insert_member(index: int, name: str, value: str, quote: str) -> Edit:
    """Add an argument or item."""

    def edit(node: Any) -> Any:
        content = cst.parse_expression(value)
        if isinstance(node, cst.Dict):
            item = cst.DictElement(cst.SimpleString(f"{quote}{name}{quote}"), content)
            gap = node.lbrace.whitespace_after
            return node.with_changes(elements=_inserted(node.elements, index, item, gap))
        plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        arg = cst.Arg(content, keyword=cst.Name(name), equal=plain)
        return node.with_changes(args=_inserted(node.args, index, arg, node.whitespace_before_args))

    return edit


def drop_member(name: str) -> Edit:
    """Remove an argument or item."""

    def edit(node: Any) -> Any:
        kept = [member for member in member_nodes(node) if member_name(member) != name]
        if kept and member_name(last := member_nodes(node)[-1]) == name:
            kept[-1] = kept[-1].with_changes(comma=last.comma)
            if isinstance(last, cst.Arg):
                space = _without_comments(last.whitespace_after_arg)
                kept[-1] = kept[-1].with_changes(whitespace_after_arg=space)
        return node.with_changes(**{"args" if isinstance(node, cst.Call) else "elements": kept})

    return edit


def _inserted(items: Sequence[Any], index: int, new: Any, first_gap: _Space) -> list[Any]:
    """Insert a member. What followed the previous one, such as a comment, then follows the new one."""
    gap = _without_comments(first_gap)
    is_multiline = isinstance(gap, cst.ParenthesizedWhitespace)
    comma = cst.Comma(whitespace_after=gap if is_multiline else cst.SimpleWhitespace(" "))
    if index == 0:
        return [new.with_changes(comma=comma) if items else new, *items]
    previous = items[index - 1]
    new, previous = new.with_changes(comma=previous.comma), previous.with_changes(comma=comma)
    if isinstance(previous, cst.Arg):
        new = new.with_changes(whitespace_after_arg=previous.whitespace_after_arg)
        previous = previous.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return [*items[: index - 1], previous, new, *items[index:]]


def _without_comments(space: _Space) -> _Space:
    """Return the white space without its comments."""
    if isinstance(space, cst.ParenthesizedWhitespace):
        first = space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        return space.with_changes(first_line=first, empty_lines=())
    return space


@dataclass(slots=True)
class Session:
    """The rewrite of one file.

    Attributes:
        exporters: The names of the modules that import events, among the files rewritten together.
        keep_title: Whether to keep titles as metadata.
        imports_uuid4: The local name to import ``uuid4`` under; empty if no ID is created.
    """

    facts: Facts
    exporters: frozenset[str] = frozenset()
    keep_title: bool = False
    edits: Edits = field(default_factory=Edits)
    findings: list[MigrationFinding] = field(default_factory=list)
    imports_uuid4: str = ""

    def find(self, node: cst.CSTNode, code: str, message: str) -> None:
        """Add a finding for a node."""
        severity, advice = ADVICE[code]
        line, column = self.facts.line(node)
        self.findings.append(MigrationFinding(self.facts.path, line, column, code, severity, message, advice))

    @property
    def blockers(self) -> list[MigrationFinding]:
        """The findings because of which the file must stay as it is."""
        return [finding for finding in self.findings if finding.severity == "decide"]

    def unused_name(self, name: str) -> str:
        """Return a name that the file does not use, with or without a leading underscore."""
        taken, number, found = self.facts.names, 2, name
        while found in taken or f"_{found}" in taken:
            found, number = f"{name}_{number}", number + 1
        return found

    def code(self, node: cst.CSTNode) -> str:
        """Return the source of a node."""
        return self.facts.module.code_for_node(node)
