"""Strict JSON that takes lone surrogates, and never raises with the document inside the exception."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, Final, Never, TypeAlias

from pydantic_core import from_json

__all__ = ["MAX_NESTING", "JSONObject", "Malformed", "dump", "load", "scan", "skip_blank", "well_formed"]

JSONObject: TypeAlias = dict[str, Any]
"""The members of a JSON object, in the spelling of the wire."""

MAX_NESTING: Final = 201
"""How deep pydantic's parser reads; what is deeper, its serializer may not write."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """What was read is not JSON.

    A value and not an exception: `json.JSONDecodeError` carries the whole document, and an exception
    raised while handling it would keep it alive as ``__context__``.

    Attributes:
        position: Character at which reading stopped; ``None`` when the parser does not say.
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

    pydantic's parser is several times faster, but refuses the lone surrogates that JavaScript writes
    when it cuts an emoji in two; so what it refuses is tried once more with the standard library.

    A number that no float can hold is malformed too: it could not be written again.

    Args:
        text: One JSON text.
        max_nesting: Lists and objects that stand inside one another deeper than that are malformed. It costs
            nothing from `MAX_NESTING` up.
    """
    try:
        if _HUGE.search(text) is None:
            value = from_json(text, allow_inf_nan=False)
            return _shallow(value, max_nesting, MAX_NESTING)
    except (ValueError, TypeError):  # a half character in the text itself is a TypeError
        pass  # ruled on below, by the slower parser
    value, end = scan(text, skip_blank(text, 0))
    if not isinstance(value, Malformed) and (end := skip_blank(text, end)) < len(text):
        return Malformed(end)
    return _shallow(value, max_nesting)


def well_formed(value: Any) -> Any:
    """The same JSON with U+FFFD for half characters, which UTF-8 cannot say; two halves are a character."""
    if isinstance(value, str):
        if value.isascii() or _SURROGATE.search(value) is None:
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {well_formed(name): well_formed(inner) for name, inner in value.items()}
    return [well_formed(inner) for inner in value] if isinstance(value, list) else value


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


def _shallow(value: Any, allowed: int | None, known: int | None = None) -> Any:
    """The value, unless it is nested too deeply; ``known`` is how deep it can be at most."""
    if allowed is None or (known is not None and known <= allowed) or not _nesting_exceeds(value, allowed):
        return value
    return Malformed(None)


def _nesting_exceeds(value: Any, depth: int) -> bool:
    """Whether lists and objects stand inside one another deeper than that."""
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


_STRICT = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_HUGE = re.compile(r"(?:^|[\[:,\s])-?(?:\d{200}|\d+(?:\.\d+)?[eE]\+?\d{3})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK = re.compile(r"[ \t\n\r]*")
