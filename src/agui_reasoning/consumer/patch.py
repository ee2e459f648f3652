"""JSON Patch (RFC 6902) in place and all or nothing.

Our own, because what the libraries offer is either atomic or does not copy the document: a STATE_DELTA may
cost no more than its own size, however large the state is. And their ``test`` takes 1 for true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from agui_reasoning.consumer.kinds import copy_json

__all__ = ["PatchError", "apply_patch", "json_equal"]

JSONObject: TypeAlias = dict[str, Any]
_Undo: TypeAlias = Callable[[], object]

_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_MISSING: Final = object()


class PatchError(Exception):
    """An operation does not apply; the message names it and where, never a value."""


def apply_patch(document: Any, operations: Iterable[JSONObject], *, whole: type = object) -> Any:
    """Apply operations that enforcement has let through.

    The document is changed in place, but for what replaces its root; values are copied in.

    Args:
        document: Any JSON value.
        operations: RFC 6902 operations; members they do not define are ignored.
        whole: What the document must be afterwards.

    Returns:
        The document.

    Raises:
        PatchError: One of them does not apply. The document is as it was before the first.

    Examples:
        >>> apply_patch({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}])
        {'a': [1, 2]}
    """
    patching = _Patching(document)
    try:
        for index, operation in enumerate(operations):
            patching.run(operation, index)
        patching.check(whole)
    except PatchError:
        patching.undo()
        raise
    return patching.holder[""]


class _Patching:
    """One patch under way: the document inside a holder, so that the root is a member like any other."""

    def __init__(self, document: Any) -> None:
        self.holder: JSONObject = {"": document}
        self._undo: list[_Undo] = []
        self._where = ""

    def run(self, operation: JSONObject, index: int) -> None:
        """Apply one operation."""
        self._where = f"operation {index} ({operation['op']} at {operation['path']!r})"
        _OPERATIONS[operation["op"]](self, operation)

    def check(self, whole: type) -> None:
        """Refuse a document of another kind."""
        if not isinstance(self.holder[""], whole):
            raise PatchError("the result would be no object")

    def undo(self) -> None:
        """Take everything back, last first."""
        for step in reversed(self._undo):
            step()

    # -- operations

    def add(self, operation: JSONObject) -> None:
        self._insert(operation["path"], copy_json(operation["value"]))

    def remove(self, operation: JSONObject) -> None:
        self._take(operation["path"])

    def replace(self, operation: JSONObject) -> None:
        parent, key = self._place(operation["path"])
        self._set(parent, self._existing(parent, key), copy_json(operation["value"]))

    def move(self, operation: JSONObject) -> None:
        if operation["path"].startswith(operation["from"] + "/"):
            raise self._fault("cannot move a value into itself")
        self._insert(operation["path"], self._take(operation["from"]))

    def copy(self, operation: JSONObject) -> None:
        parent, key = self._place(operation["from"])
        self._insert(operation["path"], copy_json(parent[self._existing(parent, key)]))

    def test(self, operation: JSONObject) -> None:
        parent, key = self._place(operation["path"])
        if not json_equal(parent[self._existing(parent, key)], operation["value"]):
            raise self._fault("the value there is another")

    # -- places

    def _place(self, pointer: str) -> tuple[Any, str]:
        """Find the container that a pointer's last step is in."""
        *steps, last = ["", *map(_unescaped, pointer.split("/")[1:])]
        parent: Any = self.holder
        for step in steps:
            parent = parent[self._existing(parent, step)]
        return parent, last

    def _existing(self, parent: Any, step: str) -> Any:
        """Give the key or index of a member that is there."""
        if isinstance(parent, dict) and step in parent:
            return step
        if isinstance(parent, list) and _INDEX.fullmatch(step) and int(step) < len(parent):
            return int(step)
        raise self._fault("there is nothing at that place")

    # -- changes, each with the way back

    def _insert(self, pointer: str, value: Any) -> None:
        parent, key = self._place(pointer)
        if isinstance(parent, dict):
            self._set(parent, key, value)
            return
        index = len(parent) if key == "-" and isinstance(parent, list) else self._index(parent, key)
        parent.insert(index, value)
        self._undo.append(lambda: parent.pop(index))

    def _index(self, parent: Any, key: str) -> int:
        if isinstance(parent, list) and _INDEX.fullmatch(key) and int(key) <= len(parent):
            return int(key)
        raise self._fault("there is no such place")

    def _take(self, pointer: str) -> Any:
        parent, key = self._place(pointer)
        name = self._existing(parent, key)
        if parent is self.holder:  # the root can be emptied, never be missing
            value = parent[name]
            self._set(parent, name, None)
            return value
        value = parent.pop(name)
        self._undo.append(
            (lambda: parent.insert(name, value))
            if isinstance(parent, list)
            else (lambda: parent.__setitem__(name, value))
        )
        return value

    def _set(self, parent: Any, key: Any, value: Any) -> None:
        before = parent.get(key, _MISSING) if isinstance(parent, dict) else parent[key]
        parent[key] = value
        self._undo.append(
            (lambda: parent.pop(key)) if before is _MISSING else (lambda: parent.__setitem__(key, before))
        )

    def _fault(self, problem: str) -> PatchError:
        return PatchError(f"{self._where}: {problem}")


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


_OPERATIONS: Final[dict[str, Callable[[_Patching, JSONObject], None]]] = {
    "add": _Patching.add,
    "remove": _Patching.remove,
    "replace": _Patching.replace,
    "move": _Patching.move,
    "copy": _Patching.copy,
    "test": _Patching.test,
}


def json_equal(one: Any, other: Any) -> bool:
    """Compare as JSON: numbers by value, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return bool(one == other)
