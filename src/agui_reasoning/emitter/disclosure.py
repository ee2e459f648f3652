"""What of a model's reasoning a client gets to see: decided here, once for every channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ag_ui.core import (
    Event,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
)

from agui_reasoning.crypto import looks_like_token
from agui_reasoning.deltas.units import SegmentBuffer
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin
from agui_reasoning.policy import rule_for

__all__ = ["VISIBILITIES", "Disclosure", "Visibility"]

Visibility: TypeAlias = Literal["full", "summary", "hidden"]
"""``full``: what the provider shows. ``summary``: what its API labels a summary, or one made on the server.
``hidden``: nothing but that there was reasoning."""

VISIBILITIES: Final = ("full", "summary", "hidden")


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The rules of one visibility.

    Attributes:
        visibility: How much is shown.
        sealed: There are keys: what is not shown is kept, encrypted.
    """

    visibility: Visibility = "full"
    sealed: bool = False

    def __post_init__(self) -> None:
        """Refuse a visibility that does not exist: a typing error must not show everything."""
        if self.visibility not in VISIBILITIES:
            raise ConfigurationError(
                f"There is no visibility {self.visibility!r}.",
                code="unknown_visibility",
                hint=f"Use one of: {', '.join(VISIBILITIES)}.",
            )

    @property
    def full(self) -> bool:
        """Everything is shown."""
        return self.visibility == "full"

    @property
    def hidden(self) -> bool:
        """Nothing is shown."""
        return self.visibility == "hidden"

    @property
    def keeps(self) -> bool:
        """What is not shown comes back on the next turn."""
        return self.full or self.sealed

    @property
    def opens_messages(self) -> bool:
        """Whether a unit has a message of its own: hidden ones need one only to carry their value."""
        return self.sealed or not self.hidden

    def shows(self, segment: SegmentBuffer) -> bool:
        """Whether the text of a segment is shown."""
        return self.full or (self.visibility == "summary" and segment.channel == "summary")

    def check(self, origin: Origin | None) -> None:
        """Refuse what would break the next turn.

        Raises:
            ConfigurationError: The provider requires back what is neither shown nor kept
                (``visibility_without_keys``).
        """
        if self.keeps or origin is None:
            return
        rule = rule_for(origin)
        if rule.status != "required" or (rule.summaries and not self.hidden):
            return
        raise ConfigurationError(
            f"{origin.provider or origin.api} requires its reasoning back, and with visibility "
            f"{self.visibility!r} and without keys it would be lost.",
            code="visibility_without_keys",
            hint='Pass keys= (agui_reasoning.crypto.KeyRing), or use visibility="full".',
        )

    def pass_on(self, event: Event, known: Callable[[Any], bool]) -> list[Event]:
        """An event of the application's own, without what must not be seen.

        Args:
            event: The event.
            known: Tells of a message whether the client has it already, as it is.
        """
        if self.full:
            return [event]
        if event.raw_event is not None:
            event = event.model_copy(update={"raw_event": None})
        filtered = _FILTERS.get(type(event))
        return [event] if filtered is None else filtered(event, known)


def _snapshot(event: MessagesSnapshotEvent, known: Callable[[Any], bool]) -> list[Event]:
    messages = [message if known(message) else _veiled(message) for message in event.messages]
    return [event.model_copy(update={"messages": messages})]


def _veiled(message: Any) -> Any:
    """A message without reasoning text, and with no value that anyone can read."""
    update: dict[str, Any] = {}
    if message.role == "reasoning":
        update["content"] = ""
    if getattr(message, "tool_calls", None):
        update["tool_calls"] = [_without_value(call) for call in message.tool_calls]
    return _without_value(message.model_copy(update=update))


def _without_value(entity: Any) -> Any:
    value = getattr(entity, "encrypted_value", None)
    if value is None or looks_like_token(value):
        return entity
    return entity.model_copy(update={"encrypted_value": None})


def _value(event: ReasoningEncryptedValueEvent, known: Callable[[Any], bool]) -> list[Event]:
    return [event] if looks_like_token(event.encrypted_value) else []


def _chunk(event: ReasoningMessageChunkEvent, known: Callable[[Any], bool]) -> list[Event]:
    return [event.model_copy(update={"delta": None})]


def _drop(event: Any, known: Callable[[Any], bool]) -> list[Event]:
    return []


_FILTERS: dict[type, Callable[[Any, Callable[[Any], bool]], list[Event]]] = {
    MessagesSnapshotEvent: _snapshot,
    RawEvent: _drop,
    ReasoningEncryptedValueEvent: _value,
    ReasoningMessageChunkEvent: _chunk,
    ReasoningMessageContentEvent: _drop,
}
