"""What the streams of all frameworks have in common: AG-UI events pass, and what is left out is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ag_ui.core import BaseEvent

from agui_reasoning._shells.driver import AgentItem, ModelStream, PayloadReader
from agui_reasoning.run import Run

__all__ = ["events_in", "framework_stream", "note_ignored"]


def framework_stream(source: Any, reader: Callable[[Run], PayloadReader]) -> ModelStream:
    """Return the model stream of a framework.

    Args:
        source: What the framework yields. An application may put AG-UI events between: they pass.
        reader: Makes what reads the framework's own events.
    """
    return ModelStream(source, reader=partial(_WithEvents, reader))


class _WithEvents:
    """Passes AG-UI events on, and gives the rest to the reader of a framework."""

    def __init__(self, reader: Callable[[Run], PayloadReader], run: Run) -> None:
        self._reader = reader(run)

    def receive(self, payload: Any) -> Sequence[AgentItem]:
        return [payload] if isinstance(payload, BaseEvent) else self._reader.receive(payload)

    def whole(self, response: Any) -> Sequence[AgentItem]:
        return [response] if isinstance(response, BaseEvent) else self._reader.whole(response)

    def close(self) -> Sequence[AgentItem]:
        return self._reader.close()


def events_in(value: Any) -> Iterator[BaseEvent]:
    """Yield the AG-UI events that an application gave to a framework: one, or those of a list."""
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, BaseEvent):
            yield one


def note_ignored(run: Run, what: str) -> None:
    """Warn, once per run, of what a framework streams and the run does not show."""
    run.warn_once([f"{what} in the stream of the framework are ignored: AG-UI has no place for them."])
