"""Decodes payloads that repeat the last one with another text, without reading them again.

A repeat takes the same way: if two payloads in a row became one delta each, equal but for its text, and that
text is a string of the payload, then the next payload that equals them in all but that text becomes the same
delta with the new text. This restates no rule of a format. Readers that look at the text itself, such as the
splitter of tags, are asked whether they pass it on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_reasoning.deltas import Delta, ReasoningDelta, TextDelta, ToolCallDelta, UsageDelta
from agui_reasoning.providers.payload import JSONObject

__all__ = ["Lane", "Repeatable", "Repeats"]

_MOST_VALUES: Final = 64
"""The most values that a copy of a payload may have."""

_MOST_PATIENCE: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatable:
    """The members of an API's payloads that may differ in a repeat.

    Attributes:
        texts: The names of members with text.
        unread: The paths of members that the decoder never reads, such as ``choices/logprobs``; the items of
            a list have the path of the list.
        counts: The member of the payload with its token counts.
    """

    texts: frozenset[str]
    unread: frozenset[str] = frozenset()
    counts: str = ""


class Repeats:
    """Opens a lane when a stream repeats.

    Attributes:
        patience: How many repeats to let pass before the next copy. It doubles with every copy, because
            copying costs as much as reading; the decoder resets it when a payload fits.
    """

    __slots__ = ("_last", "_members", "_passed", "patience")

    def __init__(self, members: Repeatable | None) -> None:
        self._members = members
        self._last: Delta | None = None
        self._passed = 0
        self.patience = 0

    @property
    def grew(self) -> bool:
        """Whether the last payload added a text to a unit, and nothing else but token counts."""
        return self._last is not None

    def after(
        self, payload: JSONObject, deltas: list[Delta], reader_of: Callable[[Delta], Callable[[str], bool]]
    ) -> Lane | None:
        """Return the lane for payloads that repeat this one, which was read.

        Args:
            payload: The payload.
            deltas: What it became.
            reader_of: Returns what is asked whether another text than that of a delta passes unchanged.
        """
        last, grown = self._last, _growth(deltas)
        self._last = grown
        if self._members is None or last is None or grown is None or not _same_place(last, grown):
            return None
        self._passed += 1
        if self._passed <= self.patience:
            return None
        self._passed, self.patience = 0, min(2 * self.patience + 1, _MOST_PATIENCE)
        return _open(payload, grown, self._members, reader_of(grown))


def _growth(deltas: Sequence[Delta]) -> Delta | None:
    """Return the delta of a payload that added a text to a unit, and nothing else but token counts."""
    if not deltas or any(type(more) is not UsageDelta for more in deltas[1:]):
        return None
    delta = deltas[0]
    again = _AGAIN.get(type(delta))
    return delta if again is not None and again(delta, _text_of(delta)) == delta else None


def _same_place(one: Delta, other: Delta) -> bool:
    """Return whether two deltas that add a text are equal but for that text."""
    return type(one) is type(other) and _AGAIN[type(one)](one, _text_of(other)) == other


def _text_of(delta: Any) -> str:
    text: str = delta.arguments if isinstance(delta, ToolCallDelta) else delta.text
    return text


def _reasoning(delta: ReasoningDelta, text: str) -> Delta:
    return ReasoningDelta(text, key=delta.key, channel=delta.channel, index=delta.index)


def _answer(delta: TextDelta, text: str) -> Delta:
    return TextDelta(text, key=delta.key)


def _call(delta: ToolCallDelta, text: str) -> Delta:
    return ToolCallDelta(delta.id, "", text, server=delta.server)


_AGAIN: Final[dict[type, Callable[[Any, str], Delta]]] = {
    ReasoningDelta: _reasoning,
    TextDelta: _answer,
    ToolCallDelta: _call,
}
"""Types of deltas that add a text, and how each is made again with another text in the same place."""


class Lane:
    """A payload whose text is open, and the delta that it becomes.

    Attributes:
        delta: The delta of the payload that was copied.
        again: Makes a delta with another text.
        passes: Returns whether a text passes all readers unchanged, which then have taken it.
        counts: Whether the payload has token counts, which are read each time.
    """

    __slots__ = ("_payload", "_text", "again", "counts", "delta", "passes")

    def __init__(
        self,
        payload: JSONObject,
        text: _Text,
        delta: Delta,
        passes: Callable[[str], bool],
        counts: bool,
    ) -> None:
        self._payload = payload
        self._text = text
        self.delta = delta
        self.again = _AGAIN[type(delta)]
        self.passes = passes
        self.counts = counts

    def text_of(self, payload: Any) -> str | None:
        """Return the text of a payload that is a repeat."""
        text = self._text
        text.value = None
        return text.value if self._payload == payload else None


def _open(
    payload: JSONObject, grown: Delta, members: Repeatable, passes: Callable[[str], bool]
) -> Lane | None:
    """Copy a payload for comparison with the next ones.

    Returns:
        ``None`` if its text is not a string of the payload, or the payload is large or not JSON.
    """
    copier = _Copier(_text_of(grown), members)
    try:
        copied = copier.copy(payload, "", "")
    except _UnsuitableError:
        return None
    counts = copied.get(members.counts) is not None
    if counts:
        copied[members.counts] = _ANYTHING
    return Lane(copied, copier.hole, grown, passes, counts) if copier.found else None


class _Text:
    """The place of the text in a copied payload: equal to any string, and in further places to the same."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.value: str | None = None

    def __eq__(self, other: object) -> bool:
        if self.value is not None:
            return self.value == other
        if type(other) is not str:
            return False
        self.value = other
        return True


class _Exact:
    """A number or a truth value that equals only values of the same type."""

    __slots__ = ("type", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: object) -> None:
        self.type = type(value)
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is self.type and other == self.value


class _Anything:
    """The value of a member that is not read."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


_ANYTHING: Final = _Anything()


class _UnsuitableError(Exception):
    """The payload cannot be compared cheaply."""


class _Copier:
    """Copies a payload, with the place of its text open.

    Attributes:
        hole: The place of the text.
        found: Whether the payload has the very string of the delta, so that nothing was done to it. Single
            characters prove nothing, because Python shares them.
    """

    def __init__(self, text: str, members: Repeatable) -> None:
        self.hole = _Text()
        self.found = False
        self._text = text
        self._members = members
        self._room = _MOST_VALUES

    def copy(self, value: Any, name: str, path: str) -> Any:
        """Copy a value, which has a name and a path."""
        self._room -= 1
        if self._room < 0:
            raise _UnsuitableError
        if path in self._members.unread and value is not None:  # null stays null, and compares faster
            return _ANYTHING
        copy = _COPIES.get(type(value))
        if copy is None:
            raise _UnsuitableError
        return copy(self, value, name, path)

    def _object(self, value: JSONObject, name: str, path: str) -> JSONObject:
        start = f"{path}/" if path else ""
        return {key: self.copy(inner, key, f"{start}{key}") for key, inner in value.items()}

    def _list(self, value: list[Any], name: str, path: str) -> list[Any]:
        return [self.copy(inner, name, path) for inner in value]

    def _string(self, value: str, name: str, path: str) -> Any:
        if value != self._text or name not in self._members.texts:
            return value
        self.found = self.found or (value is self._text and len(value) > 1)
        return self.hole

    def _number(self, value: Any, name: str, path: str) -> Any:
        return _Exact(value)

    def _null(self, value: None, name: str, path: str) -> None:
        return None


_COPIES: Final[dict[type, Callable[[_Copier, Any, str, str], Any]]] = {
    dict: _Copier._object,
    list: _Copier._list,
    str: _Copier._string,
    int: _Copier._number,
    float: _Copier._number,
    bool: _Copier._number,
    type(None): _Copier._null,
}
