"""A call that waits for its result."""

from __future__ import annotations

from typing import Any

from ag_ui.core import ToolCall

from agui_reasoning.parts import ToolCallPart

__all__ = ["PendingCall"]


class PendingCall(ToolCall):
    """A tool call of AG-UI that waits for its result, with the names that pending calls of a run have."""

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.function.name

    @property
    def arguments(self) -> str:
        """The arguments as JSON text."""
        return self.function.arguments

    @property
    def args(self) -> dict[str, Any]:
        """The parsed arguments; ``""`` and ``null`` are ``{}``.

        Raises:
            DecodeError: The arguments are not a JSON object (``bad_arguments``).
        """
        return ToolCallPart(self.id, self.name, self.arguments).args
