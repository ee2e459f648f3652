"""Says which provider a test leads through two turns with a tool, for `scripts/two_turns.py` to count."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from agui_reasoning.parts import Origin

__all__ = ["PROPERTY", "Led"]

PROPERTY = "two turns with a tool"

Led: TypeAlias = Callable[[Origin], None]
"""The fixture ``led``: names the provider of the test."""
