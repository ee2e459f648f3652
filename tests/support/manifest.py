"""Which tests claim to prove the entries of a manifest.

A test is marked with a decorator, such as ``@requirement("C47")`` or ``@law("pairing")``. The marks are read
from the source: nothing is imported, and a mark costs a test nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

TESTS = Path(__file__).parents[1]

Test = TypeVar("Test", bound=Callable[..., object])


def mark(*entries: str) -> Callable[[Test], Test]:
    """Mark a test, or a state machine that is one, as proof of entries of a manifest."""
    return lambda test: test


@cache
def proofs(decorator: str) -> dict[str, set[str]]:
    """Return the tests that are marked with a decorator, by what they prove."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        if f"@{decorator}(" in (source := path.read_text("utf-8")):
            for entry, test in _marked(ast.parse(source), decorator):
                found.setdefault(entry, set()).add(f"{path.relative_to(TESTS)}::{test}")
    return found


def _marked(tree: ast.Module, decorator: str) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == decorator:
                yield from ((ast.literal_eval(entry), node.name) for entry in call.args)
