"""Summaries made on the server, for reasoning that the client must not read in full."""

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
"""The text shown for reasoning that has no summary."""

Summarize: TypeAlias = Callable[[ReasoningPart], str | Awaitable[str]]
"""Returns the summary of a finished unit; asynchronous shells await it."""

_T = TypeVar("_T")

Settling: TypeAlias = Generator[Awaitable[Any], Any, _T]
"""Work that needs summaries: yields each awaitable, and is sent (or thrown) its result."""


@dataclass(frozen=True, slots=True)
class SummaryDue:
    """Marks the position, among events, of a reasoning message's content until its summary is made."""

    message_id: str
    part: ReasoningPart


class Summaries:
    """Replaces each `SummaryDue` by a summary, or by a placeholder if there is none."""

    def __init__(self, summarize: Summarize | None, warn: Callable[[str], None]) -> None:
        self._summarize = summarize
        self._warn = warn

    @property
    def wanted(self) -> bool:
        """Whether there is a function that makes summaries."""
        return self._summarize is not None

    def settle(self, written: Iterable[Event | SummaryDue]) -> Settling[list[Event]]:
        """Replace summaries that are due by message content; an empty summary gives no event."""
        events: list[Event] = []
        for event in written:
            if isinstance(event, SummaryDue):
                text = yield from self._text(event.part)
                events += [reasoning_content(event.message_id, text)] if text else []
            else:
                events.append(event)
        return events

    def _text(self, part: ReasoningPart) -> Settling[str]:
        """Return the text shown for a unit. Incomplete units are not summarized.

        The error of a summarizer is not reported in full, because it may quote the reasoning.
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
    """Run work that needs summaries where nothing can be awaited.

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
        "`summarize` is asynchronous, but the run is synchronous.",
        code="async_summarize",
        hint="Use agui_reasoning.aio, or a synchronous function.",
    )
