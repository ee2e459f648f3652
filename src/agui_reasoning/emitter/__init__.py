"""Deltas and parts to AG-UI events."""

from agui_reasoning.emitter._emitter import Emitter

__all__ = ["Emitter"]
