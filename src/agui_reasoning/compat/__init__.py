"""What left the protocol and still arrives: the THINKING_* events of 0.x, and the ways into 1.x and back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agui_reasoning.compat._streams import Translator, translate, translate_async
from agui_reasoning.compat._thinking import (
    ThinkingEndEvent,
    ThinkingEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
    ThinkingUpgrader,
)

if TYPE_CHECKING:
    from agui_reasoning.compat._downgrade import ThinkingDowngrader

__all__ = [
    "ThinkingDowngrader",
    "ThinkingEndEvent",
    "ThinkingEvent",
    "ThinkingStartEvent",
    "ThinkingTextMessageContentEvent",
    "ThinkingTextMessageEndEvent",
    "ThinkingTextMessageStartEvent",
    "ThinkingUpgrader",
    "Translator",
    "translate",
    "translate_async",
]


def __getattr__(name: str) -> Any:
    # It uses the consumer, which uses the upgrader of this package: importing it here would be a circle.
    if name == "ThinkingDowngrader":
        return import_module("agui_reasoning.compat._downgrade").ThinkingDowngrader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
