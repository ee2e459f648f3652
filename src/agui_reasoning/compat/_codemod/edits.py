"""Edits of the syntax tree that preserve the surrounding white space and comments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import libcst as cst

__all__ = [
    "Edits",
    "assignment",
    "before",
    "declare_on_class",
    "drop_argument",
    "drop_item",
    "insert_argument",
    "insert_item",
]

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
        if isinstance(updated, cst.SimpleStatementLine) and original_node.body and not updated.body:
            return cst.RemoveFromParent()
        return updated


# -- statements


def assignment(target: str, value: str) -> cst.Assign:
    """Return the statement ``target = value``."""
    statement = cst.ensure_type(cst.parse_statement(f"{target} = {value}"), cst.SimpleStatementLine)
    return cst.ensure_type(statement.body[0], cst.Assign)


def before(statements: Sequence[cst.BaseSmallStatement], *, own_lines: bool) -> Edit:
    """Insert statements before a line or compound statement, or on the same line before a small statement."""
    if not own_lines:
        return lambda node: cst.FlattenSentinel([*statements, *_nodes(node)])

    def edit(node: Any) -> cst.FlattenSentinel[Any]:
        first, *rest = _nodes(node)
        above = first.leading_lines
        lines = [cst.SimpleStatementLine([statement]) for statement in statements]
        if isinstance(first, cst.FunctionDef | cst.ClassDef):  # comments above a definition belong to it
            lines[0] = lines[0].with_changes(leading_lines=[line for line in above if line.comment is None])
        else:
            lines[0] = lines[0].with_changes(leading_lines=above)
            first = first.with_changes(leading_lines=())
        return cst.FlattenSentinel([*lines, first, *rest])

    return edit


def _nodes(node: Any) -> list[Any]:
    return list(node.nodes) if isinstance(node, cst.FlattenSentinel) else [node]


def declare_on_class(names: Sequence[str]) -> Edit:
    """Declare class attributes with empty strings as values, before the first method."""

    def edit(node: cst.ClassDef) -> cst.ClassDef:
        body: list[Any] = list(node.body.body)
        at = next((i for i, item in enumerate(body) if isinstance(item, cst.FunctionDef)), len(body))
        lines: list[Any] = [cst.SimpleStatementLine([assignment(name, '""')]) for name in names]
        if at:
            lines[0] = lines[0].with_changes(leading_lines=[cst.EmptyLine(indent=False)])
        if at < len(body) and not body[at].leading_lines:
            body[at] = body[at].with_changes(leading_lines=[cst.EmptyLine(indent=False)])
        return node.with_deep_changes(node.body, body=[*body[:at], *lines, *body[at:]])

    return edit


# -- arguments, items, parameters


def insert_argument(index: int | None, name: str, value: str) -> Edit:
    """Add a keyword argument to a call, at an index or at the end."""
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(cst.parse_expression(value), keyword=cst.Name(name), equal=plain)

    def edit(node: cst.Call) -> cst.Call:
        last = len(node.args)
        at = last if index is None else min(index, last)
        args = _inserted(node.args, at, new, node.whitespace_before_args)
        return node.with_changes(args=args)

    return edit


def drop_argument(name: str) -> Edit:
    """Remove a keyword argument from a call."""

    def edit(node: cst.Call) -> cst.Call:
        return node.with_changes(args=_without(node.args, lambda arg: _keyword(arg) == name))

    return edit


def insert_item(index: int, key: str, value: str) -> Edit:
    """Add an item to a dict display."""
    new = cst.DictElement(cst.parse_expression(key), cst.parse_expression(value))

    def edit(node: cst.Dict) -> cst.Dict:
        elements = _inserted(node.elements, min(index, len(node.elements)), new, node.lbrace.whitespace_after)
        return node.with_changes(elements=elements)

    return edit


def drop_item(key: str) -> Edit:
    """Remove an item from a dict display."""
    return lambda node: node.with_changes(
        elements=_without(node.elements, lambda element: _has_key(element, key))
    )


def _has_key(element: cst.BaseDictElement, key: str) -> bool:
    return (
        isinstance(element, cst.DictElement)
        and isinstance(element.key, cst.SimpleString)
        and element.key.evaluated_value == key
    )


def _keyword(arg: cst.Arg) -> str | None:
    return None if arg.keyword is None else arg.keyword.value


def _inserted(items: Sequence[Any], index: int, new: Any, first_gap: _Space) -> list[Any]:
    """Insert an argument or item, separated like its neighbors."""
    gap = _without_comments(first_gap)
    if index == 0:
        comma = _comma(gap) if items else cst.MaybeSentinel.DEFAULT
        return [new.with_changes(comma=comma), *items]
    previous = items[index - 1]
    if index < len(items):
        return [*items[:index], new.with_changes(comma=_comma(gap)), *items[index:]]
    if isinstance(previous.comma, cst.Comma):  # keep white space and comments after a trailing comma last
        tail = previous.comma
        own = tail.with_changes(whitespace_after=_reindented(tail.whitespace_after, gap))
        new = new.with_changes(
            comma=tail.with_changes(whitespace_after=_without_comments(tail.whitespace_after))
        )
        return [*items[:-1], previous.with_changes(comma=own), new]
    if isinstance(previous, cst.Arg):
        new = new.with_changes(whitespace_after_arg=previous.whitespace_after_arg)
        previous = previous.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return [*items[:-1], previous.with_changes(comma=_comma(gap)), new]


def _without(items: Sequence[Any], unwanted: Callable[[Any], bool]) -> list[Any]:
    kept = [item for item in items if not unwanted(item)]
    if kept and unwanted(items[-1]):
        kept[-1] = kept[-1].with_changes(comma=items[-1].comma)
        if isinstance(items[-1], cst.Arg):
            space = _without_comments(items[-1].whitespace_after_arg)
            kept[-1] = kept[-1].with_changes(whitespace_after_arg=space)
    return kept


def _comma(gap: _Space) -> cst.Comma:
    one = cst.SimpleWhitespace(" ")
    return cst.Comma(whitespace_after=gap if isinstance(gap, cst.ParenthesizedWhitespace) else one)


def _without_comments(space: _Space) -> _Space:
    """Return the white space without its comments."""
    if isinstance(space, cst.ParenthesizedWhitespace):
        first = space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        return space.with_changes(first_line=first, empty_lines=())
    return space


def _reindented(space: _Space, gap: _Space) -> _Space:
    """Return the white space with its comment, indented like the gap between items."""
    if isinstance(space, cst.ParenthesizedWhitespace) and isinstance(gap, cst.ParenthesizedWhitespace):
        return space.with_changes(indent=gap.indent, last_line=gap.last_line)
    return gap if isinstance(gap, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")
