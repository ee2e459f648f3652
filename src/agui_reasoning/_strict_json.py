"""Strict JSON that accepts lone surrogates, and whose exceptions never contain the document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any, Final, Never, TypeAlias

from msgspec import DecodeError, to_builtins
from msgspec.json import Decoder
from pydantic import BaseModel, ValidationError

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
    text = _WRITERS[False, sort_keys].encode(value)
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return _WRITERS[True, sort_keys].encode(value)


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
    if max_nesting is not None and may_exceed(text, max_nesting) and _nesting_exceeds(value, max_nesting):
        return Malformed(None)
    return value


def load_each(texts: Sequence[str]) -> Iterable[Any]:
    """Parse JSON texts as `load` does, all at once if each is well-formed."""
    try:
        return [*map(_FAST.decode, texts)]
    except (DecodeError, UnicodeEncodeError, RecursionError):
        return map(load, texts)


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
            if kind in _ALWAYS_JSON:
                continue
            if kind is dict:
                if not _NAME.issuperset(map(type, inner)):
                    return "a name that is not a string"
                below += inner.values()
            elif kind is list:
                below += inner
            elif (found := _flaw_of(inner, kind)) is not None:
                return found
        if not below:
            return None
        # What contains itself twice would double with every level.
        level = below if len(below) < _WIDE else list({id(inner): inner for inner in below}.values())
    return f"more than {MAX_NESTING} levels"


def _flaw_of(value: Any, kind: type) -> str | None:
    if kind in _NUMBERS:
        return None if -_HUGE < value < _HUGE else "a number that JSON cannot represent"
    try:
        to_builtins(value)
    except (TypeError, ValueError, RecursionError):
        return f"an object of type {kind.__name__}, which JSON cannot represent"
    return None


def has_lone_surrogate(value: Any) -> bool:
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
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


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


def may_exceed(text: str, depth: int) -> bool:
    """Return whether a text has enough brackets to be nested more deeply."""
    return text.count("[") + text.count("{") > depth


def _nesting_exceeds(value: Any, depth: int) -> bool:
    """Return whether lists and objects are nested more deeply than ``depth``."""
    level = [value]
    for _ in range(depth):
        holders = [one for one in level if isinstance(one, dict | list)]
        level = [*chain.from_iterable(one.values() if isinstance(one, dict) else one for one in holders)]
        if not level:
            return False
    return any(isinstance(value, dict | list) for value in level)


def _refuse(constant: str) -> Never:
    raise ValueError(constant)


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse("an infinite number")


_HUGE = 10**400
_NAME = frozenset({str})
_NUMBERS = frozenset({int, float})
_ALWAYS_JSON = frozenset({str, bool, type(None)})
_WIDE = 10_000
_FAST = Decoder()
_WRITERS = {
    (ascii_only, sort_keys): json.JSONEncoder(
        ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys
    )
    for ascii_only in (False, True)
    for sort_keys in (False, True)
}
"""The writers of JSON, by whether they escape, and whether they sort."""
_STRICT = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_BLANK = re.compile(r"[ \t\n\r]*")


# -- where a value is malformed: JSON pointers (RFC 6901) from the errors of pydantic, without the value

_INPUT: Final = "Input should be "
_ABSENT: Final = object()
_SHOWN: Final = 5


def faults_of(error: ValidationError, value: Any) -> dict[str, str]:
    """Return what was expected at each malformed place of a value that was validated.

    Pydantic puts the members of unions into its locations; the value tells them from names.
    """
    faults: dict[str, list[str]] = {}
    for fault in error.errors(include_url=False):
        expected = faults.setdefault(_pointer(fault["loc"], value, missing=fault["type"] == "missing"), [])
        expected.append(_expected(fault))
    return {pointer: " or ".join(dict.fromkeys(expected)) for pointer, expected in faults.items()}


def places_of(error: ValidationError, value: Any) -> str:
    """Return the first places that are malformed, in one line."""
    return ", ".join(sorted(faults_of(error, value))[:_SHOWN])


def _pointer(location: Sequence[int | str], value: Any, *, missing: bool) -> str:
    """Return the pointer of a location, without the names of the members of unions."""
    names: list[int | str] = []
    for step in location:
        inner = _member(value, step)
        if inner is not _ABSENT:
            names.append(step)
            value = inner
    if missing:
        names.append(location[-1])
    return "".join("/" + str(name).replace("~", "~0").replace("/", "~1") for name in names) or "/"


def _member(value: Any, step: int | str) -> Any:
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True, warnings=False)
    if isinstance(value, Mapping):
        return value.get(step, _ABSENT)
    if isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
        return value[step]
    return _ABSENT


def _expected(fault: Any) -> str:
    """Return the expectation in pydantic's words, of which only these never quote the value."""
    if fault["type"] == "missing":
        return "a value"
    if fault["type"] == "union_tag_invalid":
        return f"{fault['ctx']['discriminator']} to be one of {fault['ctx']['expected_tags']}"
    message: str = fault["msg"]
    return message.removeprefix(_INPUT) if message.startswith(_INPUT) else "a valid value"
