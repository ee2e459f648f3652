"""Summaries made on the server, for what the client may not read in full."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ag_ui.core import Event

from agui_reasoning.emitter._events import reasoning_content
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import ReasoningPart

__all__ = ["PLACEHOLDER", "Summaries", "Summarize", "SummaryDue"]

PLACEHOLDER: Final = "The reasoning is not shown."
"""What a client reads of reasoning that has no summary."""

Summarize: TypeAlias = Callable[[ReasoningPart], str | Awaitable[str]]
"""Makes the summary of a unit that ended; the asynchronous shells await it."""


@dataclass(frozen=True, slots=True)
class SummaryDue:
    """Stands among events where the content of a reasoning message comes once its summary is made."""

    message_id: str
    part: ReasoningPart


class Summaries:
    """Asks for summaries, and puts a placeholder where there is none."""

    def __init__(self, summarize: Summarize | None, warn: Callable[[str], None]) -> None:
        self._summarize = summarize
        self._warn = warn

    @property
    def wanted(self) -> bool:
        """Whether there is anybody to ask."""
        return self._summarize is not None

    def ask(self, part: ReasoningPart) -> Any:
        """The summary of a unit, or an awaitable of it; one that was cut is not worth asking for."""
        if self._summarize is None or part.status == "incomplete":
            return PLACEHOLDER
        try:
            return self._summarize(part)
        except Exception as error:
            return self.failed(error)

    def failed(self, error: Exception) -> str:
        """Tell that a summarizer failed, and not how: its error may quote what it was given."""
        self._warn(f"`summarize` raised {type(error).__name__}; a placeholder is shown.")
        return PLACEHOLDER

    def settle(self, event: Event | SummaryDue) -> Event | None:
        """An event as it is, or the content of a message; ``None`` for an empty summary.

        Raises:
            ConfigurationError: The summary is awaitable, and nobody here can await it (``async_summarize``).
        """
        if not isinstance(event, SummaryDue):
            return event
        made = self.ask(event.part)
        if inspect.isawaitable(made):
            if inspect.iscoroutine(made):
                made.close()
            raise ConfigurationError(
                "`summarize` is asynchronous, and this run is not.",
                code="async_summarize",
                hint="Use agui_reasoning.aio, or a function that returns the summary.",
            )
        return self.content(event, made)

    def content(self, due: SummaryDue, made: Any) -> Event | None:
        """The content of the message; an empty delta is no event."""
        text = made.encode("utf-8", "replace").decode() if isinstance(made, str) else PLACEHOLDER
        return reasoning_content(due.message_id, text) if text else None
