"""The span around consecutive reasoning: a machine with a table of what each input does.

Beside it, the first message of a response while it waits for text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import field

from agui_reasoning._wire_events import NOW, WireEvents
from agui_reasoning.deltas import Unshown
from agui_reasoning.emitter._response import ReasoningMessage, Stretch


class SpanState(StrEnum):
    """What is open of a span."""

    NONE = "no span"
    THINKING = "thinking"
    BETWEEN = "between units"
    ENDING = "ending"


class SpanInput(StrEnum):
    """What may happen to a span."""

    BEGINS = "reasoning"
    ENDS = "end of the last unit"
    LEAVES = "text or tool call"


NEXT: Final[dict[tuple[SpanState, SpanInput], SpanState]] = {
    (SpanState.NONE, SpanInput.BEGINS): SpanState.THINKING,
    (SpanState.NONE, SpanInput.LEAVES): SpanState.NONE,
    (SpanState.THINKING, SpanInput.BEGINS): SpanState.THINKING,
    (SpanState.THINKING, SpanInput.ENDS): SpanState.BETWEEN,
    (SpanState.THINKING, SpanInput.LEAVES): SpanState.ENDING,
    (SpanState.BETWEEN, SpanInput.BEGINS): SpanState.THINKING,
    (SpanState.BETWEEN, SpanInput.LEAVES): SpanState.NONE,
    (SpanState.ENDING, SpanInput.BEGINS): SpanState.THINKING,
    (SpanState.ENDING, SpanInput.ENDS): SpanState.NONE,
    (SpanState.ENDING, SpanInput.LEAVES): SpanState.ENDING,
}
"""The next state. Units with keys may be open while text follows; the span ends with the last of them."""


def sent_between(before: SpanState, after: SpanState) -> str | None:
    """Return the type of the event that a step sends."""
    if before is after:
        return None
    if before is SpanState.NONE:
        return "REASONING_START"
    return "REASONING_END" if after is SpanState.NONE else None


def _steps(what: SpanInput) -> dict[SpanState, tuple[SpanState, str | None]]:
    """Return the next state after each, and the type of the event that the step sends."""
    return {
        before: (after, sent_between(before, after)) for (before, one), after in NEXT.items() if one is what
    }


# Looking up members of an enum takes longer than a step.
_BEGINS: Final = _steps(SpanInput.BEGINS)
_ENDS: Final = _steps(SpanInput.ENDS)
_LEAVES: Final = _steps(SpanInput.LEAVES)
NO_SPAN: Final = SpanState.NONE


class ReasoningSpan(Unshown, gc=True, eq=False):
    """The span of a run that is open, if one is. Its methods add the events to send to a list.

    Attributes:
        state: What is open of it.
        id: The ID of the last one that opened.
    """

    _new_id: Callable[[], str]
    _events: WireEvents
    _open: int = 0
    state: SpanState = NO_SPAN
    id: str = ""

    def begin(self, out: list[Any]) -> None:
        """Note that a message begins, or a unit without one, which keeps the span open."""
        self._open += 1
        if self.state is NO_SPAN:
            self.id = self._new_id()
        self._step(_BEGINS, out)

    def end(self, out: list[Any]) -> None:
        """Note that one of them ended."""
        self._open -= 1
        if not self._open:
            self._step(_ENDS, out)

    def leave(self, out: list[Any]) -> None:
        """Note that something else follows, or that the response has ended."""
        self._step(_LEAVES, out)

    def _step(self, steps: Mapping[SpanState, tuple[SpanState, str | None]], out: list[Any]) -> None:
        self.state, kind = steps[self.state]
        if kind is not None:
            out.append(self._events.at(NOW, type=kind, messageId=self.id))


class EmptyMessage(Unshown, eq=False):
    """The first message of a response, while it is open and has no text.

    It shows that the model is thinking. The next stretch with text takes it; after text or a call, only
    those may that began before.

    Attributes:
        message: The message; ``None`` if there is none, or no more.
    """

    message: ReasoningMessage | None = None
    _may_take: set[Stretch] = field(default_factory=set)
    _is_past: bool = False

    def begin(self, stretch: Stretch) -> None:
        """Note a stretch that begins, and may take the message even after text or a call."""
        if self.message is not None and not self._is_past:
            self._may_take.add(stretch)

    def take(self, stretch: Stretch) -> ReasoningMessage | None:
        """Return the message if a stretch that has text may take it."""
        if self._is_past and stretch not in self._may_take:
            return None
        message, self.message = self.message, None
        return message

    def end(self, stretch: Stretch) -> ReasoningMessage | None:
        """Note that a stretch ended, and return the message if nothing may take it now."""
        self._may_take.discard(stretch)
        return self._unclaimed() if self._is_past else None

    def leave(self) -> ReasoningMessage | None:
        """Note that text or a call follows, and return the message if nothing may take it now."""
        self._is_past = True
        return self._unclaimed()

    def _unclaimed(self) -> ReasoningMessage | None:
        if self._may_take:
            return None
        message, self.message = self.message, None
        return message
