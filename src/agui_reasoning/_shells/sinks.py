"""What a driver makes of the items of a run: events, or their frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from ag_ui.core import Event

from agui_reasoning.run import Run
from agui_reasoning.wire._encode import frames_of

__all__ = ["EVENTS", "FRAMES", "Sink"]


@dataclass(frozen=True, slots=True)
class Sink:
    """Makes chunks: lists of events, or bytes.

    Attributes:
        receive: Returns the chunk of an item.
        write: Returns the chunk of events.
        join: Joins chunks.
    """

    receive: Callable[[Run, Any], Any]
    write: Callable[[list[Event]], Any]
    join: Callable[[list[Any]], Any]


def _as_they_are(events: list[Event]) -> list[Event]:
    return events


def _joined(chunks: list[list[Event]]) -> list[Event]:
    return list(chain.from_iterable(chunks))


EVENTS: Final = Sink(Run.receive, _as_they_are, _joined)
FRAMES: Final = Sink(Run.frames, frames_of, b"".join)
