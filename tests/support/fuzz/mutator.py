"""Change documents and bytes by chance, in a few places; the originals stay as they are."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

__all__ = ["OTHERS", "Json", "Mutator"]

Json: TypeAlias = dict[str, Any]
Path_: TypeAlias = tuple[Any, ...]


def _cyclic_list() -> Any:
    items: list[Any] = ["other"]
    items.append(items)
    return items


def _cyclic_object() -> Any:
    inner: Json = {"type": "text", "text": "Hm."}
    inner["content"] = [inner]
    return inner


def _nested(depth: int, *, objects: bool) -> Any:
    value: Any = "deep"
    for _ in range(depth):
        value = {"content": value} if objects else [value]
    return value


OTHERS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, -0.0, 2**53, 10**30, -(10**400), 10**5000, 1e308),
    *("", "other", "5", "\ud800", "half an emoji \ud83d", "\udc00\ud800", "\x00\x1b[2J", "long " * 2000),
    *([], ["other"], [None], [[{}]], [1, "two", {"three": 3}]),
    *({}, {"other": {"other": "\udc00"}}, {"type": "other"}, {"type": 5, "text": 5}, {"\ud800": 1}),
)
"""Values of every JSON type."""

WRONG: tuple[Callable[[], Any], ...] = (
    *(partial(deepcopy, value) for value in OTHERS),
    *(partial(float, value) for value in ("nan", "inf", "-inf")),
    *(partial(deepcopy, value) for value in (b"bytes", (1, "two"), frozenset({1}), object)),
    *(lambda: {1: "one"}, lambda: {None: 1, "type": "text"}, lambda: {("a",): 1}),
    *(_cyclic_list, _cyclic_object),
    *(
        partial(_nested, depth, objects=objects)
        for depth in (60, 150, 250, 3000)
        for objects in (True, False)
    ),
)
"""The same, and what only Python has."""

OF_JSON: tuple[Callable[[], Any], ...] = (
    *(partial(deepcopy, value) for value in OTHERS if not isinstance(value, int) or abs(value) < 10**400),
    *(partial(_nested, depth, objects=objects) for depth in (60, 250, 900) for objects in (True, False)),
)
"""The same, as far as a parser of JSON returns it."""

STRAY = (
    b"\n",
    b"\r",
    b"\r\n\n",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\xbd",
    b"data: ",
    b":",
    b"id: 7\n",
    b'"',
    b"\\u",
)
"""Bytes that mean something to a reader of lines, of UTF-8 or of JSON."""

NAMES = (
    "type",
    "id",
    "index",
    "text",
    "content",
    "delta",
    "thinking",
    "reasoning",
    "signature",
    "error",
    "role",
)


PIECES = (
    *("", " ", "\n", '"', "\\", "{", "}", "[", "]", ",", "é", "\ud83d", "\ude00", "\u2028", "\x00"),
    *(
        "<think>",
        "</think>",
        "<thi",
        "nk>",
        "<|channel|>",
        "error",
        "data: ",
        "[DONE]",
        "AA==",
        "....",
        "0",
        "null",
    ),
)
"""Pieces of text that mean something to a reader of text."""


@dataclass
class Mutator:
    """Changes documents by chance; the originals stay as they are.

    Attributes:
        chance: The source of chance.
        donors: The documents whose parts may be put into others.
        is_json: Whether what is put in is what a parser of JSON returns.
    """

    chance: random.Random
    donors: Sequence[Any] = ()
    is_json: bool = False
    _done: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def done(self) -> str:
        """What was changed."""
        return "; ".join(" ".join(ascii(one)[:60] for one in change) for change in self._done)

    def some(self, document: Any) -> Any:
        """Change a document in one to three places."""
        for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
            document = self.once(document)
        return document

    def once(self, document: Any) -> Any:
        """Change one place of a document."""
        path = self._place(document)
        change = self.chance.choice(_CHANGES)
        self._done.append((change.__name__, *path))
        return change(self, document, path)

    def wrong(self) -> Any:
        """Return a value that may be anything."""
        return self.chance.choice(OF_JSON if self.is_json else WRONG)()

    def bytes(self, data: bytes) -> bytes:
        """Change a few places of bytes: flipped, inserted, left out, repeated, moved."""
        for _ in range(self.chance.choice((1, 1, 2, 5))):
            at = self.chance.randrange(len(data) + 1)
            end = min(len(data), at + self.chance.choice((0, 1, 1, 3, 40)))
            new = self.chance.choice((b"", *STRAY, data[at:end] * 2, bytes([self.chance.randrange(256)])))
            self._done.append(("bytes", at, end, new[:20]))
            data = data[:at] + new + data[end:]
        return data

    def _place(self, document: Any) -> Path_:
        path: Path_ = ()
        value = document
        while isinstance(value, dict | list) and value and len(path) < 40:
            if path and self.chance.random() < 0.15:
                break
            step = self.chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
            path, value = (*path, step), value[step]
        return path

    def replace(self, document: Any, path: Path_) -> Any:
        """Put any value there."""
        return _changed(document, path, lambda _: self.wrong())

    def edit(self, document: Any, path: Path_) -> Any:
        """Change the text there: a piece put in, in the place of some of it or not; or any value."""
        value = _at(document, path)
        if type(value) is not str:
            return self.replace(document, path)
        at = self.chance.randrange(len(value) + 1)
        end = at + self.chance.choice((0, 0, 1, 4, len(value)))
        text = value[:at] + self.chance.choice(PIECES) + value[end:]
        return _changed(document, path, lambda _: text)

    def graft(self, document: Any, path: Path_) -> Any:
        """Put a part of another document there."""
        donor = self.chance.choice(self.donors or (document,))
        return _changed(document, path, lambda _: _at(donor, self._place(donor)))

    def swap(self, document: Any, path: Path_) -> Any:
        """Exchange two parts."""
        other = self._place(document)
        if path == other[: len(path)] or other == path[: len(other)]:
            return document
        one, two = _at(document, path), _at(document, other)
        return _changed(_changed(document, path, lambda _: two), other, lambda _: one)

    def delete(self, document: Any, path: Path_) -> Any:
        """Remove a member or an item."""

        def without(holder: Any) -> Any:
            if isinstance(holder, dict):
                return {name: value for name, value in holder.items() if name != path[-1]}
            return [*holder[: path[-1]], *holder[path[-1] + 1 :]]

        return _changed(document, path[:-1], without) if path else document

    def rename(self, document: Any, path: Path_) -> Any:
        """Give a member another name, or none that is a string."""
        names = (*NAMES, "\ud800", "", f"{path[-1] if path else ''} ")
        names += () if self.is_json else (5, None, 1.5, True)
        return self._renamed(document, path, self.chance.choice(names), keep=False)

    def duplicate(self, document: Any, path: Path_) -> Any:
        """Repeat an item, or a member under another name."""
        return self._renamed(document, path, self.chance.choice(NAMES), keep=True)

    def _renamed(self, document: Any, path: Path_, name: Any, *, keep: bool) -> Any:
        def renamed(holder: Any) -> Any:
            if isinstance(holder, dict):
                value = holder[path[-1]]
                return {key: inner for key, inner in holder.items() if keep or key != path[-1]} | {
                    name: value
                }
            item = holder[path[-1]]
            return [*holder[: path[-1]], item, *holder[path[-1] :]] if keep else [*holder, {name: item}]

        return _changed(document, path[:-1], renamed) if path else document


_CHANGES = (
    *(Mutator.replace,) * 3,
    *(Mutator.edit,) * 2,
    *(Mutator.graft, Mutator.swap, Mutator.delete, Mutator.rename, Mutator.duplicate),
)


def _at(document: Any, path: Path_) -> Any:
    for step in path:
        document = document[step]
    return document


def _changed(value: Any, path: Path_, change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], change)
    return copy
