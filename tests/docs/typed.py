"""Write the Python of a page as modules for a type checker, with the line numbers of the page.

Blocks that use one another's names are one module: a reader runs them together. Others stand alone.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator
from pathlib import Path

from tests.docs.markdown import ROOT, Block, blocks, name_of

__all__ = ["undefined", "write_modules"]

OF_FRAMEWORKS = ROOT / "docs" / "how-to" / "frameworks"
"""Their blocks are parts of `examples/frameworks`, which run in environments of their own."""

EXAMPLES = [path.read_text(encoding="utf-8") for path in (ROOT / "examples" / "frameworks").glob("*.py")]
"""Parts of these are shown by other pages, too."""


def write_modules(page: Path, folder: Path) -> dict[str, str]:
    """Write the modules of a page; give the page's name by that of each file."""
    if OF_FRAMEWORKS in page.parents:
        return {}
    stem = name_of(page).removesuffix(".md").replace("/", "_").replace("-", "_")
    files: dict[str, str] = {}
    python = [block for block in blocks(page) if block.language == "python" and not _is_part(block)]
    for block in [one for one in python if one.title]:
        files[str(block.title)] = block.body
    for number, group in enumerate(_groups([one for one in python if not one.title])):
        files[f"{stem}_{number}.py"] = _joined(group)
    for name, source in files.items():
        (folder / name).write_text(source, encoding="utf-8")
    return dict.fromkeys(files, name_of(page))


def undefined(source: str) -> set[str]:
    """Give the names that a source uses and nothing in it defines."""
    module = symtable.symtable(source, "<block>", "exec")
    defined = {symbol.get_name() for symbol in module.get_symbols() if not _is_only_read(symbol)}
    return {name for name in _read(module) if name not in defined and not hasattr(builtins, name)}


def _is_only_read(symbol: symtable.Symbol) -> bool:
    return not (symbol.is_assigned() or symbol.is_imported())


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    yield from (
        one.get_name() for one in table.get_symbols() if one.is_referenced() and (top or one.is_global())
    )
    for child in table.get_children():
        yield from _read(child)


def _is_part(block: Block) -> bool:
    return any(block.unmarked.strip() in example for example in EXAMPLES)  # padded with the lines before it


def _groups(found: list[Block]) -> list[list[Block]]:
    """Put each block together with those that bind, before it, the names that it uses."""
    group_of: list[int] = []
    binding: dict[str, int] = {}
    for index, block in enumerate(found):
        bound, used = _names(block.body)
        needed = {
            group_of[binding[name]] for name in used - bound | _used_first(block.body) if name in binding
        }
        group = min(needed, default=index)
        group_of = [group if one in needed else one for one in group_of] + [group]
        binding |= dict.fromkeys(bound, index)
    return [
        [block for block, of in zip(found, group_of, strict=True) if of == group]
        for group in sorted({*group_of})
    ]


def _names(source: str) -> tuple[set[str], set[str]]:
    """Give the names that the top level of a source binds, and all that it uses."""
    tree = ast.parse(source)
    used = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return _bound(tree.body), used


def _defined(statement: ast.stmt) -> set[str]:
    """Give the name of a function or class that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    return set()


def _bound(body: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for statement in body:
        if defined := _defined(statement):
            names |= defined
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names |= {(one.asname or one.name).split(".")[0] for one in statement.names}
        else:
            walked = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            names |= {node.id for node in walked if isinstance(node.ctx, ast.Store)}
    return names


def _used_first(source: str) -> set[str]:
    """Give the names that statements at the top level use before the source binds them."""
    bound: set[str] = set()
    early: set[str] = set()
    for statement in ast.parse(source).body:
        # What an assignment binds is bound after its value is computed.
        read = statement.value if isinstance(statement, ast.Assign) else statement
        nodes = [node for node in ast.walk(read) if isinstance(node, ast.Name)]
        own = {node.id for node in nodes if isinstance(node.ctx, ast.Store)} | _defined(statement)
        early |= {node.id for node in nodes if isinstance(node.ctx, ast.Load)} - bound - own
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            early |= {statement.target.id} - bound
        bound |= _bound([statement])
    return early


def _joined(group: list[Block]) -> str:
    """Join blocks; each is padded with the lines of the page before it."""
    lines: list[str] = []
    for block in group:
        lines += block.body.splitlines()[len(lines) :]
    return "\n".join(lines) + "\n"
