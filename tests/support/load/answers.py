"""What the provider answers to a prompt, and so what a client must see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain

from benchmarks.streams import STREAMS, sse_frames
from benchmarks.texts import pieces

__all__ = ["API", "MODEL", "Asked"]

API = "anthropic-messages"
_STREAM = STREAMS[API]
MODEL = _STREAM.model
_PROMPT = re.compile(rb"run (\d+), (\d+) deltas, (\d+) us apart")


@dataclass(frozen=True, slots=True)
class Asked:
    """A run, and how it is to be answered: half with reasoning, half with text.

    Attributes:
        run: The number of the run, with which reasoning and text begin, so that none gets those of another.
        deltas: How many pieces the answer has.
        pace: The seconds between two of them.
    """

    run: int
    deltas: int
    pace: float

    @classmethod
    def read(cls, request: bytes) -> Asked:
        """Find what a request asks for."""
        found = _PROMPT.findall(request)
        run, deltas, pace_us = map(int, found[-1])
        return cls(run, deltas, pace_us / 1e6)

    @property
    def prompt(self) -> str:
        """The text that asks for it."""
        return f"run {self.run}, {self.deltas} deltas, {self.pace * 1e6:.0f} us apart"

    @property
    def reasoning(self) -> tuple[str, ...]:
        """The pieces of the reasoning."""
        return (self._mark, *_texts(self.deltas)[0])

    @property
    def answer(self) -> tuple[str, ...]:
        """The pieces of the text."""
        return (self._mark, *_texts(self.deltas)[1])

    @property
    def _mark(self) -> str:
        return f"[{self.run}] "

    def frames(self) -> Iterator[bytes]:
        """Yield the frames of the provider's stream; those that no run changes are made once."""
        opening, reasoning, between, answer, closing = _frames(self.deltas)
        thought, said = (_STREAM.reasoning(self._mark, 0), _STREAM.answer(self._mark, 0))
        return chain(
            opening,
            sse_frames(_STREAM, [thought]),
            reasoning,
            between,
            sse_frames(_STREAM, [said]),
            answer,
            closing,
        )


@cache
def _texts(deltas: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    half = deltas // 2
    texts = tuple(pieces(deltas))
    return texts[1:half], texts[half + 1 :]


@cache
def _frames(deltas: int) -> tuple[list[bytes], ...]:
    thoughts, said = _texts(deltas)
    parts = (
        _STREAM.opening,
        [_STREAM.reasoning(text, 0) for text in thoughts],
        _STREAM.between,
        [_STREAM.answer(text, 0) for text in said],
        _STREAM.closing,
    )
    return tuple(sse_frames(_STREAM, payloads) for payloads in parts)
