"""Strict JSON that takes lone surrogates, and never raises with the document inside the exception."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from typing import Any, Never

from pydantic_core import from_json

__all__ = ["Malformed", "dump", "load", "scan", "skip_blank"]


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


def load(text: str) -> Any:
    """Parse one JSON text, or return `Malformed`.

    pydantic's parser is several times faster, but refuses the lone surrogates that JavaScript writes
    when it cuts an emoji in two; so what it refuses is tried once more with the standard library.
    """
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        pass  # ruled on below, by the slower parser
    value, end = scan(text, skip_blank(text, 0))
    if isinstance(value, Malformed) or (end := skip_blank(text, end)) == len(text):
        return value
    return Malformed(end)


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


def _refuse(constant: str) -> Never:
    raise ValueError(constant)


_STRICT = json.JSONDecoder(parse_constant=_refuse)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK = re.compile(r"[ \t\n\r]*")
