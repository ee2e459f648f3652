"""Upgrade THINKING_* events, which AG-UI 1.0 removed, to REASONING_* events, and downgrade them again."""

from __future__ import annotations

from agui_reasoning._thinking import (
    ThinkingEndEvent,
    ThinkingEvent,
    ThinkingStartEvent,
    ThinkingTextMessageContentEvent,
    ThinkingTextMessageEndEvent,
    ThinkingTextMessageStartEvent,
    ThinkingUpgrader,
)
from agui_reasoning.compat._downgrade import ThinkingDowngrader
from agui_reasoning.compat._downgrade import peer_of as peer_of  # this and the rewriters: for the other rooms
from agui_reasoning.compat._json_log import ArrayRewriter as ArrayRewriter
from agui_reasoning.compat._json_log import LinesRewriter as LinesRewriter
from agui_reasoning.compat._rewriter import Rewriter as Rewriter
from agui_reasoning.compat._rewriter import SSERewriter as SSERewriter
from agui_reasoning.compat._rewriter import Translator, translate, translate_async
from agui_reasoning.compat._rewriter import written as written

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
