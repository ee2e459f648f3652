"""Change one place of a JSON document: every leaf, list and object into every other type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["mutations"]

OTHERS: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "other",
    "\ud800",
    "half an emoji \ud83d",
    [],
    ["other"],
    [[{}]],
    {},
    {"other": {"other": "\udc00"}},
)


def mutations(document: Any) -> Iterator[tuple[str, Any]]:
    """Give each place, as a JSON pointer, and the document with something else there.

    The document stays as it is; what is not changed is shared between the results.
    """
    for path in _paths(document, ()):
        pointer = "".join(f"/{step}" for step in path)
        yield from ((f"{pointer} = {other!r}", _changed(document, path, other)) for other in OTHERS)
        if path and isinstance(path[-1], str):
            yield f"{pointer} gone", _without(document, path)


def _paths(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from _paths(inner, (*path, step))


def _changed(value: Any, path: tuple[str | int, ...], other: Any) -> Any:
    if not path:
        return other
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], other)
    return copy


def _without(value: Any, path: tuple[str | int, ...]) -> Any:
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = _without(value[path[0]], path[1:])
    return copy
