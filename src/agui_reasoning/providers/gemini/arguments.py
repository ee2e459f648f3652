"""Assembles the arguments that Gemini streams as values at JSON paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

from agui_reasoning._strict_json import load
from agui_reasoning.providers.payload import JSONObject, array, compact_json, reject, string

__all__ = ["PartialArg", "assemble", "fragments"]

ArgumentPath: TypeAlias = tuple[str | int, ...]

_DEEPEST: Final = 100
"""The maximum number of steps in a path."""
_STEP: Final = re.compile(
    r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d{1,9})\]|\[(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]"
)
_EXACT: Final = 2**53
"""Below this, a float represents every integer exactly."""


@dataclass(frozen=True, slots=True)
class PartialArg:
    """A value at a path; consecutive strings at the same path are joined."""

    path: ArgumentPath
    value: Any


def fragments(call: JSONObject, path: str) -> tuple[PartialArg, ...]:
    """Read ``partialArgs``.

    Raises:
        DecodeError: A JSON path or a value cannot be read (``bad_payload``).
    """
    listed = array(call, "partialArgs", path)
    places = [f"{path}/partialArgs/{number}" for number in range(len(listed))]
    return tuple(
        PartialArg(_steps(string(one, "jsonPath", place), f"{place}/jsonPath"), _value(one, place))
        for one, place in zip(listed, places, strict=True)
    )


def _steps(text: str, path: str) -> ArgumentPath:
    """Return the steps of an RFC 9535 path to a single value."""
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or len(steps) == _DEEPEST:
            raise reject("a JSON path to one value", text, path)
        steps.append(_name(step))
        at = step.end()
    if not text.startswith("$") or not steps or isinstance(steps[0], int):
        raise reject("a JSON path to one value", text, path)
    return tuple(steps)


def _name(step: re.Match[str]) -> str | int:
    if step["index"] is not None:
        return int(step["index"])
    quoted = step["quoted"]
    if quoted is None:
        return step["name"]
    # Within single quotes, single quotes are escaped and double quotes are not, the opposite of JSON.
    inner = quoted[1:-1]
    if quoted[0] == "'":
        inner = re.sub(r'\\(.)|(")', lambda m: "'" if m[1] == "'" else '\\"' if m[2] else m[0], inner)
    read = load(f'"{inner}"')
    return read if isinstance(read, str) else inner


def _value(one: JSONObject, path: str) -> Any:
    if one.get("stringValue") is not None:
        return string(one, "stringValue", path)
    if isinstance(one.get("boolValue"), bool):
        return one["boolValue"]
    number = one.get("numberValue")
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise reject("a number", number, f"{path}/numberValue")
    compact_json(number)
    whole = isinstance(number, float) and number.is_integer() and abs(number) < _EXACT
    return int(number) if whole else number


def assemble(start: JSONObject, parts: Iterable[PartialArg]) -> str:
    """Assemble arguments as compact JSON.

    Args:
        start: The complete arguments.
        parts: The fragments. A value replaces a value of another type at the same path; missing array indices
            are skipped.
    """
    root: dict[str | int, Any] = {}
    for part in parts:
        _put(root, part)
    return compact_json(_settled(root) | start)


class _Text(list[str]):
    """The pieces of a string."""


class _Array(dict[str | int, Any]):
    """The items of an array, by index."""


def _put(root: dict[str | int, Any], part: PartialArg) -> None:
    holder = root
    for step, following in pairwise(part.path):
        kind: type[dict[str | int, Any]] = _Array if isinstance(following, int) else dict
        inner = holder.get(step)
        if type(inner) is not kind:
            inner = holder[step] = kind()
        holder = inner
    last = part.path[-1]
    if not isinstance(part.value, str):
        holder[last] = part.value
    elif isinstance(holder.get(last), _Text):
        holder[last].append(part.value)
    else:
        holder[last] = _Text([part.value])


def _settled(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value)
    if isinstance(value, _Array):
        return [_settled(value[index]) for index in sorted(value)]
    if isinstance(value, dict):
        return {name: _settled(inner) for name, inner in value.items()}
    return value
