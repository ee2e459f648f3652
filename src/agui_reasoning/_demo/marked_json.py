"""Human-readable JSON: short values on one line, long strings shortened, selected values marked."""

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
        text: The text; shortened strings contain an ellipsis.
        size: The full size of a shortened string, such as ``"296 bytes"``.
        path: The JSON pointer of the value if it is marked, else empty.
    """

    text: str
    size: str = ""
    path: str = ""


def marked_lines(value: Any, width: int, marked: Collection[str] = (), *, mark: int = 0) -> list[Line]:
    """Format a JSON value as lines.

    Args:
        value: The value.
        width: The maximum width of a line.
        marked: JSON pointers of the values to mark; each gets its own line.
        mark: The width to reserve for the mark.

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
    """Writes values recursively; ``key`` precedes a value on its line, ``end`` follows it."""

    width: int
    marked: frozenset[str]
    mark: int

    def value(self, value: Any, indent: str, key: str, path: str, end: str) -> Iterator[Line]:
        marked_path = path if path in self.marked else ""
        room = self.width - (self.mark if marked_path else 0)
        whole = f"{indent}{key}{_dump(value)}{end}"
        if isinstance(value, dict | list) and value and (self._holds_mark(path) or len(whole) > room):
            yield from self._container(value, indent, key, path, end)
        elif isinstance(value, str) and len(whole) > room:
            yield _cut(value, f"{indent}{key}", end, room, marked_path)
        else:
            yield Line(whole, path=marked_path)

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
    """Shorten prose at its end, and other strings in the middle so that both ends can be compared."""
    size = f"{len(value.encode(errors='replace'))} bytes"
    if " " in value:
        left = room - len(f'{before}""{_ELLIPSIS}{end}  {size}')
        shortened = f"{value[: max(_HEAD, left)].rstrip()}{_ELLIPSIS}"
        while len(_dump(shortened)) - 3 > max(_HEAD, left):  # escape sequences are longer than one character
            shortened = f"{shortened[:-2]}{_ELLIPSIS}"
    else:
        shortened = f"{value[:_HEAD]}{_ELLIPSIS}{value[-_TAIL:]}"
    return Line(f"{before}{_dump(shortened)}{end}", size, path)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _escaped(name: str | int) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
