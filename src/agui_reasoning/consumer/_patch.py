"""Atomic JSON Patch (RFC 6902) on a document whose readers keep what they have read.

The first change of a container after the document was read copies the container, without what is in it. Each
change can be undone and is measured by itself, so its cost does not depend on the size of the document.
Patches are untrusted: the size and depth of the result and the amount of copied data are limited.

Existing libraries either are not atomic or copy the whole document; their ``test`` takes 1 and true as equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from agui_reasoning._strict_json import JSONObject
from agui_reasoning.consumer._faults import quoted
from agui_reasoning.consumer._schema_types import NESTING, copy_json

MAX_BYTES: Final = 16 * 1024 * 1024  # of a patched document as JSON; the gateway accepts no larger requests
MAX_COPIED_BYTES: Final = 1024 * 1024  # of JSON that the ``copy`` operations of one patch copy
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
_NOTHING: Final = object()


class PatchError(Exception):
    """An operation cannot be applied; the message contains its path, but no values."""


@dataclass(slots=True, eq=False)
class _Node:
    """A container that a patch has reached."""

    members: Any  # its JSON
    reads: int = 0  # how often the document had been read when the members were copied
    measure: tuple[int, int] | None = None  # see `_measured`; removals reduce only the size
    inner: dict[int, _Node] = field(default_factory=dict)  # the nodes in it, by the `id` of their members

    def member(self, key: Any) -> Any:
        """Return a member: a scalar, a node, or `_NOTHING` if an object does not have it."""
        value = self.members[key] if isinstance(self.members, list) else self.members.get(key, _NOTHING)
        if not isinstance(value, (dict, list)):
            return value
        return self.inner.get(id(value)) or self.inner.setdefault(id(value), _Node(value))

    def put(self, key: Any, value: Any, *, old: Any) -> None:
        """Replace, insert or remove a member; `_NOTHING` is what is not there before or afterwards."""
        if isinstance(old, _Node):
            self.inner.pop(id(old.members), None)
        if isinstance(value, _Node):
            self.inner[id(value.members)] = value
            value = value.members
        if value is _NOTHING:
            del self.members[key]
        elif old is _NOTHING and isinstance(self.members, list):
            self.members.insert(key, value)
        else:
            self.members[key] = value


class Document:
    """A JSON value that patches change. It is not copied, and must not be modified otherwise."""

    def __init__(self, value: Any) -> None:
        self._holder = _Node({"": value})
        self._reads, self._most, self._copied = 1, 0, 0
        self._undo: list[tuple[list[_Node], Any, Any, Any, list[Any]]] = []

    @property
    def value(self) -> Any:
        """The value as plain JSON; later patches do not affect it."""
        self._reads += 1
        return self._holder.members[""]

    def patch(self, operations: Iterable[JSONObject], *, only_object: bool = False) -> None:
        """Apply validated operations. With ``only_object``, the result must be an object.

        Raises:
            PatchError: An operation cannot be applied, or the result would be too large or nested too deeply.
                After this or any other exception, the value is unchanged.
        """
        self._most, self._copied = max(MAX_BYTES, _measured(self._holder)[0]), 0
        try:
            for index, operation in enumerate(operations):
                try:
                    self._apply(operation)
                except PatchError as error:
                    where = f"operation {index} ({operation['op']} at {quoted(operation['path'])})"
                    raise PatchError(f"{where}: {error}") from None
            if only_object and not isinstance(self._holder.members[""], dict):
                raise PatchError("the result would not be an object")
        except BaseException:
            for nodes, key, value, old, measures in reversed(self._undo):
                nodes[-1].put(key, old, old=value)
                for node, measure in zip(nodes, measures, strict=True):
                    node.measure = measure
            raise
        finally:
            self._undo.clear()

    def _apply(self, operation: JSONObject) -> None:
        match operation:
            case {"op": "add", "path": path, "value": value}:
                self._change(path, copy_json(value), new=True)
            case {"op": "remove", "path": path}:
                self._change(path, _NOTHING if path else None)  # the root can only be set to null
            case {"op": "replace", "path": path, "value": value}:
                self._change(path, copy_json(value))
            case {"op": "move", "path": path, "from": source}:
                if path.startswith(source + "/"):
                    raise PatchError("cannot move a value into itself")
                self._change(path, self._change(source, _NOTHING if source else None), new=True)
            case {"op": "copy", "path": path, "from": source}:
                nodes, key = self._place(source)
                self._copied += _measured(nodes[-1].member(key))[0]
                if self._copied > MAX_COPIED_BYTES:
                    raise PatchError(f"the copies of this patch have more than {MAX_COPIED_BYTES} bytes")
                self._change(path, copy_json(nodes[-1].members[key]), new=True)
            case {"op": "test", "path": path, "value": value}:
                nodes, key = self._place(path)
                if not json_equal(nodes[-1].members[key], value):
                    raise PatchError("the value is different")

    def _change(self, pointer: str, value: Any, *, new: bool = False) -> Any:
        """Replace a member, add a ``new`` one, or remove one with `_NOTHING`; return what was there."""
        nodes, key = self._place(pointer, new=new)
        old = _NOTHING if new and isinstance(nodes[-1].members, list) else nodes[-1].member(key)
        value = _Node(value, self._reads) if isinstance(value, (dict, list)) else value
        nothing = (-_measured(key)[0] if isinstance(key, str) else 0, 0)  # not even a name
        size, height = nothing if value is _NOTHING else _measured(value)
        growth = size - (nothing if old is _NOTHING else _measured(old))[0]
        if len(nodes) - 1 + height > NESTING:
            raise PatchError(f"the result would have more than {NESTING} levels of nesting")
        if growth > 0 and _measured(self._holder)[0] + growth > self._most:
            raise PatchError(f"the result would be larger than {MAX_BYTES} bytes")
        self._undo.append((nodes, key, value, old, [node.measure for node in nodes]))
        nodes[-1].put(key, value, old=old)
        for level, node in enumerate(reversed(nodes), 1):
            node.measure = node.measure and (node.measure[0] + growth, max(node.measure[1], height + level))
        return old

    def _place(self, pointer: str, *, new: bool = False) -> tuple[list[_Node], Any]:
        """Return the containers above a place, ready for changes, and the key in the last one."""
        if pointer and not pointer.startswith("/"):
            raise PatchError(f"{quoted(pointer)} does not start with /")
        nodes = [self._holder]
        *above, last = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/"))
        for step in above:
            key = _key(nodes[-1].members, step)
            if not isinstance(node := nodes[-1].member(key), _Node):
                raise PatchError("there is nothing at that place")
            if node.reads != self._reads:
                nodes[-1].put(key, None, old=node)
                node.members, node.reads = node.members.copy(), self._reads
                nodes[-1].put(key, node, old=None)
            nodes.append(node)
        return nodes, _key(nodes[-1].members, last, new=new)


def _key(members: Any, step: str, *, new: bool = False) -> Any:
    """Return the name or index of a member, which may be ``new``."""
    if isinstance(members, dict):
        if new or step in members:
            return step
    elif new and step == "-":
        return len(members)
    elif _INDEX.fullmatch(step) and int(step) < len(members) + new:
        return int(step)
    raise PatchError("the index is not in the array" if new else "there is nothing at that place")


def _measured(value: Any) -> tuple[int, int]:
    """Return the approximate size of a value or node as JSON, without escapes, and its levels of nesting."""
    if isinstance(value, _Node):
        value.measure = value.measure or _measured(value.members)
        return value.measure
    size, height = 3, 0  # quotes or brackets, and a comma
    if isinstance(value, str):
        size += len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, (dict, list)):
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            more, levels = _measured(inner)
            size, height = size + more, max(height, levels)
        height += 1
    else:  # an integer has about a digit for three bits
        size = max(5, value.bit_length() // 3) if isinstance(value, int) else len(repr(value)) + 1
    return size, height


def json_equal(one: Any, other: Any) -> bool:
    """Compare as JSON: numbers by value, and true differs from 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
