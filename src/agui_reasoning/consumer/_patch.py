"""Atomic JSON Patch (RFC 6902) on a document that is also read as plain JSON.

Existing libraries either are not atomic or copy the document, but the cost of a STATE_DELTA must not depend
on the size of the state. Their ``test`` also treats 1 and true as equal.

Patches are untrusted, so the size and depth of the result and the amount of copied data are limited.
Containers that a patch has reached are nodes that know their size. All others are plain JSON that never
changes, and is shared between the document and the values returned from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._containers import Blocks, Names
from agui_reasoning.consumer._notices import quoted
from agui_reasoning.consumer._schema_types import NESTING, copy_json

__all__ = ["Document", "PatchError", "apply_patch", "json_equal"]

_Undo: TypeAlias = Callable[[], object]

MAX_BYTES: Final = 16 * 1024 * 1024
"""The maximum size of a patched document as JSON; the gateway accepts no larger requests."""

MAX_COPIED_BYTES: Final = 1024 * 1024
"""The maximum amount of JSON that the ``copy`` operations of one patch may copy."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
_MISSING: Final = object()

# Overhead of a string and of a container (quotes or brackets, and a comma), and the size of a short scalar.
_STRING: Final = 3
_CONTAINER: Final = 3
_SCALAR: Final = 5


class PatchError(Exception):
    """An operation cannot be applied; the message contains its path, but no values."""


@dataclass(slots=True, eq=False)
class _Node:
    """A container that a patch has reached.

    Attributes:
        inside: Its JSON, which never changes; after `open`, its members: plain values and nodes.
        size: Its size as JSON, if measured.
        height: Its nesting levels, including itself, if measured. Removals do not reduce it.
    """

    inside: Any
    size: int | None = None
    height: int | None = None

    def open(self) -> Names | Blocks:
        """Return the members for modification."""
        if isinstance(self.inside, dict):
            self.inside = Names(self.inside)
        elif isinstance(self.inside, list):
            self.inside = Blocks(self.inside)
        members: Names | Blocks = self.inside
        return members

    def member(self, key: Any) -> Any:
        """Return a member: a scalar, or a node."""
        members = self.open()
        value = members[key]
        if isinstance(value, (dict, list)):
            value = _Node(value)
            members.wrap(key, value)
        return value


@dataclass(slots=True)
class _Place:
    """A resolved pointer: the containers on its path, the key of each except the first, and its last step."""

    nodes: list[_Node]
    keys: list[Any]
    last: str

    @property
    def parent(self) -> _Node:
        """The container that the last step refers to."""
        return self.nodes[-1]

    def touch(self) -> None:
        """Mark the containers on the path as changed."""
        for node, key in zip(self.nodes, self.keys, strict=False):
            node.open().touch(key)


class Document:
    """A JSON value that patches change.

    Args:
        value: The value. It is not copied, and must not be modified afterwards.
    """

    def __init__(self, value: Any) -> None:
        self._holder = _Node({"": value}, size=_size(value))

    @property
    def value(self) -> Any:
        """The value as plain JSON; later patches do not affect it.

        The cost depends on the containers that changed since the last read, and on their ancestors.
        """
        return _plain(self._holder.member(""))

    def patch(self, operations: Iterable[JSONObject], *, only_object: bool = False) -> None:
        """Apply validated operations.

        Args:
            operations: RFC 6902 operations; unknown members are ignored.
            only_object: Whether the result must be an object.

        Raises:
            PatchError: An operation cannot be applied, or the result would be too large or nested too deeply.
                After this or any other exception, the value is unchanged.
        """
        patching = _Patching(self._holder)
        try:
            for index, operation in enumerate(operations):
                patching.run(operation, index)
            if only_object:
                patching.check_object()
        except BaseException:
            patching.undo()
            raise


def apply_patch(value: Any, operations: Iterable[JSONObject], *, only_object: bool = False) -> Any:
    """Apply operations to a JSON value; return the result.

    Raises:
        PatchError: As in `Document.patch`.

    Examples:
        >>> apply_patch({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}])
        {'a': [1, 2]}
    """
    document = Document(value)
    document.patch(operations, only_object=only_object)
    return document.value


class _Patching:
    """The application of one patch, on a node whose only member is the root of the document."""

    def __init__(self, holder: _Node) -> None:
        self._holder = holder
        self._before = holder.size or 0
        self._copied = 0
        self._undo: list[_Undo] = []
        self._where = ""

    def run(self, operation: JSONObject, index: int) -> None:
        """Apply one operation."""
        self._where = f"operation {index} ({operation['op']} at {quoted(operation['path'])})"
        _OPERATIONS[operation["op"]](self, operation)

    def check_object(self) -> None:
        """Reject a result that is not an object."""
        root = self._holder.member("")
        if not (isinstance(root, _Node) and isinstance(root.open(), Names)):
            raise PatchError("the result would not be an object")

    def undo(self) -> None:
        """Revert all operations, last first."""
        for step in reversed(self._undo):
            step()

    # -- operations

    def add(self, operation: JSONObject) -> None:
        self._insert(operation["path"], _taken_in(operation["value"]))

    def remove(self, operation: JSONObject) -> None:
        self._take(operation["path"])

    def replace(self, operation: JSONObject) -> None:
        place = self._place(operation["path"])
        self._set(place, self._existing(place.parent, place.last), _taken_in(operation["value"]))

    def move(self, operation: JSONObject) -> None:
        if operation["path"].startswith(operation["from"] + "/"):
            raise self._fault("cannot move a value into itself")
        self._insert(operation["path"], self._take(operation["from"]))

    def copy(self, operation: JSONObject) -> None:
        source = self._found(operation["from"])
        self._copied += _size(source)
        if self._copied > MAX_COPIED_BYTES:
            raise self._fault(f"the copies of this patch have more than {MAX_COPIED_BYTES} bytes")
        self._insert(operation["path"], _taken_in(_plain(source)))

    def test(self, operation: JSONObject) -> None:
        if not _equal(self._found(operation["path"]), operation["value"]):
            raise self._fault("the value is different")

    # -- places

    def _place(self, pointer: str) -> _Place:
        *steps, last = ["", *map(_unescaped, pointer.split("/")[1:])]
        place = _Place([self._holder], [], last)
        for step in steps:
            key = self._existing(place.parent, step)
            member = place.parent.member(key)
            if not isinstance(member, _Node):
                raise self._fault("there is nothing at that place")
            place.nodes.append(member)
            place.keys.append(key)
        return place

    def _found(self, pointer: str) -> Any:
        place = self._place(pointer)
        return place.parent.member(self._existing(place.parent, place.last))

    def _existing(self, parent: _Node, step: str) -> Any:
        """Return the name or index of an existing member."""
        members = parent.open()
        if isinstance(members, Names):
            if step in members:
                return step
        elif _INDEX.fullmatch(step) and int(step) < len(members):
            return int(step)
        raise self._fault("there is nothing at that place")

    # -- changes, each with its undo step

    def _insert(self, pointer: str, value: Any) -> None:
        place = self._place(pointer)
        members = place.parent.open()
        if isinstance(members, Names):
            self._set(place, place.last, value)
            return
        index = len(members) if place.last == "-" else self._index(members, place.last)
        growth = self._admit(place, value)
        members.insert(index, value)
        self._note(place, growth, _height(value), lambda: members.pop(index))

    def _index(self, members: Blocks, step: str) -> int:
        if _INDEX.fullmatch(step) and int(step) <= len(members):
            return int(step)
        raise self._fault("the index is not in the array")

    def _take(self, pointer: str) -> Any:
        place = self._place(pointer)
        key = self._existing(place.parent, place.last)
        value, members = place.parent.member(key), place.parent.open()
        if place.parent is self._holder:  # the root cannot be removed, only set to null
            self._set(place, key, None)
            return value
        size = _size(value) + _name_size(key)
        members.pop(key)
        self._note(place, -size, 0, lambda: _put_back(members, key, value))
        return value

    def _set(self, place: _Place, key: Any, value: Any) -> None:
        members: Any = place.parent.open()
        if isinstance(members, Names) and key not in members:
            growth = self._admit(place, value, -_name_size(key))
            members[key] = value
            self._note(place, growth, _height(value), lambda: members.pop(key))
            return
        before = place.parent.member(key)
        growth = self._admit(place, value, _size(before))
        members[key] = value
        self._note(place, growth, _height(value), lambda: members.__setitem__(key, before))

    def _admit(self, place: _Place, value: Any, freed: int = 0) -> int:
        """Check the limits for a new value; return the growth of the document."""
        if len(place.keys) + _height(value) > NESTING:
            raise self._fault(f"the result would have more than {NESTING} levels of nesting")
        growth = _size(value) - freed
        if growth > 0 and (self._holder.size or 0) + growth > max(MAX_BYTES, self._before):
            raise self._fault(f"the result would be larger than {MAX_BYTES} bytes")
        return growth

    def _note(self, place: _Place, growth: int, height: int, undo: _Undo) -> None:
        """Update the containers on the path after a change, and record its undo step."""
        before = [(node, node.size, node.height) for node in place.nodes]
        for level, node in enumerate(reversed(place.nodes), 1):
            node.size = None if node.size is None else node.size + growth
            node.height = None if node.height is None else max(node.height, height + level)
        place.touch()

        def revert() -> None:
            undo()
            place.touch()
            for node, size, height in before:
                node.size, node.height = size, height

        self._undo.append(revert)

    def _fault(self, problem: str) -> PatchError:
        return PatchError(f"{self._where}: {problem}")


_OPERATIONS: Final[dict[str, Callable[[_Patching, JSONObject], None]]] = {
    "add": _Patching.add,
    "remove": _Patching.remove,
    "replace": _Patching.replace,
    "move": _Patching.move,
    "copy": _Patching.copy,
    "test": _Patching.test,
}


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _taken_in(value: Any) -> Any:
    """Return a copy of a value, as a node if its size should be cached."""
    copied = copy_json(value)
    return _Node(copied) if isinstance(copied, (dict, list)) else copied


def _put_back(members: Names | Blocks, key: Any, value: Any) -> None:
    if isinstance(members, Blocks):
        members.insert(key, value)
    else:
        members[key] = value


def _plain(value: Any) -> Any:
    """Return a value or node as plain JSON."""
    if isinstance(value, _Node):
        value = value.inside
    return value.plain(_plain) if isinstance(value, (Names, Blocks)) else value


def _size(value: Any) -> int:
    """Return the approximate size of a value or node as JSON, without escapes."""
    if isinstance(value, _Node):
        if value.size is None:
            value.size = _size(value.inside)
        return value.size
    if isinstance(value, str):
        return _name_size(value)
    if isinstance(value, int):
        return max(_SCALAR, value.bit_length() // 3)  # about the number of digits
    if isinstance(value, float):
        return len(repr(value)) + 1
    if isinstance(value, dict):
        return _CONTAINER + sum(map(_name_size, value)) + sum(map(_size, value.values()))
    if isinstance(value, Names):
        return _CONTAINER + sum(map(_name_size, value.names())) + sum(map(_size, value))
    return _CONTAINER + sum(map(_size, value)) if isinstance(value, (list, Blocks)) else _SCALAR


def _height(value: Any) -> int:
    """Return the nesting levels of a value or node; 0 for a scalar."""
    if isinstance(value, _Node):
        if value.height is None:
            value.height = _height(value.inside)
        return value.height
    if isinstance(value, dict):
        return 1 + max(map(_height, value.values()), default=0)
    return 1 + max(map(_height, value), default=0) if isinstance(value, (list, Names, Blocks)) else 0


def _name_size(name: Any) -> int:
    """Return the size of a string as JSON; 0 for an index, which is not written."""
    if not isinstance(name, str):
        return 0
    return _STRING + (len(name) if name.isascii() else len(name.encode("utf-8", "surrogatepass")))


def _equal(value: Any, other: Any) -> bool:
    """Compare a value or node with JSON, at a cost limited by the size of the JSON."""
    members = value.inside if isinstance(value, _Node) else value
    if isinstance(members, Names):
        same_size = isinstance(other, dict) and len(members) == len(other)
        return same_size and all(name in members and _equal(members[name], other[name]) for name in other)
    if isinstance(members, Blocks):
        same_size = isinstance(other, list) and len(members) == len(other)
        return same_size and all(map(_equal, members, other))
    return json_equal(members, other)


def json_equal(one: Any, other: Any) -> bool:
    """Compare as JSON: numbers by value, and true differs from 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return bool(one == other)
