"""Decides how much of a model's reasoning the client sees, for every channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agui_reasoning.deltas._units import SegmentBuffer
from agui_reasoning.errors import ConfigurationError
from agui_reasoning.parts import Origin

if TYPE_CHECKING:  # imported with the first policy
    from agui_reasoning.policy import EchoRule

__all__ = ["VISIBILITIES", "Disclosure", "Visibility"]

Visibility: TypeAlias = Literal["full", "summary", "hidden"]
"""``full``: everything the provider shows. ``summary``: what its API labels a summary, or one made on the
server. ``hidden``: only the fact that there was reasoning."""

VISIBILITIES: Final = ("full", "summary", "hidden")


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The rules of one visibility.

    Attributes:
        visibility: How much is shown.
        sealed: Whether there are keys, so that concealed data is kept in encrypted form.
    """

    visibility: Visibility = "full"
    sealed: bool = False

    def __post_init__(self) -> None:
        """Reject an unknown visibility, because a typo must not show everything."""
        if self.visibility not in VISIBILITIES:
            raise ConfigurationError(
                f"Unknown visibility {self.visibility!r}.",
                code="unknown_visibility",
                hint=f"Use one of: {', '.join(VISIBILITIES)}.",
            )

    @property
    def full(self) -> bool:
        """Whether everything is shown."""
        return self.visibility == "full"

    @property
    def hidden(self) -> bool:
        """Whether nothing is shown."""
        return self.visibility == "hidden"

    @property
    def keeps(self) -> bool:
        """Whether everything comes back on the next turn, shown or not."""
        return self.full or self.sealed

    @property
    def opens_messages(self) -> bool:
        """Whether reasoning units have messages; hidden ones need one only to carry their value."""
        return self.sealed or not self.hidden

    def shows(self, segment: SegmentBuffer) -> bool:
        """Return whether the text of a segment is shown."""
        return self.full or (self.visibility == "summary" and segment.channel == "summary")

    def check(self, origin: Origin | None, rule_of: Callable[[Origin], EchoRule]) -> None:
        """Reject responses that could not be continued on the next turn.

        Raises:
            ConfigurationError: The provider requires its reasoning back, and it is neither shown nor kept
                (``visibility_without_keys``).
        """
        if self.keeps or origin is None:
            return
        rule = rule_of(origin)
        if rule.status != "required" or (rule.summaries and not self.hidden):
            return
        raise ConfigurationError(
            f"{origin.provider or origin.api} requires its reasoning back, but visibility "
            f"{self.visibility!r} without keys would lose it.",
            code="visibility_without_keys",
            hint='Pass keys= (agui_reasoning.crypto.KeyRing), or use visibility="full".',
        )
