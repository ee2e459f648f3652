"""Detects reasoning sent twice: in two fields, cumulatively, or again at the end."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Deduplicator", "shares"]

CLEARLY = 32
"""The minimum length at which a delta that starts with all previous text counts as a repetition."""

VARIED = 8
"""The minimum number of distinct characters in a repetition, to exclude lines of dashes."""


class Deduplicator:
    """Keeps the reasoning text so far, to filter out repetitions of it.

    Small equal deltas ("ha", "ha") are text. A delta counts as a repetition only if it contains the whole
    text so far and that is long and varied, or if there is another reason to expect repetitions.
    """

    def __init__(self) -> None:
        self._previous: list[str] = []
        self._length = 0
        self._cumulative = False

    def fresh(self, text: str, *, cumulative: bool = False, mirror: bool = False) -> str:
        """Return the part of ``text`` that is new, and note it.

        Args:
            text: The text that arrived.
            cumulative: Whether the provider may send all previous text with every delta.
            mirror: Whether it is from another field than the previous text.
        """
        new = text[self._length :] if self._repeats(text, cumulative, mirror) else text
        if new:
            self._previous.append(new)
            self._length += len(new)
        return new

    def passes(self, text: str) -> bool:
        """Note a text that is new because it is shorter than all before; return whether it was."""
        if not 0 < len(text) < self._length:
            return False
        self._previous.append(text)
        self._length += len(text)
        return True

    def _repeats(self, text: str, cumulative: bool, mirror: bool) -> bool:
        # Only a text at least as long as all before is compared, so that the sum of comparisons is linear.
        if not self._length or len(text) < self._length:
            return False
        previous = "".join(self._previous)
        self._previous = [previous]
        if not text.startswith(previous):
            return False
        if self._cumulative or mirror or (len(previous) >= CLEARLY and len(set(previous)) >= VARIED):
            return True
        self._cumulative = cumulative and len(text) > len(previous) and any(map(str.isalnum, previous))
        return self._cumulative


def shares(texts: Sequence[str], fresh: str | None) -> list[str]:
    """Distribute new text over its entries.

    Args:
        texts: The text of each entry.
        fresh: The new part of all texts joined; ``None`` if another field provides it.
    """
    if fresh is None:
        return [""] * len(texts)
    if fresh == "".join(texts):
        return list(texts)
    last = max(number for number, text in enumerate(texts) if text)
    return [fresh if number == last else "" for number in range(len(texts))]
