"""What of a model's reasoning a client gets to see: decided here, once for every channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from agui_reasoning.deltas._units import SegmentBuffer
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin
from agui_reasoning.policy import EchoRule

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

    def check(self, origin: Origin | None, rule_of: Callable[[Origin], EchoRule]) -> None:
        """Refuse what would break the next turn.

        Raises:
            ConfigurationError: The provider requires back what is neither shown nor kept
                (``visibility_without_keys``).
        """
        if self.keeps or origin is None:
            return
        rule = rule_of(origin)
        if rule.status != "required" or (rule.summaries and not self.hidden):
            return
        raise ConfigurationError(
            f"{origin.provider or origin.api} requires its reasoning back, and with visibility "
            f"{self.visibility!r} and without keys it would be lost.",
            code="visibility_without_keys",
            hint='Pass keys= (agui_reasoning.crypto.KeyRing), or use visibility="full".',
        )
