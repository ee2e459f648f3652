"""Summaries made on the server, for what the client may not read in full."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar, cast

from ag_ui.core import Event

from agui_reasoning.emitter._events import reasoning_content
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import ReasoningPart

__all__ = ["PLACEHOLDER", "Settling", "Summaries", "Summarize", "SummaryDue", "settle_now"]

PLACEHOLDER: Final = "The reasoning is not shown."
"""What a client reads of reasoning that has no summary."""

Summarize: TypeAlias = Callable[[ReasoningPart], str | Awaitable[str]]
"""Makes the summary of a unit that ended; the asynchronous shells await it."""

_T = TypeVar("_T")

Settling: TypeAlias = Generator[Awaitable[Any], Any, _T]
"""Work that waits for summaries: yields each that must be awaited, and is sent (or thrown) what it gives."""


@dataclass(frozen=True, slots=True)
class SummaryDue:
    """Stands among events where the content of a reasoning message comes once its summary is made."""

    message_id: str
    part: ReasoningPart


class Summaries:
    """Puts summaries where they are due, and a placeholder where there is none."""

    def __init__(self, summarize: Summarize | None, warn: Callable[[str], None]) -> None:
        self._summarize = summarize
        self._warn = warn

    @property
    def wanted(self) -> bool:
        """Whether there is a function to ask."""
        return self._summarize is not None

    def settle(self, written: Iterable[Event | SummaryDue]) -> Settling[list[Event]]:
        """Replace what is due by the content of its message; an empty summary is no event."""
        events: list[Event] = []
        for event in written:
            if isinstance(event, SummaryDue):
                text = yield from self._text(event.part)
                events += [reasoning_content(event.message_id, text)] if text else []
            else:
                events.append(event)
        return events

    def _text(self, part: ReasoningPart) -> Settling[str]:
        """What is shown for a unit. One that was cut is not worth asking for.

        How a summarizer failed is not told: its error may quote what it was given.
        """
        if self._summarize is None or part.status == "incomplete":
            return PLACEHOLDER
        try:
            made = self._summarize(part)
            made = (yield made) if inspect.isawaitable(made) else made
        except Exception as error:
            self._warn(f"`summarize` raised {type(error).__name__}; a placeholder is shown.")
            return PLACEHOLDER
        return made.encode("utf-8", "replace").decode() if isinstance(made, str) else PLACEHOLDER


def settle_now(settling: Settling[_T]) -> _T:
    """Run something that waits for summaries where nothing can be awaited.

    Raises:
        ConfigurationError: A summary is awaitable (``async_summarize``).
    """
    try:
        made = next(settling)
    except StopIteration as done:
        return cast("_T", done.value)
    settling.close()
    if inspect.iscoroutine(made):
        made.close()
    raise ConfigurationError(
        "`summarize` is asynchronous, and this run is not.",
        code="async_summarize",
        hint="Use agui_reasoning.aio, or a function that returns the summary.",
    )
