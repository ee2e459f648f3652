"""Who calls a function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from io import BytesIO
from pathlib import PurePosixPath
from tokenize import NAME, STRING, TokenError, tokenize

import libcst as cst

from agui_reasoning.compat.codemod.places import Places, Scope, Use
from agui_reasoning.compat.codemod.session import Session

__all__ = ["KnownCalls"]


class KnownCalls:
    """Finds all calls of a function, if all of them can be known."""

    def __init__(self, session: Session, places: Places) -> None:
        self._session = session
        self._facts = session.facts
        self._places = places

    def of(self, scope: Scope) -> list[Use] | None:
        """The calls; ``None`` where something else is done with the function."""
        node = scope.node
        if not isinstance(node, cst.FunctionDef) or not self._is_plain(scope, node):
            return None
        found = []
        for reference in self._references(scope, node):
            call = self._facts.parent(reference)
            if not isinstance(call, cst.Call) or call.func is not reference:
                return None
            found.append(Use(call, self._places.locate(call), "span", "content"))
        return None if self._is_reached_otherwise(scope, node) else found

    def mentions(self, scope: Scope) -> bool:
        """Whether anything mentions a function by its name, here or in another file."""
        if not isinstance(scope.node, cst.FunctionDef):
            return False
        name = scope.node.name
        here = any(other.value == name.value and other is not name for other in self._facts.of_type(cst.Name))
        return here or self._elsewhere(name.value)

    def calls_method(self, scope: Scope) -> bool:
        """Whether anything calls a method by its name, here or (as it seems) in another file."""
        if not isinstance(scope.node, cst.FunctionDef):
            return False
        return self._elsewhere(scope.node.name.value) or any(
            isinstance(call := self._facts.parent(item), cst.Call) and call.func is item
            for item in self._attributes(scope.node)
        )

    def lines(self, scopes: Sequence[Scope]) -> list[tuple[int, int]]:
        """Where functions are defined and mentioned."""
        names = {scope.node.name.value for scope in scopes if isinstance(scope.node, cst.FunctionDef)}
        nodes: list[cst.CSTNode] = [scope.node for scope in scopes]
        nodes += [name for name in self._facts.of_type(cst.Name) if name.value in names]
        return [self._facts.line(node) for node in nodes]

    def _elsewhere(self, name: str) -> bool:
        return any(_uses_word(other, name) for other in self._session.others)

    def _is_plain(self, scope: Scope, node: cst.FunctionDef) -> bool:
        name = node.name.value
        marks = {self._session.code(mark.decorator) for mark in node.decorators}
        defined = [other for other in self._facts.of_type(cst.FunctionDef) if other.name.value == name]
        return len(defined) == 1 and marks <= {"staticmethod", "classmethod"} and not name.startswith("__")

    def _references(self, scope: Scope, node: cst.FunctionDef) -> list[cst.CSTNode]:
        if scope.owner is not None:
            return [item for item in self._attributes(node) if self._is_own(scope, item)]
        own = {name.name for name in self._facts.qualified(node)}
        return [
            name
            for name in self._facts.of_type(cst.Name)
            if name.value == node.name.value
            and name is not node.name
            and own & {found.name for found in self._facts.qualified(name)}
        ]

    def _attributes(self, node: cst.FunctionDef) -> list[cst.Attribute]:
        return [item for item in self._facts.of_type(cst.Attribute) if item.attr.value == node.name.value]

    def _is_own(self, scope: Scope, item: cst.Attribute) -> bool:
        """Whether an attribute is one of this class or of its objects."""
        assert scope.owner is not None
        known = {scope.receiver, "self", "cls", scope.owner.name.value} | self._objects(scope.owner)
        return self._session.code(item.value) in known or self._makes(item.value, scope.owner)

    def _objects(self, owner: cst.ClassDef) -> set[str]:
        """What objects of a class are called, as source."""
        found = {
            self._session.code(target)
            for target, value in self._facts.assignments()
            if self._makes(value, owner)
        }
        for parameter in self._facts.of_type(cst.Param):
            note = parameter.annotation
            if note is not None and self._session.code(note.annotation).strip("\"'") == owner.name.value:
                found.add(parameter.name.value)
        return found

    def _makes(self, value: cst.CSTNode, owner: cst.ClassDef) -> bool:
        return isinstance(value, cst.Call) and self._session.code(value.func) == owner.name.value

    def _is_reached_otherwise(self, scope: Scope, node: cst.FunctionDef) -> bool:
        """Through another object, or a file that names it beside this module or its class."""
        name, path = node.name.value, PurePosixPath(self._facts.path)
        if scope.owner is not None and not all(self._is_own(scope, item) for item in self._attributes(node)):
            return True
        homes = {path.parent.name if path.stem == "__init__" else path.stem}
        homes |= {scope.owner.name.value} if scope.owner is not None else set()
        return any(
            any(_has_word(other, home) for home in homes) and _uses_word(other, name, homes)
            for other in self._session.others
        )


def _uses_word(source: bytes, word: str, homes: AbstractSet[str] = frozenset()) -> bool:
    """Whether a name is in the code of a file, or in a string as a path (``"agent:stream"``)."""
    if not _has_word(source, word):
        return False
    names, strings = _tokens(source)
    paths = "|".join(map(re.escape, sorted(homes)))
    path = re.compile(rf"\b(?:{paths})[.:]{re.escape(word)}\b")
    return word in names or (bool(homes) and any(path.search(text) for text in strings))


@lru_cache(maxsize=256)
def _tokens(source: bytes) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names and the plain strings of a file; all its words are names where it cannot be read."""
    names, strings = set(), []
    try:
        for token in tokenize(BytesIO(source).readline):
            if token.type == NAME:
                names.add(token.string)
            elif token.type == STRING and "f" in token.string.partition(token.string[-1])[0].lower():
                names |= _words(token.string)  # before Python 3.12 an f-string is one token
            elif token.type == STRING:
                strings.append(token.string)
    except (TokenError, SyntaxError, UnicodeError):
        return frozenset(_words(source.decode("latin-1"))), ()
    return frozenset(names), tuple(strings)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _has_word(source: bytes, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b".encode(), source) is not None
