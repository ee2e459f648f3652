"""What left the protocol and still arrives: the THINKING_* events of 0.x, and their way into 1.x."""

from agui_reasoning.compat.thinking import (
    ThinkingEndEvent,
    ThinkingEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
    ThinkingUpgrader,
)

__all__ = [
    "ThinkingEndEvent",
    "ThinkingEvent",
    "ThinkingStartEvent",
    "ThinkingTextMessageContentEvent",
    "ThinkingTextMessageEndEvent",
    "ThinkingTextMessageStartEvent",
    "ThinkingUpgrader",
]
