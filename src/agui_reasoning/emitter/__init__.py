"""Deltas and parts to AG-UI events."""

from agui_reasoning.emitter.machine import Emitter

__all__ = ["Emitter"]
