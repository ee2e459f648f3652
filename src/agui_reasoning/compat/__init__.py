"""Upgrade THINKING_* events, which AG-UI 1.0 removed, to REASONING_* events, and downgrade them again."""

from __future__ import annotations

from agui_reasoning._thinking import ThinkingUpgrader
from agui_reasoning._thinking_events import (
    ThinkingEndEvent,
    ThinkingEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
)
from agui_reasoning.compat._downgrade import ThinkingDowngrader
from agui_reasoning.compat._streams import Translator, translate, translate_async

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
