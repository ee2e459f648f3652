"""Test utilities for AG-UI producers: assertions, models of real front ends, and Hypothesis strategies.

The assertions have no dependencies and work in any test runner. The strategies in
`agui_reasoning.testing.strategies` require Hypothesis (extra ``testing``).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agui_reasoning.testing._assertions import assert_round_trip, assert_valid
from agui_reasoning.testing._front_ends import (
    FRONT_ENDS,
    AssistantUI,
    FrontEnd,
    TanStack,
    assistant_ui,
    copilotkit,
    tanstack,
)

__all__ = [
    "FRONT_ENDS",
    "AssistantUI",
    "FrontEnd",
    "TanStack",
    "assert_round_trip",
    "assert_valid",
    "assistant_ui",
    "copilotkit",
    "tanstack",
]


def __getattr__(name: str) -> Any:
    """Import the strategies lazily, because they require Hypothesis."""
    if name == "strategies":
        return import_module("agui_reasoning.testing.strategies")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
