"""Small changes to the tree, one function each; they keep the white space and comments around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import libcst as cst

__all__ = [
    "Edits",
    "add_parameter",
    "assignment",
    "before",
    "declare_on_class",
    "declare_outer",
    "drop_argument",
    "drop_item",
    "insert_argument",
    "insert_item",
    "replace_argument",
    "replace_item",
    "set_argument",
    "without_repeats",
]

Edit: TypeAlias = Callable[[Any], Any]
_Space: TypeAlias = cst.BaseParenthesizableWhitespace


class Edits(cst.CSTTransformer):
    """Applies the edits that were registered for nodes, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self._edits: dict[cst.CSTNode, list[Edit]] = {}
        self.count = 0

    def add(self, node: cst.CSTNode, edit: Edit) -> None:
        """Register an edit; several of one node run in the order they came."""
        self._edits.setdefault(node, []).append(edit)
        self.count += 1

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        """Apply what is registered."""
        updated = super().on_leave(original_node, updated_node)
        for edit in self._edits.get(original_node, ()):
            updated = edit(updated)
        if isinstance(updated, cst.SimpleStatementLine) and original_node.body and not updated.body:
            return cst.RemoveFromParent()
        return updated


# -- statements


def assignment(target: str, value: str) -> cst.Assign:
    """``target = value``."""
    statement = cst.ensure_type(cst.parse_statement(f"{target} = {value}"), cst.SimpleStatementLine)
    return cst.ensure_type(statement.body[0], cst.Assign)


def before(statements: Sequence[cst.BaseSmallStatement], *, own_lines: bool) -> Edit:
    """Put statements before a line or compound statement; without lines of their own, before a small one."""
    if not own_lines:
        return lambda node: cst.FlattenSentinel([*statements, *_flat(node)])

    def edit(node: Any) -> cst.FlattenSentinel[Any]:
        first, *rest = _flat(node)
        above = first.leading_lines
        lines = [cst.SimpleStatementLine([statement]) for statement in statements]
        if isinstance(first, cst.FunctionDef | cst.ClassDef):  # its comments are about itself
            lines[0] = lines[0].with_changes(leading_lines=[line for line in above if line.comment is None])
        else:
            lines[0] = lines[0].with_changes(leading_lines=above)
            first = first.with_changes(leading_lines=())
        return cst.FlattenSentinel([*lines, first, *rest])

    return edit


def _flat(node: Any) -> list[Any]:
    return list(node.nodes) if isinstance(node, cst.FlattenSentinel) else [node]


def declare_outer(names: Sequence[str]) -> Edit:
    """Begin a function with ``nonlocal``."""
    declared = cst.Nonlocal([cst.NameItem(cst.Name(name)) for name in names])
    return lambda node: _begin_function(node, [declared])


def _begin_function(node: cst.FunctionDef, statements: Sequence[cst.BaseSmallStatement]) -> cst.FunctionDef:
    body = node.body
    if isinstance(body, cst.SimpleStatementSuite):
        return node.with_changes(body=body.with_changes(body=[*statements, *body.body]))
    skip = 1 if node.get_docstring() is not None else 0
    lines = [cst.SimpleStatementLine([statement]) for statement in statements]
    return node.with_deep_changes(body, body=[*body.body[:skip], *lines, *body.body[skip:]])


def declare_on_class(names: Sequence[str]) -> Edit:
    """Give a class attributes that are empty strings, before its first method."""

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
    """Add a keyword argument to a call, as the last one where there is no index."""
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(cst.parse_expression(value), keyword=cst.Name(name), equal=plain)

    def edit(node: cst.Call) -> cst.Call:
        last = len(node.args)
        at = last if index is None else min(index, last)
        args = _inserted(node.args, at, new, node.whitespace_before_args)
        return node.with_changes(args=args)

    return edit


def set_argument(name: str, value: str) -> Edit:
    """Change the value of a keyword argument."""

    def edit(node: cst.Call) -> cst.Call:
        return node.with_changes(
            args=[
                arg.with_changes(value=cst.parse_expression(value)) if _keyword(arg) == name else arg
                for arg in node.args
            ]
        )

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


def replace_argument(name: str, new: str, value: str) -> Edit:
    """Put another keyword argument in the place of one."""

    def edit(node: cst.Call) -> cst.Call:
        changes = {"keyword": cst.Name(new), "value": cst.parse_expression(value)}
        args = [arg.with_changes(**changes) if _keyword(arg) == name else arg for arg in node.args]
        return node.with_changes(args=args)

    return edit


def replace_item(key: str, new: str, value: str) -> Edit:
    """Put another item in the place of one of a dict display."""
    changes = {"key": cst.parse_expression(new), "value": cst.parse_expression(value)}

    def edit(node: cst.Dict) -> cst.Dict:
        elements = [
            element.with_changes(**changes) if _has_key(element, key) else element
            for element in node.elements
        ]
        return node.with_changes(elements=elements)

    return edit


def _has_key(element: cst.BaseDictElement, key: str) -> bool:
    return (
        isinstance(element, cst.DictElement)
        and isinstance(element.key, cst.SimpleString)
        and element.key.evaluated_value == key
    )


def add_parameter(name: str) -> Edit:
    """Give a function one more parameter, by keyword only."""

    def edit(node: cst.FunctionDef) -> cst.FunctionDef:
        params = node.params
        new = cst.Param(cst.Name(name), cst.Annotation(cst.Name("str")))
        if params.kwonly_params:
            keyword_only = _inserted(params.kwonly_params, len(params.kwonly_params), new, _gap(node))
            return node.with_changes(params=params.with_changes(kwonly_params=keyword_only))
        changes: dict[str, Any] = {"kwonly_params": [new]}
        if not isinstance(params.star_arg, cst.Param):
            changes["star_arg"] = cst.ParamStar(cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        field = "params" if params.params else "posonly_params"
        last = getattr(params, field)[-1:] if params.star_kwarg is None else ()
        if last and isinstance(last[0].comma, cst.Comma) and not isinstance(params.star_arg, cst.Param):
            changes["kwonly_params"] = [new.with_changes(comma=last[0].comma)]
            changes[field] = [
                *getattr(params, field)[:-1],
                last[0].with_changes(comma=_comma(_gap(node))),
            ]
        return node.with_changes(params=params.with_changes(**changes))

    return edit


def _gap(node: cst.FunctionDef) -> _Space:
    return node.whitespace_before_params


def _keyword(arg: cst.Arg) -> str | None:
    return None if arg.keyword is None else arg.keyword.value


def _inserted(items: Sequence[Any], index: int, new: Any, first_gap: _Space) -> list[Any]:
    """Insert an argument, item or parameter; it is set apart as the others are."""
    gap = _bare(first_gap)
    if index == 0:
        comma = _comma(gap) if items else cst.MaybeSentinel.DEFAULT
        return [new.with_changes(comma=comma), *items]
    previous = items[index - 1]
    if index < len(items):
        return [*items[:index], new.with_changes(comma=_comma(gap)), *items[index:]]
    if isinstance(previous.comma, cst.Comma):  # a trailing comma: what is behind it stays the last
        tail = previous.comma
        own = tail.with_changes(whitespace_after=_reindented(tail.whitespace_after, gap))
        new = new.with_changes(comma=tail.with_changes(whitespace_after=_bare(tail.whitespace_after)))
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
            space = _bare(items[-1].whitespace_after_arg)
            kept[-1] = kept[-1].with_changes(whitespace_after_arg=space)
    return kept


def _comma(gap: _Space) -> cst.Comma:
    one = cst.SimpleWhitespace(" ")
    return cst.Comma(whitespace_after=gap if isinstance(gap, cst.ParenthesizedWhitespace) else one)


def _bare(space: _Space) -> _Space:
    """The white space without the comments in it."""
    if isinstance(space, cst.ParenthesizedWhitespace):
        first = space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        return space.with_changes(first_line=first, empty_lines=())
    return space


def _reindented(space: _Space, gap: _Space) -> _Space:
    """The white space as it is between two items, with its comment."""
    if isinstance(space, cst.ParenthesizedWhitespace) and isinstance(gap, cst.ParenthesizedWhitespace):
        return space.with_changes(indent=gap.indent, last_line=gap.last_line)
    return gap if isinstance(gap, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")


def without_repeats(module: cst.Module, new_names: Iterable[str]) -> Edit:
    """Remove elements of a display or subscript that a rename has made equal to another."""
    wanted = frozenset(new_names)

    def edit(node: Any) -> Any:
        field = "slice" if isinstance(node, cst.Subscript) else "elements"
        items = list(getattr(node, field))
        kept: list[Any] = []
        seen: set[str] = set()
        for item in items:
            code = module.code_for_node(item.slice if isinstance(node, cst.Subscript) else item.value)
            if code in seen and code.rpartition(".")[2].strip("\"'") in wanted:
                continue
            seen.add(code)
            kept.append(item)
        if len(kept) == len(items):
            return node
        tail = items[-1].comma
        if isinstance(node, cst.Tuple) and len(kept) == 1:
            tail = cst.Comma()
        kept[-1] = kept[-1].with_changes(comma=tail)
        return node.with_changes(**{field: kept})

    return edit
