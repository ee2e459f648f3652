"""Types of values on the wire. Reading removes unknown material and rejects malformed values.

`_schema` composes these types. Reading never coerces values, unlike the models of ``ag_ui`` (AG-UI 1.1, C9 to
C12).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from msgspec import Struct, field

from agui_reasoning._limits import Limits

_LEVELS: Final = Limits().nesting
NESTING: Final = _LEVELS - 5
"""The maximum nesting of a value of any type.

The deepest such value in a run input, the metadata of a tool call, has five levels around it, so that an
input stays within the default `Limits`. pydantic writes at most 255 levels and parses 200.
"""

DROP: Final = object()
"""The result of reading unknown material. The container decides what else to drop."""


class MalformedValue(Exception):  # noqa: N818 -- control flow between a value and the event that holds it
    """A known value is malformed. Not raised outside this package."""

    def __init__(self, expected: str, path: str = "") -> None:
        super().__init__(expected)
        self.expected = expected
        self.path = path


class SchemaType(Protocol):
    """A type of value."""

    def read(self, value: Any, removed: list[str]) -> Any:
        """Return a copy of the known parts of a value.

        Args:
            value: The received value.
            removed: Receives the path of each removed member, relative to this value.

        Returns:
            A copy, or `DROP`.

        Raises:
            MalformedValue: The value is malformed.
        """


class Text(Struct, frozen=True):
    """A string, optionally one that matches a pattern."""

    pattern: str | None = None

    def read(self, value: Any, removed: list[str]) -> Any:
        if type(value) is not str:
            if not isinstance(value, str):
                raise MalformedValue("a string")
            value = str.__str__(value)  # an enum member: its value, not its name
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            raise MalformedValue(f"a string that matches {self.pattern}")
        return value


class Const(Struct, frozen=True):
    """A constant string; any other value is malformed (C11)."""

    value: str

    def read(self, value: Any, removed: list[str]) -> Any:
        if not isinstance(value, str) or str.__str__(value) != self.value:
            raise MalformedValue(f'"{self.value}"')
        return self.value


class Choice(Struct, frozen=True):
    """A closed set of strings; other strings are unknown, and other types malformed (C11)."""

    values: frozenset[str]

    def read(self, value: Any, removed: list[str]) -> Any:
        if not isinstance(value, str):
            raise MalformedValue("a string")
        value = str.__str__(value)
        return value if value in self.values else DROP


class WholeNumber(Struct, frozen=True):
    """A whole number between two bounds."""

    least: int
    most: int

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read a whole number; accepts 1.0, because JSON has only one number type."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
            raise MalformedValue("a whole number")
        if not self.least <= value <= self.most:
            raise MalformedValue(f"a whole number between {self.least} and {self.most}")
        return int(value)


class Flag(Struct, frozen=True):
    """True or false."""

    def read(self, value: Any, removed: list[str]) -> Any:
        if not isinstance(value, bool):
            raise MalformedValue("true or false")
        return value


class AnyJSON(Struct, frozen=True):
    """Any JSON value, whose contents are kept (C12); null only if allowed."""

    null: bool = True

    def read(self, value: Any, removed: list[str]) -> Any:
        if value is None and not self.null:
            raise MalformedValue("a value, or no field at all")
        return copy_json(value, NESTING)


class Open(Struct, frozen=True):
    """An object with any keys (C12)."""

    def read(self, value: Any, removed: list[str]) -> Any:
        if not isinstance(value, Mapping):
            raise MalformedValue("an object")
        return copy_json(value, NESTING)


class Sequence(Struct, frozen=True):
    """A list; unknown elements are removed (C9)."""

    of: SchemaType
    least: int = 0

    def read(self, value: Any, removed: list[str]) -> Any:
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


class Obj(Struct, frozen=True):
    """An object with known members. ``open`` keeps the others too, as RFC 6902 requires for operations."""

    fields: Mapping[str, SchemaType]
    required: frozenset[str]
    open: bool = False

    def read(self, value: Any, removed: list[str]) -> Any:
        """Read the members, and remove unknown ones (C8)."""
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
                kept[_key(name)] = copy_json(member, NESTING)
            else:
                removed.append(f"/{name}")
        if not self.required <= kept.keys():
            raise MalformedValue(f"the field {min(self.required - kept.keys())}")
        return kept


class Tagged(Struct, frozen=True):
    """One of several objects, selected by a string member; objects with other tags are unknown (C9)."""

    by: str
    members: Mapping[str, SchemaType]

    def read(self, value: Any, removed: list[str]) -> Any:
        if not isinstance(value, Mapping):
            raise MalformedValue("an object")
        tag = value.get(self.by)
        kind = self.members.get(tag) if isinstance(tag, str) else None
        return DROP if kind is None else kind.read(value, removed)


class Either(Struct, frozen=True):
    """A string or a list."""

    items: Sequence

    def read(self, value: Any, removed: list[str]) -> Any:
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
    """Read a member of a value, and prefix the reported paths with its name."""
    mark = len(removed)
    try:
        item = kind.read(value, removed)
    except MalformedValue as fault:
        fault.path = f"/{name}{fault.path}"
        raise
    if len(removed) > mark:
        removed[mark:] = [f"/{name}{path}" for path in removed[mark:]]
    return item


_HUGE: Final = 10**4300
"""Python neither reads nor writes longer integers."""


def copy_json(value: Any, levels: int = _LEVELS) -> Any:
    """Copy a JSON value.

    Raises:
        MalformedValue: The value is not JSON (it contains NaN, an infinity, a key that is not a string or
            another Python object), or is nested more deeply than ``levels``.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None or (kind is int and -_HUGE < value < _HUGE):
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
    elif isinstance(value, int) and -_HUGE < value < _HUGE:
        return int(value)
    raise MalformedValue("JSON")


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise MalformedValue("JSON")
    return name


def inspect(kind: SchemaType, value: Any) -> tuple[Any, list[str], MalformedValue | None]:
    """Read a value.

    Returns:
        The known part of the value or `DROP`, the paths removed from it, and the fault, if any. The fault is
        not raised, because its traceback would reference the event.
    """
    removed: list[str] = []
    try:
        return kind.read(value, removed), removed, None
    except MalformedValue as fault:
        return None, removed, fault.with_traceback(None)
    except RecursionError:
        return None, removed, MalformedValue("fewer levels of nesting")


# -- every malformed place, for `check`: consumers need only the first


class Places(Struct):
    """Places in an event, as JSON pointers.

    Attributes:
        malformed: The malformed places, with what was expected there.
        unknown: The places that consumers remove.
    """

    malformed: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def places_of(kind: SchemaType, value: Any) -> Places:
    """Find the malformed and unknown places of a value."""
    found = Places()
    try:
        _walk(kind, value, "", found)
    except RecursionError:
        found.malformed.append(("", "fewer levels of nesting"))
    return found


def without_malformed_options(kind: Obj, event: Mapping[str, Any], places: Places) -> dict[str, Any] | None:
    """Return an event without its malformed optional members; ``None`` if required ones are malformed."""
    names = {path.split("/")[1] if path else "" for path, _ in places.malformed}
    if "" in names or names & kind.required:
        return None
    return {name: member for name, member in event.items() if name not in names}


def _walk(kind: Any, value: Any, path: str, found: Places) -> None:
    if isinstance(kind, Tagged) and isinstance(value, Mapping) and isinstance(tag := value.get(kind.by), str):
        kind = kind.members.get(tag, kind)
    inner = _members(kind, value)
    if inner is None:
        _read(kind, value, path, found)
        return
    for name, of, member in inner:
        if of is None:
            found.unknown.append(f"{path}/{name}")
        else:
            _walk(of, member, f"{path}/{name}", found)
    if isinstance(kind, Obj):
        missing = sorted(kind.required - value.keys())
        found.malformed += [(path, f"the field {name}") for name in missing]


def _read(kind: SchemaType, value: Any, path: str, found: Places) -> None:
    """Read a value that has no members, or not those that it should have."""
    try:
        if kind.read(value, []) is DROP:
            found.unknown.append(path)
    except MalformedValue as fault:
        found.malformed.append((f"{path}{fault.path}", fault.expected))


def _members(kind: Any, value: Any) -> Iterator[tuple[str, SchemaType | None, Any]] | None:
    """Return the name, the type and the value of each member, if there are any; no type for unknown ones."""
    if isinstance(kind, Obj) and isinstance(value, Mapping):
        other = ANY if kind.open else None
        return ((name, kind.fields.get(name, other), member) for name, member in value.items())
    kind = kind.items if isinstance(kind, Either) else kind
    if isinstance(kind, Sequence) and isinstance(value, list | tuple) and len(value) >= kind.least:
        return ((str(index), kind.of, member) for index, member in enumerate(value))
    return None
