"""Edits of the syntax tree that preserve the surrounding white space and comments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import libcst as cst

from agui_reasoning.compat._codemod.facts import string_value

__all__ = ["Edits", "assignment", "before", "drop_member", "insert_member", "member_name", "member_nodes"]

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
