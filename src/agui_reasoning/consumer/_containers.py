"""Objects and arrays with cheap changes, and with complete reads that cost only what has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final, TypeAlias

__all__ = ["Blocks", "Names"]

_Plain: TypeAlias = Callable[[Any], Any]

_LENGTH: Final = 128


class Names:
    """The members of an object, and the names of those changed since the last read."""

    __slots__ = ("_members", "_plain", "_touched")

    def __init__(self, members: dict[str, Any]) -> None:
        self._members = dict(members)
        self._plain = members
        self._touched: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members.values())

    def __getitem__(self, name: str) -> Any:
        return self._members[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._members[name] = value
        self.touch(name)

    def names(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._members)

    def pop(self, name: str) -> Any:
        """Remove and return a member."""
        self.touch(name)
        return self._members.pop(name)

    def wrap(self, name: str, value: Any) -> None:
        """Replace a member by an equal value."""
        self._members[name] = value

    def touch(self, name: str) -> None:
        """Mark a member as changed."""
        self._touched[name] = None

    def plain(self, convert: _Plain) -> dict[str, Any]:
        """Return the object as JSON; later changes do not affect it."""
        if self._touched:
            self._plain = dict(self._plain)
            for name in self._touched:
                if name in self._members:
                    self._plain[name] = convert(self._members[name])
                else:
                    self._plain.pop(name, None)
            self._touched.clear()
        return self._plain


class Blocks:
    """The elements of an array in blocks of bounded length; a change affects a single block."""

    __slots__ = ("_blocks", "_count", "_plain", "_read")

    def __init__(self, elements: list[Any]) -> None:
        self._count = len(elements)
        starts = range(0, self._count, _LENGTH)
        self._blocks: list[list[Any]] = [elements[start : start + _LENGTH] for start in starts] or [[]]
        self._read: list[list[Any] | None] = [list(block) for block in self._blocks]
        self._plain: list[Any] | None = elements

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._blocks)

    def __getitem__(self, index: int) -> Any:
        number, offset = self._locate(index)
        return self._blocks[number][offset]

    def __setitem__(self, index: int, value: Any) -> None:
        number, offset = self._locate(index)
        self._blocks[number][offset] = value
        self._changed(number)

    def insert(self, index: int, value: Any) -> None:
        """Insert an element before the one at an index, or at the end."""
        number, offset = self._locate(index)
        block = self._blocks[number]
        block.insert(offset, value)
        self._count += 1
        self._changed(number)
        if len(block) > 2 * _LENGTH:
            self._blocks[number : number + 1] = [block[:_LENGTH], block[_LENGTH:]]
            self._read[number : number + 1] = [None, None]

    def pop(self, index: int) -> Any:
        """Remove and return an element."""
        number, offset = self._locate(index)
        value = self._blocks[number].pop(offset)
        self._count -= 1
        self._changed(number)
        if not self._blocks[number] and len(self._blocks) > 1:
            del self._blocks[number], self._read[number]
        return value

    def wrap(self, index: int, value: Any) -> None:
        """Replace an element by an equal value."""
        number, offset = self._locate(index)
        self._blocks[number][offset] = value

    def touch(self, index: int) -> None:
        """Mark an element as changed."""
        self._changed(self._locate(index)[0])

    def plain(self, convert: _Plain) -> list[Any]:
        """Return the array as JSON; later changes do not affect it."""
        if self._plain is None:
            self._plain = []
            for number, read in enumerate(self._read):
                if read is None:
                    read = self._read[number] = list(map(convert, self._blocks[number]))
                self._plain += read
        return self._plain

    def _changed(self, number: int) -> None:
        self._read[number] = self._plain = None

    def _locate(self, index: int) -> tuple[int, int]:
        """Return the number of an index's block and the offset in it; the end belongs to the last block."""
        if index >= self._count - len(self._blocks[-1]):
            return len(self._blocks) - 1, index - self._count + len(self._blocks[-1])
        number = 0
        while index >= len(self._blocks[number]):
            index -= len(self._blocks[number])
            number += 1
        return number, index
