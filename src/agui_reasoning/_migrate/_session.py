"""The rewrite of one file: edits that preserve white space and comments, and findings with advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import libcst as cst

from agui_reasoning._migrate._facts import Facts, string_value

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


# -- statements


def assignment(target: str, value: str) -> cst.BaseSmallStatement:
    """Return the statement ``target = value``."""
    return cst.ensure_type(cst.parse_statement(f"{target} = {value}"), cst.SimpleStatementLine).body[0]


def before(statements: Sequence[cst.BaseSmallStatement]) -> Edit:
    """Insert statements before a line or compound statement."""

    def edit(node: Any) -> cst.FlattenSentinel[Any]:
        above = node.leading_lines
        lines = [cst.SimpleStatementLine([statement]) for statement in statements]
        if isinstance(node, cst.FunctionDef):  # comments above a definition belong to it
            lines[0] = lines[0].with_changes(leading_lines=[line for line in above if line.comment is None])
        else:
            lines[0] = lines[0].with_changes(leading_lines=above)
            node = node.with_changes(leading_lines=())
        return cst.FlattenSentinel([*lines, node])

    return edit


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
            key = cst.SimpleString(f"{quote}{name}{quote}")
            gap = node.lbrace.whitespace_after
            return node.with_changes(
                elements=_inserted(node.elements, index, cst.DictElement(key, content), gap)
            )
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
        facts: The facts about the module.
        exporters: The names of the modules that import events, among the files rewritten together.
        keep_title: Whether to keep titles as metadata.
        edits: The edits to apply.
        findings: The findings to report.
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
