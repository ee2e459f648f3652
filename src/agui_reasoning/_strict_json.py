"""Strict JSON that accepts lone surrogates, and whose exceptions never contain the document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, Final, Never, TypeAlias

from msgspec import DecodeError, to_builtins
from msgspec.json import Decoder

__all__ = [
    "MAX_NESTING",
    "JSONObject",
    "Malformed",
    "dump",
    "flaw",
    "has_half_character",
    "load",
    "scan",
    "skip_blank",
    "well_formed",
]

JSONObject: TypeAlias = dict[str, Any]
"""A JSON object with wire names as keys."""

MAX_NESTING: Final = 201
"""The nesting that pydantic's serializer takes; it may fail beyond it."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """The result of reading invalid JSON.

    A value instead of an exception: `json.JSONDecodeError` carries the whole document, and an exception
    raised while handling it would keep it alive as ``__context__``.

    Attributes:
        position: The character at which parsing stopped; ``None`` if unknown.
    """

    position: int | None


def dump(value: Any, *, sort_keys: bool = False) -> str:
    """Write compact JSON. Lone surrogates are escaped; NaN and Infinity raise ``ValueError``."""
    write = partial(json.dumps, value, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys)
    text = write(ensure_ascii=False)
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return write()


def load(text: str, *, max_nesting: int | None = None) -> Any:
    """Parse one JSON text, or return `Malformed`.

    msgspec's parser is several times faster, but rejects the lone surrogates that JavaScript writes when it
    splits an emoji. Text that it rejects is parsed again with the standard library.

    Numbers outside the range of a float are malformed too, because they could not be written again.

    Args:
        text: One JSON text.
        max_nesting: Lists and objects nested more deeply are malformed.
    """
    try:
        value = _FAST.decode(text)
    except (DecodeError, UnicodeEncodeError, RecursionError):
        value, end = scan(text, skip_blank(text, 0))
        if not isinstance(value, Malformed) and (end := skip_blank(text, end)) < len(text):
            return Malformed(end)
    if max_nesting is not None and _may_exceed(text, max_nesting) and _nesting_exceeds(value, max_nesting):
        return Malformed(None)
    return value


def well_formed(value: Any) -> Any:
    """Return the JSON value with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else _joined(value)
    if isinstance(value, dict):
        return {
            name if name.isascii() else _joined(name): (
                inner if isinstance(inner, str) and inner.isascii() else well_formed(inner)
            )
            for name, inner in value.items()
        }
    return [well_formed(inner) for inner in value] if isinstance(value, list) else value


def flaw(value: Any) -> str | None:
    """Return what keeps a value from being written as JSON; ``None`` if nothing does. Does not recurse.

    Only dicts and lists are looked into. Of other types, such as bytes, it is enough that they can be
    written.
    """
    level = [value]
    for _ in range(MAX_NESTING + 1):
        below: list[Any] = []
        for inner in level:
            kind = type(inner)
            if kind is dict:
                if not all(type(name) is str for name in inner):
                    return "a name that is not a string"
                below += inner.values()
            elif kind is list:
                below += inner
            elif kind in _NUMBERS and not -_HUGE < inner < _HUGE:
                return "a number that JSON cannot represent"
            elif kind not in _OF_JSON and not _can_be_written(inner):
                return f"an object of type {kind.__name__}, which JSON cannot represent"
        if not below:
            return None
        # What contains itself twice would double with every level.
        level = below if len(below) < _WIDE else list({id(inner): inner for inner in below}.values())
    return f"more than {MAX_NESTING} levels"


def _can_be_written(value: Any) -> bool:
    try:
        to_builtins(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def has_half_character(value: Any) -> bool:
    """Return whether a string or a name in the JSON value has a lone surrogate."""
    rest = [value]
    while rest:
        inner = rest.pop()
        if isinstance(inner, str):
            if not inner.isascii() and _LONE_SURROGATE.search(inner):
                return True
        elif isinstance(inner, dict):
            rest += [*inner, *inner.values()]
        elif isinstance(inner, list):
            rest += inner
    return False


def _joined(text: str) -> str:
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def scan(text: str, start: int) -> tuple[Any, int]:
    """Parse the JSON value that begins at ``start``.

    Returns:
        The value, or `Malformed`, and the position just after it.
    """
    try:
        return _STRICT.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return Malformed(error.pos), error.pos
    except (ValueError, RecursionError):  # NaN, an integer of thousands of digits, endless nesting
        return Malformed(None), start


def skip_blank(text: str, start: int) -> int:
    """Return the position of the first character at or after ``start`` that is not JSON whitespace."""
    blank = _BLANK.match(text, start)
    return start if blank is None else blank.end()


def _may_exceed(text: str, depth: int) -> bool:
    """Return whether a text has enough brackets to be nested more deeply."""
    return text.count("[") + text.count("{") > depth


def _nesting_exceeds(value: Any, depth: int) -> bool:
    """Return whether lists and objects are nested more deeply than ``depth``."""
    level = [value]
    for _ in range(depth):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return any(isinstance(value, dict | list) for value in level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse(constant: str) -> Never:
    raise ValueError(constant)


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse("an infinite number")


_HUGE = 10**400
_NUMBERS = frozenset({int, float})
_OF_JSON = frozenset({str, int, float, bool, type(None)})
_WIDE = 10_000
_FAST = Decoder()
_STRICT = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_BLANK = re.compile(r"[ \t\n\r]*")
