"""What a value on the wire can be, and how it is read: unrecognised material out, malformed values refused.

`schema` puts these together into the described objects. Reading never coerces, and never calls on the
installed models, which do (AG-UI 1.1, C9 to C12).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agui_reasoning._limits import Limits

__all__ = [
    "ANY",
    "DROP",
    "FLAG",
    "NESTING",
    "OPEN",
    "PRESENT",
    "TEXT",
    "AnyJSON",
    "Choice",
    "Const",
    "Either",
    "Flag",
    "MalformedValue",
    "Obj",
    "Open",
    "SchemaType",
    "Sequence",
    "Tagged",
    "Text",
    "WholeNumber",
    "copy_json",
]

_LEVELS: Final = Limits().nesting
NESTING: Final = _LEVELS - 5
"""Levels of objects and arrays in a value that is open to anything.

With the five around the deepest of them, the metadata of a tool call, a run input then has no more levels
than `Limits` allows by default; pydantic writes 255 at most, and its parser reads 200.
"""

DROP: Final = object()
"""What reading gives for material that this version does not know: its place decides what goes with it."""


class MalformedValue(Exception):  # noqa: N818 -- control flow between a value and the event that holds it
    """A described value is not what it must be; never leaves this room."""

    def __init__(self, expected: str, path: str = "") -> None:
        super().__init__(expected)
        self.expected = expected
        self.path = path


class SchemaType(Protocol):
    """One row of the table."""

    def read(self, value: Any, removed: list[str]) -> Any:
        """Return the value as this version knows it.

        Args:
            value: What came.
            removed: Receives the path, from this value on, of each thing that was taken out.

        Returns:
            A value that shares nothing with what came, or `DROP`.

        Raises:
            Malformed: The value is described and wrong.
        """


@dataclass(frozen=True, slots=True)
class Text:
    """A string, which may have to match a pattern from end to end."""

    pattern: str | None = None

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read a string."""
        if type(value) is not str:
            if not isinstance(value, str):
                raise MalformedValue("a string")
            value = str.__str__(value)  # an enum member: its value, not its name
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            raise MalformedValue(f"a string that matches {self.pattern}")
        return value


@dataclass(frozen=True, slots=True)
class Const:
    """One string; any other is malformed, never unrecognised (C11)."""

    value: str

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read the one legal string."""
        if not isinstance(value, str) or str.__str__(value) != self.value:
            raise MalformedValue(f'"{self.value}"')
        return self.value


@dataclass(frozen=True, slots=True)
class Choice:
    """A closed set of strings; another string is unrecognised, anything else malformed (C11)."""

    values: frozenset[str]

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read one of the strings."""
        if not isinstance(value, str):
            raise MalformedValue("a string")
        value = str.__str__(value)
        return value if value in self.values else DROP


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """A whole number between two bounds."""

    least: int
    most: int

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read a whole number; 1.0 is one, since JSON has a single kind of number."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
            raise MalformedValue("a whole number")
        if not self.least <= value <= self.most:
            raise MalformedValue(f"a whole number between {self.least} and {self.most}")
        return int(value)


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read a boolean."""
        if not isinstance(value, bool):
            raise MalformedValue("true or false")
        return value


@dataclass(frozen=True, slots=True)
class AnyJSON:
    """Any JSON value, its inside untouched (C12); null only where it says so."""

    null: bool = True

    def read(self, value: Any, removed: list[str]) -> Any:
        """Copy the value."""
        if value is None and not self.null:
            raise MalformedValue("a value, or no field at all")
        return copy_json(value, NESTING)


@dataclass(frozen=True, slots=True)
class Open:
    """An object that is open by key (C12)."""

    def read(self, value: Any, removed: list[str]) -> Any:
        """Copy the object."""
        if not isinstance(value, Mapping):
            raise MalformedValue("an object")
        return copy_json(value, NESTING)


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list; unrecognised elements leave it, and it stays (C9)."""

    of: SchemaType
    least: int = 0

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read the elements."""
        if not isinstance(value, (list, tuple)):
            raise MalformedValue("an array")
        if len(value) < self.least:
            raise MalformedValue(f"an array of at least {self.least}")
        kept = []
        for index, element in enumerate(value):
            mark = len(removed)
            item = _step(self.of, element, str(index), removed)
            if item is DROP:
                removed[mark:] = [f"/{index}"]
            else:
                kept.append(item)
        return kept


@dataclass(frozen=True, slots=True)
class Obj:
    """A described object. ``open`` ones keep what is not described, as RFC 6902 wants of operations."""

    fields: Mapping[str, SchemaType]
    required: frozenset[str]
    open: bool = False

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read the members; those that are not described are removed (C8)."""
        if not isinstance(value, Mapping):
            raise MalformedValue("an object")
        kept: dict[str, Any] = {}
        for name, member in value.items():
            kind = self.fields.get(name)
            if kind is not None:
                mark = len(removed)
                item = _step(kind, member, name, removed)
                if item is not DROP:
                    kept[name] = item
                elif name in self.required:
                    return DROP
                else:
                    removed[mark:] = [f"/{name}"]
            elif self.open:
                kept[name] = copy_json(member, NESTING)
            else:
                removed.append(f"/{name}")
        if not self.required <= kept.keys():
            raise MalformedValue(f"the field {min(self.required - kept.keys())}")
        return kept


@dataclass(frozen=True, slots=True)
class Tagged:
    """One of several objects, told apart by a string member; an unknown tag is unrecognised (C9)."""

    by: str
    members: Mapping[str, SchemaType]

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read the member that the tag names."""
        if not isinstance(value, Mapping):
            raise MalformedValue("an object")
        tag = value.get(self.by)
        kind = self.members.get(tag) if isinstance(tag, str) else None
        return DROP if kind is None else kind.read(value, removed)


@dataclass(frozen=True, slots=True)
class Either:
    """A string or a list."""

    items: Sequence

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read whichever it is."""
        if isinstance(value, (list, tuple)):
            return self.items.read(value, removed)
        if not isinstance(value, str):
            raise MalformedValue("a string or an array")
        return str.__str__(value)


TEXT: Final = Text()
FLAG: Final = Flag()
ANY: Final = AnyJSON()
PRESENT: Final = AnyJSON(null=False)
OPEN: Final = Open()


def _step(kind: SchemaType, value: Any, name: str, removed: list[str]) -> Any:
    """Read a value inside another, and say where it stands in whatever is reported about it."""
    mark = len(removed)
    try:
        item = kind.read(value, removed)
    except MalformedValue as fault:
        fault.path = f"/{name}{fault.path}"
        raise
    if len(removed) > mark:
        removed[mark:] = [f"/{name}{path}" for path in removed[mark:]]
    return item


def copy_json(value: Any, levels: int = _LEVELS) -> Any:
    """Copy a JSON value.

    Raises:
        Malformed: It is none: NaN, an infinity, a key that is no string, an object of Python's. Or it is
            nested more deeply than so many levels.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is dict or kind is list:
        return _copy_container(value, levels)
    return _copy_unusual(value, levels)


def _copy_container(value: Any, levels: int) -> Any:
    if levels == 0:
        raise MalformedValue(f"at most {NESTING} levels of nesting")
    levels -= 1
    if isinstance(value, Mapping):
        return {_key(name): copy_json(member, levels) for name, member in value.items()}
    return [copy_json(element, levels) for element in value]


def _copy_unusual(value: Any, levels: int) -> Any:
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
    elif isinstance(value, (Mapping, list, tuple)):
        return _copy_container(value, levels)
    elif isinstance(value, str):
        return str.__str__(value)
    elif isinstance(value, int):
        return int(value)
    raise MalformedValue("JSON")


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise MalformedValue("JSON")
    return name
