"""Where a value is malformed: JSON pointers (RFC 6901) from the errors of pydantic, without the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError

__all__ = ["faults_of", "places_of"]

_INPUT: Final = "Input should be "
_ABSENT: Final = object()
_SHOWN: Final = 5


def faults_of(error: ValidationError, value: Any) -> dict[str, str]:
    """Return what was expected at each place that is malformed.

    Args:
        error: The error of the validation.
        value: What was validated. Pydantic puts the members of unions into its locations; the value tells
            them from names.
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
