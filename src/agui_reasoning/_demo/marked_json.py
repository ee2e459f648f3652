"""JSON for people: short values on one line, long strings cut, and some values marked."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Line", "marked_lines"]

_STEP: Final = "  "
_HEAD: Final = 10
_TAIL: Final = 6
_ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of JSON.

    Attributes:
        text: What it shows; a string that was cut has an ellipsis in it.
        size: How long a string is that was cut, such as ``"296 bytes"``.
        path: The JSON pointer of the value, when it is one of those to be marked.
    """

    text: str
    size: str = ""
    path: str = ""


def marked_lines(value: Any, width: int, marked: Collection[str] = (), *, mark: int = 0) -> list[Line]:
    """Write a JSON value as lines.

    Args:
        value: The value.
        width: What fits on a line.
        marked: JSON pointers of the values that get a line of their own.
        mark: What a mark takes of such a line.

    Examples:
        >>> for line in marked_lines({"a": [1, 2], "b": "x" * 50, "c": {"d": "y"}}, 40, ["/c/d"]):
        ...     print(line.text, line.size, line.path)  # doctest: +NORMALIZE_WHITESPACE
        {
          "a": [1, 2],
          "b": "xxxxxxxxxx…xxxxxx", 50 bytes
          "c": {
            "d": "y" /c/d
          }
        }
    """
    return list(_Writer(width, frozenset(marked), mark).value(value, "", "", "", ""))


@dataclass(frozen=True, slots=True)
class _Writer:
    """Each value is told its indent, what stands before it, its JSON pointer, and what ends its line."""

    width: int
    marked: frozenset[str]
    mark: int

    def value(self, value: Any, indent: str, key: str, path: str, end: str) -> Iterator[Line]:
        shown = path if path in self.marked else ""
        room = self.width - (self.mark if shown else 0)
        whole = f"{indent}{key}{_dump(value)}{end}"
        if isinstance(value, dict | list) and value and (self._holds_mark(path) or len(whole) > room):
            yield from self._container(value, indent, key, path, end)
        elif isinstance(value, str) and len(whole) > room:
            yield _cut(value, f"{indent}{key}", end, room, shown)
        else:
            yield Line(whole, path=shown)

    def _container(self, value: Any, indent: str, key: str, path: str, end: str) -> Iterator[Line]:
        named = isinstance(value, dict)
        opening, closing = "{}" if named else "[]"
        yield Line(f"{indent}{key}{opening}")
        members = list(value.items() if named else enumerate(value))
        for number, (name, member) in enumerate(members, 1):
            member_key = f"{_dump(name)}: " if named else ""
            comma = "," if number < len(members) else ""
            yield from self.value(member, indent + _STEP, member_key, f"{path}/{_escaped(name)}", comma)
        yield Line(f"{indent}{closing}{end}")

    def _holds_mark(self, path: str) -> bool:
        return any(pointer.startswith(f"{path}/") for pointer in self.marked)


def _cut(value: str, before: str, end: str, room: int, path: str) -> Line:
    """Words are cut at their end, what has none in its middle, so that both of its ends can be compared."""
    size = f"{len(value.encode(errors='replace'))} bytes"
    if " " in value:
        left = room - len(f'{before}""{_ELLIPSIS}{end}  {size}')
        shown = f"{value[: max(_HEAD, left)].rstrip()}{_ELLIPSIS}"
        while len(_dump(shown)) - 3 > max(_HEAD, left):  # escapes take more than one character
            shown = f"{shown[:-2]}{_ELLIPSIS}"
    else:
        shown = f"{value[:_HEAD]}{_ELLIPSIS}{value[-_TAIL:]}"
    return Line(f"{before}{_dump(shown)}{end}", size, path)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _escaped(name: str | int) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
