"""Turns lists of blocks into units; in streams, most fragments of blocks have no number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agui_reasoning.deltas import Delta, NativeDelta, OpaqueDelta, ReasoningDelta, TextDelta
from agui_reasoning.parts import Segment
from agui_reasoning.providers.openai_chat.blocks import REDACTED, ChatBlock
from agui_reasoning.providers.openai_chat.content import ContentSplitter
from agui_reasoning.providers.openai_chat.units import FLAT, UnitTracker

__all__ = ["Runs"]


@dataclass(slots=True)
class _Run:
    """A run of reasoning fragments in one field; a signature or text ends it."""

    number: int = 0
    open: bool = False


class Runs:
    """Turns the blocks of one response into units.

    Blocks with the same number are one unit. Blocks without a number are one unit per run: a run ends at a
    signature, at text in the same list, and in a whole response after every block.
    """

    def __init__(self, units: UnitTracker, content: ContentSplitter) -> None:
        self._units = units
        self._content = content
        self._runs: dict[str, _Run] = {}
        self._taken: set[str] = set()

    def receive(self, source: str, block: ChatBlock, text: str, *, flat: bool, whole: bool) -> list[Delta]:
        """Decode a block.

        Args:
            source: The field that contains the block.
            block: The block.
            text: The part of its reasoning that is new.
            flat: Whether there is reasoning in a plain string.
            whole: Whether the block is complete, not a fragment.
        """
        return _KINDS[block.kind](self, source, block, text, flat, whole)

    def _native(self, source: str, block: ChatBlock, text: str, flat: bool, whole: bool) -> list[Delta]:
        if not isinstance(block.payload, dict):
            return []
        name = block.payload.get("type")
        kind = name if isinstance(name, str) and name else "block"
        return [NativeDelta(f"openai_chat.{kind}", block.payload)]

    def _text(self, source: str, block: ChatBlock, text: str, flat: bool, whole: bool) -> list[Delta]:
        run = self._runs.setdefault(source, _Run())
        run.open = False
        key = f"{source}:{block.key}" if block.key else None
        deltas = self._content.feed(block.text, key=key) if block.text else []
        if block.ext:
            deltas.append(TextDelta("", key=key or self._units.text_key, ext=block.ext))
        return deltas

    def _reasoning(self, source: str, block: ChatBlock, text: str, flat: bool, whole: bool) -> list[Delta]:
        run = self._runs.get(source)
        goes_on = bool(block.ends or block.ext) and run is not None and run.open
        if not (text or block.values or block.item_id or goes_on):
            return []
        joins = flat and not text and self._joins_flat(source, block)
        key = FLAT if joins else self._key(source, block, whole)
        if source == "content":
            self._units.break_text()
        deltas = self._units.reasoning(key, grows=bool(text))
        segments = block.segments if text == block.text else (Segment("text", 0, text),)
        deltas += _speak(block, segments if text else (), key)
        deltas += [OpaqueDelta(value, key=key) for value in block.values]
        if (block.ends or whole) and not joins:
            deltas += self._units.close(key)
        return deltas

    def _joins_flat(self, source: str, block: ChatBlock) -> bool:
        """Return whether a value belongs to the plain string, which contained the text of its block."""
        run = self._runs.get(source)
        kinds = {value.kind for value in block.values}
        if REDACTED in kinds or kinds & self._taken or (run is not None and run.open):
            return False
        self._taken |= kinds or {"item"}
        return True

    def _key(self, source: str, block: ChatBlock, whole: bool) -> str:
        if block.key:
            return f"{source}:{block.key}"
        run = self._runs.setdefault(source, _Run())
        if block.begins or not run.open:
            run.number += 1
        run.open = not (block.ends or whole)
        return f"{source}:{run.number}"


def _speak(block: ChatBlock, segments: tuple[Segment, ...], key: str) -> list[Delta]:
    """Return the text of a block; the first delta has its ID and other fields."""
    spoken = segments or ((Segment("text", 0, ""),) if block.item_id or block.ext else ())
    return [
        ReasoningDelta(
            segment.text,
            key=key,
            channel=segment.channel,
            index=segment.index,
            item_id=None if number else block.item_id,
            ext=None if number else block.ext,
        )
        for number, segment in enumerate(spoken)
    ]


_KINDS: dict[str, Callable[[Runs, str, ChatBlock, str, bool, bool], list[Delta]]] = {
    "native": Runs._native,
    "text": Runs._text,
    "reasoning": Runs._reasoning,
}
