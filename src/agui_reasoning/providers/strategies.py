"""The names of ``agui_reasoning.testing`` that strategies of responses are made of (extra ``testing``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agui_reasoning._lazy import lazy_attributes

if TYPE_CHECKING:
    from agui_reasoning.testing.strategies import (
        CLEAN,
        TOKENS,
        Draw,
        Strategy,
        alone,
        call,
        ids,
        json_values,
        part_ids,
        text,
        turn,
    )

__all__ = [
    "CLEAN",
    "TOKENS",
    "Draw",
    "Strategy",
    "alone",
    "call",
    "ids",
    "json_values",
    "part_ids",
    "text",
    "turn",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_attributes(__name__, {"agui_reasoning.testing.strategies": " ".join(__all__)})
