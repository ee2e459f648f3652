"""How a model marks reasoning inside its answers, as the application says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from agui_reasoning.providers.think_tags import DEFAULT_TAGS, ThinkTagSplitter

__all__ = ["Tagging"]


@dataclass(frozen=True, slots=True)
class Tagging:
    """The tags of a model, and whether its prompt contains the opening one.

    Attributes:
        tags: Opening to closing tags.
        starts_in_reasoning: Whether answers start inside reasoning.
    """

    tags: Mapping[str, str] = field(default_factory=lambda: DEFAULT_TAGS)
    starts_in_reasoning: bool = False

    def splitter(
        self, *, anywhere: Collection[str] = (), start_in_reasoning: bool | None = None
    ) -> ThinkTagSplitter:
        """Create a splitter for an answer, or for what follows its beginning.

        Args:
            anywhere: The opening tags that count within the answer, if they are among the tags.
            start_in_reasoning: Whether it starts inside reasoning; default is what the application says.

        Raises:
            ConfigurationError: The tags are invalid (``bad_tags``).
        """
        starts = self.starts_in_reasoning if start_in_reasoning is None else start_in_reasoning
        return ThinkTagSplitter(
            start_in_reasoning=starts, tags=self.tags, anywhere=[tag for tag in anywhere if tag in self.tags]
        )
