"""JSON text in and out, the one way this package does it.

`pydantic_core` is fast and strict, but refuses lone surrogates, which model output does contain; the
standard library takes them. Neither lets NaN or Infinity through here, because JSON has no such numbers.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic_core import from_json

__all__ = ["dumps", "loads"]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def loads(data: str | bytes | bytearray) -> Any:
    """Parse one JSON value; raises ``ValueError`` without quoting the input."""
    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError:
        pass
    try:
        return json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError("not one JSON value") from None


def dumps(value: Any) -> str:
    """Write compact JSON; lone surrogates are escaped, NaN and Infinity raise ``ValueError``."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text
